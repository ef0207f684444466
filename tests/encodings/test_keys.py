"""Keys of any type over both engines, without a server."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import HASH, LIST, NO_EXPIRY, SET, STRING, ZSET
from stratakv.encodings.types.keys import copying, keys
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.strings import strings
from stratakv.encodings.upkeep.reclaim import Reclaimer
from stratakv.storage.contract import EmbeddedEngine
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

NONE: frozenset[bytes] = frozenset()


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=["plain", "patient"])
def bench(request: pytest.FixtureRequest, engine: EmbeddedEngine) -> Bench:
    return Bench(engine, patient=request.param == "patient")


def make_set(txn: Txn, key: bytes, count: int, encoding: int = 0, expire_ms: int = -1) -> None:
    meta = txn.create(key, SET, None if encoding else count, expire_ms, encoding)
    for number in range(count):
        txn.put(meta.sub + b"%06d" % number, b"")


def make_zset(txn: Txn, key: bytes, scores: dict[bytes, float]) -> None:
    meta = txn.create(key, ZSET, len(scores))
    for member, score in scores.items():
        txn.put(meta.sub + member, rows.encode_score(score))
        txn.put(meta.order + rows.encode_score(score) + member, b"")


def make_hash(txn: Txn, key: bytes, fields: dict[bytes, bytes], encoding: int = 0) -> None:
    meta = txn.create(key, HASH, None if encoding else len(fields), encoding=encoding)
    for field, value in fields.items():
        txn.put(meta.sub + field, value)


def set_strings(bench: Bench, names: list[bytes], expire_ms: int = NO_EXPIRY) -> None:
    for name in names:
        bench.do(strings.assign, name, b"v", expire_ms)


def scan_page(
    bench: Bench, cursor: int, amount: int, pattern: bytes | None = None, kind: bytes | None = None
) -> tuple[int, list[bytes]]:
    pages: list[tuple[int, list[bytes]]] = []
    bench.do(lambda txn: pages.append(keys.scan(txn, cursor, amount, pattern, kind)))
    return pages[-1]


def scan_all(bench: Bench, amount: int, **options: bytes) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    cursor = 0
    for _ in range(10_000):
        cursor, page = scan_page(bench, cursor, amount, **options)
        found.update(page)
        if not cursor:
            return found
    raise AssertionError("the scan never ends")


# existence and expire-times


def test_delete_counts_live_keys_once(bench: Bench) -> None:
    set_strings(bench, [b"a", b"b"])
    set_strings(bench, [b"gone"], bench.clock.now_ms + 10)
    bench.clock.advance(10)
    assert bench.do(keys.delete, (b"a", b"a", b"b", b"none", b"gone")) == 2
    assert bench.do(keys.count) == 0


@pytest.mark.parametrize("uses", [True, False])
def test_existing_keys_count_as_often_as_named(bench: Bench, uses: bool) -> None:
    set_strings(bench, [b"a"])
    assert bench.do(partial(keys.count_existing, uses=uses), (b"a", b"a", b"none")) == 2


@pytest.mark.parametrize(
    ("old", "at", "words", "allowed"),
    [
        (NO_EXPIRY, 100, "", True),
        (50, 100, "", True),
        (NO_EXPIRY, 100, "NX", True),
        (50, 100, "NX", False),
        (NO_EXPIRY, 100, "XX", False),
        (50, 100, "XX", True),
        (NO_EXPIRY, 100, "GT", False),
        (100, 100, "GT", False),
        (99, 100, "GT", True),
        (NO_EXPIRY, 100, "LT", True),
        (100, 100, "LT", False),
        (101, 100, "LT", True),
        (NO_EXPIRY, 100, "XX LT", False),
        (101, 100, "XX LT", True),
        (NO_EXPIRY, -5, "GT", False),
        (50, -5, "LT", True),
    ],
)
def test_conditions_of_expire(bench: Bench, old: int, at: int, words: str, allowed: bool) -> None:
    now = bench.clock.now_ms
    before = old if old == NO_EXPIRY else now + old
    set_strings(bench, [b"k"], before)
    assert bench.do(keys.expire, b"k", now + at, frozenset(words.encode().split())) is allowed
    after = now + at if allowed else before
    assert bench.do(keys.expire_time, b"k") == (-2 if NO_EXPIRY != after <= now else after)


def test_an_expire_time_in_the_past_deletes_at_once(bench: Bench) -> None:
    set_strings(bench, [b"k"])
    assert bench.do(keys.expire, b"k", bench.clock.now_ms, NONE)
    assert bench.do(keys.count) == 0


def test_expire_keeps_one_index_row_and_persist_none(bench: Bench) -> None:
    set_strings(bench, [b"k"])
    for at in (1000, 2000):
        bench.do(keys.expire, b"k", bench.clock.now_ms + at, NONE)
    assert index_rows(bench) == [(bench.clock.now_ms + 2000, b"k")]
    assert bench.do(keys.persist, b"k")
    assert not bench.do(keys.persist, b"k")
    assert index_rows(bench) == []


def index_rows(bench: Bench) -> list[tuple[int, bytes]]:
    prefix = rows.EXPIRY + bench.txn.db.ns
    found = bench.keyspace.store.engine.scan_keys(prefix, rows.end_of(prefix))
    return [rows.parse_expiry_row(bench.txn.db.ns, row) for row in found]


# the walk


def test_a_scan_shows_every_key_once(bench: Bench) -> None:
    names = [b"key:%d" % number for number in range(300)]
    set_strings(bench, names)
    for amount in (1, 7, 299, 300, 301, 5000):
        assert scan_all(bench, amount) == Counter(names)


def test_a_scan_step_touches_about_count_rows(bench: Bench) -> None:
    set_strings(bench, [b"key:%d" % number for number in range(50)])
    cursor, page = scan_page(bench, 0, 10)
    assert cursor != 0
    assert len(page) == 10


def test_keys_of_one_hash_are_in_one_step(engine: EmbeddedEngine) -> None:
    bench = Bench(engine)
    ns = bench.txn.db.ns
    raw = metas.encode(metas.Meta(b"", STRING, 0, 1, NO_EXPIRY, b"v", b""))
    for h8 in (7, (1 << 64) - 1):
        for name in (b"a", b"b", b"c"):
            bench.keyspace.store.pending[rows.META + ns + rows.U64.pack(h8) + name] = raw
    bench.txn.db.live = 6
    bench.commit()
    cursor, page = scan_page(bench, 0, 1)
    assert (cursor, page) == (8, [b"a", b"b", b"c"])
    assert scan_page(bench, cursor, 1) == (0, [b"a", b"b", b"c"])


def test_a_scan_goes_on_after_a_restart(engine: EmbeddedEngine) -> None:
    names = [b"key:%d" % number for number in range(40)]
    bench = Bench(engine)
    set_strings(bench, names)
    cursor, page = scan_page(bench, 0, 20)
    again = Bench(engine)
    _, rest = scan_page(again, cursor, 1000)
    assert sorted(page + rest) == sorted(names)


def test_a_scan_filters_by_pattern_and_type(bench: Bench) -> None:
    set_strings(bench, [b"a1", b"a2", b"b1"])
    bench.do(make_set, b"a3", 2)
    assert scan_all(bench, 1, pattern=b"a*") == Counter([b"a1", b"a2", b"a3"])
    assert scan_all(bench, 1, pattern=b"a*", kind=b"set") == Counter([b"a3"])
    assert scan_all(bench, 1, kind=b"nosuch") == Counter()


def test_expired_keys_are_in_no_walk(bench: Bench) -> None:
    set_strings(bench, [b"live"])
    set_strings(bench, [b"later"], bench.clock.now_ms + 1000)
    set_strings(bench, [b"gone%d" % number for number in range(30)], bench.clock.now_ms + 10)
    bench.clock.advance(10)
    assert sorted(bench.do(keys.matching, b"*")) == [b"later", b"live"]
    assert bench.do(keys.matching, b"gone1") == []
    assert scan_all(bench, 5) == Counter([b"later", b"live"])
    assert {bench.do(keys.choose) for _ in range(20)} <= {b"later", b"live"}


def test_an_index_row_without_its_key_hides_nothing(bench: Bench) -> None:
    set_strings(bench, [b"k"])
    bench.keyspace.store.pending[rows.expiry_row(bench.txn.db.ns, 5, b"k")] = b""
    set_strings(bench, [b"other"], bench.clock.now_ms + 10)
    assert sorted(bench.do(keys.matching, b"*")) == [b"k", b"other"]


def test_no_key_is_random_when_there_is_none(bench: Bench) -> None:
    assert bench.do(keys.choose) is None
    set_strings(bench, [b"k"], bench.clock.now_ms + 1)
    bench.clock.advance(1)
    assert bench.do(keys.choose) is None


def test_every_key_can_be_the_random_one(bench: Bench) -> None:
    names = {b"a", b"b", b"c", b"d"}
    set_strings(bench, sorted(names))
    chosen = Counter(bench.do(keys.choose) for _ in range(400))
    assert set(chosen) == names
    assert min(chosen.values()) > 50  # each has its chance, wherever its hash lies


def test_a_walk_sees_what_its_own_unit_of_work_wrote(bench: Bench) -> None:
    set_strings(bench, [b"a", b"b"])

    def unit(txn: Txn) -> tuple[list[bytes], list[bytes], int]:
        strings.assign(txn, b"c", b"v")
        keys.delete(txn, (b"a",))
        found = keys.matching(txn, b"*")
        _, page = keys.scan(txn, 0, 10, None, None)
        strings.assign(txn, b"c", b"newer")
        return sorted(found), sorted(page), keys.count(txn)

    results: list[object] = []
    bench.do(lambda txn: results.append(unit(txn)))
    assert results == [([b"b", b"c"], [b"b", b"c"], 2)]
    assert bench.do(strings.find, b"c") == b"newer"
    assert sorted(bench.do(keys.matching, b"*")) == [b"b", b"c"]


def test_keys_written_in_the_same_turn_are_seen(engine: EmbeddedEngine) -> None:
    bench = Bench(engine)
    strings.assign(bench.txn, b"k", b"v")
    bench.txn.apply()
    assert keys.matching(bench.txn, b"*") == [b"k"]
    assert keys.scan(bench.txn, 0, 10, None, None) == (0, [b"k"])
    assert keys.choose(bench.txn) == b"k"


# copies


@pytest.mark.parametrize("encoding", [0, 1])
@pytest.mark.parametrize("count", [3, 2500])
def test_a_copy_has_the_same_rows_and_its_own_life(bench: Bench, encoding: int, count: int) -> None:
    expire_ms = bench.clock.now_ms + 5000
    bench.do(lambda txn: make_set(txn, b"from", count, encoding, expire_ms))
    assert bench.do(lambda txn: copying.copy_key(txn, b"from", txn, b"to", replace=False))
    source, copy = bench.meta(b"from"), bench.meta(b"to")
    assert source is not None
    assert copy is not None
    assert copy.version > source.version
    assert (copy.encoding, copy.extra, copy.expire_ms) == (encoding, source.extra, expire_ms)
    assert bench.rows(b"to") == bench.rows(b"from")
    assert len(bench.rows(b"to")) == count
    bench.do(keys.delete, (b"from",))
    assert len(bench.rows(b"to")) == count


def test_a_copy_replaces_only_when_asked(bench: Bench) -> None:
    set_strings(bench, [b"from"])
    bench.do(make_set, b"to", 2)
    assert not bench.do(lambda txn: copying.copy_key(txn, b"from", txn, b"to", replace=False))
    assert bench.do(lambda txn: copying.copy_key(txn, b"from", txn, b"to", replace=True))
    assert bench.do(strings.find, b"to") == b"v"
    assert bench.do(keys.count) == 2


def test_a_renamed_sorted_set_keeps_its_order(bench: Bench) -> None:
    bench.do(make_zset, b"from", {b"a": 2.0, b"b": -1.0})
    bench.do(lambda txn: copying.rename(txn, txn.find(b"from"), b"from", b"to"))
    meta = bench.meta(b"to")
    assert meta is not None
    assert bench.meta(b"from") is None
    order = bench.keyspace.store.engine.scan_keys(meta.order, rows.end_of(meta.order))
    assert [row[len(meta.order) + 8 :] for row in order] == [b"b", b"a"]
    assert bench.rows(b"to") == {b"a": rows.encode_score(2.0), b"b": rows.encode_score(-1.0)}


@pytest.mark.parametrize("count", [3, 2500])
def test_a_moved_key_is_in_the_other_database_only(bench: Bench, count: int) -> None:
    bench.do(make_set, b"k", count)
    assert bench.do(lambda txn: copying.move(txn, b"k", txn.sibling(3)))
    assert bench.do(keys.count) == 0
    other = Txn(bench.keyspace, bench.keyspace.databases[3])
    meta = other.find(b"k")
    assert meta is not None
    stored = bench.keyspace.store.engine.scan_keys(meta.sub, rows.end_of(meta.sub))
    assert len(list(stored)) == count
    assert not bench.keyspace.versions.building


def test_what_copies_leave_behind_is_reclaimed(bench: Bench) -> None:
    bench.do(make_set, b"a", 2500)
    bench.do(lambda txn: copying.rename(txn, txn.find(b"a"), b"a", b"b"))
    reclaimer = Reclaimer(bench.keyspace)
    while reclaimer.work(float("inf")):
        pass
    bench.commit()
    subs = bench.keyspace.store.engine.scan_keys(rows.SUB, rows.end_of(rows.SUB))
    assert len(list(subs)) == 2500
    assert len(bench.rows(b"b")) == 2500


def test_a_list_is_elements_in_sequence(bench: Bench) -> None:
    bench.do(lists.create, b"l", [b"x", b"y", b"x"])
    meta = bench.meta(b"l")
    assert meta is not None
    start = 1 << 63
    assert (meta.type, meta.extra) == (LIST, (start, start + 3))
    assert bench.rows(b"l") == {
        rows.sequence(start + number): value for number, value in enumerate([b"x", b"y", b"x"])
    }
    assert bench.do(lambda txn: list(lists.elements(txn, meta))) == [b"x", b"y", b"x"]
    assert bench.do(lambda txn: copying.copy_key(txn, b"l", txn, b"l2", replace=False))
    assert bench.rows(b"l2") == bench.rows(b"l")


# OBJECT


@pytest.mark.parametrize("encoding", [0, 1])
@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({b"f": b"v"}, b"listpack"),
        ({b"%d" % number: b"v" for number in range(512)}, b"listpack"),
        ({b"%d" % number: b"v" for number in range(513)}, b"hashtable"),
        ({b"f": b"v" * 64}, b"listpack"),
        ({b"f": b"v" * 65}, b"hashtable"),
        ({b"f" * 65: b"v"}, b"hashtable"),
    ],
)
def test_encoding_of_hashes(
    bench: Bench, fields: dict[bytes, bytes], name: bytes, encoding: int
) -> None:
    bench.do(make_hash, b"k", fields, encoding)
    assert bench.do(lambda txn: keys.encoding_name(txn, txn.find(b"k"))) == name


def test_a_large_collection_is_named_without_reading_it(engine: EmbeddedEngine) -> None:
    bench = Bench(engine)
    bench.do(make_set, b"k", 5000)
    bench.long_runs = 0
    assert bench.do(lambda txn: keys.encoding_name(txn, txn.find(b"k"))) == b"hashtable"
    assert bench.long_runs == 0
