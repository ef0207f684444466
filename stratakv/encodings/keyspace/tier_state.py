"""The Redis tier as the encodings use it: names of entries, what changed, and what may be believed.

    cache    "c#" | ns | u32 generation | u32 len(key) | "{" | key | "}" | u64 version [| member]
    store    "c#" | ns |                  u32 len(key) | "{" | key | "}" | u64 version

    entry of             Redis type   name ends with
    hget-cache           string       field              the empty field is not cached
    hgetall-cache        hash         version
    smembers-cache       set          version
    zset v1              zset         version            member -> score, complete or not there
    zset v2, v3          zset         version            index -> score, complete or not there
    zset v2, v3          string       index              the long member

Invariants
1. Store first, cache second: a change is sent when its commit is through, and before its reply
   leaves. Requests reach Redis in order, so whoever asks after that reply sees it done.
2. A reader fills an entry only if the key was not written since the reader's snapshot.
3. Whenever a change may have been lost, the generation rises before Redis is asked again. So what
   it still holds is never read. It is committed before it is used: a crash cannot bring it back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from stratakv.encodings.keyspace.zset_marks import judge
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import ZSET_INDEXED
from stratakv.encodings.layout.metas import HASH, SET, ZSET, Meta
from stratakv.errors import StoreUnavailable, zset_store_away
from stratakv.storage.cache.contract import Cache, NoCache, Word
from stratakv.storage.store import Done

WRITTEN_KEPT: Final = 100_000
NAMES_AT_ONCE: Final = 500
MEMBERS_AT_ONCE: Final = 1000
UPDATED_MEMBERS: Final = 5000
"""A change of more members drops a sorted set's entry instead of following it."""
DEFAULT_TTL_SECONDS: Final = 86_400
KINDS: Final = ("hget", "hgetall", "smembers", "zset", "member")

CacheRequest = tuple[Word, ...]

UPDATE: Final = b"""
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local added, done = tonumber(ARGV[1]), nil
if added > 0 then done = redis.pcall('ZADD', KEYS[1], unpack(ARGV, 2, 1 + added)) end
if type(done) ~= 'table' and #ARGV > 1 + added then
  done = redis.pcall('ZREM', KEYS[1], unpack(ARGV, 2 + added))
end
if type(done) == 'table' then redis.call('UNLINK', KEYS[1]) return 0 end
return 1
"""
"""Follow a change of a sorted set if its entry is there; without memory for it, drop the entry."""


class EntryKind:
    """What one kind of cache entry was good for."""

    __slots__ = ("bypasses", "errors", "fills", "hits", "misses", "rebuilds")

    def __init__(self) -> None:
        self.hits = self.misses = self.bypasses = self.errors = self.fills = self.rebuilds = 0

    def add(self, other: "EntryKind") -> None:
        """Count what another has counted."""
        for name in EntryKind.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class KeyChange:
    """What one unit of work, or several, did to one incarnation of a key.

    `members` has score8 or None (removed) for sorted sets; for hashes only the names count.
    """

    __slots__ = ("encoding", "gone", "members", "ns_length", "sub", "type")

    def __init__(self, meta: Meta, ns_length: int) -> None:
        self.type = meta.type
        self.encoding = meta.encoding
        self.sub = meta.sub
        self.ns_length = ns_length
        self.members: dict[bytes, bytes | None] = {}
        self.gone = False

    def follow(self, later: "KeyChange") -> None:
        """Add what was done after it."""
        self.members.update(later.members)
        self.gone = self.gone or later.gone


Changes = dict[bytes, KeyChange]
"""By the prefix of the incarnation's sub rows."""


class Slicing(Protocol):
    """Where long work runs in slices, between the turns of a server."""

    def start(self, work: Callable[[], None], /) -> None:
        """Run work from the next turn on."""

    def wait(self, subscribe: Callable[[Callable[[], None]], Any], /) -> None:
        """From within such work: sleep until the callback given to the callback is called."""


class Tier:
    """Both Redises, or none, and what has to be known to believe them."""

    def __init__(self, slices: Slicing | None = None) -> None:
        self.slices = slices
        """None where nobody can wait: in the offline tools, which use no tier."""
        self.cache: Cache = NoCache()
        self.storage: Cache = NoCache()
        self.storage_refusal = ""
        """Why the Redis of sorted sets v3 is not used although it is there."""
        self.storage_known = False
        """Whether it was looked at since it was connected."""
        self.token = b""
        """The mark of this store there (see zset_marks.py)."""
        self.claim: Callable[[Callable[[], None]], None] | None = None
        """Puts it there, while it is missing because it was never needed; calls back at the end."""
        self.on = False
        """Whether changes are followed at all."""
        self.usable = False
        """Whether the generation is committed: only then is the cache asked."""
        self.doubts = 0
        self.generation = 0
        self.kinds = {name: EntryKind() for name in KINDS}
        self.ttl_seconds = DEFAULT_TTL_SECONDS
        self.applied: Changes = {}
        """Changes whose commit is still to come."""
        self.rebuilding: dict[bytes, Any] = {}
        self.readers: dict[bytes, list[Any]] = {}
        """Who is reading a sorted set v3, by its store name (see zset_remote.py)."""
        self._sequence = 0
        self.committed = 0
        """Changes up to this number are in the store, and were sent."""
        self._written: dict[bytes, int] = {}
        self._floor = 0

    def add(self, tallies: Mapping[str, EntryKind]) -> None:
        """Count what a command has found in the cache."""
        for name, kind in tallies.items():
            self.kinds[name].add(kind)

    # what changed

    def apply(self, changes: Changes) -> None:
        """A unit of work has succeeded: its changes go out with the next commit."""
        self._sequence += 1
        for sub, change in changes.items():
            known = self.applied.get(sub)
            if known is None:
                self.applied[sub] = change
            else:
                known.follow(change)
            self._remember(sub)

    def _remember(self, sub: bytes) -> None:
        self._written.pop(sub, None)
        self._written[sub] = self._sequence
        if len(self._written) > WRITTEN_KEPT:
            self._floor = self._written.pop(next(iter(self._written)))

    def unchanged(self, sub: bytes, mark: int) -> bool:
        """Whether an incarnation is certainly not written since `mark` (see `committed`)."""
        return self._written.get(sub, self._floor) <= mark

    def after(self, done: Done) -> Done:
        """The end of the commit that has all changes so far: send them, then go on."""
        changes, self.applied = self.applied, {}
        sequence = self._sequence

        def finished(error: StoreUnavailable | None) -> None:
            self.committed = max(self.committed, sequence)
            if error is None:
                for change in changes.values():
                    self._send(change)
            else:
                self.doubt()  # whether a refused batch comes back to life at reopening is unknown
            done(error)

        return finished

    def _send(self, change: KeyChange) -> None:
        job = self.rebuilding.get(change.sub)
        if job is not None and not change.gone:
            job.later.append(change)
            return
        for words in self.updates(change):
            self.cache.tell(words)

    def doubt(self) -> None:
        """What the cache holds may be old."""
        self.usable = False
        self.doubts += 1

    def begin_generation(self, number: int) -> Callable[[], None]:
        """Leave all entries behind; call what it returns when the commit of the number is through.

        Snapshots from before do not fill: they may lack writes that nobody took down.
        """
        self.doubt()
        self.generation = number
        self._sequence += 1
        self._floor = begun = self._sequence
        doubts = self.doubts

        def committed() -> None:
            self.committed = max(self.committed, begun)
            self.usable = self.doubts == doubts

        return committed

    def updates(self, change: KeyChange) -> Iterator[CacheRequest]:
        """What brings the cache's entries up to date with a change."""
        name = self.name(change.sub, change.ns_length)
        if change.gone:
            yield b"UNLINK", name
        if change.type == HASH:
            names = [name, *(name + field for field in change.members if field)]
            for at in range(0, len(names), NAMES_AT_ONCE):
                yield b"UNLINK", *names[at : at + NAMES_AT_ONCE]
        elif change.type == SET or len(change.members) > UPDATED_MEMBERS:
            yield b"UNLINK", name
        elif change.type == ZSET and not change.gone:
            yield from follow(name, change)

    # the Redis of sorted sets v3

    @property
    def storage_usable(self) -> bool:
        """Whether it is there, and is the one that has our scores."""
        return self.storage.ready and self.storage_known and not self.storage_refusal

    @property
    def storage_reason(self) -> str:
        """Why it is not usable."""
        waiting = "it is being looked at" if self.storage.ready else "it is not connected"
        return self.storage_refusal or waiting

    def check_mark(self, mark: Any) -> None:
        """See a mark that was read behind other replies; raises if those are worth nothing."""
        refusal = judge((mark,), self.token)
        if refusal:
            self.storage_refusal = refusal
            raise zset_store_away(refusal)

    # names

    def name(self, sub: bytes, ns_length: int) -> bytes:
        """The cache entry of an incarnation, out of the prefix of its sub rows."""
        return _entry(sub, ns_length, rows.U32.pack(self.generation))

    def store_name(self, sub: bytes, ns_length: int) -> bytes:
        """The entry of a sorted set v3, which is no cache and has no generation."""
        return _entry(sub, ns_length, b"")


def _entry(sub: bytes, ns_length: int, generation: bytes) -> bytes:
    at = ns_length + 2
    key_at = at + 12
    return b"".join(
        (b"c#", sub[2:at], generation, sub[at + 8 : key_at], b"{", sub[key_at:-8], b"}", sub[-8:])
    )


def follow(name: bytes, change: KeyChange) -> Iterator[CacheRequest]:
    """The updates of a sorted set's entry."""
    names = rows.index_of if ZSET_INDEXED[change.encoding] else _itself
    members = list(change.members.items())
    for at in range(0, len(members), MEMBERS_AT_ONCE):
        added: list[Word] = []
        removed: list[Word] = []
        for member, raw in members[at : at + MEMBERS_AT_ONCE]:
            if raw is None:
                removed.append(names(member))
            else:
                added += (shown_score(raw), names(member))
        yield b"EVAL", UPDATE, 1, name, len(added), *added, *removed


def shown_score(raw: bytes) -> bytes:
    """A score8 as Redis reads it, exactly."""
    return repr(rows.decode_score(raw)).encode()


def entries(meta: Meta, members: Iterable[tuple[bytes, bytes]]) -> list[Word]:
    """The arguments of ZADD for members with their score8."""
    names = rows.index_of if ZSET_INDEXED[meta.encoding] else _itself
    words: list[Word] = []
    for member, raw in members:
        words += (shown_score(raw), names(member))
    return words


def _itself(member: bytes) -> bytes:
    return member
