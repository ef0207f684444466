"""Small sorted sets that are known as a whole: what they say is what a plain model says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.encodings.keyspace import small_orders
from stratakv.encodings.keyspace.small_orders import GROWTH, SmallOrder, SmallOrders
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.zsets import zset_ranges, zsets
from stratakv.encodings.types.zsets.zset_ranges import Query, RankRange
from tests.encodings.ranked import KEY, Ranked

LEAST = 400
"""More members than the model ever has: there is no directory."""
ALL = Query(RankRange(0, -1))


def done(txn: Txn) -> Txn:
    """The same Txn for some more commands."""
    txn.budget = 1 << 30
    return txn


def known(ranked: Ranked) -> SmallOrder | None:
    meta = ranked.meta()
    return None if meta is None else ranked.ranks.small.find(meta.sub)


def filled(seed: int, count: int) -> Ranked:
    """A set that was read often enough to be known."""
    ranked = Ranked(seed, LEAST)
    ranked.fill(count)
    for _ in range(2):
        ranked.select(done(ranked.bench.txn()), ALL)
    assert known(ranked) is not None
    return ranked


@given(st.integers(0, 1 << 32), st.integers(1, 200))
def test_single_commands_with_commits_between_them(seed: int, count: int) -> None:
    ranked = filled(seed, count)
    txn = ranked.bench.txn()
    for _ in range(30):
        ranked.write(done(txn))
        txn.apply()
        ranked.assert_reads(done(txn))
        ranked.check()
        if ranked.random.random() < 0.3:
            ranked.bench.commit()


@given(st.integers(0, 1 << 32), st.integers(1, 200), st.booleans())
def test_units_see_what_they_have_written(seed: int, count: int, kept: bool) -> None:
    ranked = filled(seed, count)
    before = dict(ranked.model)
    txn = ranked.bench.txn()
    for _ in range(15):
        ranked.write(done(txn))
        ranked.assert_reads(done(txn))
    if kept:
        txn.apply()
    else:
        txn.discard()
        ranked.model = before
    ranked.check()
    ranked.assert_reads(done(txn))


@given(st.integers(0, 1 << 32), st.integers(2, 100))
def test_a_unit_that_began_before_the_set_was_known(seed: int, count: int) -> None:
    ranked = Ranked(seed, LEAST)
    ranked.fill(count)
    txn = ranked.bench.txn()
    zsets.add_one(done(txn), KEY, 7.0, b"own")
    ranked.model[b"own"] = 7.0
    ranked.assert_reads(done(txn))
    assert known(ranked) is None
    txn.apply()
    ranked.assert_reads(done(txn))
    ranked.check()


@given(st.integers(0, 1 << 32), st.integers(2, 100), st.booleans())
def test_long_commands_read_their_snapshot_and_tell_what_they_wrote(
    seed: int, count: int, kept: bool
) -> None:
    ranked = filled(seed, count)
    ranked.bench.commit()
    before = dict(ranked.model)
    long_txn, close = ranked.long_txn()
    for _ in range(5):
        ranked.write(long_txn)
        ranked.assert_reads(long_txn)
    if kept:
        long_txn.conclude()
        long_txn.apply()
    else:
        long_txn.discard()
        ranked.model = before
    close()
    ranked.check()
    ranked.assert_reads(done(ranked.bench.txn()))


def test_no_scan_is_needed_for_what_is_known() -> None:
    ranked = filled(1, 100)
    scans = ranked.bench.store.stats.scans
    txn = ranked.bench.txn()
    for number in range(50):
        zsets.add_one(done(txn), KEY, float(number), b"new%d" % number)
        txn.apply()
        assert len(ranked.select(done(txn), ALL)) == 101 + number
    assert ranked.bench.store.stats.scans == scans


@given(st.integers(0, 1 << 32), st.booleans())
def test_a_new_set_is_known_from_the_start(seed: int, kept: bool) -> None:
    ranked = Ranked(seed, LEAST)
    scans = ranked.bench.store.stats.scans
    txn = ranked.bench.txn()
    for number in range(20):
        if ranked.model and ranked.random.random() < 0.2:
            txn.drop(KEY)
            ranked.model.clear()
        zsets.add_one(done(txn), KEY, float(ranked.random.randrange(5)), b"new%d" % number)
        score = zsets.scores(done(txn), KEY, (b"new%d" % number,))[0]
        assert score is not None
        ranked.model[b"new%d" % number] = score
        if kept or ranked.random.random() < 0.5:
            txn.apply()
            assert ranked.select(done(txn), ALL) == [member for _, member in ranked.order()]
    txn.apply()
    assert ranked.bench.store.stats.scans == scans
    ranked.check()
    ranked.assert_reads(done(txn))


def test_new_members_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_orders, "NAMED", 20)
    ranked = Ranked(1, LEAST)
    stats = ranked.bench.store.stats
    txn = ranked.bench.txn()
    zsets.add_one(done(txn), KEY, 1.0, b"first")
    txn.apply()
    reads = stats.reads
    for number in range(19):
        zsets.add_one(done(txn), KEY, float(number), b"new%d" % number)
        assert zsets.scores(done(txn), KEY, (b"none", b"new%d" % number)) == [None, float(number)]
        txn.apply()
    assert stats.reads == reads
    order = known(ranked)
    assert order is not None
    assert order.names is not None
    for number in range(10, 30):
        zsets.add_one(done(txn), KEY, float(number) + 1, b"new%d" % number)
        txn.apply()
    order = known(ranked)
    assert order is not None
    assert order.names is None
    ranked.model = {b"first": 1.0} | {b"new%d" % n: float(n) + (n >= 10) for n in range(30)}
    ranked.assert_reads(done(txn))
    ranked.check()


def test_what_a_discarded_unit_has_made_is_not_known() -> None:
    ranked = Ranked(1, LEAST)
    txn = ranked.bench.txn()
    zsets.add_one(done(txn), KEY, 1.0, b"never")
    txn.discard()
    assert not ranked.ranks.small.orders
    zsets.add(done(txn), KEY, [(2.0, b"b"), (1.0, b"a")])
    txn.apply()
    assert ranked.select(done(txn), ALL) == [b"a", b"b"]
    ranked.model.update({b"a": 1.0, b"b": 2.0})
    ranked.check()


def test_a_larger_set_is_learned_when_it_is_asked_again() -> None:
    ranked = Ranked(1, LEAST)
    ranked.fill(small_orders.AT_ONCE_MEMBERS + 1)
    ranked.select(done(ranked.bench.txn()), ALL)
    assert known(ranked) is None
    ranked.select(done(ranked.bench.txn()), ALL)
    assert known(ranked) is not None


def test_a_key_that_is_made_anew_is_another_set() -> None:
    ranked = filled(1, 20)
    txn = ranked.bench.txn()
    txn.drop(KEY)
    txn.apply()
    zsets.add_one(done(txn), KEY, 1.0, b"only")
    txn.apply()
    assert ranked.select(done(txn), ALL) == [b"only"]
    assert len(ranked.ranks.small.orders) == 1
    ranked.check()


def test_a_set_that_has_grown_is_forgotten() -> None:
    ranked = Ranked(1, 10)
    ranked.fill(5)
    ranked.select(done(ranked.bench.txn()), ALL)
    txn = ranked.bench.txn()
    for number in range(GROWTH * 10 - 5):
        zsets.add_one(done(txn), KEY, float(number), b"new%d" % number)
        txn.apply()
    assert known(ranked) is not None
    zsets.add_one(done(txn), KEY, 1.0, b"one more")
    txn.apply()
    assert known(ranked) is None
    assert ranked.ranks.small.bytes == 0


def test_what_was_not_used_goes_first() -> None:
    ranked = Ranked(1, LEAST)
    small = ranked.ranks.small
    keys = [b"k%d" % number for number in range(20)]
    txn = ranked.bench.txn()
    for key in keys:
        zsets.add(done(txn), key, [(float(n), b"%d" % n) for n in range(30)])
        txn.apply()
    small.choose_limit(20_000)
    for key in keys:
        zset_ranges.select(done(txn), key, ALL)
        zset_ranges.select(done(txn), keys[0], ALL)
        assert 0 < small.bytes <= 20_000
    first = txn.find(keys[0])
    assert first is not None
    assert first.sub in small.orders
    assert len(small.orders) < 20
    small.choose_limit(0)
    assert not small.orders
    assert small.bytes == 0
    zset_ranges.select(done(txn), keys[0], ALL)
    assert not small.orders


def test_what_cannot_be_is_dropped() -> None:
    for place, change in ((b"12345678a", 1), (b"12345678b", -1)):
        small = SmallOrders(10)
        small.orders[b"s#x"] = order = SmallOrder(b"k#x", [b"k#x12345678a"])
        small.bytes = order.bytes
        small.amend(b"s#x", place, change)
        assert not small.orders
        assert small.bytes == 0
