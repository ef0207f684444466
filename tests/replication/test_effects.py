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
