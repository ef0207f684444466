"""String commands over the wire: the same replies as redis-server, byte for byte."""

from itertools import product

import pytest

from tests.harness.effort import part
from tests.harness.wire import Arg, WireClient

Call = tuple[Arg, ...]
Outcome = tuple[Call, list[bytes], int]
"""A call, the replies that tell what it did, and until when the key lives: see `lifetime`."""

STATES: dict[str, list[Call]] = {
    "absent": [],
    "word": [("SET", "k", "ohmytext"), ("SET", "l", "mynewtext")],
    "number": [("SET", "k", "10", "EX", 1040), ("SET", "l", "")],
    "greatest": [("SET", "k", "9223372036854775807")],
    "fraction": [("SET", "k", "3.5")],
    "set": [("SADD", "k", "a")],
}

ABSOLUTE = 9999999999

SET_OPTIONS: list[Call] = [
    ("NX",),
    ("xx",),
    ("GET",),
    ("KEEPTTL",),
    ("EX", 1040),
    ("ex", 2040),
    ("PX", 940000),
    ("EXAT", ABSOLUTE),
    ("PXAT", ABSOLUTE * 1000),
    ("PXAT", 1),
    ("EX", 0),
    ("EX", "abc"),
    ("EX", 9223372036854775807),
    ("PX",),
    ("PERSIST",),
    ("foo",),
]

LCS_OPTIONS: list[Call] = [
    ("LEN",),
    ("idx",),
    ("WITHMATCHLEN",),
    ("MINMATCHLEN", 4),
    ("MINMATCHLEN", "x"),
    ("MINMATCHLEN",),
    ("foo",),
]

INTEGERS: list[Arg] = [0, 1, -1, 3, -100, "abc", "", "+1", "9223372036854775808", -(1 << 63)]

CALLS: list[Call] = [
    ("GET", "k"),
    ("GETSET", "k", "new"),
    ("GETDEL", "k"),
    ("SETNX", "k", "new"),
    ("STRLEN", "k"),
    ("MGET", "k", "l", "none", "k"),
    ("MSET", "k", 1, "l", 2, "k", 3),
    ("MSET", "k", 1, "l"),
    ("MSETNX", "m", 1, "l", 2),
    ("MSETNX", "m", 1, "m", 2),
    ("MSETNX", "m", 1, "l"),
    ("APPEND", "k", "tail"),
    ("APPEND", "k", ""),
    ("INCR", "k"),
    ("DECR", "k"),
    *(("INCRBYFLOAT", "k", text) for text in ("0.1", "-3.5", "1e3", "inf", "nan", "abc", "")),
    *((name, "k", n) for name in ("INCRBY", "DECRBY") for n in INTEGERS),
    *((name, "k", n, "new") for name in ("SETEX", "SETRANGE") for n in INTEGERS),
    *(("PSETEX", "k", 60_000 if n in (1, 3) else n, "new") for n in INTEGERS),
    *(("SETRANGE", "k", n, "") for n in INTEGERS),
    *((name, "k", i, j) for name in ("GETRANGE", "SUBSTR") for i in INTEGERS for j in INTEGERS),
    *(("LCS", "k", "l", *a, *b) for a, b in product([(), *LCS_OPTIONS], LCS_OPTIONS)),
    ("LCS", "k", "l"),
    ("LCS", "none", "none", "IDX"),
]


def with_options(*words: Arg) -> list[Call]:
    """The call with no, one and two options, in every order."""
    pairs = product([(), *SET_OPTIONS], [(), *SET_OPTIONS])
    return [(*words, *one, *other) for one, other in pairs]


def lifetime(ttl: int, at: int) -> int:
    """What is the same whoever was asked first: an absolute time, or some hundreds of seconds."""
    return at if at >= ABSOLUTE else round(ttl, -2)


def outcomes(wire: WireClient, state: str, calls: list[Call]) -> list[Outcome]:
    """For each call: its reply and what it left behind, from the same state each time."""
    after: list[Call] = [("TYPE", "k"), ("MGET", "k", "l", "m"), ("TTL", "k"), ("EXPIRETIME", "k")]
    steps = [("DEL", "k", "l", "m"), *STATES[state]]
    replies = iter(wire.pipeline(step for call in calls for step in (*steps, call, *after)))
    found = []
    for call in calls:
        told = [next(replies) for _ in (*steps, call, *after)][len(steps) :]
        at, ttl = (told.pop().frame.number or 0 for _ in range(2))
        found.append((call, [reply.raw for reply in told], lifetime(ttl, at)))
    return found


@pytest.mark.effort
@pytest.mark.parametrize("state", STATES)
def test_replies_and_effects_are_those_of_redis(
    state: str, protocol: int, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    every = CALLS + with_options("SET", "k", "new") + with_options("GETEX", "k")
    calls = part(every, list(STATES).index(state) + protocol)
    assert outcomes(strata_wire, state, calls) == outcomes(redis_wire, state, calls)


def test_many_keys_in_one_command(redis_wire: WireClient, strata_wire: WireClient) -> None:
    keys = [f"key:{number}" for number in range(3000)]
    calls: list[Call] = [
        ("MSET", *(item for key in keys for item in (key, key))),
        ("MGET", *keys, "none"),
        ("MSETNX", *(item for key in reversed(keys) for item in (key, "new"))),
        ("DEL", *keys),
    ]
    for call in calls:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw


def test_a_long_comparison_does_not_hold_up_others(strata_wire: WireClient) -> None:
    with WireClient(strata_wire.port) as other:
        strata_wire.pipeline([("SET", "a", "ab" * 2500), ("SET", "b", "ba" * 2500)])
        strata_wire.write(b"LCS a b LEN\r\n")
        assert other.send("GET", "none").frame.is_null
        assert strata_wire.read().frame.number == 4999
