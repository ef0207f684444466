"""Ranges of a sorted set: by rank, by score and by name. All of them are walks over `k#` rows.

In a large set the walk begins where the first row wanted is, and nothing is counted by walking, if
there is a directory of its ranks (see zset_ranks.py).

A score range is one range of rows. So is a name range when all scores are equal, which is what name
ranges are for. With different scores it is the run of members that Redis's walk finds: from the
first member within the lower bound on, as long as members are within the upper one.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, islice, takewhile
from typing import Final

from stratakv.encodings.keyspace.txn import ROW_BUDGET, UNLIMITED, Txn
from stratakv.encodings.keyspace.zset_remote import look_up_zset, open_zset
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import ZSET_TIERED
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import encode_score
from stratakv.encodings.tier import zset_orders
from stratakv.encodings.types.zsets import zset_ranks
from stratakv.encodings.types.zsets.zset_order import walk
from stratakv.encodings.types.zsets.zsets import (
    Scored,
    count_rows,
    members_of,
    remove_run,
    replace,
    scored,
    size,
)

INFINITY: Final = float("inf")
NOTHING: Final[tuple[bytes, ...]] = ()


class Range:
    """What a range can do, whatever it goes by.

    Ranges and queries are made for a command each and never changed; written out, since the class
    of a frozen dataclass takes a microsecond to make one.
    """

    def rows(
        self, txn: Txn, meta: Meta, *, reverse: bool, offset: int, limit: int
    ) -> Iterable[bytes]:
        """Up to `limit` of its `k#` rows after the first `offset`, backwards when `reverse`."""
        raise NotImplementedError

    def length(self, meta: Meta) -> int | None:
        """How many rows there are if that is known without a walk; else None."""
        raise NotImplementedError

    def count(self, txn: Txn, meta: Meta) -> int | None:
        """How many rows there are if that can be told without a walk over them."""
        raise NotImplementedError

    def tiered_count(self, txn: Txn, meta: Meta) -> int | None:
        """How many rows there are if Redis can tell, for versions whose order it has."""
        raise NotImplementedError


class RankRange(Range):
    """Ranks from `start` to `end`, both included; negative ones count from the end."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def count(self, txn: Txn, meta: Meta) -> int | None:
        """Known from the count."""
        return self.length(meta)

    def tiered_count(self, txn: Txn, meta: Meta) -> int | None:
        """Nobody counts ranks."""
        return None

    def length(self, meta: Meta) -> int:
        """Known from the count."""
        first, last = self._resolve(size(meta))
        return max(0, last - first + 1)

    def rows(
        self, txn: Txn, meta: Meta, *, reverse: bool, offset: int, limit: int
    ) -> Iterable[bytes]:
        """Walk from the end of the set that is nearer to the first row wanted."""
        if ZSET_TIERED[meta.encoding]:
            found = zset_orders.by_rank(txn, meta, self.start, self.end, reverse=reverse)
            return found[offset : offset + limit]
        count = size(meta)
        first, last = self._resolve(count)
        first += offset
        wanted = min(limit, last - first + 1)
        if wanted <= 0:
            return NOTHING
        if txn.knows_order(meta) and (whole := txn.whole_order(meta)) is not None:
            txn.spend(wanted)
            if reverse:
                return whole[count - first - wanted : count - first][::-1]
            return whole[first : first + wanted]
        distance = min(first, count - first - 1)
        if distance > txn.recollections.ranks.near and zset_ranks.may_have(txn, meta):
            ranked = zset_ranks.rows_at(txn, meta, first, wanted, reverse=reverse)
            if ranked is not None:
                return ranked
        txn.expect_work(wanted + distance)
        if first == 0:
            return walk(txn, meta, reverse=reverse, limit=wanted)
        if first + wanted <= count - first:
            passed = walk(txn, meta, reverse=reverse, limit=first + wanted)
            return islice(passed, first, None)
        edge = _last(walk(txn, meta, reverse=not reverse, limit=count - first))
        if reverse:
            return walk(txn, meta, stop=edge + b"\0", reverse=True, limit=wanted)
        return walk(txn, meta, edge, limit=wanted)

    def _resolve(self, count: int) -> tuple[int, int]:
        """(first, last) as ranks that exist; first > last if there are none."""
        first = self.start + count if self.start < 0 else self.start
        last = self.end + count if self.end < 0 else self.end
        return max(0, first), min(last, count - 1)


class ScoreRange(Range):
    """Scores from `low` to `high`; an open bound does not belong to the range."""

    def __init__(
        self, low: float, high: float, low_is_open: bool = False, high_is_open: bool = False
    ) -> None:
        self.low = low
        self.high = high
        self.low_is_open = low_is_open
        self.high_is_open = high_is_open

    @property
    def bounds(self) -> tuple[zset_orders.Bound, zset_orders.Bound]:
        """Both bounds, each with whether it is open."""
        return (self.low, self.low_is_open), (self.high, self.high_is_open)

    def tiered_count(self, txn: Txn, meta: Meta) -> int | None:
        """What Redis counts."""
        return zset_orders.count_scores(txn, meta, *self.bounds)

    def length(self, meta: Meta) -> int | None:
        """Known for all scores there are."""
        is_everything = (
            self.low == -INFINITY
            and self.high == INFINITY
            and not (self.low_is_open or self.high_is_open)
        )
        return size(meta) if is_everything else None

    def rows(
        self, txn: Txn, meta: Meta, *, reverse: bool, offset: int, limit: int
    ) -> Iterable[bytes]:
        """One range of rows."""
        if ZSET_TIERED[meta.encoding]:
            low, high = self.bounds
            return zset_orders.by_score(
                txn, meta, low, high, reverse=reverse, offset=offset, limit=limit
            )
        start, stop = self._edges(meta.order)
        return _part(txn, meta, start, stop, reverse=reverse, offset=offset, limit=limit)

    def count(self, txn: Txn, meta: Meta) -> int | None:
        """Between the positions of two edges."""
        return zset_ranks.count_between(txn, meta, *self._edges(meta.order))

    def _edges(self, order: bytes) -> tuple[bytes, bytes]:
        start = _edge(order, self.low, after=self.low_is_open)
        return start, _edge(order, self.high, after=not self.high_is_open)


class LexRange(Range):
    """Names from `low` to `high`; None has no bound on that side.

    One that `is_empty` begins at the greatest of all strings, or ends at the least.
    """

    def __init__(
        self,
        low: bytes | None,
        high: bytes | None,
        low_is_open: bool = False,
        high_is_open: bool = False,
        is_empty: bool = False,
    ) -> None:
        self.low = low
        self.high = high
        self.low_is_open = low_is_open
        self.high_is_open = high_is_open
        self.is_empty = is_empty

    @property
    def bounds(self) -> tuple[zset_orders.NameBound, zset_orders.NameBound]:
        """Both bounds, each with whether it is open."""
        return (self.low, self.low_is_open), (self.high, self.high_is_open)

    def tiered_count(self, txn: Txn, meta: Meta) -> int | None:
        """What Redis counts."""
        return 0 if self._holds_nothing() else zset_orders.count_names(txn, meta, *self.bounds)

    def length(self, meta: Meta) -> int | None:
        """Known for all names there are."""
        unbounded = self.low is None and self.high is None and not self.is_empty
        return size(meta) if unbounded else None

    def rows(
        self, txn: Txn, meta: Meta, *, reverse: bool, offset: int, limit: int
    ) -> Iterable[bytes]:
        """One range of rows if all scores are equal, else a walk."""
        if self._holds_nothing():
            return NOTHING
        if ZSET_TIERED[meta.encoding]:
            low, high = self.bounds
            found = zset_orders.by_name(
                txn, meta, low, high, reverse=reverse, offset=offset, limit=limit
            )
            if found is not None:
                return found
        at = len(meta.order)
        first, last = _ends(txn, meta)
        if first[at : at + 8] == last[at : at + 8]:
            start, stop = self._edges(first[: at + 8])
            return _part(txn, meta, start, stop, reverse=reverse, offset=offset, limit=limit)
        if not self._reaches_low(last[at + 8 :]) or not self._reaches_high(first[at + 8 :]):
            return NOTHING
        members = walk(txn, meta, meta.order, reverse=reverse)
        run = self._run(members, at + 8, offset, reverse=reverse)
        return islice(run, limit)

    def count(self, txn: Txn, meta: Meta) -> int | None:
        """Between the positions of two edges, if all scores are equal."""
        if self._holds_nothing():
            return 0
        at = len(meta.order) + 8
        first, last = _ends(txn, meta)
        if first[:at] != last[:at]:
            return None
        return zset_ranks.count_between(txn, meta, *self._edges(first[:at]))

    def _edges(self, prefix: bytes) -> tuple[bytes, bytes]:
        """The range within the rows of one score."""
        start = prefix if self.low is None else prefix + self.low + b"\0" * self.low_is_open
        if self.high is None:
            return start, rows.end_of(prefix)
        return start, prefix + self.high + b"\0" * (not self.high_is_open)

    def _run(
        self, found: Iterable[bytes], at: int, offset: int, *, reverse: bool
    ) -> Iterator[bytes]:
        """As Redis walks: what the offset skips need not be in the range, what follows must."""
        enters, stays = self._reaches_low, self._reaches_high
        if reverse:
            enters, stays = stays, enters
        entered = dropwhile(lambda row: not enters(row[at:]), found)
        first = next(entered, None)
        if first is None or not stays(first[at:]):
            return iter(())
        part = islice(chain((first,), entered), offset, None)
        return takewhile(lambda row: stays(row[at:]), part)

    def _holds_nothing(self) -> bool:
        if self.is_empty:
            return True
        if self.low is None or self.high is None:
            return False
        is_open = self.low_is_open or self.high_is_open
        return self.low > self.high or (self.low == self.high and is_open)

    def _reaches_low(self, member: bytes) -> bool:
        if self.low is None:
            return True
        return member > self.low if self.low_is_open else member >= self.low

    def _reaches_high(self, member: bytes) -> bool:
        if self.high is None:
            return True
        return member < self.high if self.high_is_open else member <= self.high


class Query:
    """A range, the direction to walk it in, and which part of the walk is wanted."""

    __slots__ = ("limit", "offset", "range", "reverse")

    def __init__(
        self, wanted: Range, reverse: bool = False, offset: int = 0, limit: int = UNLIMITED
    ) -> None:
        self.range = wanted
        self.reverse = reverse
        self.offset = offset
        self.limit = limit

    def rows(self, txn: Txn, meta: Meta) -> Iterable[bytes]:
        """The `k#` rows that the query finds, in its order."""
        if self.offset < 0 or self.limit == 0:
            return NOTHING
        return self.range.rows(
            txn, meta, reverse=self.reverse, offset=self.offset, limit=self.limit
        )

    def length(self, txn: Txn, meta: Meta) -> int:
        """How many rows it finds."""
        if self.offset < 0 or self.limit == 0:
            return 0
        known = self.range.length(meta)
        if known is None and zset_ranks.may_have(txn, meta):
            known = self.range.count(txn, meta)
        if known is None:
            return count_rows(self.rows(txn, meta))
        return max(0, min(self.limit, known - self.offset))


class Selection:
    """What a query found: so many rows, which may still have to be read."""

    __slots__ = ("found", "length", "meta")

    def __init__(self, meta: Meta, length: int, found: Iterable[bytes]) -> None:
        self.meta = meta
        self.length = length
        self.found = found

    def members(self) -> Iterator[bytes]:
        """The members. Call this or `scored` once."""
        return members_of(self.meta, self.found)

    def scored(self) -> Iterator[Scored]:
        """The members with their scores."""
        return scored(self.meta, self.found)


def select(txn: Txn, key: bytes, query: Query) -> Selection | None:
    """What a query finds; None if there is no such key. A long result is read as it is used."""
    meta = look_up_zset(txn, key)
    if meta is None:
        return None
    if txn.is_long and query.limit > ROW_BUDGET and not ZSET_TIERED[meta.encoding]:
        return Selection(meta, query.length(txn, meta), query.rows(txn, meta))
    found = list(query.rows(txn, meta))
    return Selection(meta, len(found), found)


def count(txn: Txn, key: bytes, wanted: Range) -> int:
    """How many members a range holds."""
    meta = look_up_zset(txn, key)
    if meta is None:
        return 0
    if ZSET_TIERED[meta.encoding] and wanted.length(meta) is None:
        found = wanted.tiered_count(txn, meta)
        if found is not None:
            return found
    return Query(wanted).length(txn, meta)


def remove(txn: Txn, key: bytes, wanted: Range, event: str) -> int:
    """Take out the members of a range; returns how many they were."""
    meta = open_zset(txn, key)
    if meta is None:
        return 0
    length = wanted.length(meta)
    if length == 0:
        return 0
    query = Query(wanted)
    if length == size(meta):
        txn.drop(key)
        txn.removal("z", event, key)
        return size(meta)
    members = list(scored(meta, query.rows(txn, meta)))
    if members:
        remove_run(txn, key, meta, members)
        txn.removal("z", event, key)
    return len(members)


def store(txn: Txn, destination: bytes, source: bytes, query: Query) -> int:
    """Make the destination a sorted set of what the query finds; returns its size."""
    meta = look_up_zset(txn, source)
    if meta is None:
        txn.erase(destination)
        return 0
    return replace(txn, destination, scored(meta, query.rows(txn, meta)), "zrangestore")


def _part(
    txn: Txn, meta: Meta, start: bytes, stop: bytes, *, reverse: bool, offset: int, limit: int
) -> Iterable[bytes]:
    """Up to `limit` row keys of [start, stop) after the first `offset`."""
    if start >= stop:
        return NOTHING
    if offset > txn.recollections.ranks.near and zset_ranks.may_have(txn, meta):
        ranked = zset_ranks.part(
            txn, meta, start, stop, reverse=reverse, offset=offset, limit=limit
        )
        if ranked is not None:
            return ranked
    reach = min(UNLIMITED, offset + limit)
    found = walk(txn, meta, start, stop, reverse=reverse, limit=reach)
    return islice(found, offset, None) if offset else found


def _edge(order: bytes, score: float, *, after: bool) -> bytes:
    """The first possible row of a score, or the first one after it."""
    raw = encode_score(score)
    if not after:
        return order + raw
    return order + rows.U64.pack(rows.U64.unpack(raw)[0] + 1)


def _ends(txn: Txn, meta: Meta) -> tuple[bytes, bytes]:
    """The first and the last row of a set."""
    first = _last(walk(txn, meta, meta.order, limit=1))
    return first, _last(walk(txn, meta, meta.order, reverse=True, limit=1))


def _last(found: Iterable[bytes]) -> bytes:
    """The last row of a scan. Requires: there is one."""
    return deque(found, maxlen=1).pop()
