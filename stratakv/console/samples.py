"""One sample of a server: what INFO, LATENCY HISTOGRAM and the page of metrics count.

Each of them counts from the start of the server, so what the charts show is made of two looks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stratakv.console import histograms
from stratakv.console.histograms import Counts

Values = dict[str, float]
FAMILIES: Final = (
    "string", "hash", "list", "set", "sortedset", "stream", "bitmap", "hyperloglog", "geo",
    "pubsub", "scripting", "transaction", "keyspace", "connection",
)  # fmt: skip
"""Categories of ACL that tell what a command is about; the first that it has."""
GAUGES: Final = {
    "clients": "connected_clients",
    "blocked": "blocked_clients",
    "memory": "used_memory",
    "memory.rss": "used_memory_rss",
    "memory.limit": "maxmemory",
    "memory.mapped": "used_memory_mapped",
    "memory.metas": "meta_cache_bytes",
    "memory.metas.limit": "meta_cache_limit_bytes",
    "memory.rows": "row_cache_bytes",
    "memory.rows.limit": "row_cache_limit_bytes",
    "lag.now": "loop_lag_microseconds",
    "disk": "store_disk_bytes",
    "disk.free": "store_disk_free_bytes",
    "pressure": "store_pressure",
    "gc.backlog": "gc_backlog",
    "replicas": "connected_slaves",
}
RATES: Final = {
    "ops": "total_commands_processed",
    "net.in": "total_net_input_bytes",
    "net.out": "total_net_output_bytes",
    "connections": "total_connections_received",
    "expired": "expired_keys",
    "evicted": "evicted_keys",
    "hits": "keyspace_hits",
    "misses": "keyspace_misses",
    "errors": "total_error_replies",
    "commits": "store_batches",
    "commit.rows": "store_rows_written",
    "stalls": "store_stalls",
    "gc.rows": "gc_reclaimed_rows",
    "tier.requests": "tier_requests",
}
BREAKER: Final = {"closed": 0.0, "half-open": 1.0, "open": 2.0}
"""States of the tier's circuit breaker, the worse the higher."""
_METRIC = re.compile(r"^(\w+)(?:\{([^}]*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(slots=True)
class Look:
    """What the server counted up to a moment."""

    when: float
    info: dict[str, str] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)
    """Calls by family."""
    latency: Counts = field(default_factory=dict)
    lag: Counts = field(default_factory=dict)
    commit: Counts = field(default_factory=dict)
    levels: dict[str, Values] = field(default_factory=dict)
    """What LevelDB tells of each level."""
    tier: Values = field(default_factory=dict)
    soon: Values = field(default_factory=dict)
    """How many keys expire soon, by series."""


def values(now: Look, before: Look | None) -> Values:
    """A sample for the charts; rates are by the second, times in milliseconds."""
    found = {
        name: float(number)
        for name, key in GAUGES.items()
        if (number := _number(now, key)) is not None
    }
    found["keys"], found["expiring"] = _keys(now.info)
    found |= now.soon | _replication(now)
    if now.info.get("tier_breaker") in BREAKER:
        found["tier.breaker"] = BREAKER[now.info["tier_breaker"]]
    if before is None or now.when <= before.when:
        return found
    seconds = now.when - before.when
    for name, key in RATES.items():
        new, old = _number(now, key), _number(before, key)
        if new is not None and old is not None:
            found[name] = max(0.0, new - old) / seconds
    for family, calls in now.calls.items():
        fresh = calls - before.calls.get(family, 0.0)
        found[f"ops.{family}"] = max(0.0, fresh) / seconds
    if found.get("commits"):
        found["commit.size"] = found["commit.rows"] / found["commits"]
    _percentiles(found, "latency", histograms.since(now.latency, before.latency), 1e-3)
    _percentiles(found, "lag", histograms.since(now.lag, before.lag), 1e3)
    _percentiles(found, "commit", histograms.since(now.commit, before.commit), 1e3)
    _compaction(found, now, before, seconds)
    has_tier = now.info.get("cache_tier", "none") != "none"
    for name, number in now.tier.items() if has_tier else ():
        found[f"tier.{name}"] = max(0.0, number - before.tier.get(name, 0.0)) / seconds
    return found


def _percentiles(found: Values, name: str, counts: Counts, unit: float) -> None:
    for label, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        value = histograms.percentile(counts, share)
        if value is not None:
            found[f"{name}.{label}"] = value * unit


def _compaction(found: Values, now: Look, before: Look, seconds: float) -> None:
    for name in ("compaction_read_bytes", "compaction_written_bytes"):
        new = sum(level.get(name, 0.0) for level in now.levels.values())
        old = sum(level.get(name, 0.0) for level in before.levels.values())
        if now.levels:
            found[name.replace("_bytes", "").replace("_", ".")] = max(0.0, new - old) / seconds


def _number(look: Look, key: str) -> float | None:
    try:
        return float(look.info[key])
    except (KeyError, ValueError):
        return None


def _replication(look: Look) -> Values:
    """How far behind the worst replica is, and for how long the master has not been heard."""
    found: Values = {}
    replicas = [
        dict(part.partition("=")[::2] for part in value.split(","))
        for name, value in look.info.items()
        if name.startswith("slave") and name[5:].isdigit() and "state=online" in value
    ]
    sent = _number(look, "master_repl_offset")
    if replicas and sent is not None:
        found["replication.lag"] = max(float(one.get("lag", 0)) for one in replicas)
        offsets = [float(one.get("offset", 0)) for one in replicas]
        found["replication.behind"] = max(0.0, sent - min(offsets))
    silent = _number(look, "master_last_io_seconds_ago")
    if silent is not None and silent < 0:
        silent = _number(look, "master_link_down_since_seconds")
    if silent is not None and silent >= 0:
        found["replication.silence"] = silent
    return found


def _keys(info: Mapping[str, str]) -> tuple[float, float]:
    keys = expiring = 0
    for name, value in info.items():
        if name.startswith("db") and name[2:].isdigit():
            facts = dict(part.partition("=")[::2] for part in value.split(","))
            keys += int(facts.get("keys", 0))
            expiring += int(facts.get("expires", 0))
    return float(keys), float(expiring)


def calls_by_family(info: Mapping[str, str], families: Mapping[str, str]) -> dict[str, float]:
    """INFO commandstats, summed up."""
    found: dict[str, float] = {}
    for name, value in info.items():
        if name.startswith("cmdstat_"):
            command = name[8:].partition("|")[0]
            calls = float(value.partition("calls=")[2].partition(",")[0] or 0)
            family = families.get(command, "other")
            found[family] = found.get(family, 0.0) + calls
    return found


def families_of(commands: Any) -> dict[str, str]:
    """The family of each command, out of the reply to COMMAND."""
    found = {}
    for entry in commands:
        if entry and len(entry) > 6:
            has = {str(one, "ascii").lstrip("@") for one in map(bytes, map(_raw, entry[6]))}
            found[entry[0].decode()] = next((name for name in FAMILIES if name in has), "other")
    return found


def _raw(word: Any) -> bytes:
    return word if isinstance(word, bytes) else str(word).encode()


def latencies(reply: Any) -> Counts:
    """LATENCY HISTOGRAM's counts of all commands, in microseconds."""
    parts = []
    for facts in reply[1::2]:
        pairs = dict(zip(facts[::2], facts[1::2], strict=True)).get(b"histogram_usec", [])
        parts.append(
            {
                float(bound): float(count)
                for bound, count in zip(pairs[::2], pairs[1::2], strict=True)
            }
        )
    return histograms.merged(parts)


def read_metrics(text: str, look: Look) -> None:
    """Add what the page of metrics tells beyond INFO."""
    for line in text.splitlines():
        match = _METRIC.match(line)
        if match is None:
            continue
        name, labels, number = (
            match[1].removeprefix("stratakv_"),
            dict(_LABEL.findall(match[2] or "")),
            float(match[3]),
        )
        if name == "event_loop_lag_seconds_bucket":
            look.lag[_bound(labels["le"])] = number
        elif name == "commit_duration_seconds_bucket":
            look.commit[_bound(labels["le"])] = number
        elif name.startswith("leveldb_"):
            fact = name.removeprefix("leveldb_").removesuffix("_total")
            look.levels.setdefault(labels["level"], {})[fact] = number
        elif name in ("tier_hits_total", "tier_misses_total", "tier_errors_total"):
            fact = name.split("_")[1]
            look.tier[fact] = look.tier.get(fact, 0.0) + number


def _bound(text: str) -> float:
    return float("inf") if text == "+Inf" else float(text)
