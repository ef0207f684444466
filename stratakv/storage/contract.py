"""The contract of an ordered key-value engine.

Rows are bytes, ordered as unsigned bytes. An engine knows nothing of types, expiry or clients.
`Engine` is what every engine can do, wherever its rows are; `EmbeddedEngine` what only one in this
process can. `tests/storage/test_engine.py` holds every engine to this page.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
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
    """An ordered store of rows, near or far: any call may take as long as it wants.

    The offline tools ask for no more than this.

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

    def snapshot(self) -> Snapshot:
        """A frozen view of the rows as they are now."""
        ...

    def sync(self) -> None:
        """Put everything written so far on stable storage. May be called from any thread."""
        ...

    def size(self, start: bytes, stop: bytes) -> int:
        """Roughly the bytes that a range takes where the rows are kept."""
        ...

    def reopen(self) -> None:
        """Close and open again after an error.

        Raises `StoreUnavailable` if that is not possible yet; reads then go on as before.
        """
        ...

    def close(self) -> None:
        """Write what is buffered and let go of everything; whatever is called later raises.

        Requires: no other thread is in the engine.
        """
        ...


class EmbeddedEngine(Engine, Protocol):
    """An engine in this process, which the server's `Store` is built on.

    The event loop itself calls `get`, `scan`, `snapshot` and, while `pressure` is low, `write`: a
    row takes them microseconds. An engine for which that is not true cannot stand behind `Store`.
    """

    @property
    def directory(self) -> Path | None:
        """Where its files are, if it has any."""
        ...

    def prepare(self, rows: Rows, *, sync: bool = False) -> Callable[[], int]:
        """Build a batch now, to be written by calling the result, from any one thread.

        Building needs the interpreter, writing does not: a thread that only writes does not slow
        the event loop down.
        """
        ...

    def pressure(self) -> int:
        """How near the engine is to stalling writers: 0 is calm, 100 is a full stop."""
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

    def lacks_room(self) -> str:
        """Why rows should only be deleted for now; nothing if there is room.

        On a full disk `reopen` may take the room that is kept for deleting.
        """
        ...

    def regain_room(self) -> bool:
        """Keep room for deleting again, if there is enough for writing too; says whether."""
        ...

    def report(self) -> str:
        """What the engine tells of itself, in its own words; nothing if it has none."""
        ...

    def back_up(self, target: Path) -> None:
        """Make a directory that opens as a store with all that is written by now.

        May be called from any thread, and holds nobody up. Raises `StoreUnavailable`.
        """
        ...
