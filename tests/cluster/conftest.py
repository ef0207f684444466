"""Three nodes of ours and three of Redis's, for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.nodes import StaticCluster
from tests.harness.servers import RedisServer
from tests.tier.cluster import RedisCluster


@pytest.fixture(scope="module")
def redis_cluster(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RedisCluster]:
    """The oracle; `redis_server` has seen to its version."""
    cluster = RedisCluster(tmp_path_factory.mktemp("redis-cluster")).start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def strata_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StaticCluster]:
    cluster = StaticCluster(
        tmp_path_factory.mktemp("strata-cluster"), flags=("--engine", "memory")
    ).start()
    cluster.wait_until_linked()
    yield cluster
    cluster.stop()
