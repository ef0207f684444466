"""Masters that cannot be followed are named, and what there was is served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.replication.chaos import Script, cutting_proxy, hold, leave, listening, master
from tests.replication.fleet import contents, follow, info, wait_in_step

ID = b"a" * 40
FULL = b"+FULLRESYNC " + ID + b" 1\r\n"
EMPTY_DUMP = bytes.fromhex("524544495330303130ff") + (0x8C9DAE4A4A3F9C1D).to_bytes(8, "little")
NONSENSE: dict[str, tuple[Script, str]] = {
    "silent end": (leave, "closed the connection"),
    "no redis": (master(b"", ping=b"-ERR I am a teapot\r\n"), "teapot"),
    "no lines": (lambda link: link.sendall(b"x" * 200_000), "sends no lines"),
    "needs a password": (master(b"", replconf=b"-NOAUTH Authentication required.\r\n"), "NOAUTH"),
    "refuses": (master(b"-NOMASTERLINK Can't SYNC\r\n"), "NOMASTERLINK"),
    "speaks HTTP": (master(b"HTTP/1.1 400 Bad Request\r\n"), "HTTP"),
    "no id": (master(b"+FULLRESYNC\r\n"), "FULLRESYNC"),
    "no length": (master(FULL + b"$many\r\n"), "$many"),
    "no dump": (master(FULL + b"$5\r\nhello"), "full sync failed"),
    "cut dump": (master(FULL + b"$5000\r\nREDIS0010"), "in the middle of its dump"),
    "wrong CRC": (master(FULL + b"$%d\r\n" % len(EMPTY_DUMP) + EMPTY_DUMP), "CRC"),
    "unknown opcode": (master(FULL + b"$10\r\nREDIS0010\xf0"), "full sync failed"),
    "later version": (master(FULL + b"$10\r\nREDIS9999\xff"), "full sync failed"),
}


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path_factory.mktemp("nonsense") / "replica").start()
    with server.client() as client:
        client.send("SET", "old", "data")
    yield server
    server.stop()


STALLS: dict[str, tuple[Script, str]] = {
    "from the start": (hold, "silent"),
    "before its dump": (master(FULL, stays=True), "silent"),
    "in its dump": (master(FULL + b"$5000\r\nREDIS0010", stays=True), "in the middle of its dump"),
    "before its mark": (
        master(FULL + b"$EOF:" + b"m" * 40 + b"\r\nREDIS0010\xff" + bytes(8), stays=True),
        "in the middle of its dump",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", STALLS)
def test_a_master_that_stalls_is_named_and_changes_nothing(
    where: str, replica: StrataServer
) -> None:
    script, expected = STALLS[where]
    with listening(script) as port, replica.client() as client:
        client.send("CONFIG", "SET", "repl-timeout", 1)
        client.send("REPLICAOF", "127.0.0.1", port)
        wait_until(
            lambda: expected in info(client).get("master_link_error", ""), lambda: info(client)
        )
        assert client.send("GET", "old").raw == b"$4\r\ndata\r\n"
        client.send("REPLICAOF", "NO", "ONE")
        client.send("CONFIG", "SET", "repl-timeout", 60)


@pytest.mark.slow
def test_the_log_tells_how_far_a_full_sync_is(replica: StrataServer) -> None:
    script = master(FULL + b"$5000\r\nREDIS0010\x00\x01k\x01v", stays=True)
    with listening(script) as port, replica.client() as client:
        client.send("REPLICAOF", "127.0.0.1", port)
        wait_until(lambda: "full sync: 1 keys, 14 bytes of 5000 (0 %)" in replica.output())
        client.send("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("name", NONSENSE)
def test_a_master_that_speaks_nonsense_is_named_and_changes_nothing(
    name: str, replica: StrataServer
) -> None:
    script, expected = NONSENSE[name]
    with listening(script) as port, replica.client() as client:
        client.send("REPLICAOF", "127.0.0.1", port)
        wait_until(
            lambda: expected in info(client).get("master_link_error", ""), lambda: info(client)
        )
        told = info(client)
        assert told["master_link_status"] == "down"
        assert client.send("GET", "old").raw == b"$4\r\ndata\r\n"
        client.send("REPLICAOF", "NO", "ONE")
        assert info(client)["role"] == "master"
        assert client.send("SET", "old", "data").raw == b"+OK\r\n"


def test_a_wrong_password_is_named(replica: StrataServer, tmp_path: Path) -> None:
    leader = RedisServer(tmp_path / "master").start()
    with leader.client() as owner:
        owner.send("CONFIG", "SET", "requirepass", "secret")
    with replica.client() as client:
        client.send("REPLICAOF", "127.0.0.1", leader.port)
        wait_until(lambda: "NOAUTH" in info(client).get("master_link_error", ""))
        client.send("CONFIG", "SET", "masterauth", "wrong")
        wait_until(lambda: "Unable to AUTH to MASTER" in info(client).get("master_link_error", ""))
        client.send("CONFIG", "SET", "masterauth", "secret")
        wait_until(lambda: info(client)["master_link_status"] == "up")
        client.send("REPLICAOF", "NO", "ONE")
        client.send("CONFIG", "SET", "masterauth", "")
        client.send("SET", "old", "data")
    leader.stop()


@pytest.mark.slow
@pytest.mark.effort
def test_a_link_that_is_cut_again_and_again_loses_nothing(tmp_path: Path) -> None:
    leader = StrataServer(tmp_path / "master").start()
    follower = StrataServer(tmp_path / "replica").start()
    serve, has_cut = cutting_proxy(leader.port, seed=1, cuts=rounds(50, least=4))
    with listening(serve) as port, follower.client() as client, leader.client() as writer:
        client.send("REPLICAOF", "127.0.0.1", port)
        number = 0
        while not has_cut():
            number += 1
            writer.pipeline(
                [("INCR", "n"), ("APPEND", "text", "x" * (number % 50)), ("RPUSH", "l", number)]
            )
        wait_in_step(leader, follower)
        wait_until(lambda: contents(client) == contents(writer), "the two differ")
    follower.stop()
    leader.stop()


@pytest.mark.slow
def test_a_cycle_is_harmless(tmp_path: Path) -> None:
    one, two = (StrataServer(tmp_path / name).start() for name in ("one", "two"))
    with one.client() as first, two.client() as second:
        first.send("SET", "k", "v")
        follow(two, one)
        first.send("REPLICAOF", "127.0.0.1", two.port)
        wait_until(lambda: info(first).get("master_link_error"))
        assert first.send("GET", "k").raw == second.send("GET", "k").raw == b"$1\r\nv\r\n"
        first.send("REPLICAOF", "NO", "ONE")
        first.send("SET", "k", "w")
        wait_in_step(one, two)
        assert second.send("GET", "k").raw == b"$1\r\nw\r\n"
    two.stop()
    one.stop()
