"""Union, intersection and difference of sorted sets and sets; a set's members have the score 1.

Both kinds keep their members as `s#` rows in the order of their names, so a union is one merge of
its sources, however large they are.
"""

import heapq
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby, islice
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import SET, ZSET, Meta
from stratakv.encodings.layout.rows import decode_score
from stratakv.encodings.types.zsets.zsets import Scored, count_rows
from stratakv.errors import wrong_type

SORTED_AT_ONCE: Final = 5000
"""Members sorted in one go: about a millisecond."""

Aggregate = Callable[[float, float], float]
"""(score so far, the next one) -> score."""


def aggregate_sum(total: float, score: float) -> float:
    """The sum; infinities that cancel each other out give 0."""
    total += score
    return total if total == total else 0.0


def aggregate_min(least: float, score: float) -> float:
    """The lesser; a score that is no number never is."""
    return score if score < least else least


def aggregate_max(greatest: float, score: float) -> float:
    """The greater; a score that is no number never is."""
    return score if score > greatest else greatest


@dataclass(frozen=True, slots=True)
class Source:
    """One input: a sorted set, a set, or nothing."""

    meta: Meta | None
    length: int
    weight: float = 1.0

    def scored(self, txn: Txn) -> Iterator[Scored]:
        """The members in the order of their names, with their own scores."""
        meta = self.meta
        if meta is None:
            return iter(())
        at = len(meta.sub)
        found = txn.scan(meta.sub, rows.end_of(meta.sub))
        return ((row[at:], decode_score(raw) if raw else 1.0) for row, raw in found)

    def find(self, txn: Txn, member: bytes) -> float | None:
        """A member's own score, or None."""
        raw = None if self.meta is None else txn.get(self.meta.sub + member)
        if raw is None:
            return None
        return decode_score(raw) if raw else 1.0

    def weigh(self, score: float) -> float:
        """The score as it enters the result; zero times infinity is 0."""
        weighted = self.weight * score
        return weighted if weighted == weighted else 0.0


def open_sources(txn: Txn, keys: Sequence[bytes]) -> list[Source]:
    """The inputs behind the keys; raises WRONGTYPE for what is neither a sorted set nor a set."""
    return [_open(txn, key) for key in keys]


def weighted(sources: Sequence[Source], weights: Sequence[float]) -> list[Source]:
    """The same inputs with weights."""
    return [
        Source(source.meta, source.length, weight)
        for source, weight in zip(sources, weights, strict=True)
    ]


def union(txn: Txn, sources: Sequence[Source], aggregate: Aggregate) -> Iterator[Scored]:
    """The members of any source, in the order of their names."""
    smallest_first = sorted(sources, key=_length)
    txn.expect_work(sum(map(_length, sources)))
    walks = [_numbered(source.scored(txn), number) for number, source in enumerate(smallest_first)]
    for member, same in groupby(heapq.merge(*walks), operator.itemgetter(0)):
        scores = (smallest_first[number].weigh(score) for _, number, score in same)
        yield member, reduce(aggregate, scores)


def intersection(txn: Txn, sources: Sequence[Source], aggregate: Aggregate) -> Iterator[Scored]:
    """The members of all sources, in the order of their names."""
    first, *others = sorted(sources, key=_length)
    txn.expect_work(first.length)
    for member, score in txn.looked_up(first.scored(txn), partial(_rows_in, others)):
        total = first.weigh(score)
        for other in others:
            found = other.find(txn, member)
            if found is None:
                break
            total = aggregate(total, found * other.weight)
        else:
            yield member, total


def _rows_in(others: Sequence[Source], scored: Scored) -> list[bytes]:
    """Where a member stands in other sources."""
    return [other.meta.sub + scored[0] for other in others if other.meta is not None]


def intersection_size(txn: Txn, sources: Sequence[Source], limit: int) -> int:
    """How many members an intersection has; counting stops at the limit, 0 for none."""
    members = intersection(txn, sources, aggregate_sum)
    return sum(1 for _ in islice(members, limit or None))


def difference(txn: Txn, sources: Sequence[Source], _: Aggregate) -> Iterator[Scored]:
    """The members of the first source that no other one has; there is nothing to aggregate."""
    first, *others = sources
    txn.expect_work(first.length)
    for member, score in txn.looked_up(first.scored(txn), partial(_rows_in, others)):
        if all(other.find(txn, member) is None for other in others):
            yield member, score


def in_order(txn: Txn, members: Iterable[Scored]) -> tuple[int, Iterator[Scored]]:
    """How many members there are, and the members by score, then by name."""
    sorted_runs: list[list[tuple[float, bytes]]] = []
    run: list[tuple[float, bytes]] = []
    for member, score in members:
        run.append((score, member))
        if len(run) == SORTED_AT_ONCE:
            run.sort()
            sorted_runs.append(run)
            run = []
            txn.pause_if_due()
    run.sort()
    sorted_runs.append(run)
    merged = heapq.merge(*sorted_runs)
    return sum(map(len, sorted_runs)), ((member, score) for score, member in merged)


def _open(txn: Txn, key: bytes) -> Source:
    meta = txn.read(key)
    if meta is not None and meta.type not in (ZSET, SET):
        raise wrong_type()
    meta = None if meta is None else opened(txn, meta)
    if meta is None:
        return Source(None, 0)
    if isinstance(meta.extra, int):
        return Source(meta, meta.extra)
    return Source(meta, count_rows(txn.scan_keys(meta.sub, rows.end_of(meta.sub))))


def _length(source: Source) -> int:
    return source.length


def _numbered(members: Iterable[Scored], number: int) -> Iterator[tuple[bytes, int, float]]:
    return ((member, number, score) for member, score in members)
