"""Deletion marks: nobody pays for what was deleted before, counted in marks stepped over."""

from __future__ import annotations

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets
from stratakv.encodings.upkeep.reclaim import Reclaimer
from tests.encodings.fixtures import Bench
from tests.encodings.marks import MarkedEngine

PAST = 3000
"""Rows that were deleted before; each command of old stepped over most of them."""
FEW = 100
BOUND = 6000
"""A range keeps some thousands of marks before it is compacted."""


class House:
    """A keyspace whose reclaimer and compactions come to their end after each command."""

    def __init__(self) -> None:
        self.engine = MarkedEngine()
        self.bench = Bench(self.engine)
        self.keyspace = self.bench.keyspace
        self.reclaimer = Reclaimer(self.keyspace)

    def txn(self) -> Txn:
        txn = self.bench.txn()
        txn.budget = 1 << 40
        return txn

    def commit(self, txn: Txn) -> None:
        txn.apply()
        self.bench.commit()

    def fill(self, names: range) -> None:
        txn = self.txn()
        for number in names:
            strings.assign(txn, b"key:%d" % number, b"v")
        self.commit(txn)

    def flush(self) -> None:
        self.keyspace.flush(self.bench.database)
        self.bench.commit()

    def finish(self) -> None:
        while self.reclaimer.work(0.0):
            self.bench.commit()
        self.bench.commit()
        while (wanted := self.reclaimer.next_compaction()) is not None:
            self.engine.compact(wanted.start, wanted.stop)
            self.reclaimer.compacted(wanted)
            self.bench.commit()

    def steps(self) -> int:
        return self.engine.since()


@pytest.fixture
def house() -> House:
    return House()


@pytest.mark.parametrize("share", [PAST, 300, 5])
def test_emptying_a_database_costs_what_is_in_it(house: House, share: int) -> None:
    for _ in range(PAST // share):
        house.fill(range(share))
        house.flush()
        house.finish()
    house.steps()
    for _ in range(3):
        house.fill(range(1))
        house.flush()
        house.finish()
    assert house.steps() <= FEW


def test_idle_rounds_cost_nothing(house: House) -> None:
    house.fill(range(PAST))
    txn = house.txn()
    zsets.add(txn, b"z", [(float(number), b"%d" % number) for number in range(PAST)])
    for number in range(PAST):
        strings.assign(txn, b"due:%d" % number, b"v", house.bench.clock.now_ms + 1 + number % 9)
    house.commit(txn)
    txn = house.txn()
    for number in range(PAST):
        txn.drop(b"key:%d" % number)
    txn.drop(b"z")
    house.commit(txn)
    house.bench.clock.advance(1000)
    house.finish()
    house.finish()
    house.steps()
    for _ in range(10):
        house.finish()
    assert house.steps() <= FEW


def test_refreshed_expire_times_cost_nothing_while_no_key_is_due(house: House) -> None:
    for number in range(PAST):
        txn = house.txn()
        strings.assign(txn, b"k", b"v", house.bench.clock.now_ms + 100_000 + number)
        house.commit(txn)
    house.finish()
    house.steps()
    for _ in range(10):
        house.finish()
    assert house.steps() <= FEW
    txn = house.txn()
    strings.assign(txn, b"sooner", b"v", house.bench.clock.now_ms + 10)
    house.commit(txn)
    house.bench.clock.advance(20)
    house.finish()
    assert house.bench.database.live == 1, "a nearer time is found before what was remembered"


@pytest.mark.parametrize("left", [0, 1, 5])
@pytest.mark.parametrize("emptied", ["flushed", "deleted"])
def test_the_keys_that_are_left_are_listed_at_their_own_cost(
    house: House, emptied: str, left: int
) -> None:
    house.fill(range(PAST))
    if emptied == "flushed":
        house.flush()
    else:
        txn = house.txn()
        for number in range(PAST):
            txn.drop(b"key:%d" % number)
        house.commit(txn)
    house.fill(range(left))
    house.finish()
    house.steps()
    cursor, found = keys.scan(house.txn(), 0, 10, None, None)
    assert (cursor, len(found)) == (0, left)
    assert len(keys.matching(house.txn(), b"*")) == left
    spent = house.steps()
    assert spent <= FEW if emptied == "flushed" or not left else spent <= 2 * PAST


def test_metas_of_deleted_keys_are_compacted(house: House) -> None:
    for start in range(0, 4 * PAST, PAST):
        house.fill(range(start, start + PAST))
        txn = house.txn()
        for number in range(start, start + PAST):
            txn.drop(b"key:%d" % number)
        house.commit(txn)
        house.finish()
    assert len(house.engine.marks.rows) < BOUND


@pytest.mark.parametrize("kind", ["set", "hash", "zset"])
def test_a_collection_that_loses_its_members_one_by_one_is_compacted(
    house: House, kind: str
) -> None:
    names = [b"%06d" % number for number in range(9000)]
    txn = house.txn()
    if kind == "set":
        sets.add_all(txn, b"c", names)
    elif kind == "hash":
        hashes.assign_all(txn, b"c", [word for name in names for word in (name, b"v")])
    else:
        zsets.add(txn, b"c", [(float(name), name) for name in names])
    house.commit(txn)
    remove = {"set": sets.remove, "hash": hashes.remove, "zset": zsets.remove}[kind]
    for start in range(0, len(names) - 10, 10):
        txn = house.txn()
        remove(txn, b"c", names[start : start + 10])
        house.commit(txn)
    house.finish()
    house.steps()
    txn = house.txn()
    if kind == "zset":
        zsets.scan_page(txn, b"c", 0, 10)
    else:
        found = txn.find(b"c")
        assert found is not None
        list(txn.scan(found.sub, found.sub + b"\xff" * 9, limit=10))
    assert house.steps() <= BOUND


def test_rows_of_dead_neighbours_are_compacted(house: House) -> None:
    for number in range(500):
        house.bench.make_set(b"s%d" % number, 20)
        txn = house.txn()
        txn.drop(b"s%d" % number)
        house.commit(txn)
        house.finish()
    assert len([row for row in house.engine.marks.rows if row.startswith(b"s#")]) < BOUND
