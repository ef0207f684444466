"""DUMP and RESTORE over the wire: payloads cross between redis-server and StrataKV both ways."""

import random
from collections.abc import Iterator

import pytest

from tests.commands.frames import unordered
from tests.commands.scripts import assert_same_replies
from tests.encodings.test_rdb import OLDER, ZSETS
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import Arg, Frame, WireClient

Call = tuple[Arg, ...]

READERS: dict[bytes, Call] = {
    b"string": ("GET", "k"),
    b"list": ("LRANGE", "k", 0, -1),
    b"hash": ("HGETALL", "k"),
    b"set": ("SMEMBERS", "k"),
    b"zset": ("ZRANGE", "k", 0, -1, "WITHSCORES"),
    b"stream": ("XINFO", "STREAM", "k", "FULL", "COUNT", 0),
}

LONG = b"long " * 30
BINARY = bytes(range(256))
INTEGERS = [0, 1, -1, 63, 64, 127, 128, -128, -129, 4095, 4096, -4097, 32767, 32768, -32769]
INTEGERS += [8388607, -8388609, 1 << 31, -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63)]
TEXTS: list[Arg] = ["", "a", "007", "1.5", "-0", "x" * 63, "x" * 64, LONG, BINARY, "y" * 5000]


def numbered(prefix: str, count: int) -> list[Arg]:
    return [f"{prefix}{number}" for number in range(count)]


def scores(members: list[Arg]) -> list[Arg]:
    return [word for number, member in enumerate(members) for word in (number / 3, member)]


def fields(members: list[Arg]) -> list[Arg]:
    return [word for member in members for word in (member, f"value of {member!r}")]


def incompressible(size: int) -> bytes:
    return random.Random(size).randbytes(size)


VALUES: dict[str, list[Call]] = {
    **{f"string {text!r:.20}": [("SET", "k", text)] for text in (*TEXTS, *INTEGERS)},
    "string that repeats": [("SET", "k", b"ab" * 30_000 + BINARY * 50)],
    "string that does not": [("SET", "k", incompressible(30_000))],
    "bitmap": [("SETBIT", "k", 100_000, 1)],
    "hyperloglog": [("PFADD", "k", *range(3000))],
    "list of one": [("RPUSH", "k", "a")],
    "list": [("RPUSH", "k", *TEXTS, *INTEGERS)],
    "list of many": [("RPUSH", "k", *numbered("element:", 5000))],
    "list of large elements": [("RPUSH", "k", "a", incompressible(20_000), "b", b"c" * 9000)],
    "hash": [("HSET", "k", *fields([*INTEGERS, "a", "b"]))],
    "hash of a long value": [("HSET", "k", "f", LONG, "", "")],
    "hash of many": [("HSET", "k", *fields(numbered("field:", 3000)))],
    "set of integers": [("SADD", "k", *range(-50, 50))],
    "set of wide integers": [("SADD", "k", *INTEGERS)],
    "set of 32-bit integers": [("SADD", "k", 1, 2, 1 << 20)],
    "set of texts": [("SADD", "k", *TEXTS)],
    "set of many": [("SADD", "k", *numbered("member:", 3000))],
    "set of many integers": [("SADD", "k", *range(3000))],
    "zset": [("ZADD", "k", *scores([*INTEGERS, "a", "b"]))],
    "zset of odd scores": [
        ("ZADD", "k", "inf", "a", "-inf", "b", "1e300", "c", "5e-324", "d", 0.1, "e", -3, "f")
    ],
    "zset of a long member": [("ZADD", "k", 1.5, LONG, 2, "", 3, BINARY)],
    "zset of many": [("ZADD", "k", *scores(numbered("member:", 3000)))],
}


def entries(count: int) -> list[Call]:
    return [("XADD", "k", f"{n // 3}-{n % 3 + 1}", "f", n, "g", f"v{n}") for n in range(count)]


VALUES |= {
    "stream of one": [("XADD", "k", "1-1", "f", "v")],
    "stream of many": entries(500),
    "stream of different fields": [
        *entries(3),
        ("XADD", "k", "5-0", "x", LONG),
        ("XADD", "k", "5-1", "f", "1", "g", "2", "h", ""),
        ("XADD", "k", "9999999999999-9", "f", "-5", "g", BINARY),
        ("XADD", "k", "18446744073709551615-0", "f", 1 << 40, "g", "007"),
        ("XADD", "k", "18446744073709551615-18446744073709551615", "f", "", "f", "y" * 5000),
    ],
    "stream with deleted entries": [*entries(250), ("XDEL", "k", "0-1", "5-1", "83-1")],
    "stream that is empty": [*entries(2), ("XDEL", "k", "0-1", "0-2")],
    "stream with groups": [
        *entries(20),
        ("XGROUP", "CREATE", "k", "untouched", "0"),
        ("XGROUP", "CREATE", "k", "12", "$"),
        ("XGROUP", "CREATE", "k", "g", "0"),
        ("XGROUP", "CREATECONSUMER", "k", "g", "idle"),
        ("XREADGROUP", "GROUP", "g", "c1", "COUNT", 5, "STREAMS", "k", ">"),
        ("XREADGROUP", "GROUP", "g", "c2", "COUNT", 5, "STREAMS", "k", ">"),
        ("XREADGROUP", "GROUP", "g", "c1", "COUNT", 2, "STREAMS", "k", "0"),
        ("XACK", "k", "g", "0-2"),
        ("XDEL", "k", "1-1"),
    ],
}


def value_of(wire: WireClient) -> tuple[bytes, object]:
    """The type of k, and what is in it."""
    kind = wire.send("TYPE", "k").frame.data or b""
    frame = wire.send(*READERS[kind]).frame
    if kind == b"stream":
        return kind, without_nodes(frame)
    return kind, unordered(frame) if kind in (b"hash", b"set") else frame


def without_nodes(frame: Frame) -> list[tuple[Frame, Frame]]:
    """All that is known of a stream, but for the tree that Redis keeps it in."""
    return [pair for pair in frame.pairs() if not (pair[0].data or b"").startswith(b"radix")]


def dumped(wire: WireClient) -> bytes:
    payload = wire.send("DUMP", "k").frame.data
    assert payload is not None
    return payload


@pytest.fixture
def pair(
    redis_server: RedisServer, strata_server: StrataServer
) -> Iterator[tuple[WireClient, WireClient]]:
    with redis_server.client(2) as redis, strata_server.client(2) as strata:
        redis.send("FLUSHALL")
        strata.send("FLUSHALL")
        yield redis, strata


def make(wire: WireClient, calls: list[Call]) -> None:
    for call in calls:
        assert not wire.send(*call).frame.is_error, call[:3]


@pytest.mark.parametrize("name", VALUES)
def test_what_redis_dumps_is_restored(name: str, pair: tuple[WireClient, WireClient]) -> None:
    redis, strata = pair
    make(redis, VALUES[name])
    strata.send("SET", "k", "another")
    assert strata.send("RESTORE", "k", 0, dumped(redis), "REPLACE").raw == b"+OK\r\n"
    assert value_of(strata) == value_of(redis)
    encoding = ("OBJECT", "ENCODING", "k")
    assert strata.send(*encoding).raw == redis.send(*encoding).raw


@pytest.mark.parametrize("name", VALUES)
def test_what_is_dumped_redis_restores(name: str, pair: tuple[WireClient, WireClient]) -> None:
    redis, strata = pair
    make(strata, VALUES[name])
    assert redis.send("RESTORE", "k", 0, dumped(strata)).raw == b"+OK\r\n"
    assert value_of(redis) == value_of(strata)
    payload = dumped(strata)
    assert strata.send("RESTORE", "k", 0, payload, "REPLACE").raw == b"+OK\r\n"
    assert value_of(strata) == value_of(redis)
    assert dumped(strata) == payload


@pytest.mark.parametrize("name", sorted({*OLDER, *ZSETS} - {"set listpack"}))
def test_what_older_servers_dumped_is_restored_alike(
    name: str, pair: tuple[WireClient, WireClient]
) -> None:
    redis, strata = pair
    payload = OLDER[name][0] if name in OLDER else ZSETS[name]
    for wire in pair:
        assert wire.send("RESTORE", "k", 0, payload).raw == b"+OK\r\n"
    assert value_of(strata) == value_of(redis)


def test_small_changes_of_a_payload_are_noticed(pair: tuple[WireClient, WireClient]) -> None:
    redis, strata = pair
    make(redis, [("RPUSH", "k", *TEXTS, *INTEGERS)])
    payload = dumped(redis)
    for at in range(0, len(payload), 97):
        spoilt = payload[:at] + bytes((payload[at] ^ 1,)) + payload[at + 1 :]
        found = strata.send("RESTORE", "t", 0, spoilt)
        assert found.raw == redis.send("RESTORE", "t", 0, spoilt).raw
        assert found.raw.startswith(b"-ERR DUMP payload version or checksum are wrong")


@pytest.fixture
def payload(pair: tuple[WireClient, WireClient]) -> bytes:
    redis, _ = pair
    redis.send("SET", "k", "value")
    return dumped(redis)


def test_options(redis_wire: WireClient, strata_wire: WireClient, payload: bytes) -> None:
    words: list[tuple[Arg, ...]] = [
        (0,),
        (0,),
        (0, "REPLACE"),
        (0, "replace", "absttl", "IDLETIME", 5),
        (0, "REPLACE", "FREQ", 255),
        (0, "REPLACE", "FREQ", 256),
        (0, "REPLACE", "FREQ", -1),
        (0, "REPLACE", "IDLETIME", -1),
        (0, "REPLACE", "IDLETIME", "x"),
        (0, "REPLACE", "IDLETIME", 1, "FREQ", 1),
        (0, "REPLACE", "FREQ", 1, "IDLETIME", 1),
        (0, "REPLACE", "IDLETIME"),
        (0, "foo"),
        (-1, "REPLACE"),
        ("x", "REPLACE"),
        ("x",),
        (9_000_000_000_000, "REPLACE", "ABSTTL"),
        (1000, "REPLACE", "ABSTTL"),
        (1000, "ABSTTL"),
        ((1 << 63) - 1, "REPLACE"),
    ]
    for ttl, *options in words:
        for call in (("RESTORE", "t", ttl, payload, *options), ("GET", "t"), ("PEXPIRETIME", "t")):
            assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call


def test_a_time_to_live_is_relative(strata_wire: WireClient, payload: bytes) -> None:
    strata_wire.send("RESTORE", "t", 100_000, payload)
    left = strata_wire.send("PTTL", "t").frame.number
    assert left is not None
    assert 90_000 < left <= 100_000


def test_wrong_calls(redis_wire: WireClient, strata_wire: WireClient) -> None:
    script = r"""
    DUMP absent
    DUMP
    DUMP a b
    RESTORE k 0
    RESTORE k 0 ""
    RESTORE k 0 short
    RESTORE k 0 "a payload that is none"
    """
    assert_same_replies(script, redis_wire, strata_wire)


def test_a_large_key_crosses_both_ways(pair: tuple[WireClient, WireClient]) -> None:
    redis, strata = pair
    for start in range(0, 20_000, 5000):
        make(redis, [("HSET", "k", *fields([f"f{n}" for n in range(start, start + 5000)]))])
    assert strata.send("RESTORE", "k", 0, dumped(redis)).raw == b"+OK\r\n"
    assert strata.send("HLEN", "k").raw == b":20000\r\n"
    redis.send("DEL", "k")
    assert redis.send("RESTORE", "k", 0, dumped(strata)).raw == b"+OK\r\n"
    assert value_of(redis) == value_of(strata)
