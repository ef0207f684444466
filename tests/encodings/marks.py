"""An engine that keeps deletion marks as LevelDB does, and counts those that scans step over.

LevelDB deletes a row by a mark. A scan that looks for the next live row steps over every mark on
its way, also past the end of its range, until a compaction has dropped them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from stratakv.storage.contract import Rows
from stratakv.storage.memory import MemoryEngine, MemoryView

ENDLESS = b"\xff" * 8


class Marks:
    """The marks of an engine at one time, and a counter of the steps over them."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.steps = 0

    def add(self, row: bytes) -> None:
        at = bisect_left(self.rows, row)
        if at == len(self.rows) or self.rows[at] != row:
            self.rows.insert(at, row)

    def discard(self, row: bytes) -> None:
        at = bisect_left(self.rows, row)
        if at < len(self.rows) and self.rows[at] == row:
            del self.rows[at]

    def drop(self, start: bytes, stop: bytes) -> None:
        """A compaction."""
        del self.rows[bisect_left(self.rows, start) : bisect_right(self.rows, stop)]

    def step(self, start: bytes, stop: bytes) -> None:
        """Go from one row to another."""
        self.steps += max(0, bisect_left(self.rows, stop) - bisect_right(self.rows, start))


def walk(
    live: list[bytes], marks: Marks, start: bytes, stop: bytes, reverse: bool
) -> Iterator[bytes]:
    """The live rows of [start, stop); it counts what lies between one of them and the next."""
    if reverse:
        at, here = bisect_left(live, stop), stop
        while True:
            at -= 1
            found = live[at] if at >= 0 else b""
            marks.step(found, here)
            if at < 0 or found < start:
                return
            yield found
            here = found
    at, here = bisect_left(live, start), start
    marks.step(here[:-1] if here else here, here)
    while True:
        found = live[at] if at < len(live) else ENDLESS
        marks.step(here, found)
        if found >= stop:
            return
        yield found
        at, here = at + 1, found


class MarkedView(MemoryView):
    """A snapshot that counts into its engine's marks."""

    __slots__ = ("_marks",)

    def __init__(self, keys: list[bytes], rows: dict[bytes, bytes], marks: Marks) -> None:
        super().__init__(keys, rows)
        self._marks = marks

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        return walk(self._keys, self._marks, start, stop, reverse)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        rows = self._rows
        return ((row, rows[row]) for row in self.scan_keys(start, stop, reverse=reverse))


class MarkedEngine(MemoryEngine):
    """Rows in memory, with marks where rows were."""

    __slots__ = ("compacted", "marks")

    def __init__(self) -> None:
        super().__init__()
        self.marks = Marks()
        self.compacted: list[tuple[bytes, bytes]] = []

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        for row, value in rows.items():
            if value is None:
                self.marks.add(row)
            else:
                self.marks.discard(row)
        self._keys = list(self._keys)  # scans under way keep theirs
        return super().write(rows, sync=sync)

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        return walk(self._keys, self.marks, start, stop, reverse)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return (
            (row, self._rows.get(row, b"")) for row in self.scan_keys(start, stop, reverse=reverse)
        )

    def snapshot(self) -> MarkedView:
        return MarkedView(list(self._keys), dict(self._rows), self.marks)

    def compact(self, start: bytes, stop: bytes) -> None:
        self.compacted.append((start, stop))
        self.marks.drop(start, stop)

    def since(self) -> int:
        """The steps since the last call."""
        steps, self.marks.steps = self.marks.steps, 0
        return steps
