"""Pub/Sub against redis-server: bytes of every reply and message, in RESP2 and RESP3."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.commands.scripts import parse
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Reply, WireClient, encode

Server = RedisServer | StrataServer

ALONE = {
    "one reply for each channel": "SUBSCRIBE a b a",
    "patterns count too": "SUBSCRIBE a\nPSUBSCRIBE a* b*\nUNSUBSCRIBE a\nPUNSUBSCRIBE b*",
    "shard channels count alone": "SUBSCRIBE a\nSSUBSCRIBE s t\nSUNSUBSCRIBE s\nUNSUBSCRIBE a",
    "the end of nothing": "UNSUBSCRIBE\nPUNSUBSCRIBE\nSUNSUBSCRIBE\nUNSUBSCRIBE a b",
    "the end of all": "SUBSCRIBE a\nUNSUBSCRIBE\nUNSUBSCRIBE\nPSUBSCRIBE a*\nPUNSUBSCRIBE\nGET k",
    "the same twice": "PSUBSCRIBE a* a*\nSSUBSCRIBE s s\nSUNSUBSCRIBE s s",
    "ping": "SUBSCRIBE a\nPING\nPING x\nPING x y\nUNSUBSCRIBE\nPING",
    "what a subscriber may do": """
        SUBSCRIBE a
        GET k
        get k
        CLIENT LIST x
        CONFIG nosuch
        nosuch
        GET
        PUBSUB NUMPAT
        MULTI
        RESET
        GET k
    """,
    "a shard subscriber": "SSUBSCRIBE s\nGET k\nSUNSUBSCRIBE\nGET k",
    "a transaction": "MULTI\nSUBSCRIBE a b\nPING\nEXEC\nUNSUBSCRIBE a\nMULTI",
    "a transaction that unsubscribes": "MULTI\nUNSUBSCRIBE\nPUBLISH a x\nEXEC",
    "replies are off": "CLIENT REPLY OFF\nSUBSCRIBE a\nPING\nUNSUBSCRIBE a\nCLIENT REPLY ON\nPING",
    "wrong calls": "SUBSCRIBE\nPSUBSCRIBE\nSSUBSCRIBE\nPUBLISH a\nSPUBLISH a b c\nPUBSUB\nPUBSUB x",
    "questions": """
        PUBSUB CHANNELS
        PUBSUB CHANNELS a*
        PUBSUB CHANNELS a b
        PUBSUB SHARDCHANNELS a b
        PUBSUB NUMSUB
        PUBSUB NUMSUB a b
        PUBSUB SHARDNUMSUB a
        PUBSUB NUMPAT
        PUBSUB NUMPAT x
        PUBLISH a x
        SPUBLISH a x
    """,
}


@pytest.mark.parametrize("script", ALONE.values(), ids=ALONE.keys())
def test_a_client_alone(script: str, redis_wire: WireClient, strata_wire: WireClient) -> None:
    data = b"".join(encode(*call) for call in [*parse(script), [b"QUIT"]])
    said = []
    for wire in (redis_wire, strata_wire):
        wire.write(data)
        said.append(wire.read_to_end())
    assert said[1] == said[0]


RESP3_ONLY = {
    "its own messages": """
        SUBSCRIBE a
        PSUBSCRIBE a*
        SSUBSCRIBE a
        PUBLISH a x
        SPUBLISH a x
        PUBLISH b x
        SET k v
        GET k
        PUBSUB CHANNELS
        PUBSUB SHARDCHANNELS
        PUBSUB NUMSUB a b
        PUBSUB NUMPAT
    """,
    "replies are off": "SUBSCRIBE a\nCLIENT REPLY OFF\nPUBLISH a x\nCLIENT REPLY ON\nPING",
    "back to resp2": "SUBSCRIBE a\nRESET\nPING\nSUBSCRIBE a\nPING\nGET k",
}


@pytest.mark.parametrize("script", RESP3_ONLY.values(), ids=RESP3_ONLY.keys())
@pytest.mark.parametrize("protocol", [3])
def test_a_client_of_resp3_may_do_everything(
    script: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    test_a_client_alone(script, redis_wire, strata_wire)


def test_messages_reach_channels_first_and_patterns_then(
    redis_server: Server, strata_server: Server, protocol: int
) -> None:
    def talk(server: Server) -> list[bytes]:
        with server.client(protocol) as hear, server.client() as send:
            heard = _subscribe(hear, "PSUBSCRIBE n*", "SUBSCRIBE news", "SSUBSCRIBE news")
            sent = [send.send("PUBLISH", name, "m") for name in ("news", "n2", "x")]
            sent.append(send.send("SPUBLISH", "news", b"\x00\r\n"))
            heard += [hear.read_any() for _ in range(4)]
            return [reply.raw for reply in heard + sent]

    assert talk(strata_server) == talk(redis_server)


def test_receivers_are_counted_once_for_each_subscription(
    redis_server: Server, strata_server: Server
) -> None:
    def talk(server: Server) -> list[bytes]:
        with server.client() as one, server.client(3) as two, server.client() as send:
            _subscribe(one, "SUBSCRIBE a", "PSUBSCRIBE *")
            _subscribe(two, "SUBSCRIBE a")
            said = [send.send("PUBLISH", "a", "x").raw, send.send("PUBSUB", "NUMSUB", "a").raw]
            said += [one.read_any().raw, one.read_any().raw, two.read_any().raw]
        return [*said, _wait_for(server, ["PUBSUB", "NUMSUB", "a"], b"*2\r\n$1\r\na\r\n:0\r\n")]

    assert talk(strata_server) == talk(redis_server)


def test_a_transaction_publishes_when_it_has_ended(strata_server: StrataServer) -> None:
    with strata_server.client() as hear, strata_server.client() as send:
        hear.send("SUBSCRIBE", "a")
        for call in (["MULTI"], ["PUBLISH", "a", "dropped"], ["DISCARD"], ["MULTI"]):
            send.send(*call)
        send.send("PUBLISH", "a", "1")
        send.send("PUBLISH", "a", "2")
        assert send.send("EXEC").raw == b"*2\r\n:1\r\n:1\r\n"
        assert [hear.read().frame.blobs()[2] for _ in range(2)] == [b"1", b"2"]


def test_a_resp3_client_finds_its_own_messages_before_the_reply_of_exec(
    strata_server: StrataServer,
) -> None:
    with strata_server.client(3) as client:
        calls = [["SUBSCRIBE", "a"], ["MULTI"], ["PUBLISH", "a", "x"], ["SET", "k", "v"], ["EXEC"]]
        client.write(b"".join(encode(*call) for call in calls))
        kinds = [client.read_any().frame.kind for _ in range(6)]
        assert kinds == [">", "+", "+", "+", ">", "*"]


@pytest.mark.parametrize("protocol", [3])
def test_client_and_info_know_subscribers(
    redis_wire: WireClient, strata_wire: WireClient, redis_server: Server, strata_server: Server
) -> None:
    def talk(wire: WireClient, server: Server) -> list[object]:
        before = _facts(wire)
        with server.client(3) as other:
            _subscribe(other, "SUBSCRIBE a b", "PSUBSCRIBE a*", "SSUBSCRIBE s")
            lines = (wire.send("CLIENT", "LIST", "TYPE", "pubsub").frame.data or b"").split()
            shown = [word for word in lines if word.split(b"=")[0] in _SHOWN]
            during = _facts(wire)
            killed = wire.send("CLIENT", "KILL", "TYPE", "pubsub").raw
            with pytest.raises(ConnectionError):
                other.read_any()
        _wait_for(server, ["PUBSUB", "NUMPAT"], b":0\r\n")
        return [before, shown, during, killed, _facts(wire)]

    assert talk(strata_wire, strata_server) == talk(redis_wire, redis_server)


_SHOWN = (b"flags", b"sub", b"psub", b"ssub")


def _facts(wire: WireClient) -> list[bytes]:
    lines = (wire.send("INFO", "stats").frame.data or b"").splitlines()
    return [line for line in lines if line.startswith(b"pubsub")]


def test_a_silent_subscriber_is_not_idle(strata_server: StrataServer) -> None:
    with strata_server.client() as hear, strata_server.client() as idle:
        hear.send("SUBSCRIBE", "a")
        idle.send("CONFIG", "SET", "timeout", 1)
        try:
            assert idle.read_to_end() == b""
            assert hear.send("PING").frame.blobs() == [b"pong", b""]
        finally:
            with strata_server.client() as client:
                client.send("CONFIG", "SET", "timeout", 0)


# slow subscribers

_LIMIT = "client-output-buffer-limit"
_MESSAGE = b"x" * 100_000


@pytest.fixture
def limits(strata_server: StrataServer) -> Iterator[Callable[[str], None]]:
    """Sets the limits of subscribers, and puts the default back at the end."""
    with strata_server.client() as client:
        normal = client.send("CONFIG", "GET", _LIMIT).frame.blobs()[1]
        yield lambda text: _set_limit(client, text.encode())
        _set_limit(client, normal)


def _set_limit(client: WireClient, text: bytes) -> None:
    assert client.send("CONFIG", "SET", _LIMIT, text).raw == b"+OK\r\n"


def test_a_subscriber_above_the_hard_limit_is_cut(
    strata_server: StrataServer, limits: Callable[[str], None]
) -> None:
    limits("pubsub 1000000 0 0")
    with strata_server.client() as hear, strata_server.client() as send:
        hear.send("SUBSCRIBE", "a")
        assert _publish_until_cut(send, 400) < 400


def test_a_subscriber_above_the_soft_limit_is_cut_when_its_time_is_up(
    strata_server: StrataServer, limits: Callable[[str], None]
) -> None:
    limits("pubsub 0 200000 3")
    with strata_server.client() as hear, strata_server.client() as send:
        hear.send("SUBSCRIBE", "a")
        started = time.monotonic()
        while int(_field(send, b"omem")) <= 1_000_000:
            assert send.send("PUBLISH", "a", _MESSAGE).frame.number == 1
        _wait_for(strata_server, ["PUBSUB", "NUMSUB", "a"], b"*2\r\n$1\r\na\r\n:0\r\n")
        assert time.monotonic() - started > 2


def test_a_subscriber_that_reads_is_never_cut(
    strata_server: StrataServer, limits: Callable[[str], None]
) -> None:
    limits("pubsub 1000000 200000 1")
    with strata_server.client() as hear, strata_server.client() as send:
        hear.send("SUBSCRIBE", "a")
        for _ in range(100):
            assert send.send("PUBLISH", "a", _MESSAGE).frame.number == 1
            assert hear.read().frame.blobs()[2] == _MESSAGE


def test_the_limits_of_subscribers_are_not_those_of_others(
    strata_server: StrataServer, limits: Callable[[str], None]
) -> None:
    limits("pubsub 1000000 0 0")
    with strata_server.client() as client:
        client.send("SET", "big", b"x" * 5_000_000)
        calls = [encode("GET", "big")] * 4
        client.write(b"".join(calls))
        time.sleep(0.05)
        assert [len(client.read().frame.data or b"") for _ in calls] == [5_000_000] * 4


def _publish_until_cut(send: WireClient, most: int) -> int:
    for number in range(most):
        if send.send("PUBLISH", "a", _MESSAGE).frame.number == 0:
            return number
    return most


def _field(send: WireClient, name: bytes) -> bytes:
    lines = send.send("CLIENT", "LIST", "TYPE", "pubsub").frame.data or b""
    return next(word for word in lines.split() if word.startswith(name + b"="))[len(name) + 1 :]


# long replies


def test_a_message_never_falls_into_the_middle_of_a_long_reply(
    strata_server: StrataServer,
) -> None:
    members = [b"%06d" % number + b"x" * 200 for number in range(20_000)]
    with strata_server.client(3) as client, strata_server.client() as send:
        send.send("DEL", "big")
        for at in range(0, len(members), 5000):
            send.send("SADD", "big", *members[at : at + 5000])
        client.write(encode("SUBSCRIBE", "a"))
        client.read_any()
        client.write(encode("SMEMBERS", "big"))
        for number in range(200):
            send.send("PUBLISH", "a", number)
        assert client.read().frame.blobs() == members
        while len(client.pushes) < 200:
            client.pushes.append(client.read_any())
        got = [push.frame.blobs()[2] for push in client.pushes]
        assert got == [b"%d" % number for number in range(200)]
        send.send("DEL", "big")


def _subscribe(client: WireClient, *calls: str) -> list[Reply]:
    """Send subscriptions and take their confirmations."""
    replies = []
    for call in calls:
        words = call.split()
        client.write(encode(*words))
        replies += [client.read_any() for _ in words[1:]]
    return replies


def _wait_for(server: Server, call: list[str], expected: bytes) -> bytes:
    """The reply of a call, asked for until it is as expected."""
    with server.client() as client:
        wait_until(lambda: client.send(*call).raw == expected, lambda: client.send(*call).raw)
    return expected
