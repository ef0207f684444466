"""Reports in, rows out. Both tables and both steps change in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from examples.flume_metrics.rows import (
    BY_LOG,
    BY_MACHINE,
    FAMILY,
    MACHINES,
    Report,
    Row,
    index,
    parse,
    places,
    prefix_range,
    row_key,
)

READ_AT_ONCE = 1000

Growth = dict[tuple[str, str, str], Counter[str]]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that ever reported; `latest` is the time of its newest five-second row."""

    machine: str
    name: str
    latest: str


class MetricsStore:
    """The log metrics in one Redis-compatible server."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def name_machine(self, machine: str, hostname: str, port: int) -> None:
        """Remember what people call a machine."""
        self._client.hset(MACHINES, machine, f"{hostname}:{port}")

    def record(self, reports: Sequence[Report]) -> None:
        """Write five-second rows and add them to their minutes, all or nothing.

        A report that comes again replaces its row, and the minute changes by the difference: an
        agent that is not sure may send again.
        """
        with self._client.pipeline() as pipe:
            while True:
                try:
                    self._try_record(pipe, reports)
                    return
                except redis.WatchError:
                    continue  # another writer had the same rows: look at them again

    def rows_of_machine(self, machine: str, ts: str, step: str = "5s") -> Iterator[Row]:
        """The rows of a machine whose time begins with `ts`, by time, then log."""
        return self._rows(BY_MACHINE, machine, ts, step)

    def rows_of_log(self, logid: str, ts: str, step: str = "5s") -> Iterator[Row]:
        """The rows of a log whose time begins with `ts`, by time, then machine."""
        return self._rows(BY_LOG, logid, ts, step)

    def machines(self) -> list[Machine]:
        """Every machine, by name."""
        names: Any = self._client.hgetall(MACHINES)
        found = [(machine.decode(), name.decode()) for machine, name in names.items()]
        with self._client.pipeline(transaction=False) as pipe:
            for machine, _ in found:
                pipe.zrevrangebylex(index(BY_MACHINE, "5s", machine), "+", "-", start=0, num=1)
            newest = pipe.execute()
        return sorted(
            (
                Machine(machine, name, last[0].decode().split(";")[1] if last else "")
                for (machine, name), last in zip(found, newest, strict=True)
            ),
            key=lambda machine: machine.name,
        )

    def _try_record(self, pipe: Any, reports: Sequence[Report]) -> None:
        latest = {places(report, "5s")[0][0]: report for report in reports}
        pipe.watch(*latest)
        minutes = self._growth(latest)
        pipe.multi()
        for report in latest.values():
            for key, rows, member in places(report, "5s"):
                pipe.delete(key)
                pipe.hset(key, mapping=_columns(report.metrics))
                pipe.zadd(rows, {member: 0})
        for (key, rows, member), growth in minutes.items():
            for metric, amount in growth.items():
                pipe.hincrby(key, FAMILY + metric, amount)
            pipe.zadd(rows, {member: 0})
        pipe.execute()

    def _growth(self, latest: dict[str, Report]) -> Growth:
        """By how much the minutes of some reports grow, given what is stored of them already."""
        minutes: Growth = {}
        stored = self._read(list(latest))
        for report, old in zip(latest.values(), stored, strict=True):
            for place in places(report, "1m"):
                growth = minutes.setdefault(place, Counter())
                growth.update(report.metrics)
                growth.subtract(old)
        return minutes

    def _rows(self, table: str, first: str, ts: str, step: str) -> Iterator[Row]:
        low, high = prefix_range(first, ts)
        found: Any = self._client.zrangebylex(index(table, step, first), low, high)
        members = [member.decode() for member in found]
        for start in range(0, len(members), READ_AT_ONCE):
            some = members[start : start + READ_AT_ONCE]
            metrics = self._read([row_key(table, step, member) for member in some])
            for member, values in zip(some, metrics, strict=True):
                yield parse(table, member, values)

    def _read(self, keys: Sequence[str]) -> list[dict[str, int]]:
        with self._client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.hgetall(key)
            return [
                {name.decode().removeprefix(FAMILY): int(value) for name, value in columns.items()}
                for columns in pipe.execute()
            ]


def _columns(metrics: dict[str, int]) -> dict[str, int]:
    return {FAMILY + name: value for name, value in metrics.items()}
