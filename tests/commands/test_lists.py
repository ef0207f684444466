"""List commands over the wire: the same replies as redis-server, byte for byte."""

from itertools import product

import pytest

from tests.harness.effort import part
from tests.harness.wire import Arg, WireClient

Call = tuple[Arg, ...]

STATES: dict[str, list[Call]] = {
    "absent": [],
    "string": [("SET", "k", "x")],
    "one": [("RPUSH", "k", "a"), ("EXPIRE", "k", 1000)],
    "two lists": [("RPUSH", "k", *"abcab"), ("LPUSH", "l", "x", "y")],
    "wrong second": [("RPUSH", "k", *"abcab"), ("SET", "l", "x")],
    "repeats": [("RPUSH", "k", *"aabacaadaa", ""), ("LPUSH", "k", "first", "b" * 100)],
}

INTEGERS: list[Arg] = [0, 1, -1, 2, -2, 5, -5, 100, -100, "abc", "", "1.5", 1 << 63, -(1 << 63)]
ENDS = ("LEFT", "right", "foo")

SEARCH_OPTIONS: list[Call] = [
    ("RANK", 1),
    ("rank", -1),
    ("RANK", 2),
    ("RANK", -3),
    ("RANK", 0),
    ("RANK", "x"),
    ("RANK", -(1 << 63)),
    ("COUNT", 0),
    ("count", 2),
    ("COUNT", -1),
    ("COUNT", "x"),
    ("MAXLEN", 0),
    ("MAXLEN", 3),
    ("maxlen", -1),
    ("MAXLEN",),
    ("foo",),
    ("foo", 1),
]

CALLS: list[Call] = [
    *(
        (name, "k", *more)
        for name in ("LPUSH", "RPUSH", "LPUSHX", "RPUSHX")
        for more in ("1", "123")
    ),
    *((name, "k") for name in ("LPUSH", "LPUSHX", "LPOP", "RPOP", "LLEN")),
    *((name, "k", n) for name in ("LPOP", "RPOP", "LINDEX") for n in INTEGERS),
    ("LPOP", "k", 1, 2),
    *(("LSET", "k", n, "new") for n in INTEGERS),
    *(("LREM", "k", n, element) for n in INTEGERS for element in ("a", "b", "none", "")),
    *((name, "k", i, j) for name in ("LRANGE", "LTRIM") for i in INTEGERS for j in INTEGERS),
    *(
        ("LINSERT", "k", where, pivot, "new")
        for where in ("BEFORE", "after", "at")
        for pivot in ("a", "b", "c", "d", "none", "")
    ),
    *(("LPOS", "k", "a", *one, *two) for one, two in product([(), *SEARCH_OPTIONS], repeat=2)),
    *(("LMOVE", "k", other, *ends) for other in "klm" for ends in product(ENDS, repeat=2)),
    *(("RPOPLPUSH", "k", other) for other in "klm"),
    *(("LMPOP", n, "m", "k", end) for n in (1, 2, 3, 0, -1, "x", 1 << 63) for end in ENDS),
    *(("LMPOP", 1, "k", "LEFT", "COUNT", n) for n in INTEGERS),
    ("LMPOP", 2, "k", "l", "RIGHT", "COUNT", 2),
    ("LMPOP", 1, "k", "LEFT", "COUNT"),
    ("LMPOP", 1, "k", "LEFT", "COUNT", 1, "COUNT", 1),
    ("LMPOP", 1, "k", "LEFT", "foo"),
]

LOOKS: list[Call] = [
    *((name, key) for key in "klm" for name in ("TYPE", "LLEN")),
    *(("LRANGE", key, 0, -1) for key in "klm"),
    ("EXPIRETIME", "none"),
    ("OBJECT", "ENCODING", "k"),
    ("DBSIZE",),
]


def outcomes(wire: WireClient, state: str, calls: list[Call]) -> list[tuple[Call, list[bytes]]]:
    """For each call: its reply and what it left behind, from the same state each time."""
    found = []
    for call in calls:
        replies = wire.pipeline([("FLUSHALL",), *STATES[state], call, *LOOKS])
        found.append((call, [reply.raw for reply in replies[len(STATES[state]) + 1 :]]))
    return found


@pytest.mark.effort
@pytest.mark.parametrize("state", STATES)
def test_replies_and_effects_are_those_of_redis(
    state: str, protocol: int, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = part(CALLS, list(STATES).index(state) + protocol)
    assert outcomes(strata_wire, state, calls) == outcomes(redis_wire, state, calls)


def test_a_list_that_is_rotated_keeps_its_expire_time(strata_wire: WireClient) -> None:
    strata_wire.pipeline([("RPUSH", "k", "a"), ("EXPIRE", "k", 1000)])
    for ends in product(("LEFT", "RIGHT"), repeat=2):
        assert strata_wire.send("LMOVE", "k", "k", *ends).frame.data == b"a"
        assert (strata_wire.send("TTL", "k").frame.number or 0) > 900


def test_a_change_without_effect_breaks_a_watch_as_in_redis(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls: list[Call] = [
        ("LTRIM", "k", 0, -1),
        ("LMOVE", "k", "k", "LEFT", "LEFT"),
        ("LSET", "k", 0, "a"),
        ("LREM", "k", 0, "none"),
        ("LINSERT", "k", "BEFORE", "none", "x"),
        ("LPOP", "k", 0),
        ("LPUSHX", "none", "x"),
    ]
    for call in calls:
        steps: list[Call] = [("DEL", "k"), ("RPUSH", "k", "a"), ("WATCH", "k"), call, ("MULTI",)]
        replies = [
            [reply.raw for reply in wire.pipeline([*steps, ("EXEC",)])]
            for wire in (redis_wire, strata_wire)
        ]
        assert replies[0] == replies[1], call


def test_long_lists_are_the_same_after_every_kind_of_change(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    """Beyond a thousand rows commands run in slices."""
    elements = [f"e{number % 997}" for number in range(6000)]
    calls: list[Call] = [
        ("RPUSH", "k", *elements),
        ("LINSERT", "k", "AFTER", "e500", "early"),
        ("LREM", "k", 3, "e700"),
        ("LREM", "k", -2, "e100"),
        ("LREM", "k", 0, "e501"),
        ("LPOS", "k", "e996", "RANK", 5),
        ("LPOS", "k", "e5", "COUNT", 0),
        ("LSET", "k", 3000, "middle"),
        ("LINSERT", "k", "BEFORE", "middle", "before"),
        ("LINSERT", "k", "AFTER", "middle", "after"),
        ("LRANGE", "k", 2990, 3010),
        ("RPOP", "k", 1500),
        ("LTRIM", "k", 10, -10),
        ("COPY", "k", "copy"),
        ("RENAME", "k", "m"),
        ("LRANGE", "copy", 0, -1),
        ("LRANGE", "m", 0, -1),
        ("LTRIM", "m", 2000, 2005),
        ("LRANGE", "m", 0, -1),
        ("LMPOP", 2, "none", "copy", "RIGHT", "COUNT", 1 << 40),
        ("EXISTS", "copy"),
    ]
    for call in calls:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call[:4]
