"""Rows and ranges of an engine elsewhere that were fetched for somebody who needs them now.

They are what the engine has, or what a batch that was submitted since puts there: so whoever reads
them sees the state as it is, whenever they came. They are kept as long as one of those who asked
for them holds them; beyond that, single rows are remembered by the row cache.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from stratakv.storage.contract import Found, Span
from stratakv.storage.row_cache import UNKNOWN

Overlay = Mapping[bytes, bytes | None]


class HeldRow:
    """A row that was asked for; UNKNOWN until it is there."""

    __slots__ = ("users", "value")

    def __init__(self) -> None:
        self.users = 0
        self.value: bytes | None = UNKNOWN


class HeldSpan:
    """A range that was asked for; empty bounds until it is there."""

    __slots__ = ("_late", "_names", "_values", "high", "low", "wanted")

    def __init__(self, wanted: Span, late: Overlay) -> None:
        self.wanted = wanted
        self.low = self.high = b""
        self._names: list[bytes] = []
        self._values: dict[bytes, bytes] = {}
        self._late: dict[bytes, bytes | None] = dict(late)
        """Rows that the engine may not have had when it was read; until it is there."""

    @property
    def names(self) -> list[bytes]:
        """The rows that it has, in order; not to be changed."""
        return self._names

    def arrived(self, found: Found) -> None:
        """The engine has told what it has of it."""
        self.low, self.high = found.low, found.high
        self._values = dict(found.rows)
        self._names = sorted(self._values)
        late, self._late = self._late, {}
        self.written(late)

    def written(self, rows: Overlay) -> None:
        """Rows are about to be written."""
        if not self.high:
            wanted = self.wanted
            self._late.update({row: rows[row] for row in rows if wanted.start <= row < wanted.stop})
            return
        for row in [row for row in rows if self.low <= row < self.high]:
            value = rows[row]
            if value is not None:
                if row not in self._values:
                    insort(self._names, row)
                self._values[row] = value
            elif self._values.pop(row, None) is not None:
                del self._names[bisect_left(self._names, row)]

    def rows(self, start: bytes, stop: bytes, *, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """The rows of [start, stop), which it covers."""
        names = self._names[bisect_left(self._names, start) : bisect_left(self._names, stop)]
        values = self._values
        return iter([(row, values[row]) for row in (reversed(names) if reverse else names)])


class AtHand:
    """All that is held."""

    def __init__(self) -> None:
        self.rows: dict[bytes, HeldRow] = {}
        self.spans: list[HeldSpan] = []

    def find(self, row: bytes) -> bytes | None:
        """The value of a row, None if it is not there, or UNKNOWN."""
        held = self.rows.get(row)
        return UNKNOWN if held is None else held.value

    def hold_row(self, row: bytes) -> HeldRow:
        """Keep a row until `release_row`; whoever finds it without users has it fetched."""
        held = self.rows.get(row)
        if held is None:
            held = self.rows[row] = HeldRow()
        held.users += 1
        return held

    def release_row(self, row: bytes, held: HeldRow) -> None:
        """It is no longer needed by one of those who hold it."""
        held.users -= 1
        if not held.users and self.rows.get(row) is held:
            del self.rows[row]

    def find_span(
        self, start: bytes, stop: bytes, *, reverse: bool, keys_only: bool
    ) -> HeldSpan | None:
        """One that covers the beginning of a range, or its end when `reverse`."""
        for span in self.spans:
            has_values = keys_only or not span.wanted.keys_only
            covers = span.low < stop <= span.high if reverse else span.low <= start < span.high
            if has_values and covers:
                return span
        return None

    def release_span(self, span: HeldSpan) -> None:
        """It is no longer needed."""
        if span in self.spans:
            self.spans.remove(span)

    def written(self, rows: Overlay) -> None:
        """Rows are about to be written: what is held changes with them."""
        if self.rows:
            for row in self.rows.keys() & rows.keys():
                self.rows[row].value = rows[row]
        for span in self.spans:
            span.written(rows)

    def clear(self) -> None:
        """Know nothing."""
        self.rows.clear()
        self.spans.clear()
