"""Long commands that write while their server changes its place among others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode
from tests.replication.fleet import contents, follow, info, wait_in_step

Two = tuple[StrataServer, StrataServer]
MEMBERS = 300_000
AT_ONCE = 5000
PATIENT = ("--busy-reply-threshold", "0")
SCRIPT = """
redis.call('SET', 'k', 'late')
for i = 1, 300000000 do end
return redis.sha1hex('')
"""
LONG: dict[str, tuple[Arg, ...]] = {
    "a script": ("EVAL", SCRIPT, 1, "k"),
    "a script that names no keys": ("EVAL", SCRIPT, 0),
    "a command": ("SUNIONSTORE", "k", "big", "none"),
}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Two]:
    """A master with a large set, and its replica."""
    leader = StrataServer(tmp_path / "master", flags=PATIENT).start()
    follower = StrataServer(tmp_path / "replica").start()
    with leader.client() as client:
        fill(client)
    follow(follower, leader)
    yield leader, follower
    follower.stop()
    leader.stop()


def fill(client: WireClient) -> None:
    for first in range(0, MEMBERS, AT_ONCE):
        client.send("SADD", "big", *range(first, first + AT_ONCE))
    client.send("SET", "k", "early")


def begin(server: StrataServer, client: WireClient, call: tuple[Arg, ...]) -> None:
    """Start a long command; returns when it works in slices."""
    with server.client() as observer:
        before = info(observer, "stats")["long_commands"]
        client.write(encode(*call))
        wait_until(lambda: info(observer, "stats")["long_commands"] != before)


@pytest.mark.slow
@pytest.mark.parametrize("call", LONG.values(), ids=LONG)
def test_a_failover_takes_what_is_being_written_along(pair: Two, call: tuple[Arg, ...]) -> None:
    leader, follower = pair
    with leader.client() as one, leader.client() as busy, follower.client() as other:
        begin(leader, busy, call)
        assert one.send("FAILOVER").raw == b"+OK\r\n"
        assert not busy.read().frame.is_error
        wait_until(lambda: info(one)["role"] == "slave" and info(other)["role"] == "master")
        wait_in_step(follower, leader)
        assert info(other, "stats")["sync_full"] == "0"
        assert contents(other) == contents(one)
        assert other.send("GET", "k").raw != b"$5\r\nearly\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("call", LONG.values(), ids=LONG)
def test_who_begins_to_follow_leaves_what_is_being_written_behind(
    pair: Two, call: tuple[Arg, ...]
) -> None:
    leader, follower = pair
    with leader.client() as one, leader.client() as busy, follower.client() as other:
        begin(leader, busy, call)
        other.send("REPLICAOF", "NO", "ONE")
        one.send("REPLICAOF", "127.0.0.1", follower.port)
        busy.read()
        wait_in_step(follower, leader)
        assert contents(other) == contents(one)
        assert other.send("GET", "k").raw == b"$5\r\nearly\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("call", LONG.values(), ids=LONG)
def test_the_first_replica_that_comes_meanwhile_has_what_is_being_written(
    tmp_path: Path, call: tuple[Arg, ...]
) -> None:
    leader = StrataServer(tmp_path / "master", flags=PATIENT).start()
    follower = StrataServer(tmp_path / "replica").start()
    with leader.client() as one, leader.client() as busy, follower.client() as other:
        one.send("SET", "k", "early")
        if call is LONG["a command"]:
            fill(one)
        begin(leader, busy, call)
        other.send("REPLICAOF", "127.0.0.1", leader.port)
        wait_until(lambda: info(other)["master_link_status"] == "up")
        assert other.send("GET", "k").raw == b"$5\r\nearly\r\n", "it was not long enough"
        assert not busy.read().frame.is_error
        wait_in_step(leader, follower)
        assert contents(other) == contents(one)
    follower.stop()
    leader.stop()
