"""The keyspace: databases, versions, live-key counts and the cache of decoded metas.

A database is a namespace in the store. FLUSHDB gives it a fresh namespace and queues the old one
for reclaiming, SWAPDB exchanges two: both are O(1) however many keys there are.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from stratakv.clock import Clock
from stratakv.encodings.keyspace.cursors import Cursors
from stratakv.encodings.keyspace.tier_state import Tier
from stratakv.encodings.keyspace.watchers import KeyWatchers
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.policies import Policy
from stratakv.errors import StoreUnavailable
from stratakv.storage.store import Done, Store

VERSION_LEASE_US = 60_000_000
"""How far ahead of use the version mark is persisted: one extra row a minute, not one a key."""

SPARSE_ROWS = 5000
"""Deleted rows that make their range worth compacting, if no more are left in it: whoever looks for
the first row that is left steps over each of them, 3 ms for so many."""
SPARSE_RANGES = 10_000
"""Collections whose deleted rows are counted."""

TRIM_EVERY = 16
"""Turns between two looks at the size of the meta cache, while it is below its limit."""
TRIM_STEP = 500
"""Metas that the hand passes in a turn while it is above: about a millisecond."""

FREE_STEP = 1000
"""Things that are freed in a turn: less than a millisecond."""

_KEYED = frozenset(rows.KEYED_PREFIXES)

CACHED_META_BYTES = 450
"""What a cached meta costs besides its value: objects, row names, dict slots (measured)."""

CACHED_VALUE_BYTES = 1 << 20
"""Metas with a longer value are not cached."""

PIECE_BYTES = 64 << 10
"""Longer strings are kept in pieces of this size; part of the stored format."""


COMPACT_LIMITS = {
    "hash-max-listpack-entries": 512,
    "hash-max-listpack-value": 64,
    "set-max-intset-entries": 512,
    "zset-max-listpack-entries": 128,
    "zset-max-listpack-value": 64,
    "hll-sparse-max-bytes": 3000,
}
"""Up to where Redis keeps values in compact forms, by the names of its settings."""


def _nobody_listens(database: int, event: str, key: bytes) -> None:
    """The end of all events while none are wanted."""


class Versions:
    """Key-versions: microseconds, strictly rising, across restarts and clock changes."""

    __slots__ = ("_clock", "_store", "last", "lease")

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.reload()
        self.last = self.lease

    def reload(self) -> None:
        """Take the lease from the store: what a failed commit should have raised is not there."""
        self.lease = int.from_bytes(self._store.get(rows.VERSION_ROW) or b"", "big")

    def next(self) -> int:
        """A version higher than all before it; its lease joins the current commit."""
        version = self.last + 1
        if version < self._clock.now_us:
            version = self._clock.now_us
        self.last = version
        if version >= self.lease:
            self.lease = version + VERSION_LEASE_US
            self._store.pending[rows.VERSION_ROW] = rows.U64.pack(self.lease)
        return version


class Database:
    """One namespace: its counts, its cache of metas and the metas that wait for the commit."""

    __slots__ = (
        "born",
        "cache",
        "cached_bytes",
        "counts_changed",
        "deleted",
        "dirty",
        "expiring",
        "garbage_from",
        "index",
        "live",
        "loads",
        "ns",
    )

    def __init__(self, index: int, ns: bytes) -> None:
        self.index = index
        self.ns = ns
        self.cache: dict[bytes, Meta] = {}
        self.cached_bytes = 0
        self.loads = 0
        """Metas that were not cached: the cache's misses."""
        self.dirty: dict[bytes, Meta] = {}
        self.live = 0
        self.expiring = 0
        self.born: int | None = None
        """The store's mark when the namespace was new; None if it was not made by this process."""
        self.deleted = 0
        """Metas that were deleted since their range was last compacted."""
        self.counts_changed = False
        self.garbage_from: int | None = 0
        """No queued incarnation has a lower version; None while the queue is known to be empty."""

    def queue_garbage(self, version: int) -> None:
        """An incarnation of that version joins the queue of the dead."""
        if self.garbage_from is None or version < self.garbage_from:
            self.garbage_from = version

    def load_counts(self, store: Store) -> None:
        """Read the live counts back from the store."""
        self.live = int.from_bytes(store.get(rows.LIVE + self.ns) or b"", "big")
        self.expiring = int.from_bytes(store.get(rows.EXPIRING + self.ns) or b"", "big")

    def load(self, store: Store, key: bytes) -> Meta:
        """The meta of a key that is not cached, absent ones included; puts it into the cache.

        Except a huge one: a string that was written before there were pieces.
        """
        self.loads += 1
        meta = self.dirty.get(key)
        if meta is None:
            row = rows.meta_row(self.ns, key)
            raw = store.get(row)
            meta = metas.absent(row) if raw is None else metas.decode(row, len(self.ns), raw)
            if raw is not None and len(raw) > CACHED_VALUE_BYTES:
                return meta
        self.cache[key] = meta
        self.charge(meta)
        return meta

    def charge(self, meta: Meta) -> None:
        """Count what a cached meta takes, in place of what its key was charged before."""
        cost = CACHED_META_BYTES + len(meta.row) * 2
        if meta.type == metas.STRING and not meta.encoding:
            cost += len(meta.value)
        self.cached_bytes += cost - meta.charge
        meta.charge = cost

    def uncache(self, key: bytes) -> None:
        """Forget what is cached of a key. Requires: nothing of it waits for a commit."""
        meta = self.cache.pop(key, None)
        if meta is not None:
            self.cached_bytes -= meta.charge
            meta.charge = 0

    def is_live(self, keyspace: "Keyspace", key: bytes) -> bool:
        """Whether the key exists and has not expired."""
        meta = self.cache.get(key) or self.load(keyspace.store, key)
        return bool(meta.type) and not -1 != meta.expire_ms <= keyspace.clock.now_ms

    def forget(self) -> dict[bytes, Meta]:
        """Empty the cache and whatever waits for the commit; returns what was cached."""
        free_later, self.cache = self.cache, {}
        self.dirty.clear()
        self.cached_bytes = 0
        return free_later

    def exchange(self, other: "Database") -> None:
        """Swap everything but the numbers."""
        self.ns, other.ns = other.ns, self.ns
        self.cache, other.cache = other.cache, self.cache
        self.cached_bytes, other.cached_bytes = other.cached_bytes, self.cached_bytes
        self.loads, other.loads = other.loads, self.loads
        self.dirty, other.dirty = other.dirty, self.dirty
        self.live, other.live = other.live, self.live
        self.expiring, other.expiring = other.expiring, self.expiring
        self.counts_changed, other.counts_changed = other.counts_changed, self.counts_changed
        self.garbage_from, other.garbage_from = other.garbage_from, self.garbage_from
        self.deleted, other.deleted = other.deleted, self.deleted
        self.born, other.born = other.born, self.born

    def evict(self, excess: int) -> int:
        """A step of the hand over the oldest metas, which drops those that were not used since it
        last passed (CLOCK), until `excess` bytes are free; returns how many it dropped.

        Victims are collected first: looking for the first key of a dict from which many first keys
        were taken walks over the gaps every time.
        """
        cache, dirty = self.cache, self.dirty
        spared: list[bytes] = []
        victims: list[bytes] = []
        for key, meta in islice(cache.items(), TRIM_STEP):
            if excess <= 0:
                break
            if meta.hot or key in dirty:
                meta.hot = False
                spared.append(key)
            else:
                excess -= meta.charge
                victims.append(key)
        for key in spared:
            cache[key] = cache.pop(key)
        for key in victims:
            meta = cache.pop(key)
            self.cached_bytes -= meta.charge
            meta.charge = 0
        return len(victims)


class Keyspace:
    """All databases over one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        databases: int = 16,
        cache_bytes: int = 64 << 20,
        encodings: Mapping[int, int] | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.cache_bytes = cache_bytes
        self.encodings = dict(encodings or {})
        self.policies: Sequence[Policy] = ()
        self.tier = Tier()
        self.string_limit = 512 << 20
        """The longest string in bytes, `proto-max-bulk-len`."""
        self.piece_bytes = PIECE_BYTES
        """Only tests have another."""
        self.stream_node_entries = 100
        """Rough trimming takes away so many entries at a time (stream-node-max-entries)."""
        self.compact_limits = dict(COMPACT_LIMITS)
        self.cache_evictions = 0
        self._check_format()
        self.versions = Versions(store, clock)
        self._namespaces = int.from_bytes(store.get(rows.NAMESPACES_ROW) or b"", "big")
        self.databases = [
            Database(index, name + b":") for index, name in enumerate(self._load_names(databases))
        ]
        for database in self.databases:
            database.load_counts(store)
            database.born = store.mark() if self._is_new else None
        self.cursors = Cursors()
        self.sample_rows: dict[bytes, tuple[bytes, bool]] = {}
        """A row of collections without a count, and whether it was found from the end."""
        self.windows: dict[tuple[bytes, int, int], tuple[Meta, list[bytes]]] = {}
        """Ranges of lists that were read lately, with the meta that they are right for."""
        self.splits: dict[bytes, Any] = {}
        """What sampling.py has learned of the shape of large collections."""
        self.dirty = False
        """Whether metas or counts wait for the next commit."""
        self._turns = 0
        self._trimming = False
        self._leftovers: list[Any] = []
        """See `free_later`."""
        store.on_leftovers = self.free_later
        self.watchers = KeyWatchers()
        self.notifies: frozenset[str] = frozenset()
        """The classes of events that are wanted; empty while nobody is to be told of any."""
        self.on_event: Callable[[int, str, bytes], None] = _nobody_listens
        """Called with (database, event, key) of what was applied; see `Txn.event`."""
        self.sparse_ranges: deque[tuple[bytes, bytes]] = deque(maxlen=64)
        """Ranges in which many rows were deleted: worth compacting."""
        self._deleted: dict[bytes, int] = {}
        """By the prefix of a collection's rows: how many of them were deleted one by one."""
        self.field_times_from: dict[bytes, bytes] = {}
        """By namespace: no `t#` row stands before this one; if it is missing, it is not known."""
        self.expired_fields = 0
        self.has_remote = store.get(rows.REMOTE_ROW) is not None
        """Whether the store may have sorted sets v3."""
        self.dropped: dict[bytes, list[bytes] | None] = {}
        """Dropped namespaces, oldest first, with the names of their rows if those are known."""
        self._load_dropped()
        self.building: set[int] = set()
        """Versions that a long command is still writing: not garbage yet."""

    def policy(self, database: Database, key: bytes) -> Policy | None:
        """The first policy that speaks of the key."""
        for policy in self.policies:
            if policy.covers(database.index, key):
                return policy
        return None

    def encoding(self, database: Database, type_: int, key: bytes) -> int:
        """The encode-version of a new key."""
        if self.policies:
            policy = self.policy(database, key)
            if policy is not None and type_ in policy.encodings:
                return policy.encodings[type_]
        return self.encodings.get(type_, 0)

    def note_remote(self) -> None:
        """A sorted set v3 is being made: what is dropped may have scores in Redis from now on."""
        if not self.has_remote:
            self.has_remote = True
            self.store.pending[rows.REMOTE_ROW] = b""

    def raise_generation(self) -> Callable[[], None]:
        """Leave all cache entries behind; the new generation joins the next commit.

        Call what it returns when that commit has ended: the cache is usable if it went well.
        """
        stored = int.from_bytes(self.store.get(rows.GENERATION_ROW) or b"", "big")
        raw = rows.U32.pack((max(self.tier.generation, stored) + 1) & 0xFFFFFFFF)
        committed = self.tier.begin_generation(int.from_bytes(raw, "big"))
        self.store.pending[rows.GENERATION_ROW] = raw

        def ended() -> None:
            if self.store.get(rows.GENERATION_ROW) == raw:
                committed()

        return ended

    def _check_format(self) -> None:
        raw = self.store.get(rows.FORMAT_ROW)
        self._is_new = raw is None
        if raw is None:
            first = next(iter(self.store.scan_keys(b"", rows.END)), rows.FORMAT_ROW)
            if not first.startswith((b"!", *rows.PREFIXES)):
                raise StoreUnavailable("the database there is not one of StrataKV's")
            self.store.pending[rows.FORMAT_ROW] = rows.U32.pack(rows.LAYOUT)
            return
        found = int.from_bytes(raw, "big")
        if found > rows.LAYOUT:
            raise StoreUnavailable(
                f"the store has format {found}; this version reads up to {rows.LAYOUT}"
            )

    def _load_names(self, count: int) -> list[bytes]:
        """The namespace of each database; at first a database's own number."""
        raw = self.store.get(rows.DATABASES_ROW)
        names = raw.split(b",") if raw else []
        return names + [str(index).encode() for index in range(len(names), count)]

    def _save_names(self) -> None:
        names = b",".join(database.ns[:-1] for database in self.databases)
        self.store.pending[rows.DATABASES_ROW] = names

    @property
    def changed(self) -> bool:
        """Whether anything waits for a commit."""
        return self.dirty or bool(self.store.pending or self.tier.applied)

    def settle(self) -> None:
        """Write what is decided so far, if that is cheap, so that a scan need not merge it.

        Replies still wait for the end of the turn: early is never too early. A unit of work is
        never split, since its writes are in its Txn until it has ended.
        """
        if self.dirty:
            self.collect()
        self.store.settle()

    def commit(self, done: Done) -> None:
        """Make everything since the last commit one batch. See `Store.commit`."""
        self.collect()
        if self.tier.applied:
            done = self.tier.after(done)
        self.store.commit(done)

    def collect(self) -> None:
        """Move dirty metas and counts into the pending rows, once per commit for each."""
        pending = self.store.pending
        encode = metas.encode
        self.dirty = False
        for database in self.databases:
            if database.dirty:
                grown = 0
                for meta in database.dirty.values():
                    row = meta.row
                    value = pending[row] = encode(meta)
                    if value is None:
                        database.deleted += 1
                    cost = CACHED_META_BYTES + len(row) * 2 + len(value or b"")
                    grown += cost - meta.charge
                    meta.charge = cost
                database.cached_bytes += grown
                database.dirty.clear()
            if database.counts_changed:
                database.counts_changed = False
                pending[rows.LIVE + database.ns] = rows.U64.pack(database.live)
                pending[rows.EXPIRING + database.ns] = rows.U64.pack(database.expiring)
                if database.deleted > max(SPARSE_ROWS, database.live):
                    database.deleted = 0
                    self.note_sparse(rows.META + database.ns)

    def note_sparse(self, prefix: bytes) -> None:
        """Have the rows that begin with that compacted: most of them were deleted."""
        span = prefix, rows.end_of(prefix)
        if span not in self.sparse_ranges:
            self.sparse_ranges.append(span)

    def note_deleted(self, prefixes: tuple[bytes, ...], gone: int, left: int) -> None:
        """Rows that begin with each of these were deleted one by one; about so many are left."""
        deleted = self._deleted.pop(prefixes[0], 0) + gone
        if deleted > max(SPARSE_ROWS, left):
            for prefix in prefixes:
                self.note_sparse(prefix)
            return
        if len(self._deleted) >= SPARSE_RANGES:
            del self._deleted[next(iter(self._deleted))]
        self._deleted[prefixes[0]] = deleted

    def trim(self) -> None:
        """Bring the meta cache back under its limit in steps, the largest database first.

        Called at the end of every turn: reads fill the cache as well as writes do.
        """
        self._turns += 1
        if self._leftovers:
            self.free_some()
        if self._turns % TRIM_EVERY and not self._trimming:
            return
        total = sum([database.cached_bytes for database in self.databases])
        enough = self.cache_bytes * 31 // 32
        self._trimming = total > (enough if self._trimming else self.cache_bytes)
        if self._trimming:
            largest = max(self.databases, key=lambda database: database.cached_bytes)
            self.cache_evictions += largest.evict(total - enough)

    def free_later(self, many: dict[Any, Any] | list[Any]) -> None:
        """Free a list or dictionary of very many things little by little.

        Nobody may use it any more. To free a full cache of metas at once took 70 ms.
        """
        self._leftovers.append(many)

    def free_some(self) -> bool:
        """Free some of what was cast off; says whether there is more."""
        if not self._leftovers:
            return False
        many = self._leftovers[-1]
        if isinstance(many, list):
            del many[-FREE_STEP:]
        else:
            for _ in range(min(len(many), FREE_STEP)):
                many.popitem()
        if not many:
            self._leftovers.pop()
        return bool(self._leftovers)

    def flush(self, database: Database) -> None:
        """Empty a database at once; the reclaimer deletes its rows later."""
        if not database.live:
            return
        self.watchers.emit(database.index, self._listened_live_keys(database))
        old = database.ns
        self.dropped[old] = self._rows_of_young(database)
        database.born = self.store.mark()
        self.free_later(database.forget())
        self._namespaces += 1
        database.ns = rows.namespace(database.index, self._namespaces)
        database.live = database.expiring = database.deleted = 0
        database.garbage_from = None
        self.field_times_from[database.ns] = rows.end_of(rows.FIELD_EXPIRY + database.ns)
        self.field_times_from.pop(old, None)
        database.counts_changed = self.dirty = True
        self.store.pending[rows.NAMESPACES_ROW] = rows.U64.pack(self._namespaces)
        self.store.pending[rows.DROPPED + old] = b""
        self._save_names()

    def _rows_of_young(self, database: Database) -> list[bytes] | None:
        """The names of all rows of a namespace that has had few; None if there were more."""
        if database.born is None:
            return None
        written = self.store.written_since(database.born)
        if written is None:
            return None
        ns = database.ns
        own = {row for row in written if row.startswith(ns, 2) and row[:2] in _KEYED}
        return sorted(own)

    def forget_dropped(self, ns: bytes) -> None:
        """A dropped namespace is gone; this joins the current commit."""
        self.store.pending[rows.DROPPED + ns] = None
        self.dropped.pop(ns, None)

    def _load_dropped(self) -> None:
        span = rows.DROPPED, rows.end_of(rows.DROPPED)
        self.dropped = {row[2:]: None for row in self.store.scan_keys(*span)}

    def swap(self, first: Database, second: Database) -> None:
        """Exchange the contents of two databases."""
        if first is second:
            return
        listened = [
            (base, key)
            for base in (first, second)
            for key in self.watchers.keys_of(base.index)
            if any(one.is_live(self, key) for one in (first, second))
        ]
        first.exchange(second)
        self._save_names()
        for base, key in listened:
            self.watchers.emit(base.index, [key])

    def _listened_live_keys(self, database: Database) -> list[bytes]:
        """Live keys of a database that somebody listens to."""
        return [key for key in self.watchers.keys_of(database.index) if database.is_live(self, key)]

    def probe(self) -> None:
        """See whether the engine can be written; raises `StoreUnavailable`."""
        self.store.engine.write({rows.FORMAT_ROW: rows.U32.pack(rows.LAYOUT)}, sync=True)

    def find_garbage_again(self) -> None:
        """Look through the whole queue of the dead at the next opportunity."""
        for database in self.databases:
            database.garbage_from = 0

    def abandon(self) -> None:
        """A commit failed: forget all that was decided since, and read the store again.

        Raises `Damaged` if that cannot be read: then nothing more may be written.
        """
        self.store.pending.clear()
        self.tier.applied.clear()
        self.tier.doubt()
        self.dirty = False
        for database in self.databases:
            database.forget()
            database.counts_changed = False
            database.born = None
        self._check_format()
        self.has_remote = self.store.get(rows.REMOTE_ROW) is not None
        self._load_dropped()
        self._deleted.clear()
        self.versions.reload()
        names = self._load_names(len(self.databases))
        for database, name in zip(self.databases, names, strict=True):
            database.ns = name + b":"
            database.load_counts(self.store)
