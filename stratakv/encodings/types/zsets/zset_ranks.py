"""Positions in the order of a large sorted set, by its directory of ranks (see keyspace/ranks.py).

A directory tells of what was applied. A Txn that has written to the set itself adds its own shifts
before a bucket, and reads the rows of the bucket through itself, which has its writes in them.

All functions return None where there is no directory: then the caller walks. If that would be far,
a Txn begins anew when there is one (`Txn.need_ranks`), and a LongTxn has one made for others.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final

from stratakv.encodings.keyspace.rank_directory import Bucket, Directory
from stratakv.encodings.keyspace.ranks import LARGEST
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Txn
from stratakv.encodings.layout.formats import ZSET_TIERED
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import end_of
from stratakv.encodings.types.zsets import zset_order

PAGE: Final = 256
"""So few rows are served from those that are kept."""


def may_have(txn: Txn, meta: Meta) -> bool:
    """Whether a set is of a kind and size that have directories, and is not known as a whole."""
    count: int = meta.extra  # type: ignore[assignment]  # the count of a sorted set
    is_large = count >= txn.recollections.ranks.least
    return is_large and not ZSET_TIERED[meta.encoding] and not txn.knows_order(meta)


def rank(txn: Txn, meta: Meta, place: bytes) -> int | None:
    """How many members stand before one that is there. Requires: `may_have`."""
    if txn.ranking(meta) is None:
        near = txn.recollections.ranks.near
        row = meta.order + place
        if not txn.is_long:
            first = _count(zset_order.walk(txn, meta, stop=row, limit=near + 1))
            if first <= near:
                return first
            last = _count(zset_order.walk(txn, meta, row, reverse=True, limit=near + 1))
            if last <= near:
                count: int = meta.extra  # type: ignore[assignment]  # as above
                return count - last
        txn.need_ranks(meta)
        return None
    return _position(txn, meta, place)


def count_between(txn: Txn, meta: Meta, start: bytes, stop: bytes) -> int | None:
    """How many rows there are in [start, stop). Requires: `may_have`."""
    if start >= stop:
        return 0
    directory = txn.ranking(meta)
    if directory is None:
        near = txn.recollections.ranks.near
        if not txn.is_long:
            first = _count(zset_order.walk(txn, meta, start, stop, limit=near + 1))
            if first <= near:
                return first
        txn.need_ranks(meta)
        return None
    skip = len(meta.sub)
    low, high = start[skip:], stop[skip:]
    bucket = directory.find(low)
    is_one = bucket.start <= low and (bucket.stop is None or high <= bucket.stop)
    if is_one and (bucket.size <= LARGEST or txn.is_long):
        return _count(txn.scan_keys(start, stop))
    before = _within(txn, meta, directory, bucket, low)
    until = None if before is None else _position(txn, meta, high)
    return None if before is None or until is None else until - before


def rows_at(
    txn: Txn, meta: Meta, first: int, wanted: int, *, reverse: bool
) -> Iterable[bytes] | None:
    """The rows of `wanted` ranks from `first` on, which counts from the end when `reverse`.

    Requires: `may_have`; all these ranks exist, and the first is far from both ends.
    """
    txn.expect_work(wanted)
    if txn.ranking(meta) is None:
        txn.need_ranks(meta)
        return None
    if not reverse:
        return _ascending(txn, meta, first, wanted)
    count: int = meta.extra  # type: ignore[assignment]  # as above
    return _descending(txn, meta, b"", count - first, wanted)


def part(
    txn: Txn, meta: Meta, start: bytes, stop: bytes, *, reverse: bool, offset: int, limit: int
) -> Iterable[bytes] | None:
    """Up to `limit` rows of [start, stop) behind the first `offset`. Requires: `may_have`."""
    if txn.ranking(meta) is None:
        txn.need_ranks(meta)
        return None
    skip = len(meta.sub)
    edge = _position(txn, meta, stop[skip:] if reverse else start[skip:])
    if edge is None:
        return None
    count: int = meta.extra  # type: ignore[assignment]  # as above
    if reverse:
        return _descending(txn, meta, start, edge - offset, limit) if edge > offset else ()
    if edge + offset >= count:
        return ()
    return _ascending(txn, meta, edge + offset, limit, stop)


def row_at(txn: Txn, meta: Meta, place: int) -> bytes | None:
    """The row of a rank. Requires: `may_have`, and the rank exists."""
    found = None if txn.ranking(meta) is None else _ascending(txn, meta, place, 1)
    return None if found is None else next(iter(found), None)


def _ascending(
    txn: Txn, meta: Meta, first: int, wanted: int, stop: bytes | None = None
) -> Iterable[bytes] | None:
    """Rows from a rank on, up to a row. Requires: the rank exists."""
    directory = txn.ranking(meta)
    if directory is None:
        return None
    found = _bucket_at(directory, _own(txn, meta), first)
    if not txn.is_long and found.size > 2 * directory.width:
        if _read(txn, meta, directory, found) is None:
            txn.need_ranks(meta)
            return None
        directory = txn.ranking(meta)
        if directory is None:
            return None
        found = _bucket_at(directory, _own(txn, meta), first)
    elif wanted <= PAGE and not txn.rows and not txn.is_long:
        page = _page(txn, meta, directory, found, first, wanted)
        if page is not None:
            return page if stop is None else page[: bisect_left(page, stop)]
    order = meta.order
    low, high = order + found.start, end_of(order) if stop is None else stop
    if low >= high:
        return ()
    skip = first - found.before
    rows = txn.scan_keys(low, high, limit=skip + wanted)
    return rows[skip:] if isinstance(rows, list) else islice(rows, skip, None)


def _page(
    txn: Txn, meta: Meta, directory: Directory, begin: Bucket, first: int, wanted: int
) -> list[bytes] | None:
    """The rows of some ranks out of rows that are kept; None if they are not.

    If the first bucket was read lately, all that are needed are read, and kept.
    """
    kept = directory.kept(begin.start)
    if kept is None and not directory.is_asked_again(begin.start):
        return None
    buckets = directory.run(first, wanted)
    rows: list[bytes] = []
    for bucket in buckets:
        kept = directory.kept(bucket.start)
        if kept is None:
            break
        rows += kept
    else:
        return rows[first - begin.before : first - begin.before + wanted]
    if max([bucket.size for bucket in buckets]) > 2 * directory.width:
        return None
    order, last = meta.order, buckets[-1]
    stop = end_of(order) if last.stop is None else order + last.stop
    size = last.before + last.size - begin.before
    rows = list(txn.scan_keys(order + begin.start, stop, limit=size))
    for bucket in buckets:
        at = bucket.before - begin.before
        txn.recollections.ranks.keep(meta.sub, directory, bucket.start, rows[at : at + bucket.size])
    return rows[first - begin.before : first - begin.before + wanted]


def _descending(
    txn: Txn, meta: Meta, start: bytes, end: int, wanted: int
) -> Iterable[bytes] | None:
    """Rows from before a rank back, down to a row. Requires: the rank before is there."""
    if wanted <= ROW_BUDGET:
        first = max(0, end - wanted)
        found = _ascending(txn, meta, first, end - first)
        if found is None:
            return None
        rows = [*found]
        del rows[: bisect_left(rows, start)]
        rows.reverse()
        return rows
    found = _ascending(txn, meta, end - 1, 1)
    if found is None:
        return None
    edge = deque(found, maxlen=1).pop() + b"\0"
    return zset_order.walk(txn, meta, start, edge, reverse=True, limit=wanted)


def _position(txn: Txn, meta: Meta, place: bytes) -> int | None:
    """How many members stand before a place, which need not be taken."""
    directory = txn.ranking(meta)
    if directory is None:
        return None
    return _within(txn, meta, directory, directory.find(place), place)


def _within(txn: Txn, meta: Meta, directory: Directory, bucket: Bucket, place: bytes) -> int | None:
    """How many members stand before a place in a bucket."""
    before = bucket.before
    if txn.shifts:
        low = min(bucket.start, place)
        before += sum([change for own, change in _own(txn, meta) if own < low])
    if place <= bucket.start:
        return before
    row = meta.order + place
    if txn.rows:
        is_worth_reading = bucket.size > LARGEST
    else:
        kept = directory.kept(bucket.start)
        if kept is not None:
            return before + bisect_left(kept, row)
        is_grown = bucket.size > 2 * directory.width
        is_worth_reading = is_grown or directory.is_asked_again(bucket.start)
    if is_worth_reading and not txn.is_long:
        rows = _read(txn, meta, directory, bucket)
        if rows is None:
            txn.need_ranks(meta)
            return None
        return before + bisect_left(rows, row)
    return before + _count(txn.scan_keys(meta.order + bucket.start, row))


def _read(txn: Txn, meta: Meta, directory: Directory, bucket: Bucket) -> list[bytes] | None:
    """All rows of a bucket, which are kept; one that has grown is divided instead.

    None if it is too large.
    """
    if bucket.size > LARGEST:
        return None
    order = meta.order
    stop = end_of(order) if bucket.stop is None else order + bucket.stop
    rows = list(txn.scan_keys(order + bucket.start, stop))
    if txn.rows:
        return rows
    if bucket.size <= 2 * directory.width:
        txn.recollections.ranks.keep(meta.sub, directory, bucket.start, rows)
    else:
        places = [row[len(order) :] for row in rows]
        txn.recollections.ranks.divide(meta.sub, directory, bucket.start, places)
    return rows


def _own(txn: Txn, meta: Meta) -> list[tuple[bytes, int]]:
    """What this Txn has shifted in the set."""
    sub = meta.sub
    return [(place, change) for one, place, change in txn.shifts if one == sub]


def _bucket_at(directory: Directory, own: list[tuple[bytes, int]], rank: int) -> Bucket:
    """A bucket that begins at or before a rank, own shifts included: the last one, if it can be.

    Before the first bucket there may be own places; it begins at the first of these then.
    """
    if not own:
        return directory.at(rank)
    low, high = 0, directory.total - 1
    found = directory.at(0)
    first = min([found.start, *[place for place, change in own if change > 0]])
    found = found._replace(start=first)
    while low <= high:
        middle = (low + high) // 2
        bucket = directory.at(middle)
        before = bucket.before + sum([change for place, change in own if place < bucket.start])
        if before <= rank:
            if bucket.before:
                found = bucket._replace(before=before)
            low = bucket.before + bucket.size
        else:
            high = bucket.before - 1
    return found


def _count(found: Iterable[bytes]) -> int:
    return len(found) if isinstance(found, list) else sum(1 for _ in found)
