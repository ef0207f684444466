"""The answers as JSON values: the two queries of the API, and the structures of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from examples.flume_metrics.rows import Row

COUNT, SIZE = "EventAcceptedCount", "ByteAcceptedSize"


def machine_to_logids(machine: str, rows: Iterable[Row]) -> dict[str, Any]:
    """{machine: {logid: {time: [{metric: "number"}]}}}"""
    logs: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        metrics = {name: str(value) for name, value in row.metrics.items()}
        logs.setdefault(row.logid, {}).setdefault(row.time, []).append(metrics)
    return {machine: logs}


def logid_to_machines(logid: str, rows: Iterable[Row]) -> dict[str, Any]:
    """{logid: [{machine: [{time: {metric: number}}]}]}"""
    machines: dict[str, list[dict[str, dict[str, int]]]] = {}
    for row in rows:
        machines.setdefault(row.machine, []).append({row.time: row.metrics})
    return {logid: [{machine: times} for machine, times in machines.items()]}


@dataclass(slots=True)
class Log:
    """One log of a host: `c` is for current, the newest time of the answer."""

    name: str
    countSum: int = 0  # noqa: N815 (the page's names)
    sizeSum: int = 0  # noqa: N815
    cCount: int = 0  # noqa: N815
    cSize: int = 0  # noqa: N815
    startTime: str = ""  # noqa: N815
    endTime: str = ""  # noqa: N815

    def add(self, row: Row) -> None:
        """Count a row; rows come in the order of time."""
        self.cCount, self.cSize = row.metrics.get(COUNT, 0), row.metrics.get(SIZE, 0)
        self.countSum += self.cCount
        self.sizeSum += self.cSize
        self.startTime = self.startTime or row.time
        self.endTime = row.time


@dataclass(slots=True)
class Time:
    """All logs of a host at one time."""

    time: str
    logSum: int = 0  # noqa: N815
    countSum: int = 0  # noqa: N815
    sizeSum: int = 0  # noqa: N815

    def add(self, row: Row) -> None:
        """Count the row of one more log."""
        self.logSum += 1
        self.countSum += row.metrics.get(COUNT, 0)
        self.sizeSum += row.metrics.get(SIZE, 0)


@dataclass(slots=True)
class Host:
    """One machine: its logs and its times, and what it takes in at the moment."""

    name: str
    cCountSum: int = 0  # noqa: N815
    cSizeSum: int = 0  # noqa: N815
    cLogSum: int = 0  # noqa: N815
    logs: list[Log] = field(default_factory=list)
    times: list[Time] = field(default_factory=list)


def host(name: str, rows: Iterable[Row]) -> dict[str, Any]:
    """The structures host, log and time of the page, out of a machine's rows in order of time."""
    logs: dict[str, Log] = {}
    times: dict[str, Time] = {}
    for row in rows:
        logs.setdefault(row.logid, Log(row.logid)).add(row)
        times.setdefault(row.time, Time(row.time)).add(row)
    found = Host(name, logs=sorted(logs.values(), key=lambda log: log.name))
    found.times = list(times.values())
    if found.times:
        _set_current(found, found.times[-1])
    return asdict(found)


def _set_current(found: Host, now: Time) -> None:
    found.cCountSum, found.cSizeSum, found.cLogSum = now.countSum, now.sizeSum, now.logSum
    for log in found.logs:
        if log.endTime != now.time:  # it is silent now
            log.cCount = log.cSize = 0
