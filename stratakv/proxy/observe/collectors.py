"""What the metrics page shows, read from the counters that the server keeps anyway.

Nothing here runs but when the page is asked for: a command pays nothing for its metrics. Durations
and sizes are kept in lists whose bucket n counts what is below 2**n (see `Command.buckets`).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from stratakv import __version__
from stratakv.proxy.observe.replication_metrics import ReplicationCollector
from stratakv.proxy.observe.tier_info import COUNTS, TRAFFIC, roles
from stratakv.proxy.table.registry import every_command
from stratakv.storage.leveldb.usage import parse_levels
from stratakv.storage.remote_store import LEVELS, RemoteStore

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

MICROSECOND: Final = 1e-6
DURATIONS: Final = range(4, 25)
"""Shown bounds of durations: 16 microseconds to 17 seconds."""
SIZES: Final = range(21)
"""Shown bounds of sizes: one row to a million."""
LEVEL_DOCS: Final = {
    "files": "Tables of a level.",
    "bytes": "Bytes of a level, to the megabyte.",
    "compaction_seconds": "Time of compactions into a level.",
    "compaction_read_bytes": "Bytes that they read.",
    "compaction_written_bytes": "Bytes that they wrote.",
}
NAMESPACES: Final = 100
"""Namespaces of users that have labels of their own."""
_OF_NAMESPACES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("keys", "Keys by namespace of users.", GaugeMetricFamily),
    ("disk_bytes", "Bytes in the files by namespace of users.", GaugeMetricFamily),
    ("clients", "Clients by namespace of users.", GaugeMetricFamily),
    ("operations", "Requests by namespace of users.", CounterMetricFamily),
    ("refused", "Requests beyond a quota by namespace of users.", CounterMetricFamily),
)
BREAKER_STATES: Final = {"none": 0, "closed": 1, "half-open": 2, "open": 3}

Bounds = list[tuple[str, float]]


def cumulate(buckets: Sequence[int], shown: range, unit: float) -> Bounds:
    """Cumulative counts up to each shown power of two, as a Prometheus histogram wants them."""
    bounds: Bounds = []
    total = sum(buckets[: shown.start])
    for exponent in shown:
        total += buckets[exponent]
        bounds.append((repr(2**exponent * unit), total))
    bounds.append(("+Inf", sum(buckets)))
    return bounds


def gauge(name: str, doc: str, value: float) -> Metric:
    """A number that goes up and down."""
    return GaugeMetricFamily(f"stratakv_{name}", doc, value=value)


def counter(name: str, doc: str, value: float) -> Metric:
    """A number that only rises until the next start."""
    return CounterMetricFamily(f"stratakv_{name}", doc, value=value)


def histogram(name: str, doc: str, bounds: Bounds, total: float) -> Metric:
    """A distribution without labels."""
    return HistogramMetricFamily(f"stratakv_{name}", doc, buckets=bounds, sum_value=total)


def _of_remote(store: RemoteStore) -> Iterator[Metric]:
    """What was asked of an engine elsewhere."""
    engine = store.engine_name
    for name, value in store.remote_counters.items():
        make = gauge if name in LEVELS else counter
        yield make(f"{engine}_{name}", f"{name}, as the client of {engine} counts.", value)
    buckets, seconds = store.remote.call_times
    yield histogram(
        f"{engine}_call_duration_seconds",
        "Time that an answer took.",
        cumulate(buckets, DURATIONS, MICROSECOND),
        seconds,
    )
    yield gauge("store_waiting_bytes", "Submitted and not written.", store.waiting_bytes)


class CommandCollector(Collector):
    """Calls, failures and durations by command."""

    def collect(self) -> Iterator[Metric]:
        """Commands that were called or refused at least once."""
        durations = HistogramMetricFamily(
            "stratakv_command_duration_seconds", "Time in a command.", labels=["command"]
        )
        failed = CounterMetricFamily(
            "stratakv_commands_failed", "Commands that ended in an error.", labels=["command"]
        )
        rejected = CounterMetricFamily(
            "stratakv_commands_rejected", "Commands refused before they ran.", labels=["command"]
        )
        for entry in every_command():
            if entry.calls:
                bounds = cumulate(entry.buckets, DURATIONS, MICROSECOND)
                durations.add_metric([entry.name], bounds, entry.seconds)
            if entry.failed:
                failed.add_metric([entry.name], entry.failed)
            if entry.rejected:
                rejected.add_metric([entry.name], entry.rejected)
        yield from (durations, failed, rejected)


class ClientCollector(Collector):
    """Clients, traffic, errors and the event loop."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """Everything about the side that faces clients."""
        stats, sessions = self._server.stats, self._server.sessions
        waiting = sum(session.waiting for session in sessions.values())
        yield gauge("clients", "Connected clients.", len(sessions))
        yield gauge("clients_waiting", "Clients behind a long command.", waiting)
        yield counter("connections", "Connections accepted.", stats.connections)
        yield counter(
            "connections_rejected", "Connections over maxclients.", stats.rejected_connections
        )
        yield counter(
            "output_limit_disconnections",
            "Clients cut because they did not read.",
            stats.output_limit_disconnections,
        )
        yield counter(
            "query_limit_disconnections",
            "Clients cut because they sent too much at once.",
            stats.query_limit_disconnections,
        )
        yield counter("received_bytes", "Bytes from clients.", stats.bytes_in)
        yield counter("sent_bytes", "Bytes to clients.", stats.bytes_out)
        yield counter("long_commands", "Commands that ran in slices.", stats.long_commands)
        yield gauge("long_commands_running", "Long commands at work.", self._server.slices.running)
        yield self._errors()
        yield self._lag()

    def _errors(self) -> Metric:
        family = CounterMetricFamily("stratakv_errors", "Error replies by code.", labels=["code"])
        for code, count in sorted(self._server.stats.errors.items()):
            family.add_metric([code.decode("utf-8", "replace")], count)
        return family

    def _lag(self) -> Metric:
        lag = self._server.housekeeper.lag
        return histogram(
            "event_loop_lag_seconds",
            "How late a timer of the event loop fired.",
            cumulate(lag.buckets, DURATIONS, MICROSECOND),
            lag.total_seconds,
        )


GROUP_DOCS: Final = {
    "groups_owned": "Groups of slots that are open here.",
    "groups_moving": "Groups that are being taken or handed over.",
    "takeovers": "Groups that were taken.",
    "hand_overs": "Groups that were handed over.",
    "losses": "Groups that were lost, or of which a commit has failed.",
    "lease_seconds": "For how long it is sure that nobody else has them.",
    "written_rows": "Rows put or deleted in the groups that are open.",
    "commits": "Commits to the groups that are open.",
    "commit_seconds": "Time that HBase took for them.",
}


class StoreCollector(Collector):
    """Reads, commits and the engine."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """Everything about the side that faces the disk."""
        store = self._server.store
        stats = store.stats
        yield counter("store_reads", "Rows asked of the engine.", stats.reads)
        yield counter("store_scans", "Ranges asked of the engine.", stats.scans)
        yield counter("store_written_rows", "Rows put or deleted.", stats.rows)
        yield counter("store_written_bytes", "Bytes of those rows.", stats.bytes)
        yield counter("store_stalls", "Commits that the engine held up.", stats.stalls)
        yield counter("store_failures", "Commits that the engine refused.", stats.failures)
        seen = self._server.stats
        yield counter("corruptions", "Reads that met a damaged place.", seen.corruptions)
        yield gauge("store_damaged_places", "Damaged places met so far.", len(seen.damages))
        yield counter("commits_in_thread", "Commits written by the writer thread.", stats.threaded)
        yield gauge("commits_in_flight", "Commits under way.", len(store.inflight))
        yield histogram(
            "commit_rows",
            "Rows in a commit.",
            cumulate(stats.row_buckets, SIZES, 1),
            stats.rows,
        )
        yield histogram(
            "commit_duration_seconds",
            "Time that the engine took for a commit.",
            cumulate(stats.duration_buckets, DURATIONS, MICROSECOND),
            stats.seconds,
        )
        yield gauge("store_pressure_ratio", "1 when the engine stops writers.", self._pressure())
        refused = bool(self._server.dispatcher.guards.refusal)
        yield gauge("store_refuses_writes", "1 while writes are refused.", refused)
        if isinstance(store, RemoteStore):
            yield from _of_remote(store)
        if self._server.ownership is not None:
            for name, value in self._server.ownership.fields().items():
                yield gauge(f"cluster_{name}", GROUP_DOCS[name], value)
        yield from self._disk()
        yield from self._levels()

    def _disk(self) -> Iterator[Metric]:
        disk = self._server.disk.latest
        yield gauge("disk_files", "Files of the data directory.", disk.files)
        yield gauge("disk_bytes", "Bytes of the data directory.", disk.bytes)
        yield gauge("disk_size_bytes", "Size of its file system.", disk.size)
        yield gauge("disk_free_bytes", "Free bytes of its file system.", disk.free)
        limit, is_full = self._server.options.maxdisk_bytes, self._server.disk_limit.is_full
        yield gauge("disk_limit_bytes", "maxdisk-bytes, 0 for none.", limit)
        yield gauge("disk_used_bytes", "What counts for it.", disk.used)
        yield gauge("disk_is_full", "Whether it is passed: only deleting is possible.", is_full)

    def _levels(self) -> Iterator[Metric]:
        """LevelDB's own account, which is to the megabyte and the second."""
        levels = parse_levels(self._server.store.report())
        for family, field in (
            (GaugeMetricFamily, "files"),
            (GaugeMetricFamily, "bytes"),
            (CounterMetricFamily, "compaction_seconds"),
            (CounterMetricFamily, "compaction_read_bytes"),
            (CounterMetricFamily, "compaction_written_bytes"),
        ):
            metric = family(f"stratakv_leveldb_{field}", LEVEL_DOCS[field], labels=["level"])
            for level in levels:
                metric.add_metric([str(level.number)], getattr(level, field))
            yield metric

    def _pressure(self) -> float:
        return self._server.store.pressure() / 100


class KeyspaceCollector(Collector):
    """Keys, expiry, reclaiming and the cache of metas."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._calls = 0
        self._loads = 0
        self._hits = 0

    def collect(self) -> Iterator[Metric]:
        """Everything about keys."""
        keyspace, reclaimer = self._server.keyspace, self._server.housekeeper.reclaimer
        yield from self._keys()
        yield from self._namespaces()
        yield counter("expired_keys", "Keys that expired.", reclaimer.expiry.expired_keys)
        yield counter("gc_reclaimed_rows", "Dead rows that were deleted.", reclaimer.reclaimed_rows)
        yield gauge(
            "gc_backlog", "Dead incarnations in the queue, up to 1000.", reclaimer.backlog()
        )
        loads = sum(database.loads for database in keyspace.opened.values())
        cached = sum(database.cached_bytes for database in keyspace.opened.values())
        entries = sum(len(database.cache) for database in keyspace.opened.values())
        yield counter(
            "meta_cache_hits", "Key commands beyond the metas loaded.", self._count_hits(loads)
        )
        yield counter("meta_cache_misses", "Metas read from the store.", loads)
        yield counter("meta_cache_evictions", "Metas dropped for room.", keyspace.cache.evictions)
        yield gauge("meta_cache_bytes", "Memory of the cached metas, estimated.", cached)
        ranks = keyspace.recollections.ranks
        yield gauge("rank_directory_bytes", "Memory of the directories of ranks.", ranks.bytes)
        yield counter("rank_directories_built", "Directories of ranks made.", ranks.built)
        yield gauge("meta_cache_entries", "Cached metas.", entries)

    def _keys(self) -> Iterator[Metric]:
        keys = GaugeMetricFamily("stratakv_keys", "Keys by database.", labels=["db"])
        expiring = GaugeMetricFamily(
            "stratakv_expiring_keys", "Keys with an expire-time by database.", labels=["db"]
        )
        for database in self._server.keyspace.databases:
            if database.live or database.index == 0:
                keys.add_metric([str(database.index)], database.live)
                expiring.add_metric([str(database.index)], database.expiring)
        yield from (keys, expiring)

    def _namespaces(self) -> Iterator[Metric]:
        """The namespaces with the most keys by their names, and all others together."""
        tenancy = self._server.tenancy
        found = sorted(
            (
                (tenancy.keys_of(realm), realm.disk_bytes, realm.clients, realm.operations,
                 realm.refused, realm.name.decode())
                for realm in self._server.realms
            ),
            reverse=True,
        )  # fmt: skip
        shown = [(name, numbers) for *numbers, name in found[:NAMESPACES]]
        if found[NAMESPACES:]:
            shown.append(("(others)", [sum(column) for column in zip(*(
                numbers for *numbers, _ in found[NAMESPACES:]), strict=True)]))  # fmt: skip
        for at, (name, doc, family) in enumerate(_OF_NAMESPACES):
            metric = family(f"stratakv_namespace_{name}", doc, labels=["namespace"])
            for namespace, numbers in shown:
                metric.add_metric([namespace], numbers[at])
            yield metric

    def _count_hits(self, loads: int) -> int:
        """Hits are not counted where they happen, which would cost every command.

        A key command that loaded nothing hit. Commands of several keys count as one look-up, so
        this is a lower bound.
        """
        calls = sum(entry.calls for entry in every_command() if entry.touches_keys)
        fresh = calls - self._calls if calls >= self._calls else calls  # else CONFIG RESETSTAT
        self._hits += max(0, fresh - (loads - self._loads))
        self._calls, self._loads = calls, loads
        return self._hits


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
        for role, cache in roles(self._tier):
            states.add_metric([role], BREAKER_STATES[cache.state])
        yield states
        refused = bool(self._tier.storage_refusal)
        yield gauge("zset_store_refused", "1 if it evicts, was emptied or is another's.", refused)
        yield GaugeMetricFamily(
            "stratakv_tier_generation", "Generation of cache entries.", value=self._tier.generation
        )

    def _requests(self) -> Iterator[Metric]:
        for name in TRAFFIC[1:]:
            family = CounterMetricFamily(
                f"stratakv_tier_link_{name}", f"{name.capitalize()} by Redis.", labels=["role"]
            )
            for role, cache in roles(self._tier):
                family.add_metric([role], getattr(cache.traffic, name))
            yield family
        latency = HistogramMetricFamily(
            "stratakv_tier_request_duration_seconds", "Time until Redis answers.", labels=["role"]
        )
        for role, cache in roles(self._tier):
            bounds = cumulate(cache.traffic.buckets, DURATIONS, MICROSECOND)
            latency.add_metric([role], bounds, cache.traffic.seconds)
        yield latency


class ServerCollector(Collector):
    """What is running, and since when."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """The version as a label, and the start."""
        info = GaugeMetricFamily("stratakv_info", "Always 1.", labels=["version", "engine"])
        info.add_metric([__version__, self._server.store.engine_name], 1)
        yield info
        yield gauge("start_time_seconds", "When it started.", self._server.stats.started)
        use, watch = self._server.memory.look(), self._server.memory
        yield gauge("memory_own_bytes", "Memory of the process's own.", use.own)
        yield gauge("memory_mapped_bytes", "Resident pages of mapped files.", use.mapped)
        yield gauge("memory_peak_bytes", "The most memory of its own so far.", watch.peak)


def registry_of(server: "Server") -> CollectorRegistry:
    """All collectors of a server, and those of the process (memory, CPU, descriptors)."""
    registry = CollectorRegistry()
    registry.register(ServerCollector(server))
    registry.register(CommandCollector())
    registry.register(ClientCollector(server))
    registry.register(KeyspaceCollector(server))
    registry.register(StoreCollector(server))
    registry.register(TierCollector(server))
    registry.register(ReplicationCollector(server))
    ProcessCollector(registry=registry)
    return registry
