"""Hashes over both engines and both ways of counting, without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.shared import member_rows
from stratakv.encodings.types.strings import strings
from stratakv.errors import CommandError
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"hash"


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEngine | LevelEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=["v0", "v1", "v0 patient", "v1 patient"])
def bench(request: pytest.FixtureRequest, engine: MemoryEngine | LevelEngine) -> Bench:
    version, _, patient = request.param.partition(" ")
    return Bench(engine, encoding=int(version[1:]), patient=bool(patient))


def fill(bench: Bench, count: int) -> dict[bytes, bytes]:
    pairs = {b"field:%06d" % number: b"value %d" % number for number in range(count)}
    bench.do(hashes.assign_all, KEY, [item for pair in pairs.items() for item in pair])
    return pairs


def test_the_rows_are_those_of_the_layout() -> None:
    bench = Bench(MemoryEngine())
    bench.do(hashes.assign_all, b"k", [b"f", b"v", b"", b"w"])
    meta = bench.meta(b"k")
    assert meta is not None
    assert meta.extra == 2
    path = b"0:" + bytes.fromhex("8ce4b16b22b58894") + b"\0\0\0\x01k"
    assert meta.sub == b"s#" + path + meta.version.to_bytes(8, "big")
    assert bench.rows(b"k") == {b"f": b"v", b"": b"w"}


def test_assign_says_what_is_new(bench: Bench) -> None:
    assert bench.do(hashes.assign, KEY, b"f", b"1") == 1
    assert bench.do(hashes.assign, KEY, b"f", b"2") == (0 if bench.counted else 1)
    assert bench.do(hashes.assign, KEY, b"g", b"3") == 1
    assert bench.rows(KEY) == {b"f": b"2", b"g": b"3"}
    assert bench.do(hashes.count, KEY) == 2


def test_assign_all_counts_a_repeated_field_once(bench: Bench) -> None:
    given = [b"f", b"1", b"g", b"2", b"f", b"3"]
    assert bench.do(hashes.assign_all, KEY, given) == (2 if bench.counted else 3)
    assert bench.do(hashes.assign_all, KEY, given) == (0 if bench.counted else 3)
    assert bench.rows(KEY) == {b"f": b"3", b"g": b"2"}
    assert bench.do(hashes.count, KEY) == 2


def test_only_a_counted_hash_has_a_count(bench: Bench) -> None:
    fill(bench, 3)
    meta = bench.meta(KEY)
    assert meta is not None
    assert meta.extra == (3 if bench.counted else None)


def test_a_new_field_keeps_the_expiry(bench: Bench) -> None:
    bench.do(hashes.assign, KEY, b"f", b"1")
    meta = bench.meta(KEY)
    assert meta is not None
    bench.do(lambda txn: txn.save(KEY, meta.with_expiry(bench.clock.now_ms + 5000)))
    bench.do(hashes.assign, KEY, b"g", b"2")
    after = bench.meta(KEY)
    assert after is not None
    assert after.expire_ms == bench.clock.now_ms + 5000 != NO_EXPIRY


def test_an_expired_hash_leaves_no_fields_to_its_successor(bench: Bench) -> None:
    bench.do(hashes.assign, KEY, b"f", b"1")
    meta = bench.meta(KEY)
    assert meta is not None
    bench.do(lambda txn: txn.save(KEY, meta.with_expiry(bench.clock.now_ms + 5)))
    bench.clock.advance(10)
    bench.clock.tick()
    assert bench.do(hashes.find, KEY, b"f") is None
    assert bench.do(hashes.assign, KEY, b"g", b"2") == 1
    assert dict(bench.do(hashes.everything, KEY)) == {b"g": b"2"}


def test_assign_new_spares_what_is_there(bench: Bench) -> None:
    assert bench.do(hashes.assign_new, KEY, b"f", b"1")
    assert not bench.do(hashes.assign_new, KEY, b"f", b"2")
    assert bench.do(hashes.find, KEY, b"f") == b"1"


def test_find(bench: Bench) -> None:
    bench.do(hashes.assign_all, KEY, [b"f", b"1", b"g", b""])
    assert bench.do(hashes.find, KEY, b"g") == b""
    assert bench.do(hashes.find, KEY, b"x") is None
    assert bench.do(hashes.find, b"none", b"x") is None
    assert bench.do(hashes.find_all, KEY, [b"x", b"f", b"f"]) == [None, b"1", b"1"]
    assert bench.do(hashes.find_all, b"none", [b"x", b"f"]) == [None, None]


def test_another_type_is_refused(bench: Bench) -> None:
    bench.do(strings.assign, KEY, b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        bench.do(hashes.assign, KEY, b"f", b"1")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        bench.do(hashes.remove, KEY, [b"f"])
    with pytest.raises(CommandError, match="WRONGTYPE"):
        bench.do(hashes.everything, KEY)


def test_remove_counts_and_the_last_field_takes_the_key(bench: Bench) -> None:
    fill(bench, 3)
    gone = bench.do(hashes.remove, KEY, [b"field:000000", b"x", b"field:000000"])
    assert gone == (1 if bench.counted else 3)
    assert bench.do(hashes.count, KEY) == 2
    gone = bench.do(hashes.remove, KEY, [b"field:000001", b"field:000002", b"x"])
    assert gone == (2 if bench.counted else 3)
    assert bench.meta(KEY) is None
    assert bench.keyspace.databases[0].live == 0
    assert bench.do(hashes.remove, KEY, [b"x"]) == 0


def test_a_field_removed_in_the_same_turn_is_gone(bench: Bench) -> None:
    def both(txn: Txn) -> int:
        hashes.assign(txn, KEY, b"f", b"1")
        return hashes.remove(txn, KEY, [b"f"])

    assert bench.do(both) == 1
    assert bench.meta(KEY) is None


def test_everything_in_byte_order(bench: Bench) -> None:
    pairs = fill(bench, 20)
    assert bench.do(hashes.everything, KEY) == sorted(pairs.items())
    assert bench.do(hashes.names, KEY) == sorted(pairs)
    assert bench.do(hashes.values, KEY) == [value for _, value in sorted(pairs.items())]
    assert bench.do(hashes.everything, b"none") == []
    assert bench.do(hashes.names, b"none") == []
    assert bench.do(hashes.values, b"none") == []


def test_a_hash_beyond_the_budget_takes_the_long_way(bench: Bench) -> None:
    pairs = fill(bench, 3000)
    before = bench.long_runs
    assert bench.do(hashes.everything, KEY) == sorted(pairs.items())
    assert len(bench.do(hashes.values, KEY)) == 3000
    assert bench.do(hashes.remove, KEY, list(pairs)[:2999]) == 2999
    assert bench.long_runs == before + 3
    assert bench.do(hashes.everything, KEY) == [(b"field:002999", b"value 2999")]


def test_increment(bench: Bench) -> None:
    assert bench.do(hashes.increment, KEY, b"n", 5) == 5
    assert bench.do(hashes.increment, KEY, b"n", -7) == -2
    assert bench.rows(KEY) == {b"n": b"-2"}
    assert bench.do(hashes.count, KEY) == 1


@pytest.mark.parametrize(
    ("text", "amount", "message"),
    [
        (b"x", 1, "hash value is not an integer"),
        (b"", 1, "hash value is not an integer"),
        (b"1.5", 1, "hash value is not an integer"),
        (b"9223372036854775807", 1, "would overflow"),
        (b"-9223372036854775808", -1, "would overflow"),
    ],
)
def test_increment_refuses(bench: Bench, text: bytes, amount: int, message: str) -> None:
    bench.do(hashes.assign, KEY, b"n", text)
    with pytest.raises(CommandError, match=message):
        bench.do(hashes.increment, KEY, b"n", amount)
    assert bench.rows(KEY) == {b"n": text}


def test_increment_float(bench: Bench) -> None:
    assert bench.do(hashes.increment_float, KEY, b"n", b"10.5") == b"10.5"
    assert bench.do(hashes.increment_float, KEY, b"n", b"0.1") == b"10.6"
    assert bench.do(hashes.increment_float, KEY, b"n", b"5.0e3") == b"5010.60000000000000009"
    for field, amount, message in (
        (b"n", b"x", "not a valid float"),
        (b"n", b"inf", "value is NaN or Infinity"),
        (b"t", b"1", "hash value is not a float"),
    ):
        bench.do(hashes.assign, KEY, b"t", b"text")
        with pytest.raises(CommandError, match=message):
            bench.do(hashes.increment_float, KEY, field, amount)


@pytest.mark.parametrize("size", [1, 40, 500, 2500])
def test_random_fields_of_any_number(bench: Bench, size: int) -> None:
    pairs = fill(bench, size)
    assert bench.do(hashes.random_field, KEY) in pairs
    assert bench.do(hashes.random_fields, KEY, 0) == []
    assert bench.do(hashes.random_fields, KEY, size) == sorted(pairs)
    assert bench.do(hashes.random_fields, KEY, size + 5) == sorted(pairs)
    for wanted in {1, size // 20, size // 2, size - 1} - {0}:
        chosen = bench.do(hashes.random_fields, KEY, wanted)
        assert len(chosen) == len(set(chosen)) == wanted
        assert set(chosen) <= set(pairs)
    repeated = bench.do(hashes.random_pairs, KEY, -30)
    assert len(repeated) == 30
    assert all(pairs[field] == value for field, value in repeated)


def test_random_fields_of_nothing(bench: Bench) -> None:
    assert bench.do(hashes.random_field, KEY) is None
    assert bench.do(hashes.random_fields, KEY, 3) == []
    assert bench.do(hashes.random_fields, KEY, -3) == []
    assert bench.do(hashes.random_pairs, KEY, -3) == []


def scan(bench: Bench, wanted: int) -> list[bytes]:
    """A whole HSCAN."""
    found: list[bytes] = []
    cursor = 0
    while True:
        cursor, shown = bench.do(_page, cursor, wanted)
        found += [field for field, _ in shown]
        if not cursor:
            return found


def _page(txn: Txn, cursor: int, wanted: int) -> list[object]:
    meta = txn.find(KEY)
    assert meta is not None
    return list(member_rows.page(txn, meta, cursor, wanted))


@pytest.mark.parametrize("wanted", [1, 7, 200, 1500])
def test_a_scan_shows_every_field_once(bench: Bench, wanted: int) -> None:
    pairs = fill(bench, 1300 if wanted > 1 else 150)
    assert scan(bench, wanted) == sorted(pairs)


def test_a_small_counted_hash_is_scanned_in_one_step() -> None:
    bench = Bench(MemoryEngine())
    fill(bench, 128)
    cursor, shown = bench.do(_page, 0, 10)
    assert (cursor, len(shown)) == (0, 128)


def test_a_hash_of_long_values_is_not() -> None:
    bench = Bench(MemoryEngine())
    pairs = {b"%03d" % number: b"v" * 65 for number in range(128)}
    bench.do(hashes.assign_all, KEY, [item for pair in pairs.items() for item in pair])
    cursor, shown = bench.do(_page, 0, 10)
    assert (bool(cursor), len(shown)) == (True, 10)


def test_a_scan_misses_nothing_that_stays(bench: Bench) -> None:
    pairs = fill(bench, 1000)
    cursor, shown = bench.do(_page, 0, 100)
    bench.do(hashes.remove, KEY, [shown[-1][0], b"field:000100"])
    bench.do(hashes.assign, KEY, b"field:000100a", b"new")
    found = {field for field, _ in shown}
    while cursor:
        cursor, shown = bench.do(_page, cursor, 100)
        found |= {field for field, _ in shown}
    assert set(pairs) - {b"field:000100"} <= found


def test_a_hash_takes_the_place_of_a_dropped_set(bench: Bench) -> None:
    bench.do(sets.add, KEY, b"member")
    bench.do(lambda txn: txn.drop(KEY))
    bench.do(hashes.assign, KEY, b"f", b"v")
    assert bench.do(hashes.everything, KEY) == [(b"f", b"v")]


def test_a_small_hash_that_is_known_needs_no_scan_until_a_field_goes() -> None:
    bench = Bench(MemoryEngine())
    model = fill(bench, 5)
    store = bench.keyspace.store

    def scans() -> int:
        before = store.stats.scans
        assert dict(bench.do(hashes.everything, KEY)) == model
        assert list(bench.do(hashes.names, KEY)) == sorted(model)
        return store.stats.scans - before

    assert scans() == 0
    bench.commit()
    bench.keyspace.databases[0].forget()
    assert scans() > 0
    assert scans() == 0
    model[b"field:000001"] = b"changed"
    bench.do(hashes.assign, KEY, b"field:000001", b"changed")
    bench.do(keys.expire, KEY, bench.clock.now_ms + 1000, frozenset[bytes]())
    assert scans() == 0
    model[b"new"] = b"1"
    bench.do(hashes.assign, KEY, b"new", b"1")
    assert scans() == 0
    del model[b"field:000002"]
    bench.do(hashes.remove, KEY, [b"field:000002"])
    model[b"another"] = b"2"
    bench.do(hashes.assign, KEY, b"another", b"2")
    assert scans() > 0
    assert scans() == 0
    database = bench.keyspace.databases[0]
    assert database.cached_bytes == sum(meta.charge for meta in database.cache.values())


def test_what_a_discarded_unit_wrote_is_not_remembered_as_a_member() -> None:
    bench = Bench(MemoryEngine())
    model = fill(bench, 3)
    bench.txn.budget = 1000
    hashes.assign(bench.txn, KEY, b"never", b"1")
    assert dict(hashes.everything(bench.txn, KEY)[1]) == {**model, b"never": b"1"}
    bench.txn.discard()
    assert dict(bench.do(hashes.everything, KEY)) == model
    assert dict(bench.do(hashes.everything, KEY)) == model
