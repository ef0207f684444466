"""Bringing traffic into the store: a history at once, or an agent that reports as time goes by."""

from __future__ import annotations

import time
from datetime import datetime

from examples.flume_metrics import sample
from examples.flume_metrics.rows import SECONDS
from examples.flume_metrics.store import MetricsStore


def load(store: MetricsStore, minutes: int, last: datetime = sample.LAST, seed: int = 7) -> int:
    """Write the sample history; the number of reports."""
    for agent in sample.AGENTS:
        store.name_machine(agent.machine, agent.hostname, agent.port)
    count = 0
    for _, reports in sample.history(minutes, last, seed):
        store.record(reports)
        count += len(reports)
    return count


def report_now(store: MetricsStore, now: datetime, seed: int = 7) -> None:
    """Write what every agent has to say at the last five-second mark."""
    for agent in sample.AGENTS:
        store.record(sample.reports(agent, sample.last_mark(now), seed))


def report_forever(store: MetricsStore, seed: int = 7) -> None:
    """Report at each five-second mark until interrupted."""
    while True:
        report_now(store, datetime.now(), seed)
        time.sleep(SECONDS["5s"] - time.time() % SECONDS["5s"])
