"""Sorted sets v3: Redis is where the scores are; the store keeps the meta and the long members.

    Redis    store name -> index -> score
    "i#" | path | index -> member         long members only

A Txn shows such a set as if its scores were `s#` rows: what is asked for is fetched, what is
written waits here until the commit is through and then goes to Redis, which has to confirm it
before the client hears of it. So the store is always ahead: a crash in between leaves an `i#` row
that nobody refers to, never an index without its member.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from stratakv.encodings import rows
from stratakv.encodings.metas import ZSET, Meta
from stratakv.encodings.rows import LONG_MEMBER, encode_score, index_of
from stratakv.encodings.tier import MEMBERS_AT_ONCE, Request, entries
from stratakv.encodings.txn import Txn

if TYPE_CHECKING:
    from stratakv.encodings.patient import PatientTxn

LOADED_AT_ONCE: Final = 5000
REMOTE: Final = 3
REMOTE_HEAD: Final = bytes((ZSET, REMOTE))
"""Key-type and encode-version of a sorted set v3."""


def open_zset(txn: Txn, key: bytes) -> Meta | None:
    """The meta of a sorted set, with its count; None if there is none."""
    meta = txn.expect(key, ZSET)
    if meta is None or meta.encoding != REMOTE:
        return meta
    return opened(txn, meta)


def opened(txn: Txn, meta: Meta) -> Meta | None:
    """The same meta; a sorted set v3 gets its count, and is none if Redis has nothing of it."""
    if meta.type != ZSET or meta.encoding != REMOTE or type(meta.extra) is int:
        return meta
    return txn.open_remote(meta)


def prefetch(txn: Txn, meta: Meta | None, members: Iterable[bytes]) -> None:
    """Fetch the scores of some members of a sorted set v3 together; nothing to do for others."""
    if meta is not None and meta.encoding == REMOTE:
        txn.fetch_remote(meta, members)


class Remote:
    """What a Txn knows of one sorted set v3, and what it has written to it."""

    def __init__(self, txn: "PatientTxn", meta: Meta, *, is_new: bool) -> None:
        self._txn = txn
        self._meta = meta
        self.prefix = meta.sub
        self.name = txn.keyspace.tier.store_name(meta.sub, len(txn.db.ns))
        self._known: dict[bytes, bytes | None] = {}
        self.writes: dict[bytes, bytes | None] = {}
        self._complete = is_new
        self._sorted: list[bytes] | None = None

    def count(self) -> int:
        """How many members Redis has."""
        found: int = self._ask((b"ZCARD", self.name))
        return found

    def _ask(self, request: Request) -> Any:
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
        at = 0
        while not self._complete:
            words = (b"ZRANGE", self.name, at, at + LOADED_AT_ONCE - 1, b"WITHSCORES")
            flat = self._ask(words)
            for index, score in zip(flat[::2], flat[1::2], strict=True):
                member = self._member(index)
                if member is not None:
                    self._known[member] = encode_score(float(score))
            at += LOADED_AT_ONCE
            self._complete = len(flat) < 2 * LOADED_AT_ONCE
            self._txn.breathe()

    def _member(self, index: bytes) -> bytes | None:
        if not index[0]:
            return index[1:]
        row = self._meta.index + index
        return self._txn.get(row) or self._txn.store.get(row)

    # the end

    def requests(self) -> Iterator[Request]:
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
    return raw == REMOTE_HEAD


def sub_of_garbage(ns: bytes, row: bytes) -> bytes:
    """The prefix of a dead incarnation's sub rows."""
    version, key = rows.parse_garbage_row(ns, row)
    return rows.sub_prefix(rows.meta_row(ns, key), len(ns), version)
