"""Row keys and the names under which they are stored: nobody else builds or reads one.

    table 1   flume_machine_port_datatime_logid_metrics   MACHINE;T;LOGID
    table 2   flume_logid_datatime_machine_port_metrics   LOGID;T;MACHINE

    MACHINE   md5(agent-hostname)@port
    T         20151111 14:09:35 in the five-second tables, 20151111 14:09 in the one-minute tables

    TABLE:5s:ROWKEY        hash: f:METRIC -> number      one row
    TABLE:5s:rows:FIRST    sorted set of ROWKEYs         all rows of a machine (or log), by time
    the same with 1m                                     sums of a minute

On a cluster FIRST stands in braces in both, so that the rows of a machine, and those of a log, are
in one slot each.

Every score is 0, so a sorted set is in the order of its bytes, and all rows of a day, an hour or a
minute are one range of it: those that begin with "FIRST;20151111 14".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import md5
from typing import NamedTuple

BY_MACHINE = "flume_machine_port_datatime_logid_metrics"
BY_LOG = "flume_logid_datatime_machine_port_metrics"
MACHINES = "flume_machines"  # hash: MACHINE -> hostname:port, since an md5 cannot be turned back
FAMILY = "f:"
TIME_FORMATS = {"5s": "%Y%m%d %H:%M:%S", "1m": "%Y%m%d %H:%M"}
SECONDS = {"5s": 5, "1m": 60}


def machine_name(hostname: str, port: int) -> str:
    """The MACHINE part of a row key."""
    return f"{md5(hostname.encode(), usedforsecurity=False).hexdigest()}@{port}"


@dataclass(frozen=True, slots=True)
class Report:
    """What one log of one machine took in during five seconds."""

    machine: str
    logid: str
    time: datetime
    metrics: dict[str, int]

    def __post_init__(self) -> None:
        if self.time.second % SECONDS["5s"] or self.time.microsecond:
            raise ValueError(f"{self.time} is not on a five-second mark")


@dataclass(frozen=True, slots=True)
class Row:
    """A stored row, whichever table it was read from."""

    machine: str
    time: str
    logid: str
    metrics: dict[str, int]


class Place(NamedTuple):
    """Where a row is written."""

    key: str
    rows: str
    member: str


@dataclass(frozen=True, slots=True)
class Names:
    """The keys of rows; with `tags`, those of a machine or a log are in one slot of a cluster."""

    tags: bool = False

    def places(self, report: Report, step: str) -> list[Place]:
        """Where a report is written, once in each table."""
        return [self.place(table, report, step) for table in (BY_MACHINE, BY_LOG)]

    def place(self, table: str, report: Report, step: str) -> Place:
        """Where a report is written in one of the tables."""
        time = report.time.strftime(TIME_FORMATS[step])
        orders = {
            BY_MACHINE: (report.machine, report.logid),
            BY_LOG: (report.logid, report.machine),
        }
        first, last = orders[table]
        member = f"{first};{time};{last}"
        return Place(self.row(table, step, member), self.index(table, step, first), member)

    def row(self, table: str, step: str, member: str) -> str:
        """The key of a row's hash."""
        first, rest = member.split(";", 1)
        return f"{table}:{step}:{self._tagged(first)};{rest}"

    def index(self, table: str, step: str, first: str) -> str:
        """The key of the sorted set with the row keys of a machine or a log."""
        return f"{table}:{step}:rows:{self._tagged(first)}"

    def _tagged(self, first: str) -> str:
        return f"{{{first}}}" if self.tags else first


def prefix_range(first: str, ts: str) -> tuple[str, bytes]:
    """The ends of the row keys whose time begins with `ts`, for ZRANGEBYLEX."""
    prefix = f"{first};{ts}"
    return f"[{prefix}", b"(" + prefix.encode() + b"\xff"


def parse(table: str, member: str, metrics: dict[str, int]) -> Row:
    """A row from its row key."""
    first, time, last = member.split(";")
    machine, logid = (first, last) if table == BY_MACHINE else (last, first)
    return Row(machine, time, logid, metrics)
