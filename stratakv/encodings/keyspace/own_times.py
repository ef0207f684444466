"""Expire-times that clients of a replica have set.

A replica leaves it to its master to say what has expired. Of keys that its own clients wrote the
master knows nothing, so the replica remembers them, and deletes them when they are due. As in Redis
that is in memory and gone at the next start; a key that is forgotten is hidden all the same.
"""

import heapq
from collections.abc import Iterator
from typing import Final

MOST_KEYS: Final = 100_000
MOST_BYTES: Final = 16 << 20
"""Of the keys' names; whatever would be more is not remembered."""
_SLACK: Final = 1000

Place = tuple[int, bytes]
"""A database and a key."""


class OwnTimes:
    """What is due when, as far as it fits."""

    __slots__ = ("_bytes", "_due", "_queue")

    def __init__(self) -> None:
        self._due: dict[Place, int] = {}
        self._queue: list[tuple[int, Place]] = []
        """A heap; those that are no longer so are passed by."""
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._due)

    def note(self, database: int, key: bytes, due_ms: int) -> None:
        """A key may expire then: it is looked at again when it is time."""
        place = (database, key)
        if place not in self._due:
            if len(self._due) >= MOST_KEYS or self._bytes + len(key) > MOST_BYTES:
                return
            self._bytes += len(key)
        self._due[place] = due_ms
        heapq.heappush(self._queue, (due_ms, place))
        if len(self._queue) > 2 * len(self._due) + _SLACK:
            self._queue = [(at_ms, one) for one, at_ms in self._due.items()]
            heapq.heapify(self._queue)

    def has_due(self, now_ms: int) -> bool:
        """Whether there may be some that are due."""
        return bool(self._queue) and self._queue[0][0] <= now_ms

    def take_due(self, now_ms: int, most: int) -> Iterator[tuple[int, bytes, int]]:
        """(database, key, time) of at most so many that are due; they are forgotten."""
        for _ in range(most):
            if not self.has_due(now_ms):
                return
            due_ms, place = heapq.heappop(self._queue)
            if self._due.get(place) == due_ms:
                del self._due[place]
                self._bytes -= len(place[1])
                yield (*place, due_ms)
