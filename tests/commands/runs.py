"""Pipelines of the same command again and again, made at random."""

from __future__ import annotations

import random

from stratakv.proxy.run.rights import STREAK_MOST
from tests.harness.wire import Arg

Call = tuple[Arg, ...]

KEYS = ("a", "b", "c")
BEFORE: list[Call] = [
    ("SET", "a", "10"),
    ("SET", "b", str((1 << 63) - 40)),
    ("SET", "c", "-3", "PX", 10_000_000),
    ("SET", "a", "no number"),
    ("SET", "b", "x" * 5000),
    ("DEL", "a", "b"),
    ("RPUSH", "a", "1", "2"),
    ("RPUSH", "b", *map(str, range(30))),
    ("HSET", "c", "f1", "v", "f2", "v" * 2000),
    ("HSET", "a", "f1", "1"),
    ("SADD", "b", "m1", "m2"),
    ("SADD", "c", "1"),
    ("ZADD", "a", 1, "m1"),
]


def run_of_calls(choose: random.Random) -> list[Call]:
    """The same command for a while, mostly on the same key and in the usual form."""
    name = choose.choice(["GET", "SET", "INCR", "LPUSH", "RPUSH", "HSET", "HGET", "SADD", "get"])
    key = choose.choice(KEYS)
    calls: list[Call] = []
    for _ in range(choose.choice([1, 2, 16, 16, STREAK_MOST + 20])):
        if not choose.randrange(6):
            key = choose.choice(KEYS)
        more: Call = {
            "SET": (choose.choice(["1", "x", "y" * 1500]),),
            "LPUSH": (choose.choice("xyz"),),
            "RPUSH": (choose.choice("xyz"),),
            "HSET": (f"f{choose.randrange(5)}", choose.choice(["v", "w" * 1500])),
            "HGET": (f"f{choose.randrange(5)}",),
            "SADD": (f"m{choose.randrange(5)}",),
        }.get(name, ())
        unusual = choose.randrange(40)
        if unusual == 0:
            more = (*more, "another")
        elif unusual == 1:
            more = more[:-1]
        calls.append((name, key, *more))
    return calls
