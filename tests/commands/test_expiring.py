"""STRATA EXPIRING: how many keys are over within a minute, ten, an hour, a day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import redis

from tests.harness.servers import StrataServer

KEYS = 30_000
"""More than a short command may look at."""


@pytest.fixture
def client(strata_server: StrataServer) -> Iterator[redis.Redis]:
    with closing(redis.Redis(port=strata_server.port)) as client:
        client.flushall()
        yield client


def expiring(client: Any, *seconds: int | str) -> Any:
    return client.execute_command("STRATA", "EXPIRING", *seconds)


def test_keys_are_counted_by_the_time_at_which_they_are_over(client: redis.Redis) -> None:
    with client.pipeline(transaction=False) as pipe:
        for number in range(30):
            pipe.set(f"minute:{number}", "x", ex=40)
            pipe.set(f"day:{number}", "x", ex=50_000)
        pipe.set("stays", "x")
        pipe.execute()
    assert expiring(client) == [[60, 30, 1], [600, 30, 1], [3600, 30, 1], [86400, 60, 1]]
    client.persist("minute:0")
    client.expire("minute:1", 4000)
    client.delete("minute:2")
    assert expiring(client, 60, 86400) == [[60, 27, 1], [86400, 58, 1]]


def test_it_sees_what_a_transaction_has_written(client: redis.Redis) -> None:
    with client.pipeline() as pipe:
        pipe.set("k", "x", ex=10)
        expiring(pipe, 60)
        pipe.delete("k")
        expiring(pipe, 60)
        assert pipe.execute() == [True, [[60, 1, 1]], 1, [[60, 0, 1]]]


def test_many_are_counted_beside_others(client: redis.Redis) -> None:
    with client.pipeline(transaction=False) as pipe:
        for number in range(KEYS):
            pipe.set(f"k:{number}", "x", ex=5000)
        pipe.execute()
    assert expiring(client, 60, 6000) == [[60, 0, 1], [6000, KEYS, 1]]


@pytest.mark.parametrize("seconds", [("0",), ("-1",), ("x",), ("60", "1000000001"), ["1"] * 101])
def test_other_times_are_refused(client: redis.Redis, seconds: tuple[str, ...]) -> None:
    with pytest.raises(redis.ResponseError):
        expiring(client, *seconds)
