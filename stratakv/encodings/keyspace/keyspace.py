"""The keyspace: databases, versions, live-key counts and the cache of decoded metas.

A database is a namespace in the store. FLUSHDB gives it a fresh namespace and queues the old one
for reclaiming, SWAPDB exchanges two: both are O(1) however many keys there are.

Between two turns (see invariants.py)
1. No count is negative, and no more keys expire than there are.
2. Metas or counts that wait for a commit are announced by `dirty`.
3. `cached_bytes` of a database is the sum of what its cached metas were charged.
4. No incarnation is queued below `garbage_from`, and none if that is None, but those that are being
   built, and those that the reclaimer is at work on.
5. No two databases have the same namespace, and none has one that was dropped.
6. Only versions that a running long command has made are being built.
7. Every row that waits for the commit is of a known kind.
8. What is known of the members of a collection is what is stored; an absent key that has a version
   has no rows of it.

Promises
9. `collect` makes rows of all that is dirty at once, metas with their counts. So whatever is
   written, early by `settle` or at the end of the turn, is a number of whole units of work.
10. After `abandon` nothing is known that was not read from the store since.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from stratakv.clock import Clock
from stratakv.encodings.keyspace.cursors import Cursors
from stratakv.encodings.keyspace.database import CACHED_META_BYTES, Database
from stratakv.encodings.keyspace.frequencies import Frequencies
from stratakv.encodings.keyspace.key_filter import KeyFilter
from stratakv.encodings.keyspace.leftovers import Leftovers
from stratakv.encodings.keyspace.limits import Limits
from stratakv.encodings.keyspace.meta_cache import MetaCache
from stratakv.encodings.keyspace.namespaces import Contents, Namespaces
from stratakv.encodings.keyspace.own_times import OwnTimes
from stratakv.encodings.keyspace.recollections import Recollections
from stratakv.encodings.keyspace.sparse_ranges import SPARSE_ROWS, SparseRanges
from stratakv.encodings.keyspace.tenants import Tenants
from stratakv.encodings.keyspace.tier_state import Slicing, Tier
from stratakv.encodings.keyspace.versions import Versions
from stratakv.encodings.keyspace.watchers import KeyWatchers
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.policies import Policy
from stratakv.encodings.layout.tenant_records import TenantRecord
from stratakv.errors import NO_NAMESPACE, CommandError, StoreUnavailable
from stratakv.storage.store import Done, Store

_KEYED = frozenset(rows.KEYED_PREFIXES)


Effect = tuple[int, Sequence[bytes]]
"""A command that gives a replica what was written, and the database that it is for."""


def _nobody_follows(effects: list[Effect]) -> None:
    """The end of all effects while there are no replicas."""


def _nobody_follows_runs(database: int, commands: Sequence[Sequence[bytes]]) -> None:
    """As above."""


def _nothing_more() -> None:
    """No row belongs to every commit."""


def _nobody_waits(done: Done) -> Done:
    return done


def _nobody_cares(stage: str) -> None:
    """No stream tells of units."""


def _nobody_listens(database: int, kind: str, event: str, key: bytes) -> None:
    """The end of all events while none are wanted."""


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
        slices: Slicing | None = None,
        first: int = 0,
    ) -> None:
        self.store = store
        self.clock = clock
        self.encodings = dict(encodings or {})
        self.policies: Sequence[Policy] = ()
        self.limits = Limits()
        self.tier = Tier(slices)
        is_new = self._check_format()
        self.versions = Versions(store, clock)
        self.namespaces = Namespaces(store)
        names = self.namespaces.load_names(databases)
        self.databases = [Database(index, ns, clock) for index, ns in enumerate(names, first)]
        """Those that belong to no tenant, by their numbers."""
        self.numbers = databases
        """How many of them clients may name."""
        self.parts: dict[int, Keyspace] = {}
        """In a cluster the keyspaces that have the keys in place of this one, each of a group of
        slots, by the index of their one database."""
        self.opened = {database.index: database for database in self.databases}
        """All that are in use, by their indexes."""
        for database in self.databases:
            database.load_counts(store)
            database.born = store.mark() if is_new else None
            database.filter = KeyFilter(len(database.ns)) if is_new else None
        self.tenants = Tenants(store)
        self._open_inhabited()
        self.cache = MetaCache(cache_bytes)
        self.leftovers = Leftovers()
        store.on_leftovers = store.row_cache.on_leftovers = self.leftovers.add
        self.sparse = SparseRanges()
        self.watchers = KeyWatchers()
        self.cursors = Cursors()
        self.recollections = Recollections()
        self.recollections.ranks.on_leftovers = self.leftovers.add
        self.dirty = False
        """Whether metas or counts wait for the next commit."""
        self.notifies: frozenset[str] = frozenset()
        """The classes of events that are wanted; empty while nobody is to be told of any."""
        self.on_event: Callable[[int, str, str, bytes], None] = _nobody_listens
        """Called with (database, kind, event, key) of what was applied; see `Txn.event`."""
        self.replicates = False
        """Whether replicas are to be told what is written; see `Txn.tell`."""
        self.rests = False
        """Whether nothing is to change by itself: what has expired is hidden, and stays for now."""
        self.on_effects: Callable[[list[Effect]], None] = _nobody_follows
        """Called with what was applied, as commands; several are one unit."""
        self.on_run: Callable[[int, Sequence[Sequence[bytes]]], None] = _nobody_follows_runs
        """Called with (database, commands) of a streak that was applied; each is a unit."""
        self.on_collect: Callable[[], None] = _nothing_more
        """Called before rows may be written: puts those that belong to every commit."""
        self.on_commit: Callable[[Done], Done] = _nobody_waits
        """Called with each commit: gives what to do at its end."""
        self.on_parts: Callable[[str], None] = _nobody_cares
        """Called with what becomes of a unit that is committed in parts: `begun` before the first
        of them, `ended` with the last, `spoilt` if that never comes."""
        self.own_times: OwnTimes | None = None
        """What clients of a replica let expire; None while no such writes are possible."""
        self.expired_fields = 0
        self.unwritten_bytes = 0
        """Of units that were measured, since the last commit began."""
        self.measures = False
        """Whether each unit is measured before it is applied: the store takes no large commits."""
        self.frequencies: Frequencies | None = None
        """How often keys are used, if that is counted."""
        self.is_clustered = False
        """Whether clients see one database alone, since keys have slots."""
        self.has_remote = store.get(rows.REMOTE_ROW) is not None
        """Whether the store may have sorted sets v3."""

    def _open_inhabited(self) -> None:
        """Have the databases of tenants at hand that something is to be done for."""
        for tenant in self.tenants:
            for number in self.tenants.inhabited(tenant, len(self.databases)):
                self.open_database(tenant.index(number))

    def shown_number(self, index: int) -> int:
        """What clients call a database; in a cluster they know one alone."""
        return 0 if self.is_clustered else index % rows.SPAN

    def has_database(self, index: int) -> bool:
        """Whether there can be a database of that index."""
        if index % rows.SPAN >= len(self.databases):
            return False
        return index < rows.SPAN or self.tenants.of_database(index) is not None

    def open_database(self, index: int) -> Database:
        """The database of an index; raises if its tenant is gone."""
        database = self.opened.get(index)
        if database is None:
            tenant = self.tenants.of_database(index)
            if tenant is None:
                raise CommandError(NO_NAMESPACE)
            database = Database(index, tenant.namespace(index % rows.SPAN), self.clock)
            database.load_counts(self.store)
            self.opened[index] = database
        return database

    def databases_of(self, tenant: TenantRecord) -> list[Database]:
        """The databases of a tenant that are in use, by their numbers."""
        return [
            self.opened[index]
            for index in sorted(self.opened)
            if index >> rows.TENANT_BITS == tenant.id
        ]

    def drop_tenant(self, tenant: TenantRecord) -> None:
        """A tenant is gone, at once; the reclaimer deletes its rows later.

        Requires: nobody works on its keys.
        """
        for database in self.databases_of(tenant):
            self.namespaces.drop(database.ns, self._rows_of_young(database))
            self.leftovers.add(database.forget())
            self.recollections.field_times_from.pop(database.ns, None)
            del self.opened[database.index]
        self.namespaces.drop(rows.library_namespace(tenant.id), None)
        self.tenants.forget(tenant)
        self.dirty = True

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

    def _check_format(self) -> bool:
        """Refuse a store that is not ours, or too new; says whether there was nothing in it."""
        raw = self.store.get(rows.FORMAT_ROW)
        if raw is None:
            first = next(iter(self.store.scan_keys(b"", rows.END)), rows.FORMAT_ROW)
            if not first.startswith((b"!", *rows.PREFIXES)):
                raise StoreUnavailable("the database there is not one of StrataKV's")
            self.store.pending[rows.FORMAT_ROW] = rows.U32.pack(rows.LAYOUT)
            return True
        found = int.from_bytes(raw, "big")
        if found > rows.LAYOUT:
            raise StoreUnavailable(
                f"the store has format {found}; this version reads up to {rows.LAYOUT}"
            )
        return False

    @property
    def changed(self) -> bool:
        """Whether anything waits for a commit."""
        return self.dirty or bool(self.store.pending or self.tier.applied)

    @property
    def is_unobserved(self) -> bool:
        """Whether nobody is to be told what is done to which key: no client, no event, no tier.
        (Replicas are told what is done, not to which key.)"""
        return not (self.watchers.listeners or self.notifies or self.tier.on or self.measures)

    def settle(self) -> None:
        """Write what is decided so far, if that is cheap, so that a scan need not merge it.

        Replies still wait for the end of the turn: early is never too early. A unit of work is not
        split, since its writes are in its Txn until it has ended (but see store.py, 3).
        """
        if self.dirty:
            self.collect()
        self.store.settle()

    def commit(self, done: Done) -> None:
        """Make everything since the last commit one batch. See `Store.commit`."""
        self.collect()
        if self.tier.applied:
            done = self.tier.after(done)
        if self.recollections.ranks.uncommitted:
            done = self.recollections.ranks.after(done)
        self.store.commit(self.on_commit(done))

    def collect(self) -> None:
        """Move dirty metas and counts into the pending rows, once per commit for each."""
        pending = self.store.pending
        encode = metas.encode
        plain = self.cache.plain or None  # nothing, if it is empty
        self.dirty = False
        self.on_collect()
        for database in self.opened.values():
            if database.dirty:
                grown = 0
                for meta in database.dirty.values():
                    row = meta.row
                    value = pending[row] = encode(meta)
                    if value is None:
                        database.deleted += 1
                    if plain is not None and not meta.is_plain_string:
                        plain.discard(row)
                    cost = CACHED_META_BYTES + len(row) * 2 + len(value or b"")
                    cost += meta.members_bytes
                    grown += cost - meta.charge
                    meta.charge = cost
                    if not meta.used:
                        meta.used = -self.clock.now_ms
                database.cached_bytes += grown
                database.dirty.clear()
            if database.counts_changed:
                database.counts_changed = False
                pending[rows.LIVE + database.ns] = rows.U64.pack(database.live)
                pending[rows.EXPIRING + database.ns] = rows.U64.pack(database.expiring)
                if database.deleted > max(SPARSE_ROWS, database.live):
                    database.deleted = 0
                    self.sparse.add(rows.META + database.ns)

    def trim(self) -> None:
        """At the end of a turn: free some of what was cast off, and keep the cache in its limit."""
        if self.leftovers:
            self.leftovers.free_some()
        self.cache.trim(self.opened.values())

    def forget_plain(self) -> None:
        """Know of no key any more that it is a plain string, unless it is cached."""
        if self.cache.plain is not None:
            self.cache.plain.clear()

    def is_live(self, database: int, key: bytes) -> bool:
        """Whether a key exists now, asked past the Txns."""
        opened = self.opened.get(database)
        if opened is None:
            part = self.parts.get(database)
            return part is not None and part.is_live(database, key)
        return opened.is_live(self.store, key, self.clock.now_ms)

    def choose_events(self, kinds: frozenset[str]) -> None:
        """The classes of events that are wanted from now on."""
        for keyspace in (self, *self.parts.values()):
            keyspace.notifies = kinds

    def rest(self, wanted: bool) -> None:
        """Let nothing change by itself for now, or again."""
        self.rests = wanted

    def choose_limits(self, limits: Limits) -> None:
        """What is too large from now on."""
        for keyspace in (self, *self.parts.values()):
            keyspace.limits = limits

    def join(self, whole: "Keyspace") -> None:
        """Be a part of another keyspace, whose clients this one serves from now on."""
        self.encodings, self.policies, self.limits = whole.encodings, whole.policies, whole.limits
        self.watchers, self.notifies = whole.watchers, whole.notifies
        self.on_event = whole.event_of_part
        self.is_clustered, self.numbers = whole.is_clustered, whole.numbers
        self.recollections.ranks.on_wanted = None
        for database in self.databases:
            whole.parts[database.index] = self

    def leave(self, whole: "Keyspace") -> None:
        """Be a part of it no more."""
        for database in self.databases:
            whole.parts.pop(database.index, None)

    def event_of_part(self, database: int, kind: str, event: str, key: bytes) -> None:
        """Something has happened to a key of a part: clients know one database."""
        self.on_event(0, kind, event, key)

    def flush(self, database: Database) -> None:
        """Empty a database at once; the reclaimer deletes its rows later."""
        if database.live:
            self._empty(database)

    def _empty(self, database: Database) -> None:
        self.watchers.emit(database.index, self._listened_live_keys(database))
        born = self.store.mark()
        ns = self._leave(database, self.namespaces.make(database.index))
        database.born = born
        database.filter = KeyFilter(len(ns))
        self.recollections.field_times_from[ns] = rows.end_of(rows.FIELD_EXPIRY + ns)
        self._save_names(database)

    def _save_names(self, *changed: Database) -> None:
        """These databases, of nobody or of one tenant, have other namespaces from now on."""
        tenant = self.tenants.of_database(changed[0].index)
        if tenant is None:
            self.namespaces.save_names([database.ns for database in self.databases])
            return
        for database in changed:
            tenant.rename(database.number, database.ns)
        self.tenants.save(tenant)

    def _leave(self, database: Database, ns: bytes) -> bytes:
        """Give a database another namespace, without keys, in place of one that is reclaimed."""
        old = database.ns
        self.forget_plain()
        self.namespaces.drop(old, self._rows_of_young(database))
        self.leftovers.add(database.forget())
        database.ns = ns
        database.live = database.expiring = database.deleted = 0
        database.garbage_from = database.born = database.filter = None
        self.recollections.field_times_from.pop(old, None)
        database.counts_changed = self.dirty = True
        return ns

    def supplant(
        self, contents: Mapping[int, Contents], tenants: Iterable[TenantRecord] = ()
    ) -> None:
        """Give every database what was loaded for it, or nothing, in place of what it has; the
        tenants are others too, and so are the objects of their databases.

        Requires: nobody works on keys; what was loaded is in the engine; who looks for due keys is
        told to begin anew.
        """
        for database in self.databases:
            new = contents.get(database.index)
            if new is None:
                self._empty(database)
                continue
            self.watchers.emit(database.index, self._listened_live_keys(database))
            self._leave(database, new.ns)
            self.namespaces.end_loading(new.ns)
            database.live, database.expiring = new.live, new.expiring
            self.watchers.emit(database.index, self._listened_live_keys(database))
        self.namespaces.save_names([database.ns for database in self.databases])
        self._supplant_tenants(contents, tenants)

    def _supplant_tenants(
        self, contents: Mapping[int, Contents], tenants: Iterable[TenantRecord]
    ) -> None:
        for tenant in self.tenants:
            self.drop_tenant(tenant)
        for tenant in tenants:
            self.namespaces.revive(rows.library_namespace(tenant.id))
            made = self.tenants.create(tenant.name, tenant.quota, tenant.id)
            for index, new in contents.items():
                if index >> rows.TENANT_BITS == made.id:
                    made.rename(index % rows.SPAN, new.ns)
                    self.namespaces.end_loading(new.ns)
                    database = self.open_database(index)
                    database.live, database.expiring = new.live, new.expiring
                    database.counts_changed = True
            self.tenants.save(made)

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

    def swap(self, first: Database, second: Database) -> None:
        """Exchange the contents of two databases."""
        if first is second:
            return
        now_ms = self.clock.now_ms
        listened = [
            (base, key)
            for base in (first, second)
            for key in self.watchers.keys_of(base.index)
            if any(one.is_live(self.store, key, now_ms) for one in (first, second))
        ]
        first.exchange(second)
        self._save_names(first, second)
        for base, key in listened:
            self.watchers.emit(base.index, [key])

    def _listened_live_keys(self, database: Database) -> list[bytes]:
        """Live keys of a database that somebody listens to."""
        store, now_ms = self.store, self.clock.now_ms
        keys = self.watchers.keys_of(database.index)
        return [key for key in keys if database.is_live(store, key, now_ms)]

    def probe(self) -> None:
        """See whether the engine can be written; raises `StoreUnavailable`."""
        self.store.write_now({rows.FORMAT_ROW: rows.U32.pack(rows.LAYOUT)})

    def find_garbage_again(self) -> None:
        """Look through the whole queue of the dead at the next opportunity."""
        for database in self.opened.values():
            database.garbage_from = 0

    def abandon(self) -> None:
        """A commit failed: forget all that was decided since, and read the store again.

        Raises `Damaged` if that cannot be read: then nothing more may be written.
        """
        self.store.abandon()
        self.forget_plain()
        self.recollections.forget()
        self.tier.applied.clear()
        self.tier.doubt()
        self.dirty = False
        for database in self.opened.values():
            database.forget()
            database.counts_changed = False
            database.born = database.filter = None
            database.garbage_from = 0
        self._check_format()
        self.has_remote = self.store.get(rows.REMOTE_ROW) is not None
        self.namespaces.load_dropped()
        self.sparse.forget_counts()
        self.versions.reload()
        names = self.namespaces.load_names(len(self.databases))
        for database, ns in zip(self.databases, names, strict=True):
            database.ns = ns
            database.load_counts(self.store)
        self._reload_tenants()

    def _reload_tenants(self) -> None:
        """Have the tenants that the store has; databases of others are no longer in use."""
        self.tenants.load()
        for index, database in list(self.opened.items()):
            if index < rows.SPAN:
                continue
            tenant = self.tenants.of_database(index)
            if tenant is None:
                del self.opened[index]
                continue
            database.ns = tenant.namespace(database.number)
            database.load_counts(self.store)
        self._open_inhabited()
