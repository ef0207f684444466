"""A replica that comes while its master is written to: everything once, and nothing missed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import encode
from tests.replication.fleet import contents, follow, wait_in_step

ROUNDS = 6
PIPELINE = 200

Pair = tuple[StrataServer, StrataServer]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    both = (StrataServer(tmp_path / "one").start(), StrataServer(tmp_path / "two").start())
    yield both
    for server in both:
        server.stop()


@contextmanager
def written_to(server: StrataServer, clients: int = 4) -> Iterator[None]:
    """While the block runs, some clients count and push, in pipelines."""
    over = threading.Event()
    request = (encode("INCR", "counter") + encode("RPUSH", "list", "x")) * PIPELINE

    def work() -> None:
        with server.client() as client:
            while not over.is_set():
                client.write(request)
                for _ in range(2 * PIPELINE):
                    client.read()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_full_sync_under_load_takes_everything_once(pair: Pair) -> None:
    """What was queued before the snapshot was once sent behind it, a second time."""
    master, replica = pair
    follow(replica, master)
    with master.client() as leader, replica.client() as follower:
        for _ in range(ROUNDS):
            follower.send("REPLICAOF", "NO", "ONE")
            leader.send("DEL", "list")
            leader.send("DEBUG", "CHANGE-REPL-ID")
            with written_to(master):
                follower.send("REPLICAOF", "127.0.0.1", master.port)
            wait_in_step(master, replica)
            assert contents(follower) == contents(leader)


def test_a_replica_may_be_behind_by_the_whole_backlog(pair: Pair) -> None:
    """A lower limit of its output would cut it each time it comes back for more than that."""
    master, replica = pair
    with master.client() as leader, replica.client() as follower:
        leader.send("CONFIG", "SET", "client-output-buffer-limit", "replica 100kb 0 0")
        leader.send("CONFIG", "SET", "repl-backlog-size", "100mb")
        follow(replica, master)
        leader.send("SET", "large", b"x" * 8_000_000)
        assert leader.send("WAIT", 1, 0).raw == b":1\r\n"
        assert follower.send("STRLEN", "large").frame.number == 8_000_000


def test_blocked_clients_are_turned_away_when_the_server_follows(
    pair: Pair, tmp_path: Path
) -> None:
    redis = RedisServer(tmp_path / "redis").start()
    try:
        heard = []
        for server in (redis, pair[0]):
            with server.client() as blocked, server.client() as other:
                blocked.write(encode("BLPOP", "list", 0))
                server.wait_until_blocked()
                other.send("REPLICAOF", "127.0.0.1", 1)
                heard.append(blocked.read().raw)
                with pytest.raises(ConnectionError):
                    blocked.read()
        assert heard[0] == heard[1]
        assert b"-UNBLOCKED force unblock" in heard[1]
    finally:
        redis.stop()
