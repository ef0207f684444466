"""The engine: the rows of one group of a table, written by this process alone.

It answers threads and tools, which wait, and the server's store, which is called back. The client
lives in a thread of its own (open_table.py), which the groups of a process share.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Final, TypeVar

from stratakv.storage.contract import Found, Outcome, Rows, Span
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import MAX_ROW_BYTES, Limits
from stratakv.storage.hbase.open_table import OpenTable
from stratakv.storage.hbase.owner import LEASE_SECONDS, Owner
from stratakv.storage.hbase.requests import DURABILITIES, Durability
from stratakv.storage.hbase.scans import Page
from stratakv.storage.hbase.snapshots import Snapshot

FETCHED_AT_ONCE: Final = 256
"""Of the rows that a snapshot is to expect."""
MOST_EXPECTED: Final = 20_000
MOST_FETCHED: Final = 1024
"""Before they are forgotten."""
LONGEST_ROW: Final = MAX_ROW_BYTES - 3
"""Without the group's prefix."""

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, Any]], Any]
Begin = Callable[[Coroutine[Any, Any, Any], Outcome], None]


class HBaseView:
    """A frozen view; every read of it is a call to HBase, and raises `SnapshotGone` in the end."""

    def __init__(self, group: Group, view: Snapshot, run: Run, begin: Begin) -> None:
        self._group = group
        self._view = view
        self._run = run
        self._begin = begin
        self._expected: dict[bytes, tuple[Sequence[bytes], int]] = {}
        """Rows, with those that follow them."""
        self._fetched: dict[bytes, bytes | None] = {}

    def expect(self, rows: Sequence[bytes]) -> None:
        """These will be got, about in that order: they are fetched some at a time."""
        if len(self._expected) > MOST_EXPECTED:
            self._expected.clear()
        rows = [row for row in rows if len(row) <= LONGEST_ROW]
        self._expected.update({row: (rows, place) for place, row in enumerate(rows)})

    def get(self, row: bytes) -> bytes | None:
        """The value of a row, or None."""
        if len(row) > LONGEST_ROW:
            return None
        if row in self._fetched:
            return self._fetched[row]
        expected = self._expected.get(row)
        if expected is None:
            return self._get_many([row])[0]
        rows, place = expected
        some = rows[place : place + FETCHED_AT_ONCE]
        if len(self._fetched) > MOST_FETCHED:
            self._fetched.clear()
        self._fetched.update(zip(some, self._get_many(some), strict=True))
        return self._fetched[row]

    def _get_many(self, rows: Sequence[bytes]) -> list[bytes | None]:
        names = [self._group.row(row) for row in rows]
        found: list[bytes | None] = self._run(self._view.get_many(names))
        return found

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop), page by page."""
        return self._pages(start, stop, reverse, keys_only=False)

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """As `scan`, without the values."""
        return (row for row, _ in self._pages(start, stop, reverse, keys_only=True))

    def _pages(
        self, start: bytes, stop: bytes, reverse: bool, *, keys_only: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        group = self._group
        left, end = _bounds(group, start, stop)
        while left < end:
            page: Page = self._run(self._view.page(left, end, reverse=reverse, keys_only=keys_only))
            for row, value in page.rows:
                yield group.engine_row(row), value
            left, end = page.start, page.stop

    def close(self) -> None:
        """Let go of the view; nobody waits for that, since it may be the end of a generator."""
        self._begin(self._view.close(), _ignore)


class GroupEngine:
    """A group of a table, with the right to it."""

    name = "hbase"

    def __init__(self, table: OpenTable, owner: Owner) -> None:
        self.limits = table.limits
        self._group = owner.group
        self._client = table.client
        self._thread = table.thread
        self._owner = owner

    # for whoever waits

    def get(self, row: bytes) -> bytes | None:
        """The value of a row, or None."""
        return self._thread.run(self._fetch([row], []))[0][0]

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop) as they are at the time of the call."""
        view = self.snapshot()
        return _closing(view, view.scan(start, stop, reverse=reverse))

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """As `scan`, without the values."""
        view = self.snapshot()
        return _closing(view, view.scan_keys(start, stop, reverse=reverse))

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        """Write all rows or none; how durable that is was said when it was opened."""
        return self._thread.run(self._commit(rows)) if rows else 0

    def snapshot(self) -> HBaseView:
        """A frozen view of the rows as they are now."""
        view = self._thread.run(self._view())
        return HBaseView(self._group, view, self._thread.run, self._thread.start)

    def sync(self) -> None:
        """What was written is in HBase's log already."""

    def size(self, start: bytes, stop: bytes) -> int:
        """The bytes of names and values in a range: it is read for that."""
        return sum(len(row) + len(value) for row, value in self.scan(start, stop))

    def reopen(self) -> None:
        """Take the group anew, after which nothing of before can still be done."""
        self._thread.run(self._owner.take_again())

    def close(self) -> None:
        """Give the group back."""
        self._thread.run(self._owner.give_back())

    # for the server's store

    @property
    def entitled_until(self) -> float:
        """By the monotonic clock: until then nobody else can have written."""
        return self._owner.entitled_until

    @property
    def is_pressed(self) -> bool:
        """Whether HBase has said that it has too much to do."""
        return self._client.is_pressed

    @property
    def counters(self) -> dict[str, int | float]:
        """What the client has done, by name."""
        return {**self._client.counters.as_dict(), "epoch": self._owner.epoch}

    @property
    def call_times(self) -> tuple[Sequence[int], float]:
        """Answered calls by their time, bucket n those below 2**n microseconds, and all seconds."""
        counters = self._client.counters
        return counters.buckets, counters.seconds

    def when_lost(self, then: Callable[[Exception], None]) -> None:
        """Have that called, in the thread, when the group is found to be somebody else's."""
        self._owner.on_lost = then

    def check(self, row: bytes, size: int) -> None:
        """Raises `TooLarge` for a row with a value of so many bytes."""
        self.limits.check_row(self._group.row(row))
        self.limits.check_value(size)

    @property
    def most_bytes(self) -> int:
        """What names and values of a commit may take together."""
        return self.limits.commit_bytes

    def choose_durability(self, mode: str) -> None:
        """When commits count as done from now on."""
        self._thread.call(lambda: self._client.choose_durability(DURABILITIES[mode]))

    def begin_fetch(self, rows: Sequence[bytes], spans: Sequence[Span], then: Outcome) -> None:
        """Read rows and ranges: `then` gets (values, what was found of each range)."""
        self._thread.start(self._fetch(rows, spans), then)

    def begin_commit(self, rows: Rows, then: Outcome) -> None:
        """Write all rows or none: `then` gets about how many bytes that were."""
        self._thread.start(self._commit(rows), then)

    def begin_snapshot(self, then: Outcome) -> None:
        """A frozen view for `view_by`."""
        self._thread.start(self._view(), then)

    def view_by(self, opened: Any, wait: Callable[[Callable[[Outcome], None]], Any]) -> HBaseView:
        """A frozen view whose reads are waited for by `wait`."""

        def run(work: Coroutine[Any, Any, Any]) -> Any:
            return wait(lambda then: self._thread.start(work, then))

        return HBaseView(self._group, opened, run, self._thread.start)

    async def _fetch(
        self, rows: Sequence[bytes], spans: Sequence[Span]
    ) -> tuple[list[bytes | None], list[Found]]:
        group = self._group
        names = [group.row(row) for row in rows if len(row) <= LONGEST_ROW]
        values = iter(await self._client.get_many(names) if names else [])
        found = [next(values) if len(row) <= LONGEST_ROW else None for row in rows]
        return found, [await self._page(span) for span in spans]

    async def _page(self, span: Span) -> Found:
        group = self._group
        start, stop = _bounds(group, span.start, span.stop)
        if start >= stop:
            return Found(span.start, span.stop, [])
        page = await self._client.page(
            start, stop, reverse=span.reverse, limit=span.limit, keys_only=span.keys_only
        )
        read = [(group.engine_row(row), value) for row, value in page.rows]
        if page.is_last:
            return Found(span.start, span.stop, read)
        if span.reverse:
            return Found(group.engine_row(page.stop), span.stop, read)
        return Found(span.start, group.engine_row(page.start), read)

    async def _commit(self, rows: Rows) -> int:
        group = self._group
        return await self._owner.commit({group.row(row): value for row, value in rows.items()})

    async def _view(self) -> Snapshot:
        return await self._client.snapshot(self._group)


class HBaseEngine(GroupEngine):
    """All of a table that has one group, with a client of its own."""

    def __init__(
        self,
        address: str,
        table: str,
        *,
        owner: bytes,
        durability: Durability = Durability.LOGGED,
        limits: Limits | None = None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._table = OpenTable(address, table, groups=1, durability=durability, limits=limits)
        try:
            right = Owner(self._table.client, Group(0), owner, seconds=lease_seconds)
            self._table.thread.run(right.take())
        except BaseException:
            self._table.close()
            raise
        super().__init__(self._table, right)

    def close(self) -> None:
        """Give the group back and let go of everything."""
        try:
            super().close()
        finally:
            self._table.close()


def _bounds(group: Group, start: bytes, stop: bytes) -> tuple[bytes, bytes]:
    """A range as the table has it; nothing is stored under names that it cannot have."""
    if len(start) > LONGEST_ROW:
        return b"", b""
    return group.row(start), group.row(stop[:LONGEST_ROW])


def _ignore(found: Any, failure: Exception | None) -> None:
    """What cannot be let go of ends by itself."""


def _closing(view: HBaseView, found: Iterator[T]) -> Iterator[T]:
    try:
        yield from found
    finally:
        view.close()
