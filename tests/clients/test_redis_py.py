"""redis-py as users have it: default settings, protocol=2, and the asyncio client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
import redis.asyncio

from tests.harness.servers import Process

BINARY = bytes(range(256))
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "protocol2": {"protocol": 2},
    "protocol3": {"protocol": 3},
    "decoded": {"decode_responses": True},
}


@pytest.fixture(params=["default", "protocol2", "protocol3"])
def client(request: pytest.FixtureRequest, strata_server: Process) -> Iterator[redis.Redis]:
    with redis.Redis(port=strata_server.port, **SETTINGS[request.param]) as connected:
        connected.flushall()
        yield connected


@pytest.fixture(params=["default", "protocol2"])
async def aclient(
    request: pytest.FixtureRequest, strata_server: Process
) -> AsyncIterator[redis.asyncio.Redis]:
    connected = redis.asyncio.Redis(port=strata_server.port, **SETTINGS[request.param])
    await connected.flushall()
    yield connected
    await connected.aclose()


def test_strings(client: redis.Redis) -> None:
    assert client.set("k", BINARY, ex=100) is True
    assert client.get("k") == BINARY
    assert 90 < client.ttl("k") <= 100
    assert client.set("k", "x", nx=True) is None
    assert client.set("k", "new", get=True) == BINARY
    assert client.mset({"a": 1, "b": 2}) is True
    assert client.mget("a", "b", "missing") == [b"1", b"2", None]
    assert client.incr("a", 41) == 42
    assert client.incrbyfloat("a", 0.5) == 42.5
    assert client.append("b", "34") == 3
    assert client.getrange("b", 0, 1) == b"23"
    assert client.getdel("b") == b"234"
    assert client.setbit("bits", 7, 1) == 0
    assert client.bitcount("bits") == 1
    assert client.bitfield("bits").incrby("u8", 0, 1).get("u8", 0).execute() == [2, 2]


def test_hashes(client: redis.Redis) -> None:
    assert client.hset("h", mapping={"f": "v", b"\xff": BINARY, "n": 1}) == 3
    assert client.hgetall("h") == {b"f": b"v", b"\xff": BINARY, b"n": b"1"}
    assert client.hmget("h", "f", "missing") == [b"v", None]
    assert client.hincrby("h", "n", 2) == 3
    assert client.hincrbyfloat("h", "n", 0.5) == 3.5
    assert client.hdel("h", "f", "missing") == 1
    assert client.hlen("h") == 2
    assert client.hexists("h", "n") is True
    assert sorted(client.hkeys("h")) == [b"n", b"\xff"]
    assert dict(client.hscan_iter("h")) == {b"\xff": BINARY, b"n": b"3.5"}
    assert client.hrandfield("h", 10, withvalues=True)


def test_sets(client: redis.Redis) -> None:
    assert client.sadd("s", "a", "b", BINARY) == 3
    assert client.smembers("s") == {b"a", b"b", BINARY}
    assert client.sismember("s", "a")
    assert client.smismember("s", ["a", "z"]) == [1, 0]
    assert client.sadd("t", "a", "z") == 2
    assert client.sinter(["s", "t"]) == {b"a"}
    assert client.sdiffstore("d", ["s", "t"]) == 2
    assert client.sintercard(2, ["s", "t"]) == 1
    assert set(client.sscan_iter("s")) == {b"a", b"b", BINARY}
    assert client.spop("t") in (b"a", b"z")
    assert client.smove("s", "t", "b") is True
    assert client.scard("s") == 2


def test_sorted_sets(client: redis.Redis) -> None:
    assert client.zadd("z", {b"a": 1, b"b": 2.5, BINARY: float("inf")}) == 3
    assert client.zscore("z", "b") == 2.5
    assert client.zscore("z", BINARY) == float("inf")
    assert client.zrange("z", 0, -1) == [b"a", b"b", BINARY]
    ranked = client.zrange("z", 0, 1, withscores=True)
    assert [tuple(pair) for pair in ranked] == [(b"a", 1.0), (b"b", 2.5)]
    assert client.zrangebyscore("z", "-inf", "(2.5") == [b"a"]
    assert client.zincrby("z", 1, "a") == 2.0
    assert client.zrank("z", "b") == 1
    assert client.zadd("z", {"a": 0}, gt=True) == 0
    assert client.zadd("z", {"a": 5}, incr=True) == 7.0
    assert client.zcount("z", 2, 3) == 1
    assert dict(client.zscan_iter("z"))[b"a"] == 7.0
    assert [tuple(pair) for pair in _flat(client.zpopmin("z"))] == [(b"b", 2.5)]
    assert client.zunionstore("u", ["z"]) == 2
    assert client.zmscore("z", ["a", "missing"]) == [7.0, None]


def _flat(popped: Any) -> list[Any]:
    """redis-py gives one popped pair as a list of pairs or as the pair, by protocol."""
    return popped if isinstance(popped[0], (list, tuple)) else [popped]


def test_keys(client: redis.Redis) -> None:
    client.mset({f"k:{i}": i for i in range(500)})
    assert client.dbsize() == 500
    assert len(set(client.scan_iter(match="k:*", count=50))) == 500
    assert len(client.keys("k:1*")) == 111
    assert client.expire("k:1", 100, nx=True)
    assert client.persist("k:1") is True
    assert client.rename("k:1", "r") is True
    assert client.copy("r", "k:2", replace=True) is True
    assert client.type("r") == b"string"
    assert client.delete("r", "k:2", "missing") == 2
    assert client.exists("k:3", "k:3") == 2
    client.sadd("s", 3, 1, 2)
    assert client.sort("s", desc=True) == [b"3", b"2", b"1"]
    assert client.randomkey()
    assert client.object("encoding", "k:3") == b"int"


def test_a_pipeline_of_a_thousand(client: redis.Redis) -> None:
    with client.pipeline(transaction=False) as pipe:
        for i in range(500):
            pipe.set(f"k{i}", i)
            pipe.get(f"k{i}")
        replies = pipe.execute()
    assert replies == [x for i in range(500) for x in (True, str(i).encode())]


def test_an_error_in_a_pipeline_stays_in_its_place(client: redis.Redis) -> None:
    with client.pipeline(transaction=False) as pipe:
        pipe.set("k", "v")
        pipe.hset("k", "f", "v")
        pipe.get("k")
        ok, wrong, value = pipe.execute(raise_on_error=False)
    assert (ok, value) == (True, b"v")
    assert isinstance(wrong, redis.ResponseError)
    assert str(wrong).startswith("WRONGTYPE")


def test_a_value_of_ten_megabytes(client: redis.Redis) -> None:
    value = BINARY * 40_000
    client.set("big", value)
    assert client.get("big") == value
    assert client.strlen("big") == len(value)


def test_what_clients_ask_the_server(client: redis.Redis) -> None:
    info = client.info()
    assert info["redis_version"]
    assert info["tcp_port"] == client.get_connection_kwargs()["port"]
    client.set("k", "v")
    assert client.info("keyspace")["db0"]["keys"] == 1
    assert client.config_get("maxmemory") == {"maxmemory": "0"}
    assert client.client_setname("me") is True
    assert client.client_getname() in ("me", b"me")
    assert any(one["name"] == "me" for one in client.client_list())
    assert client.client_id() > 0
    assert client.time()[0] > 1_700_000_000
    assert client.command_count() > 100
    assert client.slowlog_get() is not None
    assert (client.memory_usage("k") or 0) > 0
    assert client.ping() is True


def test_the_library_can_name_itself(strata_server: Process) -> None:
    """CLIENT SETINFO is of Redis 7.2, but redis-py sends it at every connect."""
    with strata_server.client() as wire:
        assert wire.send("CLIENT", "SETINFO", "LIB-NAME", "redis-py").raw == b"+OK\r\n"
        assert wire.send("CLIENT", "SETINFO", "LIB-VER", "8.0").raw == b"+OK\r\n"


def test_text_replies_when_decoded(strata_server: Process) -> None:
    with redis.Redis(port=strata_server.port, decode_responses=True) as client:
        client.flushall()
        client.hset("h", mapping={"ключ": "значение"})
        assert client.hgetall("h") == {"ключ": "значение"}


def test_databases_are_apart(strata_server: Process) -> None:
    with (
        redis.Redis(port=strata_server.port, db=5) as five,
        redis.Redis(port=strata_server.port) as zero,
    ):
        zero.flushall()
        five.set("k", "five")
        assert zero.get("k") is None
        assert five.dbsize() == 1
        zero.flushall()


async def test_async_types(aclient: redis.asyncio.Redis) -> None:
    assert await aclient.set("k", BINARY) is True
    assert await aclient.get("k") == BINARY
    assert await aclient.hset("h", mapping={"a": 1, "b": 2}) == 2
    assert await aclient.hgetall("h") == {b"a": b"1", b"b": b"2"}
    assert await aclient.sadd("s", 1, 2, 3) == 3
    assert await aclient.smembers("s") == {b"1", b"2", b"3"}
    assert await aclient.zadd("z", {"a": 1, "b": 2}) == 2
    assert await aclient.zrange("z", 0, -1, desc=True) == [b"b", b"a"]
    assert sorted([key async for key in aclient.scan_iter()]) == [b"h", b"k", b"s", b"z"]


async def test_async_pipeline(aclient: redis.asyncio.Redis) -> None:
    async with aclient.pipeline(transaction=False) as pipe:
        for _ in range(200):
            pipe.incr("n")
        assert await pipe.execute() == list(range(1, 201))


async def test_async_clients_at_the_same_time(aclient: redis.asyncio.Redis) -> None:
    await asyncio.gather(*(aclient.incr("n") for _ in range(100)))
    assert await aclient.get("n") == b"100"
