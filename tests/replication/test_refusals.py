"""What a server refuses because of its place among others: the same calls to a Redis."""

from __future__ import annotations

import contextlib
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode
from tests.replication.fleet import follow, info

Both = tuple[RedisServer, StrataServer]

LIBRARY = """#!lua name=lib
redis.register_function{function_name='reads', callback=function(keys)
  return redis.call('GET', 'k') end, flags={'no-writes'}}
redis.register_function{function_name='writes', callback=function(keys)
  return redis.call('SET', 'k', 'v') end}
redis.register_function{function_name='stale', callback=function(keys)
  return redis.pcall('GET', 'k') end, flags={'no-writes', 'allow-stale'}}
redis.register_function{function_name='echo', callback=function(keys)
  return redis.call('ECHO', 'here') end, flags={'no-writes', 'allow-stale'}}
redis.register_function{function_name='writes_stale', callback=function(keys)
  return redis.pcall('SET', 'k', 'v') end, flags={'allow-stale'}}
"""

PLAIN_READ = "return redis.call('GET', 'k')"
PLAIN_WRITE = "return redis.call('SET', 'k', 'v')"
DECLARED_READ = f"#!lua flags=no-writes\n{PLAIN_READ}"
DECLARED_WRITE = f"#!lua\n{PLAIN_WRITE}"
DECLARED_STALE = "#!lua flags=no-writes,allow-stale\nreturn redis.call('GET', 'k')"
DECLARED_INFO = "#!lua flags=no-writes,allow-stale\nreturn redis.call('ECHO', 'here')"
DECLARED_BOTH = "#!lua flags=allow-stale\nreturn redis.pcall('SET', 'k', 'v')"
BROKEN_FLAGS = "#!lua flags=nonsense\nreturn 1"
SCRIPTS = (
    PLAIN_READ,
    PLAIN_WRITE,
    DECLARED_READ,
    DECLARED_WRITE,
    DECLARED_STALE,
    DECLARED_INFO,
    DECLARED_BOTH,
    BROKEN_FLAGS,
    "return 1",
)

FUNCTIONS = ("reads", "writes", "stale", "echo", "writes_stale", "none")

PLAIN_CALLS: tuple[tuple[Arg, ...], ...] = (
    ("GET", "k"),
    ("SET", "k", "v"),
    ("PFCOUNT", "k"),
    ("PUBLISH", "c", "m"),
    ("WATCH", "k"),
    ("UNWATCH",),
    ("PING",),
    ("FUNCTION", "DELETE", "none"),
    ("EVALSHA", "f" * 40, 0),
    ("EVALSHA", "short", 0),
    ("SCRIPT", "EXISTS", "f" * 40),
)
CALLS: tuple[tuple[Arg, ...], ...] = (
    *PLAIN_CALLS,
    *((name, script, 0) for script in SCRIPTS for name in ("EVAL", "EVAL_RO")),
    *((name, function, 0) for function in FUNCTIONS for name in ("FCALL", "FCALL_RO")),
)
PLACES = {
    "read-only": ("REPLICAOF 127.0.0.1 1",),
    "writable": ("CONFIG SET replica-read-only no", "REPLICAOF 127.0.0.1 1"),
    "stale": ("CONFIG SET replica-serve-stale-data no", "REPLICAOF 127.0.0.1 1"),
    "stale, writable": (
        "CONFIG SET replica-read-only no",
        "CONFIG SET replica-serve-stale-data no",
        "REPLICAOF 127.0.0.1 1",
    ),
    "lonely": ("CONFIG SET min-replicas-to-write 1",),
}
AS_BEFORE = (
    "CONFIG SET min-replicas-to-write 0",
    "CONFIG SET replica-read-only yes",
    "CONFIG SET replica-serve-stale-data yes",
    "REPLICAOF NO ONE",
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    place = tmp_path_factory.mktemp("refusals")
    servers = (RedisServer(place / "redis").start(), StrataServer(place / "strata").start())
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture
def clients(both: Both) -> Iterator[tuple[WireClient, WireClient]]:
    """A client of Redis, one of ours; both servers are masters with the same data."""
    with both[0].client() as redis, both[1].client() as strata:
        for client in (redis, strata):
            for call in AS_BEFORE:
                client.send(*call.split())
            client.send("FLUSHALL")
            client.send("FUNCTION", "FLUSH")
            client.send("FUNCTION", "LOAD", LIBRARY)
            client.send("SET", "k", "old")
        yield redis, strata
        for client in (redis, strata):
            for call in AS_BEFORE:
                client.send(*call.split())


def _take(clients: tuple[WireClient, WireClient], place: str) -> None:
    for client in clients:
        for call in PLACES[place]:
            assert client.send(*call.split()).raw == b"+OK\r\n"


@pytest.mark.parametrize("place", PLACES)
def test_calls_are_refused_as_by_redis(clients: tuple[WireClient, WireClient], place: str) -> None:
    redis, strata = clients
    _take(clients, place)
    for call in CALLS:
        assert strata.send(*call).raw == redis.send(*call).raw, call


@pytest.mark.parametrize("place", PLACES)
def test_queued_calls_are_refused_as_by_redis(
    clients: tuple[WireClient, WireClient], place: str
) -> None:
    redis, strata = clients
    _take(clients, place)
    for call in CALLS:
        for words in (("MULTI",), call, ("EXEC",)):
            assert strata.send(*words).raw == redis.send(*words).raw, call


@pytest.mark.parametrize("place", PLACES)
def test_what_was_queued_before_is_refused_by_exec(
    clients: tuple[WireClient, WireClient], both: Both, place: str
) -> None:
    redis, strata = clients
    calls = [call for call in CALLS if call[0] not in ("WATCH", "UNWATCH")]
    with both[0].client() as other, both[1].client() as another:
        for call in calls:
            for client in clients:
                for line in AS_BEFORE:
                    client.send(*line.split())
                client.send("SET", "k", "old")
            for one in (other, another):
                one.send("MULTI")
                one.send(*call)
            _take(clients, place)
            assert another.send("EXEC").raw == other.send("EXEC").raw, call
    assert strata.send("PING").raw == redis.send("PING").raw


FROM_REPLICAS = """
GET k | SET k v | MULTI | PING | INFO | REPLCONF listening-port 1 | REPLCONF ack 0 | ECHO x
REPLCONF getack * | PSYNC ? -1 | SYNC | PUBLISH c m | EVAL "return 1" 0 | NONSENSE | SUBSCRIBE c
CLIENT LIST | REPLICAOF NO ONE | COMMAND COUNT | PFCOUNT k | REPLCONF | SELECT 1 | CLIENT REPLY ON
"""


def _reaction(server: RedisServer | StrataServer, call: str) -> tuple[bool, int]:
    """Whether a replica that sends the call is cut, and the errors that are counted for it."""
    with server.client() as observer, server.client() as replica:
        observer.send("CONFIG", "SET", "repl-diskless-sync-delay", "0")
        before = int(info(observer, "stats")["unexpected_error_replies"])
        replica.send("REPLCONF", "capa", "eof", "capa", "psync2")
        replica.write(encode("PSYNC", "?", "-1"))
        wait_until(lambda: "state=" in info(observer).get("slave0", ""))
        wait_until(lambda: "state=wait" not in info(observer).get("slave0", ""))
        replica.write(encode(*shlex.split(call)) + encode("REPLCONF", "ACK", "999999999"))
        wait_until(
            lambda: (
                "offset=999999999," in info(observer).get("slave0", "")
                or info(observer)["connected_slaves"] == "0"
            )
        )
        was_cut = info(observer)["connected_slaves"] == "0"
        return was_cut, int(info(observer, "stats")["unexpected_error_replies"]) - before


@pytest.mark.parametrize("call", FROM_REPLICAS.replace("\n", " | ").strip(" |").split(" | "))
def test_a_replica_that_sends_what_is_answered_is_cut_as_by_redis(both: Both, call: str) -> None:
    redis, strata = (_reaction(server, call) for server in both)
    assert strata == redis
    for server in both:
        with server.client() as client:
            wait_until(lambda: info(client)["connected_slaves"] == "0")


@pytest.mark.parametrize("call", ["SYNC", "PSYNC ? -1"])
def test_who_has_not_read_his_replies_is_sent_no_stream(both: Both, call: str) -> None:
    replies = []
    for server in both:
        with server.client() as client:
            client.write(encode("PING") + encode(*call.split()) + encode("ECHO", "x"))
            replies.append([client.read().raw for _ in range(3)])
    assert replies[1] == replies[0]
    assert replies[0][1].startswith(b"-ERR SYNC and PSYNC are invalid")


@contextlib.contextmanager
def _stopped(server: RedisServer | StrataServer) -> Iterator[None]:
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    yield
    server.process.send_signal(signal.SIGCONT)


def test_nobody_begins_to_follow_during_a_failover(tmp_path: Path) -> None:
    replies = []
    for kind in (RedisServer, StrataServer):
        master = kind(tmp_path / f"{kind.__name__}-master").start()
        replica = kind(tmp_path / f"{kind.__name__}-replica").start()
        follow(replica, master)
        with master.client() as client, _stopped(replica):
            client.send("SET", "what the replica", "cannot have")
            assert client.send("FAILOVER").raw == b"+OK\r\n"
            replies.append(client.send("PSYNC", "?", "-1").raw)
            client.send("FAILOVER", "ABORT")
        replica.stop()
        master.stop()
    assert replies[1] == replies[0]


def test_the_first_history_begins_where_that_of_redis_does(tmp_path: Path) -> None:
    places = []
    for kind in (RedisServer, StrataServer):
        master = kind(tmp_path / f"{kind.__name__}-master").start()
        replica = kind(tmp_path / f"{kind.__name__}-replica").start()
        with master.client() as client:
            client.send("CONFIG", "SET", "repl-ping-replica-period", 3600)
            client.send("CONFIG", "SET", "repl-diskless-sync-delay", 0)
            follow(replica, master)
            client.send("SET", "k", "v")
            shown = info(client)
            names = ("repl_backlog_first_byte_offset", "repl_backlog_histlen", "master_repl_offset")
            places.append([shown[name] for name in names])
        replica.stop()
        master.stop()
    assert places[1] == places[0]
