"""Commands that change what a connection is: QUIT, RESET, HELLO, CLIENT REPLY, MONITOR."""

from __future__ import annotations

import pytest

from tests.harness.servers import Process
from tests.harness.wire import WireClient, encode


@pytest.mark.parametrize(
    "calls",
    [
        [("CLIENT", "REPLY", "OFF"), ("PING",), ("CLIENT", "REPLY", "ON"), ("PING",)],
        [("CLIENT", "REPLY", "SKIP"), ("PING",), ("ECHO", "x")],
        [("CLIENT", "REPLY", "SKIP"), ("CLIENT", "REPLY", "ON"), ("ECHO", "x")],
        [
            ("CLIENT", "REPLY", "OFF"),
            ("nosuch",),
            ("CLIENT", "REPLY", "SKIP"),
            ("CLIENT", "REPLY", "ON"),
        ],
        [("SELECT", "1"), ("SET", "k", "v"), ("RESET",), ("GET", "k"), ("PING",)],
        [("CLIENT", "SETNAME", "x"), ("RESET",), ("CLIENT", "GETNAME")],
        [("HSET", "h", "f", "v"), ("HGETALL", "h"), ("RESET",), ("HGETALL", "h")],
        [("PING",), ("QUIT",), ("PING",)],
        [("QUIT", "now", "please")],
    ],
    ids=repr,
)
def test_bytes_until_the_end(
    calls: list[tuple[str, ...]], redis_wire: WireClient, strata_wire: WireClient
) -> None:
    data = b"".join(encode(*call) for call in [*calls, ("QUIT",)])
    said = []
    for wire in (redis_wire, strata_wire):
        wire.write(data)
        said.append(wire.read_to_end())
    assert said[1] == said[0]


def test_monitor_shows_the_commands_of_others(
    strata_server: Process, redis_server: Process
) -> None:
    lines = [_monitored(server) for server in (redis_server, strata_server)]
    assert lines[1] == lines[0]


def _monitored(server: Process) -> list[bytes]:
    with server.client() as watcher, server.client() as actor:
        assert watcher.send("MONITOR").raw == b"+OK\r\n"
        actor.pipeline([("SET", "k", b'a"\x00\n'), ("SELECT", "1"), ("GET", "k")])
        shown = [watcher.read().frame.data or b"" for _ in range(3)]
        return [_without_time_and_port(line) for line in shown]


def _without_time_and_port(line: bytes) -> bytes:
    _, rest = line.split(b" [", 1)
    place, command = rest.split(b"]", 1)
    return place.split(b":")[0] + command
