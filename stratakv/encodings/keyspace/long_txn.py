"""A Txn for long commands: it reads a snapshot and pauses, so that other clients are served.

The dispatcher runs the operation in a greenlet and gives it `pause`; the operation itself is the
same plain function as ever. Rows of a new incarnation are invisible until its meta is written, so
they are written in slices while the operation runs, under a `g#` row that would reclaim them after
a crash; the last commit publishes the meta and takes the `g#` row away.

Promises
1. It sees the keys as they were when its snapshot was taken, and its own writes. A writer has its
   keys locked, so for them that is also how they are now.
2. Before `apply` nobody sees anything of it: what is written earlier are rows of incarnations whose
   metas are not there, and their versions are in `versions.building`, which the reclaimer spares.
3. A row is written before the end only with the `g#` row of its incarnation, in the same batch or
   before. A crash, or `discard`, leaves `g#` rows, and the reclaimer deletes what they name.
4. It never raises `TooLong`: what runs in it runs to its end once, unless it is killed.
5. What it keeps in memory is bounded, whatever it writes to new incarnations: rows beyond
   `SPILL_ROWS` or `SPILL_BYTES` are written. Changes of existing keys wait in memory for `apply`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from stratakv import errors
from stratakv.clock import Clock
from stratakv.encodings.keyspace.database import CACHED_VALUE_BYTES, Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.rank_directory import Directory
from stratakv.encodings.keyspace.tier_state import CacheRequest
from stratakv.encodings.keyspace.txn import UNLIMITED, Row, Txn
from stratakv.encodings.keyspace.zset_marks import mark_near
from stratakv.encodings.keyspace.zset_remote import Remote
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import Extra, Meta
from stratakv.storage.cache.contract import BYPASS, Then
from stratakv.storage.contract import Reader
from stratakv.storage.store import Overlay, merge, rows_between

SLICE_SECONDS: Final = 0.002
LOOKED_UP_AT_ONCE: Final = 256
SPILL_ROWS: Final = 400
KNOWN_SPILLED: Final = 20_000
"""Names of written rows that are kept: whoever is not among them need not be looked for."""
SPILL_BYTES: Final = 1 << 20
"""Rows of new incarnations are written when there are so many, or so many bytes of them."""
SPARSE_ROWS: Final = 10_000
MANY: Final = 2000
"""More rows or metas are made ready for the commit in slices."""
MOST_SHIFTS: Final = 50_000
"""Shifts of places that are kept for the directories of ranks: some 8 MB."""
LOADED_METAS: Final = 1000
"""Metas kept at hand: a command may look at a million keys, and they hold the string values."""
_CHECK_EVERY: Final = 32
_UNKNOWN = b"?unknown"

Write = Callable[[Overlay], None]
Pause = Callable[[], None]


def _rows_of_all(some: list[Row], rows_of: Callable[[Row], list[bytes]]) -> list[bytes]:
    return [row for one in some for row in rows_of(one)]


class LongTxn(Txn):
    """A unit of work that may take long.

    Requires: runs where `pause` can give way; the keys of a writing command are locked against
    other writers; everything earlier has reached the engine when the snapshot is taken. `write`
    puts rows into the engine and returns when they are there.
    """

    is_long = True

    def __init__(
        self,
        keyspace: Keyspace,
        database: Database,
        snapshot: Reader,
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
        self.ranked = self.recollections.ranks.committed
        """Changes of ranks up to this number are in the snapshot."""
        self._uncounted: set[bytes] = set()
        """Sorted sets of which so many places were shifted that their ranks are given up."""
        self._renewed: set[bytes] = set()
        """Keys of which members got other values."""
        self._fresh: dict[bytes, bytes] = {}
        """Paths of incarnations this Txn makes, with their `g#` rows."""
        self._marked: set[bytes] = set()
        """Those `g#` rows that are written already."""
        self._spilled: set[bytes] | None = set()
        """Rows of new incarnations that are written already; None if they are too many to know."""
        self._unspilled = 0
        """Bytes put since rows were last written."""
        self._kept = 0
        """Bytes put before that, which wait for the commit."""
        self._touched: dict[bytes, None] | None = None
        """The keys whose metas or rows were written, once they have been looked through."""
        self._encoded: dict[bytes, Meta] = {}
        """Metas that are among the rows already."""
        self._encoded_others = False
        """Whether some of them are no plain strings."""
        self._settled = 0
        """Rows that were kept then: none of them is of a new incarnation."""
        self._oldest_dead: int | None = None
        """The lowest version of the incarnations whose place others take."""
        self._slice_started = time.perf_counter()
        self._started_ms = self.clock.now_ms
        self._horizon_ms = self._started_ms

    @property
    def now_ms(self) -> int:
        """The time at which the command started."""
        return self._started_ms

    @property
    def horizon_ms(self) -> int:
        """What expires up to this moment is over: the start, but for what a master decided."""
        return self._horizon_ms

    def follow(self, clock: Clock) -> None:
        """As in a Txn."""
        super().follow(clock)
        self._horizon_ms = clock.now_ms

    def _judge_like(self, other: "LongTxn") -> None:
        """Let keys expire as there."""
        self.clock = other.clock
        self._horizon_ms = other._horizon_ms

    def tell_gone(self, words: Sequence[bytes]) -> None:
        """As in a Txn, but with the rest: others may have made the key anew that is gone here."""
        self.tell(words)

    def pause_if_due(self) -> None:
        """Give way to the loop when the slice is used up."""
        if time.perf_counter() - self._slice_started > SLICE_SECONDS:
            self._pause()
            self._slice_started = time.perf_counter()

    def expect_work(self, count: int) -> None:
        """Any amount is fine."""

    def spend(self, count: int) -> None:
        """Any amount is fine, but others may be waiting."""
        self.pause_if_due()

    def has_room(self, meta: Meta, size: int, most: int) -> bool:
        """Rows of a new incarnation are not kept; of others there may be `most` bytes in all."""
        return meta.sub[2:] in self._fresh or self._kept + self._unspilled + size <= most

    def looked_up(
        self, found: Iterable[Row], rows_of: Callable[[Row], list[bytes]]
    ) -> Iterable[Row]:
        """As in a Txn; the store is told ahead, some at a time."""
        left = iter(found)
        while some := list(islice(left, LOOKED_UP_AT_ONCE)):
            self.store.expect(self._snapshot, partial(_rows_of_all, some, rows_of))
            yield from some

    def frozen(self, key: bytes) -> Txn:
        """Who reads the key's rows as they are now: another Txn on the same snapshot.

        If this one has written to the key already, there is nobody else who knows its rows.
        """
        if key in self.metas:
            return self
        frozen = LongTxn(self.keyspace, self.db, self._snapshot, self._pause, self._write)
        frozen.ranked = self.ranked
        frozen._judge_like(self)
        return frozen

    def find(self, key: bytes) -> Meta | None:
        """The meta of a key that was live when the command started."""
        meta = self._current(key)
        if not meta.type or -1 != meta.expire_ms <= self._horizon_ms:
            if meta.type and self.keyspace.replicates:
                self.tell_gone((b"DEL", key))
            return None
        return meta

    def _current(self, key: bytes) -> Meta:
        return self.metas.get(key) or self._loaded.get(key) or self._load(key)

    def _load(self, key: bytes) -> Meta:
        row = rows.meta_row(self.db.ns, key)
        raw = self._snapshot.get(row)
        meta = metas.absent(row) if raw is None else metas.decode(row, len(self.db.ns), raw)
        if len(self._loaded) >= LOADED_METAS or (raw and len(raw) > CACHED_VALUE_BYTES):
            self._loaded.clear()
        self._loaded[key] = meta
        self.pause_if_due()
        return meta

    def _open_sibling(self, database: Database) -> Txn:
        sibling = LongTxn(self.keyspace, database, self._snapshot, self._pause, self._write)
        sibling.unconfirmed = self.unconfirmed
        sibling._opened = self._opened
        sibling.ranked = self.ranked
        sibling._judge_like(self)
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
            self.keyspace.versions.building.add(meta.version)
            if meta.format.remote:
                self.remotes[meta.sub] = Remote(self, meta, is_new=True)
        return meta

    def _replace(self, key: bytes, old: Meta, new: Meta) -> None:
        """As in a Txn; the `g#` row comes with `apply`: the reclaimer may have looked by then."""
        super()._replace(key, old, new)
        if old.sub and (self._oldest_dead is None or old.version < self._oldest_dead):
            self._oldest_dead = old.version

    # ranks

    def shifted(self, sub: bytes, place: bytes, change: int) -> None:
        """As in a Txn; also for sets without a directory, since others may make one meanwhile."""
        if len(self.shifts) >= MOST_SHIFTS:
            self._uncounted.add(sub)
        elif sub[2:] not in self._fresh:
            self.shifts.append((sub, place, change))

    def begin_order(self, sub: bytes) -> None:
        """It may be large, and who asks for its order reads it."""

    def lacks(self, sub: bytes, member: bytes) -> bool:
        """As below."""
        return False

    def knows_order(self, meta: Meta) -> bool:
        """Nobody knows what the snapshot holds."""
        return False

    def whole_order(self, meta: Meta) -> list[bytes] | None:
        """As above."""
        return None

    def ranking(self, meta: Meta) -> Directory | None:
        """The directory of a set's ranks, if it tells of what the snapshot holds."""
        found = super().ranking(meta)
        if found is None or found.stamp > self.ranked or meta.sub in self._uncounted:
            return None
        return found

    def need_ranks(self, meta: Meta) -> None:
        """It walks; a directory is made for those who come after."""
        self.want_ranks(meta)

    # the Redis tier

    def ask(self, requests: Sequence[CacheRequest]) -> list[Any] | None:
        """The cache's replies, None for a bypass; other clients are served meanwhile."""
        tier = self.keyspace.tier
        if tier.slices is None:
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

        slices = self.keyspace.tier.slices
        assert slices is not None
        slices.wait(subscribe)
        self._slice_started = time.perf_counter()
        return replies

    def need_storage(self) -> None:
        """The command uses the Redis of sorted sets v3; raises if that cannot be."""
        tier = self.keyspace.tier
        if tier.claim is not None and tier.slices is not None:
            tier.slices.wait(tier.claim)
            self._slice_started = time.perf_counter()
        if not tier.storage_usable or tier.slices is None:
            raise errors.zset_store_away(tier.storage_reason)

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

    def ask_storage(self, requests: Sequence[CacheRequest]) -> list[Any]:
        """The replies of the Redis of sorted sets v3; raises what is to be told the client."""
        self.need_storage()
        storage = self.keyspace.tier.storage
        return self._testified(
            [partial(storage.ask, request) for request in requests], requests[:1]
        )

    def _testified(
        self, steps: list[Callable[[Then], None]], about: Sequence[CacheRequest]
    ) -> list[Any]:
        """The replies to some steps, if marks that are read behind them say that they are true."""
        tier, count = self.keyspace.tier, len(steps)
        for mark in {mark_near(tier.storage, request) for request in about}:
            steps.append(partial(tier.storage.ask, (b"GET", mark)))
        replies = _checked(self._collect(len(steps), lambda at, then: steps[at](then)))
        for found in replies[count:]:
            tier.check_mark(found)
        return replies[:count]

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
        self._testified([partial(self.keyspace.tier.storage.transact, requests)], requests)
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
        self.pause_if_due()
        if self._is_fresh(row):
            is_there = self._spilled is None or row in self._spilled
            return self.store.written.get(row) if is_there else None
        return self._snapshot.get(row)

    def put(self, row: bytes, value: bytes) -> None:
        """Write a sub row; now and then those of new incarnations go to the engine."""
        if self.remotes and (remote := self._remote(row)) is not None:
            remote.put(row[len(remote.prefix) :], value)
            return
        self.rows[row] = value
        self._unspilled += len(value)
        if len(self.rows) - self._settled >= SPILL_ROWS or self._unspilled >= SPILL_BYTES:
            self._spill()

    def forget(self, sub: bytes) -> None:
        """Drop the writes to an incarnation that another has taken the place of."""
        written = [row for row in self.rows if row.startswith(sub)]
        size = sum([len(self.rows.pop(row) or b"") for row in written])
        self.shifts = [shift for shift in self.shifts if shift[0] != sub]
        self._kept = max(0, self._kept - size)
        self._settled = min(self._settled, len(self.rows))

    def overwrote(self, key: bytes, put: dict[bytes, bytes]) -> None:
        """As in a Txn; its own metas know no members, those that others read may."""
        self._renewed.add(key)

    def delete(self, row: bytes) -> None:
        """Delete a sub row."""
        if self.remotes and (remote := self._remote(row)) is not None:
            remote.put(row[len(remote.prefix) :], None)
            return
        self.rows[row] = None
        if len(self.rows) % SPILL_ROWS == 0:
            self.pause_if_due()

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = UNLIMITED
    ) -> Iterable[tuple[bytes, bytes]]:
        """Rows of the snapshot (or of what this Txn made), pausing as it goes."""
        if self.remotes and (remote := self._remote(start)) is not None:
            return self._paced(remote.scan(start, stop, reverse=reverse), limit)
        reader = self.store.written if self._is_fresh(start) else self._snapshot
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
                self.pause_if_due()
            yield row

    def _is_fresh(self, row: bytes) -> bool:
        """Whether a row belongs to an incarnation that this Txn makes."""
        return bool(self._fresh) and rows.path_of(row, len(self.db.ns)) in self._fresh

    # the end

    def _take_fresh(self) -> Overlay:
        """Take the rows of new incarnations out of those that were put since the last time."""
        spilled: Overlay = {}
        if self._fresh:
            for row in islice(reversed(self.rows), max(0, len(self.rows) - self._settled)):
                if self._is_fresh(row):
                    spilled[row] = self.rows[row]
            for row in spilled:
                self._unspilled -= len(self.rows.pop(row) or b"")
        self._kept += max(0, self._unspilled)
        self._unspilled = 0
        self._settled = len(self.rows)
        return spilled

    def _spill(self) -> None:
        """Write the rows of new incarnations now, under `g#` rows in case the end never comes."""
        spilled = self._take_fresh()
        if not spilled:
            self.pause_if_due()
            return
        unmarked = [mark for mark in self._fresh.values() if mark not in self._marked]
        self._marked.update(unmarked)
        if self._spilled is not None:
            self._spilled.update(spilled)
            if len(self._spilled) > KNOWN_SPILLED:
                self._spilled = None
        batch: Overlay = dict.fromkeys(unmarked, bytes((0, 0)))
        batch[rows.VERSION_ROW] = rows.U64.pack(self.keyspace.versions.lease)
        batch.update(spilled)
        self._write(batch)
        self._slice_started = time.perf_counter()

    def conclude(self) -> None:
        """Do ahead, in slices, what `apply` would do for each of very many keys and rows.

        Requires: nothing more is written before `apply`.
        """
        if self._touched is None and len(self.rows) + len(self.metas) > MANY:
            self._look_through_rows()
            if len(self.metas) > MANY:
                self._encode_metas()
        for sibling in (self.siblings or {}).values():
            if isinstance(sibling, LongTxn):
                sibling.conclude()

    def _look_through_rows(self) -> None:
        """See which keys are touched, and where so many rows go that compacting is worth it."""
        touched: dict[bytes, None] = {}
        gone: dict[bytes, list[bytes]] = {}
        ns_length = len(self.db.ns)
        last = b"?"
        for number, (row, value) in enumerate(self.rows.items()):
            if not number % _CHECK_EVERY:
                self.pause_if_due()
            if not row.startswith(last):
                if row[:2] not in rows.SUB_PREFIXES:
                    continue
                last = row[:2] + rows.path_of(row, ns_length)
                touched[rows.key_of_sub_row(row, ns_length)] = None
            if value is None:
                gone.setdefault(row[:2], []).append(row)
        self._note_sparse(gone)
        self._touched = touched

    def _note_sparse(self, gone: dict[bytes, list[bytes]]) -> None:
        """Have ranges compacted from which many rows go: scans would walk over every one."""
        for found in gone.values():
            if len(found) >= SPARSE_ROWS:
                first = last = found[0]
                for number, row in enumerate(found):
                    if not number % _CHECK_EVERY:
                        self.pause_if_due()
                    first, last = min(first, row), max(last, row)
                self.keyspace.sparse.waiting.append((first, last))

    def _encode_metas(self) -> None:
        """Make rows of the metas; the cache forgets such keys instead of learning them."""
        db = self.db
        for number, (key, meta) in enumerate(self.metas.items()):
            if not number % _CHECK_EVERY:
                self.pause_if_due()
            raw = self.rows[meta.row] = metas.encode(meta)
            db.deleted += raw is None
            self._encoded_others |= not meta.is_plain_string
            db.uncache(key)
        self._encoded, self.metas = self.metas, {}

    def apply(self) -> None:
        """Publish: metas, counts and the last rows, in the commit of this turn."""
        self._hand_over_remotes()
        self.conclude()
        for mark in self._fresh.values():
            self.rows.setdefault(mark, None)
        cache = self.db.cache
        if self._encoded_others:
            self.keyspace.forget_plain()  # each by itself would take as long as to encode it
            self._encoded_others = False
        if self._encoded:
            self.db.forgotten_ms = self.db.clock.now_ms
            for key in cache.keys() & self._encoded.keys():  # somebody has read it meanwhile
                self.db.uncache(key)
        may_hand_over = self._touched is not None or not self.keyspace.watchers.listeners
        if not self.store.pending and may_hand_over:
            self.store.pending, self.rows = self.rows, {}
        self._release_fresh()
        if self._oldest_dead is not None:
            self.db.queue_garbage(self._oldest_dead)
            self._oldest_dead = None
        for sub in self._uncounted:
            self.recollections.ranks.drop(sub)
        for key in self._renewed:
            self.db.forget_members(key)
        super().apply()
        self.keyspace.leftovers.add(self._encoded)
        self._encoded, self._touched = {}, None

    def _hand_over_remotes(self) -> None:
        """What was written to sorted sets v3 is to be confirmed after the commit."""
        for remote in self.remotes.values():
            if remote.writes:
                self.unconfirmed.append(remote)
        if self.remotes:
            for key, meta in self.metas.items():
                if meta.type != metas.ABSENT and meta.format.remote:
                    self.metas[key] = meta.with_extra(None)  # the next reader asks for the count

    @property
    def changed(self) -> bool:
        """Whether there is anything to apply."""
        return super().changed or any(remote.writes for remote in self.remotes.values())

    def _changed_keys(self) -> list[bytes]:
        if self._touched is not None:
            listened = self.keyspace.watchers.keys_of(self.db.index)
            changed = (self.metas, self._encoded, self._touched, self._remote_keys())
            return [key for key in listened if any(key in keys for keys in changed)]
        return list(dict.fromkeys([*super()._changed_keys(), *self._remote_keys()]))

    def _remote_keys(self) -> list[bytes]:
        ns_length = len(self.db.ns)
        return [
            rows.key_of_sub_row(prefix, ns_length)
            for prefix, remote in self.remotes.items()
            if remote.writes
        ]

    def discard(self) -> None:
        """Forget the writes; what was spilled is garbage now."""
        for path in self._fresh:
            self.db.queue_garbage(int.from_bytes(path[-8:], "big"))
        self._release_fresh()
        self.remotes.clear()
        for many in (self.metas, self.rows):
            if len(many) > MANY:
                self.keyspace.leftovers.add(many)
        self.metas, self.rows = {}, {}
        super().discard()

    def _release_fresh(self) -> None:
        for path in self._fresh:
            self.keyspace.versions.building.discard(int.from_bytes(path[-8:], "big"))
        self._fresh = {}


def _checked(replies: list[Any]) -> list[Any]:
    """The replies of the Redis of sorted sets v3; raises what is to be told the client."""
    for reply in replies:
        if reply is BYPASS:
            raise errors.zset_store_away("it did not answer")
        if isinstance(reply, Exception):
            raise errors.zset_store_away(str(reply))
    return replies
