"""Sorted sets v3: a whole read is of one moment; the scores of the dead are deleted some day."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stratakv.cli import main
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import TABLE
from tests.encodings.fixtures import stored as rows_in
from tests.harness.effort import rounds
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.tier.servers import PATIENT, start_strata
from tests.tier.test_entries import names

SIZE = 12_000
"""More than one request fetches."""


@pytest.fixture
def tier(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "tier").start()
    yield server
    server.stop()


@pytest.fixture
def strata(tier: RedisServer, tmp_path: Path) -> Iterator[StrataServer]:
    flags = ("--zset-encoding", "3", "--hash-encoding", "3", "--set-encoding", "3")
    server = start_strata(tmp_path / "strata", tier, *flags, *PATIENT)
    yield server
    server.stop()


def fill(client: WireClient, key: str, size: int) -> None:
    for at in range(0, size, 500):
        pairs = [word for n in range(at, at + 500) for word in (str(n), f"member-number-{n}")]
        client.send("ZADD", key, *pairs)


# whole reads


def read_range(client: WireClient) -> dict[bytes, bytes]:
    flat = client.send("ZRANGE", "big", "0", "-1", "WITHSCORES").frame.blobs()
    found = dict(zip(flat[::2], flat[1::2], strict=True))
    assert len(found) == len(flat) // 2, "a member twice"
    return found


def read_dump(client: WireClient) -> dict[bytes, bytes]:
    payload = client.send("DUMP", "big").frame.data or b""
    assert client.send("RESTORE", "copy", "0", payload, "REPLACE").raw == b"+OK\r\n"
    flat = client.send("ZRANGE", "copy", "0", "-1", "WITHSCORES").frame.blobs()
    return dict(zip(flat[::2], flat[1::2], strict=True))


def read_union(client: WireClient) -> dict[bytes, bytes]:
    flat = client.send("ZUNION", "1", "big", "WITHSCORES").frame.blobs()
    return dict(zip(flat[::2], flat[1::2], strict=True))


Read = Callable[[WireClient], dict[bytes, bytes]]


OTHER_READS = [pytest.param(read, marks=pytest.mark.full) for read in (read_dump, read_union)]


@pytest.mark.parametrize("read", [read_range, *OTHER_READS], ids=lambda one: one.__name__)
def test_a_whole_read_is_of_one_moment(read: Read, strata: StrataServer) -> None:
    """Members that jump from one end to the other, come and go, always both of a pair."""
    over = threading.Event()
    rounds = 0

    def write() -> None:
        nonlocal rounds
        with strata.client() as client:
            while not over.is_set():
                rounds += 1
                far = str(rounds % 2 * 1_000_000 + rounds)
                client.send("ZADD", "big", far, "one-of-the-pair-that-jumps", far, "other")
                client.send("ZREMRANGEBYRANK", "big", "5000", "5000")
                client.send("ZADD", "big", str(5000 + rounds / 1e6), f"new-{rounds}")

    with strata.client() as client:
        fill(client, "big", SIZE)
        client.send("ZADD", "big", "-1", "one-of-the-pair-that-jumps", "-1", "other")
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(6):
                found = read(client)
                assert found[b"one-of-the-pair-that-jumps"] == found[b"other"]
                assert len(found) in (SIZE + 1, SIZE + 2), "a member lost or twice"
        finally:
            over.set()
            writer.join()
    assert rounds > 6


@pytest.mark.parametrize(
    "verbs", [("HSET", "HGETALL"), ("SADD", "SMEMBERS")], ids=lambda one: one[0]
)
def test_whole_reads_of_large_hashes_and_sets_v3(
    verbs: tuple[str, str], strata: StrataServer
) -> None:
    add, everything = verbs
    over = threading.Event()

    def write() -> None:
        number = 0
        with strata.client() as client:
            while not over.is_set():
                number += 1
                value = f"new-{number:05}"
                if add == "HSET":
                    client.send("HSET", "big", "field-00000", value, "field-09999", value)
                else:
                    client.send("SADD", "big", f"a-{number}", f"z-{number}")

    with strata.client() as client:
        for at in range(0, SIZE, 500):
            words = [f"field-{n:05}" for n in range(at, at + 500)]
            client.send(
                add, "big", *(w for word in words for w in (word, "v")[: 1 + (add == "HSET")])
            )
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(10):
                found = client.send(everything, "big").frame.blobs()
                if add == "HSET":
                    values = dict(zip(found[::2], found[1::2], strict=True))
                    assert values[b"field-00000"] == values[b"field-09999"]
                else:
                    ends = {
                        kind: {m[2:] for m in found if m.startswith(kind)}
                        for kind in (b"a-", b"z-")
                    }
                    assert ends[b"a-"] == ends[b"z-"]
        finally:
            over.set()
            writer.join()


# the dead


def stored(tier: RedisServer) -> set[bytes]:
    with tier.client() as client:
        client.send("SELECT", "1")
        return names(client)


def away(client: WireClient, tier: RedisServer) -> None:
    client.send("CONFIG", "SET", "zset-store-url", "")


def back(client: WireClient, tier: RedisServer) -> None:
    client.send("CONFIG", "SET", "zset-store-url", f"redis://127.0.0.1:{tier.port}/1")


def test_scores_of_the_dead_go_when_their_redis_is_back(
    tier: RedisServer, strata: StrataServer
) -> None:
    with strata.client() as client:
        for number in range(50):
            client.send("ZADD", f"flushed-{number}", "1", "a")
        client.send("DEL", "flushed-0")
        client.send("SELECT", "2")
        for key in ("kept", "deleted", "overwritten"):
            client.send("ZADD", key, "1", "a")
        wait_until(lambda: len(stored(tier)) == 52)
        away(client, tier)
        client.send("SELECT", "0")
        client.send("DEL", "flushed-1")
        client.send("FLUSHDB")
        client.send("SELECT", "2")
        client.send("DEL", "deleted")
        client.send("SET", "overwritten", "1")
        time.sleep(0.5)  # so that reclaiming comes by
        assert len(stored(tier)) == 52
        assert client.send("INFO", "store").frame.data is not None
        back(client, tier)
        wait_until(lambda: len(stored(tier)) == 1)
        assert client.send("ZRANGE", "kept", "0", "-1").frame.blobs() == [b"a"]
        client.send("FLUSHALL")
        wait_until(lambda: not stored(tier))


def test_scores_of_a_flushed_database_go_after_a_crash(
    tier: RedisServer, strata: StrataServer, tmp_path: Path
) -> None:
    with strata.client() as client:
        for number in range(300):
            client.send("ZADD", f"z-{number}", "1", "a")
            client.send("SET", f"s-{number}", "1")
        away(client, tier)
        client.send("FLUSHDB")
        time.sleep(0.3)
    strata.kill9()
    strata.start()
    wait_until(lambda: not stored(tier))
    time.sleep(0.3)
    strata.stop()
    assert main(["check", str(tmp_path / "strata")]) == 0


@pytest.mark.effort
def test_a_read_outlives_the_deletion_of_its_key(tier: RedisServer, strata: StrataServer) -> None:
    with strata.client() as reader, strata.client() as client:
        fill(client, "big", 30_000)
        for _ in range(rounds(3)):
            reader.write(
                b"*5\r\n$6\r\nZRANGE\r\n$3\r\nbig\r\n$1\r\n0\r\n$2\r\n-1\r\n$10\r\nWITHSCORES\r\n"
            )
            time.sleep(0.01)
            client.send("COPY", "big", "next")
            client.send("DEL", "big")
            assert len(reader.read().frame.blobs()) == 60_000
            client.send("RENAME", "next", "big")
        client.send("DEL", "big")
        wait_until(lambda: not stored(tier))


def test_a_copy_is_whole_and_stores_no_more_than_the_format_says(
    strata: StrataServer, tmp_path: Path
) -> None:
    """Scores are copied as `s#` rows that a Txn shows; `check` knows that none is stored."""
    short, long = b"fourteen-bytes", b"fifteen-or-more"
    with strata.client() as client:
        client.send("ZADD", "source", "1", short, "2", long)
        assert client.send("COPY", "source", "copy").raw == b":1\r\n"
        client.send("RENAME", "source", "renamed")
        for key in ("copy", "renamed"):
            found = client.send("ZRANGE", key, "0", "-1", "WITHSCORES").frame.blobs()
            assert found == [short, b"1", long, b"2"]
    strata.stop()
    remote = next(one for one in TABLE if one.remote)
    found_rows = {row[:2] for row in rows_in(tmp_path / "strata")}
    assert found_rows & rows.SUB_PREFIXES == set(remote.stored)
    assert main(["check", str(tmp_path / "strata")]) == 0
