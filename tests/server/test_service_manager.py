"""What a service manager is told, on a real socket of its kind."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S, wait_until


@pytest.fixture(params=["a file", "no file"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """The socket of a service manager, and what NOTIFY_SOCKET says of it."""
    name = str(tmp_path / "notify") if request.param == "a file" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name.replace("@", "\0", 1))
        listener.settimeout(HANG_S)
        yield name, listener


def test_the_manager_is_told_of_every_change(
    manager: tuple[str, socket.socket], tmp_path: Path
) -> None:
    name, listener = manager
    server = StrataServer(tmp_path / "data", env={"NOTIFY_SOCKET": name}).start()
    assert listener.recv(1024) == b"READY=1"
    with server.client() as client:
        assert client.send("PING").raw == b"+PONG\r\n"
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)
    state, since = listener.recv(1024).split(b"\n")
    assert state == b"RELOADING=1"
    assert since.startswith(b"MONOTONIC_USEC=")
    assert listener.recv(1024) == b"READY=1"
    assert server.terminate() == 0
    assert listener.recv(1024) == b"STOPPING=1"
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.recv(1024)


def test_a_manager_that_is_away_stops_nothing(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", env={"NOTIFY_SOCKET": str(tmp_path / "none")}).start()
    wait_until(lambda: "the service manager was not told READY=1" in server.output())
    assert server.terminate() == 0
