"""How often keys are used, as Redis counts it while a maxmemory-policy has LFU in its name.

A key has a counter of a byte. The higher it is, the less likely a use raises it (lfu-log-factor),
and for every lfu-decay-time minutes without a use it is less by one. A key that is met for the
first time, or was made anew, begins with 5. Memory is bounded: of more keys than `KEYS` those that
are used least are forgotten, and count as not used.
"""

import random
from collections.abc import Sequence
from typing import Final

from stratakv.clock import Clock
from stratakv.encodings.keyspace.database import Database

KEYS: Final = 65536
KEY_BYTES: Final = 1024
"""Longer keys are not counted."""
FIRST: Final = 5
MOST: Final = 255
_MINUTE_MS: Final = 60_000

Place = tuple[int, bytes]
"""A key of a database."""


class Frequencies:
    """The counters of the keys that were used."""

    def __init__(self, clock: Clock, log_factor: int, decay_minutes: int) -> None:
        self._clock = clock
        self.log_factor = log_factor
        self.decay_minutes = decay_minutes
        self._counters: dict[Place, tuple[int, int]] = {}
        """Each with the minute of the last use."""

    def see(self, database: Database, keys: Sequence[bytes]) -> None:
        """A command names these keys."""
        for key in keys:
            meta = database.cache.get(key)
            is_absent = meta is not None and not meta.type
            self._use((database.index, key), is_new=is_absent)
        if len(self._counters) > KEYS:
            self._make_room()

    def _use(self, place: Place, *, is_new: bool) -> None:
        if len(place[1]) > KEY_BYTES:
            return
        if is_new or place not in self._counters:
            self._set(place, FIRST)
            return
        counter = self.count(place)
        chance = 1 / (max(0, counter - FIRST) * self.log_factor + 1)
        self._set(place, counter + (counter < MOST and random.random() < chance))

    def count(self, place: Place) -> int:
        """The counter of a key as it is by now."""
        counter, minute = self._counters.get(place, (0, 0))
        passed = self._minute() - minute
        return max(0, counter - passed // self.decay_minutes) if self.decay_minutes else counter

    def restore(self, place: Place, counter: int) -> None:
        """Let a key have a counter (RESTORE)."""
        if len(place[1]) <= KEY_BYTES:
            self._set(place, counter)

    def _set(self, place: Place, counter: int) -> None:
        self._counters[place] = counter, self._minute()

    def _minute(self) -> int:
        return self._clock.now_ms // _MINUTE_MS

    def _make_room(self) -> None:
        """Forget the half that is used least."""
        ranked = sorted(self._counters, key=self.count, reverse=True)
        self._counters = {place: self._counters[place] for place in ranked[: KEYS // 2]}
