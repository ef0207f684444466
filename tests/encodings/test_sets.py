"""Sets over both engines and both ways of counting, without a server."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.sets import sets
from stratakv.errors import CommandError
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"set"
LARGE = 2000

Make = Callable[[int], bytes]


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEngine | LevelEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=["v0", "v1", "v0 patient", "v1 patient"])
def bench(request: pytest.FixtureRequest, engine: MemoryEngine | LevelEngine) -> Bench:
    version, _, patient = request.param.partition(" ")
    return Bench(engine, encoding=int(version[1:]), patient=bool(patient))


def numbered(number: int) -> bytes:
    return b"member:%07d" % number


def fill(bench: Bench, key: bytes, numbers: range) -> set[bytes]:
    made = {numbered(number) for number in numbers}
    bench.do(sets.add_all, key, sorted(made))
    return made


# one set


def test_the_rows_are_those_of_the_layout() -> None:
    bench = Bench(MemoryEngine())
    bench.do(sets.add_all, b"k", [b"b", b"a", b""])
    meta = bench.meta(b"k")
    assert meta is not None
    assert (meta.type, meta.encoding, meta.extra) == (5, 0, 3)
    assert bench.rows(b"k") == {b"": b"", b"a": b"", b"b": b""}


def test_add_says_what_is_new(bench: Bench) -> None:
    assert bench.do(sets.add, KEY, b"a") == 1
    assert bench.do(sets.add, KEY, b"a") == (0 if bench.counted else 1)
    assert bench.do(sets.add_all, KEY, [b"a", b"b", b"b"]) == (1 if bench.counted else 3)
    assert bench.do(sets.count, KEY) == 2
    assert bench.do(sets.everything, KEY) == [b"a", b"b"]


def test_adding_what_is_there_writes_nothing() -> None:
    bench = Bench(MemoryEngine())
    bench.do(sets.add, KEY, b"a")
    assert sets.add(bench.txn, KEY, b"a") == 0
    assert not bench.txn.changed


def test_a_blind_add_reads_nothing() -> None:
    bench = Bench(MemoryEngine(), encoding=1)
    bench.do(sets.add, KEY, b"a")
    bench.txn.budget = 0
    assert sets.add(bench.txn, KEY, b"b") == 1


def test_remove_counts_and_the_last_member_takes_the_key(bench: Bench) -> None:
    fill(bench, KEY, range(3))
    gone = bench.do(sets.remove, KEY, [numbered(0), b"x", numbered(0)])
    assert gone == (1 if bench.counted else 3)
    assert bench.do(sets.everything, KEY) == [numbered(1), numbered(2)]
    bench.do(sets.remove, KEY, [numbered(1)])
    bench.do(sets.remove, KEY, [numbered(2)])
    assert bench.meta(KEY) is None
    assert bench.do(sets.remove, KEY, [numbered(2)]) == 0
    assert bench.keyspace.databases[0].live == 0


def test_contains(bench: Bench) -> None:
    bench.do(sets.add_all, KEY, [b"a", b""])
    assert bench.do(sets.contains, KEY, b"a")
    assert not bench.do(sets.contains, KEY, b"b")
    assert not bench.do(sets.contains, b"none", b"a")
    assert bench.do(sets.contains_each, KEY, [b"a", b"b", b""]) == [1, 0, 1]
    assert bench.do(sets.contains_each, b"none", [b"a", b"b"]) == [0, 0]


def test_move(bench: Bench) -> None:
    bench.do(sets.add_all, b"one", [b"a", b"b"])
    assert bench.do(sets.move, b"one", b"two", b"a")
    assert not bench.do(sets.move, b"one", b"two", b"a")
    assert not bench.do(sets.move, b"none", b"two", b"a")
    assert bench.do(sets.move, b"one", b"one", b"b")
    assert not bench.do(sets.move, b"one", b"one", b"x")
    assert bench.do(sets.move, b"one", b"two", b"b")
    assert bench.meta(b"one") is None
    assert bench.do(sets.everything, b"two") == [b"a", b"b"]
    assert bench.do(sets.count, b"two") == 2


def test_move_to_where_it_is_already(bench: Bench) -> None:
    bench.do(sets.add_all, b"one", [b"a", b"b"])
    bench.do(sets.add, b"two", b"a")
    assert bench.do(sets.move, b"one", b"two", b"a")
    assert bench.do(sets.count, b"one") == bench.do(sets.count, b"two") == 1


def test_move_refuses_another_type_unless_there_is_no_source(bench: Bench) -> None:
    bench.do(hashes.assign, b"hash", b"f", b"v")
    bench.do(sets.add, KEY, b"a")
    assert not bench.do(sets.move, b"none", b"hash", b"a")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        bench.do(sets.move, KEY, b"hash", b"x")
    assert bench.do(sets.everything, KEY) == [b"a"]


# random members


@pytest.mark.parametrize("size", [1, 2, 512, 513, LARGE])
def test_pop_empties_the_count_with_the_rows(bench: Bench, size: int) -> None:
    left = fill(bench, KEY, range(size))
    for _ in range(min(size, 40)):
        member = bench.do(sets.pop, KEY)
        left.remove(member)
    assert set(bench.rows(KEY)) == left
    assert bench.do(sets.count, KEY) == len(left)
    assert (bench.meta(KEY) is None) is (not left)


def test_pop_of_nothing(bench: Bench) -> None:
    assert bench.do(sets.pop, KEY) is None
    assert bench.do(sets.pop_many, KEY, 5) == []
    bench.do(sets.add, KEY, b"a")
    assert bench.do(sets.pop_many, KEY, 0) == []
    assert bench.do(sets.count, KEY) == 1


def test_a_slow_small_set_is_written_anew(
    engine: MemoryEngine | LevelEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(engine)
    left = fill(bench, KEY, range(6))
    before = bench.meta(KEY)
    assert before is not None
    bench.do(lambda txn: txn.save(KEY, before.with_expiry(bench.clock.now_ms + 5000)))
    monkeypatch.setattr(sets, "SLOW_SECONDS", -1.0)
    for _ in range(5):
        left.remove(bench.do(sets.pop, KEY))
        meta = bench.meta(KEY)
        assert meta is not None
        assert meta.version > before.version
        assert meta.expire_ms == bench.clock.now_ms + 5000
        assert set(bench.rows(KEY)) == left
        assert bench.do(sets.count, KEY) == len(left)
    bench.do(sets.pop, KEY)
    assert bench.meta(KEY) is None
    assert bench.keyspace.databases[0].live == 0


@pytest.mark.parametrize("order", ["ascending", "descending", "from both ends", "random"])
def test_removing_one_by_one_ends_with_the_last(bench: Bench, order: str) -> None:
    made = sorted(fill(bench, KEY, range(40)))
    queue = {
        "ascending": made,
        "descending": made[::-1],
        "from both ends": [item for pair in zip(made, made[::-1], strict=True) for item in pair][
            :40
        ],
        "random": random.Random(24).sample(made, 40),
    }[order]
    for number, member in enumerate(queue):
        assert bench.meta(KEY) is not None, number
        bench.do(sets.remove, KEY, [member])
    assert bench.meta(KEY) is None


def test_a_blind_set_that_came_back_is_looked_at_anew() -> None:
    bench = Bench(MemoryEngine(), encoding=1)
    for _ in range(2):
        bench.do(sets.add_all, KEY, [b"a", b"b"])
        bench.do(sets.remove, KEY, [b"a"])
        assert bench.do(sets.everything, KEY) == [b"b"]
        bench.do(sets.remove, KEY, [b"b"])
        assert bench.meta(KEY) is None


@pytest.mark.parametrize("size", [3, 500, LARGE])
def test_pop_many(bench: Bench, size: int) -> None:
    left = fill(bench, KEY, range(size))
    for wanted in (1, size // 3, size // 20):
        popped = bench.do(sets.pop_many, KEY, wanted)
        assert len(popped) == wanted
        assert set(popped) <= left
        left -= set(popped)
        assert bench.do(sets.count, KEY) == len(left)
    assert bench.do(sets.pop_many, KEY, len(left) + 1) == sorted(left)
    assert bench.meta(KEY) is None


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 40, 512, 513, pytest.param(LARGE, marks=pytest.mark.full)])
def test_random_members_of_any_number(bench: Bench, size: int) -> None:
    made = fill(bench, KEY, range(size))
    assert bench.do(sets.random_member, KEY) in made
    assert bench.do(sets.random_members, KEY, size + 1) == sorted(made)
    for wanted in {1, size // 20, size // 2, size - 1} - {0}:
        chosen = bench.do(sets.random_members, KEY, wanted)
        assert len(chosen) == len(set(chosen)) == wanted
        assert set(chosen) <= made
    assert set(bench.do(sets.random_members, KEY, -50)) <= made
    assert len(bench.do(sets.random_members, KEY, -2500)) == 2500


def chi_square(counts: Counter[bytes], buckets: int) -> float:
    expected = sum(counts.values()) / buckets
    missing = buckets - len(counts)
    return sum((n - expected) ** 2 / expected for n in counts.values()) + missing * expected


def test_every_member_of_a_small_set_is_as_likely() -> None:
    random.seed(20)
    for encoding in (0, 1):
        bench = Bench(MemoryEngine(), encoding=encoding)
        bench.do(sets.add_all, KEY, [b"a", b"ab", b"abc", b"zzzz", b"\xff", b"", b"m", b"n"])
        counts = Counter(bench.do(sets.random_member, KEY) for _ in range(4000))
        assert chi_square(counts, 8) < 24.3  # 7 degrees of freedom, one in a thousand
        counts = Counter(bench.do(sets.random_members, KEY, -4000))
        assert chi_square(counts, 8) < 24.3


def test_members_that_come_and_go_are_noticed_in_a_large_set() -> None:
    """Where its rows part is remembered for a while."""
    random.seed(21)
    bench = Bench(MemoryEngine())
    bench.do(sets.add_all, KEY, [b"old:%d" % number for number in range(2000)])
    for _ in range(200):
        bench.do(sets.random_member, KEY)
    bench.do(sets.add_all, KEY, [b"new:%d" % number for number in range(200)])
    drawn = {bench.do(sets.random_member, KEY) for _ in range(2000)}
    assert any(member.startswith(b"new:") for member in drawn)
    bench.do(sets.remove, KEY, [b"old:%d" % number for number in range(2000) if number % 100])
    drawn = {bench.do(sets.random_member, KEY) for _ in range(300)}
    assert drawn <= set(bench.rows(KEY))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda number: b"element:%012d" % number,
        lambda number: b"%d" % number,
        lambda number: random.Random(number).randbytes(16).hex().encode(),
        lambda number: random.Random(number).randbytes(8),
        lambda number: b"user:%d:name" % number,
        lambda number: b"%c:%d" % (b"ab"[number % 2], number),
        lambda number: b"%b-%d" % ((b"alpha", b"beta", b"delta")[number % 3], number),
    ],
    ids=["padded", "number", "hex", "bytes", "inside", "two groups", "words"],
)
def test_members_of_a_large_set_are_nearly_as_likely(make: Make) -> None:
    """Sixteen equal stretches of the order are hit about equally often."""
    random.seed(21)
    bench = Bench(MemoryEngine())
    ordered = sorted({make(number) for number in range(4000)})
    bench.do(sets.add_all, KEY, ordered)
    stretch = {member: place * 16 // len(ordered) for place, member in enumerate(ordered)}
    hits = Counter(stretch[bench.do(sets.random_member, KEY)] for _ in range(1600))
    assert min(hits[number] for number in range(16)) > 100 / 3
    assert max(hits.values()) < 100 * 3


def test_an_outlier_of_a_large_set_does_not_come_all_the_time() -> None:
    random.seed(23)
    bench = Bench(MemoryEngine())
    bench.do(sets.add_all, KEY, [b"admin", *(b"user:%d" % number for number in range(2000))])
    hits = Counter(bench.do(sets.random_member, KEY)[:5] for _ in range(1000))
    assert hits[b"admin"] < 20


def test_members_that_defy_guessing_are_still_found() -> None:
    """All but a few members in one lump: distinct ones are then taken in a pass."""
    bench = Bench(MemoryEngine())
    made = {b"a" * 300 + b"%05d" % number for number in range(2000)} | {b"b", b"\xff" * 20}
    bench.do(sets.add_all, KEY, sorted(made))
    chosen = bench.do(sets.random_members, KEY, 100)
    assert len(set(chosen)) == 100
    assert set(chosen) <= made


# algebra


def sources(bench: Bench, *contents: set[bytes]) -> list[bytes]:
    keys = []
    for number, content in enumerate(contents):
        keys.append(b"source %d" % number)
        bench.do(lambda txn: txn.drop(keys[-1]))
        if content:
            bench.do(sets.add_all, keys[-1], sorted(content))
    return keys


@pytest.mark.slow
def test_algebra_agrees_with_python(bench: Bench) -> None:
    rng = random.Random(22)
    for _ in range(25):
        contents = [
            {b"%d" % rng.randrange(60) for _ in range(rng.choice((0, 3, 10, 50)))}
            for _ in range(rng.randint(1, 4))
        ]
        keys = sources(bench, *contents)
        first = contents[0]
        for operation, expected in (
            (sets.union, first.union(*contents)),
            (sets.intersection, first.intersection(*contents)),
            (sets.difference, first.difference(*contents[1:])),
        ):
            assert bench.do(sets.combined, operation, keys) == sorted(expected)
            target = rng.choice([b"target", *keys])
            assert bench.do(sets.store_combined, operation, target, keys, "sunionstore") == len(
                expected
            )
            assert bench.do(sets.everything, target) == sorted(expected)
            assert bench.do(sets.count, target) == len(expected)
            assert (bench.meta(target) is None) is (not expected)
            keys = sources(bench, *contents)


def test_algebra_beyond_the_budget(bench: Bench) -> None:
    one = fill(bench, b"one", range(3000))
    two = fill(bench, b"two", range(1500, 4500))
    few = fill(bench, b"few", range(1600, 1700))
    keys = [b"one", b"two"]
    before = bench.long_runs
    assert bench.do(sets.combined, sets.union, keys) == sorted(one | two)
    assert bench.do(sets.combined, sets.intersection, keys) == sorted(one & two)
    assert bench.do(sets.combined, sets.difference, keys) == sorted(one - two)
    assert bench.long_runs == before + 3
    assert bench.do(sets.combined, sets.difference, [b"few", b"one"]) == []
    assert bench.do(sets.combined, sets.intersection, [b"one", b"few"]) == sorted(few)
    assert bench.do(sets.store_combined, sets.union, b"one", keys, "sunionstore") == len(one | two)
    assert set(bench.rows(b"one")) == one | two


def test_a_small_set_against_a_large_one_is_probed() -> None:
    bench = Bench(MemoryEngine())
    fill(bench, b"large", range(5000))
    fill(bench, b"small", range(4990, 5010))
    before = bench.long_runs
    found = bench.do(sets.combined, sets.intersection, [b"large", b"small"])
    assert found == [numbered(number) for number in range(4990, 5000)]
    assert bench.do(sets.count_intersection, [b"large", b"small"], 0) == 10
    assert bench.long_runs == before


def test_count_intersection_stops_at_the_limit(bench: Bench) -> None:
    keys = sources(bench, {b"a", b"b", b"c", b"d"}, {b"b", b"c", b"d", b"e"})
    assert [bench.do(sets.count_intersection, keys, limit) for limit in range(5)] == [3, 1, 2, 3, 3]
    assert bench.do(sets.count_intersection, [*keys, b"none"], 0) == 0


def test_algebra_refuses_another_type_even_where_the_result_is_plain(bench: Bench) -> None:
    bench.do(hashes.assign, b"hash", b"f", b"v")
    for operation in (sets.union, sets.intersection, sets.difference):
        with pytest.raises(CommandError, match="WRONGTYPE"):
            bench.do(sets.combined, operation, [b"none", b"hash"])
        with pytest.raises(CommandError, match="WRONGTYPE"):
            bench.do(sets.store_combined, operation, b"target", [b"none", b"hash"], "sunionstore")


def test_an_empty_result_takes_the_target_away(bench: Bench) -> None:
    bench.do(hashes.assign, b"target", b"f", b"v")
    assert bench.do(sets.store_combined, sets.union, b"target", [b"none"], "sunionstore") == 0
    assert bench.meta(b"target") is None


def test_a_result_replaces_any_type_and_drops_the_expiry(bench: Bench) -> None:
    def expiring(txn: Txn) -> None:
        hashes.assign(txn, b"target", b"f", b"v")
        meta = txn.find(b"target")
        assert meta is not None
        txn.save(b"target", meta.with_expiry(bench.clock.now_ms + 5000))

    bench.do(expiring)
    bench.do(sets.add, KEY, b"a")
    assert bench.do(sets.store_combined, sets.union, b"target", [KEY], "sunionstore") == 1
    meta = bench.meta(b"target")
    assert meta is not None
    assert (meta.type, meta.expire_ms) == (5, -1)
