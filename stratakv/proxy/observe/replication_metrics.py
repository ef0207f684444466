"""What the metrics page shows of masters and replicas."""

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from stratakv.proxy.replication.master_link import MasterLink
    from stratakv.proxy.server import Server

MOST_NAMED: Final = 32
"""Replicas that have numbers of their own: those that came first."""


class ReplicationCollector(Collector):
    """The place among others, the stream, and how far each side is."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """Everything about replication."""
        replication = self._server.replication
        feed, link = replication.feed, replication.link
        role = GaugeMetricFamily("stratakv_replication_role", "Always 1.", labels=["role"])
        role.add_metric(["master" if link is None else "replica"], 1)
        yield role
        yield _gauge("connected_replicas", "Replicas of this server.", len(replication.replicas))
        yield _gauge("replication_offset", "Where the stream stands.", feed.position.offset)
        backlog = 0 if feed.backlog is None else feed.backlog.size
        yield _gauge("replication_backlog_bytes", "Bytes kept for partial syncs.", backlog)
        for name, doc, value in (
            ("full_syncs", "Replicas that were sent everything.", replication.full_syncs),
            ("partial_syncs", "Replicas that went on.", replication.partial_syncs),
            ("refused_syncs", "Replicas that could not go on.", replication.refused_syncs),
        ):
            yield CounterMetricFamily(f"stratakv_{name}", doc, value=value)
        yield from self._replicas()
        if link is not None:
            yield from _link(link)

    def _replicas(self) -> Iterator[Metric]:
        replication = self._server.replication
        behind = GaugeMetricFamily(
            "stratakv_replica_behind_bytes", "Bytes it has not acknowledged.", labels=["replica"]
        )
        lag = GaugeMetricFamily(
            "stratakv_replica_lag_seconds", "Since it was last heard of.", labels=["replica"]
        )
        offset = replication.feed.position.offset
        named = {one.name: one for one in islice(replication.replicas.all(), MOST_NAMED)}
        for name, one in named.items():
            behind.add_metric([name], max(0, offset - one.acknowledged))
            lag.add_metric([name], time.monotonic() - one.acknowledged_at)
        yield from (behind, lag)


def _link(link: "MasterLink") -> Iterator[Metric]:
    now = time.monotonic()
    yield _gauge("master_link_up", "Whether the master is followed.", int(link.is_up))
    down = 0.0 if link.is_up else now - link.down_since
    yield _gauge("master_link_down_seconds", "Since the master was lost.", down)
    yield _gauge("master_last_io_seconds", "Since the master sent something.", now - link.last_io)


def _gauge(name: str, doc: str, value: float) -> Metric:
    return GaugeMetricFamily(f"stratakv_{name}", doc, value=value)
