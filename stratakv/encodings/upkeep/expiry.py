"""Due keys and fields: what the `e#` and `t#` indexes say is over, deleted on time.

Promises
1. A key or field is deleted only if its own meta or row says that its time is over: an index row
   without one is healed.
2. What a long command has locked waits until it ends.
3. A key that cannot be read is passed by and reported, and does not stop the rest.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Final

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.upkeep.at_hand import at_hand
from stratakv.errors import Damaged

STEP_ROWS: Final = 100
"""Rows that a step of upkeep touches."""


class Expiry:
    """Deletes what is due, a little at a time."""

    def __init__(
        self,
        keyspace: Keyspace,
        is_locked: Callable[[int, bytes], bool],
        on_damage: Callable[[Damaged], object],
    ) -> None:
        self._keyspace = keyspace
        self._store = keyspace.store
        self._is_locked = is_locked
        self._on_damage = on_damage
        self._unreadable: set[bytes] = set()
        """Rows of the indexes whose key cannot be read."""
        self.next_due_ms: dict[int, int] = {}
        """By database: when the next key or field is due, as far as the last pass has seen."""
        self.expired_keys = 0

    def run(self) -> Iterator[bool]:
        """One pass over what is due; yields between steps whether it waits for something."""
        self.next_due_ms.clear()
        for database in list(self._keyspace.opened.values()):
            if database.expiring:
                yield from self._expire(database)
            if database.live:
                yield from self._expire_fields(database)

    # keys

    def _expire(self, database: Database) -> Iterator[bool]:
        while (yield from at_hand(partial(self._expire_some, database))):
            yield False

    def _expire_some(self, database: Database) -> bool:
        """A step; says whether there may be more to do."""
        ns = database.ns  # SWAPDB may come between two steps
        now_ms = self._keyspace.clock.now_ms
        queue = self._store.scan_queue(rows.EXPIRY + ns, rows.end_of(rows.EXPIRY + ns))
        readable = (row for row in queue if row not in self._unreadable)
        found = list(islice(readable, STEP_ROWS))
        times = [(row, *rows.parse_expiry_row(ns, row)) for row in found]
        due = [one for one in times if one[1] <= now_ms]
        cache = database.cache
        self._store.need([rows.meta_row(ns, key) for _, _, key in due if key not in cache])
        txn = Txn(self._keyspace, database)
        stuck = 0
        for row, due_ms, key in due:
            stuck += not self._expire_readable(txn, database, row, due_ms, key)
        txn.apply()
        if len(due) < len(found):
            self.next_due_ms[database.index] = times[len(due)][1]
        return len(due) == STEP_ROWS and not stuck

    def _expire_readable(
        self, txn: Txn, database: Database, row: bytes, due_ms: int, key: bytes
    ) -> bool:
        """As `_expire_key`; a key that cannot be read is passed by."""
        try:
            return self._expire_key(txn, database, row, due_ms, key)
        except Damaged as damaged:
            self._pass_by(row, damaged)
            return True

    def _pass_by(self, row: bytes, damaged: Damaged) -> None:
        self._unreadable.add(row)
        self._on_damage(damaged)

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

    def expire_own(self) -> bool:
        """A step over what clients of a replica let expire; says whether there may be more."""
        own = self._keyspace.own_times
        if own is None:
            return False
        now_ms = self._keyspace.clock.now_ms
        is_stuck = False
        for index, key, due_ms in list(own.take_due(now_ms, STEP_ROWS)):
            database = self._keyspace.opened.get(index)
            if database is None:
                continue  # its tenant is gone
            if self._is_locked(index, key):
                own.note(index, key, due_ms)
                is_stuck = True
                continue
            txn = Txn(self._keyspace, database)
            row = rows.expiry_row(database.ns, due_ms, key)
            self._expire_own_key(txn, database, row, due_ms, key)
            txn.apply()
        return own.has_due(now_ms) and not is_stuck

    def _expire_own_key(
        self, txn: Txn, database: Database, row: bytes, due_ms: int, key: bytes
    ) -> None:
        """Drop a key if it is still due then: the master may have written it meanwhile."""
        try:
            meta = database.cache.get(key) or database.load(self._store, key)
        except Damaged as damaged:
            self._pass_by(row, damaged)
            return
        if meta.expire_ms == due_ms and meta.type != metas.ABSENT:
            txn.budget = STEP_ROWS
            self._drop(txn, database, key)

    # fields

    def _expire_fields(self, database: Database) -> Iterator[bool]:
        """Delete due fields; a hash is visited again until none is left of them."""
        begin = self._keyspace.recollections.field_times_from
        while True:
            ns = database.ns  # SWAPDB may come between two steps
            stop = rows.end_of(rows.FIELD_EXPIRY + ns)
            start = begin.get(ns, rows.FIELD_EXPIRY + ns)
            if start == stop:
                return
            row = yield from at_hand(partial(self._first_row, start, stop))
            if ns != database.ns or begin.get(ns, rows.FIELD_EXPIRY + ns) != start:
                continue  # while that was read
            if row is None:
                begin[ns] = stop
                return
            begin[ns] = row
            due_ms, version, key = rows.parse_field_expiry_row(ns, row)
            if due_ms > self._keyspace.clock.now_ms:
                known_ms = self.next_due_ms.get(database.index, due_ms)
                self.next_due_ms[database.index] = min(known_ms, due_ms)
                return
            if self._is_locked(database.index, key):
                return
            try:
                yield from at_hand(partial(self._expire_fields_of, database, row, version, key))
            except Damaged as damaged:
                self._pass_by(row, damaged)
                begin[ns] = row + b"\0"
            yield False

    def _first_row(self, start: bytes, stop: bytes) -> bytes | None:
        return next(self._store.scan_keys(start, stop), None)

    def _expire_fields_of(self, database: Database, row: bytes, version: int, key: bytes) -> None:
        txn = Txn(self._keyspace, database)
        meta = database.cache.get(key) or database.load(self._store, key)
        if meta.version != version:
            txn.delete(row)  # the incarnation is on its way out
        elif txn.is_overdue(key):
            self._drop(txn, database, key)
        else:
            field_times.prepare(txn, key, meta, limit=STEP_ROWS)
        txn.apply()
