"""Short reads through the tier: they see what was written before them, and are counted once."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode
from tests.tier.servers import PATIENT, start_strata
from tests.tier.test_faults import _info

LONG = "a-member-of-more-than-15"


@pytest.fixture(scope="module")
def strata(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    directory = tmp_path_factory.mktemp("inquiries")
    tier = RedisServer(directory / "tier").start()
    flags = ("--hash-encoding", "2", "--set-encoding", "2", "--zset-encoding", "2")
    server = start_strata(directory / "strata", tier, *flags, *PATIENT)
    yield server
    server.stop()
    tier.stop()


@pytest.fixture
def wire(strata: StrataServer) -> Iterator[WireClient]:
    with strata.client() as client:
        client.send("FLUSHALL")
        yield client


def test_a_pipeline_reads_its_own_writes(wire: WireClient) -> None:
    """Whether the write is still to be committed, on its way, or done."""
    chance = random.Random(7)
    wire.send("ZADD", "z", "-1", "first", "-0.5", LONG)
    sent: list[bytes] = []
    for number in range(1, 400):
        value = b"%d" % number
        writes = [
            encode(b"HSET", b"h", b"f", value, b"g", value),
            encode(b"SADD", b"s", value),
            encode(b"ZADD", b"z", value, LONG.encode()),
        ]
        reads = [
            encode(b"HGET", b"h", b"f"),
            encode(b"HMGET", b"h", b"f", b"g"),
            encode(b"HGETALL", b"h"),
            encode(b"SISMEMBER", b"s", value),
            encode(b"SMEMBERS", b"s"),
            encode(b"ZRANGE", b"z", b"-1", b"-1", b"WITHSCORES"),
        ]
        sent.append(b"".join(writes + reads))
    for number in range(1, 400):
        if chance.random() < 0.5 or number == 1:
            wire.write(sent[number - 1])
        else:
            for_now = len(sent[number - 1]) // 2
            wire.write(sent[number - 1][:for_now])
            wire.write(sent[number - 1][for_now:])
        value = b"%d" % number
        for _ in range(3):
            assert not wire.read().frame.is_error
        assert wire.read().frame.data == value
        assert wire.read().frame.blobs() == [value, value]
        assert wire.read().frame.blobs() == [b"f", value, b"g", value]
        assert wire.read().frame.number == 1
        assert len(wire.read().frame.blobs()) == number
        assert wire.read().frame.blobs() == [LONG.encode(), value]


def counts(strata: StrataServer, kind: str) -> dict[str, int]:
    words = (word.split("=") for word in _info(strata)[f"cache_{kind}"].split(","))
    return {name: int(number) for name, number in words}


@pytest.mark.parametrize(
    ("kinds", "write", "read"),
    [
        ({"hget": 1}, "HSET k f 1 g 2", "HGET k f"),
        ({"hget": 3}, "HSET k f 1 g 2 h 3", "HMGET k f g h"),
        ({"hgetall": 1}, "HSET k f 1 g 2", "HGETALL k"),
        ({"smembers": 1}, "SADD k a b", "SMEMBERS k"),
        ({"zset": 1, "member": 1}, f"ZADD k 1 {LONG}", "ZRANGE k 0 -1"),
    ],
    ids=["HGET", "HMGET", "HGETALL", "SMEMBERS", "ZRANGE"],
)
def test_hits_and_misses_are_counted_once(
    kinds: dict[str, int], write: str, read: str, wire: WireClient, strata: StrataServer
) -> None:
    wire.send(*write.split())
    before = {kind: counts(strata, kind) for kind in kinds}
    first = wire.send(*read.split()).raw
    wait_until(lambda: counts(strata, next(iter(kinds)))["misses"] > 0)
    for _ in range(4):
        assert wire.send(*read.split()).raw == first
    for kind, number in kinds.items():
        after = counts(strata, kind)
        rebuilt = kind == "zset"  # the read that rebuilds it finds it
        assert after["misses"] - before[kind]["misses"] == number
        assert after["hits"] - before[kind]["hits"] == number * (5 if rebuilt else 4)
        assert after["bypasses"] == before[kind]["bypasses"]
