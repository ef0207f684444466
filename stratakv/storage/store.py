"""The commit pipeline: rows that are written in groups, and read back before they are.

`pending` collects what the commands of one turn write; `commit` makes it one engine batch. A batch
is written at once when the engine is calm, and by a writer thread when it might stall (LevelDB
delays and stops writers while it compacts), when every commit is to be synced, or when the batch is
large. Batches are written strictly in order. Reads see pending and in-flight rows first.

Between two turns
1. Each batch that was submitted has ended, or is in flight.
2. What is remembered of rows (row_cache.py) is what the batches in flight, or the engine, say.

Promises
3. Only whole units of work become pending. So the pending rows may be written at any time, by
   `settle` too, and a crash leaves all of a unit or nothing of it. What is put among them outside
   of a unit (the reclaimer's deletions, the lease of versions) is right with or without the rest.
   The exception is EXEC with a FLUSHDB or SWAPDB in it: what comes before is handed over by itself.
4. `settle` writes only what is written on the loop anyhow: nothing is in flight then, so batches
   keep their order, and with `sync` it writes nothing, so that no reply depends on an unsynced row.
   What it could not write stays pending, and the commit of the turn reports it.
5. A batch that is refused takes those with it that were submitted before that was known.
"""

import heapq
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import itemgetter
from pathlib import Path
from queue import SimpleQueue

from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import EmbeddedEngine, Reader, Rows, Snapshot
from stratakv.storage.journal import Journal
from stratakv.storage.queue_heads import Heads
from stratakv.storage.row_cache import UNKNOWN, RowCache
from stratakv.storage.threads import EngineThreads

Done = Callable[[StoreUnavailable | None], None]
Post = Callable[[Callable[[], None]], object]
Overlay = dict[bytes, bytes | None]

INLINE_ROWS = 1500
INLINE_BYTES = 512 * 1024
"""A larger batch goes to the writer thread: building and writing it takes over 2 ms."""
SAMPLED_ROWS = 64
CALM_PRESSURE = 50
PRESSURE_EVERY_ROWS = 1000
PREPARED_ROWS = 5000
"""Batches up to this size are built on the loop even if the thread writes them: building takes the
interpreter lock, and each engine read on the loop would wait for it (9 us a read instead of 2)."""
HELD_BACK_BYTES = 4e10
"""A second of waiting is for so many bytes, over the square of the pressure above calm: 64 MB a
second at 75, 22 MB at 92."""
HELD_BACK_SECONDS = 0.25
"""What one commit waits at most."""
LARGE_BATCH = 5000
"""To free the rows of a larger one at once takes more than a millisecond."""
SLOW_WRITE_SECONDS = 0.005
SLOW_REST_SECONDS = 0.1
LOGGED_WRITE_SECONDS = 0.1
"""A commit that took so long is worth a line in the log."""

log = logging.getLogger("stratakv")


class CommitStats:
    """What the pipeline has done, for INFO and the metrics."""

    __slots__ = (
        "batches",
        "bytes",
        "duration_buckets",
        "failures",
        "reads",
        "row_buckets",
        "rows",
        "scans",
        "seconds",
        "stalls",
        "threaded",
    )

    def __init__(self) -> None:
        self.batches = 0
        self.rows = 0
        self.bytes = 0
        self.seconds = 0.0
        self.stalls = 0
        self.threaded = 0
        self.failures = 0
        self.reads = 0
        self.scans = 0
        self.row_buckets = [0] * 40
        """Batches by size: bucket n holds those of fewer than 2**n rows."""
        self.duration_buckets = [0] * 40
        """Batches by duration: bucket n holds those below 2**n microseconds."""

    def count(self, rows: int, size: int, seconds: float) -> None:
        """A batch of `size` bytes was written."""
        self.batches += 1
        self.rows += rows
        self.bytes += size
        self.seconds += seconds
        self.row_buckets[rows.bit_length()] += 1
        self.duration_buckets[int(seconds * 1e6).bit_length()] += 1


class Batch:
    """Rows on their way to the engine, and who wants to know.

    `epoch` counts the failures that were known when the batch was made.
    """

    __slots__ = ("done", "epoch", "error", "rows", "write")

    def __init__(self, rows: Overlay, done: Done, epoch: int) -> None:
        self.rows = rows
        self.done = done
        self.epoch = epoch
        self.error: StoreUnavailable | None = None
        self.write: Callable[[], int] | None = None


class Store:
    """An engine behind the pipeline, and all that the layers above see of it.

    `post` hands a callback from the writer thread to the loop's thread; without it everything is
    written at once (tools and tests). `on_failure` hears of every batch that was refused, before
    its own `done`: whatever was decided since rests on rows that are not there.
    """

    def __init__(
        self,
        engine: EmbeddedEngine,
        *,
        post: Post | None = None,
        sync: bool = False,
        row_cache_bytes: int = 4 << 20,
    ) -> None:
        self.engine = engine
        self.written: Reader = engine
        """What the engine has, without the rows that wait or are on their way."""
        self.pending: Overlay = {}
        self.inflight: deque[Batch] = deque()
        self.stats = CommitStats()
        self.sync = sync
        self.on_failure: Callable[[StoreUnavailable], None] = _ignore
        self.on_leftovers: Callable[[Overlay], None] = _drop
        """Gets the rows of large batches when they are written, to be freed at leisure."""
        self._epoch = 0
        self._submitted = 0
        self._finished = 0
        self._commits = 0
        self._committed = 0
        self._post = post
        self._queue: SimpleQueue[Batch | None] = SimpleQueue()
        self._writer: threading.Thread | None = None
        self._rows_since_check = 0
        self._calm = True
        self._threaded_until = 0.0
        self.row_cache = RowCache(row_cache_bytes)
        self._heads = Heads()
        self._journal = Journal()
        self.threads = EngineThreads()
        """Where work on the engine runs that is too slow for the loop."""
        self.compacting = 0
        """Ranges that are being compacted: LevelDB makes writers wait for one at times."""
        self._closing = False

    # reading

    def get(self, row: bytes) -> bytes | None:
        """The value of a row as the last command left it."""
        value = self.pending.get(row, UNKNOWN)
        if value is not UNKNOWN:
            return value
        for batch in reversed(self.inflight):
            value = batch.rows.get(row, UNKNOWN)
            if value is not UNKNOWN:
                return value
        self.stats.reads += 1
        return self.engine.get(row)

    def need(self, rows: Iterable[bytes]) -> None:
        """All of these will be read: raises `Missing` for those that are not at hand, at once.

        Of an engine in this process all are.
        """

    def get_often(self, row: bytes) -> bytes | None:
        """As `get`, and remembered: for rows that are likely to be read again."""
        value = self.peek(row)
        if value is UNKNOWN:
            value = self.get(row)
            self.row_cache.keep(row, value)
        return value

    def peek(self, row: bytes) -> bytes | None:
        """As `get_often`, but UNKNOWN where the engine would have to be asked."""
        value = self.pending.get(row, UNKNOWN)
        return self.row_cache.find(row) if value is UNKNOWN else value

    def _note_written(self, rows: Overlay) -> None:
        """Rows are about to be written: what is remembered changes with them."""
        self._journal.written(rows)
        if self._heads.starts:
            self._heads.written(rows)
        self.row_cache.written(rows)

    def mark(self) -> int:
        """A number for `written_since`: names are kept from here on, for a while."""
        return self._journal.mark()

    def written_since(self, number: int) -> list[bytes] | None:
        """Names of the rows put since a mark, and of those that wait; None if they are too many."""
        names = self._journal.since(number)
        return None if names is None else names + list(self.pending)

    def scan_queue(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        """As `scan_keys`, for a range whose rows go at its front: where they begin is remembered.

        Requires: any two ranges that are read so are the same, or have no row in common.
        """
        self.stats.scans += 1
        begin = self._heads.find(start)
        found = self.engine.scan_keys(begin, stop) if begin < stop else iter(())
        first = next(found, stop)
        if not self.inflight:  # else a row on its way there could not take it back
            self._heads.learn(start, first)
        found = chain((first,), found) if first < stop else iter(())
        overlay = self._overlay(start, stop)
        if not overlay:
            return found
        return map(itemgetter(0), merge(zip(found, repeat(b""), strict=False), overlay))

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop) as the last command left them."""
        self.stats.scans += 1
        base = self.engine.scan(start, stop, reverse=reverse)
        overlay = self._overlay(start, stop)
        return merge(base, overlay, reverse=reverse) if overlay else base

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """As `scan`, without the values."""
        overlay = self._overlay(start, stop)
        if overlay:
            return map(itemgetter(0), self.scan(start, stop, reverse=reverse))
        self.stats.scans += 1
        return self.engine.scan_keys(start, stop, reverse=reverse)

    def unwritten(self, start: bytes, stop: bytes) -> Overlay:
        """The rows of a range that wait or are on their way; a snapshot may lack them."""
        return self._overlay(start, stop)

    def _overlay(self, start: bytes, stop: bytes) -> Overlay:
        """Unwritten rows of a range."""
        if not self.inflight and not self.pending:
            return self.pending
        overlay: Overlay = {}
        for batch in self.inflight:
            overlay.update(rows_between(batch.rows, start, stop))
        overlay.update(rows_between(self.pending, start, stop))
        return overlay

    # writing

    @property
    def busy(self) -> bool:
        """Whether a batch is on its way in the writer thread."""
        return bool(self.inflight)

    @property
    def ticket(self) -> tuple[int, int]:
        """The batches, and the commits among them, by which all that is decided now is written.

        Batches of long commands come between what is pending and its commit.
        """
        return self._submitted, self._commits + bool(self.pending)

    def has_written(self, ticket: tuple[int, int]) -> bool:
        """Whether the engine has all that was decided when the ticket was drawn."""
        batches, commits = ticket
        has_all = self._finished >= batches and self._committed >= commits
        return has_all or not (self.pending or self.inflight)

    def check_unit(self, rows: Rows) -> None:
        """Raises `CommandError` for rows of one unit of work that cannot be written together.

        An engine in this process takes them all.
        """

    def choose_durability(self, mode: str) -> None:
        """When commits count as done from now on, by the option `durability`."""
        self.sync = mode == "always"

    def settle(self) -> None:
        """Write pending rows now if that is cheap, so that a scan need not merge them.

        Their replies still wait for the end of the turn: early is never too early.
        """
        if self.pending and self._may_write_inline(self.pending):
            rows, self.pending = self.pending, {}
            self._note_written(rows)
            try:
                self._write(rows, self.sync)
            except StoreUnavailable:
                self.pending = rows  # the commit at the end of the turn meets and reports it

    def commit(self, done: Done) -> None:
        """Make the pending rows one batch; `done(error)` is called once it is written, in order."""
        rows, self.pending = self.pending, {}
        self._commits += 1
        number = self._commits

        def committed(error: StoreUnavailable | None) -> None:
            self._committed = number
            done(error)

        self.submit(rows, committed)

    def submit(self, rows: Overlay, done: Done) -> None:
        """Write rows that are not pending as a batch of their own, behind those under way."""
        self._note_written(rows)
        self._submitted += 1
        batch = Batch(rows, done, self._epoch)
        if self._may_write_inline(rows):
            self._run(batch)
            self._finish(batch)
            return
        self.stats.threaded += 1
        if len(rows) <= PREPARED_ROWS:
            batch.write = self.engine.prepare(rows, sync=self.sync)
        self.inflight.append(batch)
        self._start_writer()
        self._queue.put(batch)

    def _may_write_inline(self, rows: Overlay) -> bool:
        if self._post is None:
            return True
        if self.inflight or self.sync or self.compacting or len(rows) > INLINE_ROWS:
            return False
        if _looks_large(rows):
            return False
        self._rows_since_check += len(rows)
        if self._rows_since_check >= PRESSURE_EVERY_ROWS or not self._calm:
            self._rows_since_check = 0
            self._calm = self.engine.pressure() < CALM_PRESSURE
        return self._calm and (not self._threaded_until or time.monotonic() >= self._threaded_until)

    def _run(self, batch: Batch) -> None:
        try:
            self._write(batch.rows, self.sync, batch.write)
        except StoreUnavailable as error:
            self.stats.failures += 1
            batch.error = error

    def _write(self, rows: Overlay, sync: bool, prepared: Callable[[], int] | None = None) -> None:
        if not rows:
            return
        started = time.perf_counter()
        size = prepared() if prepared is not None else self.engine.write(rows, sync=sync)
        elapsed = time.perf_counter() - started
        self.stats.count(len(rows), size, elapsed)
        if elapsed > SLOW_WRITE_SECONDS:
            self.stats.stalls += 1
            self._threaded_until = time.monotonic() + SLOW_REST_SECONDS
            level = logging.INFO if elapsed > LOGGED_WRITE_SECONDS else logging.DEBUG
            log.log(level, "a commit of %d rows took %.0f ms", len(rows), elapsed * 1000)

    # the writer thread

    def _start_writer(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._drain, name="commit", daemon=True)
            self._writer.start()

    def _drain(self) -> None:
        """Write batches in order until told to stop."""
        post = self._post
        assert post is not None
        failed: Batch | None = None
        while (batch := self._queue.get()) is not None:
            if failed is not None and failed.epoch == batch.epoch:
                batch.error = failed.error  # made before the loss was known: it rests on it
            else:
                before = self.stats.bytes
                self._run(batch)
                self._hold_back(self.stats.bytes - before)
            if batch.error is not None:
                failed = batch
            post(self._finish_first)

    def _hold_back(self, size: int) -> None:
        """Have writers wait for each byte, the longer the further LevelDB is behind: else it stops
        them all for seconds (decision 34)."""
        behind = self.engine.pressure() - CALM_PRESSURE
        if behind > 0:
            time.sleep(min(size * behind**2 / HELD_BACK_BYTES, HELD_BACK_SECONDS))

    def _finish_first(self) -> None:
        """On the loop's thread: the oldest batch is through, unless `close` has seen to it."""
        if self.inflight:
            self._finish(self.inflight.popleft())

    def _finish(self, batch: Batch) -> None:
        self._finished += 1
        if batch.error is not None and batch.epoch == self._epoch:
            self._epoch += 1
            self.row_cache.clear()
            self._heads.clear()
            for later in self.inflight:
                later.rows = {}  # it will be refused too: nobody may read from it any more
            self.on_failure(batch.error)
        batch.done(batch.error)
        if len(batch.rows) > LARGE_BATCH:
            self.on_leftovers(batch.rows)

    def abandon(self) -> None:
        """Forget the pending rows, and what is remembered of the engine.

        A refused batch may come back to life when the engine is reopened: what was read since it
        was refused counts no more then.
        """
        self.pending.clear()
        self.row_cache.clear()
        self._heads.clear()

    def check_invariants(self) -> None:
        """Raises AssertionError with the number of what does not hold between two turns."""
        under_way = self._submitted - self._finished
        assert len(self.inflight) == under_way, (
            f"S1: {len(self.inflight)} batches are in flight, {under_way} have not ended"
        )
        for row, value in self.row_cache.sample(SAMPLED_ROWS).items():
            written = [batch.rows[row] for batch in self.inflight if row in batch.rows]
            stored = written[-1] if written else self.engine.get(row)
            assert value == stored, f"S2: {row!r} is remembered otherwise than it is stored"

    # the engine itself

    @property
    def engine_name(self) -> str:
        """The engine's name, for people."""
        return self.engine.name

    @property
    def directory(self) -> Path | None:
        """Where the engine's files are, if it has any."""
        return self.engine.directory

    def snapshot(self) -> Snapshot:
        """A frozen view of what the engine has."""
        return self.engine.snapshot()

    def expect(self, view: Reader, rows: Callable[[], Sequence[bytes]]) -> None:
        """These rows will be read of a snapshot of ours, about in that order.

        Of an engine in this process it need not be known ahead.
        """

    def write_now(self, rows: Rows) -> None:
        """Write rows past the pipeline, on stable storage; raises `StoreUnavailable`.

        Requires: no batch is under way.
        """
        self.engine.write(rows, sync=True)

    def make_durable(self) -> None:
        """Put everything written so far on stable storage. May be called from any thread."""
        self.engine.sync()

    def back_up(self, target: Path) -> None:
        """Make a copy that opens as a store, in one of the threads; raises `StoreUnavailable`."""
        self.engine.back_up(target)

    def reopen(self) -> None:
        """Open the engine again after an error; raises `StoreUnavailable` if that cannot be yet.

        Requires: no batch is under way, and no thread in the engine.
        """
        self.engine.reopen()

    def reopened(self) -> None:
        """It is open again: called on the loop."""

    def lacks_room(self) -> str:
        """Why rows should only be deleted for now; nothing if there is room."""
        return self.engine.lacks_room()

    def regain_room(self) -> bool:
        """Keep room for deleting again, if there is enough for writing too; says whether."""
        return self.engine.regain_room()

    def size(self, start: bytes, stop: bytes) -> int:
        """Roughly the bytes that a range takes in the engine."""
        return self.engine.size(start, stop)

    def pressure(self) -> int:
        """How near the engine is to stalling writers: 0 is calm, 100 is a full stop."""
        return self.engine.pressure()

    @property
    def remote_counters(self) -> Mapping[str, int | float]:
        """What was asked of an engine elsewhere, by name; nothing of one in this process."""
        return {}

    def report(self) -> str:
        """What the engine tells of itself, in its own words; nothing if it has none."""
        return self.engine.report()

    def tidy(self) -> None:
        """Let the engine look after its files, in one of the threads."""
        self.engine.tidy()

    def pieces(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """A range cut into parts of about a second each to compact. Call it in a thread."""
        return self.engine.pieces(start, stop)

    def compact(self, start: bytes, stop: bytes) -> None:
        """Compact a range piece by piece, in one of the threads; `close` ends it after a piece."""
        for piece in self.engine.pieces(start, stop):
            if self._closing:
                return
            self.engine.compact(*piece)

    def close(self) -> None:
        """Write everything, end the threads and close the engine, in this order.

        Call when no command runs any more. Raises `StoreUnavailable` if the last rows were refused;
        the engine is closed then too.
        """
        self._closing = True
        self._stop_writer()
        rows, self.pending = self.pending, {}
        try:
            self._write(rows, True)
        finally:
            self.threads.shutdown()
            self.engine.close()

    def _stop_writer(self) -> None:
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            while self.inflight:
                self._finish_first()


def _ignore(failure: StoreUnavailable) -> None:
    """Nobody wants to know."""


def _drop(rows: Overlay) -> None:
    """They are freed at once."""


def _looks_large(rows: Overlay) -> bool:
    """Whether a batch has many bytes, judging by its first rows."""
    sample = list(islice(rows.values(), SAMPLED_ROWS))
    size = sum(map(len, filter(None, sample)))
    return size * len(rows) > INLINE_BYTES * max(1, len(sample))


def rows_between(rows: Overlay, start: bytes, stop: bytes) -> Overlay:
    """The rows of an overlay that lie in [start, stop)."""
    return {row: value for row, value in rows.items() if start <= row < stop}


def merge(
    base: Iterable[tuple[bytes, bytes]], overlay: Overlay, *, reverse: bool = False
) -> Iterator[tuple[bytes, bytes]]:
    """`base` with the overlay's rows put in, replaced or taken out, in order."""
    fresh = sorted(overlay.items(), reverse=reverse)
    kept = _outside(base, overlay)
    added = [(row, value) for row, value in fresh if value is not None]
    return heapq.merge(kept, added, key=itemgetter(0), reverse=reverse)


def _outside(
    base: Iterable[tuple[bytes, bytes]], overlay: Overlay
) -> Iterator[tuple[bytes, bytes]]:
    for pair in base:
        if pair[0] not in overlay:
            yield pair
