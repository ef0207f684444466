"""Applications that were written for Redis, unchanged, on a real StrataKV."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.harness.servers import StrataServer


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a StrataKV that one test module has for itself."""
    server = StrataServer(tmp_path_factory.mktemp("applications") / "data").start()
    yield f"redis://127.0.0.1:{server.port}/0"
    server.stop()


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    """redis-py on an empty keyspace."""
    with redis.Redis.from_url(url) as connected:
        connected.flushall()
        yield connected
