"""Reclaiming: due keys, dead incarnations and dropped namespaces, in small steps.

Due keys are found by expiry.py, dead incarnations in the `g#` queue, dropped namespaces by `d#`
rows. Each step deletes some rows and joins the next commit; a crash between two steps loses nothing
and leaks nothing, since the queue's row goes last.

A LevelDB scan walks over every deleted row until it meets a live one, a million in half a second.
So the two outermost rows of a large dead range stay as its edges until it is compacted, the
heads of the `e#` and `g#` queues are remembered instead of sought, the rows of a dropped namespace
that has had few are known by name, those of others, which nobody writes any more, are read in a
thread, and once some thousands of them are gone their ranges are compacted.

Promises
1. Nothing that a command can see is deleted, but for keys and fields whose time is over: rows are
   of dead incarnations or dropped namespaces, and versions that are being built are spared.
2. The row that names what is to be deleted goes last, with the last rows or later.
3. `garbage_from` of a database is never above the version of a queued incarnation.
4. A step touches some hundred rows; whatever may be slow to read is read in a thread of the store.
5. A row that cannot be read is passed by and reported, and does not stop the rest.
"""

import time
from bisect import bisect
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future
from functools import partial
from itertools import groupby, islice
from typing import Final, NamedTuple

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.sparse_ranges import SPARSE_ROWS
from stratakv.encodings.keyspace.zset_remote import sub_of_garbage
from stratakv.encodings.layout import formats, metas, rows
from stratakv.encodings.tier.dead_scores import Scores
from stratakv.encodings.upkeep.at_hand import at_hand
from stratakv.encodings.upkeep.expiry import STEP_ROWS, Expiry
from stratakv.errors import Damaged
from stratakv.storage.contract import Reader
from stratakv.storage.missing import Missing

READ_ROWS: Final = 2000
"""Rows of a dropped namespace that the thread reads at a time."""
TIGHT_ROWS: Final = 20_000
"""Rows that are deleted on a full disk before they are compacted: a megabyte or two of marks."""
TIGHT_BYTES: Final = 1 << 20
"""And so are fewer rows then, if they take so much."""
ROW_BYTES: Final = 200
"""So many bytes of tables are worth rewriting for a deleted row in them."""
COMPACT_ROWS: Final = 10_000
"""Ranges with fewer deleted rows are left to LevelDB's own compaction."""
COMPACT_BYTES: Final = 32 << 20
"""And so are shorter strings."""

RowSpan = tuple[bytes, bytes]


class Compaction(NamedTuple):
    """A range to compact, and the rows that go when that is done: its edges and its queue row."""

    start: bytes
    stop: bytes
    leftovers: list[bytes]


class Reclaimer:
    """Deletes what is no longer reachable, a little at a time."""

    def __init__(
        self,
        keyspace: Keyspace,
        *,
        is_locked: Callable[[int, bytes], bool] = lambda *_: False,
        executor: Executor | None = None,
    ) -> None:
        self._keyspace = keyspace
        self._store = keyspace.store
        self._executor = executor
        self._reading: Future[list[bytes]] | None = None
        self._expiring: Iterator[bool] | None = None
        self._draining: Iterator[bool] | None = None
        self._compactions: deque[Compaction] = deque()
        self._closing: set[bytes] = set()
        """Queue rows whose range waits for its compaction."""
        self._drained_up_to: dict[bytes, bytes] = {}
        """By namespace: where in the `g#` queue the work is, while there is some."""
        self._marks: dict[bytes, list[tuple[bytes, int]]] = {}
        """By prefix: dropped namespaces whose rows are deleted, and how many those were."""
        self.is_tight = False
        """Whether the disk is full: then what was deleted is compacted before more is."""
        self._awaited: Compaction | None = None
        self._dead: dict[RowSpan, int] = {}
        """By the range of a namespace: rows of dead incarnations that were deleted in it."""
        self._scores = Scores(keyspace)
        self.expiry = Expiry(keyspace, is_locked, lambda damaged: self.on_damage(damaged))
        self.reclaimed_rows = 0
        self.on_damage: Callable[[Damaged], object] = lambda damaged: None
        """Hears of rows that cannot be read; the work goes on behind them."""
        self._unreadable: set[bytes] = set()
        """Rows of the queues whose rows cannot be read."""

    def work(self, deadline: float, *, expire: bool = True) -> bool:
        """Work until the deadline (perf_counter); says whether there is more to do.

        Due keys come first, and dead rows get a step in any case.
        """
        if expire:
            self._expiring = self._expiring or self.expiry.run()
            if not _goes_on(self._expiring, deadline):
                self._expiring = None
        self._draining = self._draining or self._drain_all()
        if not _goes_on(self._draining, deadline):
            self._draining = None
        return self._expiring is not None or self._draining is not None

    @property
    def is_draining(self) -> bool:
        """Whether there are rows in the queues of the dead that it keeps in mind itself."""
        kept = self._draining or self._drained_up_to or self._closing or self._unreadable
        return bool(kept) or self._scores.waiting

    @property
    def is_reading(self) -> bool:
        """Whether the thread is in the engine."""
        return self._reading is not None and not self._reading.done()

    def reset(self) -> None:
        """Deletions may have been lost with a failed commit: begin again from what is stored."""
        self._expiring = self._draining = None
        self._compactions.clear()
        self._closing.clear()
        self._awaited = None
        self._marks.clear()
        self._dead.clear()
        self._drained_up_to.clear()
        self._scores.forget()
        self._keyspace.recollections.field_times_from.clear()
        self._keyspace.find_garbage_again()

    def restart(self) -> None:
        """A database was emptied: look for due keys anew. What is known of the rest stays true."""
        self._expiring = None

    def idle_seconds(self, longest: float) -> float:
        """How long there is nothing to do, judging by the next key to expire."""
        due = min(self.expiry.next_due_ms.values(), default=None)
        if due is None:
            return longest
        return min(longest, max(0.001, (due - self._keyspace.clock.micros() / 1000) / 1000))

    def next_compaction(self) -> Compaction | None:
        """A range that is worth compacting, or None; taken from the queue.

        Requires: the deletions so far are committed. Call `compacted` when it is done.
        """
        if self._keyspace.sparse.waiting and self._awaited is None:
            return Compaction(*self._keyspace.sparse.waiting.popleft(), [])
        return self._compactions.popleft() if self._compactions else None

    def compacted(self, done: Compaction) -> None:
        """Take the edges of a compacted range away."""
        if done is self._awaited:
            self._awaited = None
        for row in done.leftovers:
            self._close(row)
            self._closing.discard(row)

    def _close(self, row: bytes) -> None:
        """A row of the edges or of a queue is no longer needed."""
        if row.startswith(rows.DROPPED):
            self._keyspace.namespaces.forget_dropped(row[2:])
        else:
            self._store.pending[row] = None

    def backlog(self, limit: int = 1000) -> int:
        """Dead incarnations and namespaces in the queue, counted up to a limit.

        0 if it cannot be read: that is told elsewhere, and those who ask have more to show. Of a
        store elsewhere only namespaces are counted: nobody waits for a number.
        """
        try:
            return self._backlog(limit)
        except Missing:
            return min(limit, len(self._keyspace.namespaces.dropped))
        except Damaged as damaged:
            self.on_damage(damaged)
            return 0

    def _backlog(self, limit: int) -> int:
        found = min(limit, len(self._keyspace.namespaces.dropped))
        for database in self._keyspace.opened.values():
            start = self._drained_up_to.get(database.ns)
            if self._scores.waiting:
                start = rows.GARBAGE + database.ns
            if database.garbage_from is not None:
                start = rows.garbage_row(database.ns, database.garbage_from, b"")
            if start is not None:
                stop = rows.end_of(rows.GARBAGE + database.ns)
                found += sum(1 for _ in islice(self._store.scan_keys(start, stop), limit))
        return found

    def _drain_all(self) -> Iterator[bool]:
        """One pass over what is dead; yields as `Expiry.run`."""
        if self._scores.may_go_on():
            self._keyspace.find_garbage_again()
        for database in list(self._keyspace.opened.values()):
            yield from self._drain_garbage(database)
        yield from self._drain_namespaces()

    # dead rows

    def _pass_by(self, row: bytes, damaged: Damaged) -> None:
        self._unreadable.add(row)
        self.on_damage(damaged)

    def _drain_garbage(self, database: Database) -> Iterator[bool]:
        if database.garbage_from is None:
            return
        ns = database.ns  # the queue's own, whatever SWAPDB or FLUSHDB do between two steps
        start = rows.garbage_row(ns, database.garbage_from, b"")
        stop = rows.end_of(rows.GARBAGE + ns)
        database.garbage_from = None
        while True:
            found = yield from at_hand(partial(_first_rows, self._store, start, stop, STEP_ROWS))
            dead = [row for row in found if self._is_dead(database, ns, row)]
            for row in dead:
                self._drained_up_to[ns] = row
                try:
                    yield from self._drain_incarnation(ns, row)
                except Damaged as damaged:
                    self._pass_by(row, damaged)
                yield False
            if len(found) < STEP_ROWS:
                self._drained_up_to.pop(ns, None)
                return
            start = found[-1] + b"\0"

    def _is_dead(self, database: Database, ns: bytes, row: bytes) -> bool:
        """Whether a row of the queue stands for an incarnation whose rows can go now."""
        version = rows.parse_garbage_row(ns, row)[0]
        if version in self._keyspace.versions.building:
            database.queue_garbage(version)
            return False
        return row not in self._closing and row not in self._unreadable

    def _drain_incarnation(self, ns: bytes, row: bytes) -> Iterator[bool]:
        kind = (yield from at_hand(partial(self._store.get, row))) or b"\0\0"
        if self._scores.are_gone(row, kind, ns):
            if kind[0] == metas.STRING:
                yield from self._delete_pieces(row, sub_of_garbage(ns, row), kind)
                return
            known = formats.find(kind[0], kind[1])
            if known is not None and known.timed:
                yield from self._unlist_fields(ns, row)
            # what a long command has left unfinished may be pieces of a string: slow to read
            threaded = kind[0] == metas.ABSENT and self._executor is not None
            yield from self._delete_ranges(row, _spans(ns, row), threaded=threaded)

    def _delete_pieces(self, queue_row: bytes, sub: bytes, kind: bytes) -> Iterator[bool]:
        """Delete the pieces of a string. To look which are there would be to read them all."""
        size = int.from_bytes(kind[2:], "big")
        pieces = -(-size // self._keyspace.limits.piece_bytes)
        for number in range(pieces):
            self._store.pending[sub + rows.U32.pack(number)] = None
            self.reclaimed_rows += 1
            if not (number + 1) % STEP_ROWS:
                yield False
        if size < COMPACT_BYTES:
            self._store.pending[queue_row] = None
        else:
            self._closing.add(queue_row)
            self._compactions.append(Compaction(*_span(sub), [queue_row]))

    def _unlist_fields(self, ns: bytes, row: bytes) -> Iterator[bool]:
        """Take away the `t#` row of a dead hash; it stands under the first of its expire-times."""
        order = rows.ORDER + sub_of_garbage(ns, row)[2:]
        stop = rows.end_of(order)
        first = yield from at_hand(lambda: next(self._store.scan_keys(order, stop), None))
        if first is not None:
            at_ms = int.from_bytes(first[len(order) : len(order) + 8], "big")
            version, key = rows.parse_garbage_row(ns, row)
            self._store.pending[rows.field_expiry_row(ns, at_ms, version, key)] = None

    def _drain_namespaces(self) -> Iterator[bool]:
        progress = True
        while progress:
            progress = False
            for ns, known in list(self._keyspace.namespaces.dropped.items()):
                row = rows.DROPPED + ns
                if row in self._closing or row in self._unreadable:
                    continue
                gone = yield from self._scores.of_namespace_are_gone(row, ns)
                if not gone:
                    continue
                progress = True
                if known is None:
                    spans = [_span(prefix + ns) for prefix in rows.KEYED_PREFIXES]
                    threaded = self._executor is not None
                    try:
                        yield from self._delete_ranges(row, spans, threaded=threaded)
                    except Damaged as damaged:
                        self._pass_by(row, damaged)
                else:
                    yield from self._delete_known(ns, known)
                yield False

    def _delete_known(self, ns: bytes, known: list[bytes]) -> Iterator[bool]:
        """Delete rows by their names: to look for them would mean to step over others' marks."""
        for number, row in enumerate(known, 1):
            self._store.pending[row] = None
            if not number % STEP_ROWS:
                yield False
        self.reclaimed_rows += len(known)
        for prefix, found in groupby(known, key=_prefix_of):
            self._note_marks(prefix, ns, sum(1 for _ in found))
        self._keyspace.namespaces.forget_dropped(ns)

    def _note_rows(self, start: bytes, count: int, *, whole: bool) -> None:
        """Rows that begin with that are gone: of a whole namespace, or of an incarnation.

        Where rows of a namespace are left, the way to the next is short if they are many; else
        they are compacted together with what is gone.
        """
        ns = start[2 : start.index(b":") + 1]
        if whole:
            self._note_marks(start[:2], ns, count)
            return
        span = _span(start[:2] + ns)
        before = self._dead.get(span, 0)
        self._dead[span] = total = before + count
        is_time_to_look = total // SPARSE_ROWS > before // SPARSE_ROWS
        if is_time_to_look and self._store.size(*span) <= total * ROW_BYTES:
            del self._dead[span]
            self._compactions.append(Compaction(*span, []))

    def _note_marks(self, prefix: bytes, ns: bytes, count: int) -> None:
        """Rows of a dropped namespace are gone; when enough of a kind are, have them compacted.

        Until then whoever reads to the end of a neighbouring namespace steps over them.
        """
        marks = self._marks.setdefault(prefix, [])
        marks.append((ns, count))
        if sum(found for _, found in marks) < SPARSE_ROWS:
            return
        del self._marks[prefix]
        inhabited = sorted(database.ns for database in self._keyspace.opened.values())
        names = sorted(name for name, _ in marks)
        for _, run in groupby(names, key=lambda name: bisect(inhabited, name)):
            neighbours = list(run)
            span = prefix + neighbours[0], rows.end_of(prefix + neighbours[-1])
            self._compactions.append(Compaction(*span, []))

    def _delete_ranges(
        self, queue_row: bytes, spans: list[RowSpan], *, threaded: bool = False
    ) -> Iterator[bool]:
        """Delete the rows of some ranges, and the row that queued them when all are gone."""
        edges: list[RowSpan] = []
        for span in spans:
            before = self.reclaimed_rows
            edge = yield from self._delete_range(*span, threaded=threaded)
            if edge is not None:
                edges.append(edge)
            elif self.reclaimed_rows > before:
                self._note_rows(span[0], self.reclaimed_rows - before, whole=threaded)
        if not edges:
            self._close(queue_row)
            return
        self._closing.add(queue_row)
        for first, last in edges[:-1]:
            self._compactions.append(Compaction(first, last, []))
        leftovers = [row for edge in edges for row in edge]
        self._compactions.append(Compaction(*edges[-1], [*leftovers, queue_row]))

    def _delete_range(
        self, start: bytes, stop: bytes, *, threaded: bool
    ) -> Generator[bool, None, RowSpan | None]:
        """Delete the rows of a range; of a large one all but the outermost, which it returns."""
        edges: list[bytes] = []
        total = parted = 0
        at = start
        most = READ_ROWS if threaded else STEP_ROWS
        while True:
            if threaded:
                found = yield from self._read(at, stop, most)
            else:
                found = yield from at_hand(partial(_first_rows, self._store, at, stop, most))
            total += len(found)
            self.reclaimed_rows += len(found)
            for first in range(0, len(found), STEP_ROWS):
                if first:
                    yield False
                edges += found[first : first + STEP_ROWS]
                for row in edges[1:-1]:
                    self._store.pending[row] = None
                edges = edges[:1] + edges[1:][-1:]
            if len(found) < most:
                break
            at = found[-1] + b"\0"
            if self.is_tight and total - parted >= TIGHT_ROWS:
                parted = total
                yield from self._compact_now(start, found[-1])
            yield False
        if total >= COMPACT_ROWS:
            return edges[0], edges[1]
        for row in edges:
            self._store.pending[row] = None
        if self.is_tight and self._store.size(start, stop) >= TIGHT_BYTES:
            yield from self._compact_now(start, stop)
        return None

    def _compact_now(self, start: bytes, stop: bytes) -> Iterator[bool]:
        """Have a part of a range compacted, and wait for it: marks take room until they go."""
        self._awaited = wanted = Compaction(start, stop, [])
        self._compactions.appendleft(wanted)
        while self._awaited is wanted:
            yield True

    def _read(self, start: bytes, stop: bytes, most: int) -> Generator[bool, None, list[bytes]]:
        """The first rows of a dead range, read in the thread.

        What was written into it must be in the engine before the thread looks there.
        """
        assert self._executor is not None
        ticket = self._store.ticket
        while not self._store.has_written(ticket):
            yield True
        self._reading = self._executor.submit(_first_rows, self._store.written, start, stop, most)
        while self.is_reading:
            yield True
        return self._reading.result()


def _goes_on(work: Iterator[bool], deadline: float) -> bool:
    """Work until the deadline, or until it waits for something; False when it has ended."""
    return any(waits or time.perf_counter() >= deadline for waits in work)


def _first_rows(reader: Reader, start: bytes, stop: bytes, most: int) -> list[bytes]:
    return list(islice(reader.scan_keys(start, stop), most))


def _prefix_of(row: bytes) -> bytes:
    return row[:2]


def _span(prefix: bytes) -> RowSpan:
    return prefix, rows.end_of(prefix)


def _spans(ns: bytes, queue_row: bytes) -> list[RowSpan]:
    """The ranges of a dead incarnation."""
    path = sub_of_garbage(ns, queue_row)[2:]
    return [_span(prefix + path) for prefix in rows.PATH_PREFIXES]
