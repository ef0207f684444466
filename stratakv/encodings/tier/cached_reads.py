"""Reads of hashes and sets through the Redis tier. None stands for a bypass: read the store.

Only collections of up to `WHOLE_MEMBERS` are cached whole: a larger reply would hold the loop.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.tier_state import CacheRequest, EntryKind
from stratakv.encodings.keyspace.txn import CacheAnswers, Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import Meta
from stratakv.storage.missing import TooLong

WHOLE_MEMBERS: Final = 5000
WHOLE_BYTES: Final = 1 << 20

Pair = tuple[bytes, bytes]


def fields(txn: Txn, meta: Meta, names: Sequence[bytes]) -> list[bytes | None] | None:
    """The values of some fields, from hget-cache, and from the store where it has none."""
    entry = open_entry(txn, meta, "hget")
    if entry is None or not all(names):
        return None
    found = entry.ask((b"MGET", *(entry.name + field for field in names)))
    if found is None:
        return None
    missing = [at for at, value in enumerate(found) if value is None]
    entry.kind.hits += len(names) - len(missing)
    if not missing:
        return list(found)
    entry.kind.misses += len(missing)
    if not entry.is_current:
        return None  # entries may be newer than the snapshot: they do not go together
    for at in missing:
        found[at] = value = entry.txn.get(meta.sub + names[at])
        if value is not None and len(value) <= WHOLE_BYTES:
            entry.fill((b"SET", entry.name + names[at], value, b"EX", entry.ttl_seconds))
    return list(found)


def pairs(txn: Txn, meta: Meta) -> list[Pair] | None:
    """All fields with their values in byte order, from hgetall-cache."""
    entry = _open_whole(txn, meta, "hgetall")
    if entry is None:
        return None
    flat = entry.ask((b"HGETALL", entry.name))
    if flat is None:
        return None
    if flat:
        entry.kind.hits += 1
        return sorted(zip(flat[::2], flat[1::2], strict=True))
    entry.kind.misses += 1
    found = _read_whole(entry, meta)
    if found:
        entry.fill_whole(b"HSET", [word for pair in found for word in pair])
    return found


def members(txn: Txn, meta: Meta) -> list[bytes] | None:
    """All members in byte order, from smembers-cache."""
    entry = _open_whole(txn, meta, "smembers")
    if entry is None:
        return None
    reply = entry.ask((b"SMEMBERS", entry.name))
    if reply is None:
        return None
    if reply:
        entry.kind.hits += 1
        return sorted(reply)
    entry.kind.misses += 1
    found = _read_whole(entry, meta)
    if found is None:
        return None
    names = [member for member, _ in found]
    if names:
        entry.fill_whole(b"SADD", names)
    return names


class EntryAccess:
    """The way to the entries of one key, for one command."""

    __slots__ = ("kind", "mark", "meta", "name", "ttl_seconds", "txn")

    def __init__(self, txn: Txn, meta: Meta, kind: EntryKind, ttl_seconds: int, mark: int) -> None:
        self.txn = txn
        self.mark = mark
        self.meta = meta
        self.kind = kind
        self.ttl_seconds = ttl_seconds
        self.name = txn.keyspace.tier.name(meta.sub, len(txn.db.ns))

    def ask(self, request: CacheRequest) -> Any:
        """The reply; None for a bypass, which is counted."""
        replies = self.ask_all((request,))
        return None if replies is None else replies[0]

    def ask_all(self, requests: Sequence[CacheRequest]) -> list[Any] | None:
        """The replies to several requests that are sent together."""
        replies = self.txn.ask(requests)
        if replies is None:
            self.kind.bypasses += 1
        elif any(isinstance(reply, Exception) for reply in replies):
            self.kind.errors += 1
        else:
            return replies
        return None

    @property
    def is_current(self) -> bool:
        """Whether what the Txn sees is the key's newest state."""
        return self.txn.keyspace.tier.unchanged(self.meta.sub, self.mark)

    def fill(self, *requests: CacheRequest) -> None:
        """Put entries into the cache, unless the key was written since the snapshot."""
        if self.txn.may_ask and self.is_current:
            self.kind.fills += 1
            for request in requests:
                self.txn.keyspace.tier.cache.tell(request, _ignore)

    def fill_whole(self, verb: bytes, words: list[bytes]) -> None:
        """Put a whole collection into the cache, unless it is too large."""
        if sum(map(len, words)) <= WHOLE_BYTES:
            self.fill((verb, self.name, *words), (b"EXPIRE", self.name, self.ttl_seconds))


def open_entry(txn: Txn, meta: Meta, kind: str) -> EntryAccess | None:
    """The way to a key's entries; None if they are not to be asked.

    A plain Txn sees the newest state. It may ask only if all of that is in the store, and go on
    with the replies only if it still is the same; else it takes a LongTxn.
    """
    keyspace = txn.keyspace
    tier = keyspace.tier
    if not txn.may_ask:
        tier.kinds[kind].bypasses += tier.on
        return None
    ttl = tier.ttl_seconds
    if keyspace.policies:
        policy = keyspace.policy(txn.db, rows.key_of_sub_row(meta.sub, len(txn.db.ns)))
        if policy is not None:
            if not policy.cache:
                return None
            ttl = policy.cache_ttl_seconds or ttl
    if isinstance(txn, LongTxn):
        return EntryAccess(txn, meta, tier.kinds[kind], ttl, txn.mark)
    answers = txn.answers or CacheAnswers(tier.committed)
    if not tier.unchanged(meta.sub, answers.mark):
        raise TooLong
    kinds = answers.tallies
    return EntryAccess(txn, meta, kinds.setdefault(kind, EntryKind()), ttl, answers.mark)


def _open_whole(txn: Txn, meta: Meta, kind: str) -> EntryAccess | None:
    if type(meta.extra) is int and meta.extra > WHOLE_MEMBERS:
        return None
    return open_entry(txn, meta, kind)


def _read_whole(entry: EntryAccess, meta: Meta) -> list[Pair] | None:
    """The rows of a collection as (member, value); None if there are too many."""
    skip = len(meta.sub)
    found = entry.txn.scan(meta.sub, rows.end_of(meta.sub))
    read = [(row[skip:], value) for row, value in islice(found, WHOLE_MEMBERS + 1)]
    return read if len(read) <= WHOLE_MEMBERS else None


def _ignore(reply: Any) -> None:
    """A fill that does not succeed is a miss of the next reader."""
