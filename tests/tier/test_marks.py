"""The Redis of sorted sets v3 has the mark of its store: one that was emptied is not believed."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from stratakv.cli import main
from stratakv.encodings.keyspace.zset_marks import (
    CLUSTER_MARKS,
    EMPTIED,
    FOREIGN,
    NAME,
    judge,
    mark_near,
    names_in,
)
from stratakv.slots import slot_of
from stratakv.storage.cache.contract import NoCache
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient, encode
from tests.tier.servers import PATIENT


def url(redis: RedisServer) -> str:
    return f"redis://127.0.0.1:{redis.port}/1"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis").start()
    yield server
    server.stop()


@pytest.fixture
def strata(redis: RedisServer, tmp_path: Path) -> Iterator[StrataServer]:
    flags = ("--zset-store-url", url(redis), "--zset-encoding", "3", *PATIENT)
    server = StrataServer(tmp_path / "strata", flags=flags).start()
    with server.client() as client:
        words = ("ZADD", "z", "1", "a", "2", "b", "3", "a member of many letters")
        wait_until(lambda: client.send(*words).raw in (b":3\r\n", b":0\r\n"))
    yield server
    server.stop()


def told(client: WireClient, name: str) -> bytes:
    text = client.send("INFO", "cache").frame.data or b""
    line = next(line for line in text.splitlines() if line.startswith(name.encode() + b":"))
    return line.split(b":", 1)[1]


def usable(client: WireClient) -> bool:
    return told(client, "zset_store_usable") == b"1"


def refused(client: WireClient, reason: str) -> None:
    """Readers and writers of sorted sets v3 hear why; all others are served."""
    for call in (
        ("ZCARD", "z"),
        ("ZSCORE", "z", "a"),
        ("ZRANGE", "z", "0", "-1"),
        ("ZADD", "z", "9", "new"),
        ("ZADD", "another", "9", "new"),
        ("ZREM", "z", "a"),
        ("ZUNION", "1", "z"),
    ):
        reply = client.send(*call).raw
        assert reply.startswith(
            b"-ERR the scores of this sorted set are in the Redis of zset-store"
        )
        assert reason.encode() in reply, call
    assert client.send("SET", "other", "1").raw == b"+OK\r\n"
    assert client.send("EXISTS", "z").raw == b":1\r\n"


def health(server: StrataServer) -> tuple[int, str]:
    place = f"http://127.0.0.1:{server.http_port}/healthz"
    try:
        with urllib.request.urlopen(place, timeout=HANG_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(server: StrataServer) -> str:
    place = f"http://127.0.0.1:{server.http_port}/metrics"
    with urllib.request.urlopen(place, timeout=HANG_S) as reply:
        lines: list[str] = reply.read().decode().splitlines()
    return next(line for line in lines if line.startswith("stratakv_zset_store_refused "))


def start_empty_again(redis: RedisServer) -> None:
    """The same address, without the data."""
    port = redis.port
    redis.stop()
    again = RedisServer(redis.dir)
    again.port = port
    again._spawn(again._argv(), {})
    redis.process = again.process
    assert redis._answers()


# emptied and exchanged


def test_a_flushed_redis_is_noticed_by_the_first_command(
    redis: RedisServer, strata: StrataServer
) -> None:
    with redis.client() as admin, strata.client() as client:
        for call in (("ZCARD", "z"), ("ZADD", "fresh", "1", "x"), ("ZSCORE", "z", "a")):
            assert not client.send(*call).frame.is_error
            admin.send("FLUSHALL")
            assert EMPTIED.encode() in client.send(*call).raw
            refused(client, EMPTIED)
            assert client.send("STRATA", "ADOPT").raw == b"+OK\r\n"
            wait_until(lambda: usable(client))
            client.send("DEL", "z", "fresh")
            client.send("ZADD", "z", "1", "a")


def test_a_flushed_redis_is_noticed_while_nobody_asks(
    redis: RedisServer, strata: StrataServer
) -> None:
    assert health(strata) == (200, "ok\n")
    assert metric(strata).endswith(" 0.0")
    with redis.client() as admin, strata.client() as client:
        admin.send("FLUSHALL")
        wait_until(lambda: health(strata)[0] == 503)
        assert EMPTIED in health(strata)[1]
        assert metric(strata).endswith(" 1.0")
        assert told(client, "zset_store_refusal") == EMPTIED.encode()
        wait_until(lambda: EMPTIED in strata.output())
        refused(client, EMPTIED)


def test_a_redis_that_restarts_empty_is_refused(redis: RedisServer, strata: StrataServer) -> None:
    start_empty_again(redis)
    with strata.client() as client:
        wait_until(lambda: told(client, "zset_store_refusal") == EMPTIED.encode())
        refused(client, EMPTIED)


def test_a_restart_of_ours_finds_the_loss_too(
    redis: RedisServer, strata: StrataServer, tmp_path: Path
) -> None:
    strata.stop()
    with redis.client() as admin:
        admin.send("FLUSHALL")
    strata.start()
    with strata.client() as client:
        wait_until(lambda: told(client, "zset_store_refusal") == EMPTIED.encode())
        refused(client, EMPTIED)
    strata.stop()
    assert main(["check", str(tmp_path / "strata")]) == 0


def test_the_redis_of_another_store_is_refused(
    redis: RedisServer, strata: StrataServer, tmp_path: Path
) -> None:
    other_redis = RedisServer(tmp_path / "other-redis").start()
    flags = ("--zset-store-url", url(other_redis), "--zset-encoding", "3")
    other = StrataServer(tmp_path / "other", flags=flags).start()
    try:
        with strata.client() as client, other.client() as theirs:
            wait_until(lambda: not theirs.send("ZADD", "z", "5", "theirs").frame.is_error)
            client.send("CONFIG", "SET", "zset-store-url", url(other_redis))
            wait_until(lambda: told(client, "zset_store_refusal") == FOREIGN.encode())
            refused(client, FOREIGN)
            assert b"has not lost the mark" in client.send("STRATA", "ADOPT").raw
            assert theirs.send("ZSCORE", "z", "theirs").frame.data == b"5"
            client.send("CONFIG", "SET", "zset-store-url", url(redis))
            wait_until(lambda: usable(client))
            assert client.send("ZCARD", "z").raw == b":3\r\n"
    finally:
        other.stop()
        other_redis.stop()


def test_an_empty_redis_in_its_place_is_refused(strata: StrataServer, tmp_path: Path) -> None:
    empty = RedisServer(tmp_path / "empty").start()
    with strata.client() as client:
        client.send("CONFIG", "SET", "zset-store-url", url(empty))
        wait_until(lambda: told(client, "zset_store_refusal") == EMPTIED.encode())
        refused(client, EMPTIED)
    empty.stop()


def test_data_that_come_back_are_used_again(redis: RedisServer, strata: StrataServer) -> None:
    with redis.client() as admin, strata.client() as client:
        admin.send("SELECT", "1")
        admin.send("SWAPDB", "1", "2")
        wait_until(lambda: told(client, "zset_store_refusal") == EMPTIED.encode())
        refused(client, EMPTIED)
        admin.send("SWAPDB", "1", "2")
        wait_until(lambda: usable(client))
        assert client.send("ZRANGE", "z", "0", "1").frame.blobs() == [b"a", b"b"]
        assert health(strata)[0] == 200


def test_keys_are_deleted_while_their_redis_is_refused_and_not_in_it(
    redis: RedisServer, strata: StrataServer
) -> None:
    with redis.client() as admin, strata.client() as client:
        admin.send("SELECT", "1")
        admin.send("DEL", NAME)
        wait_until(lambda: told(client, "zset_store_refusal") == EMPTIED.encode())
        assert client.send("DEL", "z").raw == b":1\r\n"
        assert client.send("EXISTS", "z").raw == b":0\r\n"
        assert admin.send("DBSIZE").raw == b":1\r\n", "what is refused is left alone"
        assert client.send("STRATA", "ADOPT").raw == b"+OK\r\n"
        wait_until(lambda: admin.send("KEYS", "*").frame.blobs() == [NAME])


# first use


def test_who_never_makes_a_sorted_set_v3_leaves_no_mark(redis: RedisServer, tmp_path: Path) -> None:
    flags = ("--zset-store-url", url(redis))
    server = StrataServer(tmp_path / "unused", flags=flags).start()
    with redis.client() as admin, server.client() as client:
        admin.send("SELECT", "1")
        assert client.send("ZADD", "z", "1", "a").raw == b":1\r\n"
        assert admin.send("DBSIZE").raw == b":0\r\n"
        client.send("CONFIG", "SET", "zset-encoding", "3")
        clients = [server.client() for _ in range(5)]
        for number, one in enumerate(clients):  # all of them wait for the same mark
            one.write(encode("ZADD", f"key-{number}", "1", "a"))
        assert [one.read().raw for one in clients] == [b":1\r\n"] * 5
        assert NAME in admin.send("KEYS", "*").frame.blobs()
        for one in clients:
            one.close()
    server.stop()


def test_the_mark_outlives_restarts_and_crashes(redis: RedisServer, strata: StrataServer) -> None:
    with redis.client() as admin:
        admin.send("SELECT", "1")
        mark = admin.send("GET", NAME).frame.data
        assert mark is not None
        assert len(mark) == 32
        strata.kill9()
        strata.start()
        with strata.client() as client:
            wait_until(lambda: usable(client))
            assert client.send("ZCARD", "z").raw == b":3\r\n"
        assert admin.send("GET", NAME).frame.data == mark


def test_a_store_from_before_the_mark_is_marked(
    redis: RedisServer, strata: StrataServer, tmp_path: Path
) -> None:
    from stratakv.encodings.layout import rows
    from stratakv.storage.leveldb.engine import LevelEngine

    strata.stop()
    engine = LevelEngine(tmp_path / "strata")
    engine.write({rows.ZSET_STORE_ROW: None})
    engine.close()
    with redis.client() as admin:
        admin.send("SELECT", "1")
        admin.send("DEL", NAME)
        strata.start()
        with strata.client() as client:
            wait_until(lambda: usable(client))
            assert client.send("ZCARD", "z").raw == b":3\r\n"
        assert admin.send("EXISTS", NAME).raw == b":1\r\n"


# the policy


def test_a_policy_that_evicts_is_noticed_while_running(
    redis: RedisServer, strata: StrataServer
) -> None:
    with redis.client() as admin, strata.client() as client:
        admin.send("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        wait_until(lambda: b"allkeys-lru" in told(client, "zset_store_refusal"))
        refused(client, "its maxmemory-policy is allkeys-lru")
        assert health(strata)[0] == 503
        admin.send("CONFIG", "SET", "maxmemory-policy", "noeviction")
        wait_until(lambda: usable(client))
        assert client.send("ZCARD", "z").raw == b":3\r\n"


# names


class FakeCluster(NoCache):
    def together(self, one: bytes, other: bytes) -> bool:
        return slot_of(one) == slot_of(other)


def test_marks_are_spread_over_a_cluster() -> None:
    names = names_in(FakeCluster())
    assert len(set(names)) == CLUSTER_MARKS
    slots = sorted(slot_of(name) for name in names)
    assert max(b - a for a, b in pairwise(slots)) < 16384 // 6
    assert names_in(NoCache()) == (NAME,)
    for number in range(1000):
        name = b"c#0:%d" % number
        sample_row = mark_near(FakeCluster(), (b"ZCARD", name))
        assert sample_row in names
        assert slot_of(sample_row) <= slot_of(name) or slot_of(name) < slots[0]


def test_marks_are_judged() -> None:
    assert judge([b"t", b"t"], b"t") == ""
    assert judge([b"t", None], b"t") == EMPTIED
    assert judge([b"u", None], b"t") == FOREIGN
    assert judge([b"u"], b"") == FOREIGN
