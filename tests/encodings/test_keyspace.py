"""The keyspace: versions, counts, databases, the cache of metas, and a commit that failed."""

from __future__ import annotations

import pytest

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.leftovers import FREE_STEP
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zset_order, zsets
from stratakv.encodings.upkeep.reclaim import Reclaimer
from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import Rows
from stratakv.storage.memory import MemoryEngine
from stratakv.storage.store import Store
from tests.encodings.fixtures import Bench


class FullDisk(MemoryEngine):
    """An engine that refuses writes while `full`."""

    __slots__ = ("full",)

    def __init__(self) -> None:
        super().__init__()
        self.full = False

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        if self.full:
            raise StoreUnavailable("disk full")
        return super().write(rows, sync=sync)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def assign(bench: Bench, key: bytes, value: bytes = b"v", *, index: int = 0) -> None:
    txn = bench.txn(index)
    strings.assign(txn, key, value)
    txn.apply()


def value_of(bench: Bench, key: bytes, index: int = 0) -> bytes | None:
    found = strings.find(bench.txn(index), key)
    assert found is None or isinstance(found, bytes)
    return found


# versions


def test_versions_rise_when_the_clock_stands_still_or_goes_back(bench: Bench) -> None:
    versions = [bench.keyspace.versions.next() for _ in range(3)]
    bench.clock.advance(-60_000)
    versions += [bench.keyspace.versions.next() for _ in range(3)]
    assert versions == sorted(set(versions))


def test_versions_rise_across_a_crash_with_the_clock_set_back(bench: Bench) -> None:
    assign(bench, b"k")
    bench.commit()
    last = bench.keyspace.versions.last
    bench.clock.advance(-3_600_000)
    bench.open()
    assert bench.keyspace.versions.next() > last


def test_every_committed_version_is_below_the_stored_mark(bench: Bench) -> None:
    for _ in range(50):
        assign(bench, b"k")
        bench.commit()
        mark = int.from_bytes(bench.rows()[rows.VERSION_ROW], "big")
        assert mark >= bench.keyspace.versions.last
        bench.clock.advance(7_001)


def test_the_mark_is_raised_again_when_its_commit_failed() -> None:
    engine = FullDisk()
    bench = Bench(engine)
    engine.full = True
    assign(bench, b"k")
    bench.commit()
    bench.keyspace.abandon()
    engine.full = False
    assign(bench, b"k")
    bench.commit()
    assert bench.problems() == []


# counts


def test_counts_follow_keys_and_expire_times(bench: Bench) -> None:
    assign(bench, b"a")
    assign(bench, b"a")
    bench.make_set(b"b", 3, expire_ms=bench.clock.now_ms + 1000)
    database = bench.database
    assert (database.live, database.expiring) == (2, 1)
    txn = bench.txn()
    assert txn.drop(b"b")
    assert not txn.drop(b"nothing")
    txn.apply()
    assert (database.live, database.expiring) == (1, 0)
    bench.commit()
    bench.open()
    assert (bench.database.live, bench.database.expiring) == (1, 0)
    assert bench.problems() == []


def test_a_discarded_command_counts_for_nothing(bench: Bench) -> None:
    txn = bench.txn()
    strings.assign(txn, b"a", b"1")
    txn.discard()
    assert not txn.changed
    assert bench.database.live == 0
    assert value_of(bench, b"a") is None


# reading


def test_what_waits_for_the_commit_is_read_and_then_stays(bench: Bench) -> None:
    assign(bench, b"a", b"1")
    assert value_of(bench, b"a") == b"1"
    bench.commit()
    assert value_of(bench, b"a") == b"1"
    bench.open()
    assert value_of(bench, b"a") == b"1"


def test_without_a_commit_nothing_stays(bench: Bench) -> None:
    assign(bench, b"a", b"1")
    bench.open()
    assert value_of(bench, b"a") is None


def test_an_expired_key_is_no_key(bench: Bench) -> None:
    txn = bench.txn()
    strings.assign(txn, b"a", b"1", bench.clock.now_ms + 10)
    txn.apply()
    bench.clock.advance(9)
    assert value_of(bench, b"a") == b"1"
    bench.clock.advance(1)
    assert value_of(bench, b"a") is None
    assert not bench.txn().drop(b"a")


def test_a_settled_command_has_its_meta_with_it(bench: Bench) -> None:
    """A scan writes pending rows early: half a command would outlive a crash."""
    bench.make_set(b"s", 3)
    list(bench.txn().scan(b"s#", b"t"))
    bench.open()
    assert bench.problems() == []


def test_a_deleted_collection_is_one_row_in_the_queue(bench: Bench) -> None:
    bench.make_set(b"s", 100)
    bench.commit()
    version = bench.keyspace.versions.last
    txn = bench.txn()
    txn.drop(b"s")
    assert len(txn.rows) == 1
    txn.apply()
    bench.commit()
    assert bench.rows()[rows.garbage_row(b"0:", version, b"s")] == bytes((metas.SET, 0))
    assert bench.problems() == []


# databases


def test_flushing_a_database_leaves_the_others(bench: Bench) -> None:
    assign(bench, b"a", b"1")
    assign(bench, b"a", b"2", index=1)
    bench.commit()
    bench.keyspace.flush(bench.database)
    assign(bench, b"b", b"3")
    bench.commit()
    for _ in range(2):
        assert (value_of(bench, b"a"), value_of(bench, b"b")) == (None, b"3")
        assert value_of(bench, b"a", 1) == b"2"
        assert [database.live for database in bench.keyspace.databases[:2]] == [1, 1]
        assert bench.problems() == []
        bench.open()


def test_swapped_databases_stay_swapped(bench: Bench) -> None:
    assign(bench, b"a", b"0")
    assign(bench, b"a", b"1", index=1)
    assign(bench, b"only", b"1", index=1)
    bench.keyspace.swap(*bench.keyspace.databases[:2])
    bench.commit()
    for _ in range(2):
        assert (value_of(bench, b"a"), value_of(bench, b"a", 1)) == (b"1", b"0")
        assert [database.live for database in bench.keyspace.databases[:2]] == [2, 1]
        assert bench.problems() == []
        bench.open()


def test_a_namespace_is_never_used_twice(bench: Bench) -> None:
    seen = set()
    for _ in range(5):
        bench.make_set(b"k", 1)
        bench.keyspace.flush(bench.database)
        seen.add(bench.database.ns)
        bench.commit()
        bench.open()
    assert len(seen) == 5


def test_a_unit_of_work_on_two_databases_is_one_commit(bench: Bench) -> None:
    txn = bench.txn()
    strings.assign(txn, b"a", b"0")
    strings.assign(txn.sibling(3), b"a", b"3")
    txn.apply()
    assert (value_of(bench, b"a"), value_of(bench, b"a", 3)) == (b"0", b"3")


def test_a_store_of_a_newer_format_is_refused() -> None:
    engine = MemoryEngine()
    engine.write({rows.FORMAT_ROW: rows.U32.pack(rows.LAYOUT + 1)})
    with pytest.raises(StoreUnavailable, match=f"format {rows.LAYOUT + 1}"):
        Bench(engine)


# a commit that failed


def test_after_a_failed_commit_the_keyspace_is_what_is_stored() -> None:
    engine = FullDisk()
    bench = Bench(engine)
    assign(bench, b"a", b"old")
    bench.commit()
    engine.full = True
    assign(bench, b"a", b"new")
    assign(bench, b"b", b"new")
    bench.keyspace.flush(bench.keyspace.databases[1])
    bench.commit()
    bench.keyspace.abandon()
    assert (value_of(bench, b"a"), value_of(bench, b"b")) == (b"old", None)
    assert bench.database.live == 1
    assert bench.keyspace.databases[1].ns == b"1:"
    engine.full = False
    assign(bench, b"c", b"later")
    bench.commit()
    assert bench.problems() == []
    bench.open()
    assert bench.database.live == 2


def ordered(bench: Bench) -> list[bytes]:
    txn = bench.txn()
    meta = txn.find(b"z")
    assert meta is not None
    return list(zsets.members_of(meta, zset_order.walk(txn, meta)))


def test_what_was_remembered_goes_with_a_failed_commit() -> None:
    engine = FullDisk()
    bench = Bench(engine)
    txn = bench.txn()
    zsets.add(txn, b"z", [(1.0, b"a"), (2.0, b"b")])
    lists.push(txn, b"l", [b"1"], left=True)
    txn.apply()
    bench.commit()
    engine.full = True
    txn = bench.txn()
    zsets.pop(txn, b"z", 1, highest=False)
    lists.push(txn, b"l", [b"2"], left=True)
    txn.apply()
    assert ordered(bench) == [b"b"]
    assert list(lists.select(bench.txn(), b"l", 0, -1)[1]) == [b"2", b"1"]
    bench.commit()
    bench.keyspace.abandon()
    recollections = bench.keyspace.recollections
    assert not any(getattr(recollections, name) for name in recollections.__slots__)
    assert ordered(bench) == [b"a", b"b"]
    assert list(lists.select(bench.txn(), b"l", 0, -1)[1]) == [b"1"]


def test_a_queue_that_was_emptied_by_a_failed_commit_is_looked_through_again() -> None:
    engine = FullDisk()
    bench = Bench(engine)
    bench.make_set(b"s", 5)
    bench.commit()
    txn = bench.txn()
    txn.drop(b"s")
    txn.apply()
    bench.commit()
    engine.full = True
    while Reclaimer(bench.keyspace).work(0.0):
        """Its deletions wait for the commit."""
    bench.commit()
    bench.keyspace.abandon()
    engine.full = False
    reclaimer = Reclaimer(bench.keyspace)
    while reclaimer.work(0.0):
        bench.commit()
    bench.commit()
    assert not any(row.startswith((b"s#", b"g#")) for row in bench.rows())


def test_a_refused_batch_that_comes_back_to_life_is_read() -> None:
    engine = FullDisk()
    bench = Bench(engine)
    bench.make_set(b"s", 1)
    bench.commit()
    meta = bench.txn().find(b"s")
    assert meta is not None
    engine.full = True
    bench.commit()
    bench.keyspace.abandon()
    assert bench.txn().get(meta.sub + b"more") is None
    engine.full = False
    engine.write({meta.sub + b"more": b""})  # what reopening finds in the log
    bench.keyspace.abandon()
    assert bench.txn().get(meta.sub + b"more") == b""


# the cache


def test_the_cache_stays_near_its_limit_and_forgets_nothing_that_counts() -> None:
    store = Store(MemoryEngine())
    bench = Bench()
    bench.store = store
    bench.keyspace = Keyspace(store, bench.clock, cache_bytes=100_000)
    for number in range(2000):
        assign(bench, b"key%d" % number, b"x" * 100)
        if number % 10 == 0:
            bench.commit()
            bench.keyspace.trim()
    bench.commit()
    database = bench.keyspace.databases[0]
    for _ in range(100):
        bench.keyspace.trim()
    assert bench.keyspace.cache.evictions > 1000
    assert database.cached_bytes <= 110_000
    assert all(value_of(bench, b"key%d" % number) == b"x" * 100 for number in range(2000))


def test_reading_alone_does_not_let_the_cache_grow() -> None:
    bench = Bench()
    bench.keyspace.cache.limit_bytes = 100_000
    for number in range(2000):
        assign(bench, b"key%d" % number, b"x" * 100)
    bench.commit()
    database = bench.keyspace.databases[0]
    database.forget()
    for number in range(2000):
        value_of(bench, b"key%d" % number)
        bench.keyspace.trim()
    assert database.cached_bytes <= 130_000
    assert len(database.cache) < 400


def test_the_cache_of_an_emptied_database_is_freed_in_steps(bench: Bench) -> None:
    for number in range(5 * FREE_STEP):
        assign(bench, b"key%d" % number, b"x")
    bench.commit()
    keyspace, database = bench.keyspace, bench.keyspace.databases[0]
    while keyspace.leftovers.free_some():
        """The rows of the batch, which was large."""
    keyspace.flush(database)
    assert (database.cached_bytes, database.cache) == (0, {})
    turns = 0
    while keyspace.leftovers:
        keyspace.trim()
        turns += 1
    assert turns == 5


def test_what_is_charged_for_a_key_does_not_grow_with_its_writes(bench: Bench) -> None:
    for _ in range(10):
        assign(bench, b"k", b"x" * 10_000)
        bench.commit()
        txn = bench.txn()
        txn.drop(b"k")
        txn.apply()
        bench.commit()
    assert bench.database.cached_bytes < 2000


def test_loads_count_what_the_cache_did_not_hold(bench: Bench) -> None:
    assign(bench, b"a")
    bench.commit()
    bench.open()
    for _ in range(5):
        value_of(bench, b"a")
        value_of(bench, b"missing")
    assert bench.database.loads == 2


def test_a_scan_in_the_middle_of_a_command_keeps_the_charges_true(bench: Bench) -> None:
    """It has the metas of earlier commands written, and those charged, while its own wait."""
    txn, database = bench.txn(), bench.keyspace.databases[0]
    txn.assign(b"key", b"x" * 1000)
    txn.apply()
    txn.assign(b"key", b"")
    list(txn.scan(b"s#", b"t"))
    txn.apply()
    bench.keyspace.collect()
    assert database.cached_bytes == sum(meta.charge for meta in database.cache.values())
