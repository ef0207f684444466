"""Walks over the order of a sorted set that do not wade through what was deleted.

LevelDB keeps deleted rows until it compacts, and a scan has to step over each of them. A queue
deletes at one end, again and again: after a hundred thousand ZPOPMIN the next one took 20 ms. So
the outermost live rows seen by earlier walks are remembered, and later walks begin there. A capped
ranking puts rows far outside, and deletes them at once: a few such outliers are remembered one by
one, so that the walk need not begin at the outermost of them.

What is remembered is worth something only together with the very Meta object it was seen under:
a meta that was never committed, was evicted or was read again is another object, and then the walk
begins at the prefix, as ever. Whoever changes `k#` rows calls `widen` or `keep`.

Small sets that are known as a whole (keyspace/small_orders.py) need none of this.

A LongTxn has metas of its own: its walks learn nothing, its writes widen nothing. So it gives a set
whose rows it changes another meta, even if the count stays: then nothing is known of the set.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from stratakv.encodings.keyspace.recollections import OrderLimits
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout.formats import ZSET_TIERED
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import end_of
from stratakv.encodings.tier import zset_orders

REMEMBERED: Final = 10_000
OUTLIERS: Final = 8
"""So many rows outside are remembered one by one; one more, and the limits are widened."""


def walk(
    txn: Txn,
    meta: Meta,
    start: bytes = b"",
    stop: bytes | None = None,
    *,
    reverse: bool = False,
    limit: int = UNLIMITED,
) -> Iterable[bytes]:
    """The first `limit` row keys of the set's order, or of its part in [start, stop)."""
    if ZSET_TIERED[meta.encoding]:
        return zset_orders.walk(txn, meta, start, stop, reverse=reverse, limit=limit)
    whole = txn.whole_order(meta)
    if whole is not None:
        return _cut(txn, whole, start, stop, reverse=reverse, limit=limit)
    known = _known(txn, meta)
    if known.outliers:
        return _walk_with_outliers(txn, known, start, stop, reverse=reverse, limit=limit)
    return _walk_inside(txn, known, start, stop, reverse=reverse, limit=limit)


def _cut(
    txn: Txn, whole: list[bytes], start: bytes, stop: bytes | None, *, reverse: bool, limit: int
) -> list[bytes]:
    """A part of an order that is known."""
    low = bisect_left(whole, start) if start else 0
    high = len(whole) if stop is None else bisect_left(whole, stop, low)
    if reverse:
        found = whole[max(low, high - limit) : high]
        found.reverse()
    else:
        found = whole[low : min(high, low + limit)]
    txn.spend(len(found))
    return found


def _walk_inside(
    txn: Txn, known: OrderLimits, start: bytes, stop: bytes | None, *, reverse: bool, limit: int
) -> Iterable[bytes]:
    """The rows in [low, high)."""
    low = max(start, known.low)
    high = known.high if stop is None else min(stop, known.high)
    if low >= high:
        return []
    found = txn.scan_keys(low, high, reverse=reverse, limit=limit)
    if isinstance(found, list) and not txn.rows and limit:
        _observe(txn, known, low, high, found, reverse=reverse)
    return found


def _walk_with_outliers(
    txn: Txn, known: OrderLimits, start: bytes, stop: bytes | None, *, reverse: bool, limit: int
) -> Iterable[bytes]:
    live = sorted((row for row in known.outliers if txn.get(row) is not None), reverse=reverse)
    if not txn.rows and not txn.is_long:
        known = known._replace(outliers=tuple(live))
        _remember(txn, known)
    wanted = [row for row in live if start <= row and (stop is None or row < stop)]
    first = [row for row in wanted if (row < known.low) is not reverse]
    if len(first) >= limit:
        return first[:limit]
    inside = _walk_inside(txn, known, start, stop, reverse=reverse, limit=limit - len(first))
    found = islice(chain(first, inside, wanted[len(first) :]), limit)
    return found if txn.is_long else list(found)


def _known(txn: Txn, meta: Meta) -> OrderLimits:
    known = txn.recollections.orders.get(meta.sub)
    if known is None or known.meta is not meta:
        return OrderLimits(meta, meta.order, end_of(meta.order))
    return known


def _observe(
    txn: Txn, known: OrderLimits, low: bytes, high: bytes, found: list[bytes], *, reverse: bool
) -> None:
    """Remember the outermost row that a walk from an end of the set has found.

    Requires: the Txn has no writes of its own, which might never be committed.
    """
    if not reverse and low == known.low:
        seen = known._replace(low=found[0] if found else high)
    elif reverse and high == known.high:
        seen = known._replace(high=found[0] + b"\0" if found else low)
    else:
        return
    if seen != known:
        _remember(txn, seen)


def _remember(txn: Txn, limits: OrderLimits) -> None:
    orders = txn.recollections.orders
    sub = limits.meta.sub
    if sub not in orders and len(orders) >= REMEMBERED:
        del orders[next(iter(orders))]
    orders[sub] = limits


def widen(txn: Txn, old: Meta, new: Meta, row: bytes) -> None:
    """A row was put; `new` is the meta from then on, which may be the same."""
    orders = txn.recollections.orders
    known = orders.get(old.sub)
    if known is None or known.meta is not old:
        return
    if known.low <= row < known.high or row in known.outliers:
        orders[old.sub] = known._replace(meta=new)
    elif len(known.outliers) < OUTLIERS:
        orders[old.sub] = known._replace(meta=new, outliers=(*known.outliers, row))
    else:
        rows = (*known.outliers, row)
        low, high = min(known.low, *rows), max(known.high, max(rows) + b"\0")
        orders[old.sub] = OrderLimits(new, low, high)


def keep(txn: Txn, old: Meta, new: Meta) -> None:
    """Rows were only deleted; `new` is the meta from then on."""
    orders = txn.recollections.orders
    known = orders.get(old.sub)
    if known is not None and known.meta is old:
        orders[old.sub] = known._replace(meta=new)
