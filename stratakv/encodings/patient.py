"""A Txn for long commands: it reads a snapshot and pauses, so that other clients are served.

The dispatcher runs the operation in a greenlet and gives it `pause`; the operation itself is the
same plain function as ever. Rows of a new incarnation are invisible until its meta is written, so
they are written in slices while the operation runs, under a `g#` row that would reclaim them after
a crash; the last commit publishes the meta and takes the `g#` row away.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final

from stratakv import errors
from stratakv.encodings import metas, rows
from stratakv.encodings.keyspace import Database, Keyspace
from stratakv.encodings.metas import NO_EXPIRY, Extra, Meta
from stratakv.encodings.tier import Request
from stratakv.encodings.txn import UNLIMITED, Row, Txn
from stratakv.encodings.zset_remote import REMOTE, Remote
from stratakv.storage.cache.contract import BYPASS, Then
from stratakv.storage.engine import Snapshot
from stratakv.storage.store import Overlay, merge, rows_between

SLICE_SECONDS: Final = 0.002
SPILL_ROWS: Final = 400
THINNED_ROWS: Final = 10_000
LOADED_METAS: Final = 1000
"""Metas kept at hand: a command may look at a million keys, and they hold the string values."""
_CHECK_EVERY: Final = 32
_UNKNOWN = b"?unknown"

Write = Callable[[Overlay], None]
Pause = Callable[[], None]


class PatientTxn(Txn):
    """A unit of work that may take long.

    Requires: runs where `pause` can give way; the keys of a writing command are locked against
    other writers; everything earlier has reached the engine when the snapshot is taken. `write`
    puts rows into the engine and returns when they are there.
    """

    patient = True

    def __init__(
        self,
        keyspace: Keyspace,
        database: Database,
        snapshot: Snapshot,
        pause: Pause,
        write: Write,
    ) -> None:
        super().__init__(keyspace, database)
        self.later = []
        self._snapshot = snapshot
        self._pause = pause
        self._write = write
        self._loaded: dict[bytes, Meta] = {}
        self.remotes: dict[bytes, Remote] = {}
        """Sorted sets v3 in use, by the prefix of their sub rows."""
        self._opened: list[Remote] = []
        """The same, and those of the siblings."""
        self.unconfirmed: list[Remote] = []
        """What Redis has to confirm before the client hears of success."""
        self.mark = keyspace.tier.committed
        """Changes up to this number are in the snapshot."""
        self._fresh: dict[bytes, bytes] = {}
        """Paths of incarnations this Txn makes, with their `g#` rows."""
        self._marked: set[bytes] = set()
        """Those `g#` rows that are written already."""
        self._slice_started = time.perf_counter()
        self._started_ms = self.clock.now_ms

    @property
    def now_ms(self) -> int:
        """The time at which the command started."""
        return self._started_ms

    def breathe(self) -> None:
        """Give way to the loop when the slice is used up."""
        if time.perf_counter() - self._slice_started > SLICE_SECONDS:
            self._pause()
            self._slice_started = time.perf_counter()

    def expect_work(self, count: int) -> None:
        """Any amount is fine."""

    def find(self, key: bytes) -> Meta | None:
        """The meta of a key that was live when the command started."""
        meta = self._current(key)
        if not meta.type or -1 != meta.expire_ms <= self._started_ms:
            return None
        return meta

    def _current(self, key: bytes) -> Meta:
        return self.metas.get(key) or self._loaded.get(key) or self._load(key)

    def _load(self, key: bytes) -> Meta:
        row = rows.meta_row(self.db.ns, key)
        raw = self._snapshot.get(row)
        meta = metas.absent(row) if raw is None else metas.decode(row, len(self.db.ns), raw)
        if len(self._loaded) >= LOADED_METAS:
            self._loaded.clear()
        self._loaded[key] = meta
        self.breathe()
        return meta

    def _open_sibling(self, database: Database) -> Txn:
        sibling = PatientTxn(self.keyspace, database, self._snapshot, self._pause, self._write)
        sibling.unconfirmed = self.unconfirmed
        sibling._opened = self._opened
        return sibling

    def create(
        self,
        key: bytes,
        type_: int,
        extra: Extra,
        expire_ms: int = metas.NO_EXPIRY,
        encoding: int | None = None,
    ) -> Meta:
        """As in a Txn; rows of the new incarnation may be written before the end."""
        meta = super().create(key, type_, extra, expire_ms, encoding)
        if meta.sub:
            self._fresh[meta.sub[2:]] = rows.garbage_row(self.db.ns, meta.version, key)
            self.keyspace.building.add(meta.version)
            if meta.type == metas.ZSET and meta.encoding == REMOTE:
                self.remotes[meta.sub] = Remote(self, meta, is_new=True)
        return meta

    # the Redis tier

    def ask(self, requests: Sequence[Request]) -> list[Any] | None:
        """The cache's replies, None for a bypass; other clients are served meanwhile."""
        tier = self.keyspace.tier
        if tier.wait is None:
            return None
        cache = tier.cache
        replies = self._collect(len(requests), lambda at, then: cache.ask(requests[at], then))
        return None if any(reply is BYPASS for reply in replies) else replies

    def _collect(self, count: int, send: Callable[[int, Then], None]) -> list[Any]:
        """Send so many requests, wait, and give the replies back in the order of the requests."""
        replies: list[Any] = [None] * count
        left = count

        def subscribe(resume: Callable[[], None]) -> None:
            def collect(at: int, reply: Any) -> None:
                nonlocal left
                replies[at] = reply
                left -= 1
                if not left:
                    resume()

            for at in range(count):
                send(at, partial(collect, at))

        wait = self.keyspace.tier.wait
        assert wait is not None
        wait(subscribe)
        self._slice_started = time.perf_counter()
        return replies

    def need_storage(self) -> None:
        """The command uses the Redis of sorted sets v3; raises if that cannot be."""
        tier = self.keyspace.tier
        if tier.storage_refusal or not tier.storage.ready or tier.wait is None:
            raise errors.zset_store_away(tier.storage_refusal or "it is not connected")

    def open_remote(self, meta: Meta) -> Meta | None:
        """A sorted set v3 with its count; None if Redis has nothing of it."""
        remote = self.remotes.get(meta.sub)
        if remote is None:
            remote = self.remotes[meta.sub] = Remote(self, meta, is_new=False)
            self._opened.append(remote)
        count = remote.count()
        return meta.with_extra(count) if count else None

    def fetch_remote(self, meta: Meta, members: Iterable[bytes]) -> None:
        """Know the scores of some members of a sorted set v3."""
        self.remotes[meta.sub].fetch(members)

    def ask_storage(self, requests: Sequence[Request]) -> list[Any]:
        """The replies of the Redis of sorted sets v3; raises what is to be told the client."""
        self.need_storage()
        storage = self.keyspace.tier.storage
        return _checked(
            self._collect(len(requests), lambda at, then: storage.ask(requests[at], then))
        )

    def confirm(self) -> None:
        """After the commit: write to the Redis of sorted sets v3, and wait until it is done."""
        if not self.unconfirmed:
            return
        written = [*self.unconfirmed]
        self.unconfirmed.clear()
        while any(remote.prepare() for remote in written):
            """Until nobody has begun to read while others were prepared."""
        self.need_storage()
        for remote in written:
            remote.tell_readers()
        requests = [request for remote in written for request in remote.requests()]
        storage = self.keyspace.tier.storage
        _checked(self._collect(1, lambda _, then: storage.transact(requests, then)))
        for remote in written:
            self.store.pending.update(dict.fromkeys(remote.leftovers()))

    def close(self) -> None:
        """The command is over, its reply made."""
        for remote in self._opened:
            remote.close()

    def _remote(self, row: bytes) -> Remote | None:
        for prefix, remote in self.remotes.items():
            if row.startswith(prefix):
                return remote
        return None

    # rows

    def get(self, row: bytes) -> bytes | None:
        """The value of a sub row, own writes included."""
        if self.remotes and (remote := self._remote(row)) is not None:
            return remote.get(row[len(remote.prefix) :])
        value = self.rows.get(row, _UNKNOWN)
        if value is not _UNKNOWN:
            return value
        self.breathe()
        if self._is_fresh(row):
            return self.store.engine.get(row)
        return self._snapshot.get(row)

    def put(self, row: bytes, value: bytes) -> None:
        """Write a sub row; every thousand rows, those of new incarnations go to the engine."""
        if self.remotes and (remote := self._remote(row)) is not None:
            remote.put(row[len(remote.prefix) :], value)
            return
        self.rows[row] = value
        if len(self.rows) % SPILL_ROWS == 0 and self._fresh:
            self._spill()

    def delete(self, row: bytes) -> None:
        """Delete a sub row."""
        if self.remotes and (remote := self._remote(row)) is not None:
            remote.put(row[len(remote.prefix) :], None)
            return
        self.rows[row] = None
        if len(self.rows) % SPILL_ROWS == 0:
            self.breathe()

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = UNLIMITED
    ) -> Iterable[tuple[bytes, bytes]]:
        """Rows of the snapshot (or of what this Txn made), pausing as it goes."""
        if self.remotes and (remote := self._remote(start)) is not None:
            return self._paced(remote.scan(start, stop, reverse=reverse), limit)
        reader = self.store.engine if self._is_fresh(start) else self._snapshot
        base = reader.scan(start, stop, reverse=reverse)
        own = rows_between(self.rows, start, stop)
        return self._paced(merge(base, own, reverse=reverse) if own else base, limit)

    def scan_keys(
        self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = UNLIMITED
    ) -> Iterable[bytes]:
        """As `scan`, without the values."""
        if self.remotes and self._remote(start) is not None:
            return map(itemgetter(0), self.scan(start, stop, reverse=reverse, limit=limit))
        if self._is_fresh(start) or rows_between(self.rows, start, stop):
            return map(itemgetter(0), self.scan(start, stop, reverse=reverse, limit=limit))
        return self._paced(self._snapshot.scan_keys(start, stop, reverse=reverse), limit)

    def _paced(self, found: Iterator[Row], limit: int) -> Iterator[Row]:
        for number, row in enumerate(found):
            if number >= limit:
                return
            if not number % _CHECK_EVERY:
                self.breathe()
            yield row

    def _is_fresh(self, row: bytes) -> bool:
        """Whether a row belongs to an incarnation that this Txn makes."""
        return bool(self._fresh) and rows.path_of(row, len(self.db.ns)) in self._fresh

    # the end

    def _spill(self) -> None:
        """Write the rows of new incarnations now, under `g#` rows in case the end never comes."""
        spilled = {row: value for row, value in self.rows.items() if self._is_fresh(row)}
        if not spilled:
            return
        for row in spilled:
            del self.rows[row]
        unmarked = [mark for mark in self._fresh.values() if mark not in self._marked]
        self._marked.update(unmarked)
        batch: Overlay = dict.fromkeys(unmarked, bytes((0, 0)))
        batch[rows.VERSION_ROW] = rows.U64.pack(self.keyspace.versions.lease)
        batch.update(spilled)
        self._write(batch)
        self._slice_started = time.perf_counter()

    def apply(self) -> None:
        """Publish: metas, counts and the last rows, in the commit of this turn."""
        self._hand_over_remotes()
        self._note_thinned()
        for mark in self._fresh.values():
            self.rows.setdefault(mark, None)
        cache = self.db.cache
        for key, meta in self.metas.items():
            cached = cache.get(key)  # it may have been charged since the snapshot was taken
            meta.charge = 0 if cached is None else cached.charge
            if NO_EXPIRY != meta.expire_ms <= self.clock.now_ms:
                self.keyspace.overdue.add(self.db.ns)
        if not self.store.pending and not self.keyspace.signals.listeners:
            self.store.pending, self.rows = self.rows, {}
        self._release_fresh()
        super().apply()

    def _hand_over_remotes(self) -> None:
        """What was written to sorted sets v3 is to be confirmed after the commit."""
        for remote in self.remotes.values():
            if remote.writes:
                self.unconfirmed.append(remote)
        if self.remotes:
            for key, meta in self.metas.items():
                if meta.type == metas.ZSET and meta.encoding == REMOTE:
                    self.metas[key] = meta.with_extra(None)  # the next reader asks for the count

    @property
    def changed(self) -> bool:
        """Whether there is anything to apply."""
        return super().changed or any(remote.writes for remote in self.remotes.values())

    def _changed_keys(self) -> list[bytes]:
        changed = dict.fromkeys(super()._changed_keys())
        ns_length = len(self.db.ns)
        for prefix, remote in self.remotes.items():
            if remote.writes:
                changed[rows.key_of_sub_row(prefix, ns_length)] = None
        return list(changed)

    def _note_thinned(self) -> None:
        """Have ranges compacted from which many rows go: scans would walk over every one."""
        if len(self.rows) < THINNED_ROWS:
            return
        gone: dict[bytes, list[bytes]] = {}
        for row, value in self.rows.items():
            if value is None and row[:2] in rows.SUB_PREFIXES:
                gone.setdefault(row[:2], []).append(row)
        for found in gone.values():
            if len(found) >= THINNED_ROWS:
                self.keyspace.thinned.append((min(found), max(found)))

    def discard(self) -> None:
        """Forget the writes; what was spilled is garbage now."""
        for path in self._fresh:
            self.db.queue_garbage(int.from_bytes(path[-8:], "big"))
        self._release_fresh()
        self.remotes.clear()
        super().discard()

    def _release_fresh(self) -> None:
        for path in self._fresh:
            self.keyspace.building.discard(int.from_bytes(path[-8:], "big"))
        self._fresh = {}


def _checked(replies: list[Any]) -> list[Any]:
    """The replies of the Redis of sorted sets v3; raises what is to be told the client."""
    for reply in replies:
        if reply is BYPASS:
            raise errors.zset_store_away("it did not answer")
        if isinstance(reply, Exception):
            raise errors.zset_store_away(str(reply))
    return replies
