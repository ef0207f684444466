"""The contract of an ordered key-value engine.

Rows are bytes, ordered as unsigned bytes. An engine knows nothing of types, expiry or clients.
`tests/storage/test_engine.py` holds every engine to this page.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

Rows = Mapping[bytes, bytes | None]
"""A batch: row -> value to put, or None to delete."""


class Reader(Protocol):
    """Point and range reads; an engine or a snapshot of one.

    All of them raise `Damaged` for what cannot be read, and never leave a row out without a word.
    """

    def get(self, row: bytes) -> bytes | None:
        """The value of a row, or None."""
        ...

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop) in order, or from the end when `reverse`.

        Sees the state at the time of the call, whatever is written while it is consumed.
        """
        ...

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """As `scan`, without the values."""
        ...


class Snapshot(Reader, Protocol):
    """A frozen view; close it when done, since it keeps old rows alive."""

    def close(self) -> None:
        """Let go of the view."""
        ...


class Engine(Reader, Protocol):
    """An ordered store of rows.

    Requires: `write` is called from one thread at a time; reads may run beside it.
    """

    name: str

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        """Write all rows or none. With `sync`, on stable storage before it returns.

        Returns about how many bytes that were. Raises `StoreUnavailable` when the engine refuses;
        none of the rows is then visible after a reopen, unless the engine had already logged the
        whole batch. From then on it refuses every write until `reopen`; `StoreDamaged` says that
        this would be of no use.
        """
        ...

    def prepare(self, rows: Rows, *, sync: bool = False) -> Callable[[], int]:
        """Build a batch now, to be written by calling the result, from any one thread.

        Building needs the interpreter, writing does not: a thread that only writes does not slow
        the event loop down.
        """
        ...

    def snapshot(self) -> Snapshot:
        """A frozen view of the rows as they are now."""
        ...

    def sync(self) -> None:
        """Put everything written so far on stable storage. May be called from any thread."""
        ...

    def pieces(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """A range cut into parts, in order, that take about a second each to compact."""
        ...

    def compact(self, start: bytes, stop: bytes) -> None:
        """Reclaim the space of deleted rows in a range. Slow; may be called from any thread."""
        ...

    def tidy(self) -> None:
        """Look after the files. Called in a thread, ten times a second while rows are written."""
        ...

    def size(self, start: bytes, stop: bytes) -> int:
        """Roughly the bytes that a range takes on disk."""
        ...

    def pressure(self) -> int:
        """How near the engine is to stalling writers: 0 is calm, 100 is a full stop."""
        ...

    def property(self, name: str) -> str | None:
        """What the engine says of itself under that name, or None."""
        ...

    def reopen(self) -> None:
        """Close and open again after an error.

        Raises `StoreUnavailable` if that is not possible yet; reads then go on as before. On a
        full disk it may take the room that is kept for deleting: `lacks_room` then says so.
        """
        ...

    def lacks_room(self) -> str:
        """Why rows should only be deleted for now; nothing if there is room."""
        ...

    def regain_room(self) -> bool:
        """Keep room for deleting again, if there is enough for writing too; says whether."""
        ...

    def close(self) -> None:
        """Write what is buffered and let go of the files; whatever is called later raises.

        Requires: no other thread is in the engine.
        """
        ...
