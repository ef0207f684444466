"""Names of Redis's configuration that clients and tools ask for, beside our own options.

Nothing here answers OK and does nothing: a name is followed, or it asks for less than what is done
anyway, or it is fixed, and then CONFIG SET takes what is the case already and refuses the rest with
the reason.
"""

from dataclasses import dataclass
from typing import Final

from stratakv.encodings.keyspace.limits import COMPACT_LIMITS
from stratakv.proxy.config.value_kinds import (
    INT_MAX,
    LONG_MAX,
    Parse,
    integer,
    memory,
    one_of,
    percentiles,
    yes_no,
)

_SIZES, _COUNTS = memory(0), integer(0, LONG_MAX)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A name with the one value that is true here, how others are read, and why refused."""

    value: str
    parse: Parse
    reason: str


def _fixed(reason: str, **settings: tuple[str, Parse]) -> dict[str, Fixed]:
    return {
        name.replace("_", "-"): Fixed(value, parse, reason)
        for name, (value, parse) in settings.items()
    }


_INTEGER = integer(-INT_MAX - 1, INT_MAX)
_NATURAL = integer(0, INT_MAX)
_TRUTH = ("yes", yes_no)
_FALSEHOOD = ("no", yes_no)

FOLLOWED: Final[dict[str, tuple[str, Parse]]] = {
    **{
        name: (str(limit), _COUNTS if name.endswith("entries") else _SIZES)
        for name, limit in COMPACT_LIMITS.items()
    },
    "stream-node-max-entries": ("100", _COUNTS),
    "latency-tracking": _TRUTH,
    "latency-tracking-info-percentiles": ("50 99 99.9", percentiles),
}
"""Those that have an effect and are not options: name -> (default, how a value is read).

The limits of compact forms show in OBJECT ENCODING, which says how Redis would keep a value.
"""

SATISFIED: Final[dict[str, tuple[str, Parse]]] = {
    "lazyfree-lazy-eviction": _FALSEHOOD,
    "lazyfree-lazy-expire": _FALSEHOOD,
    "lazyfree-lazy-server-del": _FALSEHOOD,
    "lazyfree-lazy-user-del": _FALSEHOOD,
    "lazyfree-lazy-user-flush": _FALSEHOOD,
    "replica-lazy-flush": _FALSEHOOD,
    "sanitize-dump-payload": ("no", one_of("no", "yes", "clients")),
    "no-appendfsync-on-rewrite": _FALSEHOOD,
    "active-expire-effort": ("1", integer(1, 10)),
    "list-max-listpack-size": ("-2", _INTEGER),
    "list-compress-depth": ("0", _NATURAL),
    "stream-node-max-bytes": ("4096", _SIZES),
    "stop-writes-on-bgsave-error": _TRUTH,
    "maxmemory-samples": ("5", integer(1, INT_MAX)),
    "maxmemory-eviction-tenacity": ("10", integer(0, 100)),
}
"""Whatever the value, more than it asks for is done: space is always reclaimed in the background,
payloads are checked in full, the log is synced whatever else goes on, keys expire on time, and no
node of a list or a stream is ever larger than one element. A store that cannot be written refuses
writes whatever becomes of dumps; of what is in memory all is looked at in turn, not a sample, and
never for longer than a moment."""

HIDDEN: Final = {
    "key-load-delay",
    "loading-process-events-interval-bytes",
    "rdb-key-save-delay",
    "use-exit-on-panic",
    "watchdog-period",
}
"""Names that CONFIG GET shows only to those who know them."""

FIXED: Final[dict[str, Fixed]] = {
    **_fixed(
        "dumps are always written like that",
        rdbcompression=_TRUTH,
        rdb_save_incremental_fsync=_TRUTH,
        rdb_key_save_delay=("0", _INTEGER),
        rdb_del_sync_files=_FALSEHOOD,
        key_load_delay=("0", _INTEGER),
        loading_process_events_interval_bytes=("2097152", integer(1024, INT_MAX)),
    ),
    **_fixed(
        "the log is LevelDB's, which is neither rewritten nor tuned in this way",
        auto_aof_rewrite_percentage=("100", _NATURAL),
        auto_aof_rewrite_min_size=("67108864", _SIZES),
        aof_use_rdb_preamble=_TRUTH,
        aof_disable_auto_gc=_FALSEHOOD,
        aof_load_truncated=_TRUTH,
        aof_rewrite_incremental_fsync=_TRUTH,
        aof_timestamp_enabled=_FALSEHOOD,
    ),
    **_fixed(
        "there are no hash tables to rehash and no heap to defragment",
        activerehashing=_TRUTH,
        activedefrag=_FALSEHOOD,
        active_defrag_cycle_min=("1", integer(1, 99)),
        active_defrag_cycle_max=("25", integer(1, 99)),
        active_defrag_threshold_lower=("10", integer(0, 1000)),
        active_defrag_threshold_upper=("100", integer(0, 1000)),
        active_defrag_max_scan_fields=("1000", integer(1, LONG_MAX)),
        active_defrag_ignore_bytes=("104857600", memory(1)),
        jemalloc_bg_thread=_TRUTH,
    ),
    **_fixed(
        "the house is kept ten times a second, and what is due in time",
        hz=("10", lambda text: min(max(_NATURAL(text), 1), 500)),
        dynamic_hz=_TRUTH,
    ),
    **_fixed(
        "a full sync is made from a snapshot and streamed, and loaded beside what is served",
        repl_disable_tcp_nodelay=_FALSEHOOD,
        repl_diskless_load=("swapdb", one_of("disabled", "on-empty-db", "swapdb")),
        repl_diskless_sync=_TRUTH,
        repl_diskless_sync_delay=("0", _NATURAL),
        repl_diskless_sync_max_replicas=("0", _NATURAL),
    ),
    **_fixed(
        "a replica announces itself, never drops what its master has written, and keeps its data in"
        " the store alone",
        replica_announced=_TRUTH,
        replica_ignore_disk_write_errors=_FALSEHOOD,
        replica_ignore_maxmemory=_TRUTH,
        propagation_error_behavior=("ignore", one_of("ignore", "panic", "panic-on-replicas")),
    ),
    **_fixed(
        "Python's ssl, which TLS is spoken with, leaves it to OpenSSL",
        tls_ciphersuites=("", str),
        tls_dh_params_file=("", str),
        tls_session_caching=_TRUTH,
        tls_session_cache_size=("20480", _NATURAL),
        tls_session_cache_timeout=("300", _NATURAL),
        tls_cluster=_FALSEHOOD,
    ),
    **_fixed(
        "what the process does in its last moments cannot be chosen",
        crash_log_enabled=_TRUTH,
        crash_memcheck_enabled=_TRUTH,
        use_exit_on_panic=_FALSEHOOD,
        watchdog_period=("0", _NATURAL),
    ),
    **_fixed(
        "it is for the service manager to choose",
        proc_title_template=("{title} {listen-addr} {server-mode}", str),
        ignore_warnings=("", str),
    ),
}
"""What tunes things that do not exist here."""

FACTS: Final = {
    "appendfilename": "appendonly.aof",
    "appenddirname": "appendonlydir",
    "io-threads": "1",
    "enable-module-command": "no",
    "rdbchecksum": "yes",
}
"""What cannot be set."""
PROTECTED_NAMES: Final = {"dir", "dbfilename"}
"""What says which files are written: set by whom `enable-protected-configs` lets."""

ALIASES: Final = {
    "hash-max-ziplist-entries": "hash-max-listpack-entries",
    "hash-max-ziplist-value": "hash-max-listpack-value",
    "zset-max-ziplist-entries": "zset-max-listpack-entries",
    "zset-max-ziplist-value": "zset-max-listpack-value",
    "list-max-ziplist-size": "list-max-listpack-size",
    "min-slaves-to-write": "min-replicas-to-write",
    "min-slaves-max-lag": "min-replicas-max-lag",
    "slaveof": "replicaof",
    "repl-ping-slave-period": "repl-ping-replica-period",
    **{
        f"slave-{rest}": f"replica-{rest}"
        for rest in (
            *("announce-ip", "announce-port", "ignore-maxmemory", "lazy-flush"),
            *("priority", "read-only", "serve-stale-data"),
        )
    },
    "lua-time-limit": "busy-reply-threshold",
    "logfile": "log-file",
}
