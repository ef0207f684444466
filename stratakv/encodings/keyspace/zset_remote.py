"""Sorted sets v3: Redis is where the scores are; the store keeps the meta and the long members.

    Redis    store name -> index -> score
    "i#" | path | index -> member         long members only

A Txn shows such a set as if its scores were `s#` rows: what is asked for is fetched, what is
written waits here until the commit is through and then goes to Redis, which has to confirm it
before the client hears of it. So the store is always ahead: a crash in between leaves an `i#` row
that nobody refers to, never an index without its member.

A Txn that needs all members gets them as they were when it asked for their number. They come in
parts, and ZSCAN is sure to give those that nobody touches meanwhile; what others write meanwhile
they note with its old score in the Txns that are reading (`Tier.readers`).
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from stratakv.encodings.keyspace.tier_state import MEMBERS_AT_ONCE, CacheRequest, entries
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import TABLE, ZSET_REMOTE
from stratakv.encodings.layout.metas import ZSET, Meta
from stratakv.encodings.layout.rows import LONG_MEMBER, encode_score, index_of
from stratakv.errors import zset_store_away

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.long_txn import LongTxn

LOADED_AT_ONCE: Final = 5000
TRIES: Final = 3
_HEADS: Final = frozenset([bytes((one.type, one.version)) for one in TABLE if one.remote])
"""Key-type and encode-version of what has its values in Redis."""


def open_zset(txn: Txn, key: bytes) -> Meta | None:
    """The meta of a sorted set, with its count; None if there is none."""
    meta = txn.expect(key, ZSET)
    if meta is None or not ZSET_REMOTE[meta.encoding]:
        return meta
    return opened(txn, meta)


def look_up_zset(txn: Txn, key: bytes) -> Meta | None:
    """As `open_zset`, for a reader: see `Txn.look_up`."""
    meta = txn.look_up(key, ZSET)
    if meta is None or not ZSET_REMOTE[meta.encoding]:
        return meta
    return opened(txn, meta)


def opened(txn: Txn, meta: Meta) -> Meta | None:
    """The same meta; a sorted set v3 gets its count, and is none if Redis has nothing of it."""
    if not meta.format.remote or type(meta.extra) is int:
        return meta
    return txn.open_remote(meta)


def prefetch(txn: Txn, meta: Meta | None, members: Iterable[bytes]) -> None:
    """Fetch the scores of some members of a sorted set v3 together; nothing to do for others."""
    if meta is not None and ZSET_REMOTE[meta.encoding]:
        txn.fetch_remote(meta, members)


class Remote:
    """What a Txn knows of one sorted set v3, and what it has written to it."""

    def __init__(self, txn: "LongTxn", meta: Meta, *, is_new: bool) -> None:
        self._txn = txn
        self._meta = meta
        self.prefix = meta.sub
        self.name = txn.keyspace.tier.store_name(meta.sub, len(txn.db.ns))
        self._known: dict[bytes, bytes | None] = {}
        self.writes: dict[bytes, bytes | None] = {}
        self._complete = is_new
        self._sorted: list[bytes] | None = None
        self._counted: int | None = None
        self._before: dict[bytes, bytes | None] = {}
        """What others have overwritten since the members were counted."""

    def count(self) -> int:
        """How many members Redis has."""
        if self._counted is None:
            self._txn.keyspace.tier.readers.setdefault(self.name, []).append(self)
            self._counted = self._ask((b"ZCARD", self.name))
        return self._counted

    def close(self) -> None:
        """The command is over."""
        readers = self._txn.keyspace.tier.readers
        others = [reader for reader in readers.pop(self.name, ()) if reader is not self]
        if others:
            readers[self.name] = others

    def _ask(self, request: CacheRequest) -> Any:
        return self._txn.ask_storage((request,))[0]

    # rows

    def get(self, member: bytes) -> bytes | None:
        """The member's score8, or None."""
        if member in self.writes:
            return self.writes[member]
        if member not in self._known and not self._complete:
            score = self._ask((b"ZSCORE", self.name, index_of(member)))
            self._known[member] = None if score is None else encode_score(float(score))
        return self._known.get(member)

    def fetch(self, members: Iterable[bytes]) -> None:
        """Ask for several members at once."""
        if self._complete:
            return
        unknown = [member for member in members if member not in self._known]
        for at in range(0, len(unknown), MEMBERS_AT_ONCE):
            part = unknown[at : at + MEMBERS_AT_ONCE]
            asked = [(b"ZSCORE", self.name, index_of(member)) for member in part]
            for member, score in zip(part, self._txn.ask_storage(asked), strict=True):
                self._known[member] = None if score is None else encode_score(float(score))

    def put(self, member: bytes, raw: bytes | None) -> None:
        """Give a member a score, or none."""
        self.writes[member] = raw
        self._sorted = None

    def scan(self, start: bytes, stop: bytes, *, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """Rows as an `s#` scan gives them."""
        prefix = self._meta.sub
        names = self._names()
        for member in reversed(names) if reverse else names:
            row = prefix + member
            raw = self.get(member)
            if start <= row < stop and raw is not None:
                yield row, raw

    def _names(self) -> list[bytes]:
        if self._sorted is None:
            self._load()
            self._sorted = sorted(self._known.keys() | self.writes.keys())
        return self._sorted

    def _load(self) -> None:
        """Fetch all members, a part at a time."""
        for _ in range(TRIES):
            if self._complete:
                return
            found = self._scan_all()
            found.update(self._before)
            self._known = {member: raw for member, raw in found.items() if raw is not None}
            self._complete = self._counted is None or len(self._known) == self._counted
        if not self._complete:  # the slot of a cluster was moved, and ZSCAN lost its way
            raise zset_store_away("it changed while it was read")

    def _scan_all(self) -> dict[bytes, bytes | None]:
        found: dict[bytes, bytes | None] = {}
        cursor = b"0"
        while True:
            asked = (b"ZSCAN", self.name, cursor, b"COUNT", LOADED_AT_ONCE)
            cursor, flat = self._ask(asked)
            for index, score in zip(flat[::2], flat[1::2], strict=True):
                member = self._member(index)
                if member is not None:
                    found[member] = encode_score(float(score))
            self._txn.pause_if_due()
            if cursor == b"0":
                return found

    def _member(self, index: bytes) -> bytes | None:
        if not index[0]:
            return index[1:]
        row = self._meta.index + index
        return self._txn.get(row) or self._txn.store.get(row)

    # the end

    def prepare(self) -> bool:
        """Know the old scores of what is to be overwritten if somebody reads them.

        Says whether that took time: others may have begun to read meanwhile.
        """
        unknown = not self._complete and not self.writes.keys() <= self._known.keys()
        if not unknown or self.name not in self._txn.keyspace.tier.readers:
            return False
        self.fetch(self.writes)
        return True

    def tell_readers(self) -> None:
        """What is about to be overwritten stays as it is for those who are reading."""
        for reader in self._txn.keyspace.tier.readers.get(self.name, ()):
            if reader is not self:
                for member in self.writes:
                    reader._before.setdefault(member, self._known.get(member))

    def requests(self) -> Iterator[CacheRequest]:
        """What brings Redis up to date."""
        added = [(member, raw) for member, raw in self.writes.items() if raw is not None]
        removed = [index_of(member) for member, raw in self.writes.items() if raw is None]
        for at in range(0, len(added), MEMBERS_AT_ONCE):
            yield b"ZADD", self.name, *entries(self._meta, added[at : at + MEMBERS_AT_ONCE])
        for at in range(0, len(removed), MEMBERS_AT_ONCE):
            yield b"ZREM", self.name, *removed[at : at + MEMBERS_AT_ONCE]

    def leftovers(self) -> list[bytes]:
        """Rows of members that are gone once Redis has confirmed it."""
        return [
            self._meta.index + index_of(member)
            for member, raw in self.writes.items()
            if raw is None and len(member) >= LONG_MEMBER
        ]


def is_remote(raw: bytes) -> bool:
    """Whether a `g#` row's value speaks of a sorted set v3."""
    return raw in _HEADS


def is_remote_meta(raw: bytes) -> bool:
    """Whether a meta is that of a sorted set v3."""
    return raw[1::-1] in _HEADS


def sub_of_meta(ns: bytes, row: bytes, raw: bytes) -> bytes:
    """The prefix of the sub rows, out of a meta's row and value."""
    return rows.sub_prefix(row, len(ns), int.from_bytes(raw[2:10], "big"))


def sub_of_garbage(ns: bytes, row: bytes) -> bytes:
    """The prefix of a dead incarnation's sub rows."""
    version, key = rows.parse_garbage_row(ns, row)
    return rows.sub_prefix(rows.meta_row(ns, key), len(ns), version)
