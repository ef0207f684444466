"""Directives of a redis.conf, of 6.2 to 8, that CONFIG does not know here."""

from typing import Final

MANY_WORDS: Final = {
    "bind",
    "client-output-buffer-limit",
    "latency-tracking-info-percentiles",
    "oom-score-adj-values",
    "replicaof",
    "save",
    "shutdown-on-sigint",
    "shutdown-on-sigterm",
}
"""Directives that take several words, or one with spaces in it."""

_NO_CLUSTER: Final = "nodes of a cluster find each other by other means"
_NO_THREADS: Final = "commands run on one thread, and no child process is made"
_MANAGER: Final = "it is for the service manager to choose"

UNUSED: Final[dict[str, str]] = {
    **dict.fromkeys(("always-show-logo", "set-proc-title", "gopher-enabled"), "only looks differ"),
    **dict.fromkeys(
        ("syslog-enabled", "syslog-ident", "syslog-facility"),
        "logs go to the logfile, or to the standard error",
    ),
    **dict.fromkeys(
        (
            *("io-threads-do-reads", "server_cpulist", "bio_cpulist", "aof_rewrite_cpulist"),
            *("bgsave_cpulist", "server-cpulist", "bio-cpulist", "aof-rewrite-cpulist"),
            "bgsave-cpulist",
        ),
        _NO_THREADS,
    ),
    **dict.fromkeys(("disable-thp", "socket-mark-id"), _MANAGER),
    **dict.fromkeys(
        ("max-new-connections-per-cycle", "max-new-tls-connections-per-cycle"),
        "how many clients are accepted at once is the event loop's",
    ),
    **dict.fromkeys(
        ("set-max-listpack-entries", "set-max-listpack-value"),
        "Redis 7.0, whose replies these are, has no such form of sets",
    ),
    "locale-collate": "SORT ALPHA compares in the locale of the process",
    "lua-replicate-commands": "replicas are told of effects in any case",
    "list-max-ziplist-entries": "Redis has given it up itself",
    "list-max-ziplist-value": "Redis has given it up itself",
    "hide-user-data-from-log": "no data of users is logged in any case",
    "client-default-resp": "clients begin with RESP2",
    "req-res-logfile": "it is for those who work on Redis",
    **dict.fromkeys(
        (
            *("cluster-allow-replica-migration", "cluster-announce-bus-port"),
            *("cluster-announce-human-nodename", "cluster-config-file"),
            *("cluster-link-sendbuf-limit", "cluster-migration-barrier"),
            *("cluster-ping-interval", "cluster-port"),
            *("cluster-replica-no-failover", "cluster-replica-validity-factor"),
            *("cluster-slave-no-failover", "cluster-slave-validity-factor"),
        ),
        _NO_CLUSTER,
    ),
}
"""What they tune does not exist here -> why."""

AS_USUAL: Final[dict[str, str]] = {
    "always-show-logo": "no",
    "set-proc-title": "yes",
    "gopher-enabled": "no",
    "syslog-enabled": "no",
    "syslog-ident": "redis",
    "syslog-facility": "local0",
    "io-threads-do-reads": "no",
    "disable-thp": "yes",
    "socket-mark-id": "0",
    "set-max-listpack-entries": "128",
    "set-max-listpack-value": "64",
    "max-new-connections-per-cycle": "10",
    "max-new-tls-connections-per-cycle": "1",
}
"""Those of them that stand in the files that come with Redis, with the values that they have there:
nobody has chosen them, so nobody is told."""

FACTS_WHY: Final[dict[str, str]] = {
    "appendfilename": "the log is the store's own",
    "appenddirname": "the log is the store's own",
    "io-threads": _NO_THREADS,
    "enable-module-command": "there are no modules",
    "rdbchecksum": "dumps have a checksum in any case",
}
"""What cannot be set, but may stand in a file -> why it has no effect."""

REFUSED: Final[dict[str, tuple[str, str]]] = {
    "cluster-enabled": (
        "no",
        "a StrataKV that is alone takes all slots, those of other nodes as well;"
        " `stratakv serve --cluster-enabled yes` does so",
    ),
    "tls-ciphersuites": ("", "the ciphers of TLS 1.3 cannot be chosen: others would be accepted"),
}
"""What would change the meaning of data, or break a promise -> the value that does not, and why."""

REFUSED_ALWAYS: Final[dict[str, str]] = {
    "loadmodule": "there are no modules: commands and data of one would be missing",
    "sentinel": "StrataKV is no Sentinel",
}

REDIS_DEFAULTS: Final = {
    "bind": "* -::*",
    "port": "6379",
    "client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60"
    " pubsub 33554432 8388608 60",
}
"""What holds for a redis.conf that does not say otherwise, where a file of ours means another."""
