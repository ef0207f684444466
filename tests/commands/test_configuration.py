"""CONFIG: Redis's names, limits and words, and what a change does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.commands.test_connection import calls, same_bytes
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, WireClient

CALLS = """
CONFIG GET
CONFIG GET nosuch
CONFIG GET MAXMEMORY
CONFIG GET TIMEOUT timeout
CONFIG GET TIME[O]UT
CONFIG SET nosuch x
CONFIG SET NOSUCH x
CONFIG SET databases 5
CONFIG SET DATABASES 5
CONFIG SET dir /nowhere
CONFIG SET maxmemory
CONFIG SET maxmemory abc
CONFIG SET maxmemory -1
CONFIG SET maxmemory 1gbb
CONFIG SET maxmemory 0
CONFIG GET maxmemory
CONFIG SET timeout abc
CONFIG SET TIMEOUT abc
CONFIG SET timeout -1
CONFIG SET timeout 99999999999
CONFIG SET timeout ""
CONFIG SET timeout 0 timeout 1
CONFIG SET timeout 7 nosuch x
CONFIG SET timeout 7 slowlog-max-len abc
CONFIG SET timeout 7 databases 1
CONFIG GET timeout
CONFIG SET timeout 0 slowlog-max-len
CONFIG SET slowlog-max-len -1
CONFIG SET slowlog-log-slower-than -2
CONFIG SET latency-monitor-threshold -1
CONFIG SET appendonly foo
CONFIG SET appendfsync foo
CONFIG SET maxmemory-policy foo
CONFIG SET maxmemory-policy NOEVICTION
CONFIG GET maxmemory-policy
CONFIG SET save ""
CONFIG SET appendonly no
CONFIG GET save
CONFIG SET save abc
CONFIG SET save "900 1 300"
CONFIG SET save "0 1"
CONFIG SET loglevel foo
CONFIG SET hash-max-ziplist-entries 10
CONFIG GET hash-max-listpack-entries
CONFIG SET hash-max-listpack-entries 64 hash-max-ziplist-entries 20
CONFIG GET hash-max-listpack-entries
CONFIG SET hash-max-listpack-value 1kb
CONFIG GET hash-max-ziplist-value
CONFIG SET zset-max-listpack-value -1
CONFIG SET notify-keyspace-events KEA
CONFIG GET notify-keyspace-events
CONFIG SET notify-keyspace-events Kg
CONFIG GET notify-keyspace-events
CONFIG SET notify-keyspace-events foo
CONFIG SET client-output-buffer-limit "normal 0 0"
CONFIG SET client-output-buffer-limit "foo 0 0 0"
CONFIG SET client-output-buffer-limit "normal a 0 0"
CONFIG SET client-output-buffer-limit "normal 0 0 -1"
CONFIG SET client-output-buffer-limit "normal 1mb 2 3 replica 4 5 6"
CONFIG GET client-output-buffer-limit
CONFIG SET proto-max-bulk-len 100
CONFIG SET client-query-buffer-limit 1
CONFIG SET maxclients 0
CONFIG GET hz
CONFIG SET tcp-backlog 5
CONFIG SET maxmemory-clients 200%
CONFIG SET maxmemory-clients -5%
CONFIG SET maxmemory-clients abc
CONFIG GET maxmemory-clients
CONFIG GET maxmemory-clients
CONFIG SET maxmemory-clients 5%
CONFIG GET maxmemory-clients
CONFIG SET maxmemory-clients 0
CONFIG SET maxmemory 100mb
CONFIG GET maxmemory
CONFIG SET maxmemory 0
CONFIG SET maxmemory-policy allkeys-LFU
CONFIG GET maxmemory-policy
CONFIG SET maxmemory-policy noeviction lfu-decay-time -1
CONFIG SET maxmemory-policy noeviction
CONFIG SET maxmemory-samples 0
CONFIG SET maxmemory-samples 5
CONFIG SET save "3600 1 300"
CONFIG SET save "3600 1 300 x"
CONFIG SET save "0 1"
CONFIG SET save "3600 1  300 100"
CONFIG GET save
CONFIG SET save "3600 1 300 100"
CONFIG GET save
CONFIG SET save ""
CONFIG GET save
CONFIG SET shutdown-on-sigterm "save nosave"
CONFIG SET shutdown-on-sigterm foo
CONFIG SET shutdown-on-sigterm "now default NOSAVE"
CONFIG GET shutdown-on-sigterm
CONFIG GET shutdown-on-sigint
CONFIG SET shutdown-on-sigterm default shutdown-on-sigint "force save"
CONFIG GET shutdown-on-sigterm
CONFIG GET shutdown-on-sigint
CONFIG SET shutdown-on-sigint default
CONFIG SET oom-score-adj-values "1 2"
CONFIG SET oom-score-adj-values "1 2 3000"
CONFIG SET oom-score-adj-values "1 2 x"
CONFIG SET oom-score-adj-values "0 200 800"
CONFIG GET oom-score-adj-values
CONFIG SET oom-score-adj maybe
CONFIG SET oom-score-adj relative
CONFIG GET oom-score-adj
CONFIG SET oom-score-adj no
CONFIG SET bind-source-addr 127.0.0.2
CONFIG GET bind-source-addr
CONFIG SET bind-source-addr ""
CONFIG GET key-load-delay
CONFIG GET key-load-dela*
CONFIG SET rdb-key-save-delay 0
CONFIG SET slave-priority 100
CONFIG GET replica-priority
CONFIG SET replica-priority 100
CONFIG SET sanitize-dump-payload foo
CONFIG SET databases 16
CONFIG SET latency-tracking-info-percentiles "10 abc"
CONFIG SET latency-tracking-info-percentiles 101
CONFIG SET latency-tracking-info-percentiles "0.0 50.50 100"
CONFIG GET latency-tracking-info-percentiles
CONFIG SET latency-tracking-info-percentiles ""
CONFIG GET latency-tracking-info-percentiles
CONFIG SET latency-tracking-info-percentiles "50 99 99.9"
CONFIG RESETSTAT x
CONFIG REWRITE
CONFIG foo
CONFIG
"""

RESTORED = [
    *[("timeout", "0"), ("appendonly", "no"), ("appendfsync", "everysec"), ("loglevel", "notice")],
    *[("hash-max-listpack-entries", "512"), ("hash-max-listpack-value", "64")],
    *[("set-max-intset-entries", "512"), ("zset-max-listpack-entries", "128")],
    *[("zset-max-listpack-value", "64"), ("hll-sparse-max-bytes", "3000")],
    *[("notify-keyspace-events", ""), ("durability", "os"), ("slowlog-max-len", "128")],
    *[("slowlog-log-slower-than", "10000"), ("latency-monitor-threshold", "0")],
    ("client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60"),
]


@pytest.fixture(autouse=True)
def restored(redis_wire: WireClient, strata_wire: WireClient) -> Iterator[None]:
    """The servers are shared by all tests: give them back as they were."""
    limits = strata_wire.send("CONFIG", "GET", "client-output-buffer-limit").frame.blobs()
    yield
    for wire in (redis_wire, strata_wire):
        for name, value in RESTORED:
            wire.send("CONFIG", "SET", name, value)
    strata_wire.send("CONFIG", "SET", *limits)


def test_replies_are_those_of_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    commands = [tuple(shlex.split(line)) for line in CALLS.strip().splitlines()]
    same_bytes(redis_wire, strata_wire, commands)


def test_every_name_that_redis_has_too_has_its_default(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = (
        {name.data: value.data for name, value in wire.send("CONFIG", "GET", "*").frame.pairs()}
        for wire in (redis_wire, strata_wire)
    )
    ours = {b"bind", b"port", b"dir", b"client-output-buffer-limit", b"unixsocketperm"}
    ours |= {b"logfile", b"pidfile", b"unixsocket", b"cluster-node-timeout"}
    ours |= {b"repl-diskless-load", b"repl-diskless-sync-delay"}
    shared = (set(redis) & set(strata)) - ours
    assert len(shared) > 60
    assert {n: (redis[n], strata[n]) for n in shared if redis[n] != strata[n]} == {}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rdbcompression", "no", b"dumps are always written like that"),
        ("auto-aof-rewrite-percentage", "50", b"the log is LevelDB's"),
        ("activedefrag", "yes", b"no heap to defragment"),
        ("hz", "100", b"ten times a second"),
        ("repl-diskless-sync", "no", b"made from a snapshot and streamed"),
        ("replica-announced", "no", b"a replica announces itself"),
        ("proc-title-template", "x", b"service manager"),
    ],
)
def test_what_does_not_exist_here_is_refused_with_the_reason(
    name: str, value: str, reason: bytes, strata_wire: WireClient
) -> None:
    before = strata_wire.send("CONFIG", "GET", name).frame.blobs()
    refused = strata_wire.send("CONFIG", "SET", name, value).raw
    head = b"-ERR CONFIG SET failed (possibly related to argument '%b') - " % name.encode()
    assert refused.startswith(head)
    assert reason in refused
    assert strata_wire.send("CONFIG", "GET", name).frame.blobs() == before


def test_every_name_may_be_set_to_what_it_is(strata_wire: WireClient) -> None:
    everything = strata_wire.send("CONFIG", "GET", "*").frame.pairs()
    assert len(everything) > 100
    for name, value in everything:
        reply = strata_wire.send("CONFIG", "SET", name.data or b"", value.data or b"").raw
        assert reply == b"+OK\r\n" or b"immutable" in reply or b"protected config" in reply, name


def changes(value: bytes) -> list[str]:
    """Other values of the same shape."""
    if value in (b"yes", b"no"):
        return ["no" if value == b"yes" else "yes"]
    return [str(int(value) + 1)] if value.isdigit() else []


def test_no_name_takes_a_value_and_forgets_it(strata_wire: WireClient) -> None:
    """Whatever is accepted is there afterwards; the rest is refused with a reason."""
    strata_wire.send("CLIENT", "NO-EVICT", "ON")  # among the values is one byte for all clients
    for name, value in strata_wire.send("CONFIG", "GET", "*").frame.pairs():
        for change in changes(value.data or b""):
            reply = strata_wire.send("CONFIG", "SET", name.data or b"", change).raw
            shown = strata_wire.send("CONFIG", "GET", name.data or b"").frame.blobs()[1]
            if reply == b"+OK\r\n":
                assert shown == change.encode(), name
                strata_wire.send("CONFIG", "SET", name.data or b"", value.data or b"")
            else:
                assert shown == value.data, name


def shown(wire: WireClient, *names: str) -> list[bytes]:
    return [wire.send("CONFIG", "GET", name).frame.blobs()[1] for name in names]


def test_appendonly_and_appendfsync_are_redis_s_names_for_the_durability(
    strata_wire: WireClient,
) -> None:
    names = ("appendonly", "appendfsync", "durability")
    assert shown(strata_wire, *names) == [b"no", b"everysec", b"os"]
    for change, expected in [
        (("appendonly", "yes"), [b"yes", b"everysec", b"everysec"]),
        (("appendfsync", "always"), [b"yes", b"always", b"always"]),
        (("durability", "everysec"), [b"yes", b"everysec", b"everysec"]),
        (("appendfsync", "no"), [b"yes", b"no", b"os"]),
        (("appendonly", "no"), [b"no", b"no", b"os"]),
        (("appendfsync", "always", "appendonly", "yes"), [b"yes", b"always", b"always"]),
        (("appendonly", "no"), [b"no", b"always", b"os"]),
    ]:
        assert strata_wire.send("CONFIG", "SET", *change).raw == b"+OK\r\n"
        assert shown(strata_wire, *names) == expected, change
        enabled = b"aof_enabled:%d\r\n" % (expected[0] == b"yes")
        assert enabled in strata_wire.send("INFO", "persistence").raw


COMPACT = """
DEL h s z
HSET h a 1 b 2 | SADD s 1 2 3 | ZADD z 1 a 2 b
OBJECT ENCODING h | OBJECT ENCODING s | OBJECT ENCODING z
CONFIG SET hash-max-listpack-entries 1 set-max-intset-entries 2 zset-max-listpack-entries 1
DEL h s z | HSET h a 1 b 2 | SADD s 1 2 3 | ZADD z 1 a 2 b
OBJECT ENCODING h | OBJECT ENCODING s | OBJECT ENCODING z
CONFIG SET hash-max-listpack-entries 9 zset-max-listpack-entries 9
CONFIG SET hash-max-listpack-value 2 zset-max-listpack-value 2
DEL h z | HSET h a 123 | ZADD z 1 abc | OBJECT ENCODING h | OBJECT ENCODING z
DEL h z | HSET h a 12 | ZADD z 1 ab | OBJECT ENCODING h | OBJECT ENCODING z
CONFIG SET hll-sparse-max-bytes 20
DEL hll | PFADD hll a b c d e f g h i j | PFDEBUG ENCODING hll | PFCOUNT hll | DEL hll h s z
"""


def test_the_limits_of_compact_forms_are_followed(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    same_bytes(redis_wire, strata_wire, calls(COMPACT))


def test_config_rewrite_puts_what_was_changed_into_the_file(
    tmp_path: Path, strata_wire: WireClient
) -> None:
    reply = strata_wire.send("CONFIG", "REWRITE").raw
    assert reply == b"-ERR The server is running without a config file\r\n"
    file = tmp_path / "stratakv.toml"
    file.write_text("# ours\nmaxclients = 50\ntimeout = 7\n[[policy]]\nmatch = 'a*'\n")
    server = StrataServer(tmp_path / "data", flags=["--config", str(file)]).start()
    with server.client() as client:
        info = client.send("INFO", "server").raw
        client.send("CONFIG", "SET", "maxclients", "60", "requirepass", 'a"\\b')
        client.send("AUTH", 'a"\\b')
        assert client.send("CONFIG", "REWRITE").raw == b"+OK\r\n"
        text = file.read_text()
        client.send("CONFIG", "SET", "maxclients", "50", "requirepass", "")
        assert client.send("CONFIG", "REWRITE").raw == b"+OK\r\n"
    server.stop()
    assert f"config_file:{file}\r\n".encode() in info
    assert text.startswith('# ours\nmaxclients = "60"\ntimeout = 7\nrequirepass = "a\\"\\\\b"\n')
    assert text.endswith("[[policy]]\nmatch = 'a*'\n")
    assert 'maxclients = "50"\n' in file.read_text()


def test_config_rewrite_of_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_text("maxclients = 50\n")
    server = StrataServer(tmp_path / "data", flags=["--config", str(file)]).start()
    file.unlink()
    with server.client() as client:
        reply = client.send("CONFIG", "REWRITE").raw
    server.stop()
    assert reply.startswith(b"-ERR Rewriting config file: ")


def test_our_own_options_are_there_and_checked(strata_wire: WireClient) -> None:
    assert strata_wire.send("CONFIG", "GET", "durability").frame.blobs() == [b"durability", b"os"]
    assert strata_wire.send("CONFIG", "SET", "durability", "always").raw == b"+OK\r\n"
    assert strata_wire.send("SET", "k", "v").raw == b"+OK\r\n"
    refused = strata_wire.send("CONFIG", "SET", "durability", "never")
    assert b"'durability') - must be one of os, everysec, always" in refused.raw
    assert b"immutable" in strata_wire.send("CONFIG", "SET", "engine", "memory").raw


def test_what_only_a_restart_changes_may_be_set_to_what_it_is(strata_wire: WireClient) -> None:
    names = ("http-port", "engine")
    port, engine = (strata_wire.send("CONFIG", "GET", name).frame.blobs() for name in names)
    assert strata_wire.send("CONFIG", "SET", *port, *engine).raw == b"+OK\r\n"
    assert b"immutable" in strata_wire.send("CONFIG", "SET", "http-port", int(port[1]) + 1).raw
    assert strata_wire.send("PING").raw == b"+PONG\r\n"


def test_latency_percentiles_are_those_that_are_asked_for(strata_wire: WireClient) -> None:
    name = "latency-tracking-info-percentiles"
    strata_wire.send("CONFIG", "SET", name, "0 75")
    strata_wire.send("ECHO", "x")
    shown = strata_wire.send("INFO", "latencystats").raw
    assert re.search(rb"latency_percentiles_usec_echo:p0=[0-9.]+,p75=[0-9.]+\r\n", shown)
    strata_wire.send("CONFIG", "SET", "latency-tracking", "no", name, "50 99 99.9")
    assert b"percentiles_usec" not in strata_wire.send("INFO", "latencystats").raw
    strata_wire.send("CONFIG", "SET", "latency-tracking", "yes")


def test_a_refused_pair_leaves_the_others_as_they_were(strata_wire: WireClient) -> None:
    strata_wire.send("CONFIG", "SET", "timeout", 11, "durability", "never")
    assert strata_wire.send("CONFIG", "GET", "timeout").frame.blobs() == [b"timeout", b"0"]


def test_the_slow_log_follows_its_settings(strata_wire: WireClient) -> None:
    strata_wire.send("CONFIG", "SET", "slowlog-log-slower-than", 0, "slowlog-max-len", 2)
    strata_wire.send("SLOWLOG", "RESET")
    for number in range(5):
        strata_wire.send("ECHO", number)
    assert strata_wire.send("SLOWLOG", "LEN").raw == b":2\r\n"
    entry = (strata_wire.send("SLOWLOG", "GET", 1).frame.items or ())[0].items or ()
    assert [part.kind for part in entry] == [":", ":", ":", "*", "$", "$"]
    assert entry[3].blobs() == [b"SLOWLOG", b"LEN"]
    strata_wire.send("CONFIG", "SET", "slowlog-log-slower-than", -1)
    strata_wire.send("SLOWLOG", "RESET")
    strata_wire.send("ECHO", "x")
    assert strata_wire.send("SLOWLOG", "LEN").raw == b":0\r\n"


def test_the_latency_monitor_follows_its_threshold(strata_wire: WireClient) -> None:
    strata_wire.send("LATENCY", "RESET")
    strata_wire.send("CONFIG", "SET", "latency-monitor-threshold", 1)
    fields = [str(number) for number in range(4000)]
    strata_wire.send("HSET", "h", *fields)

    def events_of_a_read() -> Sequence[Frame]:
        strata_wire.send("HGETALL", "h")
        return strata_wire.send("LATENCY", "LATEST").frame.items or ()

    wait_until(events_of_a_read, "a hash of 2000 fields should take a millisecond")
    strata_wire.send("CONFIG", "SET", "latency-monitor-threshold", 1_000_000)  # and no more of them
    events = strata_wire.send("LATENCY", "LATEST").frame.items or ()
    name, when, latest, worst = events[0].items or ()
    assert name.data in (b"command", b"fast-command")
    assert (worst.number or 0) >= (latest.number or 0) >= 1
    history = strata_wire.send("LATENCY", "HISTORY", name.data or b"").frame.items or ()
    assert [item.number for item in history[-1].items or ()] == [when.number, latest.number]
    assert b"spike" in strata_wire.send("LATENCY", "DOCTOR").raw
    assert b"worst" in strata_wire.send("LATENCY", "GRAPH", name.data or b"").raw
    assert (strata_wire.send("LATENCY", "RESET").frame.number or 0) >= 1
    assert strata_wire.send("LATENCY", "LATEST").raw == b"*0\r\n"
    strata_wire.send("CONFIG", "SET", "latency-monitor-threshold", 0)


def test_resetstat_starts_the_counters_anew(strata_wire: WireClient) -> None:
    strata_wire.send("nosuch")
    assert b"errorstat_ERR" in strata_wire.send("INFO", "errorstats").raw
    assert strata_wire.send("CONFIG", "RESETSTAT").raw == b"+OK\r\n"
    text = strata_wire.send("INFO", "errorstats", "commandstats", "stats").raw
    assert b"errorstat_" not in text
    assert b"cmdstat_echo" not in text
    assert b"total_connections_received:0\r\n" in text
