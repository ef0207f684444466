"""Whatever happens to the tier's Redis: no stale read, no lost write, no failed command."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stratakv.cli import main
from tests.harness.effort import seconds
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode
from tests.tier.ledger import READS, Ledger
from tests.tier.servers import PATIENT, start_strata

SECONDS = seconds(2.5)
PLAIN = ("--hash-encoding", "2", "--set-encoding", "2")
Strike = Callable[[RedisServer, StrataServer], None]


@pytest.fixture
def tier(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "tier").start()
    yield server
    server.stop()


def restart(tier: RedisServer) -> None:
    """On the same port: the server is to find it again."""
    tier._spawn(tier._argv(), {**os.environ})


def kill_and_restart(tier: RedisServer, strata: StrataServer) -> None:
    tier.kill9()
    time.sleep(0.1)
    restart(tier)
    time.sleep(0.4)


def stop_for_a_while(tier: RedisServer, strata: StrataServer) -> None:
    os.kill(tier.pid, signal.SIGSTOP)
    time.sleep(0.15)
    os.kill(tier.pid, signal.SIGCONT)
    time.sleep(0.3)


def flush(tier: RedisServer, strata: StrataServer) -> None:
    with tier.client() as client:
        client.send("FLUSHALL")
    time.sleep(0.003)


def cut(tier: RedisServer, strata: StrataServer) -> None:
    with tier.client() as client:
        client.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    time.sleep(0.1)


def fill_the_memory(tier: RedisServer, strata: StrataServer) -> None:
    with tier.client() as client:
        client.send("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
        client.send("CONFIG", "SET", "maxmemory", "1500kb")
        client.send("SET", "ballast", "x" * 600_000)
    time.sleep(0.02)


def leave_no_memory(tier: RedisServer, strata: StrataServer) -> None:
    with tier.client() as client:
        client.send("CONFIG", "SET", "maxmemory-policy", "noeviction")
        client.send("CONFIG", "SET", "maxmemory", "1")
        time.sleep(0.05)
        client.send("CONFIG", "SET", "maxmemory", "0")
    time.sleep(0.05)


def swap(tier: RedisServer, strata: StrataServer) -> None:
    """Away, to an empty database of the same server, and back."""
    with strata.client() as client:
        for url in ("", f"redis://127.0.0.1:{tier.port}/3", f"redis://127.0.0.1:{tier.port}/0"):
            assert client.send("CONFIG", "SET", "cache-url", url).raw == b"+OK\r\n"
            time.sleep(0.05)


STRIKES = [
    kill_and_restart,
    stop_for_a_while,
    flush,
    cut,
    fill_the_memory,
    leave_no_memory,
    swap,
]


@pytest.mark.effort
@pytest.mark.parametrize("zset", ["1", "2"])
@pytest.mark.parametrize("strike", STRIKES, ids=lambda strike: strike.__name__)
def test_no_read_is_stale_and_no_write_is_lost(
    strike: Strike, zset: str, tier: RedisServer, tmp_path: Path
) -> None:
    strata = start_strata(tmp_path / "strata", tier, *PLAIN, "--zset-encoding", zset)
    try:
        with Ledger(strata) as ledger:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and not ledger.over.is_set():
                strike(tier, strata)
        wait_until(lambda: _every_read_hits(ledger, strata), lambda: _info(strata))
    finally:
        strata.stop()


@pytest.mark.effort
@pytest.mark.parametrize("strike", [stop_for_a_while, cut, swap], ids=lambda one: one.__name__)
def test_a_sorted_set_v3_says_when_its_scores_are_away(
    strike: Strike, tier: RedisServer, tmp_path: Path
) -> None:
    flags = ("--zset-encoding", "3", "--zset-store-timeout", "50")
    strata = start_strata(tmp_path / "strata", tier, *flags)
    try:
        with Ledger(strata, kinds=("zset",), tolerates=b"-ERR the scores of this") as ledger:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and not ledger.over.is_set():
                strike(tier, strata)
    finally:
        strata.stop()


def test_keys_of_tiered_versions_outlive_their_tier(
    tier: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = (*PLAIN, "--zset-encoding", "2")
    strata = start_strata(tmp_path / "strata", tier, *flags)
    with strata.client() as client:
        client.send("HSET", "h", "f", "1")
        client.send("SADD", "s", "a", "b")
        client.send("ZADD", "z", "2", "b", "1", "a-member-of-more-than-15")
        client.send("CONFIG", "SET", "zset-encoding", "3")
        client.send("ZADD", "z3", "1", "a")
    strata.stop()
    alone = StrataServer(tmp_path / "strata").start()
    try:
        with alone.client() as client:
            assert client.send("HGETALL", "h").frame.blobs() == [b"f", b"1"]
            assert client.send("HSET", "h", "f", "2").raw == b":0\r\n"
            assert client.send("HGET", "h", "f").frame.data == b"2"
            assert client.send("SMEMBERS", "s").frame.blobs() == [b"a", b"b"]
            assert client.send("ZRANK", "z", "b").raw == b":1\r\n"
            assert client.send("ZADD", "z", "0", "c").raw == b":1\r\n"
            assert client.send("ZRANGEBYSCORE", "z", "0", "1").frame.blobs() == [
                b"c",
                b"a-member-of-more-than-15",
            ]
            assert b"zset-store-url" in client.send("ZSCORE", "z3", "a").raw
            assert b"zset-store-url" in client.send("ZADD", "z3", "1", "b").raw
            assert client.send("TYPE", "z3").raw == b"+zset\r\n"
    finally:
        alone.stop()
    assert main(["check", str(tmp_path / "strata")]) == 0
    assert main(["inspect", str(tmp_path / "strata"), "z"]) == 0
    shown = capsys.readouterr().out
    assert "encode-version: 2" in shown
    assert "a-member-of-more-than-15" in shown
    assert main(["inspect", str(tmp_path / "strata"), "nosuch"]) == 1


def test_a_lost_sorted_set_is_rebuilt_once_while_others_are_served(
    tier: RedisServer, tmp_path: Path
) -> None:
    strata = start_strata(tmp_path / "strata", tier, "--zset-encoding", "1", *PATIENT)
    size, waiters = 30_000, 8
    try:
        with strata.client() as client:
            for at in range(0, size, 500):
                pairs = [word for n in range(at, at + 500) for word in (str(n), f"member-{n}")]
                client.send("ZADD", "big", *pairs)
            ranks = [strata.client() for _ in range(waiters)]
            for waiting in ranks:
                waiting.write(encode(b"ZRANK", b"big", b"member-29999"))
            served = 0
            while not _is_readable(ranks[0]):
                client.send("PING")
                served += 1
            assert [waiting.read().frame.number for waiting in ranks] == [29999] * waiters
            for waiting in ranks:
                waiting.close()
            assert int(_info(strata)["cache_zset"].split("rebuilds=")[1]) == 1
            assert served > 1, "others are served meanwhile"
    finally:
        strata.stop()


def _is_readable(client: WireClient) -> bool:
    return bool(select.select([client._sock], [], [], 0)[0])


def _every_read_hits(ledger: Ledger, strata: StrataServer) -> bool:
    """The tier is in use again: what one read fills, the next finds."""
    with strata.client() as client:
        for reads in READS.values():
            for read in (*reads, *reads):
                assert read(ledger, client) is not None
    info = _info(strata)
    kinds = ("hget", "hgetall", "smembers", "zset")
    return all(int(info[f"cache_{kind}"].split("hits=")[1].split(",")[0]) for kind in kinds)


def _info(strata: StrataServer) -> dict[str, str]:
    with strata.client() as client:
        text = client.send("INFO", "cache").frame.data or b""
    lines = (line.partition(":") for line in text.decode().splitlines())
    return {name: value for name, _, value in lines}
