"""Reports in, rows out. Both tables and both steps change in one transaction; on a cluster, both
steps of each machine and of each log do, since those are in one slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.cluster import RedisCluster

from examples.flume_metrics.rows import (
    BY_LOG,
    BY_MACHINE,
    FAMILY,
    MACHINES,
    Names,
    Place,
    Report,
    Row,
    parse,
    prefix_range,
)

READ_AT_ONCE = 1000

Growth = dict[Place, Counter[str]]
Entry = tuple[str, Report]
"""A report in one of the tables."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that ever reported; `latest` is the time of its newest five-second row."""

    machine: str
    name: str
    latest: str


class MetricsStore:
    """The log metrics in one Redis-compatible server, or in a cluster."""

    def __init__(self, client: redis.Redis | RedisCluster) -> None:
        self._client: Any = client
        self._is_spread = isinstance(client, RedisCluster)
        self._names = Names(tags=self._is_spread)

    def name_machine(self, machine: str, hostname: str, port: int) -> None:
        """Remember what people call a machine."""
        self._client.hset(MACHINES, machine, f"{hostname}:{port}")

    def record(self, reports: Sequence[Report]) -> None:
        """Write five-second rows and add them to their minutes, all or nothing; on a cluster, those
        of a machine or of a log.

        A report that comes again replaces its row, and the minute changes by the difference: an
        agent that is not sure may send again.
        """
        for entries in self._units(reports):
            with self._client.pipeline(transaction=True) as pipe:
                self._record(pipe, entries)

    def _units(self, reports: Sequence[Report]) -> list[list[Entry]]:
        """What is written together."""
        entries = [(table, report) for table in (BY_MACHINE, BY_LOG) for report in reports]
        if not self._is_spread:
            return [entries]
        units: dict[str, list[Entry]] = {}
        for table, report in entries:
            units.setdefault(self._names.place(table, report, "5s").rows, []).append(
                (table, report)
            )
        return list(units.values())

    def _record(self, pipe: Any, entries: Sequence[Entry]) -> None:
        while True:
            try:
                self._try_record(pipe, entries)
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
                rows = self._names.index(BY_MACHINE, "5s", machine)
                pipe.zrevrangebylex(rows, "+", "-", start=0, num=1)
            newest = pipe.execute()
        return sorted(
            (
                Machine(machine, name, last[0].decode().split(";")[1] if last else "")
                for (machine, name), last in zip(found, newest, strict=True)
            ),
            key=lambda machine: machine.name,
        )

    def _try_record(self, pipe: Any, entries: Sequence[Entry]) -> None:
        place = self._names.place
        latest = {place(table, report, "5s"): (table, report) for table, report in entries}
        pipe.watch(*(five.key for five in latest))
        minutes = self._growth(latest)
        pipe.multi()
        for (key, rows, member), (_, report) in latest.items():
            pipe.delete(key)
            pipe.hset(key, mapping=_columns(report.metrics))
            pipe.zadd(rows, {member: 0})
        for (key, rows, member), growth in minutes.items():
            for metric, amount in growth.items():
                pipe.hincrby(key, FAMILY + metric, amount)
            pipe.zadd(rows, {member: 0})
        pipe.execute()

    def _growth(self, latest: dict[Place, Entry]) -> Growth:
        """By how much the minutes of some reports grow, given what is stored of them already."""
        minutes: Growth = {}
        stored = self._read([five.key for five in latest])
        for (table, report), old in zip(latest.values(), stored, strict=True):
            growth = minutes.setdefault(self._names.place(table, report, "1m"), Counter())
            growth.update(report.metrics)
            growth.subtract(old)
        return minutes

    def _rows(self, table: str, first: str, ts: str, step: str) -> Iterator[Row]:
        low, high = prefix_range(first, ts)
        found: Any = self._client.zrangebylex(self._names.index(table, step, first), low, high)
        members = [member.decode() for member in found]
        for start in range(0, len(members), READ_AT_ONCE):
            some = members[start : start + READ_AT_ONCE]
            metrics = self._read([self._names.row(table, step, member) for member in some])
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
