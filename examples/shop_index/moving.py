"""Bringing every key to the server that owns it now: what is left to do when servers were added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis

from examples.shop_index.keys import parse
from examples.shop_index.shardredis import ShardRedis


def move_keys(conn: ShardRedis) -> dict[str, int]:
    """Copy each misplaced key to its owner, then drop it where it was; how many came to whom.

    Requires: nobody builds meanwhile. Interrupted, it can be started again. Keys that are not of
    the index stay where they are.
    """
    arrived = dict.fromkeys(conn.servers, 0)
    for name, server in conn.servers.items():
        for raw_key in server.scan_iter(count=1000):
            owner = _owner(conn, raw_key)
            if owner not in (None, name):
                _copy(server, conn.servers[owner], raw_key)
                server.unlink(raw_key)
                arrived[owner] += 1
    return arrived


def _owner(conn: ShardRedis, raw_key: bytes) -> Any:
    try:
        return conn.ring.owner(parse(raw_key.decode()).skey)
    except ValueError:
        return None


def _copy(source: redis.Redis, target: redis.Redis, key: bytes) -> None:
    kind: Any = source.type(key)
    copy = _COPIES.get(kind)
    if copy is None:
        return
    with target.pipeline() as pipe:
        pipe.delete(key)
        copy(source, pipe, key)
        pipe.execute()


def _copy_hash(source: Any, target: Any, key: bytes) -> None:
    target.hset(key, mapping=source.hgetall(key))


def _copy_set(source: Any, target: Any, key: bytes) -> None:
    target.sadd(key, *source.smembers(key))


def _copy_zset(source: Any, target: Any, key: bytes) -> None:
    target.zadd(key, dict(source.zrange(key, 0, -1, withscores=True)))


_COPIES: dict[bytes, Callable[[Any, Any, bytes], None]] = {
    b"hash": _copy_hash,
    b"set": _copy_set,
    b"zset": _copy_zset,
}
