"""A client that is gone gets nothing any more, and what was meant for it stays for others."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.harness.servers import Process, RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient, encode

TRIES = 30

Call = tuple[Arg, ...]

# the call that blocks, the push, and how to see that nothing was taken
WAITS: dict[str, tuple[Call, Call, Call, bytes]] = {
    "BLPOP": (("BLPOP", "k", 0), ("RPUSH", "k", "x"), ("LLEN", "k"), b":1\r\n"),
    "BRPOP": (("BRPOP", "k", 0), ("RPUSH", "k", "x"), ("LLEN", "k"), b":1\r\n"),
    "BLMOVE": (
        ("BLMOVE", "k", "to", "LEFT", "LEFT", 0),
        ("RPUSH", "k", "x"),
        ("EXISTS", "to"),
        b":0\r\n",
    ),
    "BLMPOP": (("BLMPOP", 0, 1, "k", "LEFT"), ("RPUSH", "k", "x"), ("LLEN", "k"), b":1\r\n"),
    "BZPOPMIN": (("BZPOPMIN", "k", 0), ("ZADD", "k", 1, "x"), ("ZCARD", "k"), b":1\r\n"),
    "XREADGROUP": (
        ("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "k", ">"),
        ("XADD", "k", "1-1", "f", "v"),
        ("XPENDING", "k", "g"),
        b"*4\r\n:0\r\n$-1\r\n$-1\r\n*-1\r\n",
    ),
}


@pytest.fixture
def wire(strata_server: Process) -> Iterator[WireClient]:
    with strata_server.client() as found:
        found.send("FLUSHALL")
        yield found


def _blocked(server: Process, wire: WireClient, call: Call) -> WireClient:
    """A client that waits with this call."""
    wire.send("FLUSHALL")
    if call[0] == "XREADGROUP":
        wire.send("XGROUP", "CREATE", "k", "g", "$", "MKSTREAM")
    client = server.client()
    client.write(encode(*call))
    _until_blocked(wire, 1)
    return client


def _until_blocked(wire: WireClient, clients: int) -> None:
    wait_until(
        lambda: b"blocked_clients:%d\r" % clients in wire.send("INFO", "clients").raw,
        f"{clients} clients blocked",
    )


@pytest.mark.parametrize("name", WAITS)
def test_nothing_is_taken_for_a_killed_client(
    strata_server: Process, wire: WireClient, name: str
) -> None:
    call, push, look, untouched = WAITS[name]
    with _blocked(strata_server, wire, call):
        replies = wire.pipeline([("CLIENT", "KILL", "TYPE", "normal"), push, look])
    assert replies[0].raw == b":1\r\n"
    assert replies[2].raw == untouched


@pytest.mark.parametrize("name", WAITS)
def test_nothing_is_taken_for_a_client_that_has_closed(
    strata_server: Process, wire: WireClient, name: str
) -> None:
    call, push, look, untouched = WAITS[name]
    for _ in range(TRIES):
        _blocked(strata_server, wire, call).close()
        assert wire.pipeline([push, look])[1].raw == untouched


def test_nothing_is_taken_for_a_client_that_sends_no_more(
    strata_server: Process, wire: WireClient
) -> None:
    with _blocked(strata_server, wire, ("BLPOP", "k", 0)) as client:
        client.socket.shutdown(socket.SHUT_WR)
        assert wire.pipeline([("RPUSH", "k", "x"), ("LLEN", "k")])[1].raw == b":1\r\n"
        assert client.read_to_end() == b""


def test_nothing_is_taken_for_a_dead_client_that_is_not_read(
    strata_server: Process, wire: WireClient
) -> None:
    client = _blocked(strata_server, wire, ("BLPOP", "k", 0))
    client.write(encode("PING") * 2000)  # so much waits behind it that it is no longer read
    client.close()
    assert wire.pipeline([("RPUSH", "k", "x"), ("LLEN", "k")])[1].raw == b":1\r\n"


def test_the_next_in_line_gets_what_a_dead_client_waited_for(
    strata_server: Process, wire: WireClient
) -> None:
    first = _blocked(strata_server, wire, ("BLPOP", "k", 0))
    with strata_server.client() as second:
        second.write(encode("BLPOP", "k", 0))
        _until_blocked(wire, 2)
        first.close()
        wire.send("RPUSH", "k", "x")
        assert second.read().frame.blobs() == [b"k", b"x"]


def test_a_killed_client_is_gone_from_every_list(strata_server: Process, wire: WireClient) -> None:
    with strata_server.client() as victim:
        victim.send("SUBSCRIBE", "news")
        victim.send("PSUBSCRIBE", "n*")
        replies = wire.pipeline(
            [
                ("CLIENT", "KILL", "TYPE", "pubsub"),
                ("PUBLISH", "news", "x"),
                ("PUBSUB", "NUMSUB", "news"),
                ("PUBSUB", "NUMPAT"),
                ("CLIENT", "LIST", "TYPE", "pubsub"),
                ("INFO", "clients"),
            ]
        )
        assert [reply.raw for reply in replies[:2]] == [b":1\r\n", b":0\r\n"]
        assert replies[2].raw == b"*2\r\n$4\r\nnews\r\n:0\r\n"
        assert replies[3].raw == b":0\r\n"
        assert b"id=" not in replies[4].raw


@pytest.mark.parametrize("requests", [1, 5000], ids=["one", "a long pipeline"])
def test_what_was_sent_before_the_end_is_served(
    strata_server: Process, wire: WireClient, requests: int
) -> None:
    with strata_server.client() as client:
        client.write(encode("INCR", "n") * requests)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_to_end().count(b":") == requests
    assert wire.send("GET", "n").frame.data == b"%d" % requests


def test_what_waits_behind_a_long_script_is_served_after_the_end(strata_server: Process) -> None:
    """The housekeeper looks for dead clients every second; this one only sends no more."""
    script = "local t = redis.call('TIME')[1] repeat until redis.call('TIME')[1] - t > 3 return 1"
    with strata_server.client() as client:
        client.write(encode("EVAL", script, 0) + encode("PING") * 5000)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_to_end().count(b"+PONG") == 5000


# what a client may send at once


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    flags = ("--client-query-buffer-limit", "2097152")
    found = StrataServer(tmp_path_factory.mktemp("strict") / "data", flags=flags).start()
    yield found
    found.stop()


def _is_cut(client: WireClient, data: bytes) -> bool:
    """Whether the server closes while it is sent this, and answers nothing to a PING behind it."""
    try:
        client.write(data)
        while True:
            reply = client.read()
            if reply.raw == b"$4\r\ndone\r\n":
                return False
    except (ConnectionError, OSError):
        return True


DONE = encode("ECHO", "done")
QUEUED = encode("SET", "k", b"x" * 500_000)


@pytest.mark.parametrize(
    ("data", "is_cut"),
    [
        (b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$30000000\r\n" + b"x" * 3_000_000, True),
        (b"*500000\r\n$3\r\nDEL\r\n" + b"$10\r\n0123456789\r\n" * 200_000, True),
        (encode("SET", "k", b"x" * 1_000_000) + DONE, False),
        (encode("SET", "k", b"x" * 100_000) * 50 + DONE, False),
        (encode("MULTI") + QUEUED * 6 + DONE, True),
        (encode("MULTI") + QUEUED * 3 + encode("EXEC") + DONE, False),
    ],
    ids=["an argument", "arguments", "within", "a pipeline", "a transaction", "a smaller one"],
)
def test_a_request_in_the_making_has_a_limit(
    strict: StrataServer, data: bytes, is_cut: bool
) -> None:
    with strict.client() as client:
        assert _is_cut(client, data) is is_cut
    with strict.client() as other:
        assert other.send("PING").raw == b"+PONG\r\n"


def test_what_waits_behind_a_blocked_client_is_left_in_its_socket(strict: StrataServer) -> None:
    """The client cannot even send all of it."""
    with strict.client() as client, strict.client() as other:
        client.write(encode("BLPOP", "nothing", 0))
        client.socket.setblocking(False)
        data, sent = encode("SET", "k", b"x" * 1_000_000) * 100, 0
        quiet = 0
        while quiet < 20 and sent < len(data):
            try:
                sent += client.socket.send(data[sent : sent + 1_000_000])
                quiet = 0
            except BlockingIOError:
                quiet += 1
                other.send("PING")
        assert sent < 40_000_000
        assert other.send("PING").raw == b"+PONG\r\n"


def test_the_oracle_counts_the_same_request_in_the_making(redis_server: RedisServer) -> None:
    with redis_server.client() as client, redis_server.client() as other:
        other.send("CONFIG", "SET", "client-query-buffer-limit", "2097152")
        try:
            data = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$30000000\r\n" + b"x" * 3_000_000
            assert _is_cut(client, data)
        finally:
            other.send("CONFIG", "SET", "client-query-buffer-limit", str(1 << 30))
