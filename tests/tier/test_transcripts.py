"""What commands do together is the same in every encode-version: blocking, units, copies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import HANG_S
from tests.harness.wire import encode
from tests.tier.servers import start_strata

LONG = "a-member-of-15-or-more"

TRANSCRIPT = f"""
ZADD y 1 m 2 n 3 {LONG} | MULTI | ZADD y 4 o | ZRANGE y 0 -1 WITHSCORES | ZREM y m | ZRANK y n
ZPOPMAX y | ZCARD y | EXEC | ZRANGE y 0 -1 WITHSCORES | COPY y y2 | RENAME y2 y3 | ZRANK y3 {LONG}
MOVE y3 1 | SELECT 1 | ZREVRANGE y3 0 0 WITHSCORES | OBJECT ENCODING y3 | SELECT 0
ZRANGESTORE d y 0 0 | ZUNIONSTORE u 2 y d | ZRANGE u 0 -1 WITHSCORES | SORT y BY nosort
SADD s m {LONG} | ZINTER 2 y s WITHSCORES | ZRANGEBYSCORE y -inf +inf LIMIT 1 1 | ZCOUNT y 2 3
ZREMRANGEBYRANK y 0 0 | EXISTS y | ZREMRANGEBYSCORE y -inf +inf | EXISTS y | ZSCORE y m
HSET h a 1 b 2 | MULTI | HGET h a | HSET h a 9 | HGET h a | HGETALL h | EXEC | HMGET h a b c
HDEL h a b | EXISTS h | SADD t a b | MULTI | SREM t a | SMEMBERS t | EXEC | SMEMBERS t
"""


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("tier") / "data").start()
    yield server
    server.stop()


@pytest.fixture(scope="module", params=["1", "2", "3"])
def strata(
    request: pytest.FixtureRequest, tier: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StrataServer]:
    flags = ("--zset-encoding", request.param, "--hash-encoding", "2", "--set-encoding", "2")
    with tier.client() as client:
        client.send("FLUSHALL")  # a store of another time may have left its mark
    server = start_strata(tmp_path_factory.mktemp("strata") / "data", tier, *flags)
    yield server
    server.stop()


def test_a_transcript_is_that_of_redis(strata: StrataServer, redis_server: RedisServer) -> None:
    with strata.client() as ours, redis_server.client() as theirs:
        for client in (ours, theirs):
            client.send("FLUSHALL")
        for line in TRANSCRIPT.strip().replace("\n", " | ").split(" | "):
            words = line.split()
            assert ours.send(*words).raw == theirs.send(*words).raw, line


def test_clients_that_wait_for_members_are_served(strata: StrataServer) -> None:
    with strata.client() as first, strata.client() as second, strata.client() as giver:
        giver.send("FLUSHALL")
        for count, (client, name) in enumerate(((first, b"BZPOPMIN"), (second, b"BZPOPMAX")), 1):
            client.write(encode(name, b"z", b"0"))
            strata.wait_until_blocked(count)
        assert giver.send("ZADD", "z", "1", "low", "2", LONG).raw == b":2\r\n"
        assert first.read().frame.blobs() == [b"z", b"low", b"1"]
        assert second.read().frame.blobs() == [b"z", LONG.encode(), b"2"]
        assert giver.send("EXISTS", "z").raw == b":0\r\n"


def test_a_watched_key_that_changes_ends_the_transaction(strata: StrataServer) -> None:
    with strata.client() as watcher, strata.client() as writer:
        writer.send("ZADD", "w", "1", "m")
        watcher.send("WATCH", "w")
        writer.send("ZADD", "w", "2", "m")
        watcher.send("MULTI")
        watcher.send("PING")
        assert watcher.send("EXEC").frame.is_null


def test_scripts_see_their_own_writes(strata: StrataServer) -> None:
    script = "redis.call('ZADD', KEYS[1], 5, 'q') return redis.call('ZRANGE', KEYS[1], 0, -1)"
    with strata.client() as client:
        client.send("DEL", "e")
        assert client.send("EVAL", script, "1", "e").frame.blobs() == [b"q"]


def test_the_metrics_show_the_tier(strata: StrataServer) -> None:
    with strata.client() as client:
        client.send("HSET", "seen", "f", "1")
        client.send("HGET", "seen", "f")
        client.send("HGET", "seen", "f")
    page = _page(strata)
    assert 'stratakv_tier_breaker{role="tier"} 1.0' in page
    assert 'stratakv_tier_hits_total{kind="hget"}' in page
    assert "stratakv_tier_request_duration_seconds_bucket" in page


def _page(strata: StrataServer) -> str:
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{strata.http_port}/metrics", timeout=HANG_S) as answer:
        return str(answer.read().decode())
