"""The log-metrics store on a cluster: the same answers, and rows on all nodes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.cluster import RedisCluster

from examples.flume_metrics import __main__ as command_line
from examples.flume_metrics import sample
from examples.flume_metrics.load import load
from examples.flume_metrics.rows import Report
from examples.flume_metrics.shapes import COUNT, SIZE
from examples.flume_metrics.store import MetricsStore
from tests.cluster.nodes import StaticCluster
from tests.harness.servers import StrataServer

MINUTES = 3
NOON = datetime(2015, 11, 11, 14, 9, 35)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StaticCluster]:
    found = StaticCluster(tmp_path / "cluster", flags=("--engine", "memory"), apart=False).start()
    yield found
    found.stop()


def answers(store: MetricsStore) -> list[Any]:
    """All rows of all machines and logs, and who there is."""
    found: list[Any] = [store.machines()]
    for step in ("5s", "1m"):
        for agent in sample.AGENTS:
            found += store.rows_of_machine(agent.machine, "20151111", step)
        for logid in sorted({log for agent in sample.AGENTS for log in agent.logids}):
            found += store.rows_of_log(logid, "20151111", step)
    return found


def test_a_cluster_answers_as_one_server_does(cluster: StaticCluster, tmp_path: Path) -> None:
    alone = StrataServer(tmp_path / "alone", flags=("--engine", "memory")).start()
    try:
        with redis.Redis(port=alone.port) as client:
            load(MetricsStore(client), MINUTES)
            expected = answers(MetricsStore(client))
        with RedisCluster(host="127.0.0.1", port=cluster.nodes[0].port) as spread:
            load(MetricsStore(spread), MINUTES)
            assert answers(MetricsStore(spread)) == expected
    finally:
        alone.stop()
    for node in cluster.nodes:
        with node.client() as client_:
            assert (client_.send("DBSIZE").frame.number or 0) > 0


def test_reports_of_several_writers_count_once(cluster: StaticCluster) -> None:
    machine = sample.AGENTS[0].machine
    reports = [
        Report(machine, f"{log:010}", NOON.replace(second=second), {COUNT: 10, SIZE: 100})
        for log in range(5)
        for second in range(0, 60, 5)
    ]

    def write() -> None:
        with RedisCluster(host="127.0.0.1", port=cluster.nodes[1].port) as own:
            MetricsStore(own).record(reports)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with RedisCluster(host="127.0.0.1", port=cluster.nodes[2].port) as client:
        store = MetricsStore(client)
        minutes = list(store.rows_of_machine(machine, "20151111 14:09", "1m"))
        assert [row.metrics for row in minutes] == [{COUNT: 120, SIZE: 1200}] * 5


def test_the_command_line_is_told_that_it_is_a_cluster(
    cluster: StaticCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"redis://127.0.0.1:{cluster.nodes[2].port}"
    assert command_line.main(["--url", url, "--cluster", "load", "--minutes", "2"]) == 0
    name = f"{sample.AGENTS[0].hostname}:{sample.AGENTS[0].port}"
    query = ["query", "machine_to_logids", name, "20151111 14:09"]
    capsys.readouterr()
    assert command_line.main(["--url", url, "--cluster", *query]) == 0
    assert sample.AGENTS[0].machine in json.loads(capsys.readouterr().out)
    assert command_line.main(["--url", "redis://127.0.0.1:1", "--cluster", *query]) == 1
