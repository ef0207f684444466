"""Where the live rows of a queue begin.

An engine that keeps deletion marks steps over all of them on its way to the first live row, and a
queue leaves them at its front. What is kept here are facts about the engine, "no row of [start,
first) is live": reading teaches them, and a row that is put there takes them back.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping
from typing import Final

KEPT: Final = 256
"""Ranges that are remembered: a few for each database."""


class Heads:
    """The first live rows of some ranges. Requires: two ranges are the same, or have no row in
    common.
    """

    __slots__ = ("_end", "_first", "starts")

    def __init__(self) -> None:
        self._first: dict[bytes, bytes] = {}
        self.starts: list[bytes] = []
        """The ranges that are known, in order."""
        self._end = b""
        """No range reaches further: most rows lie behind it, and need no closer look."""

    def find(self, start: bytes) -> bytes:
        """Where to begin instead of at the start of a range."""
        return self._first.get(start, start)

    def learn(self, start: bytes, first: bytes) -> None:
        """No row of [start, first) is live."""
        if start not in self._first:
            if len(self.starts) >= KEPT:
                self.clear()
            insort(self.starts, start)
        self._first[start] = first
        self._end = max(self._end, first)

    def written(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Rows are about to be written. Requires: some ranges are known."""
        begin, end = self.starts[0], self._end
        for row in [row for row in rows if begin <= row < end and rows[row] is not None]:
            start = self.starts[bisect_right(self.starts, row) - 1]
            if row < self._first[start]:
                self._first[start] = row

    def clear(self) -> None:
        """Know nothing."""
        self._first.clear()
        self.starts.clear()
        self._end = b""
