"""What the Redis tier does, for INFO's section Cache and for /metrics."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from stratakv.storage.cache.cluster import Cluster
from stratakv.storage.cache.contract import Cache
from stratakv.storage.cache.link import Link

if TYPE_CHECKING:
    from stratakv.encodings.tier import Tier
    from stratakv.proxy.server import Server

COUNTS: Final = ("hits", "misses", "bypasses", "errors", "fills", "rebuilds")
TRAFFIC: Final = ("requests", "errors", "timeouts", "losses", "connects")
STATES: Final = {"none": 0, "closed": 1, "half-open": 2, "open": 3}


def fields(server: "Server") -> dict[str, Any]:
    """INFO: which Redis, whether it is used, and what each kind of entry was good for."""
    tier = server.keyspace.tier
    shown: dict[str, Any] = {
        "cache_tier": "redis" if tier.on else "none",
        "tier_usable": int(tier.usable and tier.cache.ready),
        "tier_generation": tier.generation,
        "tier_rebuilding": len(tier.rebuilding),
    }
    for role, cache in _roles(tier):
        shown |= _traffic(role, cache)
    for name, kind in tier.kinds.items():
        counts = ",".join(f"{count}={getattr(kind, count)}" for count in COUNTS)
        shown[f"cache_{name}"] = counts
    return shown


def _traffic(role: str, cache: Cache) -> dict[str, Any]:
    traffic = cache.traffic
    answered = sum(traffic.buckets)
    shown: dict[str, Any] = {f"{role}_breaker": cache.state}
    if isinstance(cache, Link | Cluster):
        shown[f"{role}_address"] = cache.address
        shown[f"{role}_reason"] = cache.reason
    shown |= {f"{role}_{name}": getattr(traffic, name) for name in TRAFFIC}
    mean = traffic.seconds / answered * 1e6 if answered else 0.0
    shown[f"{role}_usec_per_request"] = f"{mean:.2f}"
    return shown


def _roles(tier: "Tier") -> tuple[tuple[str, Cache], ...]:
    return ("tier", tier.cache), ("zset_store", tier.storage)


class TierCollector(Collector):
    """Entries by kind, and requests by Redis."""

    def __init__(self, server: "Server") -> None:
        self._tier = server.keyspace.tier

    def collect(self) -> Iterator[Metric]:
        """Nothing but the state when there is no tier."""
        yield from self._states()
        for count in COUNTS:
            family = CounterMetricFamily(
                f"stratakv_tier_{count}", f"{count.capitalize()} of cache entries.", labels=["kind"]
            )
            for name, kind in self._tier.kinds.items():
                family.add_metric([name], getattr(kind, count))
            yield family
        yield from self._requests()

    def _states(self) -> Iterator[Metric]:
        states = GaugeMetricFamily(
            "stratakv_tier_breaker",
            "Circuit breaker: 0 no Redis, 1 closed (in use), 2 half-open, 3 open (bypassed).",
            labels=["role"],
        )
        for role, cache in _roles(self._tier):
            states.add_metric([role], STATES[cache.state])
        yield states
        yield GaugeMetricFamily(
            "stratakv_tier_generation", "Generation of cache entries.", value=self._tier.generation
        )

    def _requests(self) -> Iterator[Metric]:
        for name in TRAFFIC[1:]:
            family = CounterMetricFamily(
                f"stratakv_tier_link_{name}", f"{name.capitalize()} by Redis.", labels=["role"]
            )
            for role, cache in _roles(self._tier):
                family.add_metric([role], getattr(cache.traffic, name))
            yield family
        latency = HistogramMetricFamily(
            "stratakv_tier_request_duration_seconds", "Time until Redis answers.", labels=["role"]
        )
        for role, cache in _roles(self._tier):
            latency.add_metric([role], _bounds(cache.traffic.buckets), cache.traffic.seconds)
        yield latency


def _bounds(buckets: list[int]) -> list[tuple[str, float]]:
    from stratakv.proxy.collectors import DURATIONS, MICROSECOND, cumulate

    return cumulate(buckets, DURATIONS, MICROSECOND)
