"""Blocking commands, with several clients: who is served, when, and with what, as in redis-server.

A script is a list of steps, each one a client and what it sends. After each step all clients are
asked what they have got: nobody is asked to wait for something that must not come.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode

Call = tuple[Arg, ...]
Step = tuple[str, Call | list[Call]]

SETTLE_SECONDS = 0.02
"""Between two looks for replies. redis-server is looked at until a look finds nothing, StrataKV
until it has given as many: one look more would show what must not come."""
Seen = list[tuple[Step, dict[str, list[bytes]]]]


class Cast:
    """The clients of a script, by their names."""

    def __init__(self, server: RedisServer | StrataServer, protocol: int) -> None:
        self._server = server
        self._protocol = protocol
        self._stack = ExitStack()
        self._clients: dict[str, WireClient] = {}
        self.ids: dict[str, int] = {}

    def __getitem__(self, name: str) -> WireClient:
        if name not in self._clients:
            client = self._stack.enter_context(self._server.client(self._protocol))
            self.ids[name] = client.send("CLIENT", "ID").frame.number or 0
            self._clients[name] = client
        return self._clients[name]

    def close(self, name: str) -> None:
        """The client goes away without a word."""
        self._clients.pop(name).close()

    def close_all(self) -> None:
        self._stack.close()

    def wait_until_blocked(self, count: int) -> None:
        """Until the server says that so many clients are blocked."""
        shown = f"blocked_clients:{count}\r\n"
        wait_until(lambda: shown in self._info(), f"never {count} blocked clients")

    def blocked(self) -> int:
        """How many clients are blocked."""
        return int(self._info().partition("blocked_clients:")[2].partition("\r")[0])

    def _info(self) -> str:
        data = self["observer"].send("INFO", "clients").frame.data or b""
        return data.removeprefix(b"txt:").decode()

    def arrived(self, wanted: dict[str, list[bytes]] | None = None) -> dict[str, list[bytes]]:
        """What has come for each client since the last time; `wanted` is waited for."""
        found: dict[str, list[bytes]] = {}
        if wanted is None:
            while self._look(found):
                pass
        else:
            wait_until(lambda: not self._look(found) and _has_all(found, wanted), f"{wanted}")
        return found

    def _look(self, found: dict[str, list[bytes]]) -> bool:
        """Add what is there for whom; says whether there was anything."""
        self["observer"].settle()
        time.sleep(SETTLE_SECONDS)
        is_new = False
        for name, client in self._clients.items():
            while _has_data(client):
                found.setdefault(name, []).append(client.read_any().raw)
                is_new = True
        return is_new


def _has_all(found: dict[str, list[bytes]], wanted: dict[str, list[bytes]]) -> bool:
    return all(len(found.get(name, ())) >= len(replies) for name, replies in wanted.items())


def _has_data(client: WireClient) -> bool:
    if select.select([client._sock], [], [], 0)[0]:
        return True
    client._sock.settimeout(0.0)
    try:
        return bool(client._file.peek(1))  # type: ignore[attr-defined]  # a BufferedReader
    except OSError:
        return False
    finally:
        client._sock.settimeout(client.timeout_s)


def play_both(casts: list[Cast], steps: list[Step]) -> tuple[Seen, Seen]:
    """Run each step on redis-server, then on StrataKV; what each client got after each step."""
    redis, strata = casts
    expected: Seen = []
    found: Seen = []
    for step in steps:
        wanted = _play(redis, step)
        expected.append((step, wanted))
        found.append((step, _play(strata, step, wanted)))
        strata.wait_until_blocked(redis.blocked())  # before, a wait has not begun
    return expected, found


def _play(
    cast: Cast, step: Step, wanted: dict[str, list[bytes]] | None = None
) -> dict[str, list[bytes]]:
    name, call = step
    client = cast[name]
    calls = call if isinstance(call, list) else [call]
    client.write(b"".join(encode(*_named(cast, one)) for one in calls))
    return cast.arrived(wanted)


def _named(cast: Cast, call: Call) -> Call:
    """`@name` in a call stands for that client's number."""
    return tuple(
        cast.ids[arg[1:]] if isinstance(arg, str) and arg.startswith("@") else arg for arg in call
    )


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


SCRIPTS: dict[str, list[Step]] = {
    "first come, first served": [
        ("a", ("BLPOP", "k", 0)),
        ("b", ("BRPOP", "k", 0)),
        ("c", ("BLPOP", "k", 0)),
        ("p", ("RPUSH", "k", "1", "2")),
        ("p", ("RPUSH", "k", "3", "4")),
        ("p", ("LRANGE", "k", 0, -1)),
    ],
    "the order of the keys at the call": [
        ("p", [("RPUSH", "k2", "x"), ("RPUSH", "k3", "y")]),
        ("a", ("BLPOP", "k1", "k3", "k2", 0)),
        ("a", ("BLPOP", "k2", "k3", 0)),
        ("a", ("BLPOP", "k2", "k3", 0)),
        ("p", ("RPUSH", "k3", "z")),
    ],
    "the order in which keys became ready": [
        ("a", ("BLPOP", "k1", "k2", 0)),
        ("p", [("MULTI",), ("RPUSH", "k2", "x"), ("RPUSH", "k1", "y"), ("EXEC",)]),
        ("p", [("LLEN", "k1"), ("LLEN", "k2")]),
    ],
    "the same key twice": [
        ("a", ("BLPOP", "k", "k", 0)),
        ("p", ("RPUSH", "k", "x", "y")),
        ("a", ("BLPOP", "k", "k", 0)),
    ],
    "a push serves clients of every kind": [
        ("a", ("BLMPOP", 0, 2, "j", "k", "LEFT", "COUNT", 2)),
        ("b", ("BLMOVE", "k", "d", "LEFT", "RIGHT", 0)),
        ("c", ("BRPOPLPUSH", "k", "d", 0)),
        ("d", ("BLPOP", "k", 0)),
        ("p", ("RPUSH", "k", *"123456")),
        ("p", [("LRANGE", "k", 0, -1), ("LRANGE", "d", 0, -1)]),
    ],
    "served before the pusher's next command": [
        ("a", ("BLPOP", "k", 0)),
        ("p", [("RPUSH", "k", "x"), ("LLEN", "k"), ("RPUSH", "k", "y"), ("LPOP", "k")]),
    ],
    "a push and a pop in one transaction serve nobody": [
        ("a", ("BLPOP", "k", 0)),
        ("p", [("MULTI",), ("RPUSH", "k", "x"), ("DEL", "k"), ("EXEC",)]),
        ("p", [("MULTI",), ("RPUSH", "k", "x"), ("DEL", "k"), ("SET", "k", "s"), ("EXEC",)]),
        ("p", [("DEL", "k"), ("RPUSH", "k", "y")]),
    ],
    "all that a transaction pushed is served after it": [
        ("a", ("BLPOP", "k", 0)),
        ("b", ("BLPOP", "k", 0)),
        ("p", [("MULTI",), ("LPUSH", "k", "1"), ("LPUSH", "k", "2"), ("LLEN", "k"), ("EXEC",)]),
        ("p", ("EXISTS", "k")),
    ],
    "no waiting inside a transaction": [
        ("a", [("MULTI",), ("BLPOP", "k", 0), ("BRPOP", "k", 0), ("BLMPOP", 0, 1, "k", "LEFT")]),
        ("a", [("BLMOVE", "k", "d", "LEFT", "LEFT", 0), ("BRPOPLPUSH", "k", "d", 0)]),
        ("a", [("BZPOPMIN", "k", 0), ("BZPOPMAX", "k", 0), ("BZMPOP", 0, 1, "k", "MIN")]),
        ("a", [("RPUSH", "k", "x"), ("BLPOP", "k", 0), ("EXEC",)]),
    ],
    "moves in a chain": [
        ("a", ("BLMOVE", "k1", "k2", "LEFT", "RIGHT", 0)),
        ("b", ("BLMOVE", "k2", "k3", "LEFT", "RIGHT", 0)),
        ("c", ("BLPOP", "k3", 0)),
        ("p", ("RPUSH", "k1", "x")),
        ("p", ("EXISTS", "k1", "k2", "k3")),
    ],
    "moves in a circle": [
        ("a", ("BLMOVE", "k1", "k2", "LEFT", "RIGHT", 0)),
        ("b", ("BLMOVE", "k2", "k1", "LEFT", "RIGHT", 0)),
        ("p", ("RPUSH", "k1", "x")),
        ("p", [("LRANGE", "k1", 0, -1), ("LRANGE", "k2", 0, -1)]),
    ],
    "a move to itself": [
        ("a", ("BLMOVE", "k", "k", "LEFT", "RIGHT", 0)),
        ("p", ("RPUSH", "k", "1", "2", "3")),
        ("p", ("LRANGE", "k", 0, -1)),
    ],
    "a move to what is no list": [
        ("p", ("SET", "d", "x")),
        ("a", ("BLMOVE", "k", "d", "LEFT", "RIGHT", 0)),
        ("b", ("BLPOP", "k", 0)),
        ("p", ("RPUSH", "k", "1")),
        ("p", [("EXISTS", "k"), ("GET", "d")]),
    ],
    "a key of another type": [
        ("a", ("BLPOP", "k", 0)),
        ("z", ("BZPOPMIN", "k", 0)),
        ("p", ("SET", "k", "x")),
        ("b", ("BLPOP", "k", 0)),
        ("b", ("BLPOP", "j", "k", 0)),
        ("b", ("BLMOVE", "k", "j", "LEFT", "LEFT", 0)),
        ("b", ("BZPOPMAX", "k", 0)),
        ("p", [("DEL", "k"), ("ZADD", "k", 1, "m", 2, "n")]),
        ("p", ("DEL", "k")),
        ("p", ("RPUSH", "k", "1")),
    ],
    "a key that a long command makes another type": [
        ("p", ("ZADD", "big", *(w for n in range(700) for w in (n, n)))),
        ("p", ("ZADD", "big", *(w for n in range(700, 1400) for w in (n, n)))),
        ("a", ("BLPOP", "k", 0)),
        ("b", ("BLMOVE", "k", "d", "LEFT", "LEFT", 0)),
        ("z", ("BZPOPMIN", "k", 0)),
        ("p", ("ZUNIONSTORE", "k", 1, "big")),
        ("p", [("DEL", "k"), ("RPUSH", "k", "1")]),
        ("p", ("RPUSH", "k", "2")),
    ],
    "sorted sets": [
        ("a", ("BZPOPMIN", "j", "k", 0)),
        ("b", ("BZPOPMAX", "k", 0)),
        ("c", ("BZMPOP", 0, 2, "j", "k", "MAX", "COUNT", 2)),
        ("d", ("BZMPOP", 0, 1, "k", "MIN")),
        ("p", ("ZADD", "k", 1, "a", 2.5, "b", 3, "c", "-inf", "d", 5, "e")),
        ("p", ("ZADD", "k", 1, "a")),
        ("p", ("EXISTS", "k")),
        ("p", ("ZADD", "k", 1, "a", 1e17, "b", 3, "c")),
        ("a", ("BZPOPMIN", "k", 1)),
        ("a", ("BZPOPMAX", "k", 1)),
        ("a", ("BZMPOP", 1, 1, "k", "MIN", "COUNT", 10)),
    ],
    "lists that other commands make": [
        ("p", [("RPUSH", "src", "2", "1"), ("RPUSH", "old", "y", "z")]),
        ("a", ("BLPOP", "k", 0)),
        ("p", ("SORT", "src", "STORE", "k")),
        ("a", ("BLPOP", "k", 0)),
        ("a", ("BLPOP", "k", 0)),
        ("p", ("RENAME", "old", "k")),
        ("a", ("BLPOP", "k", 0)),
        ("a", ("BLPOP", "k", 0)),
        ("p", ("COPY", "src", "k")),
        ("a", [("DEL", "k"), ("BLPOP", "k", 0)]),
        ("p", ("LMOVE", "src", "k", "LEFT", "LEFT")),
        ("a", ("BLPOP", "k", 0)),
        ("p", ("RPOPLPUSH", "src", "k")),
        ("a", ("BZPOPMIN", "k", 0)),
        ("p", [("ZADD", "s1", 1, "m"), ("ZUNIONSTORE", "k", 1, "s1")]),
    ],
    "other databases": [
        ("a", ("BLPOP", "k", 0)),
        ("b", [("SELECT", 1), ("BLPOP", "k", 0)]),
        ("p", [("SELECT", 2), ("RPUSH", "k", "two"), ("MOVE", "k", 1)]),
        ("p", [("RPUSH", "k", "three"), ("SWAPDB", 0, 2)]),
    ],
    "commands behind the blocked one": [
        (
            "a",
            [("SET", "s", 1), ("BLPOP", "k", 0), ("INCR", "s"), ("BLPOP", "k", 0), ("INCR", "s")],
        ),
        ("p", ("GET", "s")),
        ("p", ("RPUSH", "k", "x")),
        ("p", ("GET", "s")),
        ("a", ("PING",)),
        ("p", ("RPUSH", "k", "y")),
        ("p", ("GET", "s")),
    ],
    "a client that serves itself": [
        ("a", [("RPUSH", "k", "x"), ("BLPOP", "k", 0), ("LLEN", "k")]),
    ],
    "client unblock": [
        ("a", ("BLPOP", "k", 0)),
        ("b", ("BLMOVE", "k", "d", "LEFT", "LEFT", 0)),
        ("c", ("BZPOPMIN", "k", 0)),
        ("d", ("BLPOP", "k", 0)),
        ("p", ("CLIENT", "UNBLOCK", "@a")),
        ("p", ("CLIENT", "UNBLOCK", "@a")),
        ("p", ("CLIENT", "UNBLOCK", "@b", "TIMEOUT")),
        ("p", ("CLIENT", "UNBLOCK", "@c", "error")),
        ("p", [("CLIENT", "UNBLOCK", "@d"), ("RPUSH", "k", "x"), ("LLEN", "k")]),
        ("p", ("CLIENT", "UNBLOCK", "@p")),
        ("p", ("CLIENT", "UNBLOCK", "999999")),
        ("p", ("CLIENT", "UNBLOCK", "x")),
        ("p", ("CLIENT", "UNBLOCK", "@a", "foo")),
        ("p", ("CLIENT", "UNBLOCK", "@a", "ERROR", "foo")),
    ],
    "a client that lets itself be unblocked and goes on": [
        ("a", [("BLPOP", "k", 0), ("RPUSH", "j", "x"), ("BLPOP", "j", 0)]),
        ("p", ("CLIENT", "UNBLOCK", "@a", "ERROR")),
    ],
    "replies off": [
        ("a", [("CLIENT", "REPLY", "SKIP"), ("BLPOP", "k", 0), ("PING",)]),
        ("p", ("RPUSH", "k", "x")),
        ("p", ("LLEN", "k")),
    ],
    "a watch and a served client": [
        ("w", [("WATCH", "d"), ("MULTI",)]),
        ("a", ("BRPOPLPUSH", "k", "d", 0)),
        ("p", ("RPUSH", "k", "x")),
        ("w", [("PING",), ("EXEC",)]),
    ],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_clients_are_served_as_in_redis(script: str, casts: list[Cast]) -> None:
    redis, strata = play_both(casts, SCRIPTS[script])
    for expected, found in zip(redis, strata, strict=True):
        assert found == expected


CALLS: list[Call] = [
    *(
        (name, "k", timeout)
        for name in ("BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX")
        for timeout in (
            0.01,
            "1e-3",
            "0x0.01",
            "-1",
            "abc",
            "",
            "inf",
            "-inf",
            "nan",
            "1e400",
            " 1",
        )
    ),
    *(
        ("BLPOP", "k", text)
        for text in ("1e-400", "1e5000", "9223372036854776", "-1e400", "1e-5000")
    ),
    ("BLPOP", "k"),
    ("BLMOVE", "k", "d", "LEFT", "RIGHT", 0.01),
    ("BLMOVE", "k", "d", "LEFT", "foo", 0.01),
    ("BLMOVE", "k", "d", "foo", "LEFT", "x"),
    ("BLMOVE", "k", "d", "RIGHT", "LEFT", "x"),
    ("BLMOVE", "k", "d", "RIGHT", "LEFT", -1),
    ("BRPOPLPUSH", "k", "d", 0.01),
    ("BRPOPLPUSH", "k", "d", -1),
    ("BRPOPLPUSH", "k", "d"),
    *(
        (name, timeout, count, "j", "k", side, *more)
        for name, side in (("BLMPOP", "LEFT"), ("BZMPOP", "MAX"), ("BLMPOP", "MIN"))
        for timeout in (0.01, "x", -1)
        for count in (0, 1, 2, 3, "x")
        for more in ((), ("COUNT", 1), ("COUNT", 0), ("COUNT",), ("foo",))
    ),
]

STATES: dict[str, list[Call]] = {
    "absent": [],
    "list": [("RPUSH", "k", *"abc")],
    "zset": [("ZADD", "k", 1, "a", 2, "b")],
    "string": [("SET", "k", "x")],
    "first wrong": [("SET", "j", "x"), ("RPUSH", "k", "a")],
}


@pytest.mark.parametrize("state", STATES)
def test_replies_to_calls_and_time_outs_are_those_of_redis(
    state: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    looks: list[Call] = [("LRANGE", "k", 0, -1), ("LRANGE", "d", 0, -1), ("ZCARD", "k")]
    steps = [("FLUSHALL",), *STATES[state]]
    outcomes = [
        [(call, [reply.raw for reply in wire.pipeline([*steps, call, *looks])]) for call in CALLS]
        for wire in (redis_wire, strata_wire)
    ]
    for expected, found in zip(*outcomes, strict=True):
        assert found == expected


def test_a_time_out_is_kept(strata_wire: WireClient) -> None:
    started = time.monotonic()
    assert strata_wire.send("BLPOP", "k", 0.15).frame.is_null
    assert time.monotonic() - started > 0.14


def test_a_client_that_went_away_takes_nothing(casts: list[Cast]) -> None:
    for cast in casts:
        cast["gone"].write(encode("BLPOP", "k", 0))
        cast.wait_until_blocked(1)
        cast["stays"].write(encode("BLPOP", "k", 0))
        cast.wait_until_blocked(2)
        cast.close("gone")
        cast.wait_until_blocked(1)
        cast["p"].send("RPUSH", "k", "x")
        assert cast["stays"].read().frame.blobs() == [b"k", b"x"]
        cast.wait_until_blocked(0)


def test_many_clients_are_served_in_order(casts: list[Cast]) -> None:
    names = [f"client {number}" for number in range(30)]
    for cast in casts:
        for number, name in enumerate(names, 1):
            cast[name].write(encode("BLPOP", "k", 0))
            cast.wait_until_blocked(number)
        cast["p"].send("RPUSH", "k", *range(30))
        served = [cast[name].read().frame.blobs()[1] for name in names]
        assert served == [b"%d" % number for number in range(30)]
