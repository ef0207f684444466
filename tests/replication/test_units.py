"""Units that change whole databases: one MULTI in the stream, and once on each replica."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import encode
from tests.replication.fleet import contents, follow, info, wait_in_step

Two = tuple[StrataServer, StrataServer]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    """A master and a replica."""
    servers = (StrataServer(tmp_path / "one").start(), StrataServer(tmp_path / "two").start())
    follow(servers[1], servers[0])
    yield servers
    for server in servers:
        server.stop()


def _stream(server: StrataServer, calls: list[tuple[str, ...]]) -> bytes:
    """What a replica is sent of some calls."""
    with server.client() as replica, server.client() as client:
        client.send("SET", "before", "v")
        told = info(client)
        place = ("PSYNC", told["master_replid"], int(told["master_repl_offset"]) + 1)
        replica.send(*place)
        for call in calls:
            client.send(*call)
        client.send("SET", "the", "end")
        seen = b""
        while b"$3\r\nend\r\n" not in seen:
            seen += replica.socket.recv(1 << 16)
    return seen


UNITS = [
    [("MULTI",), ("SET", "a", "1"), ("FLUSHALL",), ("SET", "b", "2"), ("EXEC",)],
    [("MULTI",), ("INCR", "n"), ("SWAPDB", "0", "1"), ("INCR", "n"), ("FLUSHDB",), ("EXEC",)],
    [("EVAL", "redis.call('SET', 'a', 1) redis.call('FLUSHDB') redis.call('SET', 'b', 2)", "0")],
    [("MULTI",), ("FLUSHALL",), ("EXEC",)],
]


@pytest.mark.parametrize("calls", UNITS)
def test_a_unit_with_whole_databases_is_told_as_one(two: Two, calls: list[tuple[str, ...]]) -> None:
    seen = _stream(two[0], calls)
    several = sum(call[0] not in ("MULTI", "EXEC") for call in calls) > 1 or calls[0][0] == "EVAL"
    assert seen.count(b"MULTI") == seen.count(b"EXEC") == int(several)
    wait_in_step(*two)
    with two[0].client() as one, two[1].client() as other:
        assert contents(other) == contents(one)


def _unit(number: int) -> bytes:
    """Counts what it does in a database that it does not empty, and twice around a flush."""
    return b"".join(
        (
            encode("MULTI"),
            encode("SELECT", 1),
            encode("RPUSH", "log", f"{number} first"),
            encode("SELECT", 0),
            encode("SET", "k", number),
            encode("FLUSHDB"),
            encode("SET", "k2", number),
            encode("SELECT", 1),
            encode("RPUSH", "log", f"{number} second"),
            encode("SWAPDB", 2, 3),
            encode("RPUSH", "log", f"{number} third"),
            encode("EXEC"),
        )
    )


@pytest.mark.slow
@pytest.mark.effort
@pytest.mark.parametrize("kind", [StrataServer, RedisServer])
def test_a_replica_that_is_killed_has_each_unit_once(
    tmp_path: Path, kind: type[StrataServer] | type[RedisServer]
) -> None:
    chance = random.Random(2)
    leader = kind(tmp_path / "master").start()
    follower = StrataServer(tmp_path / "replica").start()
    follow(follower, leader)
    with leader.client() as one:
        for number in range(rounds(20)):
            one.write(b"".join(_unit(number * 100 + step) for step in range(50)))
            time.sleep(chance.uniform(0.0, 0.3))
            follower.kill9()
            for _ in range(50 * 12):
                one.read()
            follower.restart()
            with follower.client() as other:
                other.send("REPLICAOF", "127.0.0.1", leader.port)
            wait_in_step(leader, follower)
            with follower.client() as other:
                assert contents(other) == contents(one)
    follower.stop()
    leader.stop()


@pytest.mark.slow
@pytest.mark.effort
def test_a_master_that_is_killed_in_the_middle_of_a_unit_agrees_with_its_replica(two: Two) -> None:
    chance = random.Random(3)
    leader, follower = two
    for number in range(rounds(20)):
        with leader.client() as one:
            one.write(b"".join(_unit(number * 100 + step) for step in range(50)))
            time.sleep(chance.uniform(0.0, 0.3))
        leader.kill9()
        leader.restart()
        with follower.client() as other:
            other.send("REPLICAOF", "NO", "ONE")
        follow(follower, leader)
        with leader.client() as one, follower.client() as other:
            assert contents(other) == contents(one)


def test_a_full_sync_that_begins_in_the_middle_of_a_unit_has_all_of_it(
    two: Two, tmp_path: Path
) -> None:
    leader, follower = two
    third = StrataServer(tmp_path / "three").start()
    script = """
        redis.call('RPUSH', 'log', 'a') redis.call('SELECT', 5) redis.call('FLUSHDB')
        for i = 1, 30000 do redis.call('RPUSH', 'log', i) end
        redis.call('SWAPDB', 6, 7) redis.call('RPUSH', 'log', 'z') return 1
    """
    with leader.client() as one, leader.client() as watcher, third.client() as other:
        one.write(encode("EVAL", script, 0))
        other.send("REPLICAOF", "127.0.0.1", leader.port)
        assert one.read().raw == b":1\r\n"
        wait_in_step(leader, third, follower)
        assert contents(other) == contents(watcher)
    third.stop()


def test_replicas_of_a_replica_stay_while_its_history_does(two: Two, tmp_path: Path) -> None:
    """REPLICAOF to another server of the same history: nobody below hears of it."""
    leader, middle = two
    second = StrataServer(tmp_path / "second").start()
    last = StrataServer(tmp_path / "last").start()
    follow(second, leader)
    follow(last, middle)
    with middle.client() as client, last.client() as below, leader.client() as one:
        before = client.send("CLIENT", "LIST", "TYPE", "replica").raw.split()[1]
        follow(middle, second)
        one.send("SET", "k", "through")
        wait_in_step(leader, second, middle, last)
        assert client.send("CLIENT", "LIST", "TYPE", "replica").raw.split()[1] == before
        assert below.send("GET", "k").raw == b"$7\r\nthrough\r\n"
        syncs = info(client, "stats")["sync_full"]
        client.send("REPLICAOF", "NO", "ONE")
        wait_in_step(middle, last)
        assert info(client, "stats")["sync_full"] == syncs
    for server in (last, second):
        server.stop()


def test_a_master_that_waits_for_a_lock_is_no_dead_client(two: Two) -> None:
    """Clients that wait are looked at once a second; this one has no socket."""
    leader, follower = two
    with leader.client() as one, follower.client() as other:
        other.send("CONFIG", "SET", "replica-read-only", "no")
        other.send("SET", "n", 0)
        script = "local t = redis.call('TIME')[1] while redis.call('TIME')[1] - t < 3 do end"
        other.write(encode("EVAL", f"redis.call('INCR', 'n') {script}", 1, "n"))
        one.send("SET", "n", 5)
        assert not other.read().frame.is_error
        wait_in_step(leader, follower)
        assert other.send("GET", "n").raw == b"$1\r\n5\r\n"
    assert "Traceback" not in follower.output()
