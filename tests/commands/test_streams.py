"""Stream commands over the wire: the same replies as redis-server, byte for byte, times aside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from tests.commands.test_blocking import Cast, Step, play_both
from tests.harness.effort import part
from tests.harness.hbase import IS_ON_HBASE
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import Arg, WireClient

Call = tuple[Arg, ...]

_FILLED: list[Call] = [
    *(("XADD", "s", f"{number}-{number}", "f", number, "g", "") for number in range(1, 7)),
]
_GROUPED: list[Call] = [
    *_FILLED,
    ("XGROUP", "CREATE", "s", "g", 0),
    ("XGROUP", "CREATE", "s", "h", "$", "ENTRIESREAD", 2),
    ("XREADGROUP", "GROUP", "g", "a", "COUNT", 2, "STREAMS", "s", ">"),
    ("XREADGROUP", "GROUP", "g", "b", "COUNT", 2, "STREAMS", "s", ">"),
    ("XGROUP", "CREATECONSUMER", "s", "g", "idle"),
]
STATES: dict[str, list[Call]] = {
    "absent": [],
    "string": [("SET", "s", "x")],
    "empty": [("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")],
    "filled": [*_FILLED, ("XADD", "t", "5-1", "f", "v"), ("EXPIRE", "s", 1000)],
    "grouped": _GROUPED,
    "gaps": [*_GROUPED, ("XDEL", "s", "1-1", "3-3"), ("XTRIM", "s", "MAXLEN", 3)],
    "exhausted": [("XADD", "s", "18446744073709551615-18446744073709551615", "f", "v")],
}

IDS: list[Arg] = [
    *["0", "0-0", "2", "2-2", "3-1", "6-6", "6-7", "9", "-", "+", "*", "$", ">", "", "abc"],
    *["7-*", "6-*", "0-*", "1-", "-1", "1--1", "1-2-3", "(", "(2", "(2-2", "(-", "(0", " 7", "+7"],
    *["18446744073709551615", "18446744073709551615-18446744073709551615", "007-07", "1-*x"],
    *["18446744073709551616", "(18446744073709551615-18446744073709551615", "7" * 130],
    b"7\x00-8",
]
COUNTS: list[Arg] = [0, 1, 3, -1, "x", 1 << 63]
GROUPS: list[Arg] = ["g", "no", b"n\x00o"]
WHO: list[Call] = [(), ("a",), ("idle",), ("no",)]
TRIMS: list[Call] = [
    *(("MAXLEN", *how, n) for how in ((), ("=",), ("~",)) for n in (0, 1, 4, 100, -1, "x")),
    *(("minid", *how, n) for how in ((), ("=",), ("~",)) for n in ("0", "3", "3-4", "99", "x")),
    *(("MAXLEN", "~", 2, "LIMIT", n) for n in (0, 1, 5, -1, "x")),
    ("MAXLEN", 2, "LIMIT", 5),
    ("LIMIT", 5),
    ("LIMIT", 0),
    ("MAXLEN", 2, "MINID", 3),
    ("MAXLEN",),
    ("MAXLEN", "~"),
    ("foo", 1),
]
READS: list[Call] = [
    *(("STREAMS", "s", number) for number in IDS),
    *(("COUNT", n, "STREAMS", "s", 0) for n in COUNTS),
    *(("BLOCK", n, "STREAMS", "s", 99) for n in (1, -1, "x", 1.5)),
    ("COUNT", 2, "STREAMS", "s", "t", "2", "0"),
    ("STREAMS", "s", "s", "0", "3"),
    ("STREAMS", "s", "s", ">", "0"),
    ("STREAMS", "s", "t", ">", ">"),
    ("STREAMS", "s", "t", "0"),
    ("STREAMS", "s"),
    ("COUNT", 1, "foo", "STREAMS", "s", "0"),
    ("COUNT", 1, "BLOCK", 1),
    ("NOACK", "STREAMS", "s", ">"),
    ("GROUP", "g", "c", "STREAMS", "s", ">"),
]
CALLS: list[Call] = [
    *(("XADD", "s", number, "f", "v") for number in IDS if number != "*"),
    *(("XADD", "s", *trim, "7-7", "f", "v") for trim in TRIMS),
    ("XADD", "s", "NOMKSTREAM", "8-8", "f", "v"),
    ("XADD", "s", "8-8", "f", "v", "odd"),
    ("XADD", "s", "NOMKSTREAM", "8-8", "f"),
    ("XADD", "s", "0-0", "f"),
    ("XLEN", "s"),
    ("OBJECT", "ENCODING", "s"),
    *(("XRANGE", "s", one, "+") for one in IDS),
    *(("XRANGE", "s", "-", one) for one in IDS),
    *(("XREVRANGE", "s", one, "-") for one in IDS),
    *(
        (name, "s", *ends, "COUNT", n)
        for name, ends in (("XRANGE", "-+"), ("XREVRANGE", "+-"))
        for n in COUNTS
    ),
    ("XRANGE", "s", "-", "+", "COUNT"),
    ("XRANGE", "s", "-", "+", "foo", 1),
    ("XRANGE", "s", "-", "+", "COUNT", 1, "count", 2),
    *(("XREAD", *read) for read in READS),
    *(("XREADGROUP", "GROUP", group, "a", *read) for group in ("g", "no") for read in READS),
    ("XREADGROUP", "GROUP", "g", "new", "NOACK", "STREAMS", "s", ">"),
    ("XREADGROUP", "COUNT", 1, "BLOCK", 1, "STREAMS", "s", ">"),
    *(("XDEL", "s", one, "2-2", "2-2", "6-6") for one in IDS),
    ("XDEL", "s", *(f"{number}-{number}" for number in range(1, 7))),
    *(("XTRIM", "s", *trim) for trim in TRIMS),
    *(("XSETID", "s", one) for one in IDS),
    *(("XSETID", "s", "9-9", "ENTRIESADDED", n) for n in COUNTS),
    *(("XSETID", "s", "9-9", "MAXDELETEDID", one) for one in ("1", "9-9", "9-10", "x")),
    ("XSETID", "s", "9-9", "foo"),
    *(("XGROUP", "CREATE", "s", "new", one, *more) for one in IDS for more in ((), ("MKSTREAM",))),
    *(
        ("XGROUP", name, "s", "g", 0, "ENTRIESREAD", n)
        for name in ("CREATE", "SETID")
        for n in COUNTS
    ),
    ("XGROUP", "CREATE", "s", "new", 0, "mkstream", "ENTRIESREAD", 3),
    ("XGROUP", "CREATE", "s", "new", 0, "MKSTREAM", "MKSTREAM", "ENTRIESREAD", 3),
    ("XGROUP", "CREATE", "s", "new", 0, "foo"),
    ("XGROUP", "SETID", "s", "g", 0, "MKSTREAM"),
    ("XGROUP", "SETID", "s", "g", 0, "ENTRIESREAD", 1, "ENTRIESREAD", 1),
    *(("XGROUP", "SETID", "s", "g", one) for one in IDS),
    *(("XGROUP", "DESTROY", "s", group) for group in ("g", "no")),
    *(
        ("XGROUP", name, "s", group, consumer)
        for name, group in product(("CREATECONSUMER", "DELCONSUMER"), GROUPS)
        for consumer in ("a", "idle", "new")
    ),
    *(("XACK", "s", "g", one, "2-2", "9-9") for one in IDS),
    ("XACK", "s", "g", "1-1", "2-2", "3-3", "4-4", "4-4"),
    ("XACK", "s", "no", "1-1"),
    ("XPENDING", "s", "g"),
    ("XPENDING", "s", "h"),
    ("XPENDING", "s", "no"),
    *(("XPENDING", "s", "g", "-", "+", n, *who) for n in COUNTS for who in WHO),
    *(("XPENDING", "s", "g", one, "+", 10) for one in IDS),
    *(("XPENDING", "s", "g", "-", one, 10, "a") for one in IDS),
    *(("XPENDING", "s", "g", "IDLE", n, "-", "+", 10, "b") for n in (0, -1, "x")),
    ("XPENDING", "s", "g", "IDLE", 1 << 40, "-", "+", 10),
    ("XPENDING", "s", "g", "-", "+"),
    ("XPENDING", "s", "g", "IDLE", 1, "-", "+"),
    ("XPENDING", "s", "g", "-", "+", 10, "a", "more"),
    ("XPENDING", "s", "g", "-", "+", 10, "a", "more", "more", "more"),
    *(("XCLAIM", "s", "g", "b", idle, "1-1", "3-3", "9-9") for idle in (0, -1, 1 << 40, "x")),
    *(("XCLAIM", "s", "g", "c", 0, one, "2-2") for one in IDS),
    *(
        ("XCLAIM", "s", "g", "c", 0, "1-1", "6-6", *options)
        for options in (
            ("FORCE",),
            ("JUSTID",),
            ("FORCE", "JUSTID"),
            ("RETRYCOUNT", 7),
            ("RETRYCOUNT", -1),
            ("RETRYCOUNT", "x"),
            ("IDLE", 1000),
            ("IDLE", "x"),
            ("TIME", 1000),
            ("TIME", "x"),
            ("LASTID", "5-5"),
            ("LASTID", "x"),
            ("LASTID",),
            ("foo",),
            ("FORCE", "2-2"),
        )
    ),
    ("XCLAIM", "s", "no", "c", "x", "1-1"),
    *(("XAUTOCLAIM", "s", "g", "b", idle, 0) for idle in (0, -1, 1 << 40, "x")),
    *(("XAUTOCLAIM", "s", "g", "c", 0, one) for one in IDS),
    *(("XAUTOCLAIM", "s", "g", "c", 0, "-", "COUNT", n) for n in COUNTS),
    ("XAUTOCLAIM", "s", "g", "c", 0, "-", "COUNT", 1, "JUSTID"),
    ("XAUTOCLAIM", "s", "g", "c", 0, "-", "COUNT", 1 << 59),
    ("XAUTOCLAIM", "s", "g", "c", 0, "-", "foo"),
    ("XAUTOCLAIM", "s", "no", "c", "x", "-"),
    ("XAUTOCLAIM", "s", "no", "c", 0, "x"),
    ("XINFO", "STREAM", "s", "foo"),
    ("XINFO", "STREAM", "s", "FULL", "COUNT"),
    ("XINFO", "STREAM", "s", "FULL", "foo", 1),
    *(("XINFO", "STREAM", "s", "FULL", "COUNT", n) for n in COUNTS),
    ("XINFO", "CONSUMERS", "s", "no"),
    ("RENAME", "s", "t"),
    ("COPY", "s", "t", "REPLACE"),
    ("EXISTS", "s"),
    ("TYPE", "s"),
]
LOOKS: list[Call] = [
    *(("XINFO", "STREAM", key, "FULL") for key in "st"),
    ("XINFO", "STREAM", "s"),
    ("XINFO", "GROUPS", "s"),
    ("XINFO", "CONSUMERS", "s", "g"),
    ("XPENDING", "s", "g"),
]

_TIME = re.compile(rb":1[0-9]{12}\r\n")
_IDLE = re.compile(rb"(idle\r\n|\$1\r\n[ab]\r\n):[0-9]{1,4}\r\n")


def timeless(raw: bytes) -> bytes:
    """A reply without what depends on the clock: times and how long something was idle."""
    return _IDLE.sub(rb"\1:idle\r\n", _TIME.sub(b":time\r\n", raw))


@pytest.mark.effort
@pytest.mark.parametrize("state", STATES)
def test_replies_and_what_is_left_are_those_of_redis(
    state: str, protocol: int, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = part(CALLS, list(STATES).index(state) + protocol)
    for start in range(0, len(calls), 25):
        steps = [
            step
            for call in calls[start : start + 25]
            for step in (("DEL", "s", "t"), *STATES[state], call, *LOOKS)
        ]
        redis, strata = (
            [(step, timeless(reply.raw)) for step, reply in zip(steps, replies, strict=True)]
            for replies in (redis_wire.pipeline(steps), strata_wire.pipeline(steps))
        )
        different = [pair for pair in zip(redis, strata, strict=True) if pair[0] != pair[1]]
        assert different[:1] == []


def test_ids_of_the_clock_rise(strata_wire: WireClient) -> None:
    made = [strata_wire.send("XADD", "s", "*", "f", "v").frame.data or b"" for _ in range(200)]
    pairs = [tuple(map(int, one.split(b"-"))) for one in made]
    assert sorted(set(pairs)) == pairs
    seconds = int(strata_wire.send("TIME").frame.blobs()[0])
    assert abs(pairs[-1][0] / 1000 - seconds) < 60


def test_rough_trimming_cuts_whole_nodes_as_redis_does(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    adds: list[Call] = [("XADD", "s", f"{number}-1", "f", "v") for number in range(1, 551)]
    steps: list[Call] = [
        *adds,
        *(
            one
            for n in (540, 430, 429, 333)
            for one in (("XTRIM", "s", "MAXLEN", "~", n), ("XLEN", "s"))
        ),
        ("XTRIM", "s", "MAXLEN", 370),
        ("XTRIM", "s", "MINID", "~", 290),
        ("XTRIM", "s", "MINID", "~", 310, "LIMIT", 50),
        ("XTRIM", "s", "MAXLEN", "~", 0, "LIMIT", 150),
        ("XADD", "s", "MAXLEN", "~", 10, "600-1", "f", "v"),
        ("XTRIM", "s", "MAXLEN", "~", 0),
        ("XADD", "s", "601-1", "f", "v"),
        ("XTRIM", "s", "MAXLEN", "~", 0),
        ("XLEN", "s"),
    ]
    redis, strata = (
        [reply.raw for reply in wire.pipeline(steps)] for wire in (redis_wire, strata_wire)
    )
    assert list(zip(steps, strata, strict=True)) == list(zip(steps, redis, strict=True))


def test_rough_trimming_follows_the_size_of_nodes(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    steps: list[Call] = [
        ("CONFIG", "SET", "stream-node-max-entries", 10),
        *(("XADD", "s", f"{number}-1", "f", "v") for number in range(1, 101)),
        ("XADD", "s", "MAXLEN", "~", 55, "LIMIT", 30, "101-1", "f", "v"),
        ("XLEN", "s"),
        ("XTRIM", "s", "MAXLEN", "~", 0, "LIMIT", 9),
        ("XTRIM", "s", "MINID", "~", 95),
        ("XLEN", "s"),
        ("CONFIG", "SET", "stream-node-max-entries", 100),
    ]
    redis, strata = (
        [reply.raw for reply in wire.pipeline(steps)] for wire in (redis_wire, strata_wire)
    )
    assert list(zip(steps, strata, strict=True)) == list(zip(steps, redis, strict=True))


def test_long_ranges_and_reads_are_whole(strata_wire: WireClient) -> None:
    count = 5000
    strata_wire.pipeline(("XADD", "s", f"{n}-1", "f", n) for n in range(1, count + 1))
    expected = [b"%d-1" % n for n in range(1, count + 1)]

    def ids(*call: Arg) -> list[bytes]:
        frame = strata_wire.send(*call).frame
        if call[0] in ("XREAD", "XREADGROUP"):
            frame = frame.pairs()[0][1] if frame.kind == "%" else frame.elements[0].elements[1]
        return [item.elements[0].data or b"" for item in frame.elements]

    assert ids("XRANGE", "s", "-", "+") == expected
    assert ids("XRANGE", "s", 1001, "+", "COUNT", 2000) == expected[1000:3000]
    assert ids("XREVRANGE", "s", 4000, 10) == expected[9:4000][::-1]
    assert ids("XREAD", "STREAMS", "s", "2000-1") == expected[2000:]
    strata_wire.send("XGROUP", "CREATE", "s", "g", 0)
    assert ids("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">") == expected
    assert ids("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", 0) == expected
    assert strata_wire.send("XACK", "s", "g", *expected[:3000]).frame.number == 3000
    claimed = strata_wire.send("XAUTOCLAIM", "s", "g", "d", 0, "-", "COUNT", 1500, "JUSTID").frame
    assert [len(part.items or ()) for part in (claimed.items or ())[1:]] == [1500, 0]
    assert strata_wire.send("XTRIM", "s", "MAXLEN", 10).frame.number == count - 10
    assert strata_wire.send("XGROUP", "DESTROY", "s", "g").frame.number == 1
    assert strata_wire.send("DEL", "s").frame.number == 1


# waiting

SCRIPTS: dict[str, list[Step]] = {
    "everybody gets a new entry": [
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("b", ("XREAD", "COUNT", 1, "BLOCK", 0, "STREAMS", "t", "s", "$", "0")),
        ("p", ("XADD", "s", "1-1", "f", "v")),
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("b", ("XREAD", "BLOCK", 0, "STREAMS", "s", "1-1")),
        ("c", ("XREAD", "BLOCK", 0, "STREAMS", "s", "1-5")),
        ("p", ("XADD", "s", "1-2", "f", "v")),
        ("p", ("XADD", "s", "2-0", "f", "v")),
    ],
    "a dollar means the end at the call": [
        ("p", ("XADD", "s", "5-5", "f", "v")),
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("p", [("DEL", "s"), ("XADD", "s", "5-1", "f", "v"), ("XADD", "s", "5-5", "f", "v")]),
        ("p", ("XADD", "s", "5-6", "f", "v")),
    ],
    "all of a transaction, but of one stream": [
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "t", "$", "$")),
        (
            "p",
            [
                ("MULTI",),
                ("XADD", "t", "1-1", "f", "v"),
                ("XADD", "s", "1-1", "f", "v"),
                ("XADD", "t", "1-2", "f", "v"),
                ("EXEC",),
            ],
        ),
    ],
    "an entry that is trimmed at once": [
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("p", ("XADD", "s", "MAXLEN", 0, "1-1", "f", "v")),
        ("p", ("XADD", "s", "1-2", "f", "v")),
    ],
    "changes that are no entries": [
        ("p", [("XADD", "s", "3-3", "f", "v"), ("XADD", "s", "4-4", "f", "v")]),
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("p", ("XDEL", "s", "4-4")),
        ("p", ("XSETID", "s", "9-9")),
        ("p", ("XTRIM", "s", "MAXLEN", 0)),
        ("p", ("XGROUP", "CREATE", "s", "g", "0")),
        ("p", ("SET", "s", "x")),
        ("p", ("DEL", "s")),
        ("p", ("XADD", "s", "2-2", "f", "v")),
        ("p", ("XADD", "s", "7-7", "f", "v")),
    ],
    "a group shares what comes": [
        ("p", ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "COUNT", 1, "BLOCK", 0, "STREAMS", "s", ">")),
        ("b", ("XREADGROUP", "GROUP", "g", "b", "BLOCK", 0, "STREAMS", "s", ">")),
        ("c", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("p", ("XADD", "s", "1-1", "f", "v")),
        ("p", ("XADD", "s", "1-2", "f", "v")),
        ("p", ("XPENDING", "s", "g")),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "NOACK", "BLOCK", 0, "STREAMS", "s", ">")),
        (
            "p",
            [("MULTI",), ("XADD", "s", "1-3", "f", "v"), ("XADD", "s", "1-4", "f", "v"), ("EXEC",)],
        ),
        ("p", ("XINFO", "GROUPS", "s")),
    ],
    "a group that is set back, or acknowledges": [
        ("p", [("XADD", "s", "1-1", "f", "v"), ("XGROUP", "CREATE", "s", "g", "$")]),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("p", ("XGROUP", "CREATECONSUMER", "s", "g", "b")),
        ("p", ("XCLAIM", "s", "g", "b", 0, "1-1", "FORCE", "JUSTID")),
        ("p", ("XACK", "s", "g", "1-1")),
        ("p", ("XGROUP", "SETID", "s", "g", "0")),
        ("p", ("XADD", "s", "1-2", "f", "v")),
    ],
    "a group or its stream goes away": [
        (
            "p",
            [("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"), ("XGROUP", "CREATE", "s", "h", "$")],
        ),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("b", ("XREADGROUP", "GROUP", "h", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("l", ("BLPOP", "s", 0)),
        ("r", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("p", ("XGROUP", "DESTROY", "s", "g")),
        ("a", ("XREADGROUP", "GROUP", "h", "b", "BLOCK", 0, "STREAMS", "s", ">")),
        ("p", ("DEL", "s")),
        (
            "p",
            [
                ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"),
                ("XGROUP", "CREATE", "t", "g", 0, "MKSTREAM"),
            ],
        ),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", "t", ">", ">")),
        ("p", ("SET", "s", "x")),
        ("p", [("DEL", "s"), ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")]),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("p", ("RENAME", "s", "u")),
        ("p", ("RENAME", "u", "s")),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("p", ("FLUSHALL",)),
        ("p", [("XADD", "s", "1-1", "f", "v"), ("XADD", "s", "1-2", "f", "v")]),
    ],
    "a stream replaced by another in one transaction": [
        ("p", ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("b", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("p", [("MULTI",), ("DEL", "s"), ("XADD", "s", "1-1", "f", "v"), ("EXEC",)]),
    ],
    "streams that other commands make": [
        ("p", ("XADD", "x", "1-1", "f", "v")),
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("b", ("XREAD", "BLOCK", 0, "STREAMS", "t", "$")),
        ("p", ("COPY", "x", "s")),
        ("p", ("RENAME", "x", "t")),
    ],
    "no waiting inside a transaction": [
        ("p", ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")),
        ("a", [("MULTI",), ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")]),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        (
            "a",
            [("XADD", "s", "1-1", "f", "v"), ("XREAD", "BLOCK", 0, "STREAMS", "s", "0"), ("EXEC",)],
        ),
    ],
    "unblocked by others": [
        ("p", ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")),
        ("a", ("XREAD", "BLOCK", 0, "STREAMS", "s", "$")),
        ("b", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", ">")),
        ("p", ("CLIENT", "UNBLOCK", "@a")),
        ("p", ("CLIENT", "UNBLOCK", "@b", "ERROR")),
        ("p", ("XINFO", "CONSUMERS", "s", "g")),
    ],
    "the history never waits": [
        ("p", ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")),
        ("a", ("XREADGROUP", "GROUP", "g", "a", "BLOCK", 0, "STREAMS", "s", "0")),
    ],
}


SERVED_LATER = ("a group or its stream goes away",)


@pytest.fixture
def casts(
    redis_server: RedisServer, strata_server: StrataServer, protocol: int
) -> Iterator[list[Cast]]:
    made = [Cast(server, protocol) for server in (redis_server, strata_server)]
    for cast in made:
        cast["observer"].send("FLUSHALL")
    yield made
    for cast in made:
        cast.close_all()


@pytest.mark.parametrize("script", SCRIPTS)
def test_waiting_clients_are_served_as_in_redis(script: str, casts: list[Cast]) -> None:
    if IS_ON_HBASE and script in SERVED_LATER:
        pytest.skip("entries have to be fetched, and by then there may be more of them")
    redis, strata = play_both(casts, SCRIPTS[script])
    for expected, found in zip(redis, strata, strict=True):
        assert found == expected


def test_a_wait_of_milliseconds_ends(strata_wire: WireClient) -> None:
    assert strata_wire.send("XREAD", "BLOCK", 20, "STREAMS", "s", "$").frame.is_null
