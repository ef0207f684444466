"""Keyspace notifications: the same commands tell the same events as in redis-server, in order."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.proxy import commands  # noqa: F401  # fills the table
from stratakv.proxy.table.registry import every_command
from tests.commands.notification_scripts import SCRIPTS
from tests.commands.scripts import parse
from tests.commands.test_field_times import EVENTS as FIELD_EVENTS
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode

Server = RedisServer | StrataServer

KEYLESS = {"function|restore", "strata|namespace", "strata|reencode"}
"""Writers that no client sees in the keyspace."""
ELSEWHERE = {"migrate"}
"""It needs a third server: a test of its own."""


class Listener:
    """A server with a client that hears all events, and one that sends commands."""

    def __init__(self, server: Server, classes: str = "KEAmn") -> None:
        self._hear = server.client()
        self._send = server.client()
        self._send.send("FLUSHALL")
        self._send.send("CONFIG", "SET", "notify-keyspace-events", classes)
        self._mark = server.client()
        for pattern in ("__key*", "news", "end"):
            self._hear.send("PSUBSCRIBE", pattern)

    def events_of(self, *call: bytes) -> list[tuple[bytes, bytes]]:
        """The messages that a command leads to: (channel, message)."""
        self._send.send(*call)
        return self.heard()

    def heard(self) -> list[tuple[bytes, bytes]]:
        """The messages since the last call."""
        found: list[tuple[bytes, bytes]] = []
        self._mark.send("PUBLISH", "end", "end")
        while True:
            _, _, channel, message = self._hear.read().frame.blobs()
            if channel == b"end":
                return found
            found.append((channel, message))

    @property
    def sender(self) -> WireClient:
        return self._send

    def close(self) -> None:
        self._send.send("CONFIG", "SET", "notify-keyspace-events", "")
        for client in (self._hear, self._send, self._mark):
            client.close()


@pytest.fixture
def listeners(redis_server: RedisServer, strata_server: Server) -> Iterator[list[Listener]]:
    both = [Listener(redis_server), Listener(strata_server)]
    yield both
    for one in both:
        one.close()


@pytest.mark.parametrize("group", SCRIPTS)
def test_commands_tell_what_redis_tells(listeners: list[Listener], group: str) -> None:
    redis, strata = listeners
    known = {entry.name.split("|")[0] for entry in every_command()}
    for call in parse(SCRIPTS[group]):
        if call[0].decode().lower() in known:
            assert strata.events_of(*call) == redis.events_of(*call), call


def test_every_command_that_writes_is_compared() -> None:
    """With redis-server by the scripts, with what Redis 8.0 told by those of hash fields."""
    calls = [call for script in SCRIPTS.values() for call in parse(script)]
    calls += [call.encode().split() for call in re.split(r"[;\n]|=>", FIELD_EVENTS)]
    compared = {b"|".join(call[:words]).lower().decode() for call in calls for words in (1, 2)}
    writers = [entry.name for entry in every_command() if entry.is_write]
    assert [name for name in writers if name not in compared | KEYLESS | ELSEWHERE] == []


def test_a_key_that_moves_to_another_server_is_told(
    redis_server: RedisServer, strata_server: Server, tmp_path: Path
) -> None:
    third = RedisServer(tmp_path / "third").start()
    both = [Listener(server) for server in (redis_server, strata_server)]
    try:
        for call in parse("SET a 1\nMIGRATE COPY REPLACE\nMIGRATE REPLACE\nMIGRATE REPLACE"):
            if call[0] == b"MIGRATE":
                where = ("127.0.0.1", str(third.port), "a", "0", "60000")
                call = [call[0], *(word.encode() for word in where), *call[1:]]
            redis, strata = (one.events_of(*call) for one in both)
            assert strata == redis, call
    finally:
        for one in both:
            one.close()
        third.stop()


@pytest.mark.parametrize("classes", ["K$", "Eg", "Ex", "KEl", "A", "KE", "Km", "KA", "", "Kn"])
def test_only_the_chosen_classes_are_told(
    redis_server: RedisServer, strata_server: Server, classes: str
) -> None:
    both = [Listener(server, classes) for server in (redis_server, strata_server)]
    for call in parse("SET a b EX 100\nGET nosuch\nLPUSH l x\nDEL a l"):
        redis, strata = (one.events_of(*call) for one in both)
        assert strata == redis, call
    for one in both:
        one.close()


@pytest.mark.parametrize(
    "letters",
    [
        "KEA",
        "g$lshzxetd",
        "KEg$lshzxetdn",
        "nKEg",
        "mnAKE",
        "mgE",
        "xA",
        "n",
        "",
        "KEq",
        "gg",
        "K E",
    ],
)
def test_the_option_is_shown_as_redis_shows_it(
    redis_wire: WireClient, strata_wire: WireClient, letters: str
) -> None:
    name = "notify-keyspace-events"
    for call in (["SET", name, letters], ["GET", name], ["SET", name, ""]):
        assert strata_wire.send("CONFIG", *call).raw == redis_wire.send("CONFIG", *call).raw


def test_a_key_that_expires_is_told(listeners: list[Listener]) -> None:
    for one in listeners:
        one.events_of(b"SET", b"k", b"v", b"PX", b"30")
    found = [_wait_for_events(one) for one in listeners]
    assert (
        found[0]
        == found[1]
        == [
            (b"__keyspace@0__:k", b"expired"),
            (b"__keyevent@0__:expired", b"k"),
        ]
    )


def test_a_key_that_is_overwritten_after_its_time_has_expired_first(
    listeners: list[Listener],
) -> None:
    for one in listeners:
        one.sender.send("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        for key in ("k", "gone", "pushed"):
            one.sender.send("SET", key, "v", "PX", "1")
        one.heard()
    time.sleep(0.02)
    try:
        for call in parse(
            "SET k v\nDEL gone\nRPUSH pushed x\nSET k v PXAT 1\nSET k v EXAT 1\nAPPEND k v\nGET k"
        ):
            redis, strata = (one.events_of(*call) for one in listeners)
            assert strata == redis, call
    finally:
        for one in listeners:
            one.sender.send("DEBUG", "SET-ACTIVE-EXPIRE", "1")


@pytest.mark.parametrize(
    "waiting",
    ["BLPOP q 5", "BRPOP nosuch q 5", "BLMOVE q r LEFT RIGHT 5", "BLMPOP 5 1 q RIGHT COUNT 2"],
)
def test_a_client_that_waited_tells_when_it_is_served(
    redis_server: RedisServer, strata_server: Server, listeners: list[Listener], waiting: str
) -> None:
    found = []
    for server, one in zip((redis_server, strata_server), listeners, strict=True):
        with server.client() as client:
            client.write(encode(*waiting.split()))
            _wait_until_blocked(one)
            found.append(one.events_of(b"RPUSH", b"q", b"a"))
            client.read()
            found[-1] += one.heard()
    assert found[1] == found[0]


def test_a_transaction_that_is_run_again_tells_everything_once(listeners: list[Listener]) -> None:
    members = [b"%d" % number for number in range(3000)]
    found = []
    for one in listeners:
        one.sender.send("SADD", "big", *members)
        one.heard()
        for call in ("MULTI", "SET a b", "PUBLISH news now", "SUNIONSTORE copy big", "EXEC"):
            one.sender.send(*call.split())
        found.append(one.heard())
    assert found[1] == found[0]


def test_a_long_command_tells_its_events(listeners: list[Listener]) -> None:
    members = [b"%d" % number for number in range(3000)]
    for call in (
        [b"SADD", b"s", *members],
        [b"SUNIONSTORE", b"t", b"s"],
        [b"SREM", b"s", *members],
    ):
        redis, strata = (one.events_of(*call) for one in listeners)
        assert strata == redis, call[:2]


def test_an_error_tells_nothing(listeners: list[Listener]) -> None:
    strata = listeners[1]
    strata.events_of(b"SET", b"s", b"x")
    for call in parse("LPUSH s x\nSADD s x\nINCR s\nZADD s 1 a\nSMOVE s t x\nBITOP NOT d s s"):
        assert strata.events_of(*call) == []


def test_the_option_can_be_given_at_the_start(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", ["--notify-keyspace-events", "KEA"]).start()
    try:
        with server.client() as hear, server.client() as send:
            hear.send("SUBSCRIBE", "__keyevent@0__:set")
            send.send("SET", "k", "v")
            assert hear.read().frame.blobs() == [b"message", b"__keyevent@0__:set", b"k"]
    finally:
        server.stop()


def _wait_for_events(listener: Listener) -> list[tuple[bytes, bytes]]:
    return wait_until(listener.heard, "no event")


def _wait_until_blocked(listener: Listener) -> None:
    wait_until(
        lambda: b"blocked_clients:1" in listener.sender.send("INFO", "clients").raw,
        "no client waits",
    )
