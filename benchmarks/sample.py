"""What one measurement is: a flat mapping of metric name to number.

A name says its unit (`p99_ms`, `peak_rss_mb`). `METRICS` holds the facts about each name
that reports and targets need; a metric that is not in it is shown in the JSON alone.
"""

from dataclasses import dataclass

Sample = dict[str, float]


class Unavailable(Exception):
    """The server cannot run this case; the text is the reason shown next to "n/a"."""


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is titled and printed, and which direction is good."""

    title: str
    format: str
    higher_is_better: bool = False


METRICS = {
    "throughput": Metric("ops/s", "{:,.0f}", higher_is_better=True),
    "p50_ms": Metric("p50 ms", "{:.3f}"),
    "p99_ms": Metric("p99 ms", "{:.3f}"),
    "p999_ms": Metric("p99.9 ms", "{:.3f}"),
    "max_ms": Metric("max ms", "{:.1f}"),
    "cpu_s": Metric("CPU s", "{:.2f}"),
    "cpu_us_per_op": Metric("CPU µs/op", "{:.2f}"),
    "rss_mb": Metric("RSS MB", "{:,.0f}"),
    "peak_rss_mb": Metric("peak RSS MB", "{:,.0f}"),
    "anon_mb": Metric("of it anonymous MB", "{:,.0f}"),
    "startup_ms": Metric("first PING ms", "{:,.0f}"),
    "lag_p999_ms": Metric("loop lag p99.9 ms", "{:.2f}"),
    "disk_mb": Metric("disk MB", "{:,.0f}"),
    "disk_per_byte": Metric("disk per user byte", "{:.2f}"),
    "written_per_byte": Metric("written per user byte", "{:.2f}"),
}


def format_metric(name: str, value: float | None) -> str:
    """The value as a table cell; a dash where there is none."""
    return "-" if value is None else METRICS[name].format.format(value)
