"""What an operation sees of the keyspace, and where its writes go until it succeeds.

A command runs as a plain function over a `Txn`. It reads metas and rows as the last command left
them, its own writes included, and writes only into the Txn; `apply` hands the writes to the commit
when the function has returned, `discard` drops them when it raised.

A Txn runs on the event loop, so it may touch only `ROW_BUDGET` rows. Past that it raises `TooLong`,
and the dispatcher runs the same function again over a `LongTxn`, which can pause (see
long_txn.py). An operation is therefore pure until it returns.

Between two turns
1. The Txns of the databases hold no writes, and are in no unit of work.

Promises
2. Nobody but the Txn sees its writes before `apply`, and `apply` hands over all of them, with those
   of its siblings, before anything else runs.
3. What an operation leaves behind outside of the Txn is a memory (recollections.py), a count of
   what was deleted (sparse_ranges.py), a lease of versions or an earlier place to look for
   garbage: right, or harmless, if the Txn is discarded.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Final, TypeVar

from stratakv.clock import Clock
from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.hits import HITS
from stratakv.encodings.keyspace.keyspace import Effect, Keyspace
from stratakv.encodings.keyspace.rank_directory import Directory
from stratakv.encodings.keyspace.ranks import Shift
from stratakv.encodings.keyspace.tier_state import CacheRequest, Changes, EntryKind, KeyChange
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.formats import FORMATS
from stratakv.encodings.layout.metas import ABSENT, HASH, NO_EXPIRY, SET, STRING, WHOLE, Extra, Meta
from stratakv.encodings.layout.rows import SPAN
from stratakv.errors import wrong_type
from stratakv.storage.cache.contract import BYPASS, Cache
from stratakv.storage.missing import Answers, Missing, Then, TooLong
from stratakv.storage.store import Overlay, merge, rows_between

ROW_BUDGET: Final = 1000
"""Rows a command may touch at once: about a millisecond."""

UNLIMITED: Final = 1 << 62
UNPUBLISHED: Final = ""
"""The class of what is no event in Redis, though who has a copy of the key hears of it."""
OVERDUE: Final = "overdue"
"""Somebody was told that a key has expired, which is not deleted yet."""
_UNKNOWN = b"?unknown"
Row = TypeVar("Row")


class Uncovered(TooLong):
    """A unit of work needs keys that it has not locked: it begins anew with a lock on all."""


class Unranked(TooLong):
    """The command would walk far: a directory of the set's ranks is to be made first."""

    def __init__(self, sub: bytes, count: int) -> None:
        super().__init__()
        self.sub = sub
        self.count = count


class CacheAnswers(Answers):
    """What was found out for a command, replies of the cache included."""

    __slots__ = ("mark", "replies", "tallies")

    def __init__(self, mark: int) -> None:
        super().__init__()
        self.mark = mark
        """Changes up to this number were in the store when the cache was asked."""
        self.replies: dict[tuple[CacheRequest, ...], list[Any]] = {}
        self.tallies: dict[str, EntryKind] = {}
        """Hits and misses, to be counted if the command succeeds with these answers."""


class Asked:
    """Requests to the cache that are under way for a command."""

    __slots__ = ("_answers", "_left", "_replies", "_requests", "_then")

    def __init__(
        self, requests: tuple[CacheRequest, ...], answers: CacheAnswers, then: Then
    ) -> None:
        self._requests = requests
        self._answers = answers
        self._then = then
        self._replies: list[Any] = [None] * len(requests)
        self._left = len(requests)

    def collect(self, at: int, reply: Any) -> None:
        """A reply; with a bypass among them the command goes the long way."""
        self._replies[at] = reply
        self._left -= 1
        if not self._left:
            self._answers.replies[self._requests] = self._replies
            is_bypassed = any(reply is BYPASS for reply in self._replies)
            self._then(TooLong() if is_bypassed else None)


class Unanswered(Missing):
    """The cache has to be asked first; with its replies the command can be run again."""

    most_rounds: ClassVar[int] = 4

    def __init__(self, cache: Cache, requests: tuple[CacheRequest, ...]) -> None:
        super().__init__()
        self.cache = cache
        self.requests = requests

    def serves(self, is_write: bool) -> bool:
        """Writers need their locks before they ask."""
        return not is_write

    def ask(self, answers: Answers, then: Then) -> None:
        """Send the requests."""
        assert isinstance(answers, CacheAnswers)
        asked = Asked(self.requests, answers, then)
        for at, request in enumerate(self.requests):
            self.cache.ask(request, partial(asked.collect, at))


class Txn:
    """A unit of work on one database; reused from command to command."""

    is_long = False

    def __init__(self, keyspace: Keyspace, database: Database) -> None:
        self.keyspace = keyspace
        self.db = database
        self.store = keyspace.store
        self.clock = keyspace.clock
        self.recollections = keyspace.recollections
        self.metas: dict[bytes, Meta] = {}
        self.rows: Overlay = {}
        self.shifts: list[Shift] = []
        """Places in the order of sorted sets that were taken or left; see ranks.py."""
        self.begun: set[bytes] = set()
        """Sorted sets that are new, by their `sub`: all of their order is known."""
        self.overwritten: dict[bytes, dict[bytes, bytes]] = {}
        """Members of known collections that got another value, by key; see member_rows.py."""
        self.live_change = 0
        self.expiring_change = 0
        self.budget = ROW_BUDGET
        self.siblings: dict[int, Txn] | None = None
        self._opener: Txn | None = None
        """The Txn that a sibling was opened by: it has all the siblings of the unit."""
        self.later: list[Callable[[], None]] | None = None
        """What to do when the writes are applied, events included. None outside units of several
        commands, as long as there is no event. A sibling has none of its own: see `_opener`."""
        self.in_unit = False
        """Whether several commands share this Txn: then the cache, which is ahead, is not asked."""
        self.changes: Changes | None = None
        """What was done to keys that have entries in the Redis tier."""
        self.is_quiet = False
        """Whether what happens is no event, because it will have been nothing in the end."""
        self.effects: list[Effect] | None = None
        """What replicas are to do so that they have the writes too; None while there are none."""
        self.follows = False
        """Whether what is written comes from a master, which has decided what is expired."""
        self.answers: CacheAnswers | None = None
        """What was found out for the command that runs; who gives it takes it away."""

    # keys

    @property
    def now_ms(self) -> int:
        """The time of this turn."""
        return self.keyspace.clock.now_ms

    @property
    def horizon_ms(self) -> int:
        """What expires up to this moment is over: now, but for what a master has decided."""
        return self.clock.now_ms

    def find(self, key: bytes) -> Meta | None:
        """The meta of a live key, or None: absent and expired are the same to a client."""
        meta = self.metas.get(key) if self.metas else None
        if meta is None:
            meta = self.db.cache.get(key)
            if meta is None:
                meta = self._load(key)
            else:
                meta.used = self.db.clock.now_ms
        if not meta.type or -1 != meta.expire_ms <= self.clock.now_ms:
            HITS.missed += 1
            if meta.type:
                self._overdue(key)
            return None
        return meta

    def _overdue(self, key: bytes) -> None:
        """A key is asked for whose time is over, and that is still stored."""
        if self.keyspace.replicates and not self.keyspace.rests:
            self.tell_gone((b"DEL", key))
        self.event(UNPUBLISHED, OVERDUE, key)

    def peek(self, key: bytes) -> Meta | None:
        """As `find`, but this is no use of the key."""
        used = self.db.last_use(key)
        meta = self.find(key)
        self.db.set_last_use(key, used)
        return meta

    def idle_ms(self, key: bytes) -> int:
        """How long a live key was not used; of one that is not cached, at least so long."""
        written = self.metas.get(key)
        used = self.db.last_use(key) if written is None else written.used
        return max(0, self.db.clock.now_ms - abs(used)) if used else 0

    def set_idle(self, key: bytes, idle_ms: int) -> None:
        """A key that this unit has made counts as used so long ago, at the beginning of time at
        the earliest."""
        meta = self.metas.get(key)
        if meta is not None:
            meta.used = -max(1, self.db.clock.now_ms - idle_ms)

    def expect(self, key: bytes, type_: int) -> Meta | None:
        """The meta of a live key of that type, or None; raises WRONGTYPE for another type."""
        meta = self.find(key)
        if meta is not None and meta.type != type_:
            raise wrong_type()
        return meta

    def read(self, key: bytes) -> Meta | None:
        """As `find`, for a reader: a key that is not there is an event."""
        meta = self.find(key)
        if meta is None:
            self.missed(key)
        return meta

    def glance(self, key: bytes) -> Meta | None:
        """As `peek`, for a reader: a key that is not there is an event."""
        meta = self.peek(key)
        if meta is None:
            self.missed(key)
        return meta

    def look_up(self, key: bytes, type_: int) -> Meta | None:
        """As `expect`, for a reader: a key that is not there is an event."""
        meta = self.find(key)
        if meta is None:
            self.missed(key)
        elif meta.type != type_:
            raise wrong_type()
        return meta

    def encoding(self, type_: int, key: bytes) -> int:
        """The encode-version that a new key gets."""
        return self.keyspace.encoding(self.db, type_, key)

    def create(
        self,
        key: bytes,
        type_: int,
        extra: Extra,
        expire_ms: int = NO_EXPIRY,
        encoding: int | None = None,
    ) -> Meta:
        """A new incarnation of a key, in place of whatever the key was.

        `encoding` is the encode-version of a copy; a key made afresh gets the configured one.
        """
        old = self._current(key)
        if encoding is None:
            encoding = self.encoding(type_, key) if type_ != STRING else WHOLE
        made = FORMATS[type_][encoding]
        if made.remote:
            self.need_storage()
            self.keyspace.note_remote()
        version = 0
        if old.type == ABSENT and type_ in (HASH, SET):
            # It has left no rows: those that DEL deletes in this commit are then just put.
            version = old.version
        if not version:
            version = self.keyspace.versions.next()
        row = old.row
        sub = rows.sub_prefix(row, len(self.db.ns), version) if made.stored else b""
        meta = Meta(row, type_, encoding, version, expire_ms, extra, sub)
        self._replace(key, old, meta)
        return meta

    def assign(self, key: bytes, value: bytes, expire_ms: int = NO_EXPIRY) -> None:
        """A short string in place of whatever the key was: `create` for the hottest write.

        Over a short string it is the same incarnation: without sub rows there is nothing to tell
        apart. Requires: the value is short enough for a meta (see strings.assign).
        """
        old = self.metas.get(key) or self.db.cache.get(key) or self.presume(key) or self._load(key)
        if old.type == STRING and old.encoding == WHOLE:
            meta = Meta(old.row, STRING, WHOLE, old.version, expire_ms, value, b"")
            self.metas[key] = meta
            if old.expire_ms != expire_ms:
                self._reindex(key, old, meta)
        else:
            version = self.keyspace.versions.next()
            self._replace(key, old, Meta(old.row, STRING, WHOLE, version, expire_ms, value, b""))

    def presume(self, key: bytes) -> Meta | None:
        """What a meta that is not cached must be like, all but its value and version, if that is
        known without a look: it is a short string without an expire-time.

        Requires: whoever asks replaces it, and does not hand it on.
        """
        plain = self.keyspace.cache.plain
        if not plain or self.keyspace.measures:
            return None  # what is elsewhere may have become somebody else's meanwhile
        row = rows.meta_row(self.db.ns, key)
        if row not in plain:
            return None
        return Meta(row, STRING, WHOLE, self.keyspace.versions.next(), NO_EXPIRY, b"", b"")

    def update(self, key: bytes, meta: Meta, extra: Extra) -> None:
        """Another value or count for the live key whose meta `find` gave."""
        self.metas[key] = Meta(
            meta.row, meta.type, meta.encoding, meta.version, meta.expire_ms, extra, meta.sub
        )

    def save(self, key: bytes, meta: Meta) -> None:
        """Put the next state of a live key's meta, with another expire-time for example."""
        self._replace(key, self._current(key), meta)

    def drop(self, key: bytes, *, emptied: bool = False) -> bool:
        """Delete a key in O(1), whatever its size; says whether it was live.

        `emptied`: the caller has deleted all sub rows, so that there is nothing to reclaim.
        """
        old = self._current(key)
        if old.type == ABSENT:
            return False
        self._replace(key, old, metas.absent(old.row))
        if emptied:
            self.rows.pop(rows.garbage_row(self.db.ns, old.version, key), None)
        return old.expire_ms == NO_EXPIRY or old.expire_ms > self.horizon_ms

    def erase(self, key: bytes) -> bool:
        """As `drop`, for commands that delete: if the key was live, that is an event."""
        was_live = self.drop(key)
        if was_live:
            self.event("g", "del", key)
        return was_live

    def expires_after(self, expire_ms: int) -> bool:
        """Whether a key with that expire-time is still live."""
        return expire_ms == NO_EXPIRY or expire_ms > self.clock.now_ms

    def sibling(self, number: int) -> "Txn":
        """The Txn of another database of the same tenant, or of none, in the same unit of work."""
        index = self.db.index - self.db.number + number % SPAN
        if index == self.db.index:
            return self
        if self._opener is not None:
            return self._opener.sibling(number)
        if self.siblings is None:
            self.siblings = {}
        found = self.siblings.get(index)
        if found is None:
            found = self.siblings[index] = self._open_sibling(self.keyspace.open_database(index))
            found.in_unit = self.in_unit
            found._opener = self
        return found

    def _open_sibling(self, database: Database) -> "Txn":
        sibling = Txn(self.keyspace, database)
        sibling.clock = self.clock
        return sibling

    def follow(self, clock: Clock) -> None:
        """Write what comes from a master: keys expire by that clock, and `apply` is told of."""
        self.clock = clock
        self.follows = True

    @property
    def unit_live_change(self) -> int:
        """How many keys more there will be when the unit of work is applied."""
        root = self._opener or self
        siblings = root.siblings.values() if root.siblings else ()
        return root.live_change + sum([sibling.live_change for sibling in siblings])

    def makes(self, key: bytes) -> bool:
        """Whether a write to a key would add to the keys that are counted: expired ones still are.

        Asked past the budget, since it is no part of the command's work.
        """
        meta = self.metas.get(key) or self.db.cache.get(key) or self.db.load(self.store, key)
        return meta.type == ABSENT

    def is_overdue(self, key: bytes) -> bool:
        """Whether the key has expired, but is still stored."""
        meta = self._current(key)
        return bool(meta.type) and NO_EXPIRY != meta.expire_ms <= self.horizon_ms

    def _load(self, key: bytes) -> Meta:
        self._spend(1)
        meta = self.db.load(self.store, key)
        meta.used = -self.db.clock.now_ms
        return meta

    def _current(self, key: bytes) -> Meta:
        """The meta as stored, expired and absent ones included."""
        return self.metas.get(key) or self.db.cache.get(key) or self._load(key)

    def _replace(self, key: bytes, old: Meta, new: Meta) -> None:
        """Write a meta, with all that follows from it for the index, the queue and the counts."""
        self.metas[key] = new
        if old.expire_ms != new.expire_ms:
            self._reindex(key, old, new)
        if old.type != new.type or old.version != new.version:
            self.live_change += (new.type != ABSENT) - (old.type != ABSENT)
            if old.type == ABSENT:
                if self.db.filter is not None:
                    self.db.filter.add(new.row)
                if self.keyspace.notifies:
                    self.event("n", "new", key)
            if old.sub:
                if self.keyspace.tier.on and not old.format.plain:
                    self._note(old).gone = True
                self.recollections.ranks.drop(old.sub)
                if old.sub in self.begun:
                    self.begun.discard(old.sub)
                    self.shifts = [shift for shift in self.shifts if shift[0] != old.sub]
                if old.members is not None and len(old.members) <= self.budget:
                    self.budget -= len(old.members)
                    for member in old.members:
                        self.rows[old.sub + member] = None
                    if new.type == ABSENT:
                        new.version = old.version
                else:
                    self.db.queue_garbage(old.version)
                    self.rows[rows.garbage_row(self.db.ns, old.version, key)] = metas.obituary(old)

    def _reindex(self, key: bytes, old: Meta, new: Meta) -> None:
        ns = self.db.ns
        if old.expire_ms != NO_EXPIRY:
            self.rows[rows.expiry_row(ns, old.expire_ms, key)] = None
            self.expiring_change -= 1
            if old.expire_ms <= self.horizon_ms and old.type != ABSENT:
                self._expired(key, new)
        if new.expire_ms != NO_EXPIRY:
            self.rows[rows.expiry_row(ns, new.expire_ms, key)] = b""
            self.expiring_change += 1
            if self.is_on_its_own:
                self._note_time(key, new.expire_ms)

    @property
    def is_on_its_own(self) -> bool:
        """Whether a client of a replica writes, of which its master knows nothing."""
        return self.keyspace.own_times is not None and self.clock is self.keyspace.clock

    def _note_time(self, key: bytes, expire_ms: int) -> None:
        assert self.keyspace.own_times is not None
        self.keyspace.own_times.note(self.db.index, key, expire_ms)

    def _expired(self, key: bytes, new: Meta) -> None:
        """Another meta takes the place of one whose time is over."""
        keyspace = self.keyspace
        if keyspace.replicates:
            self.tell_gone((b"DEL", key))
        if keyspace.notifies:
            self.event("x", "expired", key)
            if new.type != ABSENT:
                self.event("n", "new", key)

    # rows

    def get(self, row: bytes) -> bytes | None:
        """The value of a sub row, or None."""
        if self.rows:
            value = self.rows.get(row, _UNKNOWN)
            if value is not _UNKNOWN:
                return value
        self.budget -= 1
        if self.budget < 0:
            raise TooLong
        return self.store.get_often(row)

    def put(self, row: bytes, value: bytes) -> None:
        """Write a sub row."""
        self.rows[row] = value

    def forget(self, sub: bytes) -> None:
        """Drop the writes to an incarnation that another has taken the place of."""
        for row in [row for row in self.rows if row.startswith(sub)]:
            del self.rows[row]
        self.shifts = [shift for shift in self.shifts if shift[0] != sub]
        self.begun.discard(sub)

    def overwrote(self, key: bytes, put: dict[bytes, bytes]) -> None:
        """Rows of members that were there were put, in a collection that is known as a whole."""
        known = self.overwritten.get(key)
        if known is None:
            self.overwritten[key] = put
        else:
            known.update(put)

    def delete(self, row: bytes) -> None:
        """Delete a sub row."""
        self.rows[row] = None

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = UNLIMITED
    ) -> Iterable[tuple[bytes, bytes]]:
        """The first `limit` rows of [start, stop), or of its end when `reverse`."""
        return self._bounded(self._scan(start, stop, reverse), limit)

    def scan_keys(
        self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = UNLIMITED
    ) -> Iterable[bytes]:
        """As `scan`, without the values: faster."""
        if self.rows and rows_between(self.rows, start, stop):
            return [row for row, _ in self.scan(start, stop, reverse=reverse, limit=limit)]
        self.keyspace.settle()
        return self._bounded(self.store.scan_keys(start, stop, reverse=reverse), limit)

    def _scan(self, start: bytes, stop: bytes, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        self.keyspace.settle()
        base = self.store.scan(start, stop, reverse=reverse)
        own = rows_between(self.rows, start, stop) if self.rows else None
        return merge(base, own, reverse=reverse) if own else base

    def _bounded(self, found: Iterator[Row], limit: int) -> Sequence[Row]:
        """At most `limit` rows as a list; raises `TooLong` if the budget ends before them."""
        taken = list(islice(found, min(limit, self.budget + 1)))
        self._spend(len(taken))
        return taken

    def _spend(self, count: int) -> None:
        self.budget -= count
        if self.budget < 0:
            raise TooLong

    def expect_work(self, count: int) -> None:
        """Say ahead how many rows will be touched: too many take a LongTxn at once."""
        if count > self.budget:
            raise TooLong

    def spend(self, count: int) -> None:
        """Work of about so many rows is done now: as `expect_work`, and it is remembered."""
        self._spend(count)

    def has_room(self, meta: Meta, size: int, most: int) -> bool:
        """Whether so many bytes of the key's rows can be kept until the commit, beside others.

        A Txn keeps little, since it does little.
        """
        return size <= most

    def looked_up(
        self, found: Iterable[Row], rows_of: Callable[[Row], list[bytes]]
    ) -> Iterable[Row]:
        """What was found; the rows of each will be read when it is met.

        A Txn has read all of it by then, and who misses a row foresees the others.
        """
        return found

    def frozen(self, key: bytes) -> "Txn":
        """Who reads the key's rows as they are now, after later writes too, if that can be.

        A Txn ends with its command, so there is no later.
        """
        return self

    # ranks

    def shifted(self, sub: bytes, place: bytes, change: int) -> None:
        """A place in a sorted set's order was taken (1), or left (-1)."""
        ranks = self.recollections.ranks
        if sub in ranks.small.orders or sub in ranks.directories or sub in self.begun:
            self.shifts.append((sub, place, change))

    def begin_order(self, sub: bytes) -> None:
        """A sorted set is made: nobody need look for what its order is."""
        self.begun.add(sub)
        self.shifts.append((sub, b"", 0))

    def lacks(self, sub: bytes, member: bytes) -> bool:
        """Whether a sorted set is known to have no such member, without a look at its rows."""
        order = self.recollections.ranks.small.orders.get(sub)
        if order is None or order.names is None or member in order.names:
            return False
        return not self.rows or sub + member not in self.rows

    def knows_order(self, meta: Meta) -> bool:
        """Whether the order of a set is known as a whole."""
        return meta.sub in self.recollections.ranks.small.orders

    def whole_order(self, meta: Meta) -> list[bytes] | None:
        """The `k#` rows of a small set, own writes included, if they are known; not to be changed.

        Requires: its order is in rows.
        """
        small = self.recollections.ranks.small
        sub = meta.sub
        order = small.find(sub)
        if order is None:
            if self.rows:
                return None
            order = small.learn(sub, meta.extra, self.store)  # type: ignore[arg-type]  # the count
            if order is None:
                return None
        if self.shifts:
            own = [(place, change) for one, place, change in self.shifts if one == sub]
            if own:
                return order.amended(own)
        return order.rows

    def ranking(self, meta: Meta) -> Directory | None:
        """The directory of a set's ranks, if one is right for what is read beneath own writes."""
        return self.recollections.ranks.find(meta.sub)

    def need_ranks(self, meta: Meta) -> None:
        """Without a directory of the set it takes a long walk: begin anew when there is one.

        Returns if there will be none.
        """
        if self._may_be_ranked(meta):
            raise Unranked(meta.sub, meta.extra)  # type: ignore[arg-type]  # the count

    def want_ranks(self, meta: Meta) -> None:
        """A directory of the set would be of use to the next ones."""
        ranks = self.recollections.ranks
        if meta.sub not in ranks.directories and self._may_be_ranked(meta):
            assert ranks.on_wanted is not None
            ranks.on_wanted(meta.sub, meta.extra)  # type: ignore[arg-type]  # the count

    def _may_be_ranked(self, meta: Meta) -> bool:
        """Whether the set can have a directory: it is large, and others know it too."""
        ranks = self.recollections.ranks
        count = meta.extra
        if ranks.on_wanted is None or type(count) is not int or not ranks.may_have(count):
            return False
        key = rows.key_of_sub_row(meta.sub, len(self.db.ns))
        known = self.db.cache.get(key) or self.db.load(self.store, key)
        return known.sub == meta.sub

    # the Redis tier

    def note(self, meta: Meta, member: bytes, raw: bytes | None = None) -> None:
        """A member of a key with entries in the tier was written; sorted sets give its score8."""
        if self.keyspace.tier.on:
            self._note(meta).members[member] = raw

    def _note(self, meta: Meta) -> KeyChange:
        if self.changes is None:
            self.changes = {}
        change = self.changes.get(meta.sub)
        if change is None:
            change = self.changes[meta.sub] = KeyChange(meta, len(self.db.ns))
        return change

    @property
    def may_ask(self) -> bool:
        """Whether the cache can be asked, by a LongTxn at least."""
        tier = self.keyspace.tier
        return tier.usable and tier.cache.ready and not self.in_unit

    def need_storage(self) -> None:
        """The command uses the Redis of sorted sets v3. A Txn cannot wait for it."""
        raise TooLong

    def ask_storage(self, requests: Sequence[CacheRequest]) -> list[Any]:
        """The replies of the Redis of sorted sets v3. A Txn cannot wait for them."""
        raise TooLong

    def fetch_remote(self, meta: Meta, members: Iterable[bytes]) -> None:
        """Know the scores of some members of a sorted set v3. A Txn cannot wait for them."""
        raise TooLong

    def open_remote(self, meta: Meta) -> Meta | None:
        """A sorted set v3 with its count; None if it is empty. A Txn cannot wait for it."""
        raise TooLong

    def ask(self, requests: Sequence[CacheRequest]) -> list[Any] | None:
        """The cache's replies, None for a bypass. A Txn cannot wait for them: see `Missing`."""
        asked = tuple(requests)
        found = self.answers.replies.get(asked) if self.answers is not None else None
        if found is None:
            raise Unanswered(self.keyspace.tier.cache, asked)
        return found

    def pause_if_due(self) -> None:
        """Called in long loops over what is in memory; a LongTxn pauses here when it is time."""

    # events

    def event(self, kind: str, name: str, key: bytes) -> None:
        """Something has happened to a key: told to others when the writes are applied, in order.

        `kind` is a letter of notify-keyspace-events. Hot paths ask `keyspace.notifies` before, to
        spare the call.
        """
        keyspace = self.keyspace
        if kind in keyspace.notifies and not self.is_quiet:
            root = self._opener or self
            if root.later is None:
                root.later = []
            root.later.append(partial(keyspace.on_event, self.db.index, kind, name, key))

    def removal(self, kind: str, name: str, key: bytes) -> None:
        """The event of a key from which something was taken; with its last element it is gone."""
        self.event(kind, name, key)
        meta = self.metas.get(key)
        if meta is not None and meta.type == ABSENT:
            self.event("g", "del", key)

    def missed(self, key: bytes) -> None:
        """A reader has found no such key."""
        if self.keyspace.notifies:
            self.event("m", "keymiss", key)

    # replicas

    def tell(self, words: Sequence[bytes]) -> None:
        """A command that gives replicas what was written; sent when the writes are applied."""
        root = self._opener or self
        if root.effects is None:
            root.effects = []
        root.effects.append((self.db.index, words))

    def tell_gone(self, words: Sequence[bytes]) -> None:
        """Something has expired: replicas are told before anything that rests on it.

        It is so whatever becomes of the command, so it is told at once.
        """
        self.keyspace.on_effects([(self.db.index, words)])

    # the end

    def apply(self) -> None:
        """Hand the writes to the commit of this turn."""
        db = self.db
        watchers = self.keyspace.watchers
        changed = self._changed_keys() if watchers.listeners else ()
        if self.metas:
            cache, dirty = db.cache, db.dirty
            for key, meta in self.metas.items():
                cached = cache.get(key)  # charged by now, if it was dirty when this Txn began
                if cached is None:
                    meta.charge = 0
                    db.arrivals.append(key)
                else:
                    meta.charge = cached.charge
                cache[key] = dirty[key] = meta
            self.metas.clear()
            self.keyspace.dirty = True
        if self.rows:
            self.store.pending.update(self.rows)
            self.rows.clear()
        if self.shifts:
            shifts, self.shifts = self.shifts, []
            self.begun.clear()
            self.recollections.ranks.apply(shifts)
        if self.overwritten:
            for key, put in self.overwritten.items():
                for member, value in put.items():
                    db.renew_member(key, member, value)
            self.overwritten.clear()
        if self.live_change or self.expiring_change:
            db.live += self.live_change
            db.expiring += self.expiring_change
            db.counts_changed = self.keyspace.dirty = True
            self.live_change = self.expiring_change = 0
        if self.siblings is not None:
            siblings, self.siblings = self.siblings, None
            for sibling in siblings.values():
                sibling.apply()
        if self.changes is not None:
            changes, self.changes = self.changes, None
            self.keyspace.tier.apply(changes)
        if self.effects is not None or self.follows:
            effects, self.effects = self.effects or [], None
            self.keyspace.on_effects(effects)
        if changed:
            watchers.emit(db.index, changed)
        if self.later is not None:
            self._do_later()

    def when_applied(self, action: Callable[[], None]) -> None:
        """Do something once the writes are applied; never if they are discarded."""
        root = self._opener or self
        if root.later is None:
            action()
        else:
            root.later.append(action)

    def _do_later(self) -> None:
        actions = self.later or []
        self.later = [] if self.in_unit else None
        for action in actions:
            action()

    def _changed_keys(self) -> list[bytes]:
        """The keys whose metas or sub rows this Txn has written, in order."""
        return list(dict.fromkeys([*self.metas, *self._keys_of(self.rows)]))

    def _keys_of(self, written: Overlay) -> Iterator[bytes]:
        ns_length = len(self.db.ns)
        path = b"?"
        for row in written:
            if row.startswith(path, 2):
                continue  # the rows of a key mostly follow each other
            if row[:2] in rows.SUB_PREFIXES:
                path = rows.path_of(row, ns_length)
                yield rows.key_of_sub_row(row, ns_length)

    def discard(self) -> None:
        """Forget the writes: the command failed, and a failed command changes nothing."""
        self.metas.clear()
        self.rows.clear()
        self.shifts.clear()
        self.begun.clear()
        self.overwritten.clear()
        self.live_change = self.expiring_change = 0
        self.later = self.changes = self.effects = None
        if self.siblings is not None:
            siblings, self.siblings = self.siblings, None
            for sibling in siblings.values():
                sibling.discard()

    @property
    def changed(self) -> bool:
        """Whether there is anything to apply."""
        return bool(self.metas or self.rows or self.siblings or self.later)
