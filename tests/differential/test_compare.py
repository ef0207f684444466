"""The rules of comparison can say no: a test that accepts everything tests nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.differential.compare import Exchange, agree
from tests.differential.runner import Mismatch, Pair
from tests.harness.servers import RedisServer
from tests.harness.wire import Reply, WireClient


def reply(raw: bytes) -> Reply:
    """A reply from its bytes, by way of a socket as in real life."""
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, WireClient(listener.getsockname()[1]) as client:
        peer, _ = listener.accept()
        with peer:
            peer.sendall(raw)
            return client.read_any()


def judged(args: str, redis: bytes, strata: bytes, wire: WireClient) -> bool:
    words = tuple(args.encode().split())
    return agree(Exchange(words, reply(redis), reply(strata), wire, wire))


@pytest.fixture
def wire(redis_server: RedisServer) -> Iterator[WireClient]:
    with redis_server.client() as client:
        client.pipeline([("FLUSHALL",), ("SADD", "s", "a", "b", "c"), ("SET", "k", "v")])
        yield client


TWO = b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
TWO_TURNED = b"*2\r\n$1\r\nb\r\n$1\r\na\r\n"
TWO_OTHER = b"*2\r\n$1\r\na\r\n$1\r\nx\r\n"
TWICE = b"*2\r\n$1\r\na\r\n$1\r\na\r\n"


@pytest.mark.parametrize(
    ("args", "redis", "strata"),
    [
        ("SMEMBERS s", TWO, TWO_TURNED),
        ("HGETALL h", b"*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", b"*4\r\n+b\r\n+2\r\n+a\r\n+1\r\n"),
        ("TTL k", b":100\r\n", b":99\r\n"),
        ("SRANDMEMBER s 2", TWO, TWO_TURNED),
        ("SRANDMEMBER s -2", TWO, TWICE),
        ("SPOP s 2", TWO, b"*2\r\n$1\r\ny\r\n$1\r\nx\r\n"),
        ("RANDOMKEY", b"$1\r\ns\r\n", b"$1\r\nk\r\n"),
    ],
)
def test_open_replies_may_differ(args: str, redis: bytes, strata: bytes, wire: WireClient) -> None:
    assert judged(args, redis, strata, wire)


@pytest.mark.parametrize(
    ("args", "redis", "strata"),
    [
        ("GET k", b"$1\r\nv\r\n", b"+v\r\n"),
        ("GET k", b"$-1\r\n", b"*-1\r\n"),
        ("ZRANGE z 0 -1", TWO, TWO_TURNED),
        ("SMEMBERS s", TWO, TWO_OTHER),
        ("SMEMBERS s", TWO, TWO.replace(b"*", b"~")),
        ("SMEMBERS s", b"-ERR a\r\n", b"-ERR b\r\n"),
        ("SMEMBERS s", TWO, b"-ERR a\r\n"),
        ("HGETALL h", b"*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", b"*4\r\n+b\r\n+1\r\n+a\r\n+2\r\n"),
        ("TTL k", b":100\r\n", b":-1\r\n"),
        ("TTL k", b":-2\r\n", b":-1\r\n"),
        ("PTTL k", b":100000\r\n", b":50000\r\n"),
        ("SRANDMEMBER s 2", TWO, TWICE),
        ("SRANDMEMBER s 2", TWO, TWO_OTHER),
        ("SRANDMEMBER s 2", TWO, b"*1\r\n$1\r\na\r\n"),
        ("SPOP s 2", TWO, b"*2\r\n$1\r\nx\r\n$1\r\nx\r\n"),
        ("SPOP s 2", TWO, TWO_TURNED),
        ("RANDOMKEY", b"$1\r\nk\r\n", b"$1\r\nx\r\n"),
        ("EXPIRE k 100", b":1\r\n", b":0\r\n"),
        ("SSCAN s 0", b"*2\r\n$1\r\n0\r\n" + TWO, b"*2\r\n$1\r\n0\r\n" + TWO_OTHER),
        ("OBJECT ENCODING k", b"$3\r\nint\r\n", b"$8\r\nlistpack\r\n"),
    ],
)
def test_real_differences_are_seen(
    args: str, redis: bytes, strata: bytes, wire: WireClient
) -> None:
    assert not judged(args, redis, strata, wire)


class Meddler(WireClient):
    """A client that hides one write from its server, as a faulty server would."""

    def write(self, data: bytes) -> None:
        super().write(data.replace(b"$2\r\nv2", b"$2\r\nv3"))


@pytest.mark.parametrize("commands", [[b"SET k v2", b"GET k"], [b"SET k v2"], [b"SADD k v2 a"]])
def test_a_faulty_server_is_caught_by_reply_or_by_state(
    commands: list[bytes], redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = RedisServer(tmp_path_factory.mktemp("faulty") / "data").start()
    try:
        pair = Pair(redis_server.client, lambda protocol: Meddler(other.port, protocol), 2)
        with pytest.raises(Mismatch, match="v3"):
            pair.run([tuple(command.split()) for command in commands])
    finally:
        other.stop()
