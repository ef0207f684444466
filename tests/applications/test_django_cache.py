"""Django's own Redis cache backend, and sessions stored in it."""

from __future__ import annotations

from collections.abc import Iterator

import django
import pytest
import redis
from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache

pytestmark = pytest.mark.application


@pytest.fixture(scope="module")
def configured(url: str) -> None:
    backend = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url}
    settings.configure(
        CACHES={"default": backend},
        SESSION_ENGINE="django.contrib.sessions.backends.cache",
        SECRET_KEY="for these tests only",
        USE_TZ=True,
    )
    django.setup()


@pytest.fixture
def cache(configured: None, client: redis.Redis) -> Iterator[RedisCache]:
    """The default cache on an empty keyspace."""
    yield caches["default"]
    caches.close_all()


def test_values_of_any_picklable_type_come_back(cache: RedisCache) -> None:
    for value in ("text", b"\x00\xff", 42, 1.5, None, {"a": [1, 2]}, ("t",)):
        cache.set("key", value)
        assert cache.get("key", "default") == value
    assert cache.get("missing", "default") == "default"
    assert cache.delete("key")
    assert not cache.delete("key")
    assert not cache.has_key("key")


def test_add_sets_only_what_is_missing(cache: RedisCache) -> None:
    assert cache.add("key", "first")
    assert not cache.add("key", "second")
    assert cache.get("key") == "first"
    assert cache.get_or_set("key", "third") == "first"
    assert cache.get_or_set("other", lambda: "made") == "made"


def test_incr_and_decr(cache: RedisCache) -> None:
    cache.set("counter", 10)
    assert cache.incr("counter") == 11
    assert cache.incr("counter", 9) == 20
    assert cache.decr("counter", 15) == 5
    assert cache.get("counter") == 5
    with pytest.raises(ValueError):
        cache.incr("missing")


def test_timeouts(cache: RedisCache, client: redis.Redis) -> None:
    def ttl() -> int:
        return int(client.ttl(cache.make_key("key")))

    cache.set("key", "value")
    assert 290 < ttl() <= 300
    cache.set("key", "value", timeout=None)
    assert ttl() == -1
    assert cache.touch("key", 50)
    assert 40 < ttl() <= 50
    assert cache.touch("key", None)
    assert ttl() == -1
    cache.set("key", "value", timeout=0)
    assert cache.get("key") is None
    assert not cache.touch("key", 50)


def test_many_at_once(cache: RedisCache) -> None:
    values = {f"key{number}": number for number in range(100)}
    assert cache.set_many(values, timeout=60) == []
    assert cache.get_many([*values, "missing"]) == values
    cache.delete_many(["key0", "key1", "missing"])
    assert cache.get_many(["key0", "key1", "key2"]) == {"key2": 2}


def test_versions_are_apart(cache: RedisCache) -> None:
    cache.set("key", "one")
    cache.set("key", "two", version=2)
    assert (cache.get("key"), cache.get("key", version=2)) == ("one", "two")
    assert cache.incr_version("key", delta=4) == 5
    assert (cache.get("key"), cache.get("key", version=5)) == (None, "one")


def test_clear_empties_the_cache(cache: RedisCache, client: redis.Redis) -> None:
    cache.set_many({"a": 1, "b": 2})
    assert cache.clear()
    assert client.dbsize() == 0


async def test_the_asynchronous_methods(cache: RedisCache) -> None:
    await cache.aset("key", 1)
    assert await cache.aincr("key") == 2
    assert await cache.aget_many(["key", "missing"]) == {"key": 2}


def test_sessions(cache: RedisCache, client: redis.Redis) -> None:
    from django.contrib.sessions.backends.cache import SessionStore  # it reads the settings

    session = SessionStore()
    session["user"] = {"id": 7}
    session.set_expiry(600)
    session.save()
    again = SessionStore(session.session_key)
    assert again["user"] == {"id": 7}
    assert 590 < client.ttl(cache.make_key(again.cache_key)) <= 600
    again.cycle_key()
    assert not session.exists(session.session_key)
    assert again.exists(again.session_key)
    again.flush()
    assert client.dbsize() == 0
