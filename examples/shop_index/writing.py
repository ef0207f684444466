"""Replacing whole keys: a rebuilt index leaves nothing of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from examples.shop_index.keys import Key
from examples.shop_index.shardredis import ShardPipeline


def put_hash(pipe: ShardPipeline, key: Key, fields: Mapping[Any, Any]) -> None:
    """Replace a hash; no fields, no key."""
    pipe.delete(key.name, skey=key.skey)
    if fields:
        pipe.hset(key.name, mapping=dict(fields), skey=key.skey)


def put_set(pipe: ShardPipeline, key: Key, members: Iterable[str | bytes]) -> None:
    """Replace a set; no members, no key."""
    pipe.delete(key.name, skey=key.skey)
    listed = sorted(members)
    if listed:
        pipe.sadd(key.name, *listed, skey=key.skey)


def put_ranking(pipe: ShardPipeline, key: Key, scores: Mapping[str, float]) -> None:
    """Replace a sorted set; no members, no key."""
    pipe.delete(key.name, skey=key.skey)
    if scores:
        pipe.zadd(key.name, dict(scores), skey=key.skey)


def keep_top(pipe: ShardPipeline, key: Key, limit: int) -> None:
    """Drop all but the `limit` members with the highest scores."""
    pipe.zremrangebyrank(key.name, 0, -limit - 1, skey=key.skey)
