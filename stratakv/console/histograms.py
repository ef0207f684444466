"""Percentiles of what is counted in buckets, and what was counted between two looks."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

Counts = dict[float, float]
"""How many were not above a bound; the greatest bound has them all."""


def merged(parts: Iterable[Mapping[float, float]]) -> Counts:
    """Several of them as one, bounds need not be the same."""
    density: dict[float, float] = {}
    for part in parts:
        below = 0.0
        for bound in sorted(part):
            density[bound] = density.get(bound, 0.0) + part[bound] - below
            below = part[bound]
    return _cumulated(density)


def since(now: Mapping[float, float], before: Mapping[float, float]) -> Counts:
    """What came between two looks; all of it if the counts began anew."""
    total, earlier = max(now.values(), default=0.0), max(before.values(), default=0.0)
    if total < earlier:
        return dict(now)
    bounds = sorted(before)
    fresh = {}
    for bound in sorted(now):
        at = bisect_left(bounds, bound)
        if at < len(bounds) and bounds[at] == bound:
            known = before[bound]
        else:
            known = before[bounds[at - 1]] if at else 0.0
        fresh[bound] = max(0.0, now[bound] - known)
    return fresh


def percentile(counts: Mapping[float, float], share: float) -> float | None:
    """The value below which that share is, None if nothing was counted."""
    total = max(counts.values(), default=0.0)
    if not total:
        return None
    wanted, below, low = total * share, 0.0, 0.0
    for bound in sorted(counts):
        if counts[bound] >= wanted and counts[bound] > below:
            if bound == float("inf"):
                return low
            return low + (bound - low) * (wanted - below) / (counts[bound] - below)
        below, low = counts[bound], bound
    return low


def _cumulated(density: Mapping[float, float]) -> Counts:
    total, counts = 0.0, {}
    for bound in sorted(density):
        total += density[bound]
        counts[bound] = total
    return counts
