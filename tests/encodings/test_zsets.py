"""Sorted sets over both engines, hasty and patient, against a model, without a server."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import SET
from stratakv.encodings.types.zsets import zset_algebra, zset_order, zset_ranges, zsets
from stratakv.encodings.types.zsets.zset_ranges import LexRange, Query, RankRange, ScoreRange
from stratakv.encodings.types.zsets.zsets import AddRule, Scored
from stratakv.errors import CommandError, Corrupt
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"zset"
INFINITY = float("inf")
EVERYTHING = Query(RankRange(0, -1))


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEngine | LevelEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=["hasty", "patient"])
def bench(request: pytest.FixtureRequest, engine: MemoryEngine | LevelEngine) -> Bench:
    return Bench(engine, patient=request.param == "patient")


def fill(bench: Bench, count: int, key: bytes = KEY) -> list[Scored]:
    made = [(b"member:%05d" % number, float(number // 3)) for number in range(count)]
    shuffled = random.Random(count).sample(made, count)
    bench.do(zsets.add, key, [(score, member) for member, score in shuffled])
    return made


def select(bench: Bench, query: Query, key: bytes = KEY) -> list[Scored]:
    def operation(txn: Txn) -> list[Scored]:
        found = zset_ranges.select(txn, key, query)
        assert found is not None
        scored = list(found.scored())
        assert found.length == len(scored)
        return scored

    result: list[Scored] = bench.do(operation)
    return result


def order_rows(bench: Bench, key: bytes = KEY) -> list[bytes]:
    meta = bench.meta(key)
    assert meta is not None
    found = bench.keyspace.store.engine.scan_keys(meta.order, rows.end_of(meta.order))
    return [row[len(meta.order) :] for row in found]


def check_invariants(bench: Bench, key: bytes = KEY) -> None:
    """Count, rows by name and rows by score agree."""
    meta = bench.meta(key)
    if meta is None:
        return
    by_name = bench.rows(key)
    assert len(by_name) == meta.extra > 0  # type: ignore[operator]
    assert order_rows(bench, key) == sorted(raw + name for name, raw in by_name.items())


# the layout


def test_the_rows_are_those_of_the_layout(bench: Bench) -> None:
    bench.do(zsets.add_one, KEY, 1.0, b"b")
    bench.do(zsets.add_one, KEY, -1.0, b"a")
    assert bench.rows(KEY) == {
        b"a": bytes.fromhex("400fffffffffffff"),
        b"b": bytes.fromhex("bff0000000000000"),
    }
    assert order_rows(bench) == [
        bytes.fromhex("400fffffffffffff") + b"a",
        bytes.fromhex("bff0000000000000") + b"b",
    ]
    meta = bench.meta(KEY)
    assert meta is not None
    assert meta.extra == 2


def test_a_score_of_the_wrong_length_is_corruption_that_names_the_key(bench: Bench) -> None:
    bench.do(zsets.add_one, KEY, 1.0, b"a")
    meta = bench.meta(KEY)
    assert meta is not None
    bench.keyspace.store.engine.write({meta.sub + b"a": b"short"})
    with pytest.raises(Corrupt, match="zset"):
        bench.do(zsets.scores, KEY, [b"a"])


# members and scores


def test_a_new_score_moves_the_order_row(bench: Bench) -> None:
    assert bench.do(zsets.add_one, KEY, 1.0, b"a") == 1
    assert bench.do(zsets.add_one, KEY, 1.0, b"a") == 0
    assert bench.do(zsets.add_one, KEY, 2.0, b"a") == 0
    assert select(bench, EVERYTHING) == [(b"a", 2.0)]
    check_invariants(bench)


@pytest.mark.parametrize(
    ("rule", "old", "new", "accepted"),
    [
        (AddRule(), None, 1.0, True),
        (AddRule(only_new=True), 1.0, 2.0, False),
        (AddRule(only_new=True), None, 2.0, True),
        (AddRule(only_existing=True), None, 2.0, False),
        (AddRule(only_existing=True), 1.0, 2.0, True),
        (AddRule(only_greater=True), None, 2.0, True),
        (AddRule(only_greater=True), 2.0, 2.0, False),
        (AddRule(only_greater=True), 2.0, 3.0, True),
        (AddRule(only_less=True), 2.0, 2.0, False),
        (AddRule(only_less=True), 2.0, 1.0, True),
        (AddRule(only_existing=True, only_less=True), None, 1.0, False),
    ],
)
def test_which_scores_a_rule_accepts(
    rule: AddRule, old: float | None, new: float, accepted: bool
) -> None:
    assert rule.accepts(old, new) is accepted


def test_infinities_that_cancel_out_are_refused(bench: Bench) -> None:
    bench.do(zsets.add_one, KEY, INFINITY, b"a")
    with pytest.raises(CommandError, match="resulting score is not a number"):
        bench.do(zsets.increment, KEY, -INFINITY, b"a")
    assert select(bench, EVERYTHING) == [(b"a", INFINITY)]


def test_the_last_member_takes_the_key_with_it(bench: Bench) -> None:
    bench.do(zsets.add_one, KEY, 1.0, b"a")
    assert bench.do(zsets.remove, KEY, [b"a", b"a"]) == 1
    assert bench.meta(KEY) is None
    bench.do(zsets.add_one, KEY, 1.0, b"a")
    assert bench.do(_popped, 5) == [(b"a", 1.0)]
    assert bench.meta(KEY) is None


def _popped(txn: Txn, count: int) -> list[Scored]:
    return zsets.pop(txn, KEY, count, highest=False)


@pytest.mark.slow
def test_random_operations_match_a_model(bench: Bench) -> None:
    chance = random.Random(7)
    model: dict[bytes, float] = {}
    for _ in range(400):
        member, score = b"%d" % chance.randrange(25), float(chance.randrange(-4, 5))
        step = chance.randrange(6)
        if step < 3:
            assert bench.do(zsets.add_one, KEY, score, member) == (member not in model)
            model[member] = score
        elif step == 3:
            model[member] = model.get(member, 0.0) + score
            assert bench.do(zsets.increment, KEY, score, member) == model[member]
        elif step == 4:
            assert bench.do(zsets.remove, KEY, [member]) == (model.pop(member, None) is not None)
        else:
            _pop_like(bench, model, highest=chance.random() < 0.5)
        check_invariants(bench)
        ordered = sorted(model, key=lambda name: (model[name], name))
        for place, name in enumerate(ordered[:3]):
            assert bench.do(zsets.rank, KEY, name) == place


def _pop_like(bench: Bench, model: dict[bytes, float], *, highest: bool) -> None:
    def operation(txn: Txn) -> list[Scored]:
        return zsets.pop(txn, KEY, 2, highest=highest)

    ordered = sorted(model.items(), key=lambda pair: (pair[1], pair[0]), reverse=highest)
    assert bench.do(operation) == ordered[:2]
    for member, _ in ordered[:2]:
        del model[member]


# ranges


@pytest.mark.parametrize("count", [10, 1500])
@pytest.mark.parametrize("reverse", [False, True])
def test_rank_ranges_from_either_end(bench: Bench, count: int, reverse: bool) -> None:
    made = fill(bench, count)
    expected = made[::-1] if reverse else made
    for start, end in [(0, -1), (0, 2), (3, 5), (-3, -1), (-5, -4), (count // 2, -2), (7, 2)]:
        wanted = expected[start : end + 1 or None] if start < count else []
        found = select(bench, Query(RankRange(start, end), reverse))
        assert found == wanted, (start, end)
    assert select(bench, Query(RankRange(-(2**63), 2**63 - 1), reverse)) == expected
    assert select(bench, Query(RankRange(count, count + 5), reverse)) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_score_ranges(bench: Bench, reverse: bool) -> None:
    values = [-INFINITY, -1.5, -1.0, 0.0, 5e-324, 1.0, 1.5, 1e300, INFINITY]
    bench.do(zsets.add, KEY, [(score, b"%d" % at) for at, score in enumerate(values)])
    for low in values:
        for high in values:
            for low_open, high_open in [(0, 0), (0, 1), (1, 0), (1, 1)]:
                wanted = ScoreRange(low, high, bool(low_open), bool(high_open))
                found = [score for _, score in select(bench, Query(wanted, reverse))]
                expected = [
                    score
                    for score in values
                    if (low < score if low_open else low <= score)
                    and (score < high if high_open else score <= high)
                ]
                assert found == (expected[::-1] if reverse else expected), wanted


@pytest.mark.parametrize("reverse", [False, True])
def test_name_ranges_among_equal_scores(bench: Bench, reverse: bool) -> None:
    names = [b"", b"\0", b"a", b"a\0", b"ab", b"b", b"\xff", b"\xff\xff"]
    bench.do(zsets.add, KEY, [(0.0, name) for name in names])
    for low in [None, *names]:
        for high in [None, *names]:
            for low_open, high_open in [(0, 0), (0, 1), (1, 0), (1, 1)]:
                wanted = LexRange(low, high, bool(low_open), bool(high_open))
                found = [name for name, _ in select(bench, Query(wanted, reverse))]
                expected = [
                    name
                    for name in names
                    if (low is None or (low < name if low_open else low <= name))
                    and (high is None or (name < high if high_open else name <= high))
                ]
                assert found == (expected[::-1] if reverse else expected), wanted


def test_offset_and_limit(bench: Bench) -> None:
    made = fill(bench, 30)
    wanted = ScoreRange(2.0, 8.0)
    inside = [pair for pair in made if 2.0 <= pair[1] <= 8.0]
    assert select(bench, Query(wanted, offset=3, limit=4)) == inside[3:7]
    assert select(bench, Query(wanted, reverse=True, offset=3, limit=4)) == inside[::-1][3:7]
    assert select(bench, Query(wanted, offset=18)) == inside[18:]
    assert select(bench, Query(wanted, offset=-1)) == []
    assert select(bench, Query(wanted, limit=0)) == []


def test_counting(bench: Bench) -> None:
    fill(bench, 1500)
    assert bench.do(zset_ranges.count, KEY, ScoreRange(-INFINITY, INFINITY)) == 1500
    assert bench.do(zset_ranges.count, KEY, ScoreRange(100.0, 400.0, low_is_open=True)) == 900
    assert bench.do(zset_ranges.count, KEY, LexRange(None, None, is_empty=True)) == 0
    assert bench.do(zset_ranges.count, b"none", LexRange(None, None)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [RankRange(2, -3), ScoreRange(1.0, 400.0), RankRange(0, -1)])
def test_removing_a_range(bench: Bench, wanted: Any) -> None:
    made = fill(bench, 1500)
    gone = select(bench, Query(wanted))
    assert bench.do(zset_ranges.remove, KEY, wanted, "zremrangebyrank") == len(gone) > 0
    check_invariants(bench)
    left = [pair for pair in made if pair not in set(gone)]
    assert (select(bench, EVERYTHING) if left else []) == left
    assert (bench.meta(KEY) is None) == (not left)


def test_removing_most_of_a_set_keeps_its_expire_time(bench: Bench) -> None:
    made = fill(bench, 1500)
    expire_ms = bench.clock.now_ms + 1000

    def expire(txn: Txn) -> None:
        meta = txn.find(KEY)
        assert meta is not None
        txn.save(KEY, meta.with_expiry(expire_ms))

    bench.do(expire)
    assert bench.do(zset_ranges.remove, KEY, RankRange(3, -3), "zremrangebyrank") == 1495
    assert select(bench, EVERYTHING) == made[:3] + made[-2:]
    check_invariants(bench)
    meta = bench.meta(KEY)
    assert meta is not None
    assert meta.expire_ms == expire_ms


def test_storing_a_range_over_its_own_source(bench: Bench) -> None:
    made = fill(bench, 2500)
    query = Query(RankRange(1, -2))
    assert bench.do(zset_ranges.store, KEY, KEY, query) == 2498
    assert select(bench, EVERYTHING) == made[1:-1]
    check_invariants(bench)
    assert bench.do(zset_ranges.store, KEY, b"none", query) == 0
    assert bench.meta(KEY) is None


# queues: walks begin where earlier ones ended


@pytest.mark.parametrize("highest", [False, True])
def test_a_queue_gives_every_member_in_order(
    engine: MemoryEngine | LevelEngine, highest: bool
) -> None:
    bench = Bench(engine)
    model: dict[bytes, float] = {}
    chance = random.Random(3)
    for number in range(300):
        member = b"%d" % (number % 50)
        model[member] = float(chance.randrange(-100, 100))
        bench.do(zsets.add_one, KEY, model[member], member)
        if number % 3:
            _pop_like(bench, model, highest=highest)
        check_invariants(bench)


@pytest.mark.slow
def test_a_capped_ranking_with_all_kinds_of_reads(engine: MemoryEngine | LevelEngine) -> None:
    """Rows far outside come and go, alone or many at once, and walks from both ends see them."""
    bench = Bench(engine)
    model: dict[bytes, float] = {}
    chance = random.Random(8)
    for number in range(600):
        for _ in range(chance.choice((1, 1, 1, 12))):
            member = b"%d" % chance.randrange(200)
            model[member] = float(chance.randrange(-1000, 1000))
            bench.do(zsets.add_one, KEY, model[member], member)
        low, high = sorted((chance.randrange(12), chance.randrange(12)))
        ordered = sorted(model.items(), key=lambda pair: (pair[1], pair[0]))
        assert select(bench, Query(RankRange(low, high))) == ordered[low : high + 1]
        back = select(bench, Query(RankRange(low, high), reverse=True))
        assert back == ordered[::-1][low : high + 1]
        if number % 3:
            assert select(bench, EVERYTHING) == ordered
        cut = ordered[:-20]
        assert bench.do(zset_ranges.remove, KEY, RankRange(0, -21), "zremrangebyrank") == len(cut)
        model = dict(ordered[-20:])
    check_invariants(bench)


def test_what_a_failed_command_saw_is_forgotten(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    bench.do(zsets.add, KEY, [(1.0, b"a"), (2.0, b"b"), (3.0, b"c")])

    def fails(txn: Txn) -> None:
        zsets.add_one(txn, KEY, 9.0, b"a")
        meta = txn.find(KEY)
        assert meta is not None
        assert len(list(zset_order.walk(txn, meta, stop=meta.order + b"\xff"))) == 3
        raise CommandError(b"ERR for the test")

    with pytest.raises(CommandError):
        bench.do(fails)
    assert select(bench, EVERYTHING) == [(b"a", 1.0), (b"b", 2.0), (b"c", 3.0)]


@pytest.mark.parametrize("moved", [1, 1200])
def test_scores_that_a_long_command_moves_below_the_front_are_found(
    engine: MemoryEngine | LevelEngine, moved: int
) -> None:
    """It has metas of its own: what was remembered with the cached one must not outlive it."""
    bench = Bench(engine)
    fill(bench, 1500)
    bench.do(_popped, 1)
    bench.do(_popped, 1)
    names = [b"member:%05d" % number for number in range(100, 100 + moved)]
    bench.patient = True
    if moved == 1:
        bench.do(zsets.add_one, KEY, -7.0, names[0])
    else:
        bench.do(zsets.add, KEY, [(-7.0, name) for name in names])
    bench.patient = False
    assert select(bench, Query(RankRange(0, 0))) == [(names[0], -7.0)]
    assert [member for member, _ in bench.do(_popped, moved)] == names
    check_invariants(bench)


def test_a_score_that_moves_below_the_front_is_found(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    fill(bench, 20)
    bench.do(_popped, 5)
    bench.do(_popped, 1)
    bench.do(zsets.add_one, KEY, -7.0, b"member:00010")
    assert bench.do(_popped, 1) == [(b"member:00010", -7.0)]
    bench.do(zsets.increment, KEY, -100.0, b"member:00012")
    assert bench.do(_popped, 1) == [(b"member:00012", -96.0)]


# several sets


def combine(bench: Bench, operation: Any, keys: list[bytes], weights: list[float]) -> list[Scored]:
    def run(txn: Txn) -> list[Scored]:
        sources = zset_algebra.weighted(zset_algebra.open_sources(txn, keys), weights)
        length, ordered = zset_algebra.in_order(
            txn, operation(txn, sources, zset_algebra.aggregate_sum)
        )
        found = list(ordered)
        assert length == len(found)
        return found

    result: list[Scored] = bench.do(run)
    return result


def make_set(txn: Txn, key: bytes, *members: bytes) -> None:
    meta = txn.create(key, SET, len(members))
    for member in members:
        txn.put(meta.sub + member, b"")


def test_sets_take_part_with_score_one(bench: Bench) -> None:
    bench.do(zsets.add, KEY, [(5.0, b"a"), (2.0, b"b")])
    bench.do(make_set, b"set", b"b", b"c")
    keys, weights = [KEY, b"set"], [1.0, 10.0]
    assert combine(bench, zset_algebra.union, keys, weights) == [
        (b"a", 5.0),
        (b"c", 10.0),
        (b"b", 12.0),
    ]
    assert combine(bench, zset_algebra.intersection, keys, weights) == [(b"b", 12.0)]
    assert combine(bench, zset_algebra.difference, keys, weights) == [(b"a", 5.0)]


def test_no_result_is_ever_nan(bench: Bench) -> None:
    bench.do(zsets.add_one, KEY, INFINITY, b"a")
    bench.do(zsets.add_one, b"other", -INFINITY, b"a")
    for operation in (zset_algebra.union, zset_algebra.intersection):
        assert combine(bench, operation, [KEY, b"other"], [1.0, 1.0]) == [(b"a", 0.0)]
        assert combine(bench, operation, [KEY, b"other"], [0.0, 0.0]) == [(b"a", 0.0)]


def test_large_unions_and_intersections(bench: Bench) -> None:
    made = fill(bench, 6000)
    fill(bench, 3000, b"other")
    doubled = [(name, score * (2 if at < 3000 else 1)) for at, (name, score) in enumerate(made)]
    by_score = sorted(doubled, key=lambda pair: (pair[1], pair[0]))
    keys = [KEY, b"other"]
    assert combine(bench, zset_algebra.union, keys, [1.0, 1.0]) == by_score
    assert len(combine(bench, zset_algebra.intersection, keys, [1.0, 1.0])) == 3000
    assert combine(bench, zset_algebra.difference, keys, [1.0, 1.0]) == made[3000:]


# scans and random members


@pytest.mark.parametrize("count", [3, 2000])
def test_a_scan_shows_every_member(bench: Bench, count: int) -> None:
    made = fill(bench, count)
    seen: list[Scored] = []
    cursor = 0
    while True:
        cursor, page = bench.do(lambda txn, at: [*zsets.scan_page(txn, KEY, at, 100)], cursor)
        seen += page
        if not cursor:
            break
    assert sorted(seen) == sorted(made)


def test_random_members(bench: Bench) -> None:
    made = fill(bench, 40)
    names = {name for name, _ in made}
    assert len(set(bench.do(zsets.random_members, KEY, 30)) & names) == 30
    assert set(bench.do(zsets.random_members, KEY, 100)) == names
    assert len(bench.do(zsets.random_members, KEY, -90)) == 90
    assert bench.do(zsets.random_one, KEY) in names
    assert bench.do(zsets.random_one, b"none") is None
