"""Protected mode: without a password, only clients of this machine are served, as Redis does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.waiting import HANG_S
from tests.harness.wire import WireClient, encode

PLACES = ("--bind", "0.0.0.0")
OTHER_LOOPBACK = "127.0.0.2"
"""Not the machine's usual loopback address: Redis takes such a client for a unauthenticated too."""


def own_address() -> str:
    """The address of this machine on an interface of its own; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


@pytest.fixture(params=["redis", "strata"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    """Both, on all interfaces and without a password."""
    path = tmp_path / "data"
    if request.param == "redis":
        started: Process = RedisServer(path, flags=PLACES).start()
    else:
        started = StrataServer(path, flags=PLACES).start()
    yield started
    started.stop()


def said(server: Process, target: str, source: str = "") -> bytes:
    """What a client hears that sends PING, up to the end of the connection or the first line."""
    origin = (source, 0) if source else None
    with socket.create_connection((target, server.port), HANG_S, origin) as client:
        try:
            client.sendall(encode("PING"))
            heard = b""
            while not heard.endswith(b"\r\n") and (part := client.recv(4096)):
                heard += part
        except ConnectionResetError:
            return heard
    return heard


def is_denied(heard: bytes) -> bool:
    return heard.startswith(b"-DENIED Redis is running in protected mode")


def test_a_stranger_is_refused_and_cut(server: Process) -> None:
    assert said(server, "127.0.0.1") == b"+PONG\r\n"
    with socket.create_connection(
        (OTHER_LOOPBACK, server.port), HANG_S, (OTHER_LOOPBACK, 0)
    ) as client:
        heard = b""
        while part := client.recv(4096):
            heard += part
    assert is_denied(heard)
    with server.client() as client:
        assert b"rejected_connections:1\r\n" in client.send("INFO", "stats").raw


@pytest.mark.skipif(not own_address(), reason="the machine has no interface but the loopback")
def test_a_client_of_the_network_is_refused(server: Process) -> None:
    assert is_denied(said(server, own_address()))


def test_the_mode_is_switched_while_running(server: Process) -> None:
    with server.client() as client:
        assert client.send("CONFIG", "GET", "protected-mode").frame.blobs()[1] == b"yes"
        assert client.send("CONFIG", "SET", "protected-mode", "no").raw == b"+OK\r\n"
        assert said(server, OTHER_LOOPBACK, OTHER_LOOPBACK) == b"+PONG\r\n"
        assert client.send("CONFIG", "SET", "protected-mode", "yes").raw == b"+OK\r\n"
        assert is_denied(said(server, OTHER_LOOPBACK, OTHER_LOOPBACK))
        assert client.send("CONFIG", "SET", "requirepass", "sesame").raw == b"+OK\r\n"
        assert said(server, OTHER_LOOPBACK, OTHER_LOOPBACK).startswith(b"-NOAUTH")


def test_the_words_are_redis_s(tmp_path: Path) -> None:
    servers = (
        RedisServer(tmp_path / "redis", flags=PLACES).start(),
        StrataServer(tmp_path / "strata", flags=PLACES).start(),
    )
    heard = [said(server, OTHER_LOOPBACK, OTHER_LOOPBACK) for server in servers]
    for server in servers:
        server.stop()
    assert heard[0] == heard[1] != b""


def test_a_unix_socket_is_local(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    server = StrataServer(tmp_path / "data", flags=[*PLACES, "--unixsocket", str(path)]).start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"PING\r\n")
        assert client.recv(100) == b"+PONG\r\n"
    server.stop()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (PLACES, "clients of other machines that connect to 0.0.0.0:"),
        ((*PLACES, "--protected-mode", "no"), "protected-mode is no: whoever reaches 0.0.0.0:"),
        ((*PLACES, "--requirepass", "sesame"), ""),
        ((), ""),
    ],
)
def test_the_start_warns(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    server = StrataServer(tmp_path / "data", flags=flags).start()
    server.stop()
    assert (said in server.output()) if said else ("WARNING" not in server.output())


def test_a_client_that_was_let_in_stays(server: Process) -> None:
    with server.client() as client:
        client.send("CONFIG", "SET", "protected-mode", "no")
        with WireClient(server.port, host=OTHER_LOOPBACK) as other:
            client.send("CONFIG", "SET", "protected-mode", "yes")
            assert other.send("PING").raw == b"+PONG\r\n"
