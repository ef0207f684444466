"""The log-metrics example on three nodes over a real HBase, one of which is killed in between."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
from redis.cluster import RedisCluster

from examples.flume_metrics.load import load
from examples.flume_metrics.store import MetricsStore
from tests.examples.test_flume_on_cluster import MINUTES, answers
from tests.harness.hbase import HBaseServer
from tests.harness.servers import StrataServer
from tests.hbase.nodes import Nodes

pytestmark = [pytest.mark.hbase]


def test_it_answers_as_on_one_server(hbase_server: HBaseServer, tmp_path: Path) -> None:
    alone = StrataServer(tmp_path / "alone", flags=("--engine", "memory")).start()
    nodes = Nodes(hbase_server, "flume", tmp_path)
    try:
        with redis.Redis(port=alone.port) as client:
            load(MetricsStore(client), MINUTES)
            expected = answers(MetricsStore(client))
        victim = [nodes.add() for _ in range(3)][-1]
        nodes.settle()
        with RedisCluster(host="127.0.0.1", port=nodes.all[0].port) as spread:
            load(MetricsStore(spread), MINUTES)
            assert answers(MetricsStore(spread)) == expected
        victim.kill9()
        nodes.settle()
        with RedisCluster(host="127.0.0.1", port=nodes.all[0].port) as spread:
            assert answers(MetricsStore(spread)) == expected
    finally:
        nodes.stop()
        alone.stop()
