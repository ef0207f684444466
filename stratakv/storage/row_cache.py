"""Rows that were read lately, as the batches in flight or the engine have them.

A row that is read again costs 0.1 us instead of 2 us and more; so does one that is known not to be
there, which every new field of a hash and every new member of a set is.

Two generations bound the memory: what is used stands in the young one. When that has half of what
is allowed, it becomes the old one, and what was still old is dropped. So a row goes once it was not
used for as long as it took to fill a generation, and no row is ever looked at to find out.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

LONGEST_VALUE: Final = 1024
"""Rows with longer values are left to the cache of an engine in this process."""
ROW_COST: Final = 200
"""What a row takes besides its bytes: two objects and a place in a dictionary (measured)."""

UNKNOWN: Final = bytes(bytearray(b"?unknown"))
"""The row is not remembered. Compare by identity: no literal, of which there could be several."""

Remembered = dict[bytes, bytes | None]


def _drop(rows: Remembered) -> None:
    """They are freed at once."""


class RowCache:
    """A bounded memory of rows, None for those that are known not to be there.

    `on_leftovers` gets what was dropped, to be freed at leisure.
    """

    __slots__ = ("_old", "_size", "_young", "limit_bytes", "longest_value", "on_leftovers")

    def __init__(self, limit_bytes: int, longest_value: int = LONGEST_VALUE) -> None:
        self.limit_bytes = limit_bytes
        self.longest_value = longest_value
        self.on_leftovers: Callable[[Remembered], None] = _drop
        self._young: Remembered = {}
        self._old: Remembered = {}
        self._size = 0
        """Of the young generation, an upper bound."""

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def find(self, row: bytes) -> bytes | None:
        """The value of a row, None if it is not there, or UNKNOWN."""
        value = self._young.get(row, UNKNOWN)
        if value is UNKNOWN and self._old:
            value = self._old.get(row, UNKNOWN)
            if value is not UNKNOWN:
                self.keep(row, value)
        return value

    def keep(self, row: bytes, value: bytes | None) -> None:
        """Remember what was read."""
        size = ROW_COST + len(row)
        if value is not None:
            if len(value) > self.longest_value:
                return
            size += len(value)
        self._young[row] = value
        self._size += size
        if self._size > self.limit_bytes // 2:
            dropped, self._old, self._young = self._old, self._young, {}
            self._size = 0
            self.on_leftovers(dropped)

    def choose_limit(self, limit_bytes: int) -> None:
        """Let it take that much: of what is too much, the old generation goes first."""
        self.limit_bytes = limit_bytes
        if self._size > limit_bytes // 2:
            self._old, self._young = self._drop(self._old), self._drop(self._young)
            self._size = 0
        elif len(self._old) * (ROW_COST + 100) > limit_bytes:
            self._old = self._drop(self._old)

    def _drop(self, generation: Remembered) -> Remembered:
        self.on_leftovers(generation)
        return {}

    def written(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Rows are about to be written: what is remembered of them changes with them."""
        for generation in (self._young, self._old):
            if generation:
                for row in generation.keys() & rows.keys():
                    value = rows[row]
                    if value is None or len(value) <= self.longest_value:
                        generation[row] = value
                    else:
                        del generation[row]

    def sample(self, count: int) -> Remembered:
        """Some of what is remembered, from both generations."""
        old = dict(islice(self._old.items(), count))
        return {row: self._young.get(row, value) for row, value in old.items()} | dict(
            islice(self._young.items(), count)
        )

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        return min(self.limit_bytes, self._size + len(self._old) * (ROW_COST + 100))

    def clear(self) -> None:
        """Know nothing."""
        self.on_leftovers(self._young)
        self.on_leftovers(self._old)
        self._young, self._old, self._size = {}, {}, 0
