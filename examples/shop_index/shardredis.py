"""A Redis client over several servers: the key, or an explicit shard key, picks the server.

    >>> conn.get("test")                       # the server of "test"
    >>> conn.get("test", skey="myshardkey")    # the server of "myshardkey"

Every redis-py method whose first argument is a key can be called this way. Methods of several keys
need `skey=`, which promises that all of them are together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import redis

from examples.shop_index.ring import Ring

ONE_KEY = {
    *("get", "set", "incrby", "expire", "ttl", "type"),
    *("hset", "hget", "hgetall", "hmget", "hdel", "hlen"),
    *("sadd", "srem", "smembers", "scard", "sismember"),
    *("zadd", "zrem", "zcard", "zscore", "zrange", "zrevrange", "zrevrank", "zremrangebyrank"),
}
CUT_AT = 500  # a transaction holds up its server: it should last milliseconds
MANY_KEYS = {"mget", "delete", "unlink", "exists", "sinter", "sunion", "zunionstore", "zinterstore"}


class ShardRedis:
    """Servers by name, and the ring that tells which one to ask."""

    def __init__(self, uris: Mapping[str, str]) -> None:
        self.servers = {name: redis.Redis.from_url(uri) for name, uri in uris.items()}
        self.ring = Ring(uris)

    def server(self, shard_key: str) -> redis.Redis:
        """The client of the one server that owns a shard key."""
        return self.servers[self.ring.owner(shard_key)]

    def pipeline(self) -> ShardPipeline:
        """Collect writes for all servers: one MULTI for each."""
        return ShardPipeline(self, atomic=True)

    def reading(self) -> ShardPipeline:
        """Collect reads for all servers: one round trip to each, and no MULTI.

        Inside MULTI a server answers from its store alone, never from its Redis.
        """
        return ShardPipeline(self, atomic=False)

    def close(self) -> None:
        """Close the connections to all servers."""
        for server in self.servers.values():
            server.close()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        _check(method)

        def call(key: str, *args: Any, skey: str | None = None, **kwargs: Any) -> Any:
            server = self.server(_shard_key(method, key, skey))
            return getattr(server, method)(key, *args, **kwargs)

        return call


class ShardPipeline:
    """Commands that leave together. `sent` counts those that left."""

    def __init__(self, conn: ShardRedis, *, atomic: bool) -> None:
        self.sent = 0
        self._conn = conn
        self._atomic = atomic
        self._pipelines: dict[str, Any] = {}
        self._order: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self._order)

    def __getattr__(self, method: str) -> Callable[..., ShardPipeline]:
        _check(method)

        def queue(key: str, *args: Any, skey: str | None = None, **kwargs: Any) -> ShardPipeline:
            name = self._conn.ring.owner(_shard_key(method, key, skey))
            pipeline = self._pipeline(name)
            self._order.append((name, len(pipeline)))
            getattr(pipeline, method)(key, *args, **kwargs)
            return self

        return queue

    def execute(self) -> list[Any]:
        """Send everything; the replies in the order of the calls.

        If atomic, what goes to one server happens there at once or not at all; there is no such
        promise between servers. The pipeline is empty afterwards.
        """
        pipelines, order = self._pipelines, self._order
        self._pipelines, self._order = {}, []
        self.sent += len(order)
        replies = {name: pipeline.execute() for name, pipeline in pipelines.items()}
        return [replies[name][place] for name, place in order]

    def cut(self) -> None:
        """Say that what comes need not be atomic with what waits: many commands leave here."""
        if len(self) >= CUT_AT:
            self.execute()

    def _pipeline(self, name: str) -> Any:
        if name not in self._pipelines:
            self._pipelines[name] = self._conn.servers[name].pipeline(transaction=self._atomic)
        return self._pipelines[name]


def _check(method: str) -> None:
    if method not in ONE_KEY and method not in MANY_KEYS:
        raise AttributeError(f"{method} cannot be sharded: ask one of .servers for it")


def _shard_key(method: str, key: str, skey: str | None) -> str:
    if skey is None and method in MANY_KEYS:
        raise TypeError(f"{method} takes several keys: say where they are with skey=")
    return key if skey is None else skey
