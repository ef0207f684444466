"""Replicas whose user may do little else; users themselves are replicated nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.waiting import wait_until

KINDS: dict[str, type[RedisServer] | type[StrataServer]] = {
    "redis": RedisServer,
    "strata": StrataServer,
}


@pytest.fixture(params=["strata-strata", "strata-redis", "redis-strata"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    """A master, and a replica that logs in as a user with the rights for that alone."""
    above, below = str(request.param).split("-")
    master = KINDS[above](tmp_path / "master").start()
    with master.client() as wire:
        rules = ("on", ">secret", "-@all", "+psync", "+replconf", "+ping")
        assert wire.send("ACL", "SETUSER", "replica", *rules).raw == b"+OK\r\n"
    flags = ("--masteruser", "replica", "--masterauth", "secret")
    replica = KINDS[below](
        tmp_path / "replica", flags=(*flags, "--replicaof", f"127.0.0.1 {master.port}")
    ).start()
    yield master, replica
    replica.stop()
    master.stop()


def test_a_replica_follows_as_a_user_of_its_own(servers: tuple[Process, Process]) -> None:
    master, replica = servers
    with master.client() as above, replica.client() as below:
        above.send("SET", "k", "v")
        wait_until(lambda: below.send("GET", "k").raw == b"$1\r\nv\r\n")
        assert b" user=replica " in above.send("CLIENT", "LIST", "TYPE", "replica").raw
        assert b" user=(superuser) " in below.send("CLIENT", "LIST", "TYPE", "master").raw
        above.send("ACL", "SETUSER", "alice", "on")
        above.send("SET", "k", "w")
        wait_until(lambda: below.send("GET", "k").raw == b"$1\r\nw\r\n")
        assert below.send("ACL", "USERS").frame.blobs() == [b"default"]


def test_what_the_master_sends_is_obeyed_whatever_users_may_do(
    servers: tuple[Process, Process],
) -> None:
    master, replica = servers
    with master.client() as above, replica.client() as below:
        above.send("SET", "k", "v")
        wait_until(lambda: below.send("GET", "k").raw == b"$1\r\nv\r\n")
        below.send("ACL", "SETUSER", "default", "-@write", "-@scripting")
        above.send("MULTI")
        above.send("SET", "k", "w")
        above.send("RPUSH", "l", "1")
        above.send("EXEC")
        wait_until(lambda: below.send("LLEN", "l").raw == b":1\r\n")
        assert below.send("SET", "k", "x").raw.startswith(b"-NOPERM")
