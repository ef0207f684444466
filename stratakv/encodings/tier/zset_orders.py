"""The order of sorted sets v1 to v3, which have no `k#` rows: asked of Redis, or sorted here.

    v1    Redis holds member -> score; `s#` rows hold the scores
    v2    Redis holds index -> score; `s#` rows hold the scores, `i#` rows the long members
    v3    as v2, but without `s#` rows: Redis is where the scores are

Everything here gives and takes rows as a v0 would have them in `k#`, so that the rest of the code
does not know the difference. An entry in Redis is complete or not there. When it is not there it is
rebuilt (see zset_rebuild.py); when Redis cannot be asked, the `s#` rows are sorted.

Members with equal scores are in the order of their indexes in v2 and v3: those of 15 bytes and more
come after the shorter ones, in the order of their hashes. Ranges by name are by name in any case.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.tier_state import CacheRequest
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import ZSET_INDEXED, ZSET_REMOTE
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import encode_score, end_of
from stratakv.encodings.tier.cached_reads import EntryAccess, open_entry
from stratakv.encodings.tier.zset_rebuild import rebuild

MOST: Final = 5000
"""Redis is asked for at most so many members at once; a longer range is read from the store."""
SORTED_AT_ONCE: Final = 5000
TRIES: Final = 2

Rows = Sequence[bytes]
Bound = tuple[float, bool]
"""A score, and whether the bound is open."""
NameBound = tuple[bytes | None, bool]


# ranges


def by_rank(txn: Txn, meta: Meta, start: int, end: int, *, reverse: bool) -> Rows:
    """Rows from rank `start` to `end`, both included; negative ones count from the end."""
    count = _known_size(meta)
    first, last = _resolve(start, count), _resolve(end, count)
    if last - first < MOST:
        verb = b"ZREVRANGE" if reverse else b"ZRANGE"
        found = _ask_rows(txn, meta, (verb, start, end, b"WITHSCORES"))
        if found is not None:
            return found
    ordered = _in_order(txn, meta)
    total = len(ordered)
    first, last = max(0, _resolve(start, total)), min(_resolve(end, total), total - 1)
    if first > last:
        return []
    if reverse:
        first, last = total - 1 - last, total - 1 - first
    part = ordered[first : last + 1]
    return part[::-1] if reverse else part


def by_score(
    txn: Txn, meta: Meta, low: Bound, high: Bound, *, reverse: bool, offset: int, limit: int
) -> Rows:
    """Rows with scores within the bounds, after the first `offset`."""
    wanted = min(limit, MOST + 1)
    ends = (_shown(high), _shown(low)) if reverse else (_shown(low), _shown(high))
    verb = b"ZREVRANGEBYSCORE" if reverse else b"ZRANGEBYSCORE"
    words = (verb, *ends, b"WITHSCORES", b"LIMIT", offset, wanted)
    found = _ask_rows(txn, meta, words)
    if found is not None and len(found) <= MOST:
        return found
    ordered = _in_order(txn, meta)
    at = len(meta.sub)
    start = bisect_left(ordered, _edge(low[0], after=low[1]), key=lambda row: row[at : at + 8])
    stop = bisect_left(ordered, _edge(high[0], after=not high[1]), key=lambda row: row[at : at + 8])
    return _cut(ordered, start, stop, reverse=reverse, offset=offset, limit=limit)


def by_name(
    txn: Txn, meta: Meta, low: NameBound, high: NameBound, *, reverse: bool, offset: int, limit: int
) -> Rows | None:
    """Rows with names within the bounds; None if Redis cannot tell."""
    if ZSET_REMOTE[meta.encoding] or not txn.may_ask or _has_long_members(txn, meta):
        return None
    ends = _name_bounds(meta, low, high)
    verb = b"ZREVRANGEBYLEX" if reverse else b"ZRANGEBYLEX"
    words = (verb, *(ends[::-1] if reverse else ends), b"LIMIT", offset, min(limit, MOST + 1))
    found = _ask(txn, meta, words)
    if found is None or len(found) > MOST:
        return None
    at = 1 if ZSET_INDEXED[meta.encoding] else 0
    return [_row_of(txn, meta, name[at:]) for name in found]


def count_scores(txn: Txn, meta: Meta, low: Bound, high: Bound) -> int | None:
    """How many members have scores within the bounds; None if Redis cannot tell."""
    found: int | None = _ask(txn, meta, (b"ZCOUNT", _shown(low), _shown(high)))
    return found


def count_names(txn: Txn, meta: Meta, low: NameBound, high: NameBound) -> int | None:
    """How many members have names within the bounds; None if Redis cannot tell."""
    if ZSET_REMOTE[meta.encoding] or not txn.may_ask or _has_long_members(txn, meta):
        return None
    found: int | None = _ask(txn, meta, (b"ZLEXCOUNT", *_name_bounds(meta, low, high)))
    return found


def rank(txn: Txn, meta: Meta, member: bytes, *, reverse: bool) -> int | None:
    """How many members come before this one, or after it when `reverse`; None if it is none."""
    verb = b"ZREVRANK" if reverse else b"ZRANK"
    name = rows.index_of(member) if ZSET_INDEXED[meta.encoding] else member
    entry = _open(txn, meta)
    if entry is not None:
        reply = _ask_through(entry, meta, (verb, name))
        if reply is not _LOST:
            found: int | None = reply
            return found
    raw = txn.get(meta.sub + member)
    if raw is None:
        return None
    ordered = _in_order(txn, meta)
    sort_key = _sort_key(meta)
    row = meta.order + raw + member
    place = bisect_left(ordered, sort_key(row), key=sort_key)
    return len(ordered) - 1 - place if reverse else place


def walk(
    txn: Txn, meta: Meta, start: bytes, stop: bytes | None, *, reverse: bool, limit: int
) -> Rows:
    """The set's order from an end; with bounds, by score and name."""
    if not start and stop is None:
        if limit <= MOST:
            return by_rank(txn, meta, 0, limit - 1, reverse=reverse) if limit else []
        ordered = _in_order(txn, meta)
        return ordered[::-1] if reverse else ordered
    ordered = _sorted_rows(txn, meta, _by_name)
    first = bisect_left(ordered, start)
    last = len(ordered) if stop is None else bisect_left(ordered, stop)
    return _cut(ordered, first, last, reverse=reverse, offset=0, limit=limit)


# asking


class _Lost:
    """Redis did not answer the question; None is an answer."""


_LOST: Final = _Lost()


def _ask(txn: Txn, meta: Meta, words: CacheRequest) -> Any:
    """Redis's answer about an entry; None for a bypass."""
    entry = _open(txn, meta)
    if entry is None:
        return None
    reply = _ask_through(entry, meta, words)
    return None if reply is _LOST else reply


def _open(txn: Txn, meta: Meta) -> EntryAccess | None:
    """The way to a set's entry: in the cache, or where v3 has it, unless it has own writes."""
    if not ZSET_REMOTE[meta.encoding]:
        return open_entry(txn, meta, "zset")
    assert isinstance(txn, LongTxn), "see open_zset"
    remote = txn.remotes[meta.sub]
    if remote.writes:
        return None
    return StorageAccess(txn, meta, remote.name)


class StorageAccess(EntryAccess):
    """The way to a sorted set v3: it raises where others bypass."""

    __slots__ = ()

    def __init__(self, txn: LongTxn, meta: Meta, name: bytes) -> None:
        super().__init__(txn, meta, txn.keyspace.tier.kinds["zset"], 0, txn.mark)
        self.name = name

    def ask_all(self, requests: Sequence[CacheRequest]) -> list[Any]:
        """The replies to several requests that are sent together."""
        return self.txn.ask_storage(requests)


def _ask_through(entry: EntryAccess, meta: Meta, words: CacheRequest) -> Any:
    """As `_ask`. The name comes second; ZCARD behind it tells a lost entry from an empty range."""
    if isinstance(entry, StorageAccess):
        return entry.ask((words[0], entry.name, *words[1:]))
    for _ in range(TRIES):
        replies = entry.ask_all(((words[0], entry.name, *words[1:]), (b"ZCARD", entry.name)))
        if replies is None:
            return _LOST
        if replies[1]:
            entry.kind.hits += 1
            return replies[0]
        entry.kind.misses += 1
        if not rebuild(entry, meta):
            return _LOST
        entry = EntryAccess(entry.txn, meta, entry.kind, entry.ttl_seconds, entry.mark)
    entry.kind.bypasses += 1
    return _LOST


def _ask_rows(txn: Txn, meta: Meta, words: CacheRequest) -> list[bytes] | None:
    """The rows of a reply with scores; None for a bypass."""
    flat = _ask(txn, meta, words)
    if flat is None:
        return None
    names: list[bytes] = flat[::2]
    members = _members_of(txn, meta, names) if ZSET_INDEXED[meta.encoding] else names
    if members is None:
        return None
    order = meta.order
    return [
        order + encode_score(float(score)) + member
        for member, score in zip(members, flat[1::2], strict=True)
    ]


# the members of indexes


def _members_of(txn: Txn, meta: Meta, indexes: Sequence[bytes]) -> list[bytes] | None:
    """The members of indexes: short ones say it themselves, long ones are looked up."""
    long = [index for index in indexes if index[0]]
    if not long:
        return [index[1:] for index in indexes]
    known = _look_up(txn, meta, long)
    if known is None:
        return None
    return [known[index] if index[0] else index[1:] for index in indexes]


def _look_up(txn: Txn, meta: Meta, indexes: Sequence[bytes]) -> dict[bytes, bytes] | None:
    """Long members by their indexes, from the cache and from `i#` rows."""
    entry = open_entry(txn, meta, "member")
    found: list[Any] | None = None
    if entry is not None:
        found = entry.ask((b"MGET", *(entry.name + index for index in indexes)))
    known = dict(zip(indexes, found or [None] * len(indexes), strict=True))
    for index, member in known.items():
        if member is not None:
            continue
        # the index may be newer than the snapshot
        stored = txn.get(meta.index + index) or txn.store.get(meta.index + index)
        if stored is None:
            return None
        known[index] = stored
        if found is not None and entry is not None:
            entry.fill((b"SET", entry.name + index, stored, b"EX", entry.ttl_seconds))
    if entry is not None and found is not None:
        hits = sum(member is not None for member in found)
        entry.kind.hits += hits
        entry.kind.misses += len(indexes) - hits
    return known


def _has_long_members(txn: Txn, meta: Meta) -> bool:
    if not ZSET_INDEXED[meta.encoding]:
        return False
    return any(True for _ in txn.scan_keys(meta.index, end_of(meta.index), limit=1))


# sorting


def _in_order(txn: Txn, meta: Meta) -> list[bytes]:
    """All rows in the set's order."""
    return _sorted_rows(txn, meta, _sort_key(meta))


def _sorted_rows(txn: Txn, meta: Meta, key: Callable[[bytes], bytes]) -> list[bytes]:
    """All rows, made of the `s#` rows; sorted in pieces, with pauses between them."""
    order, at = meta.order, len(meta.sub)
    txn.expect_work(_known_size(meta))
    found = (order + raw + row[at:] for row, raw in txn.scan(meta.sub, end_of(meta.sub)))
    pieces: list[list[bytes]] = []
    while piece := list(islice(found, SORTED_AT_ONCE)):
        piece.sort(key=key)
        pieces.append(piece)
        txn.pause_if_due()
    if len(pieces) < 2:
        return pieces[0] if pieces else []
    return _paced(txn, heapq.merge(*pieces, key=key))


def _paced(txn: Txn, merged: Iterable[bytes]) -> list[bytes]:
    ordered: list[bytes] = []
    for number, row in enumerate(merged):
        ordered.append(row)
        if not number % 256:
            txn.pause_if_due()
    return ordered


def _sort_key(meta: Meta) -> Callable[[bytes], bytes]:
    if not ZSET_INDEXED[meta.encoding]:
        return _by_name
    at = len(meta.sub) + 8
    return lambda row: row[:at] + rows.index_of(row[at:])


def _by_name(row: bytes) -> bytes:
    return row


def _cut(ordered: Rows, start: int, stop: int, *, reverse: bool, offset: int, limit: int) -> Rows:
    """A part of the order, taken from either end."""
    if reverse:
        high = stop - offset
        return ordered[max(start, high - min(limit, UNLIMITED)) : max(start, high)][::-1]
    low = start + offset
    return ordered[low : min(stop, low + limit)] if low < stop else []


# bounds


def _shown(bound: Bound) -> bytes:
    score, is_open = bound
    return b"(" * is_open + repr(score).encode()


def _edge(score: float, *, after: bool) -> bytes:
    raw = encode_score(score)
    return rows.U64.pack(rows.U64.unpack(raw)[0] + 1) if after else raw


def _name_bounds(meta: Meta, low: NameBound, high: NameBound) -> tuple[bytes, bytes]:
    prefix = b"\x00" if ZSET_INDEXED[meta.encoding] else b""
    return _shown_name(low, prefix, b"-"), _shown_name(high, prefix, b"+")


def _shown_name(bound: NameBound, prefix: bytes, endless: bytes) -> bytes:
    name, is_open = bound
    if name is None:
        return endless
    return (b"(" if is_open else b"[") + prefix + name


def _row_of(txn: Txn, meta: Meta, member: bytes) -> bytes:
    """The row of a member; of one that is newer than the snapshot only the name counts."""
    return meta.order + (txn.get(meta.sub + member) or encode_score(0.0)) + member


def _resolve(rank_: int, count: int) -> int:
    return rank_ + count if rank_ < 0 else rank_


def _known_size(meta: Meta) -> int:
    return meta.extra if type(meta.extra) is int else 0
