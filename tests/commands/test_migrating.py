"""MIGRATE: keys to a third server, from Redis and from StrataKV, with the same answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, free_port
from tests.harness.wire import WireClient

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("target") / "data").start()
    yield server
    server.stop()


@pytest.fixture
def other(target: RedisServer) -> Iterator[WireClient]:
    with target.client() as client:
        client.send("FLUSHALL")
        yield client


def state(client: WireClient) -> list[bytes]:
    """The keys of a server, and what of them may differ."""
    keys = sorted(client.send("KEYS", "*").frame.blobs())
    replies = client.pipeline([("OBJECT", "ENCODING", key) for key in keys])
    return [*keys, *(reply.raw for reply in replies)]


def fill(source: WireClient) -> None:
    source.send("FLUSHALL")
    source.send("SET", "text", "value")
    source.send("RPUSH", "list", "a", "b", "c")
    source.send("ZADD", "zset", 1, "a", 2, "b")
    source.send("SET", "there", "mine")
    source.send("SET", "fading", "v", "PX", 100_000_000)


CALLS = (
    "text 0 1000",
    "text 0 1000 COPY",
    "text 5 0",
    "text 0 -1",
    "absent 0 1000",
    "fading 0 1000 COPY",
    "there 0 1000",
    "there 0 1000 REPLACE",
    "there 0 1000 copy replace",
    '"" 0 1000 KEYS text list absent zset',
    '"" 0 1000 COPY KEYS text there list',
    '"" 0 1000 KEYS text there list',
    '"" 0 1000 KEYS absent',
    '"" 0 1000 KEYS',
    "text 0 1000 KEYS list",
    "text 99 1000",
    "text -1 1000",
    "text x 1000",
    "text 0 x",
    "text 0 1000 NONSENSE",
    "text 0 1000 AUTH",
    "text 0 1000 AUTH2 a",
    "text 0 1000 AUTH wrong",
    "text 0 1000 AUTH2 nobody wrong",
)


@pytest.mark.parametrize("call", CALLS)
def test_both_answer_the_same_and_leave_the_same(
    redis_wire: WireClient,
    strata_wire: WireClient,
    other: WireClient,
    target: RedisServer,
    call: str,
) -> None:
    outcomes = []
    for source in (redis_wire, strata_wire):
        fill(source)
        other.send("FLUSHALL")
        other.send("SET", "there", "theirs")
        words = [word if word != '""' else "" for word in call.split()]
        reply = source.send("MIGRATE", HOST, target.port, *words).raw
        left_ms = other.send("PTTL", "fading").frame.number or 0
        here = sorted(source.send("KEYS", "*").frame.blobs())
        # Redis sends on what follows a SELECT or AUTH that is refused; we do not.
        there = [] if "AUTH" in call or b"DB index" in reply else state(other)
        outcomes.append((reply, here, there, left_ms > 90_000_000))
        assert other.send("GET", "there").raw in (b"$6\r\ntheirs\r\n", b"$4\r\nmine\r\n")
    assert outcomes[0] == outcomes[1]


def test_nobody_there(redis_wire: WireClient, strata_wire: WireClient) -> None:
    port = free_port()
    answers = []
    for source in (redis_wire, strata_wire):
        fill(source)
        answers.append(source.send("MIGRATE", HOST, port, "text", 0, 500).raw)
        assert source.send("EXISTS", "text").frame.number == 1
    assert answers[0] == answers[1]
    assert answers[0].startswith(b"-IOERR error or timeout ")


def test_an_unknown_host(redis_wire: WireClient, strata_wire: WireClient) -> None:
    answers = []
    for source in (redis_wire, strata_wire):
        fill(source)
        answers.append(source.send("MIGRATE", "no.such.host.invalid", 1, "text", 0, 500).raw)
    assert answers[0] == answers[1] == b"-IOERR error or timeout connecting to the client\r\n"


def test_somebody_who_does_not_answer(redis_wire: WireClient, strata_wire: WireClient) -> None:
    with socket.create_server((HOST, 0)) as mute:
        port = mute.getsockname()[1]
        for source in (redis_wire, strata_wire):
            fill(source)
            reply = source.send("MIGRATE", HOST, port, "text", 0, 300).raw
            assert reply == b"-IOERR error or timeout reading to target instance\r\n"
            assert source.send("GET", "text").frame.data == b"value"


def test_others_are_served_while_it_waits(strata_wire: WireClient) -> None:
    fill(strata_wire)
    with socket.create_server((HOST, 0)) as mute, WireClient(strata_wire.port) as second:
        port = mute.getsockname()[1]
        replies: list[bytes] = []
        caller = threading.Thread(
            target=lambda: replies.append(
                strata_wire.send("MIGRATE", HOST, port, "text", 0, 1500).raw
            )
        )
        caller.start()
        connection, _ = mute.accept()
        assert second.send("GET", "text").frame.data == b"value"
        assert second.send("SET", "another", "1").raw == b"+OK\r\n"
        assert not replies
        caller.join()
        connection.close()
    assert replies[0].startswith(b"-IOERR")


def test_a_large_key_goes_over(
    strata_wire: WireClient, other: WireClient, target: RedisServer, tmp_path: Path
) -> None:
    strata_wire.send("FLUSHALL")
    for at in range(0, 50_000, 5000):
        strata_wire.send("RPUSH", "large", *range(at, at + 5000))
    reply = strata_wire.send("MIGRATE", HOST, target.port, "large", 0, 100_000).raw
    assert reply == b"+OK\r\n"
    assert other.send("LLEN", "large").frame.number == 50_000
    assert other.send("LINDEX", "large", -1).frame.data == b"49999"
    assert strata_wire.send("EXISTS", "large").frame.number == 0
