"""The options: one line each, from which flags, environment, file, CONFIG and the docs follow.

Flags win, then environment variables (`STRATAKV_` and the name in capitals), then the TOML file,
then the default. A bad value is refused with its name, the value and what is allowed.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from stratakv.encodings.layout.formats import CHOICES, FORMATS, HASH, NAMES, SET, ZSET
from stratakv.storage.cache.address import parse_address, without_password
from stratakv.storage.engines import ENGINES, HBASE

BYTE_UNITS: Final = {
    "": 1,
    "b": 1,
    "k": 1000,
    "kb": 1 << 10,
    "m": 1000**2,
    "mb": 1 << 20,
    "g": 1000**3,
    "gb": 1 << 30,
}
_SIZE = re.compile(r"(\d+)([a-z]{0,2})")
_HOST_NAME = re.compile(r"[A-Za-z0-9.-]*")
_DURATION = re.compile(r"(\d+)([smhd]?)")


class BadOption(Exception):
    """A value that an option does not take; the message is for the operator.

    Without a value it is the name that is wrong: what was meant for an unknown one may be secret.
    """

    def __init__(self, name: str, value: object, allowed: str, source: str = "") -> None:
        shown = without_secret(name, value) if isinstance(value, str) else value
        what = name if value is None else f"{name} = {shown!r}"
        where = f" ({source})" if source else ""
        super().__init__(f"{what}{where}: {allowed}")
        self.name = name
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value is read from text, shown as text, and described."""

    parse: Callable[[str], Any]
    show: Callable[[Any], str]
    allowed: str


def _number(low: int, high: int) -> Kind:
    def parse(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise ValueError
        return number

    return Kind(parse, str, f"a whole number from {low} to {high}")


def _version(type_: int) -> Kind:
    return _number(0, max(CHOICES[type_]))


def parse_size(text: str) -> int:
    """Bytes, with an optional unit: 100, 64kb, 512mb, 1gb."""
    match = _SIZE.fullmatch(text.lower())
    if match is None or match[2] not in BYTE_UNITS:
        raise ValueError
    return int(match[1]) * BYTE_UNITS[match[2]]


def _yes_no(text: str) -> bool:
    return {"yes": True, "no": False, "true": True, "false": False}[text.lower()]


def _one_of(*words: str) -> Kind:
    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError
        return text.lower()

    return Kind(parse, str, "one of " + ", ".join(words))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _output_limits(text: str) -> str:
    """Redis's `class hard soft seconds` groups, in bytes."""
    words = text.split()
    if not words or len(words) % 4:
        raise ValueError
    shown: list[str] = []
    for at in range(0, len(words), 4):
        name = "slave" if words[at] == "replica" else words[at]
        if name not in ("normal", "slave", "pubsub"):
            raise ValueError
        hard, soft = parse_size(words[at + 1]), parse_size(words[at + 2])
        shown.append(f"{name} {hard} {soft} {int(words[at + 3])}")
    return " ".join(shown)


def _file_name(text: str) -> str:
    if not text or "/" in text or text in (".", ".."):
        raise ValueError
    return text


def _octal(text: str) -> str:
    if text and not 0 <= int(text, 8) <= 0o777:
        raise ValueError
    return text


def _host_name(text: str) -> str:
    if len(text) > 255 or not _HOST_NAME.fullmatch(text):
        raise ValueError
    return text


TLS_VERSIONS: Final = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")


def _protocols(text: str) -> str:
    """Versions of TLS, spelt as Redis does, without a gap between them."""
    spelt = {version.lower(): version for version in TLS_VERSIONS}
    chosen = [spelt[word.lower()] for word in text.split()]
    places = sorted({TLS_VERSIONS.index(version) for version in chosen})
    if places and places != list(range(places[0], places[-1] + 1)):
        raise ValueError
    return " ".join(chosen)


ALL_EVENT_CLASSES: Final = "g$lshzxetd"
"""What the letter A of notify-keyspace-events stands for."""


def _event_classes(text: str) -> frozenset[str]:
    """The letters of notify-keyspace-events, with all that A stands for in its place."""
    if not set(text) <= set("A" + ALL_EVENT_CLASSES + "KEmn"):
        raise ValueError
    return frozenset(text.replace("A", ALL_EVENT_CLASSES))


def _show_event_classes(letters: frozenset[str]) -> str:
    """Redis's order; A does not say whether n is there."""
    classes = "".join(letter for letter in ALL_EVENT_CLASSES + "n" if letter in letters)
    shown = "A" if classes.startswith(ALL_EVENT_CLASSES) else classes
    return shown + "".join(letter for letter in "KEm" if letter in letters)


def _redis_url(text: str) -> str:
    if text:
        parse_address(text)
    return text


def _master(text: str) -> str:
    """A host and a port as Redis has them, or an address with redis:// or rediss://."""
    if "://" in text:
        if parse_address(text).path:
            raise ValueError(text)
    elif text:
        _, port = text.split()
        if not 0 < int(port) < 65536:
            raise ValueError(text)
    return text


def parse_seconds(text: str) -> int:
    """A duration such as 90, 90s, 5m, 12h or 7d."""
    match = _DURATION.fullmatch(text)
    if match is None or not int(match[1]):
        raise ValueError
    return int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[match[2]]


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A `[[policy]]` of the file, as it stands there."""

    match: str
    db: int | None = None
    hash: int | None = None
    set: int | None = None
    zset: int | None = None
    cache: bool = True
    cache_ttl: int | None = None
    source: str = ""


MAXMEMORY_POLICIES: Final = (
    *("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"),
    *("allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"),
)
ENDING_WORDS: Final = ("default", "save", "nosave", "now", "force")


def _size_or_share(text: str) -> str:
    """Bytes, or a share of maxmemory such as 5%."""
    if not text.endswith("%"):
        return str(parse_size(text))
    if not 0 <= int(text[:-1]) <= 100:
        raise ValueError
    return f"{int(text[:-1])}%"


def _save_points(text: str) -> str:
    """Pairs of seconds and changes."""
    numbers = [int(word) for word in text.split()]
    if (
        len(numbers) % 2
        or any(number < 1 for number in numbers[::2])
        or min(numbers, default=0) < 0
    ):
        raise ValueError
    return " ".join(map(str, numbers))


def _endings(text: str) -> str:
    """What SHUTDOWN would be told, in Redis's order."""
    words = text.lower().split()
    if not words or not set(words) <= set(ENDING_WORDS) or {"save", "nosave"} <= set(words):
        raise ValueError
    if len(words) > 1 and "default" in words:
        words.remove("default")  # it stands for none of the others
    return " ".join(word for word in ENDING_WORDS if word in words)


def _scores(text: str) -> str:
    """Three numbers for oom_score_adj, none below the one before."""
    scores = [int(word) for word in text.split()]
    if len(scores) != 3 or not all(-2000 <= score <= 2000 for score in scores):
        raise ValueError
    return " ".join(map(str, scores))


TEXT: Final = Kind(str, str, "text")
SIZE_OR_SHARE: Final = Kind(
    _size_or_share, str, "a size in bytes, or a share of maxmemory such as 5%"
)
SAVE_POINTS: Final = Kind(_save_points, str, "pairs of seconds and changes, or empty")
ENDINGS: Final = Kind(
    _endings, str, "some of default, save, nosave, now, force; not both save and nosave"
)
SCORES: Final = Kind(_scores, str, "three numbers from -2000 to 2000")
PROTOCOLS: Final = Kind(_protocols, str, f"some of {' '.join(TLS_VERSIONS)}")
HOST_NAME: Final = Kind(_host_name, str, "a name of letters, digits, hyphens and dots, or empty")
FILE_NAME: Final = Kind(_file_name, str, "the name of a file, without a path")
REDIS_URL: Final = Kind(_redis_url, str, "a redis://, rediss:// or unix:// address, or empty")
MASTER: Final = Kind(_master, str, "a host and a port, a redis:// or rediss:// address, or empty")
DURATION: Final = Kind(parse_seconds, str, "a duration such as 90s, 5m, 12h or 7d")
WORDS: Final = Kind(_words, " ".join, "words separated by spaces")
SIZE: Final = Kind(parse_size, str, "a size in bytes, with b, kb, mb or gb if you like")
YES_NO: Final = Kind(_yes_no, lambda value: "yes" if value else "no", "yes or no")
PORT: Final = _number(0, 65535)
PERMISSIONS: Final = Kind(_octal, str, "octal permissions such as 700")
COUNT: Final = _number(0, 2**31 - 1)
EVENTS: Final = Kind(_event_classes, _show_event_classes, "letters of Ag$lshzxeKEtmdn")
LIMITS: Final = Kind(_output_limits, str, "groups of: normal|pubsub hard-bytes soft-bytes seconds")


_ON_OFF = Kind(
    lambda text: {"on": True, "off": False, "yes": True, "no": False}[text.lower()],
    lambda value: "on" if value else "off",
    "on or off",
)
_RULE_KINDS: Final = {
    "match": TEXT,
    "db": COUNT,
    "hash": _version(HASH),
    "set": _version(SET),
    "zset": _version(ZSET),
    "cache": _ON_OFF,
    "cache_ttl": DURATION,
}


def option(
    default: Any,
    kind: Kind,
    doc: str,
    *,
    live: bool = False,
    secret: bool = False,
    hidden: bool = False,
) -> Any:
    """Declare an option; a `live` one can be changed with CONFIG SET, a `secret` one is not logged.

    An address is shown without its password. A `hidden` one is for those who work on StrataKV: it
    is set by its environment variable, and shown nowhere.
    """
    return field(
        default=default,
        metadata={"kind": kind, "doc": doc, "live": live, "secret": secret, "hidden": hidden},
    )


Effects = dict[str, Callable[[Any], None]]
"""What to do with the new value of an option that somebody keeps a copy of, or acts upon at once.
Its owner has them in `effects`; an option that is looked up when it is needed has none. Options of
one thing may share one effect: it takes place once, when all of them have their new values."""


class EffectFailed(Exception):
    """A value cannot be put into force, and all is as it was; the text is Redis's reason."""


@dataclass(slots=True)
class Options:
    """Everything that can be configured. Names have hyphens where Python has underscores."""

    bind: tuple[str, ...] = option(("127.0.0.1",), WORDS, "addresses to listen on", live=True)
    port: int = option(
        6380, PORT, "TCP port; 0 takes a free one and prints it, or none beside tls-port", live=True
    )
    tls_port: int = option(0, PORT, "TCP port for TLS; 0 for none", live=True)
    tls_cert_file: str = option("", TEXT, "our certificate, PEM", live=True)
    tls_key_file: str = option("", TEXT, "its private key, PEM", live=True)
    tls_key_file_pass: str = option("", TEXT, "password of that key", live=True, secret=True)
    tls_client_cert_file: str = option(
        "", TEXT, "certificate to show to a master; empty takes tls-cert-file", live=True
    )
    tls_client_key_file: str = option("", TEXT, "its private key", live=True)
    tls_client_key_file_pass: str = option("", TEXT, "password of that key", live=True, secret=True)
    tls_ca_cert_file: str = option(
        "", TEXT, "authorities whose certificates are believed, PEM", live=True
    )
    tls_ca_cert_dir: str = option("", TEXT, "the same as a directory of OpenSSL's", live=True)
    tls_auth_clients: str = option(
        "yes",
        _one_of("yes", "no", "optional"),
        "whether clients must show a certificate",
        live=True,
    )
    tls_auth_clients_user: str = option(
        "off",
        _one_of("off", "cn"),
        "cn: a client is the user that its certificate names",
        live=True,
    )
    tls_protocols: str = option(
        "", PROTOCOLS, "neighbours among TLSv1.2 and TLSv1.3; empty takes both", live=True
    )
    tls_ciphers: str = option("", TEXT, "ciphers up to TLSv1.2, in OpenSSL's words", live=True)
    tls_prefer_server_ciphers: bool = option(
        False, YES_NO, "choose ciphers by our order instead of the client's", live=True
    )
    tls_replication: bool = option(False, YES_NO, "follow the master over TLS", live=True)
    unixsocket: str = option("", TEXT, "path of a unix socket to listen on as well")
    unixsocketperm: str = option("", PERMISSIONS, "octal permissions of the unix socket")
    http_port: int = option(9121, PORT, "port of /metrics and /healthz; 0 takes a free one")
    http: bool = option(True, YES_NO, "serve /metrics and /healthz at all")
    http_tls: bool = option(False, YES_NO, "serve them over TLS, with tls-cert-file")
    dir: str = option("./stratakv-data", TEXT, "data directory")
    dbfilename: str = option(
        "dump.rdb",
        FILE_NAME,
        "the file in it that SAVE and BGSAVE write a dump to",
        live=True,
    )
    rdb_version: int = option(
        10,
        _number(9, 10),
        "version of the dumps that others get: 9 for Redis 6.2 and older",
        live=True,
    )
    save: str = option(
        "",
        SAVE_POINTS,
        "write a dump after so many seconds with so many changes, in pairs; empty never",
        live=True,
    )
    engine: str = option("leveldb", _one_of(*ENGINES, HBASE), "where rows are kept")
    hbase_zookeeper: str = option(
        "", TEXT, "with engine hbase: host:port,host:port of the ZooKeeper of that HBase"
    )
    hbase_table: str = option(
        "stratakv", TEXT, "with engine hbase: the table, made if it is not there"
    )
    hbase_patience: int = option(
        90, DURATION, "with engine hbase: how long it may be away before its clients hear of it"
    )
    cluster_enabled: bool = option(
        False, YES_NO, "be a node of a cluster; with an embedded engine, of one that has all slots"
    )
    cluster_announce_ip: str = option(
        "", TEXT, "the address of this node that clients of the cluster are told", live=True
    )
    cluster_announce_port: int = option(0, PORT, "the same for its port; 0 is port", live=True)
    cluster_announce_tls_port: int = option(
        0, PORT, "the same for its TLS port; 0 is tls-port", live=True
    )
    cluster_announce_hostname: str = option(
        "", HOST_NAME, "a name of this node that clients of the cluster are told", live=True
    )
    cluster_preferred_endpoint_type: str = option(
        "ip",
        _one_of("ip", "hostname", "unknown-endpoint"),
        "what clients are to find nodes by: addresses, names, or where they have connected to",
        live=True,
    )
    cluster_require_full_coverage: bool = option(
        True, YES_NO, "serve nothing while a slot of the cluster has no node", live=True
    )
    cluster_allow_reads_when_down: bool = option(
        False, YES_NO, "serve what only reads even then", live=True
    )
    cluster_allow_pubsubshard_when_down: bool = option(
        True, YES_NO, "serve shard channels even then", live=True
    )
    hbase_groups: int = option(
        1,
        _number(1, 16384),
        "with engine hbase: groups of slots in the table, for as long as it lives; several are "
        "shared out between the nodes of a cluster",
    )
    cluster_node_timeout: int = option(
        5000,
        _number(1000, 60_000),
        "milliseconds after which a node that is silent has lost its groups: the lease",
    )
    databases: int = option(16, _number(1, 4096), "number of databases for SELECT")
    durability: str = option(
        "os",
        _one_of("os", "everysec", "always"),
        "os survives kill -9; everysec loses at most a second at a power failure; always fsyncs",
        live=True,
    )
    requirepass: str = option("", TEXT, "password that clients must give", live=True, secret=True)
    protected_mode: bool = option(
        True, YES_NO, "without a password, serve clients of this machine alone", live=True
    )
    aclfile: str = option("", TEXT, "file of the users, in dir if it has no path of its own")
    acl_pubsub_default: str = option(
        "resetchannels",
        _one_of("resetchannels", "allchannels"),
        "which channels new users may use: none or all",
        live=True,
    )
    acllog_max_len: int = option(128, COUNT, "entries that ACL LOG keeps", live=True)
    acl_max_failures: int = option(
        0, COUNT, "wrong passwords in a minute until an address waits; 0 any number", live=True
    )
    maxclients: int = option(10000, _number(1, 2**31 - 1), "clients at once", live=True)
    timeout: int = option(0, COUNT, "seconds until an idle client is cut; 0 never", live=True)
    tcp_keepalive: int = option(300, COUNT, "seconds between TCP keepalives; 0 none", live=True)
    tcp_backlog: int = option(511, COUNT, "length of the listen queue")
    proto_max_bulk_len: int = option(512 << 20, SIZE, "largest argument and string", live=True)
    client_output_buffer_limit: str = option(
        "normal 268435456 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
        LIMITS,
        "unsent bytes at which a client that does not read is cut",
        live=True,
    )
    client_query_buffer_limit: int = option(
        1 << 30, SIZE, "largest request in the making", live=True
    )
    tracking_table_max_keys: int = option(
        1_000_000,
        _number(0, 2**63 - 1),
        "keys of which is known who has a copy (CLIENT TRACKING); 0 any number",
        live=True,
    )
    maxmemory: int = option(
        0,
        SIZE,
        "memory of the process itself beyond which copies of data leave it; 0 by the machine's",
        live=True,
    )
    maxmemory_policy: str = option(
        "noeviction",
        _one_of(*MAXMEMORY_POLICIES),
        "with lfu in it, how often keys are used is counted; copies go by their last use",
        live=True,
    )
    lfu_log_factor: int = option(10, COUNT, "how slowly that count grows", live=True)
    lfu_decay_time: int = option(1, COUNT, "minutes until it is less by one; 0 never", live=True)
    maxmemory_clients: str = option(
        "0",
        SIZE_OR_SHARE,
        "memory of all clients beyond which the largest are cut; 0 any amount",
        live=True,
    )
    meta_cache_bytes: int = option(
        0,
        SIZE,
        "decoded metas and strings in memory; 0 takes 5/128 of the machine's, 120 mb to 1280 mb",
        live=True,
    )
    rank_directory_bytes: int = option(
        32 << 20,
        SIZE,
        "where ranks are in large sorted sets, in memory, and half as much for small ones; 0 walks",
        live=True,
    )
    rank_directory_members: int = option(
        1200, COUNT, "the smallest sorted set that has a directory of ranks", hidden=True
    )
    block_cache_bytes: int = option(
        0, SIZE, "LevelDB's block cache; 0 takes 2/128 of the machine's memory, 48 mb to 512 mb"
    )
    row_cache_bytes: int = option(
        0,
        SIZE,
        "rows of collections in memory; 0 takes 1/128 of the machine's, 24 mb to 256 mb",
        live=True,
    )
    write_buffer_bytes: int = option(32 << 20, SIZE, "LevelDB's memtable")
    maxdisk_bytes: int = option(
        0,
        SIZE,
        "bytes of the data directory beyond which only deleting is possible; 0 any number",
        live=True,
    )
    disk_reserve_bytes: int = option(
        384 << 20,
        SIZE,
        "room kept for deleting on a full disk: twelve write buffers, a fifth of the disk at most",
    )
    bloom_bits: int = option(10, _number(0, 32), "LevelDB's bloom filter, bits per row")
    max_open_files: int = option(1000, _number(64, 1_000_000), "LevelDB's open tables")
    compression: bool = option(True, YES_NO, "compress LevelDB's blocks with snappy")
    hash_encoding: int = option(
        0,
        _version(HASH),
        "encode-version of new hashes: 0 exact, 1 blind writes; 2 and 3 the same with Redis cache",
        live=True,
    )
    set_encoding: int = option(
        0,
        _version(SET),
        "encode-version of new sets: 0 exact, 1 blind writes; 2 and 3 the same with Redis cache",
        live=True,
    )
    zset_encoding: int = option(
        0,
        _version(ZSET),
        "encode-version of new sorted sets: 0 ordered in the store, 1 in Redis, 2 in Redis by short"
        " names, 3 scores in Redis alone",
        live=True,
    )
    cache_url: str = option("", REDIS_URL, "a Redis as cache tier; empty for none", live=True)
    zset_store_url: str = option("", REDIS_URL, "the Redis that keeps sorted sets v3", live=True)
    zset_store_may_evict: bool = option(
        False, YES_NO, "accept a zset-store that evicts keys, and so loses data"
    )
    cache_timeout: int = option(
        50, _number(1, 60_000), "milliseconds until a silent Redis is bypassed", live=True
    )
    zset_store_timeout: int = option(
        1000, _number(1, 60_000), "milliseconds until a silent zset-store is an error", live=True
    )
    cache_ttl: int = option(86_400, DURATION, "how long cache entries live", live=True)
    bind_source_addr: str = option("", TEXT, "address to follow the master from", live=True)
    replicaof: str = option("", MASTER, "the master to follow; empty for none")
    masteruser: str = option("", TEXT, "user to be at the master", live=True)
    masterauth: str = option("", TEXT, "password of the master", live=True, secret=True)
    replica_read_only: bool = option(
        True, YES_NO, "refuse what clients write to a replica", live=True
    )
    replica_serve_stale_data: bool = option(
        True, YES_NO, "answer as a replica while the master is away", live=True
    )
    replica_priority: int = option(
        100, COUNT, "the lowest becomes master first at a fail-over; 0 never", live=True
    )
    replica_announce_ip: str = option("", TEXT, "address that masters tell of us", live=True)
    replica_announce_port: int = option(0, PORT, "port that masters tell of us", live=True)
    repl_timeout: int = option(
        60, _number(1, 2**31 - 1), "seconds until a silent master or replica is cut", live=True
    )
    repl_ping_replica_period: int = option(
        10, _number(1, 2**31 - 1), "seconds between a master's signs of life", live=True
    )
    repl_backlog_size: int = option(
        1 << 20, SIZE, "bytes of the stream kept for replicas that come back", live=True
    )
    repl_backlog_ttl: int = option(
        3600, COUNT, "seconds without a replica until the stream ends; 0 never", live=True
    )
    min_replicas_to_write: int = option(
        0, COUNT, "refuse writes with fewer replicas than that", live=True
    )
    min_replicas_max_lag: int = option(
        10, COUNT, "seconds since its last sign that a replica counts", live=True
    )
    notify_keyspace_events: frozenset[str] = option(
        frozenset(), EVENTS, "events that are published: K and E with classes, A for all", live=True
    )
    slowlog_log_slower_than: int = option(
        10000, _number(-1, 2**31 - 1), "microseconds; -1 logs nothing", live=True
    )
    slowlog_max_len: int = option(128, COUNT, "entries that the slow log keeps", live=True)
    slowlog_to_log: bool = option(
        False, YES_NO, "write calls that the slow log takes to the log as well", live=True
    )
    latency_monitor_threshold: int = option(
        0, COUNT, "milliseconds from which LATENCY records events; 0 none", live=True
    )
    busy_reply_threshold: int = option(
        5000, COUNT, "milliseconds until those who wait for a script hear BUSY; 0 never", live=True
    )
    script_memory_limit: int = option(256 << 20, SIZE, "memory of one Lua state", live=True)
    log_level: str = option(
        "warning", _one_of("debug", "info", "warning", "error"), "how much is logged", live=True
    )
    log_file: str = option("", TEXT, "file of the log, else the standard error; SIGHUP reopens it")
    log_format: str = option("text", _one_of("text", "json", "redis"), "how log lines look")
    pidfile: str = option("", TEXT, "file that holds the process's number while it runs")
    shutdown_on_sigterm: str = option(
        "default",
        ENDINGS,
        "how SIGTERM ends it, as SHUTDOWN does: default writes a dump if there are save points",
        live=True,
    )
    shutdown_on_sigint: str = option("default", ENDINGS, "how SIGINT ends it", live=True)
    shutdown_timeout: int = option(
        10, COUNT, "seconds that the end waits for replicas to have everything; 0 none", live=True
    )
    oom_score_adj: str = option(
        "no",
        _one_of("no", "yes", "relative", "absolute"),
        "choose whom the system ends when it has no memory left; yes is relative",
        live=True,
    )
    oom_score_adj_values: str = option(
        "0 200 800",
        SCORES,
        "for that: as a master, as a replica, and of children, of which there are none",
        live=True,
    )
    daemonize: bool = option(False, YES_NO, "go to the background")
    supervised: str = option(
        "no",
        _one_of("no", "systemd", "upstart", "auto"),
        "who started it and waits: then it stays in the foreground; auto looks",
    )
    enable_protected_configs: str = option(
        "no",
        _one_of("no", "yes", "local"),
        "who may change dbfilename; local: over loopback or a socket",
    )
    enable_debug_command: str = option(
        "no", _one_of("no", "yes", "local"), "who may use DEBUG; local: over loopback or a socket"
    )
    debug_invariants: bool = option(
        False,
        YES_NO,
        "look at the invariants after each turn, and stop at a broken one",
        hidden=True,
    )
    policies: tuple[PolicyRule, ...] = ()
    users: tuple[str, ...] = ()
    """The lines under `user` in the file: a name and its rules each."""
    renames: tuple[tuple[str, str], ...] = ()
    """The table `rename-command` of the file, in its order: a command and its new name, or none."""
    config: str = ""
    """The file that was read, if any."""
    is_like_redis: bool = False
    """Whether it is a redis.conf; then port 0 is no port, and paths are seen from `dir`."""
    started_in: str = ""
    """Where the process was when it read a redis.conf; it is in `dir` since."""
    redis_settings: Mapping[str, str] = field(default_factory=dict)
    """What a redis.conf says of Redis's names that are no options."""

    @property
    def store_directory(self) -> Path:
        """Where the rows are: `dir`, or, where other files of a Redis may lie there, within it."""
        directory = Path(self.dir)
        is_store = (directory / "CURRENT").exists()
        return directory / "stratakv" if self.is_like_redis and not is_store else directory


@dataclass(frozen=True, slots=True)
class Given:
    """What was read from a redis.conf (proxy/config/redis_conf.py); each value with its place."""

    file: str
    texts: Mapping[str, tuple[str, str]]
    flags: Mapping[str, tuple[str, str]]
    """Those of the command line."""
    users: tuple[str, ...]
    renames: tuple[tuple[str, str], ...]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    """What has no effect here, and why."""


def declared(*, with_hidden: bool = False) -> dict[str, Field[Any]]:
    """The options by their hyphenated names."""
    return {
        entry.name.replace("_", "-"): entry
        for entry in fields(Options)
        if "kind" in entry.metadata and (with_hidden or not entry.metadata["hidden"])
    }


def parse(name: str, text: str, source: str = "") -> Any:
    """The value of an option out of its text; raises `BadOption`."""
    kind: Kind = declared(with_hidden=True)[name].metadata["kind"]
    try:
        return kind.parse(text)
    except (ValueError, KeyError):
        raise BadOption(name, text, f"must be {kind.allowed}", source) from None


def show(options: Options, name: str) -> str:
    """An option's value as CONFIG GET prints it."""
    entry = declared()[name]
    kind: Kind = entry.metadata["kind"]
    return kind.show(getattr(options, entry.name))


REDACTED: Final = "(redacted)"


def without_secret(name: str, text: str) -> str:
    """The text of an option as logs and messages may show it."""
    entry = declared().get(name)
    if entry is None or not text:
        return text
    if entry.metadata["secret"]:
        return REDACTED
    return without_password(text) if entry.metadata["kind"] is REDIS_URL else text


def holds_secret(name: str) -> bool:
    """Whether an option's value may carry a password."""
    entry = declared().get(name)
    return entry is not None and (entry.metadata["secret"] or entry.metadata["kind"] is REDIS_URL)


def summary(options: Options) -> str:
    """The options that differ from their defaults, for the log."""
    usual = Options()
    changed = [
        f"{name}={without_secret(name, show(options, name))!r}"
        for name in declared()
        if show(options, name) != show(usual, name)
    ]
    changed += [f"policy={rule.match!r}" for rule in options.policies]
    changed += [f"{RENAMES}={name!r}" for name, _ in options.renames]
    return " ".join(changed) or "all defaults"


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables that have our prefix and are no options; raises `BadOption` for a misspelt one.

    Others are left alone: orchestrators set such names for a service that is called stratakv.
    """
    known = {_variable(name) for name in declared(with_hidden=True)}
    strangers = [
        name
        for name in environment
        if name.startswith(PREFIX) and name not in known and not name.startswith(CONSOLE_PREFIX)
    ]
    for name in strangers:
        nearest = _nearest(name.removeprefix(PREFIX), _stems(known), MISSPELT)
        if nearest:
            raise BadOption(name, None, f"is not an option; did you mean {PREFIX}{nearest}?")
    return sorted(strangers)


PREFIX: Final = "STRATAKV_"
CONSOLE_PREFIX: Final = "STRATAKV_CONSOLE_"
"""What is said to `stratakv console`, maybe in the same environment."""
MISSPELT: Final = 0.8
"""How alike a name and an option's must be for a slip of the pen (see difflib)."""


def _variable(name: str) -> str:
    return PREFIX + name.replace("-", "_").upper()


def _stems(variables: Iterable[str]) -> list[str]:
    return [name.removeprefix(PREFIX) for name in variables]


def _nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """The known name that a name looks like, if there is one."""
    from difflib import get_close_matches  # 2 ms that most starts do not need

    return next(iter(get_close_matches(name, list(known), 1, alike)), "")


def _with_nearest(reason: str, name: str, known: Iterable[str]) -> str:
    nearest = _nearest(name, known)
    return f"{reason}; did you mean {nearest}?" if nearest else reason


def load(
    flags: Mapping[str, str],
    environment: Mapping[str, str],
    file: Path | None,
    given: Given | None = None,
) -> Options:
    """Put the options together; raises `BadOption` for the first bad value."""
    texts: dict[str, tuple[str, str]] = {}
    options = Options()
    unknown_variables(environment)
    if file is not None:
        options.config = str(file.absolute())
        entries, lines = _read_file(file)
        options.policies = tuple(_read_rules(entries.pop("policy", []), file, lines))
        options.users = tuple(_read_users(entries.pop("user", []), file))
        options.renames = tuple(_read_renames(entries.pop(RENAMES, {}), file))
        for name, text in _texts(entries, file):
            texts[name] = (text, f"in {file}")
    if given is not None:
        options.config, options.users, options.renames = given.file, given.users, given.renames
        options.is_like_redis, options.redis_settings = True, given.settings
        options.started_in = os.getcwd()
        texts.update(given.texts)
    for name in declared(with_hidden=True):
        variable = _variable(name)
        if variable in environment:
            texts[name] = (environment[variable], f"from {variable}")
    if given is not None:
        texts.update(given.flags)
    for name, text in flags.items():
        texts[name] = (text, f"from --{name}")
    for name, (text, source) in texts.items():
        setattr(options, name.replace("-", "_"), parse(name, text, source))
    sources = {name: source for name, (_, source) in texts.items()}
    check_tier(options, sources)
    check_groups(options, sources)
    return options


def check_groups(options: Options, sources: Mapping[str, str]) -> None:
    """Refuse what cannot be where keys are in several groups of slots."""
    groups = options.hbase_groups
    if groups == 1:
        return
    if options.engine != HBASE:
        raise BadOption(
            "hbase-groups", groups, "needs engine hbase", sources.get("hbase-groups", "")
        )
    for name in ("cache-url", "zset-store-url", "save"):
        value = getattr(options, name.replace("-", "_"))
        if value:
            raise BadOption(name, value, "cannot be with hbase-groups", sources.get(name, ""))


_TYPES: Final = {NAMES[type_].decode(): type_ for type_ in CHOICES}
"""The key-types whose encode-version is an option, by name."""


def check_tier(options: Options, sources: Mapping[str, str]) -> None:
    """Refuse versions that need a Redis where none is configured."""
    for kind in _TYPES:
        name = f"{kind}-encoding"
        version = getattr(options, f"{kind}_encoding")
        check_version(options, kind, version, name, sources.get(name, ""))
        for rule in options.policies:
            check_version(options, kind, getattr(rule, kind) or 0, f"{kind}", rule.source)


def check_version(options: Options, kind: str, version: int, name: str, source: str = "") -> None:
    """Refuse a version of one type if it needs a Redis that is not configured."""
    wanted = FORMATS[_TYPES[kind]][version]
    if wanted.remote:
        if not options.zset_store_url:
            raise BadOption(name, version, "needs a zset-store-url", source)
    elif wanted.tiered and not options.cache_url:
        raise BadOption(name, version, "needs a cache-url", source)


def _read_file(file: Path) -> tuple[dict[str, Any], list[str]]:
    import tomllib  # 4 ms that most starts do not need

    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text), text.splitlines()
    except OSError as error:
        raise BadOption("config", str(file), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadOption("config", str(file), f"is not UTF-8: {_bad_byte(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadOption("config", str(file), f"is not valid TOML: {error}") from None


def _bad_byte(error: UnicodeDecodeError) -> str:
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"byte 0x{error.object[error.start]:02x} in line {line}"


def _read_users(lines: Any, file: Path) -> Iterable[str]:
    """The list `user` of a file. What is wrong with a rule is told by who knows the commands."""
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise BadOption("user", None, "must be a list of texts: a name and its rules", f"in {file}")
    return lines


RENAMES: Final = "rename-command"


def _read_renames(table: Any, file: Path) -> Iterable[tuple[str, str]]:
    """The table `rename-command` of a file. Which commands there are is known elsewhere."""
    if not isinstance(table, dict) or not all(isinstance(new, str) for new in table.values()):
        reason = 'must be a table of commands and their new names, "" for none'
        raise BadOption(RENAMES, None, reason, f"in {file}")
    return table.items()


def _read_rules(tables: Any, file: Path, lines: list[str]) -> Iterable[PolicyRule]:
    """The `[[policy]]` tables of a file; raises `BadOption` with the line of the bad one."""
    starts = [at for at, line in enumerate(lines, 1) if line.strip().startswith("[[policy]]")]
    if not isinstance(tables, list):
        raise BadOption("policy", tables, "must be [[policy]] tables", f"in {file}")
    for number, table in enumerate(tables):
        line = starts[number] if number < len(starts) else 0
        yield _read_rule(table, f"{file}, line {line}")


def _read_rule(table: Mapping[str, Any], source: str) -> PolicyRule:
    values: dict[str, Any] = {}
    for name, value in table.items():
        kind = _RULE_KINDS.get(name.replace("-", "_"))
        if kind is None:
            reason = _with_nearest("is not part of a policy", name, _RULE_KINDS)
            raise BadOption(name, value, reason, source)
        try:
            values[name.replace("-", "_")] = kind.parse(_as_text(value))
        except (ValueError, KeyError):
            raise BadOption(name, value, f"must be {kind.allowed}", source) from None
    if "match" not in values:
        raise BadOption("policy", dict(table), "needs a match", source)
    return PolicyRule(source=source, **values)


def _texts(entries: Mapping[str, Any], file: Path) -> Iterable[tuple[str, str]]:
    for key, value in entries.items():
        name = key.replace("_", "-")
        if name not in declared():
            reason = _with_nearest("is not an option", name, declared())
            raise BadOption(key, None, reason, f"in {file}")
        yield name, _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return str(value)


def from_environment() -> Mapping[str, str]:
    """The process's environment."""
    return os.environ
