"""An engine in memory: the contract without a disk, for tests and for throw-away servers."""

import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import Rows


class MemoryView:
    """Sorted rows that do not change while a scan walks over them (copied when they would)."""

    __slots__ = ("_keys", "_rows")

    def __init__(self, keys: list[bytes], rows: dict[bytes, bytes]) -> None:
        self._keys = keys
        self._rows = rows

    def get(self, row: bytes) -> bytes | None:
        """The value of a row, or None."""
        return self._rows.get(row)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop)."""
        rows = self._rows
        return iter([(key, rows[key]) for key in self.scan_keys(start, stop, reverse=reverse)])

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Row keys of [start, stop)."""
        found = self._keys[bisect_left(self._keys, start) : bisect_left(self._keys, stop)]
        return iter(found[::-1] if reverse else found)

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryEngine(MemoryView):
    """Rows in a dict beside a sorted list of their keys."""

    name = "memory"
    directory = None

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        super().__init__([], {})
        self._lock = threading.RLock()

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop)."""
        with self._lock:
            return super().scan(start, stop, reverse=reverse)

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Row keys of [start, stop)."""
        with self._lock:
            return super().scan_keys(start, stop, reverse=reverse)

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        """Write all rows; memory does not refuse."""
        with self._lock:
            for row, value in rows.items():
                known = row in self._rows
                if value is not None:
                    self._rows[row] = bytes(value)
                    if not known:
                        insort(self._keys, row)
                elif known:
                    del self._rows[row]
                    del self._keys[bisect_left(self._keys, row)]
        return sum(len(row) + len(value or b"") for row, value in rows.items())

    def prepare(self, rows: Rows, *, sync: bool = False) -> Callable[[], int]:
        """Nothing to build: the result writes."""
        return partial(self.write, rows, sync=sync)

    def snapshot(self) -> MemoryView:
        """A copy: fine for tests, which is what this engine is for."""
        return MemoryView(list(self._keys), dict(self._rows))

    def sync(self) -> None:
        """Memory has no stable storage."""

    def pieces(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """The range as it is."""
        return [(start, stop)]

    def compact(self, start: bytes, stop: bytes) -> None:
        """Deleted rows are gone already."""

    def tidy(self) -> None:
        """There are no files."""

    def size(self, start: bytes, stop: bytes) -> int:
        """The exact bytes of a range."""
        return sum(len(key) + len(value) for key, value in self.scan(start, stop))

    def pressure(self) -> int:
        """Memory never stalls."""
        return 0

    def report(self) -> str:
        """Memory says nothing of itself."""
        return ""

    def reopen(self) -> None:
        """Nothing to reopen."""

    def lacks_room(self) -> str:
        """Memory keeps no reserve."""
        return ""

    def regain_room(self) -> bool:
        """There is room."""
        return True

    def back_up(self, target: Path) -> None:
        """Refuse: there are no files."""
        raise StoreUnavailable("the rows are in memory: there are no files to back up")

    def close(self) -> None:
        """Nothing to close."""
