"""Sample traffic: a few machines with a few logs each, the same for the same seed.

Every log has its own level and rhythm; a number depends on seed, log and time alone, so the live
agent goes on where the loaded history ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from examples.flume_metrics.rows import SECONDS, Report, machine_name
from examples.flume_metrics.shapes import COUNT, SIZE

LAST = datetime(2015, 11, 11, 14, 9, 40)
_EPOCH = datetime(1970, 1, 1)  # no time zone: the same numbers everywhere
_STEP = timedelta(seconds=SECONDS["5s"])


@dataclass(frozen=True, slots=True)
class Agent:
    """A flume agent and the logs that it collects."""

    hostname: str
    port: int
    logids: tuple[str, ...]

    @property
    def machine(self) -> str:
        """Its name in row keys."""
        return machine_name(self.hostname, self.port)


AGENTS = (
    Agent("web-01", 8454, ("0000000007", "0000000008", "0000000009", "0000000012")),
    Agent("web-02", 8454, ("0000000007", "0000000008", "0000000009")),
    Agent("pay-01", 8460, ("0000000007", "0000000021")),
)


def reports(agent: Agent, time: datetime, seed: int = 7) -> list[Report]:
    """What an agent reports at one time."""
    return [
        Report(agent.machine, logid, time, _metrics(agent, logid, time, seed))
        for logid in agent.logids
    ]


def history(
    minutes: int, last: datetime = LAST, seed: int = 7
) -> Iterator[tuple[Agent, list[Report]]]:
    """The reports up to and including `last`, a minute of one agent at a time."""
    count = minutes * 60 // SECONDS["5s"]
    times = [last - _STEP * age for age in reversed(range(count))]
    for start in range(0, count, 12):
        for agent in AGENTS:
            some = times[start : start + 12]
            yield agent, [report for time in some for report in reports(agent, time, seed)]


def last_mark(now: datetime) -> datetime:
    """The five-second mark at or before a time."""
    return now.replace(second=now.second - now.second % SECONDS["5s"], microsecond=0)


def _metrics(agent: Agent, logid: str, time: datetime, seed: int) -> dict[str, int]:
    own = Random(f"{seed}/{agent.machine}/{logid}")
    level, bytes_per_line, phase = own.uniform(600, 3000), own.uniform(80, 300), own.uniform(0, 6)
    swell = 1 + 0.35 * math.sin((time - _EPOCH).total_seconds() / own.uniform(150, 500) + phase)
    noise = Random(f"{seed}/{agent.machine}/{logid}/{time}").uniform(0.85, 1.15)
    count = int(level * swell * noise)
    return {COUNT: count, SIZE: int(count * bytes_per_line)}
