"""Expire-times of hash fields over both engines and both ways of counting, without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.types.hashes import field_times, hashes
from stratakv.encodings.types.hashes.field_times import CONDITIONS
from stratakv.encodings.types.keys import copying, keys
from stratakv.encodings.upkeep.check import check
from stratakv.encodings.upkeep.expiry import STEP_ROWS
from stratakv.encodings.upkeep.reclaim import Reclaimer
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"hash"
ALWAYS = CONDITIONS[b""]


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEngine | LevelEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=["v0", "v1", "v2", "v3", "v0 patient", "v1 patient"])
def bench(request: pytest.FixtureRequest, engine: MemoryEngine | LevelEngine) -> Iterator[Bench]:
    version, _, patient = request.param.partition(" ")
    bench = Bench(engine, encoding=int(version[1:]), patient=bool(patient))
    yield bench
    assert [str(problem) for problem in check(engine)] == []


def fill(bench: Bench, count: int = 4, key: bytes = KEY) -> None:
    pairs = [word for n in range(count) for word in (b"f%d" % n, b"%d" % n)]
    bench.do(hashes.assign_all, key, pairs)


def expire(bench: Bench, after_ms: int, *fields: bytes, key: bytes = KEY) -> list[int]:
    outcome: list[int] = bench.do(
        field_times.expire, key, bench.clock.now_ms + after_ms, ALWAYS, fields
    )
    return outcome


def reclaim(bench: Bench) -> None:
    reclaimer = Reclaimer(bench.keyspace)
    while reclaimer.work(0.0):
        bench.commit()
    bench.commit()


def prefixes(bench: Bench) -> set[bytes]:
    return {row[:2] for row, _ in bench.keyspace.store.engine.scan(b"a", b"z")}


def fields(bench: Bench, key: bytes = KEY) -> list[bytes]:
    found: list[bytes] = bench.do(hashes.names, key)
    return found


def test_a_hash_without_times_has_none_of_their_rows(bench: Bench) -> None:
    fill(bench)
    assert prefixes(bench).isdisjoint({b"k#", b"i#", b"t#"})
    meta = bench.meta(KEY)
    assert meta is not None
    assert not meta.format.timed


def test_times_are_kept_and_told(bench: Bench) -> None:
    fill(bench)
    now = bench.clock.now_ms
    assert expire(bench, 50, b"f1", b"none", b"f2") == [1, -2, 1]
    assert bench.do(field_times.times, KEY, [b"f0", b"f1", b"none"]) == [-1, now + 50, -2]
    assert expire(bench, 20, b"f2") == [1]
    assert bench.do(field_times.times, KEY, [b"f2"]) == [now + 20]


def test_the_last_time_that_goes_leaves_an_ordinary_hash(bench: Bench) -> None:
    fill(bench)
    expire(bench, 50, b"f1", b"f2")
    assert bench.do(field_times.persist, KEY, [b"f1", b"f0", b"none"]) == [1, -1, -2]
    bench.do(hashes.assign, KEY, b"f2", b"new")
    meta = bench.meta(KEY)
    assert meta is not None
    assert meta.encoding == (0 if bench.counted else 1)
    assert prefixes(bench).isdisjoint({b"k#", b"i#", b"t#"})
    assert bench.do(hashes.find_all, KEY, [b"f1", b"f2"]) == [b"1", b"new"]


def test_fields_are_gone_when_their_time_has_passed(bench: Bench) -> None:
    fill(bench)
    expire(bench, 10, b"f1", b"f3")
    bench.clock.advance(9)
    assert fields(bench) == [b"f0", b"f1", b"f2", b"f3"]
    bench.clock.advance(1)
    assert fields(bench) == [b"f0", b"f2"]
    assert bench.do(hashes.find, KEY, b"f1") is None
    assert sorted(bench.do(hashes.random_fields, KEY, 9)) == [b"f0", b"f2"]
    assert bench.do(hashes.assign_new, KEY, b"f1", b"new")
    assert bench.do(hashes.count, KEY) == 3


def test_writers_decide_about_times(bench: Bench) -> None:
    fill(bench)
    expire(bench, 10, b"f0", b"f1", b"f2", b"f3")
    bench.do(hashes.increment, KEY, b"f1", 5)
    bench.do(hashes.assign_all, KEY, [b"f2", b"new"])
    bench.do(hashes.remove, KEY, [b"f3"])
    at = bench.clock.now_ms + 10
    assert bench.do(field_times.times, KEY, [b"f0", b"f1", b"f2", b"f3"]) == [at, at, -1, -2]


def test_a_time_in_the_past_deletes(bench: Bench) -> None:
    fill(bench, 2)
    assert expire(bench, 0, b"f0", b"f0") == [2, -2]
    assert fields(bench) == [b"f1"]
    assert expire(bench, -5, b"f1") == [2]
    assert bench.meta(KEY) is None


def test_the_reclaimer_takes_due_fields_and_the_empty_hash(bench: Bench) -> None:
    count = 3 * STEP_ROWS
    fill(bench, count)
    fill(bench, 2, b"other")
    expire(bench, 10, *[b"f%d" % n for n in range(count)])
    expire(bench, 10, b"f0", key=b"other")
    expire(bench, 20, b"f1", key=b"other")
    reclaim(bench)
    assert bench.do(hashes.count, KEY) == count
    bench.clock.advance(10)
    reclaim(bench)
    assert bench.meta(KEY) is None
    assert fields(bench, b"other") == [b"f1"]
    assert bench.keyspace.expired_fields == count + 1
    bench.clock.advance(10)
    reclaim(bench)
    assert prefixes(bench) <= {b"n#", b"x#"}


def test_a_deleted_hash_leaves_nothing(bench: Bench) -> None:
    fill(bench)
    expire(bench, 10, b"f1")
    bench.do(keys.delete, (KEY,))
    reclaim(bench)
    assert prefixes(bench) <= {b"n#", b"x#"}


def test_copies_have_the_same_times(bench: Bench) -> None:
    fill(bench)
    expire(bench, 10, b"f1")
    expire(bench, 30, b"f2")

    def copy(txn: Txn) -> bool:
        return copying.copy_key(txn, KEY, txn, b"copy", replace=False)

    assert bench.do(copy)
    asked = [b"f0", b"f1", b"f2"]
    assert bench.do(field_times.times, b"copy", asked) == bench.do(field_times.times, KEY, asked)
    bench.clock.advance(10)
    reclaim(bench)
    assert fields(bench, b"copy") == fields(bench) == [b"f0", b"f2", b"f3"]


def test_a_time_earlier_than_all_that_were_seen_is_found(bench: Bench) -> None:
    """The reclaimer remembers where it was."""
    fill(bench, 2, b"late")
    expire(bench, 1000, b"f0", key=b"late")
    reclaimer = Reclaimer(bench.keyspace)
    reclaimer.work(0.0)
    fill(bench, 2)
    expire(bench, 5, b"f0")
    bench.clock.advance(5)
    while reclaimer.work(0.0):
        bench.commit()
    bench.commit()
    assert bench.do(hashes.count, KEY) == 1


def test_the_row_of_the_index_can_be_taken_apart() -> None:
    row = rows.field_expiry_row(b"0:", 7, 9, b"key")
    assert rows.parse_field_expiry_row(b"0:", row) == (7, 9, b"key")


@pytest.mark.parametrize(
    ("word", "none", "earlier", "same", "later"),
    [
        (b"", True, True, True, True),
        (b"NX", True, False, False, False),
        (b"XX", False, True, True, True),
        (b"GT", False, False, False, True),
        (b"LT", True, True, False, False),
    ],
)
def test_conditions(word: bytes, none: bool, earlier: bool, same: bool, later: bool) -> None:
    holds = CONDITIONS[word]
    assert [holds(None, 5), holds(5, 4), holds(5, 5), holds(5, 6)] == [none, earlier, same, later]


def test_fields_are_taken_once(bench: Bench) -> None:
    fill(bench)
    expire(bench, 50, b"f0", b"f1")
    assert bench.do(hashes.take, KEY, [b"f1", b"none", b"f1"]) == [b"1", None, None]
    assert fields(bench) == [b"f0", b"f2", b"f3"]
    assert bench.do(hashes.take, KEY, [b"f0", b"f2"]) == [b"0", b"2"]
    meta = bench.meta(KEY)
    assert meta is not None
    assert not meta.format.timed
    assert bench.do(hashes.take, KEY, [b"f3"]) == [b"3"]
    assert bench.meta(KEY) is None


def test_a_field_whose_time_has_passed_is_not_taken(bench: Bench) -> None:
    fill(bench)
    expire(bench, 5, b"f1")
    bench.clock.advance(10)
    assert bench.do(hashes.take, KEY, [b"f1", b"f2"]) == [None, b"2"]
    assert fields(bench) == [b"f0", b"f3"]


def test_fields_are_read_and_given_a_time(bench: Bench) -> None:
    fill(bench)
    later = bench.clock.now_ms + 50
    found = bench.do(hashes.find_and_expire, KEY, later, [b"f1", b"none", b"f1"])
    assert found == [b"1", None, b"1"]
    assert bench.do(field_times.times, KEY, [b"f0", b"f1"]) == [-1, later]
    assert bench.do(hashes.find_and_persist, KEY, [b"f1", b"f0"]) == [b"1", b"0"]
    assert bench.do(field_times.times, KEY, [b"f1"]) == [-1]
    assert bench.do(hashes.find_and_expire, KEY, 1, [b"f1", b"f1"]) == [b"1", None]
    assert fields(bench) == [b"f0", b"f2", b"f3"]


def test_fields_are_written_with_a_time(bench: Bench) -> None:
    later = bench.clock.now_ms + 50
    bench.do(hashes.assign_until, KEY, later, [b"a", b"1", b"b", b"2", b"a", b"3"])
    assert bench.do(hashes.find_all, KEY, [b"a", b"b"]) == [b"3", b"2"]
    bench.do(hashes.assign_within, KEY, [b"a", b"4", b"c", b"5"])
    assert bench.do(field_times.times, KEY, [b"a", b"b", b"c"]) == [later, later, -1]
    bench.do(hashes.assign_until, KEY, later + 10, [b"a", b"6"])
    assert bench.do(field_times.times, KEY, [b"a", b"b"]) == [later + 10, later]
    bench.do(hashes.assign_until, KEY, 1, [b"a", b"7", b"new", b"8"])
    assert fields(bench) == [b"b", b"c"]
    assert bench.do(hashes.has_all, KEY, [b"b", b"c"])
    assert not bench.do(hashes.has_all, KEY, [b"b", b"a"])
    assert bench.do(hashes.has_any, KEY, [b"a", b"c"])
    assert not bench.do(hashes.has_any, KEY, [b"a", b"none"])


def test_a_hash_that_is_written_with_a_time_in_the_past_is_not_there(bench: Bench) -> None:
    bench.do(hashes.assign_until, KEY, 1, [b"a", b"1", b"b", b"2"])
    assert bench.meta(KEY) is None
    reclaim(bench)
    assert prefixes(bench).isdisjoint({b"s#", b"k#", b"i#", b"t#", b"m#"})
