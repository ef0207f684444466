"""The first moments of a server: it has its place among others before it serves anybody."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import StrataServer, free_port
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.replication.fleet import contents, follow, wait_in_step


class Impatient:
    """Connects again and again, and writes as soon as somebody listens."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stopped = threading.Event()
        self.replies: list[bytes] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(OSError), WireClient(self._port) as client:
                while not self._stopped.is_set():
                    self.replies.append(client.send("INCR", "n").raw)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


@contextlib.contextmanager
def writing_at(port: int) -> Iterator[Impatient]:
    writer = Impatient(port)
    yield writer
    wait_until(lambda: writer.replies)
    writer.stop()


@pytest.mark.slow
@pytest.mark.effort
@pytest.mark.parametrize("end", ["kill -9", "SIGTERM"])
def test_a_master_that_comes_back_tells_its_replica_of_its_first_write(
    tmp_path: Path, end: str
) -> None:
    leader = StrataServer(tmp_path / "master", flags=("--port", str(free_port()))).start()
    follower = StrataServer(tmp_path / "replica").start()
    follow(follower, leader)
    for _ in range(rounds(10, least=3)):
        if end == "SIGTERM":
            leader.terminate()
        else:
            leader.kill9()
        with writing_at(leader.port):
            leader.start()
        wait_in_step(leader, follower)
        with leader.client() as one, follower.client() as other:
            assert contents(other) == contents(one)
    follower.stop()
    leader.stop()


@pytest.mark.slow
@pytest.mark.effort
def test_a_replica_that_comes_back_never_takes_a_write_of_its_clients(tmp_path: Path) -> None:
    flags = ("--port", str(free_port()), "--replicaof", f"127.0.0.1 {free_port()}")
    follower = StrataServer(tmp_path / "replica", flags=flags).start()
    for _ in range(rounds(10, least=3)):
        follower.kill9()
        with writing_at(follower.port) as writer:
            follower.start()
        assert {reply.split()[0] for reply in writer.replies} == {b"-READONLY"}
    follower.stop()
