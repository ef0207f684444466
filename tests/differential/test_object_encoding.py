"""OBJECT ENCODING answers Redis's own names for values made afresh."""

from __future__ import annotations

import pytest

from tests.harness.wire import WireClient

CASES: dict[str, list[list[object]]] = {
    "integer": [["SET", "k", "12345"]],
    "largest integer": [["SET", "k", "9223372036854775807"]],
    "beyond integers": [["SET", "k", "9223372036854775808"]],
    "leading zero": [["SET", "k", "007"]],
    "plus sign": [["SET", "k", "+7"]],
    "empty": [["SET", "k", ""]],
    "44 bytes": [["SET", "k", "x" * 44]],
    "45 bytes": [["SET", "k", "x" * 45]],
    "incremented": [["INCR", "k"]],
    "float": [["INCRBYFLOAT", "k", "1.5"]],
    "small hash": [["HSET", "k", "f", "v"]],
    "hash of 128": [["HSET", "k", *[x for i in range(128) for x in (f"f{i}", "v")]]],
    "hash of 129": [["HSET", "k", *[x for i in range(129) for x in (f"f{i}", "v")]]],
    "hash of 512": [["HSET", "k", *[x for i in range(512) for x in (f"f{i}", "v")]]],
    "hash of 513": [["HSET", "k", *[x for i in range(513) for x in (f"f{i}", "v")]]],
    "hash with 64 bytes": [["HSET", "k", "f", "v" * 64]],
    "hash with 65 bytes": [["HSET", "k", "f", "v" * 65]],
    "set of integers": [["SADD", "k", 1, 2, -3]],
    "set of words": [["SADD", "k", "a", 1]],
    "set of 512 integers": [["SADD", "k", *range(512)]],
    "set of 513 integers": [["SADD", "k", *range(513)]],
    "small zset": [["ZADD", "k", 1, "a"]],
    "zset of 128": [["ZADD", "k", *[x for i in range(128) for x in (i, f"m{i}")]]],
    "zset of 129": [["ZADD", "k", *[x for i in range(129) for x in (i, f"m{i}")]]],
    "zset with 65 bytes": [["ZADD", "k", 1, "m" * 65]],
    "missing": [],
}


@pytest.mark.parametrize("case", CASES)
def test_object_encoding(case: str, redis_wire: WireClient, strata_wire: WireClient) -> None:
    for command in CASES[case]:
        for wire in (redis_wire, strata_wire):
            assert not wire.send(*command).frame.is_error  # type: ignore[arg-type]
    redis, strata = (wire.send("OBJECT", "ENCODING", "k") for wire in (redis_wire, strata_wire))
    assert strata.raw == redis.raw
