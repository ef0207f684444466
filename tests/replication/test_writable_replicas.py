"""A replica that its clients may write to: what they let expire goes, and the master's stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.keyspace import own_times
from stratakv.encodings.keyspace.own_times import OwnTimes
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.replication.fleet import follow, info

Three = tuple[WireClient, WireClient, WireClient]


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Three]:
    """Of a master whose keys do not expire by themselves, of a Redis and of ours that follow it."""
    leader = RedisServer(tmp_path / "master").start()
    replicas = (RedisServer(tmp_path / "redis").start(), StrataServer(tmp_path / "strata").start())
    with leader.client() as one, replicas[0].client() as redis, replicas[1].client() as strata:
        one.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        one.send("SET", "of the master", "v", "PX", 1)
        for replica, client in zip(replicas, (redis, strata), strict=True):
            follow(replica, leader)
            client.send("CONFIG", "SET", "replica-read-only", "no")
        yield one, redis, strata
    for server in (*replicas, leader):
        server.stop()


def test_what_clients_let_expire_is_deleted(clients: Three) -> None:
    _, *both = clients
    for client in both:
        client.send("SET", "short", "v", "PX", 1)
        client.send("SET", "long", "v", "EX", 1000)
        client.send("SET", "again", "v", "PX", 1)
        client.send("SET", "again", "v")
        client.send("RPUSH", "list", "a")
        client.send("PEXPIRE", "list", 1)
        client.send("MULTI")
        client.send("SELECT", 3)
        client.send("SET", "elsewhere", "v", "PX", 1)
        client.send("SELECT", 0)
        client.send("EXEC")
        wait_until(lambda: client.send("DBSIZE").frame.number == 3)  # noqa: B023  # at once
        assert info(client, "keyspace")["db0"].startswith("keys=3,expires=2")
        assert client.send("EXISTS", "of the master", "long", "again").frame.number == 2
        client.send("SELECT", 3)
        wait_until(lambda: client.send("DBSIZE").frame.number == 0)  # noqa: B023  # at once
        assert info(client, "stats")["slave_expires_tracked_keys"] == "1"


def test_what_has_expired_and_is_not_deleted_counts_for_del(clients: Three) -> None:
    _, redis, strata = clients
    for call in (("EXISTS", "of the master"), ("GET", "of the master"), ("DEL", "of the master")):
        assert strata.send(*call).raw == redis.send(*call).raw, call
    assert strata.send("DBSIZE").raw == redis.send("DBSIZE").raw


def test_a_key_that_the_master_has_taken_over_stays(clients: Three) -> None:
    one, _, strata = clients
    strata.send("SET", "k", "mine", "PX", 1000)
    strata.send("SET", "sentinel", "v", "PX", 1000)
    one.send("SET", "k", "the master's", "EX", 1000)
    wait_until(lambda: strata.send("GET", "k").raw == b"$12\r\nthe master's\r\n")
    wait_until(lambda: strata.send("DBSIZE").frame.number == 2)
    assert strata.send("GET", "k").raw == b"$12\r\nthe master's\r\n"


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_times, "MOST_KEYS", 10)
    monkeypatch.setattr(own_times, "MOST_BYTES", 50)
    times = OwnTimes()
    for number in range(20):
        times.note(0, b"%d" % number, number)
    assert len(times) == 10
    for at in range(100_000):
        times.note(0, b"5", at)
    assert len(times._queue) < 2000
    assert [key for _, key, _ in times.take_due(9, 100)] == [b"%d" % n for n in range(10) if n != 5]
    times.note(0, b"x" * 51, 1)
    assert len(times) == 1
    found: list[tuple[int, bytes, int]] = []
    while times.has_due(99_999):
        found += times.take_due(99_999, 100)
    assert found == [(0, b"5", 99_999)]


def test_commands_of_the_master_that_fail_are_counted(clients: Three) -> None:
    one, *both = clients
    for client in both:
        client.send("SET", "number", "none")
    one.send("INCR", "number")
    one.send("MULTI")
    one.send("INCR", "number")
    one.send("INCR", "other")
    one.send("EXEC")
    for client in both:
        wait_until(lambda: client.send("EXISTS", "other").frame.number == 1)  # noqa: B023  # at once
        assert info(client, "stats")["unexpected_error_replies"] == "2"
