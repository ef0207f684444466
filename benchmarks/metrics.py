"""Reads a number, or a histogram, from a server's Prometheus page."""

import math
import re
import urllib.error
import urllib.request
from collections.abc import Callable

from benchmarks.histogram import bucket_quantile
from benchmarks.servers import Server

LINE = re.compile(r"^(?P<name>[\w:]+)(?:\{(?P<labels>[^}]*)\})?\s+(?P<value>\S+)", re.MULTILINE)
BOUND = re.compile(r'le="([^"]+)"')


def page(server: Server) -> str:
    """The text of /metrics; empty when the server has no such page."""
    if server.http_port is None:
        return ""
    url = f"http://{server.host}:{server.http_port}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            text: str = reply.read().decode()
            return text
    except (urllib.error.URLError, TimeoutError):
        return ""


def gauge(text: str, name: str) -> float | None:
    """The highest value of a metric over its labels."""
    values = [float(match["value"]) for match in LINE.finditer(text) if match["name"] == name]
    return max(values, default=None)


def buckets(text: str, name: str) -> dict[float, float]:
    """Cumulative counts by upper bound, summed over labels; empty when it is no histogram."""
    found: dict[float, float] = {}
    for match in LINE.finditer(text):
        bound = BOUND.search(match["labels"] or "")
        if match["name"] == f"{name}_bucket" and bound:
            upper = float(bound[1])
            found[upper] = found.get(upper, 0.0) + float(match["value"])
    return found


def growth(before: dict[float, float], after: dict[float, float]) -> dict[float, float]:
    """What a histogram counted between two readings."""
    return {bound: count - before.get(bound, 0.0) for bound, count in after.items()}


class LagMeter:
    """Follows the event-loop lag on a metrics page, whether it is a histogram or a gauge.

    A histogram misses nothing between two readings; a gauge shows only the moments it was read.
    """

    def __init__(self, read_page: Callable[[], str], name: str) -> None:
        self._read_page = read_page
        self._name = name
        self._first = self._last = buckets(read_page(), name)
        self._gauged_ms: list[float] = []

    def sample_ms(self) -> float | None:
        """p99.9 since the reading before, or the gauge's value; None when there is no metric."""
        text = self._read_page()
        now = buckets(text, self._name)
        if now:
            grown, self._last = growth(self._last, now), now
            return bucket_quantile(grown, 0.999) * 1000
        value_s = gauge(text, self._name)
        if value_s is None:
            return None
        self._gauged_ms.append(value_s * 1000)
        return value_s * 1000

    def p999_ms(self) -> float | None:
        """p99.9 since the meter was made; None when there is no metric."""
        now = buckets(self._read_page(), self._name)
        if now:
            return bucket_quantile(growth(self._first, now), 0.999) * 1000
        ordered = sorted(self._gauged_ms)
        return ordered[max(0, math.ceil(len(ordered) * 0.999) - 1)] if ordered else None
