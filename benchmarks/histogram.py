"""A latency histogram of constant size with a relative error below 1 %.

Values are whole microseconds. Below 128 each has its own bucket; above, every power of two is
cut into 64 buckets. Histograms of several connections or processes are merged by adding counts.
"""

from collections import Counter
from collections.abc import Mapping

EXACT_BELOW = 128
HALF = 64


def bucket_of(value_us: int) -> int:
    """The bucket number of a value; numbers rise with values."""
    if value_us < EXACT_BELOW:
        return max(value_us, 0)
    shift = value_us.bit_length() - 7
    return (shift << 6) + (value_us >> shift)


def middle_of(bucket: int) -> float:
    """The value in the middle of a bucket."""
    if bucket < EXACT_BELOW:
        return float(bucket)
    shift = (bucket >> 6) - 1
    low = (HALF + (bucket & (HALF - 1))) << shift
    return low + ((1 << shift) - 1) / 2


class Histogram:
    """Counts of values by bucket, with the exact maximum."""

    __slots__ = ("counts", "max_us")

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.max_us = 0

    def record(self, value_us: int, times: int = 1) -> None:
        """Count a value `times` times."""
        self.counts[bucket_of(value_us)] += times
        if value_us > self.max_us:
            self.max_us = value_us

    def merge(self, other: "Histogram") -> None:
        """Add the counts of another histogram to this one."""
        self.counts.update(other.counts)
        self.max_us = max(self.max_us, other.max_us)

    @property
    def total(self) -> int:
        """How many values were recorded."""
        return self.counts.total()

    def percentile_us(self, percent: float) -> float:
        """The smallest recorded value that `percent` of all values do not exceed; 0 when empty."""
        wanted = self.total * percent / 100
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return min(middle_of(bucket), float(self.max_us))
        return 0.0

    def summary_ms(self) -> dict[str, float]:
        """The percentiles every report shows, in milliseconds."""
        return {
            "p50_ms": self.percentile_us(50) / 1000,
            "p99_ms": self.percentile_us(99) / 1000,
            "p999_ms": self.percentile_us(99.9) / 1000,
            "max_ms": self.max_us / 1000,
        }


def bucket_quantile(bounds: Mapping[float, float], share: float) -> float:
    """The quantile of a Prometheus histogram: cumulative counts by upper bound, interpolated.

    A quantile in the +Inf bucket answers the largest finite bound, as Prometheus does.
    """
    ordered = sorted(bounds.items())
    if not ordered or ordered[-1][1] <= 0:
        return 0.0
    wanted = ordered[-1][1] * share
    low, below = 0.0, 0.0
    for bound, count in ordered:
        if count >= wanted:
            if bound == float("inf"):
                return low
            inside = (wanted - below) / (count - below) if count > below else 1.0
            return low + (bound - low) * inside
        low, below = bound, count
    return low
