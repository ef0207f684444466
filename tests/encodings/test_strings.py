"""Strings and bitmaps over both engines, in one go and patiently, without a server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.limits import Limits
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.strings import bitmaps, lcs, strings
from stratakv.encodings.types.strings.bits import FieldAction, FieldOp, FieldType, Overflow
from stratakv.errors import CommandError
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"key"
U8 = FieldType(signed=False, bits=8)


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEngine | LevelEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=[False, True], ids=["plain", "patient"])
def bench(request: pytest.FixtureRequest, engine: MemoryEngine | LevelEngine) -> Bench:
    return Bench(engine, patient=request.param)


def assigned(bench: Bench, value: bytes, ttl_ms: int | None = None) -> Bench:
    """The bench with a value under KEY."""
    expire_ms = -1 if ttl_ms is None else bench.clock.now_ms + ttl_ms
    bench.do(strings.assign, KEY, value, expire_ms)
    return bench


def live_keys(bench: Bench) -> tuple[int, int]:
    """Keys, and keys with an expire-time."""
    database = bench.keyspace.databases[0]
    return database.live, database.expiring


@pytest.mark.parametrize("value", [b"", b"v", bytes(range(256)), b"x" * 100_000])
def test_a_value_comes_back_as_it_went_in(bench: Bench, value: bytes) -> None:
    assert assigned(bench, value).do(strings.find, KEY) == value


def test_a_value_survives_the_cache(bench: Bench) -> None:
    assigned(bench, b"v", 5000)
    bench.keyspace.databases[0].forget()
    meta = bench.meta(KEY)
    assert meta is not None
    assert (meta.value, meta.expire_ms) == (b"v", bench.clock.now_ms + 5000)


def test_assign_replaces_a_collection_and_queues_its_rows(bench: Bench) -> None:
    bench.do(sets.add_all, KEY, [b"%d" % number for number in range(100)])
    assigned(bench, b"v")
    garbage = list(bench.keyspace.store.engine.scan(b"g#", b"g$"))
    assert bench.do(strings.find, KEY) == b"v"
    assert len(garbage) == 1
    assert live_keys(bench) == (1, 0)


def test_writing_over_a_string_keeps_its_incarnation(bench: Bench) -> None:
    versions = []
    for step in (strings.assign, strings.append, strings.assign):
        bench.do(step, KEY, b"v")
        meta = bench.meta(KEY)
        assert meta is not None
        versions.append(meta.version)
    assert versions[0] == versions[1] == versions[2]


def test_assign_over_an_expired_string_leaves_one_index_row_at_most(bench: Bench) -> None:
    now_ms = bench.keyspace.clock.now_ms
    bench.do(strings.assign, KEY, b"v", now_ms - 1)
    bench.do(strings.assign, KEY, b"w", now_ms + 5000)
    assert bench.do(strings.find, KEY) == b"w"
    assert len(list(bench.keyspace.store.engine.scan(b"e#", b"e$"))) == 1
    assert live_keys(bench) == (1, 1)


@pytest.mark.parametrize(
    ("exists", "there", "done"),
    [
        (True, True, True),
        (True, False, False),
        (False, True, False),
        (False, False, True),
        (None, True, True),
        (None, False, True),
    ],
)
def test_assign_if_asks_for_the_key(
    bench: Bench, exists: bool | None, there: bool, done: bool
) -> None:
    if there:
        assigned(bench, b"old")

    def operation(txn: Txn) -> bool:
        return strings.assign_if(txn, KEY, b"new", exists=exists)

    assert bench.do(operation) is done
    assert (bench.do(strings.find, KEY) == b"new") is done


@pytest.mark.parametrize("keeps_expiry", [True, False])
def test_assign_if_keeps_the_expiry_when_asked(bench: Bench, keeps_expiry: bool) -> None:
    assigned(bench, b"old", 1000)

    def operation(txn: Txn) -> bool:
        return strings.assign_if(txn, KEY, b"new", exists=None, keeps_expiry=keeps_expiry)

    bench.do(operation)
    assert live_keys(bench) == (1, int(keeps_expiry))
    bench.clock.advance(1000)
    assert bench.do(strings.find, KEY) == (None if keeps_expiry else b"new")


def test_a_key_that_expired_counts_as_absent(bench: Bench) -> None:
    assigned(bench, b"5", 1000)
    bench.clock.advance(1000)
    assert bench.do(strings.take, KEY) is None
    assert bench.do(strings.increment, KEY, 1) == 1
    assert live_keys(bench) == (1, 0)


def test_expire_in_the_past_deletes(bench: Bench) -> None:
    assigned(bench, b"v")

    def expire(txn: Txn, expire_ms: int) -> None:
        meta = txn.find(KEY)
        assert meta is not None
        strings.expire(txn, KEY, meta, expire_ms)

    bench.do(expire, bench.clock.now_ms + 1)
    assert live_keys(bench) == (1, 1)
    bench.do(expire, bench.clock.now_ms)
    assert live_keys(bench) == (0, 0)
    assert bench.do(strings.find, KEY) is None


def test_assign_all_takes_the_last_value_of_a_key_named_twice(bench: Bench) -> None:
    bench.do(strings.assign_all, [b"a", b"1", b"b", b"2", b"a", b"3"])
    assert bench.do(strings.find_all, [b"a", b"b", b"c"]) == [b"3", b"2", None]
    assert live_keys(bench) == (2, 0)


def test_assign_all_if_absent_is_all_or_nothing(bench: Bench) -> None:
    assert bench.do(strings.assign_all_if_absent, [b"a", b"1", b"b", b"2"]) is True
    assert bench.do(strings.assign_all_if_absent, [b"c", b"3", b"b", b"4"]) is False
    assert bench.do(strings.find_all, [b"a", b"b", b"c"]) == [b"1", b"2", None]


def test_many_keys_at_once_turn_patient(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    keys = [b"key:%d" % number for number in range(3000)]
    bench.do(strings.assign_all, [item for key in keys for item in (key, key)])
    assert bench.do(strings.find_all, keys) == keys
    assert bench.long_runs == 2
    assert live_keys(bench) == (3000, 0)


@pytest.mark.parametrize(
    ("old", "amount", "new"),
    [(b"5", 3, 8), (b"-1", 1, 0), (b"9223372036854775806", 1, (1 << 63) - 1), (None, -4, -4)],
)
def test_increment(bench: Bench, old: bytes | None, amount: int, new: int) -> None:
    if old is not None:
        assigned(bench, old, 1000)
    assert bench.do(strings.increment, KEY, amount) == new
    assert bench.do(strings.find, KEY) == b"%d" % new
    assert live_keys(bench) == (1, int(old is not None))


@pytest.mark.parametrize("old", [b"", b" 1", b"01", b"x", b"1.0", b"9223372036854775807"])
def test_increment_refuses_and_changes_nothing(bench: Bench, old: bytes) -> None:
    assigned(bench, old)
    with pytest.raises(CommandError):
        bench.do(strings.increment, KEY, 1)
    assert bench.do(strings.find, KEY) == old


def test_parts_of_values(bench: Bench) -> None:
    assert bench.do(strings.overwrite, KEY, 3, b"ab") == 5
    assert bench.do(strings.find, KEY) == b"\0\0\0ab"
    assert bench.do(strings.overwrite, KEY, 1, b"xyz") == 5
    assert bench.do(strings.append, KEY, b"!") == 6
    assert bench.do(strings.find, KEY) == b"\0xyzb!"
    assert bench.do(strings.overwrite, b"none", 9, b"") == 0
    assert live_keys(bench) == (1, 0)


def test_no_string_outgrows_the_limit(bench: Bench) -> None:
    bench.keyspace.limits = Limits(string_bytes=8)
    assert bench.do(strings.overwrite, KEY, 6, b"ab") == 8
    for operation, arguments in ((strings.append, (b"c",)), (strings.overwrite, (7, b"cd"))):
        with pytest.raises(CommandError, match="proto-max-bulk-len"):
            bench.do(operation, KEY, *arguments)
    assert bench.do(strings.find, KEY) == b"\0" * 6 + b"ab"


@pytest.mark.parametrize(
    ("start", "end", "part"),
    [
        (0, -1, b"hello"),
        (1, 3, b"ell"),
        (-3, -2, b"ll"),
        (-2, -3, b""),
        (3, 1, b""),
        (-100, 100, b"hello"),
        (5, 9, b""),
        (0, -100, b"h"),
    ],
)
def test_slices(bench: Bench, start: int, end: int, part: bytes) -> None:
    bench.do(strings.assign, KEY, b"hello")
    assert bench.do(strings.find_part, KEY, start, end) == part


def test_a_long_comparison_turns_patient(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    bench.do(strings.assign_all, [b"a", b"ab" * 3000, b"b", b"ba" * 3000])

    def length(txn: Txn) -> int:
        a, b = strings.prepare_lcs(txn, strings.common_pair(txn, b"a", b"b"))
        return lcs.lcs_length(a, b, txn.pause_if_due)

    assert bench.do(length) == 5999
    assert bench.long_runs == 1
    bench.keyspace.limits = Limits(string_bytes=1 << 20)
    with pytest.raises(CommandError, match="transient memory"):
        bench.do(length)


def test_set_bit_grows_and_keeps_the_expiry(bench: Bench) -> None:
    assert bench.do(bitmaps.set_bit, KEY, 17, 0) == 0
    assert bench.do(strings.find, KEY) == b"\0\0\0"
    assigned(bench, b"\x00", 1000)
    assert [bench.do(bitmaps.set_bit, KEY, 7, bit) for bit in (1, 1, 0, 1)] == [0, 1, 1, 0]
    assert bench.do(strings.find, KEY) == b"\x01"
    assert live_keys(bench) == (1, 1)


def test_combine_replaces_or_deletes_the_target(bench: Bench) -> None:
    assigned(bench, b"\x0f\xf0", 1000)
    assert bench.do(bitmaps.combine, b"NOT", KEY, [KEY]) == 2
    assert bench.do(strings.find, KEY) == b"\xf0\x0f"
    assert live_keys(bench) == (1, 0)
    assert bench.do(bitmaps.combine, b"OR", KEY, [b"none"]) == 0
    assert live_keys(bench) == (0, 0)


def test_a_large_combination_turns_patient(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    bench.do(strings.assign_all, [b"a", b"\xf0" * 2_000_000, b"b", b"\x3c" * 1_000_000])
    before = bench.long_runs
    assert bench.do(bitmaps.combine, b"XOR", KEY, [b"a", b"b"]) == 2_000_000
    assert bench.long_runs == before + 1
    assert bench.do(strings.find, KEY) == b"\xcc" * 1_000_000 + b"\xf0" * 1_000_000
    assert bench.pauses > 0


def test_fields_that_only_read_make_no_key(bench: Bench) -> None:
    assert bench.do(bitmaps.run_fields, KEY, [FieldOp(FieldAction.GET, U8, 0)]) == [0]
    assert bench.meta(KEY) is None
    failing = FieldOp(FieldAction.SET, U8, 8, 256, Overflow.FAIL)
    assert bench.do(bitmaps.run_fields, KEY, [failing]) == [None]
    assert bench.do(strings.find, KEY) == b"\0\0"


def test_operations_refuse_another_type(bench: Bench) -> None:
    bench.do(sets.add, KEY, b"member")
    calls: list[tuple[Callable[..., object], tuple[object, ...]]] = [
        (strings.find, ()),
        (strings.take, ()),
        (strings.exchange, (b"v",)),
        (strings.append, (b"v",)),
        (strings.overwrite, (0, b"v")),
        (strings.increment, (1,)),
        (strings.increment_float, (b"1",)),
        (strings.find_opened, ()),
        (bitmaps.set_bit, (0, 1)),
        (bitmaps.run_fields, ([],)),
    ]
    for operation, arguments in calls:
        with pytest.raises(CommandError, match="WRONGTYPE"):
            bench.do(operation, KEY, *arguments)
    assert bench.do(strings.find_all, [KEY]) == [None]
