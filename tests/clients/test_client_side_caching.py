"""redis-py's own client-side cache: what it holds is what the server has.

It wants a server that calls itself 7.4, though it needs nothing that 7.0 has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import redis
from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection

from tests.harness.servers import Process
from tests.harness.waiting import wait_until


@pytest.fixture
def caching(strata_server: Process, monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    monkeypatch.setattr(CacheProxyConnection, "MIN_ALLOWED_VERSION", "7.0.0")
    config = CacheConfig(max_size=100)
    port = strata_server.port
    with redis.Redis(port=port, protocol=3, cache_config=config, decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.fixture
def other(strata_server: Process) -> Iterator[redis.Redis]:
    with redis.Redis(port=strata_server.port, decode_responses=True) as client:
        yield client


def calls_of_get(client: redis.Redis) -> int:
    found = client.info("commandstats").get("cmdstat_get")
    return int(found["calls"]) if found else 0


def size_of(client: redis.Redis) -> int:
    cache = client.get_cache()
    assert cache is not None
    return int(cache.size)


def test_what_is_cached_is_not_asked_again(caching: redis.Redis, other: redis.Redis) -> None:
    other.set("k", "1")
    assert caching.get("k") == "1"
    calls = calls_of_get(other)
    assert [caching.get("k") for _ in range(10)] == ["1"] * 10
    assert calls_of_get(other) == calls


@pytest.mark.parametrize(
    "change",
    [
        lambda other: other.set("k", "2"),
        lambda other: other.delete("k"),
        lambda other: other.rename("l", "k"),
        lambda other: other.flushall(),
        lambda other: other.eval("redis.call('set', 'k', 'lua')", 0),
        lambda other: other.pipeline().incr("k").incr("k").execute(),
        lambda other: other.pexpire("k", 20),
        lambda other: other.swapdb(0, 1),
    ],
)
def test_what_has_changed_is_read_again(
    caching: redis.Redis, other: redis.Redis, change: Callable[[redis.Redis], object]
) -> None:
    other.mset({"k": "1", "l": "moved"})
    assert caching.get("k") == "1"
    assert size_of(caching) == 1
    change(other)
    wait_until(lambda: caching.get("k") == other.get("k") and caching.get("k") != "1")


def test_values_of_all_kinds_are_cached(caching: redis.Redis, other: redis.Redis) -> None:
    other.hset("h", mapping={"f": "v"})
    other.rpush("l", "a", "b")
    other.zadd("z", {"m": 1.5})
    for _ in range(2):
        assert caching.hgetall("h") == {"f": "v"}
        assert caching.lrange("l", 0, -1) == ["a", "b"]
        assert caching.zscore("z", "m") == 1.5
    assert size_of(caching) == 3
    other.hset("h", "f", "w")
    assert wait_until(lambda: caching.hgetall("h") == {"f": "w"})


def test_the_cache_is_right_while_others_write(caching: redis.Redis, other: redis.Redis) -> None:
    """Each value that is read after a write is that value, or the cache is told soon."""
    for number in range(200):
        key, value = f"k{number % 7}", str(number)
        other.set(key, value)
        wait_until(partial(_shows, caching, key, value))


def _shows(client: redis.Redis, key: str, value: str) -> bool:
    return bool(client.get(key) == value)
