"""Effects that must not depend on who runs them: a Redis follows, and has the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.replication.fleet import contents, follow, info, wait_in_step

MANY = [str(number) for number in range(3000)]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StrataServer, RedisServer]]:
    place = tmp_path_factory.mktemp("effects")
    leader, follower = StrataServer(place / "one").start(), RedisServer(place / "two").start()
    follow(follower, leader)
    yield leader, follower
    follower.stop()
    leader.stop()


@pytest.mark.parametrize("source", ["set", "list", "zset"])
@pytest.mark.parametrize("count", [5, 3000], ids=["short", "long"])
def test_what_sort_stores_is_the_same_elsewhere(
    two: tuple[StrataServer, RedisServer], source: str, count: int
) -> None:
    names = [f"member{number}" for number in MANY[:count]]
    with two[0].client() as one, two[1].client() as other:
        one.send("FLUSHALL")
        one.send("SADD", "set", *names)
        one.send("RPUSH", "list", *names)
        one.send("ZADD", "zset", *[word for name in names for word in ("1", name)])
        for options in (
            ("BY", "nosort"),
            ("BY", "nosort", "DESC", "LIMIT", "1", "3"),
            ("BY", "none_*", "ALPHA"),
            ("BY", "none_*", "ALPHA", "LIMIT", "0", "4"),
            ("BY", "none_*"),
            ("ALPHA", "DESC"),
            ("ALPHA", "GET", "none_*", "GET", "#"),
            ("BY", "nosort", "LIMIT", "0", "0"),
        ):
            stored = one.send("SORT", source, *options, "STORE", "stored").frame.number
            assert stored == one.send("LLEN", "stored").frame.number
            one.send("MULTI")
            one.send("SORT", source, *options, "STORE", "in a unit")
            one.send("EXEC")
            wait_in_step(*two)
            assert contents(other) == contents(one), options
        one.send("SORT", "nothing", "BY", "x", "STORE", "nowhere")
        one.send("PING")
        wait_in_step(*two)
        assert contents(other) == contents(one)


NAMED = """
redis.call('SET', 'all', 1)
redis.set_repl(redis.REPL_NONE) redis.call('SET', 'none', 1) redis.pcall('INCR', 'all')
redis.set_repl(redis.REPL_AOF) redis.call('SET', 'kept', 1)
redis.set_repl(redis.REPL_REPLICA) redis.call('SET', 'told', 1)
for round = 1, tonumber(ARGV[1]) do redis.call('GET', 'all') end
"""


@pytest.mark.parametrize("rounds", [1, 300_000], ids=["short", "in slices"])
def test_a_script_chooses_what_replicas_hear(
    two: tuple[StrataServer, RedisServer], rounds: int
) -> None:
    with two[0].client() as one, two[1].client() as other:
        one.send("FLUSHALL")
        assert one.send("EVAL", NAMED, 0, rounds).frame.is_null
        one.send("EVAL", "redis.call('SET', 'next', 1)", 0)
        wait_in_step(*two)
        found = other.send("MGET", "all", "none", "kept", "told", "next").frame.blobs()
        assert found == [b"1", b"", b"", b"1", b"1"]
        assert one.send("MGET", "all", "none", "kept").frame.blobs() == [b"2", b"1", b"1"]


def test_a_set_that_spop_empties_is_told_as_redis_tells_it(
    two: tuple[StrataServer, RedisServer],
) -> None:
    with two[0].client() as one, two[1].client() as other:
        one.send("FLUSHALL")
        wait_in_step(*two)
        assert other.send("MONITOR").raw == b"+OK\r\n"
        for call in (("SPOP", "s"), ("SPOP", "s", "1"), ("SPOP", "s", "2")):
            one.send("SADD", "s", "a")
            one.send(*call)
        one.send("SET", "end", "1")
        heard: list[bytes] = []
        while not heard or b'"end"' not in heard[-1]:
            heard.append(other.read().raw)
        told = [line.partition(b"] ")[2].strip().upper() for line in heard if b'"s"' in line]
        assert [line for line in told if b"SADD" not in line] == [
            b'"SREM" "S" "A"',
            b'"DEL" "S"',
            b'"DEL" "S"',
        ]


def test_debug_replicate_and_another_id(tmp_path: Path) -> None:
    leader, follower = StrataServer(tmp_path / "a").start(), StrataServer(tmp_path / "b").start()
    follow(follower, leader)
    with leader.client() as one, follower.client() as other:
        assert one.send("DEBUG", "REPLICATE", "SET", "there", "only").raw == b"+OK\r\n"
        wait_until(lambda: other.send("GET", "there").raw == b"$4\r\nonly\r\n")
        assert one.send("EXISTS", "there").frame.number == 0
        before = info(one)["master_replid"]
        assert one.send("DEBUG", "CHANGE-REPL-ID").raw == b"+OK\r\n"
        assert info(one)["master_replid"] != before
        one.send("CLIENT", "KILL", "TYPE", "replica")
        wait_in_step(leader, follower)
        assert info(one, "stats")["sync_full"] == "2"
        assert other.send("EXISTS", "there").frame.number == 0
    follower.stop()
    leader.stop()
