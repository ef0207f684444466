"""The examples run on a real StrataKV, once with exact encodings and once with blind writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.harness.servers import StrataServer

FLAGS = {"exact": (), "blind": ("--hash-encoding", "1", "--set-encoding", "1")}


@pytest.fixture(scope="session", params=list(FLAGS))
def example_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StrataServer]:
    directory = tmp_path_factory.mktemp("examples") / "data"
    server = StrataServer(directory, flags=FLAGS[request.param]).start()
    yield server
    server.stop()


@pytest.fixture
def url(example_server: StrataServer) -> str:
    """The address of a StrataKV whose keyspace is empty."""
    address = f"redis://127.0.0.1:{example_server.port}"
    with redis.Redis.from_url(address) as client:
        client.flushall()
    return address
