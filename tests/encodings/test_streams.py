"""Streams without a server: the rows they leave, their counts, and long ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import STREAM
from stratakv.encodings.types.keys import copying
from stratakv.encodings.types.streams import stream_claims, stream_groups, streams
from stratakv.encodings.types.streams.stream_claims import Claim
from stratakv.encodings.types.streams.stream_groups import Group
from stratakv.encodings.types.streams.streams import MAX_ID, State, Trim
from stratakv.encodings.upkeep.check import check
from stratakv.errors import CommandError
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"s"


@pytest.fixture(params=["memory", "leveldb", "patient"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    engine = LevelEngine(tmp_path) if request.param == "leveldb" else MemoryEngine()
    bench = Bench(engine, patient=request.param == "patient")
    yield bench
    bench.commit()
    assert [str(problem) for problem in check(engine)] == []
    engine.close()


def add(txn: Txn, *ids: int) -> None:
    for number in ids:
        streams.append(txn, KEY, number, [b"f", b"%d" % number])


def ids(txn: Txn, first: int = 0, last: int = MAX_ID, *, reverse: bool = False) -> list[int]:
    meta = txn.expect(KEY, STREAM)
    assert meta is not None
    return [number for number, _ in streams.between(txn, KEY, meta, first, last, reverse=reverse)]


def state(bench: Bench) -> State:
    meta = bench.meta(KEY)
    assert meta is not None
    return streams.decode_state(meta)


def group(txn: Txn, name: bytes = b"g") -> Group:
    place = stream_groups.find(txn, KEY, name)
    assert place is not None
    return place[1]


def make_group(txn: Txn, name: bytes = b"g") -> None:
    meta = txn.expect(KEY, STREAM) or streams.create(txn, KEY)
    stream_groups.create(txn, KEY, meta, name, 0, 0)


def deliver(txn: Txn, consumer: bytes, count: int) -> None:
    meta = txn.expect(KEY, STREAM)
    assert meta is not None
    one = group(txn)
    one.see_consumer(consumer)
    found = streams.between(txn, KEY, meta, one.last + 1, limit=count)
    stream_groups.deliver(one, streams.decode_state(meta), consumer, found, acknowledged=False)
    one.save()


@pytest.mark.parametrize("number", [0, 1, 1 << 63, 1 << 64, (1 << 64) - 1, MAX_ID])
def test_ids_and_states_come_back_as_they_went(number: int, bench: Bench) -> None:
    stored = State(1, number, number, (1 << 64) - 1, number, 7, (1 << 32) - 1)
    bench.do(streams.create, KEY, stored)
    assert state(bench) == stored
    bench.do(streams.create, KEY)


@pytest.mark.parametrize("fields", [[b"", b""], [b"f", b"\x00" * 300], [b"a", b"b"] * 500])
def test_fields_come_back_as_they_went(fields: list[bytes]) -> None:
    assert streams.decode_fields(KEY, streams.encode_fields(fields)) == fields


@pytest.mark.parametrize("raw", [b"\x00", b"\x00\x00\x00\x05abc", b"\x00\x00\x00\x01a"])
def test_broken_fields_are_an_error_that_names_the_key(raw: bytes) -> None:
    with pytest.raises(CommandError, match="corrupt value stored at key 's'"):
        streams.decode_fields(KEY, raw)


def test_an_entry_is_one_row_and_the_clock_gives_ids(bench: Bench) -> None:
    first = bench.do(streams.append, KEY, None, [b"f", b"v"])
    second = bench.do(streams.append, KEY, None, [b"f", b"v"])
    assert (first, second) == (bench.clock.now_ms << 64, (bench.clock.now_ms << 64) + 1)
    assert len(bench.rows(KEY)) == 2


def test_the_first_id_is_kept_through_deletions_and_trims(bench: Bench) -> None:
    bench.do(add, *range(1, 11))
    assert bench.do(streams.delete, KEY, [1, 2, 2, 5, 99]) == 3
    assert (state(bench).first, state(bench).length, state(bench).max_deleted) == (3, 7, 5)
    assert bench.do(streams.trim, KEY, Trim(4)) == 3
    assert (bench.do(ids), state(bench).first) == ([7, 8, 9, 10], 7)
    assert bench.do(streams.trim, KEY, Trim(min_id=9)) == 2
    assert bench.do(ids, 0, 9) == [9]
    assert bench.do(streams.delete, KEY, [9, 10]) == 2
    assert (state(bench).first, state(bench).length, state(bench).last) == (0, 0, 10)


def test_a_deep_trim_writes_the_rest_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "IN_PLACE_ROWS", 10)
    bench.do(add, *range(1, 31))
    bench.do(make_group)
    bench.do(deliver, b"c", 30)
    old = bench.meta(KEY)
    assert bench.do(streams.trim, KEY, Trim(5)) == 25
    new = bench.meta(KEY)
    assert old is not None
    assert new is not None
    assert new.version > old.version
    assert bench.do(ids) == [26, 27, 28, 29, 30]
    assert group(bench.txn).pending == 30


def test_pending_entries_are_rows_that_pass_from_one_to_another(bench: Bench) -> None:
    bench.do(add, *range(1, 7))
    bench.do(make_group)
    bench.do(deliver, b"a", 4)
    bench.do(deliver, b"b", 2)

    def claim(txn: Txn) -> list[object]:
        meta = txn.expect(KEY, STREAM)
        assert meta is not None
        one = group(txn)
        claimed = stream_claims.claim(one, meta, [1, 2], Claim(b"b", 0, txn.now_ms, only_ids=True))
        one.save()
        return claimed

    assert bench.do(claim) == [b"0-1", b"0-2"]
    one = group(bench.txn)
    counts = {consumer.name: consumer.pending for consumer in one.all_consumers()}
    assert (counts, one.first, one.last_pending()) == ({b"a": 2, b"b": 4}, 1, 6)
    bench.do(lambda txn: stream_groups.acknowledge(group(txn), [1, 2, 2, 3]))
    one = group(bench.txn)
    assert ([p.id for p in one.all_pending()], one.first) == ([4, 5, 6], 4)

    def leave(txn: Txn) -> int:
        one = group(txn)
        count = one.remove_consumer(b"b")
        one.save()
        return count

    assert bench.do(leave) == 2
    assert group(bench.txn).pending == 1
    bench.do(lambda txn: stream_groups.destroy(txn, KEY, txn.find(KEY), group(txn)))
    assert {row[:1] for row in bench.rows(KEY)} == {b"\x00"}


def test_a_copy_has_the_groups_too(bench: Bench) -> None:
    bench.do(add, 1, 2)
    bench.do(make_group)
    bench.do(deliver, b"a", 2)
    bench.do(lambda txn: copying.copy_key(txn, KEY, txn, b"t", replace=True))
    assert bench.rows(b"t") == bench.rows(KEY)


def test_random_work_leaves_every_count_exact(bench: Bench) -> None:
    random = Random(7)
    bench.do(add, 1)
    bench.do(make_group)
    for number in range(2, 120):
        known = [random.randrange(1, number + 1) for _ in range(3)]
        bench.do(add, number)
        action = random.randrange(6)
        if action == 0:
            bench.do(streams.delete, KEY, known)
        elif action == 1:
            bench.do(lambda txn, known=known: stream_groups.acknowledge(group(txn), known))
        elif action == 2:
            bench.do(streams.trim, KEY, Trim(random.randrange(1, 40)))
        else:
            bench.do(deliver, random.choice([b"a", b"b", b"c"]), random.randrange(1, 6))
    assert [str(problem) for problem in check(bench.keyspace.store.engine)] == []
