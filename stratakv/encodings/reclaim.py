"""Reclaiming: due keys, dead incarnations and dropped namespaces, in small steps.

Due keys come from the `e#` index, hashes with due fields from the `t#` index, dead incarnations
from the `g#` queue, dropped namespaces from `d#` rows. Each step deletes some rows and joins the
next commit; a crash between two steps loses nothing and leaks nothing, since the queue's row goes
last.

A LevelDB scan walks over every deleted row until it meets a live one, a million in half a second.
So the two outermost rows of a large dead range stay as a fence around it until it is compacted, the
heads of the `e#` and `g#` queues are remembered instead of sought, and dropped namespaces, which
nobody writes any more, are read in a thread unless they are small.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future
from itertools import groupby, islice
from typing import Final, NamedTuple

from stratakv.encodings import field_times, metas, rows
from stratakv.encodings.keyspace import Database, Keyspace
from stratakv.encodings.scores import Scores
from stratakv.encodings.txn import Txn
from stratakv.encodings.zset_remote import sub_of_garbage
from stratakv.storage.engine import Reader

STEP_ROWS: Final = 100
READ_ROWS: Final = 2000
"""Rows of a dropped namespace that the thread reads at a time."""
COMPACT_ROWS: Final = 10_000
"""Ranges with fewer deleted rows are left to LevelDB's own compaction."""

_DROPPED_SPAN: Final = (rows.DROPPED, rows.end_of(rows.DROPPED))


Range = tuple[bytes, bytes]


class Compaction(NamedTuple):
    """A range to compact, and the rows that go when that is done: its fence and its queue row."""

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
        self._is_locked = is_locked
        self._executor = executor
        self._reading: Future[list[bytes]] | None = None
        self._expiring: Iterator[bool] | None = None
        self._draining: Iterator[bool] | None = None
        self._compactions: deque[Compaction] = deque()
        self._closing: set[bytes] = set()
        """Queue rows whose range waits for its compaction."""
        self._drained_up_to: dict[bytes, bytes] = {}
        """By namespace: where in the `g#` queue the work is, while there is some."""
        self._expired_up_to: dict[bytes, tuple[int, bytes]] = {}
        """By namespace: the time of the last key that expired, and its index row."""
        self._next_due_ms: dict[int, int] = {}
        self._scores = Scores(keyspace)
        self.expired_keys = 0
        self.reclaimed_rows = 0
        self.on_expired: Callable[[Database, bytes], None] | None = None

    def work(self, deadline: float, *, expire: bool = True) -> bool:
        """Work until the deadline (perf_counter); says whether there is more to do.

        Due keys come first, and dead rows get a step in any case.
        """
        if expire:
            self._expiring = self._expiring or self._expire_all()
            if not _goes_on(self._expiring, deadline):
                self._expiring = None
        self._draining = self._draining or self._drain_all()
        if not _goes_on(self._draining, deadline):
            self._draining = None
        return self._expiring is not None or self._draining is not None

    @property
    def is_reading(self) -> bool:
        """Whether the thread is in the engine."""
        return self._reading is not None and not self._reading.done()

    def reset(self) -> None:
        """Deletions may have been lost with a failed commit: begin again from what is stored."""
        self._expiring = self._draining = None
        self._compactions.clear()
        self._closing.clear()
        self._expired_up_to.clear()
        self._drained_up_to.clear()
        self._scores.forget()
        self._keyspace.field_times_from.clear()
        self._keyspace.find_garbage_again()

    def idle_seconds(self, longest: float) -> float:
        """How long there is nothing to do, judging by the next key to expire."""
        due = min(self._next_due_ms.values(), default=None)
        if due is None:
            return longest
        return min(longest, max(0.001, (due - self._keyspace.clock.micros() / 1000) / 1000))

    def next_compaction(self) -> Compaction | None:
        """A range that is worth compacting, or None; taken from the queue.

        Requires: the deletions so far are committed. Call `compacted` when it is done.
        """
        if self._keyspace.thinned:
            return Compaction(*self._keyspace.thinned.popleft(), [])
        return self._compactions.popleft() if self._compactions else None

    def compacted(self, done: Compaction) -> None:
        """Take the fence of a compacted range away."""
        for row in done.leftovers:
            self._store.pending[row] = None
            self._closing.discard(row)

    def backlog(self, limit: int = 1000) -> int:
        """Dead incarnations and namespaces in the queue, counted up to a limit."""
        found = sum(1 for _ in islice(self._store.scan_keys(*_DROPPED_SPAN), limit))
        for database in self._keyspace.databases:
            start = self._drained_up_to.get(database.ns)
            if self._scores.waiting:
                start = rows.GARBAGE + database.ns
            if database.garbage_from is not None:
                start = rows.garbage_row(database.ns, database.garbage_from, b"")
            if start is not None:
                stop = rows.end_of(rows.GARBAGE + database.ns)
                found += sum(1 for _ in islice(self._store.scan_keys(start, stop), limit))
        return found

    def _expire_all(self) -> Iterator[bool]:
        """One pass over what is due; yields between steps whether it waits for something."""
        self._next_due_ms.clear()
        for database in self._keyspace.databases:
            if database.expiring:
                yield from self._expire(database)
            if database.live:
                yield from self._expire_fields(database)

    def _drain_all(self) -> Iterator[bool]:
        """One pass over what is dead; yields as `_expire_all`."""
        if self._scores.may_go_on():
            self._keyspace.find_garbage_again()
        for database in self._keyspace.databases:
            yield from self._drain_garbage(database)
        yield from self._drain_namespaces()

    # due keys

    def _expire(self, database: Database) -> Iterator[bool]:
        while True:
            ns = database.ns  # SWAPDB may come between two steps
            now_ms = self._keyspace.clock.now_ms
            stop = rows.end_of(rows.EXPIRY + ns)
            found = _first_rows(self._store, self._first_due(ns), stop, STEP_ROWS)
            txn = Txn(self._keyspace, database)
            stuck = 0
            for row in found:
                due_ms, key = rows.parse_expiry_row(ns, row)
                if due_ms > now_ms:
                    self._next_due_ms[database.index] = due_ms
                    txn.apply()
                    return
                stuck += not self._expire_key(txn, database, row, due_ms, key)
                if not stuck:
                    self._expired_up_to[ns] = (due_ms, row)
            txn.apply()
            if len(found) < STEP_ROWS or stuck:
                return
            yield False

    def _first_due(self, ns: bytes) -> bytes:
        """Where the live rows of the index begin; at its start if the clock was set back."""
        if ns in self._keyspace.overdue:
            self._keyspace.overdue.discard(ns)
            self._expired_up_to.pop(ns, None)
        due_ms, row = self._expired_up_to.get(ns, (0, b""))
        if row and due_ms <= self._keyspace.clock.now_ms:
            return row
        return rows.EXPIRY + ns

    def _expire_key(
        self, txn: Txn, database: Database, row: bytes, due_ms: int, key: bytes
    ) -> bool:
        """Drop a due key; False if a long command holds it."""
        if self._is_locked(database.index, key):
            return False
        txn.budget = STEP_ROWS
        meta = database.cache.get(key) or database.load(self._store, key)
        if meta.expire_ms != due_ms or meta.type == metas.ABSENT:
            txn.delete(row)  # an index row without its key: heal it
            return True
        self._drop(txn, database, key)
        return True

    def _drop(self, txn: Txn, database: Database, key: bytes) -> None:
        txn.drop(key)
        self.expired_keys += 1
        if self.on_expired is not None:
            self.on_expired(database, key)

    # due fields

    def _expire_fields(self, database: Database) -> Iterator[bool]:
        """Delete due fields; a hash is visited again until none is left of them."""
        begin = self._keyspace.field_times_from
        while True:
            ns = database.ns  # SWAPDB may come between two steps
            stop = rows.end_of(rows.FIELD_EXPIRY + ns)
            start = begin.get(ns, rows.FIELD_EXPIRY + ns)
            row = next(self._store.scan_keys(start, stop), None)
            if row is None:
                begin[ns] = stop
                return
            begin[ns] = row
            due_ms, version, key = rows.parse_field_expiry_row(ns, row)
            if due_ms > self._keyspace.clock.now_ms:
                known_ms = self._next_due_ms.get(database.index, due_ms)
                self._next_due_ms[database.index] = min(known_ms, due_ms)
                return
            if self._is_locked(database.index, key):
                return
            self._expire_fields_of(database, row, version, key)
            yield False

    def _expire_fields_of(self, database: Database, row: bytes, version: int, key: bytes) -> None:
        txn = Txn(self._keyspace, database)
        meta = database.cache.get(key) or database.load(self._store, key)
        if meta.version != version:
            txn.delete(row)  # the incarnation is on its way out
        elif txn.is_overdue(key):
            self._drop(txn, database, key)
        elif field_times.prepare(txn, key, meta, limit=STEP_ROWS) is None:
            self._tell_deleted(database, key)
        txn.apply()

    def _tell_deleted(self, database: Database, key: bytes) -> None:
        if self._keyspace.on_event is not None:
            self._keyspace.on_event(database.index, "g", "del", key)

    # dead rows

    def _drain_garbage(self, database: Database) -> Iterator[bool]:
        if database.garbage_from is None:
            return
        ns = database.ns  # the queue's own, whatever SWAPDB or FLUSHDB do between two steps
        start = rows.garbage_row(ns, database.garbage_from, b"")
        stop = rows.end_of(rows.GARBAGE + ns)
        database.garbage_from = None
        while True:
            found = _first_rows(self._store, start, stop, STEP_ROWS)
            dead = [row for row in found if self._is_dead(database, ns, row)]
            for row in dead:
                self._drained_up_to[ns] = row
                yield from self._drain_incarnation(ns, row)
                yield False
            if len(found) < STEP_ROWS:
                self._drained_up_to.pop(ns, None)
                return
            start = found[-1] + b"\0"

    def _is_dead(self, database: Database, ns: bytes, row: bytes) -> bool:
        """Whether a row of the queue stands for an incarnation whose rows can go now."""
        version = rows.parse_garbage_row(ns, row)[0]
        if version in self._keyspace.building:
            database.queue_garbage(version)
            return False
        return row not in self._closing

    def _drain_incarnation(self, ns: bytes, row: bytes) -> Iterator[bool]:
        kind = self._store.get(row) or b"\0\0"
        if self._scores.are_gone(row, kind, ns):
            if kind[0] == metas.HASH and kind[1] >= field_times.TIMED:
                self._unlist_fields(ns, row)
            yield from self._delete_ranges(row, _spans(ns, row))

    def _unlist_fields(self, ns: bytes, row: bytes) -> None:
        """Take away the `t#` row of a dead hash; it stands under the first of its expire-times."""
        order = rows.ORDER + sub_of_garbage(ns, row)[2:]
        first = next(self._store.scan_keys(order, rows.end_of(order)), None)
        if first is not None:
            at_ms = int.from_bytes(first[len(order) : len(order) + 8], "big")
            version, key = rows.parse_garbage_row(ns, row)
            self._store.pending[rows.field_expiry_row(ns, at_ms, version, key)] = None

    def _drain_namespaces(self) -> Iterator[bool]:
        progress = True
        while progress:
            found = self._store.scan_keys(*_DROPPED_SPAN)
            dropped = list(islice((row for row in found if row not in self._closing), STEP_ROWS))
            progress = False
            small: list[bytes] = []
            for row in dropped:
                ns = row[2:]
                gone = yield from self._scores.of_namespace_are_gone(row, ns)
                if not gone:
                    continue
                progress = True
                if ns in self._keyspace.small:
                    small.append(ns)
                else:
                    spans = [_span(prefix + ns) for prefix in rows.KEYED_PREFIXES]
                    threaded = self._executor is not None
                    yield from self._delete_ranges(row, spans, threaded=threaded)
                yield False
            for _, run in groupby(small, key=lambda ns: ns.partition(b".")[0]):
                yield from self._delete_small(list(run))

    def _delete_small(self, namespaces: list[bytes]) -> Iterator[bool]:
        """Delete neighbours in one walk: each of its own would step over the rows deleted before.

        Requires: they are in order, and all that lies between them is small too, but for what
        SWAPDB may have put there.
        """
        wanted = frozenset(namespaces)
        for prefix in rows.KEYED_PREFIXES:
            span = prefix + namespaces[0], rows.end_of(prefix + namespaces[-1])
            for number, row in enumerate(self._store.scan_keys(*span), 1):
                if row[2 : row.index(b":") + 1] in wanted:
                    self._store.pending[row] = None
                    self.reclaimed_rows += 1
                if not number % STEP_ROWS:
                    yield False
        for ns in namespaces:
            self._store.pending[rows.DROPPED + ns] = None
            self._keyspace.small.discard(ns)

    def _delete_ranges(
        self, queue_row: bytes, spans: list[Range], *, threaded: bool = False
    ) -> Iterator[bool]:
        """Delete the rows of some ranges, and the row that queued them when all are gone."""
        fences: list[Range] = []
        for span in spans:
            fence = yield from self._delete_range(*span, threaded=threaded)
            if fence is not None:
                fences.append(fence)
        if not fences:
            self._store.pending[queue_row] = None
            return
        self._closing.add(queue_row)
        for first, last in fences[:-1]:
            self._compactions.append(Compaction(first, last, []))
        leftovers = [row for fence in fences for row in fence]
        self._compactions.append(Compaction(*fences[-1], [*leftovers, queue_row]))

    def _delete_range(
        self, start: bytes, stop: bytes, *, threaded: bool
    ) -> Generator[bool, None, Range | None]:
        """Delete the rows of a range; of a large one all but the outermost, which it returns."""
        edges: list[bytes] = []
        total = 0
        at = start
        most = READ_ROWS if threaded else STEP_ROWS
        while True:
            if threaded:
                found = yield from self._read(at, stop, most)
            else:
                found = _first_rows(self._store, at, stop, most)
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
            yield False
        if total >= COMPACT_ROWS:
            return edges[0], edges[1]
        for row in edges:
            self._store.pending[row] = None
        return None

    def _read(self, start: bytes, stop: bytes, most: int) -> Generator[bool, None, list[bytes]]:
        """The first rows of a dead range, read in the thread.

        What was written into it must be in the engine before the thread looks there.
        """
        assert self._executor is not None
        ticket = self._store.ticket
        while not self._store.has_written(ticket):
            yield True
        self._reading = self._executor.submit(_first_rows, self._store.engine, start, stop, most)
        while self.is_reading:
            yield True
        return self._reading.result()


def _goes_on(work: Iterator[bool], deadline: float) -> bool:
    """Work until the deadline, or until it waits for something; False when it has ended."""
    return any(waits or time.perf_counter() >= deadline for waits in work)


def _first_rows(reader: Reader, start: bytes, stop: bytes, most: int) -> list[bytes]:
    return list(islice(reader.scan_keys(start, stop), most))


def _span(prefix: bytes) -> Range:
    return prefix, rows.end_of(prefix)


def _spans(ns: bytes, queue_row: bytes) -> list[Range]:
    """The ranges of a dead incarnation."""
    path = sub_of_garbage(ns, queue_row)[2:]
    return [_span(prefix + path) for prefix in rows.PATH_PREFIXES]
