"""How long keys were not used: exact while they are cached, a lower bound when they are not."""

import pytest

from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.strings import strings
from tests.encodings.fixtures import Bench

SECOND = 1000


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def old(bench: Bench) -> Bench:
    """With a key that was written a minute ago."""
    write(bench, b"k")
    bench.clock.advance(60 * SECOND)
    return bench


def write(bench: Bench, key: bytes) -> None:
    txn = bench.txn()
    strings.assign(txn, key, b"v")
    txn.apply()
    bench.commit()


def idle(bench: Bench, key: bytes) -> int:
    return bench.txn().idle_ms(key) // SECOND


def test_a_key_is_used_when_it_is_written_and_when_it_is_read(old: Bench) -> None:
    assert idle(old, b"k") == 60
    old.txn().find(b"k")
    assert idle(old, b"k") == 0
    old.clock.advance(5 * SECOND)
    assert idle(old, b"k") == 5
    write(old, b"k")
    assert idle(old, b"k") == 0


def test_a_key_whose_write_is_not_committed_was_used_just_now(old: Bench) -> None:
    txn = old.txn()
    strings.assign(txn, b"k", b"w")
    assert txn.idle_ms(b"k") == 0
    txn.apply()
    assert idle(old, b"k") == 0


def test_to_look_at_a_key_is_no_use(old: Bench) -> None:
    assert old.txn().peek(b"k") is not None
    assert idle(old, b"k") == 60


def test_to_look_at_a_key_that_is_not_cached_leaves_the_bound(old: Bench) -> None:
    old.database.forget()
    old.clock.advance(7 * SECOND)
    for _ in range(2):
        assert old.txn().peek(b"k") is not None
        assert idle(old, b"k") == 7
        old.clock.advance(SECOND)
        assert idle(old, b"k") == 8
        old.clock.advance(-SECOND)


def test_a_key_that_left_the_cache_was_not_used_since(old: Bench) -> None:
    """Nor was any other: the bound is the last use of all that left."""
    old.txn().find(b"k")
    old.clock.advance(10 * SECOND)
    write(old, b"young")
    old.clock.advance(2 * SECOND)
    database = old.database
    while b"k" in database.cache:
        database.evict(1)
    assert b"young" not in database.cache
    assert idle(old, b"k") == 2


def test_the_hand_spares_what_was_used_and_keeps_the_time(old: Bench) -> None:
    old.txn().find(b"k")
    old.clock.advance(3 * SECOND)
    assert old.database.evict(1) == 0
    assert idle(old, b"k") == 3
    assert old.database.evict(1) == 1
    assert idle(old, b"k") == 3


def test_after_a_restart_the_idle_time_begins_anew(old: Bench) -> None:
    old.open()
    old.clock.advance(4 * SECOND)
    assert idle(old, b"k") == 4


def test_a_key_in_a_database_that_was_exchanged_keeps_its_time(old: Bench) -> None:
    keyspace = old.keyspace
    keyspace.databases[0].exchange(keyspace.databases[1])
    assert keyspace.databases[1].last_use(b"k") == -(old.clock.now_ms - 60 * SECOND)


def test_a_clock_that_is_set_back_gives_no_negative_time(old: Bench) -> None:
    old.clock.advance(-1000 * SECOND)
    assert idle(old, b"k") == 0


def test_a_write_is_a_use_although_it_is_put_back(old: Bench) -> None:
    used = old.database.last_use(b"k")
    txn = old.txn()
    strings.assign(txn, b"k", b"w")
    txn.apply()
    old.database.set_last_use(b"k", used)
    old.commit()
    assert idle(old, b"k") == 0


def test_a_collection_is_used_by_what_reads_it(bench: Bench) -> None:
    txn = bench.txn()
    lists.push(txn, b"l", (b"a", b"b"), left=False)
    txn.apply()
    bench.commit()
    bench.clock.advance(9 * SECOND)
    assert idle(bench, b"l") == 9
    lists.length(bench.txn(), b"l")
    assert idle(bench, b"l") == 0
