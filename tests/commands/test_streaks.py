"""Pipelines of the same command again and again: the replies of Redis, and the same stored rows.

The handlers are the measure: what a pipeline did at once is done again one command at a time.
"""

from __future__ import annotations

import random

import pytest

from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.table.registry import TABLE
from tests.commands.runs import BEFORE, KEYS, Call, run_of_calls
from tests.harness.effort import rounds
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import WireClient, encode

TELL: list[Call] = [
    *(("TYPE", key) for key in KEYS),
    *(("OBJECT", "ENCODING", key) for key in KEYS),
    *((name, key) for key in KEYS for name in ("GET", "HLEN", "SCARD", "LLEN")),
    *((name, key, 0, -1) for key in KEYS for name in ("LRANGE",)),
    *(("HGET", key, field) for key in KEYS for field in ("f1", "f2", "f3")),
    *(("SMISMEMBER", key, "m1", "m2", "m3") for key in KEYS),
    ("DBSIZE",),
]


def test_pipelines_of_one_command_are_answered_as_by_redis(
    redis_wire: WireClient, strata_wire: WireClient, diff_seed: int
) -> None:
    for number in range(rounds(400)):
        choose = random.Random(f"{diff_seed} {number}")
        calls = [call for _ in range(4) for call in [choose.choice(BEFORE), *run_of_calls(choose)]]
        if choose.randrange(2):
            calls.insert(choose.randrange(len(calls)), ("FLUSHALL",))
        theirs = redis_wire.pipeline([*calls, *TELL])
        ours = strata_wire.pipeline([*calls, *TELL])
        for call, one, other in zip([*calls, *TELL], theirs, ours, strict=True):
            assert other.raw == one.raw, (number, call)


def test_watchers_hear_of_what_a_streak_writes(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    for call in (("SET", "k", "1"), ("INCR", "k")):
        steps: list[Call] = [("SET", "k", "0"), ("WATCH", "k"), *[call] * 3, ("MULTI",), ("EXEC",)]
        assert [reply.raw for reply in strata_wire.pipeline(steps)] == [
            reply.raw for reply in redis_wire.pipeline(steps)
        ]


@pytest.mark.parametrize("name", ["get", "set", "incr", "lpush", "rpush", "hset", "hget", "sadd"])
def test_a_streak_is_counted_like_its_commands(strata_wire: WireClient, name: str) -> None:
    assert TABLE[name.encode()].streak is not None
    more = {"set": ("1",), "lpush": ("1",), "rpush": ("1",), "hset": ("f", "v"), "hget": ("f",)}
    call: Call = (name, "k", *more.get(name, ("m",) if name == "sadd" else ()))
    if name == "hget":
        strata_wire.send("HSET", "k", "f", "v")
    strata_wire.send(*call)
    strata_wire.send("CONFIG", "RESETSTAT")
    strata_wire.pipeline([call] * 100)
    shown = str(strata_wire.send("INFO", "commandstats").raw)
    assert f"cmdstat_{name}:calls=100," in shown


def test_a_blocked_client_is_served_before_the_rest_of_a_streak(
    redis_server: RedisServer, strata_server: StrataServer
) -> None:
    replies = []
    for server in (redis_server, strata_server):
        with server.client() as waiting, server.client() as pushing:
            pushing.send("FLUSHALL")
            pushing.send("RPUSH", "other", "x")
            waiting.write(encode("BLPOP", "k", "0"))
            server.wait_until_blocked()
            pushed = pushing.pipeline([("LPUSH", "k", str(number)) for number in range(20)])
            got = waiting.read()
            left = pushing.send("LRANGE", "k", 0, -1)
            replies.append([reply.raw for reply in (*pushed, got, left)])
    assert replies[0] == replies[1]
