"""The one source of time, so that tests can turn it."""

import time


class Clock:
    """Wall time in microseconds and milliseconds.

    `now_ms` is read once per turn of the event loop (`tick`), so all commands of a turn agree on
    which keys have expired.
    """

    __slots__ = ("now_ms", "now_us")

    def __init__(self) -> None:
        self.now_us = self.now_ms = 0
        self.tick()

    def micros(self) -> int:
        """Wall time now, in microseconds."""
        return time.time_ns() // 1000

    def tick(self) -> int:
        """Read the wall clock; returns and keeps it in milliseconds."""
        self.now_us = self.micros()
        self.now_ms = self.now_us // 1000
        return self.now_ms


class Timeless(Clock):
    """A clock by which nothing expires."""

    __slots__ = ()

    def tick(self) -> int:
        """It stands still, at the beginning of time."""
        return 0


class ManualClock(Clock):
    """A clock that stands still until a test turns it."""

    __slots__ = ("_micros",)

    def __init__(self, micros: int = 1_700_000_000_000_000) -> None:
        self._micros = micros
        super().__init__()

    def micros(self) -> int:
        """The time the test set."""
        return self._micros

    def advance(self, ms: float) -> None:
        """Turn the clock forward (or back, with a negative number)."""
        self._micros += int(ms * 1000)
        self.tick()
