"""The latency monitor: the slowest moments of the server, by kind of event."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from stratakv.proxy.table.registry import CALLED

HISTORY: Final = 160
"""Seconds with a spike that are remembered for each event."""


class LatencyMonitor:
    """Spikes at or above a threshold: one a second and event, the worst of that second."""

    def __init__(self) -> None:
        self.threshold_seconds = float("inf")
        self.events: dict[str, deque[tuple[int, int]]] = {}
        self.worst: dict[str, int] = {}

    @property
    def watching(self) -> bool:
        """Whether anything is recorded at all."""
        return self.threshold_seconds != float("inf")

    def record(self, event: str, seconds: float) -> None:
        """Remember a spike."""
        now, milliseconds = int(time.time()), int(seconds * 1000)
        history = self.events.setdefault(event, deque(maxlen=HISTORY))
        if history and history[-1][0] == now:
            milliseconds = max(milliseconds, history.pop()[1])
        history.append((now, milliseconds))
        self.worst[event] = max(milliseconds, self.worst.get(event, 0))

    def reset(self, events: Sequence[str] = ()) -> int:
        """Forget some events, or all; returns how many there were."""
        known = [event for event in events or list(self.events) if event in self.events]
        for event in known:
            del self.events[event]
            del self.worst[event]
        return len(known)


def event_of(request: Sequence[bytes]) -> str:
    """Redis's two events for calls: of commands that ought to be fast, and of the others."""
    entry = CALLED.get(request[0].lower())
    return "fast-command" if entry is not None and "fast" in entry.flags else "command"
