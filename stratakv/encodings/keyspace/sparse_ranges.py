"""Ranges in which many rows were deleted: worth compacting.

LevelDB keeps deleted rows until a compaction, and a scan steps over each of them. What is counted
here is a hint: a count that is lost, or that includes what was never committed, only has a range
compacted later or sooner.
"""

from collections import deque
from typing import Final

from stratakv.encodings.layout import rows

SPARSE_ROWS = 5000
"""Deleted rows that make their range worth compacting, if no more are left in it: whoever looks for
the first row that is left steps over each of them, 3 ms for so many."""
COUNTED: Final = 10_000
"""Collections whose deleted rows are counted."""
WAITING: Final = 64
"""Ranges that wait; one more, and the oldest is left to LevelDB's own compaction."""


class SparseRanges:
    """What was deleted one by one, and the ranges that wait for a compaction."""

    __slots__ = ("_deleted", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[bytes, bytes]] = deque(maxlen=WAITING)
        self._deleted: dict[bytes, int] = {}
        """By the prefix of a collection's rows: how many of them were deleted one by one."""

    def add(self, prefix: bytes) -> None:
        """Have the rows that begin with that compacted: most of them were deleted."""
        span = prefix, rows.end_of(prefix)
        if span not in self.waiting:
            self.waiting.append(span)

    def note_deleted(self, prefixes: tuple[bytes, ...], gone: int, left: int) -> None:
        """Rows that begin with each of these were deleted one by one; about so many are left."""
        deleted = self._deleted.pop(prefixes[0], 0) + gone
        if deleted > max(SPARSE_ROWS, left):
            for prefix in prefixes:
                self.add(prefix)
            return
        if len(self._deleted) >= COUNTED:
            del self._deleted[next(iter(self._deleted))]
        self._deleted[prefixes[0]] = deleted

    def forget_counts(self) -> None:
        """A commit failed: what was counted may not have been deleted."""
        self._deleted.clear()
