"""A database: one namespace, with its counts and its part of the cache of decoded metas."""

from collections import deque
from typing import TYPE_CHECKING, Final

from stratakv.clock import Clock
from stratakv.encodings.keyspace.key_filter import KeyFilter
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import Meta
from stratakv.storage.store import Store

if TYPE_CHECKING:
    from stratakv.encodings.keyspace._key_set import KeySet

CACHED_META_BYTES: Final = 450
"""What a cached meta costs besides its value: objects, row names, dict slots (measured)."""
CACHED_VALUE_BYTES: Final = 1 << 20
"""Metas with a longer value are not cached."""
KNOWN_BYTES: Final = 8192
"""Collections up to this size are remembered with their metas."""
TRIM_STEP: Final = 500
"""Metas that the hand passes in a turn while the cache is above its limit: about a millisecond."""


class Database:
    """One namespace: its counts, its cache of metas and the metas that wait for the commit."""

    __slots__ = (
        "arrivals",
        "born",
        "cache",
        "cached_bytes",
        "clock",
        "counts_changed",
        "deleted",
        "dirty",
        "expiring",
        "filter",
        "forgotten_ms",
        "garbage_from",
        "index",
        "live",
        "loads",
        "ns",
    )

    def __init__(self, index: int, ns: bytes, clock: Clock) -> None:
        self.index = index
        self.ns = ns
        self.clock = clock
        self.cache: dict[bytes, Meta] = {}
        self.arrivals: deque[bytes] = deque()
        """The keys of the cache in the order in which they came, or were spared; the hand goes over
        them. The dict itself would do, but for the gaps that deleted keys leave at its beginning:
        to walk over them each time took a tenth of the time of reads beyond the cache."""
        self.cached_bytes = 0
        self.forgotten_ms = clock.now_ms
        """No key that is not cached was used after this moment."""
        self.loads = 0
        """Metas that were not cached: the cache's misses."""
        self.dirty: dict[bytes, Meta] = {}
        self.live = 0
        self.expiring = 0
        self.born: int | None = None
        """The store's mark when the namespace was new; None if it was not made by this process."""
        self.filter: KeyFilter | None = None
        """Which keys there may be; None if there may be any."""
        self.deleted = 0
        """Metas that were deleted since their range was last compacted."""
        self.counts_changed = False
        self.garbage_from: int | None = 0
        """No queued incarnation has a lower version; None while the queue is known to be empty."""

    @property
    def number(self) -> int:
        """What clients call it: the tenant that it belongs to, if any, is not in it."""
        return self.index % rows.SPAN

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
            may_be = self.filter is None or self.filter.may_have(row)
            raw = store.get(row) if may_be else None
            meta = metas.absent(row) if raw is None else metas.decode(row, len(self.ns), raw)
            if raw is not None and len(raw) > CACHED_VALUE_BYTES:
                self.forgotten_ms = self.clock.now_ms
                return meta
            meta.used = -self.forgotten_ms
        self.cache[key] = meta
        self.arrivals.append(key)
        self.charge(meta)
        return meta

    def charge(self, meta: Meta) -> None:
        """Count what a cached meta takes, in place of what its key was charged before."""
        cost = CACHED_META_BYTES + len(meta.row) * 2 + meta.members_bytes
        if meta.type == metas.STRING and meta.encoding == metas.WHOLE:
            cost += len(meta.value)
        self.cached_bytes += cost - meta.charge
        meta.charge = cost

    def renew_member(self, key: bytes, member: bytes, value: bytes) -> None:
        """A member of a collection has another value; if its members are known, that is too."""
        meta = self.cache.get(key)
        if meta is None or meta.members is None or member not in meta.members:
            return
        change = len(value) - len(meta.members[member])
        meta.members[member] = value
        if meta.members_bytes + change > KNOWN_BYTES:
            change = -meta.members_bytes
            meta.members = None
        meta.members_bytes += change
        if meta.charge:
            meta.charge += change
            self.cached_bytes += change

    def forget_members(self, key: bytes) -> None:
        """Whatever is known of the members of a collection may be wrong."""
        meta = self.cache.get(key)
        if meta is not None and meta.members is not None:
            meta.members = None

    def uncache(self, key: bytes) -> None:
        """Forget what is cached of a key. Requires: nothing of it waits for a commit."""
        meta = self.cache.pop(key, None)
        if meta is not None:
            self.cached_bytes -= meta.charge
            meta.charge = 0
            self.forgotten_ms = max(self.forgotten_ms, abs(meta.used))
            if len(self.arrivals) > 2 * len(self.cache) + TRIM_STEP:
                self.arrivals = deque(self.cache)  # without those that are gone, or came again

    def is_live(self, store: Store, key: bytes, now_ms: int) -> bool:
        """Whether the key exists and has not expired."""
        meta = self.cache.get(key) or self.load(store, key)
        return bool(meta.type) and not -1 != meta.expire_ms <= now_ms

    def forget(self) -> dict[bytes, Meta]:
        """Empty the cache and whatever waits for the commit; returns what was cached."""
        cached, self.cache = self.cache, {}
        self.arrivals = deque()
        self.dirty.clear()
        self.cached_bytes = 0
        self.forgotten_ms = self.clock.now_ms
        return cached

    def exchange(self, other: "Database") -> None:
        """Swap everything but the numbers."""
        self.ns, other.ns = other.ns, self.ns
        self.cache, other.cache = other.cache, self.cache
        self.arrivals, other.arrivals = other.arrivals, self.arrivals
        self.cached_bytes, other.cached_bytes = other.cached_bytes, self.cached_bytes
        self.forgotten_ms, other.forgotten_ms = other.forgotten_ms, self.forgotten_ms
        self.loads, other.loads = other.loads, self.loads
        self.dirty, other.dirty = other.dirty, self.dirty
        self.live, other.live = other.live, self.live
        self.expiring, other.expiring = other.expiring, self.expiring
        self.counts_changed, other.counts_changed = other.counts_changed, self.counts_changed
        self.garbage_from, other.garbage_from = other.garbage_from, self.garbage_from
        self.deleted, other.deleted = other.deleted, self.deleted
        self.born, other.born = other.born, self.born
        self.filter, other.filter = other.filter, self.filter

    def evict(self, excess: int, plain: "KeySet | None" = None) -> int:
        """A step of the hand over the oldest metas, which drops those that were not used since it
        last passed (CLOCK), until `excess` bytes are free; returns how many it dropped.

        Those of plain strings leave a note (plain_strings.py).
        """
        cache, dirty, arrivals = self.cache, self.dirty, self.arrivals
        dropped = 0
        for _ in range(min(TRIM_STEP, len(arrivals))):
            if excess <= 0:
                break
            key = arrivals.popleft()
            meta = cache.get(key)
            if meta is None:
                continue  # it is gone already
            if meta.used > 0 or key in dirty:
                meta.used = -abs(meta.used)
                arrivals.append(key)
                continue
            del cache[key]
            excess -= meta.charge
            self.cached_bytes -= meta.charge
            meta.charge = 0
            self.forgotten_ms = max(self.forgotten_ms, -meta.used)
            if plain is not None and meta.is_plain_string:
                plain.add(meta.row)
            dropped += 1
        return dropped

    def last_use(self, key: bytes) -> int:
        """When a key was used, as `Meta.used` has it. Of one that is not cached, the latest moment
        at which that can have been."""
        meta = self.cache.get(key)
        if meta is None:
            return -self.forgotten_ms
        return meta.used or -self.clock.now_ms

    def set_last_use(self, key: bytes, used: int) -> None:
        """Undo a use of a key, by what `last_use` told before. A write stays one."""
        meta = self.cache.get(key)
        if meta is not None and key not in self.dirty:
            meta.used = used
