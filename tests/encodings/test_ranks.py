"""Directories of ranks: against a sorted list, and operations with one against a plain model."""

from __future__ import annotations

from bisect import insort
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.encodings.keyspace import rank_directory, ranks
from stratakv.encodings.keyspace.rank_directory import Bucket, Directory, parting
from stratakv.encodings.keyspace.txn import Unranked
from stratakv.encodings.layout.metas import ZSET
from stratakv.encodings.types.zsets import zset_ranges, zset_ranks, zsets
from stratakv.encodings.types.zsets.zset_ranges import LexRange, Query, RankRange, ScoreRange
from stratakv.storage.missing import TooLong
from tests.encodings.ranked import KEY, Ranked, done

WIDTH = 4

PLACES = st.one_of(
    st.integers(0, 400).map(lambda number: b"%08d" % number),
    st.integers(0, 40).map(lambda number: b"x" * 200 + b"%04d" % number),
    st.binary(min_size=8, max_size=12),
)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few places make many chunks."""
    monkeypatch.setattr(rank_directory, "CHUNK", 3)
    monkeypatch.setattr(ranks, "WIDTH", WIDTH)
    monkeypatch.setattr(ranks, "LARGEST", 32)
    monkeypatch.setattr(zset_ranks, "LARGEST", 32)
    monkeypatch.setattr(ranks, "FED_ROWS", 16)


# the directory by itself


def fed(places: list[bytes]) -> Directory:
    directory = Directory(WIDTH)
    for at in range(0, len(places), 10):
        directory.feed([b"k#" + place for place in places[at : at + 10]], 2)
    return directory


def members(bucket: Bucket, places: list[bytes]) -> list[bytes]:
    return [
        place
        for place in places
        if bucket.start <= place and (bucket.stop is None or place < bucket.stop)
    ]


def assert_right(directory: Directory, places: list[bytes]) -> None:
    directory.check_invariants()
    assert directory.total == len(places)
    for rank, place in enumerate(places):
        bucket = directory.find(place)
        held = members(bucket, places)
        assert bucket.size == len(held)
        assert bucket.before + held.index(place) == rank
        assert directory.at(rank) == bucket


@given(st.lists(PLACES, unique=True))
def test_what_was_fed_is_found(places: list[bytes]) -> None:
    assert_right(fed(sorted(places)), sorted(places))


@given(
    st.lists(PLACES, unique=True),
    st.lists(st.tuples(PLACES, st.booleans()), max_size=200),
)
def test_changes_are_kept_in_step(first: list[bytes], changes: list[tuple[bytes, bool]]) -> None:
    places = sorted(first)
    directory = fed(places)
    for place, is_read in changes:
        if place in places:
            places.remove(place)
            directory.amend(place, -1)
        else:
            insort(places, place)
            directory.amend(place, 1)
        if is_read and places:
            bucket = directory.find(place)
            if bucket.size > 2 * WIDTH:
                directory.divide(bucket.start, members(bucket, places))
        assert_right(directory, places)


@given(st.integers(0, 300), st.booleans(), st.integers(0, 300))
def test_queues_grow_and_shrink_at_their_ends(grown: int, falls: bool, taken: int) -> None:
    places = [b"%08d" % (10_000 + (-number if falls else number)) for number in range(grown)]
    directory = Directory(WIDTH)
    for place in places:
        directory.amend(place, 1)
    left = sorted(places)
    if left:
        assert directory.find(left[-1]).size <= WIDTH
        assert not directory.larger_than(WIDTH)
    for place in left[:taken]:
        directory.amend(place, -1)
    assert_right(directory, left[taken:])


@given(st.lists(PLACES, min_size=20, unique=True), st.integers(8, 19))
def test_a_part_of_a_large_bucket_is_divided(places: list[bytes], read: int) -> None:
    places.sort()
    directory = Directory(1000)
    directory.feed(places, 0)
    directory.width = WIDTH
    rest = directory.divide(directory.find(b"").start, places[:read])
    assert_right(directory, places)
    assert directory.find(rest).size == len(places) - directory.find(rest).before


def test_what_cannot_be_is_noticed() -> None:
    directory = fed([b"%08d" % number for number in range(5)])
    for _ in range(6):
        directory.amend(b"00000002", -1)
    assert directory.is_broken
    empty = Directory(WIDTH)
    empty.amend(b"00000002", -1)
    assert empty.is_broken


@given(PLACES, PLACES)
def test_a_start_parts_two_places(one: bytes, other: bytes) -> None:
    low, high = sorted((one, other))
    if low != high:
        start = parting(low, high)
        assert low < start <= high
        assert len(start) <= max(48, 2 * len(low))


# operations over it


@given(st.integers(0, 1 << 32), st.integers(40, 200))
def test_single_commands_with_commits_between_them(seed: int, count: int) -> None:
    ranked = Ranked(seed)
    ranked.fill(count)
    assert ranked.make()
    txn = ranked.bench.txn()
    for _ in range(30):
        ranked.write(done(txn))
        txn.apply()
        try:
            ranked.assert_reads(done(txn))
        except Unranked:
            assert ranked.make() or len(ranked.model) < 20
            ranked.assert_reads(done(txn))
        ranked.check()
        if ranked.random.random() < 0.3:
            ranked.bench.commit()


@given(st.integers(0, 1 << 32), st.integers(40, 200), st.booleans())
def test_units_see_what_they_have_written(seed: int, count: int, kept: bool) -> None:
    ranked = Ranked(seed)
    ranked.fill(count)
    assert ranked.make()
    before = dict(ranked.model)
    txn = ranked.bench.txn()
    try:
        for _ in range(15):
            ranked.write(done(txn))
            ranked.assert_reads(done(txn))
    except TooLong:
        kept = False
    if kept:
        txn.apply()
    else:
        txn.discard()
        ranked.model = before
    ranked.check()
    if ranked.meta() is not None and ranked.make():
        ranked.assert_reads(done(txn))


@given(st.integers(0, 1 << 32), st.integers(40, 200))
def test_a_directory_is_made_while_others_write(seed: int, count: int) -> None:
    ranked = Ranked(seed)
    ranked.fill(count)
    writer = ranked.bench.txn()

    def write() -> None:
        if ranked.random.random() < 0.5 and len(ranked.model) > 10:
            try:
                ranked.write(done(writer))
                writer.apply()
            except Unranked:
                writer.discard()
        if ranked.random.random() < 0.3:
            ranked.bench.commit()

    if ranked.make(write):
        ranked.check()
        ranked.assert_reads(done(writer))


@given(st.integers(0, 1 << 32), st.integers(60, 200), st.booleans(), st.booleans())
def test_a_snapshot_is_never_told_of_what_came_later(
    seed: int, count: int, pending: bool, later: bool
) -> None:
    ranked = Ranked(seed)
    ranked.fill(count)
    assert ranked.make()
    ranked.bench.commit()
    writer = ranked.bench.txn()
    seen = dict(ranked.model)
    if pending:
        zsets.add_one(done(writer), KEY, 5.0, b"pending")
        writer.apply()
    reader, close = ranked.long_txn()
    if later:
        zsets.add_one(done(writer), KEY, 6.0, b"later")
        writer.apply()
        ranked.bench.commit()
    ranked.model = seen
    meta = reader.expect(KEY, ZSET)
    assert meta is not None
    assert (reader.ranking(meta) is None) == (pending or later)
    ranked.assert_reads(reader)
    close()


@given(st.integers(0, 1 << 32), st.integers(60, 200), st.integers(1, 60))
def test_a_long_writer_hands_over_what_it_shifted(seed: int, count: int, writes: int) -> None:
    ranked = Ranked(seed)
    ranked.fill(count)
    early = ranked.random.random() < 0.5
    if early:
        assert ranked.make()
    ranked.bench.commit()
    writer, close = ranked.long_txn()
    for _ in range(writes):
        if len(ranked.model) > 10:
            ranked.write(writer)
            ranked.assert_reads(writer)
    if not early:
        ranked.make()  # as others see the set, who do not know of it
    writer.apply()
    ranked.bench.commit()
    close()
    ranked.check()
    if ranked.meta() is not None:
        ranked.make()
        ranked.assert_reads(ranked.bench.txn())


def test_equal_scores_are_counted_by_name() -> None:
    ranked = Ranked(1)
    txn = ranked.bench.txn()
    names = [b"n%03d" % number for number in range(200)]
    zsets.add(txn, KEY, [(0.0, name) for name in names])
    txn.apply()
    assert ranked.make()
    for low, high in ((20, 150), (0, 199), (60, 62), (150, 20)):
        wanted = LexRange(names[low], names[high])
        expected = names[low : high + 1]
        assert zset_ranges.count(done(txn), KEY, wanted) == len(expected)
        assert ranked.select(done(txn), Query(wanted, False, 50, 10)) == expected[50:60]
        assert ranked.select(done(txn), Query(wanted, True, 50, 10)) == expected[::-1][50:60]


def test_a_far_walk_asks_for_a_directory_and_a_near_one_does_not() -> None:
    ranked = Ranked(1)
    ranked.fill(200)
    order = [member for _, member in ranked.order()]
    txn = ranked.bench.txn()
    assert zsets.rank(done(txn), KEY, order[2]) == 2
    assert zsets.rank(done(txn), KEY, order[-2]) == 198
    assert not ranked.ranks.directories
    for read in (
        lambda: zsets.rank(done(txn), KEY, order[100]),
        lambda: ranked.select(done(txn), Query(RankRange(100, 101))),
        lambda: zset_ranges.count(done(txn), KEY, ScoreRange(2, 28)),
        lambda: ranked.select(done(txn), Query(ScoreRange(0, 28), False, 90, 1)),
    ):
        with pytest.raises(Unranked) as needed:
            read()
        assert needed.value.count == 200
    assert zset_ranges.count(done(txn), KEY, ScoreRange(2, 1)) == 0
    assert not ranked.wanted
    assert zsets.random_one(done(txn), KEY) in ranked.model
    assert [count for _, count in ranked.wanted] == [200]


def test_a_set_that_nobody_else_knows_is_walked() -> None:
    ranked = Ranked(1)
    txn = ranked.bench.txn()
    zsets.add(txn, KEY, [(float(number), b"%d" % number) for number in range(100)])
    assert zsets.rank(txn, KEY, b"50") == 50
    txn.discard()


def test_without_anybody_to_make_one_sets_are_walked() -> None:
    ranked = Ranked(1)
    ranked.fill(100)
    ranked.ranks.on_wanted = None
    ranked.assert_reads(ranked.bench.txn())


def test_a_bucket_that_has_grown_is_divided_by_who_reads_it() -> None:
    ranked = Ranked(1)
    ranked.fill(100)
    assert ranked.make()
    directory = next(iter(ranked.ranks.directories.values()))
    txn = ranked.bench.txn()
    for number in range(20):
        zsets.add_one(done(txn), KEY, 15.5, b"more%d" % number)
        ranked.model[b"more%d" % number] = 15.5
        txn.apply()
    assert directory.larger_than(2 * WIDTH)
    assert zset_ranges.count(done(txn), KEY, ScoreRange(15.5, 29)) > 20
    assert not directory.larger_than(2 * WIDTH)
    ranked.check()
    for number in range(20, 200):
        zsets.add_one(done(txn), KEY, 15.5, b"more%d" % number)
        ranked.model[b"more%d" % number] = 15.5
        txn.apply()
    assert directory.larger_than(32)
    order = [member for _, member in ranked.order()]
    with pytest.raises(Unranked):
        _ = [zsets.rank(done(txn), KEY, member) for member in order]
    assert ranked.make()
    assert not directory.larger_than(32)
    ranked.assert_reads(done(txn))
    ranked.check()


def test_many_changes_at_once_are_caught_up_with_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "AT_ONCE", 10)
    ranked = Ranked(1)
    ranked.fill(100)
    assert ranked.make()
    txn = ranked.bench.txn()
    zsets.add(txn, KEY, [(3.5, b"n%d" % number) for number in range(50)])
    txn.apply()
    ranked.model.update({b"n%d" % number: 3.5 for number in range(50)})
    assert [count for _, count in ranked.wanted] == [100]
    with pytest.raises(Unranked):
        zsets.rank(done(txn), KEY, b"n25")
    assert ranked.make()
    ranked.assert_reads(done(txn))
    ranked.check()


def test_very_many_shifts_of_a_long_writer_give_the_directory_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stratakv.encodings.keyspace.long_txn.MOST_SHIFTS", 10)
    ranked = Ranked(1)
    ranked.fill(100)
    assert ranked.make()
    ranked.bench.commit()
    writer, close = ranked.long_txn()
    for _ in range(40):
        ranked.write(writer)
    ranked.assert_reads(writer)
    writer.apply()
    close()
    assert not ranked.ranks.directories
    ranked.check()


def test_the_bytes_are_bounded_and_what_was_not_used_goes_first() -> None:
    ranked = Ranked(1)
    bench = ranked.bench
    subs = []
    for number in range(6):
        txn = bench.txn()
        zsets.add(txn, b"z%d" % number, [(float(n), b"%d" % n) for n in range(100)])
        txn.apply()
        meta = bench.txn().expect(b"z%d" % number, ZSET)
        assert meta is not None
        subs.append(meta.sub)
        assert ranked.ranks.make(meta.sub, 100, bench.store, lambda: None)
    size = ranked.ranks.bytes // 6
    for sub in subs:
        ranked.ranks.directories[sub].hot = False
    assert ranked.ranks.find(subs[0]) is not None
    ranked.ranks.choose_limit(3 * size)
    assert ranked.ranks.bytes <= 3 * size
    assert ranked.ranks.find(subs[0]) is not None
    assert ranked.ranks.find(subs[1]) is None
    ranked.check()
    ranked.ranks.choose_limit(0)
    assert not ranked.ranks.directories
    assert not ranked.ranks.may_have(1_000_000)
    assert zsets.rank(bench.txn(), b"z1", b"50") == 50


def test_the_buckets_of_a_huge_set_are_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    held = ranks.Ranks()
    assert held.may_have(1_000_000)
    assert not held.may_have(999)
    assert held.may_have(20_000_000)
    assert not held.may_have(1 << 32)


def test_a_directory_goes_with_its_set_and_with_a_refused_commit() -> None:
    ranked = Ranked(1)
    ranked.fill(100)
    assert ranked.make()
    txn = ranked.bench.txn()
    txn.drop(KEY)
    txn.apply()
    assert not ranked.ranks.directories
    ranked.fill(100)
    ranked.bench.commit()
    assert ranked.make()
    ranked.bench.keyspace.abandon()
    assert not ranked.ranks.directories
    assert ranked.ranks.bytes == 0


def test_making_ends_where_the_directory_is_dropped_or_the_store_fails() -> None:
    ranked = Ranked(1)
    ranked.fill(200)
    assert not ranked.make(ranked.ranks.forget)
    assert not ranked.ranks.directories

    def fail() -> None:
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        ranked.make(fail)
    assert not ranked.ranks.directories
    assert ranked.ranks.bytes == 0


def test_pages_that_are_read_again_are_kept_until_they_change() -> None:
    ranked = Ranked(1)
    ranked.fill(200)
    assert ranked.make()
    directory = next(iter(ranked.ranks.directories.values()))
    size = directory.bytes
    txn = ranked.bench.txn()
    for _ in range(3):
        order = [member for _, member in ranked.order()]
        scans = []
        for _ in range(4):
            before = ranked.bench.store.stats.scans
            assert ranked.select(done(txn), Query(RankRange(60, 79))) == order[60:80]
            assert (
                ranked.select(done(txn), Query(RankRange(120, 139), True)) == order[79:59:-1][:20]
            )
            scans.append(ranked.bench.store.stats.scans - before)
        assert scans[-1] == 0
        assert directory.bytes > size
        ranked.check()
        zsets.remove(done(txn), KEY, [order[70]])
        txn.apply()
        del ranked.model[order[70]]
        zsets.add_one(done(txn), KEY, ranked.model[order[69]], order[69] + b"x")
        txn.apply()
        ranked.model[order[69] + b"x"] = ranked.model[order[69]]
    ranked.ranks.choose_limit(directory.bytes - 1)
    assert not ranked.ranks.directories
    ranked.check()


def test_random_members_are_uniform() -> None:
    ranked = Ranked(1)
    ranked.fill(60)
    assert ranked.make()
    txn = ranked.bench.txn()
    seen: dict[Any, int] = {}
    for _ in range(6000):
        member = zsets.random_one(done(txn), KEY)
        seen[member] = seen.get(member, 0) + 1
    assert len(seen) == 60
    deviation = sum((times - 100) ** 2 / 100 for times in seen.values())
    assert deviation < 130  # chi-squared with 59 degrees of freedom: one run in two million


def test_a_long_walk_starts_at_its_rank() -> None:
    ranked = Ranked(1)
    ranked.fill(200)
    assert ranked.make()
    ranked.bench.commit()
    reader, close = ranked.long_txn()
    order = [member for _, member in ranked.order()]
    for reverse in (False, True):
        listed = order[::-1] if reverse else order
        assert ranked.select(reader, Query(RankRange(80, -1), reverse)) == listed[80:]
        wanted = Query(ScoreRange(-1, 99), reverse, 80)
        assert ranked.select(reader, wanted) == listed[80:]
    close()
