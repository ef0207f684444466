"""INFO: the state of the server in sections of `name:value` lines.

Names that tools read are Redis's own. What Redis reports of things that do not exist here (splits,
replicas, scripts) is left out, or constant where tools insist on it. Sections `Store`, `Cache` and
`GC` are ours.
"""

import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from stratakv import REDIS_VERSION, __version__, build
from stratakv.encodings.keyspace.hits import HITS
from stratakv.encodings.upkeep.expiry_times import average_ttl_ms
from stratakv.proxy.clients.client_memory import total_memory
from stratakv.proxy.clients.session import REPLICA
from stratakv.proxy.observe import replication_info, tier_info
from stratakv.proxy.observe.memory import MemoryUse
from stratakv.proxy.table.registry import TABLE, Command

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.database import Database
    from stratakv.proxy.clients.realms import Realm
    from stratakv.proxy.server import Server

Fields = dict[str, Any]
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def report(server: "Server", names: Iterable[str]) -> str:
    """The text of the sections that the names stand for, in a fixed order."""
    wanted = _meant(names, _GROUPS)
    return written(
        (title, fields(server)) for name, (title, fields) in _SECTIONS.items() if name in wanted
    )


def report_of_tenant(server: "Server", realm: "Realm", names: Iterable[str]) -> str:
    """The same for the clients of a namespace: nothing in it tells of others."""
    wanted = _meant(names, {group: set(_OF_TENANTS) for group in _GROUPS})
    return written(
        (title, fields(server, realm))
        for name, (title, fields) in _OF_TENANTS.items()
        if name in wanted
    )


def _meant(names: Iterable[str], groups: Mapping[str, set[str]]) -> set[str]:
    wanted: set[str] = set()
    for name in names:
        wanted.update(groups.get(name, {name}))
    return wanted


def written(sections: Iterable[tuple[str, Fields]]) -> str:
    """Sections as INFO shows them."""
    return "\r\n".join(
        f"# {title}\r\n" + "".join(f"{key}:{value}\r\n" for key, value in fields.items())
        for title, fields in sections
    )


def human(size: float) -> str:
    """Bytes as Redis prints them: 1.50M."""
    if size < 1024:
        return f"{int(size)}B"
    for unit in "KMGT":
        size /= 1024
        if size < 1024 or unit == "T":
            break
    return f"{size:.2f}{unit}"


def _sizes(sizes: Fields) -> Fields:
    """Each size followed by its readable form."""
    shown: Fields = {}
    for name, size in sizes.items():
        shown[name] = size
        shown[name + "_human"] = human(size)
    return shown


def _server(server: "Server") -> Fields:
    seconds = int(time.time() - server.stats.started)
    system = os.uname()
    return {
        "redis_version": REDIS_VERSION,
        "stratakv_version": __version__,
        "stratakv_build": build.kind(),
        "redis_git_sha1": "00000000",
        "redis_git_dirty": 0,
        "redis_build_id": "0",
        "redis_mode": server.mode,
        "os": f"{system.sysname} {system.release} {system.machine}",
        "arch_bits": 64,
        "python_version": platform.python_version(),
        "multiplexing_api": type(server.loop).__module__.split(".")[0],
        "process_id": os.getpid(),
        "process_supervised": "no",
        "run_id": server.run_id,
        "tcp_port": server.listeners.port or server.listeners.tls_port,
        "server_time_usec": server.clock.micros(),
        "uptime_in_seconds": seconds,
        "uptime_in_days": seconds // 86400,
        "hz": 10,
        "configured_hz": 10,
        "lru_clock": int(time.time()) & 0xFFFFFF,
        "executable": os.path.abspath(sys.argv[0]),
        "config_file": server.options.config,
        "io_threads_active": 0,
        **_end(server),
    }


def _end(server: "Server") -> Fields:
    left = server.ending.left_ms
    return {} if left is None else {"shutdown_in_milliseconds": left}


def _clients(server: "Server") -> Fields:
    sessions = server.sessions.values()
    return {
        "connected_clients": len(sessions) - len(server.replication.replicas),
        "cluster_connections": 0,
        "maxclients": server.options.maxclients,
        "client_recent_max_input_buffer": max((s.connection.unparsed for s in sessions), default=0),
        "client_recent_max_output_buffer": max((s.connection.unsent for s in sessions), default=0),
        "blocked_clients": len(server.dispatcher.blocked) + len(server.dispatcher.guards.held),
        "waiting_clients": sum(session.waiting for session in sessions),
        "tracking_clients": len(server.tracking.sessions),
        "clients_in_timeout_table": server.dispatcher.blocked.timed,
    }


def _memory(server: "Server") -> Fields:
    use, peak, startup = server.memory.look(), server.memory.peak, server.memory.startup
    lua = server.scripting.memory()
    clients, slaves = mem_clients(server)
    cached = sum(database.cached_bytes for database in server.keyspace.opened.values())
    return {
        **_sizes({"used_memory": use.own, "used_memory_rss": use.resident}),
        **_sizes({"used_memory_peak": peak}),
        "used_memory_peak_perc": f"{use.own / peak * 100:.2f}%",
        "used_memory_overhead": use.own - min(use.own, cached),
        "used_memory_startup": startup,
        "used_memory_dataset": cached,
        "used_memory_dataset_perc": f"{share_of_dataset(server, use):.2f}%",
        **_sizes({"used_memory_mapped": use.mapped}),
        **_sizes({"total_system_memory": os.sysconf("SC_PHYS_PAGES") * _PAGE}),
        **_sizes({"used_memory_lua": lua.eval_states}),
        "used_memory_vm_eval": lua.eval_states,
        "used_memory_scripts_eval": lua.scripts,
        "number_of_cached_scripts": server.scripting.script_count,
        "number_of_functions": lua.function_count,
        "number_of_libraries": lua.library_count,
        "used_memory_vm_functions": lua.function_states,
        **_sizes({"used_memory_vm_total": lua.eval_states + lua.function_states}),
        "used_memory_functions": lua.libraries,
        **_sizes({"used_memory_scripts": lua.scripts + lua.libraries}),
        **_sizes({"maxmemory": server.options.maxmemory}),
        "maxmemory_policy": server.options.maxmemory_policy,
        "mem_fragmentation_ratio": f"{use.resident / use.own:.2f}",
        "mem_fragmentation_bytes": use.mapped,
        **replication_info.memory(server),
        "mem_not_counted_for_evict": 0,
        "mem_clients_slaves": slaves,
        "mem_clients_normal": clients - slaves,
        "mem_rank_directories": server.keyspace.recollections.ranks.bytes,
        "mem_allocator": "python",
        "active_defrag_running": 0,
        "lazyfree_pending_objects": server.housekeeper.reclaimer.backlog(),
    }


def share_of_dataset(server: "Server", use: MemoryUse) -> float:
    """What share of the memory that clients caused holds keys, in percent."""
    cached = sum(database.cached_bytes for database in server.keyspace.opened.values())
    return min(100.0, cached / max(use.own - server.memory.startup, cached, 1) * 100)


def mem_clients(server: "Server") -> tuple[int, int]:
    """What all clients take of memory, and the replicas among them."""
    sessions = server.sessions.values()
    slaves = sum([total_memory(one) for one in sessions if one.guards & REPLICA])
    return sum([total_memory(one) for one in sessions]), slaves


def _persistence(server: "Server") -> Fields:
    failing = bool(server.dispatcher.guards.refusal)
    saving = server.saving
    return {
        **replication_info.loading(server),
        "rdb_changes_since_last_save": saving.changes,
        "rdb_bgsave_in_progress": int(saving.is_running),
        "rdb_last_save_time": saving.last_save,
        "rdb_last_bgsave_status": "err" if failing or saving.failure else "ok",
        "rdb_last_bgsave_error": saving.failure,
        "rdb_last_bgsave_time_sec": saving.last_seconds,
        "rdb_current_bgsave_time_sec": saving.current_seconds,
        "rdb_saves": saving.saves,
        "rdb_last_save_left_out_keys": saving.left_out,
        "rdb_last_cow_size": 0,
        "rdb_last_load_keys_expired": 0,  # a replica leaves that to its master
        "rdb_last_load_keys_loaded": server.replication.loaded_keys,
        "aof_enabled": int(server.settings.show("appendonly") == "yes"),
        "aof_rewrite_in_progress": 0,
        "aof_rewrite_scheduled": 0,
        "aof_last_rewrite_time_sec": -1,
        "aof_current_rewrite_time_sec": -1,
        "aof_last_bgrewrite_status": "ok",
        "aof_last_write_status": "err" if failing else "ok",
        "aof_last_cow_size": 0,
    }


def _stats(server: "Server") -> Fields:
    stats = server.stats
    operations, bytes_in, bytes_out = stats.rates()
    readers = [entry for entry in _entries() if _looks_up(entry)]
    missed = sum(entry.missed for entry in readers)
    lookups = HITS.further + sum(entry.calls for entry in readers)
    return {
        "total_connections_received": stats.connections,
        "total_commands_processed": sum(entry.calls for entry in _entries()),
        "instantaneous_ops_per_sec": int(operations),
        "total_net_input_bytes": stats.bytes_in,
        "total_net_output_bytes": stats.bytes_out,
        "instantaneous_input_kbps": f"{bytes_in / 1024:.2f}",
        "instantaneous_output_kbps": f"{bytes_out / 1024:.2f}",
        "rejected_connections": stats.rejected_connections,
        "sync_full": server.replication.full_syncs,
        "sync_partial_ok": server.replication.partial_syncs,
        "sync_partial_err": server.replication.refused_syncs,
        "expired_subkeys": server.keyspace.expired_fields,
        "expired_keys": stats.expired_keys,
        "expired_stale_perc": "0.00",
        "expired_time_cap_reached_count": 0,
        "evicted_keys": 0,
        "evicted_clients": stats.evicted_clients,
        "client_output_buffer_limit_disconnections": stats.output_limit_disconnections,
        "keyspace_hits": max(0, lookups - missed),
        "keyspace_misses": missed,
        "pubsub_channels": len(server.realms.first.pubsub.channels.sessions),
        "pubsub_patterns": len(server.realms.first.pubsub.patterns.sessions),
        "pubsubshard_channels": len(server.realms.first.pubsub.shard_channels.sessions),
        **dict.fromkeys(("latest_fork_usec", "total_forks", "migrate_cached_sockets"), 0),
        "slave_expires_tracked_keys": len(server.keyspace.own_times or ()),
        "tracking_total_keys": server.tracking.key_count,
        "tracking_total_items": server.tracking.items,
        "tracking_total_prefixes": server.tracking.prefix_count,
        "unexpected_error_replies": stats.unexpected_errors,
        "total_error_replies": sum(stats.errors.values()),
        "long_commands": stats.long_commands,
        "loop_lag_microseconds": int(stats.loop_lag_seconds * 1_000_000),
    }


def _looks_up(entry: Command) -> bool:
    """Whether the command counts for the hits and misses: readers do, and writers that read."""
    reads = "readonly" in entry.flags or entry.name in ("getset", "getdel", "getex")
    return reads and entry.touches_keys


def _cpu(server: "Server") -> Fields:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "used_cpu_sys": f"{own.ru_stime:.6f}",
        "used_cpu_user": f"{own.ru_utime:.6f}",
        "used_cpu_sys_children": f"{children.ru_stime:.6f}",
        "used_cpu_user_children": f"{children.ru_utime:.6f}",
    }


def _modules(server: "Server") -> Fields:
    return {}


def _entries() -> Iterable[Command]:
    for entry in TABLE.values():
        yield entry
        yield from entry.subcommands.values()


def _commandstats(server: "Server") -> Fields:
    return {
        f"cmdstat_{entry.name}": (
            f"calls={calls},usec={int(entry.seconds * 1e6)},"
            f"usec_per_call={entry.seconds * 1e6 / max(calls, 1):.2f},"
            f"rejected_calls={entry.rejected},failed_calls={entry.failed}"
        )
        for entry in _entries()
        if (calls := entry.calls) or entry.rejected or entry.failed
    }


def _errorstats(server: "Server") -> Fields:
    errors = sorted(server.stats.errors.items())
    return {f"errorstat_{code.decode('latin-1')}": f"count={count}" for code, count in errors}


_SHARES: Final = "latency-tracking-info-percentiles"


def _latencystats(server: "Server") -> Fields:
    if server.settings.show("latency-tracking") == "no":
        return {}
    shares = [float(word) for word in server.settings.show(_SHARES).split()]
    return {
        f"latency_percentiles_usec_{entry.name}": ",".join(
            f"p{share:g}={percentile(entry, share):.3f}" for share in shares
        )
        for entry in _entries()
        if entry.calls
    }


def percentile(entry: Command, share: float) -> float:
    """The duration in microseconds that this share of the calls stayed below, to a power of two."""
    needed = entry.calls * share / 100
    seen = 0
    for power, count in enumerate(entry.buckets):
        seen += count
        if count and seen >= needed:
            return float(1 << power)
    return 0.0


def _cluster(server: "Server") -> Fields:
    fields: Fields = {"cluster_enabled": int(server.cluster is not None)}
    if server.ownership is not None:
        told = server.ownership.fields()
        fields.update({f"cluster_{name}": value for name, value in told.items()})
    return fields


def _keyspace(server: "Server") -> Fields:
    if server.spaces:
        live = sum(space.keys for space in server.spaces)
        expiring = sum(space.keyspace.databases[0].expiring for space in server.spaces)
        return {"db0": f"keys={live},expires={expiring},avg_ttl=0"} if live else {}
    return databases_fields(server, server.keyspace.databases)


def databases_fields(server: "Server", databases: "Iterable[Database]") -> Fields:
    """A line for each database that has keys."""
    return {
        f"db{database.number}": (
            f"keys={database.live},expires={database.expiring},"
            f"avg_ttl={average_ttl_ms(server.keyspace, database)}"
        )
        for database in databases
        if database.live
    }


def _namespaces(server: "Server") -> Fields:
    """A line for each namespace of users."""
    return {
        f"namespace_{realm.name.decode()}": (
            f"keys={server.tenancy.keys_of(realm)},bytes={realm.disk_bytes},"
            f"clients={realm.clients},operations={realm.operations},refused={realm.refused}"
        )
        for realm in server.realms
    }


def _store(server: "Server") -> Fields:
    store = server.store
    stats = store.stats
    return {
        "store_engine": store.engine_name,
        "store_durability": server.options.durability,
        "store_directory": str(server.options.store_directory),
        "store_disk_files": server.disk.latest.files,
        "store_disk_bytes": server.disk.latest.bytes,
        "store_disk_free_bytes": server.disk.latest.free,
        "store_disk_limit_bytes": server.options.maxdisk_bytes,
        "store_disk_used_bytes": server.disk.latest.used,
        "store_disk_full": int(server.disk_limit.is_full),
        "store_disk_full_times": server.disk_limit.times_full,
        "store_pressure": store.pressure(),
        "store_batches": stats.batches,
        "store_rows_written": stats.rows,
        "store_write_seconds": f"{stats.seconds:.6f}",
        "store_stalls": stats.stalls,
        "store_threaded_batches": stats.threaded,
        "store_failures": stats.failures,
        "store_corruptions": server.stats.corruptions,
        "store_damaged_places": len(server.stats.damages),
        "store_batches_in_flight": len(store.inflight),
        "store_accepts_writes": int(not server.dispatcher.guards.refusal),
        "store_refusal": server.dispatcher.guards.refusal,
        **server.compaction.fields(),
        **{f"store_{name}": value for name, value in store.remote_counters.items()},
    }


def _cache(server: "Server") -> Fields:
    keyspace = server.keyspace
    ranks = keyspace.recollections.ranks
    return {
        **tier_info.fields(server),
        "rank_directories": len(ranks.directories),
        "rank_directory_bytes": ranks.bytes,
        "rank_directory_limit_bytes": ranks.limit_bytes,
        "rank_directories_built": ranks.built,
        "rank_directories_dropped": ranks.dropped,
        "meta_cache_entries": sum(len(database.cache) for database in keyspace.opened.values()),
        "meta_cache_bytes": sum(database.cached_bytes for database in keyspace.opened.values()),
        "meta_cache_limit_bytes": keyspace.cache.limit_bytes,
        "meta_cache_evictions": keyspace.cache.evictions,
        "row_cache_entries": len(keyspace.store.row_cache),
        "row_cache_bytes": keyspace.store.row_cache.size_bytes,
        "row_cache_limit_bytes": keyspace.store.row_cache.limit_bytes,
    }


def _gc(server: "Server") -> Fields:
    return {
        "gc_backlog": server.housekeeper.reclaimer.backlog(),
        "gc_reclaimed_rows": server.stats.reclaimed_rows,
        "gc_active_expire": int(server.housekeeper.active_expire),
    }


def _tenant_server(server: "Server", realm: "Realm") -> Fields:
    return {
        "redis_version": REDIS_VERSION,
        "stratakv_version": __version__,
        "redis_mode": server.mode,
        "arch_bits": 64,
    }


def _tenant_clients(server: "Server", realm: "Realm") -> Fields:
    return {"connected_clients": realm.clients, "maxclients": realm.quota.clients}


def _tenant_namespace(server: "Server", realm: "Realm") -> Fields:
    quota = realm.quota._asdict()
    return {
        "namespace": realm.name.decode(),
        "namespace_keys": server.tenancy.keys_of(realm),
        "namespace_bytes": realm.disk_bytes,
        "namespace_operations": realm.operations,
        "namespace_refused": realm.refused,
        **{f"quota_{name}": number for name, number in quota.items()},
    }


def _tenant_keyspace(server: "Server", realm: "Realm") -> Fields:
    if realm.tenant is None:
        return {}
    return databases_fields(server, server.keyspace.databases_of(realm.tenant))


_OF_TENANTS: Final[dict[str, tuple[str, Callable[["Server", "Realm"], Fields]]]] = {
    "server": ("Server", _tenant_server),
    "clients": ("Clients", _tenant_clients),
    "cluster": ("Cluster", lambda server, realm: _cluster(server)),
    "namespace": ("Namespace", _tenant_namespace),
    "keyspace": ("Keyspace", _tenant_keyspace),
}

_SECTIONS: Final[dict[str, tuple[str, Callable[["Server"], Fields]]]] = {
    "server": ("Server", _server),
    "clients": ("Clients", _clients),
    "memory": ("Memory", _memory),
    "persistence": ("Persistence", _persistence),
    "stats": ("Stats", _stats),
    "replication": ("Replication", replication_info.fields),
    "cpu": ("CPU", _cpu),
    "modules": ("Modules", _modules),
    "commandstats": ("Commandstats", _commandstats),
    "errorstats": ("Errorstats", _errorstats),
    "latencystats": ("Latencystats", _latencystats),
    "cluster": ("Cluster", _cluster),
    "store": ("Store", _store),
    "cache": ("Cache", _cache),
    "gc": ("GC", _gc),
    "keyspace": ("Keyspace", _keyspace),
    "namespaces": ("Namespaces", _namespaces),
}

_ALL: Final = set(_SECTIONS)
_GROUPS: Final = {
    "all": _ALL,
    "everything": _ALL,
    "default": _ALL - {"commandstats", "latencystats", "namespaces"},
}
