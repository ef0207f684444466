"""Bit commands over the wire: the same replies as redis-server, byte for byte."""

from itertools import product

import pytest

from tests.harness.wire import Arg, WireClient

Call = tuple[Arg, ...]
Outcome = tuple[Call, list[bytes], int]
"""A call, the replies that tell what it did, and the time to live in hundreds of seconds."""

STATES: dict[str, list[Call]] = {
    "absent": [],
    "bits": [("SET", "k", b"\xff\xf0\x0f\x00abc", "EX", 1040), ("SET", "l", b"\xff\xff")],
    "empty": [("SET", "k", ""), ("SET", "l", b"\0")],
    "set": [("SADD", "k", "a"), ("SET", "l", b"\xff")],
}

ENDS: list[Arg] = [0, 1, 7, 20, -1, -3, -100, 100, "abc", ""]
OFFSETS: list[Arg] = [0, 7, 100, "#1", "#-1", -1, "abc", "", 1 << 32]
TYPES: list[Arg] = ["u1", "u8", "u63", "i1", "i5", "i8", "i64", "u64", "i65", "u0", "8", "U8", ""]
BITS: list[Arg] = [0, 1, 2, "x"]
NUMBERS: list[Arg] = [0, 1, -1, 127, 128, -129, 256, (1 << 63) - 1, -(1 << 63), "x"]

COUNTS: list[Call] = [
    *(("BITCOUNT", "k", i, j, *u) for i, j, u in product(ENDS, ENDS, [(), ("BIT",), ("foo",)])),
    *(
        ("BITPOS", "k", bit, i, j, *u)
        for bit, i, j, u in product([0, 1], ENDS, ENDS, [(), ("bit",), ("BYTE",), ("foo",)])
    ),
    *(("BITPOS", "k", bit, i) for bit, i in product(BITS, ENDS)),
    ("BITCOUNT", "k"),
    ("BITCOUNT", "k", 1),
    ("BITCOUNT", "k", 1, 2, "BIT", 3),
    ("BITPOS", "k", 0),
    ("BITPOS", "k", 1, 0, -1, "BIT", 3),
]

FIELDS: list[Call] = [
    *(
        (name, "k", "GET", t, o)
        for name, t, o in product(["BITFIELD", "BITFIELD_RO"], TYPES, OFFSETS)
    ),
    *(
        ("BITFIELD", "k", "OVERFLOW", how, "SET", t, 3, n, "INCRBY", t, 3, n, "GET", t, "#1")
        for how, t, n in product(["WRAP", "sat", "FAIL"], TYPES[:7], NUMBERS)
    ),
    ("BITFIELD", "k"),
    ("BITFIELD", "k", "GET", "u8"),
    ("BITFIELD", "k", "SET", "u8", 0),
    ("BITFIELD", "k", "OVERFLOW"),
    ("BITFIELD", "k", "OVERFLOW", "foo"),
    ("BITFIELD", "k", "foo"),
    ("BITFIELD", "k", "SET", "u8", 0, 1, "foo"),
    ("BITFIELD_RO", "k"),
    ("BITFIELD_RO", "k", "SET", "u8", 0, 1),
    ("BITFIELD_RO", "k", "OVERFLOW", "SAT", "get", "u8", 0),
]

OTHERS: list[Call] = [
    *(("SETBIT", "k", o, bit) for o, bit in product(OFFSETS, BITS)),
    *(("GETBIT", "k", o) for o in OFFSETS),
    *(
        ("BITOP", operation, target, *sources)
        for operation, target, sources in product(
            ["AND", "or", "XOR", "NOT", "foo"],
            ["k", "l", "m"],
            [("k",), ("l",), ("k", "l"), ("none",), ("k", "none", "l", "k")],
        )
    ),
]


def outcomes(wire: WireClient, state: str, calls: list[Call]) -> list[Outcome]:
    """For each call: its reply and what it left behind, from the same state each time."""
    after: list[Call] = [("MGET", "k", "l", "m"), ("TTL", "k")]
    steps = [("DEL", "k", "l", "m"), *STATES[state]]
    replies = iter(wire.pipeline(step for call in calls for step in (*steps, call, *after)))
    found = []
    for call in calls:
        told = [next(replies) for _ in (*steps, call, *after)][len(steps) :]
        seconds = told.pop().frame.number or 0
        found.append((call, [reply.raw for reply in told], round(seconds, -2)))
    return found


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("calls", [COUNTS, FIELDS, OTHERS], ids=["counts", "fields", "others"])
def test_replies_and_effects_are_those_of_redis(
    state: str, calls: list[Call], redis_wire: WireClient, strata_wire: WireClient
) -> None:
    assert outcomes(strata_wire, state, calls) == outcomes(redis_wire, state, calls)


def test_megabytes_of_bits(redis_wire: WireClient, strata_wire: WireClient) -> None:
    calls: list[Call] = [
        ("SETBIT", "a", 20_000_003, 1),
        ("SETRANGE", "b", 1_000_000, b"\xff" * 1_500_000),
        ("BITOP", "XOR", "c", "a", "b"),
        ("BITCOUNT", "c"),
        ("BITCOUNT", "c", 9_000_000, -5, "BIT"),
        ("BITPOS", "c", 1),
        ("BITPOS", "a", 1),
        ("BITPOS", "b", 0, 1_000_000),
        ("BITOP", "NOT", "c", "c"),
        ("GETRANGE", "c", -20, -1),
    ]
    for call in calls:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw
