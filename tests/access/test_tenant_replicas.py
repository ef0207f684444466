"""Namespaces and replicas: one of ours has them too, one of Redis hears why it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.access.tenants import OK, bind, client
from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.replication.fleet import follow, info, wait_in_step


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[StrataServer, StrataServer]]:
    master = StrataServer(tmp_path / "master").start()
    replica = StrataServer(tmp_path / "replica").start()
    yield master, replica
    replica.stop()
    master.stop()


def namespaces(wire: WireClient) -> dict[bytes, tuple[str, ...]]:
    """What is the same at a master and at its replicas."""
    found = wire.send("STRATA", "NAMESPACES").frame.elements
    told = [{name.data or b"": value for name, value in one.pairs()} for one in found]
    return {one[b"name"].data or b"": (str(one[b"keys"]), str(one[b"quota"])) for one in told}


def assert_same(master: Process, replica: Process) -> None:
    """Both have the same in the namespaces that `shop` and `other` are bound to."""
    wait_in_step(master, replica)
    with master.client() as above, replica.client() as below:
        wait_until(lambda: namespaces(below) == namespaces(above))
        for name in namespaces(above):
            bind(below, name.decode())
            with client(master, name.decode()) as first, client(replica, name.decode()) as second:
                for database in (0, 3, 15):
                    first.send("SELECT", database)
                    second.send("SELECT", database)
                    keys = sorted(first.send("KEYS", "*").frame.blobs())
                    assert sorted(second.send("KEYS", "*").frame.blobs()) == keys
                    for key in keys:
                        assert second.send("DUMP", key).raw == first.send("DUMP", key).raw
                assert second.send("FUNCTION", "LIST").raw == first.send("FUNCTION", "LIST").raw


def write(wire: WireClient, word: str) -> None:
    """Something of everything that reaches replicas."""
    for database in (0, 3, 15):
        wire.send("SELECT", database)
        wire.send("SET", f"{word}{database}", word)
        wire.send("EVAL", "redis.call('INCR', KEYS[1]); redis.call('INCR', KEYS[1])", 1, "n")
    wire.send("MULTI")
    wire.send("RPUSH", "l", word)
    wire.send("SELECT", 3)
    wire.send("SADD", "s", word)
    wire.send("EXEC")
    wire.send("SWAPDB", 3, 15)
    code = f"#!lua name={word}\nredis.register_function('{word}', function() end)"
    wire.send("FUNCTION", "LOAD", code)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_replica_has_the_namespaces(two: tuple[StrataServer, StrataServer], when: str) -> None:
    master, replica = two
    with master.client() as admin:
        if when == "after":
            follow(replica, master)
        bind(admin, "shop")
        bind(admin, "other")
        admin.send("STRATA", "NAMESPACE", "QUOTA", "other", "KEYS", 1000)
        admin.send("SET", "k", "admin")
        with client(master, "shop") as shop, client(master, "other") as other:
            write(shop, "shop")
            write(other, "other")
            if when == "before":
                follow(replica, master)
            assert_same(master, replica)
            write(shop, "again")
            other.send("FLUSHALL")
            shop.send("SET", "due", "v", "PX", 1)
            wait_until(lambda: shop.send("EXISTS", "due").raw == b":0\r\n")
        assert_same(master, replica)
        with replica.client() as below:
            assert below.send("KEYS", "*").frame.blobs() == [b"k"]
            below.send("ACL", "DELUSER", "shop", "other")
            admin.send("ACL", "DELUSER", "other")
            assert admin.send("STRATA", "NAMESPACE", "DROP", "other").raw == OK
            assert admin.send("STRATA", "NAMESPACE", "RENAME", "shop", "store").raw == OK
            wait_in_step(master, replica)
            assert list(namespaces(below)) == [b"store"]


def test_messages_reach_the_namespace_at_the_replica(
    two: tuple[StrataServer, StrataServer],
) -> None:
    master, replica = two
    with master.client() as admin, replica.client() as below:
        bind(admin, "shop")
        follow(replica, master)
        bind(below, "shop")
        with client(replica, "shop") as listener, client(master, "shop") as shop:
            listener.send("SUBSCRIBE", "c")
            below.send("SUBSCRIBE", "c")
            admin.send("PUBLISH", "c", "admins")
            shop.send("PUBLISH", "c", "mine")
            assert listener.read().frame.blobs() == [b"message", b"c", b"mine"]
            assert below.read().frame.blobs() == [b"message", b"c", b"admins"]


def test_a_replica_goes_on_where_it_was(two: tuple[StrataServer, StrataServer]) -> None:
    master, replica = two
    with master.client() as admin:
        bind(admin, "shop")
        follow(replica, master)
        with client(master, "shop") as shop:
            write(shop, "before")
            wait_in_step(master, replica)
            replica.kill9()
            write(shop, "meanwhile")
            replica.restart()
            with replica.client() as below:
                below.send("REPLICAOF", "127.0.0.1", master.port)
            wait_in_step(master, replica)
        assert_same(master, replica)


def test_who_has_no_namespace_at_the_replica_may_do_nothing(
    two: tuple[StrataServer, StrataServer],
) -> None:
    master, replica = two
    follow(replica, master)
    with replica.client() as below, master.client() as admin:
        bind(below, "shop")
        with client(replica, "shop") as nobody:
            for request in (("GET", "k"), ("PING",), ("PUBLISH", "c", "m"), ("MULTI",)):
                assert nobody.send(*request).raw.startswith(b"-NONAMESPACE"), request
            admin.send("STRATA", "NAMESPACE", "CREATE", "shop")
            wait_until(lambda: nobody.send("PING").raw == b"+PONG\r\n")
            assert nobody.send("SET", "k", "v").raw.startswith(b"-READONLY")


def test_a_redis_cannot_follow_a_server_with_namespaces(tmp_path: Path) -> None:
    master = StrataServer(tmp_path / "master").start()
    redis = RedisServer(tmp_path / "redis").start()
    try:
        with master.client() as admin, redis.client() as below:
            follow(redis, master)
            reply = admin.send("ACL", "SETUSER", "shop", "on", "namespace=shop").raw
            assert reply.startswith(b"-ERR replicas are connected that cannot have namespaces")
            assert admin.send("ACL", "GETUSER", "shop").frame.is_null
            below.send("REPLICAOF", "NO", "ONE")
            wait_until(lambda: info(admin)["connected_slaves"] == "0")
            bind(admin, "shop")
            below.send("REPLICAOF", "127.0.0.1", master.port)
            wait_until(lambda: "namespaces of users" in redis.output())
            assert info(below)["master_link_status"] == "down"
            admin.send("ACL", "DELUSER", "shop")
            assert admin.send("STRATA", "NAMESPACE", "DROP", "shop").raw == OK
            admin.send("SET", "k", "v")
            wait_until(lambda: below.send("GET", "k").raw == b"$1\r\nv\r\n")
    finally:
        redis.stop()
        master.stop()
