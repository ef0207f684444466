"""Sorted sets as maps: searches over score ranges. See geo.py for the scores."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Final

from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.keyspace.zset_remote import open_zset
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.geo import geo
from stratakv.encodings.types.geo.geo import Place, Shape
from stratakv.encodings.types.zsets import zsets
from stratakv.encodings.types.zsets.zset_ranges import ScoreRange

_WORK_PER_PLACE: Final = 4
"""Reading a place costs as much as so many rows: it is decoded, and its distance is computed."""

_BREATHE_EVERY: Final = 64
_SORT_AT_ONCE: Final = 2000


Found = tuple[float, bytes, float]
"""Metres from the centre, member, score. A plain tuple: the garbage collector stops looking at
those, where it took 20 ms to walk over the named ones of a search that found 100,000."""


@dataclass(frozen=True, slots=True)
class Search:
    """A shape, and which of the members within it are wanted, in which order.

    `order` is 1 for the nearest first, -1 for the furthest, 0 for none. `any_will_do`: the first
    `count` that are found, and not the nearest.
    """

    shape: Shape
    order: int = 0
    count: int = UNLIMITED
    any_will_do: bool = False


def search(txn: Txn, meta: Meta, wanted: Search) -> list[Found]:
    """The members that a search finds."""
    found = _within(txn, meta, wanted.shape)
    if wanted.any_will_do:
        found = islice(found, wanted.count)
    places = list(found)
    if not wanted.order:
        return places
    return list(islice(_sorted(txn, places, nearest_first=wanted.order > 0), wanted.count))


def store(
    txn: Txn, key: bytes, meta: Meta | None, wanted: Search, event: str, *, by_distance: bool
) -> int:
    """Make the key a sorted set of what a search finds; returns its size.

    Scores stay, or are the distances in the shape's unit. `event` is what that is called.
    """
    found = [] if meta is None else search(txn, meta, wanted)
    unit_m = wanted.shape.unit_m
    pairs = (
        (member, distance_m / unit_m if by_distance else score)
        for distance_m, member, score in found
    )
    return zsets.replace(txn, key, pairs, event)


def places(txn: Txn, key: bytes, members: Sequence[bytes]) -> list[Place | None]:
    """Where each member is, None where there is no such member."""
    scores = zsets.scores(txn, key, members)
    return [None if score is None else geo.decode(score) for score in scores]


def open_map(txn: Txn, key: bytes) -> Meta | None:
    """The sorted set of a search, if there is one."""
    return open_zset(txn, key)


def _within(txn: Txn, meta: Meta, shape: Shape) -> Iterator[Found]:
    for low, high in geo.score_ranges(shape):
        area = ScoreRange(low, high, high_is_open=True)
        rows = area.rows(txn, meta, reverse=False, offset=0, limit=UNLIMITED)
        if isinstance(rows, list):
            txn.expect_work(len(rows) * _WORK_PER_PLACE)
        for number, (member, score) in enumerate(zsets.scored(meta, rows)):
            if not number % _BREATHE_EVERY:
                txn.pause_if_due()
            distance_m = shape.distance_within(geo.decode(score))
            if distance_m is not None:
                yield distance_m, member, score


def _sorted(txn: Txn, found: list[Found], *, nearest_first: bool) -> Iterator[Found]:
    """By distance; members at the same distance stay in the order in which they were found."""
    distance = itemgetter(0)
    parts = []
    for at in range(0, len(found), _SORT_AT_ONCE):
        part = found[at : at + _SORT_AT_ONCE]
        part.sort(key=distance, reverse=not nearest_first)
        parts.append(part)
        txn.pause_if_due()
    merged = heapq.merge(*parts, key=distance, reverse=not nearest_first)
    for number, one in enumerate(merged):
        if not number % _BREATHE_EVERY:
            txn.pause_if_due()
        yield one
