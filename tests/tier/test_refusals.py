"""Configurations that cannot work are refused at the start, with the line and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from stratakv import options
from stratakv.options import BadOption
from stratakv.storage.cache.address import parse_address
from tests.harness.servers import RedisServer, StartError, StrataServer


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"hash-encoding": "2"}, "needs a cache-url"),
        ({"set-encoding": "3"}, "needs a cache-url"),
        ({"zset-encoding": "1"}, "needs a cache-url"),
        ({"zset-encoding": "3", "cache-url": "redis://h"}, "needs a zset-store-url"),
        ({"cache-url": "http://h"}, "redis://"),
        ({"cache-url": "redis://h/x"}, "redis://"),
        ({"cache-timeout": "0"}, "from 1"),
    ],
)
def test_a_version_without_its_redis_is_refused(flags: dict[str, str], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        options.load(flags, {}, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[[policy]]\nmatch = "a*"\nhash = 2\n', r"line 1\): needs a cache-url"),
        ('\n[[policy]]\nmatch = "a"\n[[policy]]\nmatch = "b"\nzset = 9\n', r"line 4\)"),
        ("[[policy]]\nhash = 1\n", "needs a match"),
        ('[[policy]]\nmatch = "a"\nhush = 1\n', "is not part of a policy"),
        ('[[policy]]\nmatch = "a"\ncache = "maybe"\n', "on or off"),
        ('[[policy]]\nmatch = "a"\ncache_ttl = "soon"\n', "a duration"),
    ],
)
def test_a_bad_policy_is_refused_with_its_line(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    with pytest.raises(BadOption, match=reason):
        options.load({}, {}, file)


def test_a_zset_store_that_evicts_is_refused_unless_it_is_wanted(tmp_path: Path) -> None:
    redis = RedisServer(tmp_path / "redis", flags=("--maxmemory-policy", "allkeys-lru")).start()
    flags = ("--zset-store-url", f"redis://127.0.0.1:{redis.port}", "--zset-encoding", "3")
    try:
        with pytest.raises(StartError, match=r"(?s)zset-store-url.*allkeys-lru.*noeviction"):
            StrataServer(tmp_path / "refused", flags=flags).start()
        accepted = StrataServer(
            tmp_path / "accepted", flags=(*flags, "--zset-store-may-evict", "yes")
        ).start()
        accepted.stop()
    finally:
        redis.stop()


def test_config_set_refuses_a_version_without_its_redis(tmp_path: Path) -> None:
    redis = RedisServer(tmp_path / "redis").start()
    server = StrataServer(tmp_path / "strata").start()
    url = f"redis://127.0.0.1:{redis.port}"
    try:
        with server.client() as client:
            for name, version, missing in (
                ("hash-encoding", "2", b"cache-url"),
                ("set-encoding", "3", b"cache-url"),
                ("zset-encoding", "1", b"cache-url"),
                ("zset-encoding", "3", b"zset-store-url"),
            ):
                refused = client.send("CONFIG", "SET", "maxclients", "77", name, version).raw
                assert refused.startswith(b"-ERR CONFIG SET failed")
                assert b"needs a " + missing in refused
                assert client.send("CONFIG", "GET", name).frame.blobs()[1] == b"0"
            assert client.send("CONFIG", "GET", "maxclients").frame.blobs()[1] == b"10000"
            assert client.send("CONFIG", "SET", "hash-encoding", "1").raw == b"+OK\r\n"
            both = ("zset-encoding", "2", "cache-url", url)
            assert client.send("CONFIG", "SET", *both).raw == b"+OK\r\n"
            assert client.send("CONFIG", "SET", "cache-url", "").raw == b"+OK\r\n"
            assert client.send("ZADD", "z", "1", "a").raw == b":1\r\n"
            again = client.send("CONFIG", "SET", "zset-encoding", "2").raw
            assert b"needs a cache-url" in again
    finally:
        server.stop()
        redis.stop()


def test_addresses() -> None:
    place = parse_address("rediss://me:p%40ss@host:7000/3")
    assert (place.host, place.port, place.database, place.tls) == ("host", 7000, 3, True)
    assert (place.user, place.password) == ("me", "p@ss")
    assert "p@ss" not in str(place)
    assert parse_address("unix:///run/redis.sock?db=2").path == "/run/redis.sock"
    assert parse_address("unix:///run/redis.sock?db=2").database == 2
    assert parse_address("redis://:secret@[::1]").host == "::1"
    for bad in ("redis://", "unix://host/x", "redis://h/-1", "redis://h/0?x=1"):
        with pytest.raises(ValueError):  # whatever the text
            parse_address(bad)
