"""When keys were last used, and CLIENT NO-TOUCH: at replicas, and with the Redis tier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.test_idle_times import is_old, make_old
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.tier.servers import PATIENT, start_strata

KINDS = {"redis": RedisServer, "strata": StrataServer}
Two = tuple[WireClient, WireClient]


@pytest.fixture(params=["strata-strata", "redis-strata", "strata-redis"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Two]:
    """Clients of a master and of its replica."""
    kinds = request.param.split("-")
    servers = [
        KINDS[kind](tmp_path / f"{number}-{kind}").start() for number, kind in enumerate(kinds)
    ]
    master, replica = servers
    with master.client() as first, replica.client() as second:
        first.send("SET", "before", "v")
        second.send("REPLICAOF", "127.0.0.1", master.port)
        wait_until(
            lambda: b"master_link_status:up" in second.send("INFO", "replication").raw,
            "no link came up",
        )
        yield first, second
    for server in servers:
        server.stop()


def follow(two: Two) -> None:
    """Until the replica has what the master has."""
    assert two[0].send("WAIT", 1, 0).frame.number == 1


def test_an_idle_time_that_is_restored_is_the_replica_s_too(two: Two) -> None:
    make_old(two[0])
    follow(two)
    assert is_old(two[0])
    assert is_old(two[1])


def test_what_the_master_does_is_a_use_at_the_replica(two: Two) -> None:
    make_old(two[0])
    follow(two)
    two[0].send("GET", "k")  # a read is told to nobody
    assert not is_old(two[0])
    assert is_old(two[1])
    two[0].send("APPEND", "k", "more")
    follow(two)
    assert not is_old(two[1])


def test_reads_at_the_replica_are_uses_there_alone(two: Two) -> None:
    make_old(two[0])
    follow(two)
    two[1].send("GET", "k")
    assert not is_old(two[1])
    assert is_old(two[0])


def test_a_client_that_touches_nothing_does_so_at_a_replica(tmp_path: Path) -> None:
    master = StrataServer(tmp_path / "master").start()
    replica = StrataServer(tmp_path / "replica").start()
    with master.client() as first, replica.client() as second, replica.client() as quiet:
        second.send("REPLICAOF", "127.0.0.1", master.port)
        wait_until(
            lambda: b"master_link_status:up" in second.send("INFO", "replication").raw,
            "no link came up",
        )
        make_old(first)
        follow((first, second))
        quiet.send("CLIENT", "NO-TOUCH", "ON")
        quiet.pipeline([("GET", "k")] * 20)
        quiet.pipeline([("MULTI",), ("STRLEN", "k"), ("EXEC",)])
        assert is_old(second)
        first.send("APPEND", "k", "x")  # what the master writes is a use all the same
        follow((first, second))
        quiet.send("GET", "k")
        assert not is_old(second)
    replica.stop()
    master.stop()


@pytest.fixture(scope="module")
def tiered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    directory = tmp_path_factory.mktemp("idle")
    tier = RedisServer(directory / "tier").start()
    flags = ("--hash-encoding", "2", "--set-encoding", "2", "--zset-encoding", "2")
    server = start_strata(directory / "strata", tier, *flags, *PATIENT)
    yield server
    server.stop()
    tier.stop()


COLLECTIONS = {
    "hash": (("HSET", "k", "f", "v"), ("HGET", "k", "f"), ("HGETALL", "k")),
    "set": (("SADD", "k", "m"), ("SISMEMBER", "k", "m"), ("SMEMBERS", "k")),
    "zset": (("ZADD", "k", "1", "m"), ("ZSCORE", "k", "m"), ("ZRANGE", "k", "0", "-1")),
}


def make_old_collection(client: WireClient, write: tuple[str, ...]) -> None:
    client.send("DEL", "k")
    client.send(*write)
    payload = client.send("DUMP", "k").frame.data
    assert payload is not None
    client.send("RESTORE", "k", 0, payload, "REPLACE", "IDLETIME", 3600)


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_reads_through_the_tier_are_uses_unless_the_client_touches_nothing(
    tiered: StrataServer, kind: str
) -> None:
    write, *reads = COLLECTIONS[kind]
    with tiered.client() as client, tiered.client() as quiet:
        quiet.send("CLIENT", "NO-TOUCH", "ON")
        make_old_collection(client, write)
        for read in reads * 2:  # asked of the tier, then again
            quiet.send(*read)
            assert is_old(client), read
        for read in reads:
            make_old_collection(client, write)
            client.send(*read)
            assert not is_old(client), read
