"""The end of a master that is asked to end: its replicas have everything by then."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.effort import rounds
from tests.harness.servers import Process, RedisServer, StrataServer, free_port
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient, encode
from tests.replication.fleet import contents, follow, info, wait_in_step
from tests.replication.test_kills import LARGE_BACKLOG, Writer

Two = tuple[StrataServer, StrataServer]
LARGE = "x" * 100_000
LONG_S = 3600
MORE_THAN_SOCKETS_HOLD = 200


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Two]:
    """A master, and its replica."""
    leader = StrataServer(tmp_path / "master").start()
    follower = StrataServer(tmp_path / "replica").start()
    follow(follower, leader)
    yield leader, follower
    for server in (follower, leader):
        if server.is_running:
            os.kill(server.pid, signal.SIGCONT)
        server.stop()


def shut_down(server: Process) -> None:
    with server.client() as client:
        client.write(encode("SHUTDOWN"))
        wait_until(lambda: waits_for_replicas(server) or not server.is_running)


def send_sigterm(server: Process) -> None:
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: waits_for_replicas(server) or not server.is_running)


def waits_for_replicas(server: Process) -> bool:
    with contextlib.suppress(OSError), server.client() as client:
        return int(info(client, "server").get("shutdown_in_milliseconds", 0)) > 0
    return False


def exit_code(server: Process) -> int:
    assert server.process is not None
    return server.process.wait(HANG_S)


def write_much(client: WireClient) -> None:
    """More than a replica that stands still can be sent."""
    client.pipeline([("SET", f"key{number}", LARGE) for number in range(MORE_THAN_SOCKETS_HOLD)])
    client.send("INCR", "n")


ENDS: list[Callable[[Process], None]] = [shut_down, send_sigterm]


@pytest.mark.parametrize("end", ENDS)
def test_a_master_ends_when_its_replica_has_everything(
    pair: Two, end: Callable[[Process], None]
) -> None:
    leader, follower = pair
    with leader.client() as one:
        one.send("CONFIG", "SET", "shutdown-timeout", LONG_S)
        one.send("CONFIG", "SET", "client-output-buffer-limit", "replica 0 0 0")
        os.kill(follower.pid, signal.SIGSTOP)
        write_much(one)
        end(leader)
        assert leader.is_running, "it has not waited"
        one.write(encode("INCR", "n"))
        leader.wait_until_blocked()
        os.kill(follower.pid, signal.SIGCONT)
        assert exit_code(leader) == 0
        assert one.read_to_end() == b"", "what is written now can no longer be waited for"
    assert "1 of 1 replicas are in sync" in leader.output()
    with follower.client() as other:
        wait_until(lambda: other.send("GET", "n").raw == b"$1\r\n1\r\n")
        assert other.send("DBSIZE").frame.number == MORE_THAN_SOCKETS_HOLD + 1


def test_a_replica_that_stands_still_is_not_waited_for_any_longer_than_that(pair: Two) -> None:
    leader, follower = pair
    with leader.client() as one:
        one.send("CONFIG", "SET", "shutdown-timeout", 1)
        os.kill(follower.pid, signal.SIGSTOP)
        one.send("SET", "k", "v")
        send_sigterm(leader)
    assert exit_code(leader) == 0
    assert "0 of 1 replicas are in sync" in leader.output()
    assert "Lagging replica 127.0.0.1:" in leader.output()


@pytest.mark.parametrize("words", [("NOW",), ("NOSAVE", "NOW")], ids=" ".join)
def test_who_wants_the_end_now_waits_for_nobody(pair: Two, words: tuple[str, ...]) -> None:
    leader, follower = pair
    with leader.client() as one:
        one.send("CONFIG", "SET", "shutdown-timeout", LONG_S)
        os.kill(follower.pid, signal.SIGSTOP)
        one.send("SET", "k", "v")
        one.write(encode("SHUTDOWN", *words))
        assert one.read_to_end() == b""
    assert exit_code(leader) == 0


def test_a_second_interrupt_waits_for_nobody(pair: Two) -> None:
    leader, follower = pair
    with leader.client() as one:
        one.send("CONFIG", "SET", "shutdown-timeout", LONG_S)
        os.kill(follower.pid, signal.SIGSTOP)
        one.send("SET", "k", "v")
        os.kill(leader.pid, signal.SIGINT)
        wait_until(lambda: waits_for_replicas(leader))
        os.kill(leader.pid, signal.SIGINT)
    assert exit_code(leader) == 0


def test_an_end_that_is_called_off_leaves_all_as_it_was_as_in_redis(tmp_path: Path) -> None:
    told = []
    for kind in (RedisServer, StrataServer):
        leader = kind(tmp_path / f"{kind.__name__}-master").start()
        follower = kind(tmp_path / f"{kind.__name__}-replica").start()
        follow(follower, leader)
        told.append(_call_off(leader, follower))
        assert leader.is_running
        follower.stop()
        leader.stop()
    assert told[1] == told[0]


def _call_off(leader: Process, follower: Process) -> list[bytes]:
    """What everybody hears of an end that is called off."""
    told = []
    clients = [leader.client() for _ in range(4)]
    owner, *others, writer = clients
    owner.send("CONFIG", "SET", "shutdown-timeout", 600)
    told.append(owner.send("SHUTDOWN", "ABORT").raw)
    os.kill(follower.pid, signal.SIGSTOP)
    owner.send("SET", "k", "v")
    for other in others:
        other.write(encode("SHUTDOWN"))
    leader.wait_until_blocked(2)
    writer.write(encode("APPEND", "k", "w"))
    leader.wait_until_blocked(3)
    owner.send("CLIENT", "PAUSE", 1, "WRITE")
    told.append(owner.send("CLIENT", "UNPAUSE").raw)
    told.append(owner.send("GET", "k").raw)
    leader.wait_until_blocked(3)
    told.append(owner.send("SHUTDOWN", "ABORT").raw)
    told += [other.read().raw for other in others]
    told.append(writer.read().raw)
    told.append(owner.send("GET", "k").raw)
    told.append(owner.send("SHUTDOWN", "ABORT").raw)
    told.append(b"%d" % ("shutdown_in_milliseconds" in info(owner, "server")))
    os.kill(follower.pid, signal.SIGCONT)
    for client in clients:
        client.close()
    return told


def test_an_end_that_fails_lets_writers_go_on(pair: Two) -> None:
    leader, _ = pair
    (leader.dir / "dump.rdb").mkdir()
    with leader.client() as one, leader.client() as writer:
        assert one.send("SHUTDOWN", "SAVE").raw == (
            b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
        )
        assert writer.send("SET", "k", "v").raw == b"+OK\r\n"
        assert one.send("SHUTDOWN", "ABORT").raw == b"-ERR No shutdown in progress.\r\n"


def test_nothing_expires_while_replicas_are_waited_for(pair: Two) -> None:
    leader, follower = pair
    with leader.client() as one:
        one.send("SET", "k", "v", "PX", 300)
        os.kill(follower.pid, signal.SIGSTOP)
        send_sigterm(leader)
        before = info(one, "stats")["expired_keys"]
        wait_until(lambda: one.send("GET", "k").raw == b"$-1\r\n")
        time.sleep(0.3)
        assert info(one, "stats")["expired_keys"] == before
        assert one.send("SHUTDOWN", "ABORT").raw == b"+OK\r\n"
        wait_until(lambda: info(one, "stats")["expired_keys"] != before)


@pytest.mark.slow
@pytest.mark.effort
def test_masters_that_end_under_load_take_nothing_with_them(tmp_path: Path) -> None:
    """Whatever was acknowledged is on the replica, which goes on by a partial resync."""
    dice = random.Random(3)
    flags = ("--port", str(free_port()), "--shutdown-timeout", "600", *LARGE_BACKLOG)
    leader = StrataServer(tmp_path / "master", flags=flags).start()
    follower = StrataServer(tmp_path / "replica").start()
    follow(follower, leader)
    writer = Writer(leader.port)
    for turn in range(rounds(20, least=3)):
        time.sleep(dice.uniform(0.05, 0.5))
        if turn % 2:
            os.kill(leader.pid, signal.SIGTERM)
        else:
            with leader.client() as client:
                client.write(encode("SHUTDOWN"))
                client.read_to_end()
        assert exit_code(leader) == 0
        with follower.client() as other:
            number = int(other.send("GET", "n").frame.data or b"0")
        assert number >= writer.acknowledged
        leader.start()
        wait_in_step(leader, follower)
        with leader.client() as client:
            assert info(client, "stats")["sync_full"] == "0"
            assert int(client.send("GET", "n").frame.data or b"0") >= number
    writer.stop()
    wait_in_step(leader, follower)
    with leader.client() as one, follower.client() as other:
        wait_until(lambda: contents(other) == contents(one), "the two differ")  # keys may expire
    follower.stop()
    leader.stop()
