"""What the Redis tier does, for INFO's section Cache."""

from typing import TYPE_CHECKING, Any, Final

from stratakv.storage.cache.cluster import Cluster
from stratakv.storage.cache.contract import Cache
from stratakv.storage.cache.link import Link

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.tier_state import Tier
    from stratakv.proxy.server import Server

COUNTS: Final = ("hits", "misses", "bypasses", "errors", "fills", "rebuilds")
TRAFFIC: Final = ("requests", "errors", "timeouts", "losses", "connects")


def fields(server: "Server") -> dict[str, Any]:
    """INFO: which Redis, whether it is used, and what each kind of entry was good for."""
    tier = server.keyspace.tier
    shown: dict[str, Any] = {
        "cache_tier": "redis" if tier.on else "none",
        "tier_usable": int(tier.usable and tier.cache.ready),
        "tier_generation": tier.generation,
        "tier_rebuilding": len(tier.rebuilding),
    }
    for role, cache in roles(tier):
        shown |= _traffic(role, cache)
    shown["zset_store_usable"] = int(tier.storage_usable)
    shown["zset_store_refusal"] = tier.storage_refusal
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


def roles(tier: "Tier") -> tuple[tuple[str, Cache], ...]:
    """The two that a Redis can have."""
    return ("tier", tier.cache), ("zset_store", tier.storage)
