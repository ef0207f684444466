"""The commit pipeline over an engine elsewhere: as `Store`, but nothing is ever waited for.

A row is answered from what waits to be written, is on its way, is kept (the few rows of the server
itself), was read lately, or was fetched. Whoever asks for another raises `Missing`; all that is
missed in a turn leaves as one request. Batches go out one after the other. Work in slices and
threads reads through `snapshot` and `written`, which wait.

1. What is answered from memory is right as long as nobody else writes: `is_entitled` says until
   when that is sure, and whoever sends replies looks at it afterwards (proxy/run/leased_turns.py).
2. After a refused batch nothing is answered, `closed` says why, until `reopen` has taken the rows
   anew: one whose outcome is not known may have been done.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar, cast

from stratakv import errors
from stratakv.errors import CommandError, StoreUnavailable
from stratakv.storage.at_hand import AtHand, HeldRow, HeldSpan
from stratakv.storage.contract import (
    EmbeddedEngine,
    Found,
    Outcome,
    Reader,
    RemoteEngine,
    RemoteSnapshot,
    Rows,
    Snapshot,
    Span,
)
from stratakv.storage.missing import Answers, Missing, Then
from stratakv.storage.row_cache import UNKNOWN, RowCache
from stratakv.storage.store import Batch, Done, Overlay, Post, Store, merge

FIRST_SPAN_ROWS: Final = 100
"""Of a range, to begin with: most that are read are short."""
NEXT_SPAN_ROWS: Final = 1000
MOST_ROUNDS: Final = 200
MOST_ROWS: Final = 50_000
"""Of one unit of work: HBase holds the region up while it writes them."""
LEVELS: Final = frozenset({"waiting", "epoch"})
"""Of the counters, those that tell how it is now."""
LONGEST_VALUE: Final = 1 << 20
"""Rows with longer values are not remembered."""

Wait = Callable[[Callable[[Callable[[], None]], Any]], None]
T = TypeVar("T")


class NotAtHand(Missing):
    """Rows, or a range, that have to be fetched."""

    most_rounds: ClassVar[int] = MOST_ROUNDS
    stays_true: ClassVar[bool] = True

    def __init__(self, store: "RemoteStore", rows: Sequence[bytes], span: Span | None) -> None:
        super().__init__()
        self._store = store
        self._rows = list(rows)
        self._span = span

    def foresee(self, rows: Callable[[Sequence[bytes]], list[bytes]]) -> None:
        """What will be missed next is fetched at once."""
        foreseen = dict.fromkeys(rows(self._rows))
        known = self._rows
        self._rows = (
            known
            + [  # not +=, which mypyc does not do to attributes of exceptions
                row for row in foreseen if self._store.peek(row) is UNKNOWN and row not in known[:1]
            ]
        )

    def ask(self, answers: Answers, then: Then) -> None:
        """Join what this turn asks for."""
        self._store.want(self._rows, self._span, answers, then)


class RemoteStore(Store):
    """An engine elsewhere behind the pipeline. `kept` are the beginnings of rows that are kept."""

    def __init__(
        self,
        engine: RemoteEngine,
        *,
        post: Post,
        kept: tuple[bytes, ...],
        row_cache_bytes: int = 4 << 20,
    ) -> None:
        # What only an embedded engine can do is answered here, and never asked of it.
        super().__init__(cast("EmbeddedEngine", engine), post=post)
        self.remote = engine
        self.row_cache = RowCache(row_cache_bytes, LONGEST_VALUE)
        self.written = cast("Reader", _Waiting(self))
        self.closed: StoreUnavailable | None = None
        """Why nothing is read or written now, if so."""
        self._kept_prefixes = kept
        self._kept: dict[bytes, bytes] = {}
        self._hand = AtHand()
        self._wanted_rows: dict[bytes, HeldRow] = {}
        self._wanted_spans: list[HeldSpan] = []
        self._wanting: list[Then] = []
        self._fetches = 0
        self._waiting_sizes: deque[int] = deque()
        """Of the batches in flight."""
        self.waiting_bytes = 0
        """Of names and values that are submitted and not written."""
        self._committing = False
        self._failure: StoreUnavailable | None = None
        self._wait: Wait | None = None
        self._loop_thread = threading.get_ident()
        self._hand_post = post
        self._load_kept()
        engine.when_lost(self._tell_lost)

    def _tell_lost(self, failure: Exception) -> None:
        self._hand_post(partial(self._lost, failure))

    def serve(self, wait: Wait) -> None:
        """From now on nothing is read at once any more; work in slices waits by `wait`.

        Called in the loop's thread, wherever the store was made.
        """
        self._wait = wait
        self._loop_thread = threading.get_ident()

    @property
    def is_entitled(self) -> bool:
        """Whether it is sure that nobody else has written up to now."""
        return time.monotonic() < self.remote.entitled_until

    # reading

    def get(self, row: bytes) -> bytes | None:
        """The value of a row as the last command left it; raises `Missing`."""
        value = self.peek(row)
        if value is not UNKNOWN:
            return value
        self._check_open()
        self.stats.reads += 1
        if self._wait is None:
            return self.remote.get(row)
        raise NotAtHand(self, (row,), None)

    def need(self, rows: Iterable[bytes]) -> None:
        """Raises `Missing` for all of these that are not at hand."""
        missing = [row for row in rows if self.peek(row) is UNKNOWN]
        if missing and self._wait is not None:
            self._check_open()
            raise NotAtHand(self, missing, None)

    def get_often(self, row: bytes) -> bytes | None:
        """As `get`: what is fetched is remembered in any case."""
        return self.get(row)

    def peek(self, row: bytes) -> bytes | None:
        """As `get`, but UNKNOWN where the engine would have to be asked."""
        value = self.pending.get(row, UNKNOWN)
        if value is not UNKNOWN:
            return value
        for batch in reversed(self.inflight):
            value = batch.rows.get(row, UNKNOWN)
            if value is not UNKNOWN:
                return value
        if row.startswith(self._kept_prefixes):
            return self._kept.get(row)
        value = self.row_cache.find(row)
        return self._hand.find(row) if value is UNKNOWN else value

    def scan_queue(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        """As `scan_keys`: where the live rows begin is the engine's concern."""
        return self.scan_keys(start, stop)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop) as the last command left them; raises `Missing` on the way."""
        return self._merged(start, stop, reverse, keys_only=False)

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """As `scan`, without the values."""
        return map(itemgetter(0), self._merged(start, stop, reverse, keys_only=True))

    def _merged(
        self, start: bytes, stop: bytes, reverse: bool, *, keys_only: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        self.stats.scans += 1
        if start.startswith(self._kept_prefixes):
            found = {row: self._kept[row] for row in self._kept if start <= row < stop}
            base = iter(sorted(found.items(), reverse=reverse))
        else:
            base = self._stored(start, stop, reverse, keys_only)
        overlay = self._overlay(start, stop)
        return merge(base, overlay, reverse=reverse) if overlay else base

    def _stored(
        self, start: bytes, stop: bytes, reverse: bool, keys_only: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        """What was fetched of a range; raises `Missing` where that ends."""
        self._check_open()
        if self._wait is None:
            yield from self.remote.scan(start, stop, reverse=reverse)
            return
        limit = FIRST_SPAN_ROWS
        while start < stop:
            span = self._hand.find_span(start, stop, reverse=reverse, keys_only=keys_only)
            if span is None:
                raise NotAtHand(self, (), Span(start, stop, reverse, keys_only, limit))
            low, high = max(start, span.low), min(stop, span.high)
            yield from span.rows(low, high, reverse=reverse)
            start, stop = (start, low) if reverse else (high, stop)
            limit = NEXT_SPAN_ROWS

    def _check_open(self) -> None:
        if self.closed is not None:
            raise errors.store_away(str(self.closed))

    # fetching

    def want(self, rows: Sequence[bytes], span: Span | None, answers: Answers, then: Then) -> None:
        """Fetch rows and a range with all else that is missed in this turn."""
        if not self._wanting:
            self._hand_post(self._send)
        for row in rows:
            held = self._hand.hold_row(row)
            answers.held.append(partial(self._hand.release_row, row, held))
            if held.value is UNKNOWN:
                self._wanted_rows[row] = held
        if span is not None:
            late: Overlay = {}
            for batch in self.inflight:
                late.update(batch.rows)
            awaited = HeldSpan(span, {})
            awaited.written(late)
            self._hand.spans.append(awaited)
            answers.spans.append(awaited)
            answers.held.append(partial(self._hand.release_span, awaited))
            self._wanted_spans.append(awaited)
        self._wanting.append(then)

    def _send(self) -> None:
        """Ask for all that this turn misses."""
        self._fetches += 1
        wanting, self._wanting = self._wanting, []
        rows, self._wanted_rows = self._wanted_rows, {}
        spans, self._wanted_spans = self._wanted_spans, []
        arrived = partial(self._arrived, rows, spans, wanting, self._epoch)

        def then(found: Any, failure: Exception | None) -> None:
            self._hand_post(partial(arrived, found, failure))

        self.remote.begin_fetch(list(rows), [span.wanted for span in spans], then)

    def _arrived(
        self,
        rows: dict[bytes, HeldRow],
        spans: list[HeldSpan],
        wanting: list[Then],
        epoch: int,
        found: tuple[list[bytes | None], list[Found]] | None,
        failure: Exception | None,
    ) -> None:
        if epoch != self._epoch:
            failure = self.closed or StoreUnavailable("it was opened anew meanwhile")
        if found is not None and failure is None:
            for (row, held), value in zip(rows.items(), found[0], strict=True):
                if held.value is UNKNOWN:  # else it was written meanwhile
                    held.value = value
                if self._hand.rows.get(row) is held:  # else nobody has told it what was written
                    self.row_cache.keep(row, held.value)
            for span, part in zip(spans, found[1], strict=True):
                span.arrived(part)
        told = None if failure is None else errors.store_away(str(failure))
        for then in wanting:
            then(told)

    # writing

    def check_unit(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Raises `CommandError` for rows of one unit of work that cannot be written together."""
        if len(rows) > MOST_ROWS:
            raise errors.too_much(f"{len(rows)} rows", f"{MOST_ROWS}")
        size = 0
        try:
            for row, value in rows.items():
                length = 0 if value is None else len(value)
                self.remote.check(row, length)
                size += len(row) + length
        except StoreUnavailable as error:
            raise CommandError(b"ERR " + str(error).encode()) from None
        most = self.remote.most_bytes * 3 // 4
        if size > most:
            raise errors.too_much(f"{size} bytes", f"{most}")

    def settle(self) -> None:
        """Nothing is written early: it would not be there any sooner."""

    def submit(self, rows: Overlay, done: Done) -> None:
        """Write rows that are not pending as a batch of their own, behind those under way."""
        self._note_written(rows)
        self._hand.written(rows)
        self._note_kept(rows)
        self._submitted += 1
        self.inflight.append(Batch(rows, done, self._epoch))
        size = sum([len(row) + len(value or b"") for row, value in rows.items()])
        self._waiting_sizes.append(size)
        self.waiting_bytes += size
        self._advance()

    def _note_kept(self, rows: Overlay) -> None:
        for row, value in rows.items():
            if row.startswith(self._kept_prefixes):
                if value is None:
                    self._kept.pop(row, None)
                else:
                    self._kept[row] = value

    def _advance(self) -> None:
        """Begin the next commit, and end those that need none."""
        if self._committing:
            return
        self._committing = True
        while self.inflight:
            batch = self.inflight[0]
            if batch.epoch != self._epoch:
                batch.error = self._failure
            elif batch.rows or not self.is_entitled:
                self._begin(batch)
                return
            self._take_first()
            self._finish(batch)
        self._committing = False

    def _take_first(self) -> None:
        """The oldest batch is no longer in flight."""
        self.inflight.popleft()
        self.waiting_bytes -= self._waiting_sizes.popleft()

    def _begin(self, batch: Batch) -> None:
        self.stats.threaded += 1
        ended = partial(self._ended, batch, time.perf_counter())

        def then(size: Any, failure: Exception | None) -> None:
            self._hand_post(partial(ended, size, failure))

        self.remote.begin_commit(batch.rows, then)

    def _ended(
        self, batch: Batch, started: float, size: int | None, failure: Exception | None
    ) -> None:
        if size is not None:
            self.stats.count(len(batch.rows), size, time.perf_counter() - started)
        elif not isinstance(failure, StoreUnavailable):
            failure = StoreUnavailable(f"the engine failed: {failure!r}")
        if failure is not None:
            assert isinstance(failure, StoreUnavailable)
            self._close(failure)
            batch.error = failure
        self._take_first()
        self._finish(batch)
        self._committing = False
        self._advance()

    def _close(self, failure: StoreUnavailable) -> None:
        self.stats.failures += 1
        self.closed = self._failure = failure

    def _lost(self, failure: Exception) -> None:
        """The rows are somebody else's, and no commit was under way to tell."""
        assert isinstance(failure, StoreUnavailable)
        if self.closed is None:
            self._close(failure)
            self._epoch += 1
            self.on_failure(failure)
            self._advance()

    def abandon(self) -> None:
        """As in `Store`; what was fetched counts no more either."""
        super().abandon()
        self._hand.clear()

    def check_invariants(self) -> None:
        """As in `Store`, but nothing is compared with what the engine has: that takes time."""
        under_way = self._submitted - self._finished
        assert len(self.inflight) == under_way, (
            f"S1: {len(self.inflight)} batches are in flight, {under_way} have not ended"
        )
        assert self.waiting_bytes == sum(self._waiting_sizes), "S1: bytes are counted wrongly"

    # the engine itself

    def _load_kept(self) -> None:
        """Read the rows that are kept. Waits."""
        spans = [_span_of(prefix) for prefix in self._kept_prefixes]
        kept: dict[bytes, bytes] = {}
        while spans:
            found = self._fetch_spans(spans)
            for part in found:
                kept.update(part.rows)
            spans = [
                span._replace(start=part.high)
                for span, part in zip(spans, found, strict=True)
                if part.high < span.stop
            ]
        self._kept = kept

    def _fetch_spans(self, spans: list[Span]) -> list[Found]:
        """Ranges, waited for in this thread."""
        outcome: list[tuple[Any, Exception | None]] = []
        there = threading.Event()

        def ended(found: Any, failure: Exception | None) -> None:
            outcome.append((found, failure))
            there.set()

        self.remote.begin_fetch([], spans, ended)
        there.wait()
        found, failure = outcome[0]
        if failure is not None:
            raise failure
        parts: list[Found] = found[1]
        return parts

    def forsake(self, failure: StoreUnavailable) -> None:
        """The rows are no longer ours: nothing is answered or written any more."""
        if self.closed is None:
            self._close(failure)
            self._epoch += 1
            self.pending.clear()
            for batch in self.inflight:
                batch.rows = {}
            self._hand.clear()
            self.row_cache.clear()
            self.threads.shutdown(wait=False)

    @property
    def directory(self) -> Path | None:
        """There are no files."""
        return None

    def wait_for(self, begin: Callable[[Outcome], None]) -> Any:
        """What comes of something that was begun: work in slices gives way, a thread waits."""
        outcome: list[tuple[Any, Exception | None]] = []
        if self._wait is not None and threading.get_ident() == self._loop_thread:

            def subscribe(resume: Callable[[], None]) -> None:
                def ended(found: Any, failure: Exception | None) -> None:
                    outcome.append((found, failure))
                    self._hand_post(resume)

                begin(ended)

            self._wait(subscribe)
        else:
            there = threading.Event()

            def ended(found: Any, failure: Exception | None) -> None:
                outcome.append((found, failure))
                there.set()

            begin(ended)
            there.wait()
        found, failure = outcome[0]
        if isinstance(failure, StoreUnavailable):
            raise errors.store_away(str(failure)) from failure
        if failure is not None:
            raise failure
        return found

    def snapshot(self) -> Snapshot:
        """A frozen view of what the engine has. From work in slices, or from a thread."""
        self._check_open()
        return self.remote.view_by(self.wait_for(self.remote.begin_snapshot), self.wait_for)

    def expect(self, view: Reader, rows: Callable[[], Sequence[bytes]]) -> None:
        """Have them fetched some at a time: each alone takes two round trips."""
        cast("RemoteSnapshot", view).expect(rows())

    def write_now(self, rows: Rows) -> None:
        """Whether it can be written is what `reopen` has shown."""

    def make_durable(self) -> None:
        """What is committed is as durable as it will be."""

    def choose_durability(self, mode: str) -> None:
        """When commits count as done from now on."""
        self.remote.choose_durability(mode)

    def back_up(self, target: Path) -> None:
        """Refuse: there are no files."""
        raise StoreUnavailable(
            "the rows are in HBase: back them up there, with a snapshot of the table"
        )

    def reopen(self) -> None:
        """Take the rows anew, in a thread; `reopened` follows on the loop."""
        self.remote.reopen()
        self._load_kept()

    def reopened(self) -> None:
        """Answer again."""
        self.closed = None

    def lacks_room(self) -> str:
        """Nothing is known of its disks."""
        return ""

    def regain_room(self) -> bool:
        """As above."""
        return True

    def size(self, start: bytes, stop: bytes) -> int:
        """Nothing is known of what a range takes without reading it."""
        return 0

    def pressure(self) -> int:
        """100 while HBase asks for less, and writers wait for it."""
        return 100 if self.remote.is_pressed else 0

    @property
    def remote_counters(self) -> Mapping[str, int | float]:
        """What was asked of the engine, by name; `fetches` for what commands have missed."""
        return {**self.remote.counters, "fetches": self._fetches}

    def report(self) -> str:
        """What the client has done."""
        return "".join(f"{name}: {value}\n" for name, value in self.remote_counters.items())

    def tidy(self) -> None:
        """There are no files."""

    def pieces(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """Nothing is compacted from here: HBase does it by itself."""
        return []

    def compact(self, start: bytes, stop: bytes) -> None:
        """HBase compacts by itself."""

    def close(self) -> None:
        """Write everything, end the threads, and give the rows back.

        Call when no command runs any more. Raises `StoreUnavailable` if the last rows were refused.
        """
        rows, self.pending = self.pending, {}
        try:
            if self.closed is None:
                self.remote.write(rows)
        finally:
            self.threads.shutdown()
            self.remote.close()


def _span_of(prefix: bytes) -> Span:
    stop = prefix[:-1] + bytes((prefix[-1] + 1,))
    return Span(prefix, stop, reverse=False, keys_only=False, limit=NEXT_SPAN_ROWS)


class _Waiting:
    """What the engine has, for work in slices and for threads: each read is of its own moment."""

    def __init__(self, store: RemoteStore) -> None:
        self._store = store

    def get(self, row: bytes) -> bytes | None:
        """The value of a row, or None."""
        found: tuple[list[bytes | None], list[Found]] = self._store.wait_for(
            lambda then: self._store.remote.begin_fetch([row], [], then)
        )
        return found[0][0]

    def expect(self, rows: Sequence[bytes]) -> None:
        """It makes no difference here."""

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop)."""
        view = self._store.snapshot()
        try:
            yield from view.scan(start, stop, reverse=reverse)
        finally:
            view.close()

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """As `scan`, without the values."""
        view = self._store.snapshot()
        try:
            yield from view.scan_keys(start, stop, reverse=reverse)
        finally:
            view.close()
