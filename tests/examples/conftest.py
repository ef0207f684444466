"""The examples run on a real StrataKV: with exact encodings, with blind writes, and on a Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.harness.servers import RedisServer, StrataServer
from tests.tier.servers import start_strata

FLAGS = {
    "exact": (),
    "blind": ("--hash-encoding", "1", "--set-encoding", "1"),
    "cached": ("--hash-encoding", "3", "--set-encoding", "2", "--zset-encoding", "3"),
}
OTHERS = [name for name in FLAGS if name != "exact"]
"""Encode-versions on which the examples run with the applications."""


@pytest.fixture(scope="session")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of the examples' own, for those that run with the cache tier on."""
    server = RedisServer(tmp_path_factory.mktemp("tier") / "data").start()
    yield server
    server.stop()


@pytest.fixture(
    scope="session",
    params=["exact", *(pytest.param(other, marks=pytest.mark.application) for other in OTHERS)],
)
def example_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StrataServer]:
    directory, flags = tmp_path_factory.mktemp("examples") / "data", FLAGS[request.param]
    if request.param == "cached":
        tier: RedisServer = request.getfixturevalue("tier")
        with tier.client() as client:
            client.send("FLUSHALL")  # a store of another time may have left its mark
        server = start_strata(directory, tier, *flags)
    else:
        server = StrataServer(directory, flags=flags).start()
    yield server
    server.stop()


@pytest.fixture
def url(example_server: StrataServer) -> str:
    """The address of a StrataKV whose keyspace is empty."""
    address = f"redis://127.0.0.1:{example_server.port}"
    with redis.Redis.from_url(address) as client:
        client.flushall()
    return address
