"""kill -9 of a master or a replica, again and again, while a ledger is written.

INCR and RPUSH tell whether a command of the stream was applied twice, or not at all.
"""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import StrataServer, free_port
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.replication.fleet import contents, follow, info, wait_in_step

LARGE_BACKLOG = ("--repl-backlog-size", "64mb")
SCRIPT = "redis.call('INCR', KEYS[1]); return redis.call('RPUSH', KEYS[2], ARGV[1])"


class Writer:
    """Writes until it is stopped, and knows what was acknowledged."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stopped = threading.Event()
        self.acknowledged = 0
        self._sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with WireClient(self._port) as client:
                    while not self._stopped.is_set():
                        self._write(client)
            except OSError:
                time.sleep(0.02)

    def _write(self, client: WireClient) -> None:
        number = self._sent
        self._sent += 1
        replies = client.pipeline(
            [
                ("INCR", "n"),
                ("EVAL", SCRIPT, "2", "s", "list", number),
                ("MULTI",),
                ("INCR", "m"),
                ("SADD", "set", number, number + 1),
                ("SPOP", "set"),
                ("EXEC",),
                ("SET", "last", number, "PX", 50),
            ]
        )
        assert not any(reply.frame.is_error for reply in replies), replies
        self.acknowledged += 1


@pytest.mark.slow
@pytest.mark.effort
def test_a_killed_replica_goes_on_where_it_was(tmp_path: Path) -> None:
    dice = random.Random(1)
    leader = StrataServer(tmp_path / "master", flags=LARGE_BACKLOG).start()
    place = ("--replicaof", f"127.0.0.1 {leader.port}")
    follower = StrataServer(tmp_path / "replica", flags=place).start()
    wait_in_step(leader, follower)
    writer = Writer(leader.port)
    for _ in range(rounds(20, least=3)):
        time.sleep(dice.uniform(0.05, 0.5))
        follower.kill9()
        follower.start()
        with follower.client() as client:
            wait_until(lambda: info(client)["master_link_status"] == "up", follower.output)
    writer.stop()
    wait_in_step(leader, follower)
    with leader.client() as one, follower.client() as other:
        wait_until(lambda: contents(other) == contents(one), "the two differ")  # keys may expire
        stats = info(one, "stats")
        assert stats["sync_full"] == "1", "a replica that was killed has begun anew"
        assert int(stats["sync_partial_ok"]) >= rounds(20, least=3)
    assert writer.acknowledged
    follower.stop()
    leader.stop()


@pytest.mark.slow
@pytest.mark.effort
def test_a_killed_master_comes_back_with_all_and_its_replica_agrees(tmp_path: Path) -> None:
    dice = random.Random(2)
    flags = ("--port", str(free_port()), *LARGE_BACKLOG)
    leader = StrataServer(tmp_path / "master", flags=flags).start()
    follower = StrataServer(tmp_path / "replica").start()
    follow(follower, leader)
    writer = Writer(leader.port)
    for _ in range(rounds(20, least=3)):
        time.sleep(dice.uniform(0.05, 0.5))
        before = writer.acknowledged
        leader.kill9()
        leader.start()
        with leader.client() as client:
            assert _count(client) >= before
    writer.stop()
    wait_in_step(leader, follower)
    with leader.client() as one, follower.client() as other:
        wait_until(lambda: contents(other) == contents(one))
    follower.stop()
    leader.stop()


def _count(client: WireClient) -> int:
    return int(client.send("GET", "n").frame.data or b"0")
