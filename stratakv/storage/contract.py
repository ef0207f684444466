"""The contract of an ordered key-value engine.

Rows are bytes, ordered as unsigned bytes. An engine knows nothing of types, expiry or clients.
`Engine` is what every engine can do, wherever its rows are; `EmbeddedEngine` what only one in this
process can, and `RemoteEngine` what only one elsewhere has to. `tests/storage/test_engine.py` holds
every engine to this page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Outcome = Callable[[Any, Exception | None], None]
"""Called with what was asked for, or with why it cannot be had; in any thread."""
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


class RemoteSnapshot(Snapshot, Protocol):
    """One of an engine elsewhere."""

    def expect(self, rows: Sequence[bytes]) -> None:
        """These will be got, about in that order: they are fetched some at a time."""
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


class Span(NamedTuple):
    """A range that is wanted: at most `limit` rows of [start, stop), or of its end."""

    start: bytes
    stop: bytes
    reverse: bool
    keys_only: bool
    limit: int


class Found(NamedTuple):
    """All rows that there are of [low, high), in the order in which they were asked for."""

    low: bytes
    high: bytes
    rows: list[tuple[bytes, bytes]]


class RemoteEngine(Engine, Protocol):
    """An engine elsewhere, which the server's `RemoteStore` is built on.

    Nothing that begins with `begin` waits, or calls back at once. Commits are done in the order in
    which they began; after one that failed, all others are refused until `reopen`.
    """

    @property
    def entitled_until(self) -> float:
        """By the monotonic clock: until then nobody else can have written."""
        ...

    @property
    def is_pressed(self) -> bool:
        """Whether it has asked for less."""
        ...

    @property
    def counters(self) -> Mapping[str, int | float]:
        """What it has done, by name."""
        ...

    @property
    def call_times(self) -> tuple[Sequence[int], float]:
        """Answered calls by their time, bucket n those below 2**n microseconds, and all seconds."""
        ...

    def when_lost(self, then: Callable[[Exception], None]) -> None:
        """Have that called when the rows are found to be somebody else's, in any thread."""
        ...

    def check(self, row: bytes, size: int) -> None:
        """Raises `StoreUnavailable` for a row that it cannot take, with so large a value."""
        ...

    @property
    def most_bytes(self) -> int:
        """What names and values of a commit may take together."""
        ...

    def choose_durability(self, mode: str) -> None:
        """When commits count as done from now on, by the option `durability`."""
        ...

    def begin_fetch(self, rows: Sequence[bytes], spans: Sequence[Span], then: Outcome) -> None:
        """Read rows and ranges: `then` gets (values in their order, a `Found` for each range)."""
        ...

    def begin_commit(self, rows: Rows, then: Outcome) -> None:
        """As `write`."""
        ...

    def begin_snapshot(self, then: Outcome) -> None:
        """What `view_by` makes a snapshot of."""
        ...

    def view_by(
        self, opened: Any, wait: Callable[[Callable[[Outcome], None]], Any]
    ) -> RemoteSnapshot:
        """A snapshot; `wait` begins a read, and gives back or raises what comes of it."""
        ...
