"""How many keys are over soon, as the index of expire-times tells it."""

from __future__ import annotations

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.upkeep import expiry_times
from stratakv.encodings.upkeep.expiry_times import Forecast, average_ttl_ms, forecast
from tests.encodings.fixtures import Bench

MINUTE, HOUR = 60, 3600


@pytest.fixture
def bench() -> Bench:
    """Keys that are over in 0, 10, 20, … 190 seconds, one in a day, and one that stays."""
    bench = Bench()
    now_ms = bench.clock.now_ms
    for number in range(20):
        bench.make_set(b"soon:%d" % number, 1, expire_ms=now_ms + number * 10_000)
    bench.make_set(b"tomorrow", 1, expire_ms=now_ms + 86_400_000)
    bench.make_set(b"stays", 1)
    bench.make_set(b"elsewhere", 1, index=1, expire_ms=now_ms + 1000)
    bench.commit()
    return bench


def told(txn: Txn, within: list[int]) -> list[Forecast]:
    """However long a look takes here; a server goes on with a Txn that pauses."""
    txn.budget = 1_000_000
    return forecast(txn, within)


def test_each_time_is_counted_to_its_end(bench: Bench) -> None:
    found = told(bench.txn(), [10, MINUTE, 61, HOUR, 86_400])
    # What is over now is not to come any more.
    assert [one.keys for one in found] == [1, 6, 6, 19, 20]
    assert all(one.is_all for one in found)


def test_times_are_answered_in_the_order_in_which_they_were_asked(bench: Bench) -> None:
    found = told(bench.txn(), [HOUR, 10, HOUR])
    assert found == [Forecast(HOUR, 19, True), Forecast(10, 1, True), Forecast(HOUR, 19, True)]


def test_a_database_without_such_keys_has_none_to_come(bench: Bench) -> None:
    assert told(bench.txn(3), [HOUR]) == [Forecast(HOUR, 0, True)]


def test_counting_ends_and_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry_times, "FORECAST_ROWS", 8)
    found = told(bench.txn(), [10, MINUTE, 85, HOUR, 86_400])
    assert [one.keys for one in found] == [1, 6, 8, 8, 8]
    assert [one.is_all for one in found] == [True, True, False, False, False]


def test_it_goes_with_time(bench: Bench) -> None:
    bench.clock.now_ms += 100_000
    assert told(bench.txn(), [MINUTE])[0].keys == 6


def test_the_spans_of_a_slow_look_leave_nothing_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry_times, "SPAN_SECONDS", 0.0)
    monkeypatch.setattr(expiry_times, "SPAN_MS", 7000)
    assert [one.keys for one in told(bench.txn(), [10, MINUTE, 61, HOUR])] == [1, 6, 6, 19]
    monkeypatch.setattr(expiry_times, "FORECAST_ROWS", 8)
    assert [one.keys for one in told(bench.txn(), [10, MINUTE, 85, HOUR])] == [1, 6, 8, 8]


def test_an_average_looks_at_metas_in_memory_first(bench: Bench) -> None:
    """The index of keys that are written anew all the time is full of deleted rows."""
    keyspace, database = bench.keyspace, bench.keyspace.databases[0]
    expected = (sum(range(10_000, 200_000, 10_000)) + 86_400_000) // 20
    scans = bench.store.stats.scans
    assert database.cache
    assert average_ttl_ms(keyspace, database) == expected
    assert bench.store.stats.scans == scans
    database.forget()
    assert average_ttl_ms(keyspace, database) == expected
    assert bench.store.stats.scans > scans
