"""The names of the rows that were written last, for a while after somebody asked for them.

A database that is flushed soon after it was made has few rows: known by name, they are deleted
without a scan over the marks of all that was deleted before.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final

JOURNAL_ROWS: Final = 2000
"""Rows whose names are kept after a mark."""


class Journal:
    """Numbers the rows in the order in which they are written."""

    __slots__ = ("_batches", "_end", "_written")

    def __init__(self) -> None:
        self._written = 0
        """Rows written so far, by which names are kept: those put while they are, else all."""
        self._batches: deque[tuple[int, list[bytes]]] = deque()
        """Names of the rows last put, each batch with the number of its first."""
        self._end = 0
        """Names are kept up to this number."""

    def written(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Rows are about to be written; those that are deleted have no name to keep."""
        if self._written >= self._end:
            self._written += len(rows)
            return
        names = [row for row, value in rows.items() if value is not None]
        if names:
            self._batches.append((self._written, names))
            self._written += len(names)
            while self._written - self._batches[0][0] > JOURNAL_ROWS and len(self._batches) > 1:
                self._batches.popleft()

    def mark(self) -> int:
        """A number for `since`: names are kept from here on, for a while."""
        if self._written >= self._end:
            self._batches.clear()
        self._end = self._written + JOURNAL_ROWS + 1
        return self._written

    def since(self, number: int) -> list[bytes] | None:
        """Names of the rows put since a mark; None if they are too many."""
        if self._written - number > JOURNAL_ROWS:
            return None
        return [row for first, batch in self._batches if first >= number for row in batch]
