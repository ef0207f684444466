"""The keys that requests name most: a sampling that runs only while somebody asks for it.

While it runs, a guard bit is set for a twentieth of the time, in windows of five milliseconds; the
dispatcher looks at nothing in between, and never when nobody asks. Memory is bounded: so many keys
are counted, and those that are met least make room for others.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

WINDOW_SECONDS: Final = 0.005
PAUSE_SECONDS: Final = 0.095
ASKED_SECONDS: Final = 30.0
"""It ends so long after it was last asked for."""
KEYS: Final = 4096
KEY_BYTES: Final = 1024
"""Longer keys are not counted."""

Place = tuple[int, bytes]
"""A key of a database."""


class HotKeys:
    """The counts of one sampling; `switch` says whether requests are to be shown to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, switch: Callable[[bool], None]) -> None:
        self._loop = loop
        self._switch = switch
        self._counts: dict[Place, int] = {}
        self._until = 0.0
        self._began = 0.0
        self.is_running = False
        self.requests = 0
        """How many were seen that name keys."""

    def ask(self) -> None:
        """Begin, or go on for a while."""
        now = time.monotonic()
        self._until = now + ASKED_SECONDS
        if not self.is_running:
            self.is_running = True
            self._began = now
            self.requests = 0
            self._counts = {}
            self._open()

    def see(self, database: int, keys: Sequence[bytes]) -> None:
        """A request names these keys."""
        if not keys:
            return
        self.requests += 1
        counts = self._counts
        for key in keys[:16]:
            if len(key) <= KEY_BYTES:
                place = (database, key)
                counts[place] = counts.get(place, 0) + 1
        if len(counts) > KEYS:
            self._make_room()

    def most_used(self, count: int) -> list[tuple[int, bytes, int]]:
        """Database, key and count of those that were met most; the counts are lower bounds."""
        ranked = sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))
        return [(database, key, met) for (database, key), met in ranked[:count]]

    def seconds(self) -> int:
        """How long it has run."""
        return int(time.monotonic() - self._began) if self.is_running else 0

    def _make_room(self) -> None:
        """Take as much from each as half of them have, and forget those that have no more."""
        middle = sorted(self._counts.values())[len(self._counts) // 2]
        self._counts = {place: met - middle for place, met in self._counts.items() if met > middle}

    def _open(self) -> None:
        if time.monotonic() >= self._until:
            self.is_running = False
            self._counts = {}
            return
        self._switch(True)
        self._loop.call_later(WINDOW_SECONDS, self._close)

    def _close(self) -> None:
        self._switch(False)
        self._loop.call_later(PAUSE_SECONDS, self._open)
