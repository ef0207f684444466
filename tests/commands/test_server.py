"""Server commands: whole databases, INFO, and what looks inside a running server."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.commands.test_connection import calls, is_silent, same_bytes
from tests.harness.hbase import IS_ON_HBASE
from tests.harness.servers import Process, StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient, encode

CALLS = """
TIME x | LASTSAVE x | SAVE x | SAVE | BGSAVE foo | BGSAVE SCHEDULE x | BGREWRITEAOF x
LOLWUT VERSION abc | LOLWUT VERSION 6 a b | SHUTDOWN ABORT | SHUTDOWN foo | SHUTDOWN ABORT NOW
SHUTDOWN SAVE NOSAVE | SWAPDB 0 16 | SWAPDB a 1 | SWAPDB 0 b | SWAPDB 0 0 | SWAPDB 0 -1
SWAPDB 0 99999999999 | FLUSHALL foo | FLUSHALL ASYNC SYNC | FLUSHALL ASYNC | FLUSHDB SYNC
FLUSHDB | FLUSHDB foo | SLOWLOG | SLOWLOG GET -2 | SLOWLOG GET abc | SLOWLOG GET 1 2
SLOWLOG foo | SLOWLOG RESET | LATENCY | LATENCY LATEST | LATENCY HISTORY command
LATENCY HISTORY | LATENCY RESET | LATENCY RESET a b | LATENCY GRAPH foo
LATENCY HISTOGRAM nosuch | LATENCY foo | MEMORY | MEMORY USAGE nosuch | MEMORY USAGE a SAMPLES
MEMORY USAGE a SAMPLES abc | MEMORY USAGE a SAMPLES -1 | MEMORY USAGE a SAMPLES 0
MEMORY USAGE a foo 1 | MEMORY USAGE a foo | MEMORY USAGE | MEMORY PURGE | MEMORY foo
MODULE | MODULE LIST | MODULE LIST x | MODULE foo | MODULE LOAD | MODULE UNLOAD
DEBUG | DEBUG foo | DEBUG SLEEP | DEBUG SLEEP 0 | DEBUG SLEEP 0.01 | DEBUG SLEEP abc
DEBUG OBJECT | DEBUG OBJECT nosuch | DEBUG OBJECT a b | DEBUG SET-ACTIVE-EXPIRE 1
DEBUG SET-ACTIVE-EXPIRE | DEBUG JMAP | DEBUG QUICKLIST-PACKED-THRESHOLD 100
DEBUG CHANGE-REPL-ID | DEBUG RELOAD | DEBUG RELOAD NOSAVE | DEBUG RELOAD foo
DEBUG ERROR abc | DEBUG ERROR | DEBUG PROTOCOL string | DEBUG PROTOCOL integer
DEBUG PROTOCOL double | DEBUG PROTOCOL null | DEBUG PROTOCOL array | DEBUG PROTOCOL set
DEBUG PROTOCOL foo | DEBUG PROTOCOL bignum | DEBUG PROTOCOL push
DEBUG PROTOCOL map | DEBUG PROTOCOL verbatim | DEBUG PROTOCOL true | DEBUG PROTOCOL false
INFO nosuch | INFO cluster | INFO modules | MONITOR x
SET k v | SELECT 1 | SET k w | SWAPDB 0 1 | GET k | SELECT 0 | GET k | FLUSHDB | GET k | SELECT 1
GET k | FLUSHALL | GET k | MULTI | SET k 1 | FLUSHALL | SET l 2 | EXEC | GET k | GET l
MULTI | WAIT 5 0 | DEBUG SLEEP 100 | SAVE | EXEC | FLUSHALL
"""


def test_replies_are_those_of_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for wire in (redis_wire, strata_wire):
        wire.send("LATENCY", "RESET")  # of what other tests had watched
    same_bytes(redis_wire, strata_wire, calls(CALLS))


@pytest.mark.parametrize("call", ["LOAD /lib.so", "LOADEX /lib.so ARGS 1", "UNLOAD lib"])
def test_modules_are_refused(call: str, strata_wire: WireClient) -> None:
    assert strata_wire.send("MODULE", *call.split()).raw.startswith(b"-ERR StrataKV has no modules")


WAITAOF = """
WAITAOF 0 0 0 => *2 :0 :0
WAITAOF 1 0 0 => *2 :1 :0
WAITAOF 1 1 50 => *2 :1 :0
WAITAOF 0 1 10 => *2 :0 :0
WAITAOF 2 0 0 => -ERR value is out of range, value must between 0 and 1
WAITAOF -1 0 0 => -ERR value is out of range, value must between 0 and 1
WAITAOF a 0 0 => -ERR value is not an integer or out of range
WAITAOF 0 -1 0 => -ERR value is out of range, must be positive
WAITAOF 0 a 0 => -ERR value is out of range, must be positive
WAITAOF 0 0 -1 => -ERR timeout is negative
WAITAOF 0 0 a => -ERR timeout is not an integer or out of range
WAITAOF 0 0 => -ERR wrong number of arguments for 'waitaof' command
"""
"""The errors are those of Redis 7.2; the numbers are those of a store that is synced when asked."""


def test_waitaof_waits_for_stable_storage(strata_wire: WireClient) -> None:
    for line in WAITAOF.strip().splitlines():
        call, reply = line.split(" => ")
        raw = strata_wire.send(*call.split()).raw.decode().strip()
        assert (raw if raw.startswith("-") else raw.replace("\r\n", " ")) == reply, call


def test_waitaof_within_a_unit_waits_for_nothing(strata_wire: WireClient) -> None:
    calls = [("MULTI",), ("SET", "k", 1), ("WAITAOF", 1, 1, 0), ("EXEC",)]
    *_, reply = strata_wire.pipeline(calls)
    assert reply.raw == b"*2\r\n+OK\r\n*2\r\n:0\r\n:0\r\n"


def test_waitaof_where_every_write_is_synced(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--durability", "always"]).start()
    try:
        with server.client() as client:
            calls = [("SET", "k", 1), ("WAITAOF", 1, 0, 0), ("WAITAOF", 0, 0, 0)]
            replies = [reply.raw for reply in client.pipeline(calls)]
            assert replies == [b"+OK\r\n", *[b"*2\r\n:1\r\n:0\r\n"] * 2]
    finally:
        server.stop()


def test_a_client_that_leaves_waitaof_is_forgotten(strata_server: Process) -> None:
    with strata_server.client() as gone, strata_server.client() as other:
        number = gone.send("CLIENT", "ID").frame.number or 0
        gone.write(encode("WAITAOF", 1, 1, 0))
        wait_until(lambda: other.send("CLIENT", "UNBLOCK", number).raw != b":0\r\n")
        assert gone.read().frame.items is not None
        assert gone.send("PING").raw == b"+PONG\r\n"


def sections(wire: WireClient, *names: str) -> dict[str, dict[str, str]]:
    """INFO as it reads: fields by section."""
    found: dict[str, dict[str, str]] = {}
    text = (wire.send("INFO", *names).frame.data or b"").decode().removeprefix("txt:")
    for line in text.splitlines():
        if line.startswith("# "):
            found[line[2:]] = {}
        elif line:
            name, value = line.split(":", 1)
            found[list(found)[-1]][name] = value
    return found


OURS = {"Store", "Cache", "GC", "Namespaces"}


@pytest.mark.parametrize(
    "names", [[], ["all"], ["everything"], ["default"], ["Server", "nosuch", "keyspace"]], ids=repr
)
def test_the_same_sections_in_the_same_order(
    names: list[str], redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = (list(sections(wire, *names)) for wire in (redis_wire, strata_wire))
    assert [name for name in strata if name not in OURS] == redis


READ_BY_TOOLS = """
redis_version redis_mode os arch_bits process_id run_id tcp_port uptime_in_seconds
uptime_in_days connected_clients blocked_clients maxclients used_memory used_memory_human
used_memory_rss used_memory_peak used_memory_peak_human maxmemory maxmemory_human maxmemory_policy
mem_fragmentation_ratio mem_allocator total_system_memory loading rdb_changes_since_last_save
rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_status aof_enabled
aof_last_write_status total_connections_received total_commands_processed
instantaneous_ops_per_sec total_net_input_bytes total_net_output_bytes rejected_connections
expired_keys evicted_keys keyspace_hits keyspace_misses pubsub_channels latest_fork_usec role
connected_slaves master_repl_offset used_cpu_sys used_cpu_user cluster_enabled
"""


def test_the_fields_that_tools_read_are_there_and_alike(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    redis, strata = (
        {name: value for part in sections(wire).values() for name, value in part.items()}
        for wire in (redis_wire, strata_wire)
    )
    for name in READ_BY_TOOLS.split():
        assert _shape(strata[name]) == _shape(redis[name]), name
    assert strata["redis_version"] == redis["redis_version"]
    assert int(strata["used_memory"]) > 10_000_000


def _shape(value: str) -> str:
    return "number" if value.replace(".", "").replace("-", "").isdigit() else "text"


def test_the_keyspace_is_counted(strata_wire: WireClient, redis_wire: WireClient) -> None:
    for wire in (strata_wire, redis_wire):
        wire.send("MSET", "a", 1, "b", 2)
        wire.send("EXPIRE", "a", 1000)
        wire.send("SELECT", 9)
        wire.send("SET", "c", 3)
    shown = [sections(wire, "keyspace")["Keyspace"] for wire in (strata_wire, redis_wire)]
    assert shown[0]["db0"].startswith("keys=2,expires=1,avg_ttl=")
    assert 900_000 < int(shown[0]["db0"].rpartition("=")[2]) <= 1_000_000
    assert list(shown[0]) == list(shown[1]) == ["db0", "db9"]


def test_the_average_ttl_of_many_keys_is_estimated(strata_wire: WireClient) -> None:
    strata_wire.send("FLUSHALL")
    for number in range(500):
        strata_wire.send("SET", f"k{number}", "v", "EX", 1000 + number % 2 * 2000)
    average = int(sections(strata_wire, "keyspace")["Keyspace"]["db0"].rpartition("=")[2])
    assert 1_500_000 < average < 2_100_000
    strata_wire.send("FLUSHALL")


def test_memory_is_told_apart_and_never_above_its_peak(strata_wire: WireClient) -> None:
    for _ in range(20):
        strata_wire.send("SET", "large", "x" * 3_000_000)
        found = sections(strata_wire, "memory")["Memory"]
        assert 0 < float(found["used_memory_peak_perc"].rstrip("%")) <= 100
    own, mapped = int(found["used_memory"]), int(found["used_memory_mapped"])
    assert int(found["used_memory_rss"]) == own + mapped
    assert 10_000_000 < int(found["used_memory_startup"]) <= int(found["used_memory_peak"])
    stats = dict(strata_wire.send("MEMORY", "STATS").frame.pairs())
    numbers = {name.data: value.number for name, value in stats.items()}
    assert numbers[b"startup.allocated"] == int(found["used_memory_startup"])
    assert (numbers[b"peak.allocated"] or 0) >= (numbers[b"total.allocated"] or 0)
    strata_wire.send("DEL", "large")


def told_size(client: WireClient) -> int:
    return int(sections(client, "store")["Store"]["store_disk_bytes"])


def size_of(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def test_the_size_on_disk_is_that_of_the_files(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        for number in range(100):
            client.send("SET", f"k{number}", "x" * 10_000)
        wait_until(lambda: told_size(client) == size_of(server.dir))
        assert told_size(client) > 1_000_000
        found = sections(client, "store")["Store"]
        assert int(found["store_disk_files"]) == len(list(server.dir.iterdir()))
        assert int(found["store_disk_free_bytes"]) > 0
    server.stop()


def test_waiting_clients_with_a_timeout_are_counted(strata_server: StrataServer) -> None:
    with strata_server.client() as first, strata_server.client() as second:
        first.write(encode("BLPOP", "nothing", "100"))
        second.write(encode("BLPOP", "nothing", "0"))
        with strata_server.client() as other:
            wait_until(lambda: b"blocked_clients:2" in other.send("INFO", "clients").raw)
            assert b"clients_in_timeout_table:1\r\n" in other.send("INFO", "clients").raw


def test_calls_and_errors_are_counted_as_redis_counts(
    strata_wire: WireClient, redis_wire: WireClient
) -> None:
    counted = []
    for wire in (strata_wire, redis_wire):
        wire.send("CONFIG", "RESETSTAT")
        for call in calls("ECHO a | ECHO | SET k v | HGET k f | nosuch | CONFIG | CONFIG GET save"):
            wire.send(*call)
        found = sections(wire, "commandstats", "errorstats")
        stats = {name: _without_times(value) for name, value in found["Commandstats"].items()}
        counted.append((stats, found["Errorstats"]))
    assert counted[0] == counted[1]


def _without_times(value: str) -> str:
    return ",".join(part for part in value.split(",") if not part.startswith("usec"))


def test_the_sections_of_our_own(strata_wire: WireClient) -> None:
    found = sections(strata_wire, "store", "cache", "gc")
    assert found["Store"]["store_engine"] == ("hbase" if IS_ON_HBASE else "leveldb")
    assert found["Store"]["store_accepts_writes"] == "1"
    assert int(found["Cache"]["meta_cache_limit_bytes"]) > 0
    assert int(found["GC"]["gc_backlog"]) >= 0


def test_whoever_sleeps_alone_lets_the_others_go_on(strata_server: Process) -> None:
    with strata_server.client() as sleeper, strata_server.client() as other:
        sleeper.write(encode("DEBUG", "SLEEP-ALONE", "3") + encode("PING"))
        assert is_silent(sleeper)
        assert other.send("PING").raw == b"+PONG\r\n"
        assert is_silent(sleeper)
        assert [sleeper.read().raw, sleeper.read().raw] == [b"+OK\r\n", b"+PONG\r\n"]


def test_active_expiry_can_be_stopped(strata_wire: WireClient) -> None:
    strata_wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    strata_wire.send("SET", "k", "v", "PX", 1)
    time.sleep(0.3)
    assert strata_wire.send("DBSIZE").raw == b":1\r\n"
    strata_wire.send("DEBUG", "SET-ACTIVE-EXPIRE", 1)
    wait_until(lambda: strata_wire.send("DBSIZE").raw == b":0\r\n")


def test_reload_keeps_everything(strata_wire: WireClient) -> None:
    strata_wire.pipeline([("SET", "k", "v"), ("HSET", "h", "f", "v"), ("DEBUG", "RELOAD")])
    assert strata_wire.send("GET", "k").frame.data == b"v"
    assert strata_wire.send("HGET", "h", "f").frame.data == b"v"
    assert strata_wire.send("DBSIZE").raw == b":2\r\n"


def test_memory_usage_grows_with_the_value(strata_wire: WireClient) -> None:
    sizes = []
    for length in (10, 1000, 50_000):
        strata_wire.send("SET", "k", "x" * length)
        sizes.append(strata_wire.send("MEMORY", "USAGE", "k").frame.number or 0)
    assert [size - length for size, length in zip(sizes, (10, 1000, 50_000), strict=True)] == [
        sizes[0] - 10
    ] * 3
    strata_wire.send("SET", "k", "x" * 100_000)
    assert 100_000 < (strata_wire.send("MEMORY", "USAGE", "k").frame.number or 0) < 100_100
    strata_wire.send("HSET", "h", *[f"{number:04}" for number in range(4000)])
    sampled = strata_wire.send("MEMORY", "USAGE", "h").frame.number or 0
    whole = strata_wire.send("MEMORY", "USAGE", "h", "SAMPLES", 0).frame.number or 0
    assert sampled == whole > 2000 * 8


def test_debug_object_tells_the_encoding(strata_wire: WireClient, redis_wire: WireClient) -> None:
    shown = []
    for wire in (strata_wire, redis_wire):
        wire.send("SET", "n", "123")
        wire.send("SADD", "s", "1", "2")
        texts = [(wire.send("DEBUG", "OBJECT", key).frame.data or b"") for key in ("n", "s")]
        shown.append([[part.split(b":")[0] for part in text.split()] for text in texts])
        assert b"encoding:int " in texts[0]
        assert b"encoding:intset " in texts[1]
    assert shown[0] == shown[1]


def test_lolwut_is_never_twice_the_same(strata_wire: WireClient) -> None:
    first, second = (strata_wire.send("LOLWUT").frame for _ in range(2))
    assert first.kind == ("=" if strata_wire.protocol == 3 else "$")
    assert first != second
    text = strata_wire.send("LOLWUT", "VERSION", 5, 30, 8).frame.data or b""
    picture = text.decode().removeprefix("txt:")
    assert all(len(line) <= 30 for line in picture.splitlines()[:8])
    assert "Redis ver. 7.0.15" in picture


def test_saving_moves_lastsave(strata_wire: WireClient) -> None:
    before = strata_wire.send("LASTSAVE").frame.number or 0
    strata_wire.send("SET", "k", "v")
    assert strata_wire.send("SAVE").raw == b"+OK\r\n"
    assert (strata_wire.send("LASTSAVE").frame.number or 0) >= before


def test_what_redis_does_in_a_child_is_refused_with_the_reason(strata_wire: WireClient) -> None:
    assert b"there is no append only file here" in strata_wire.send("BGREWRITEAOF").raw


def test_shutdown_keeps_what_was_written(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        client.send("SET", "k", "v")
        client.write(encode("SHUTDOWN", "NOSAVE"))
        assert client.read_to_end() == b""
    assert server.process is not None
    assert server.process.wait(HANG_S) == 0
    server.start()
    try:
        with server.client() as client:
            assert client.send("GET", "k").frame.data == b"v"
    finally:
        server.stop()


def test_a_monitor_may_not_touch_keys(redis_wire: WireClient, strata_wire: WireClient) -> None:
    same_bytes(redis_wire, strata_wire, calls("MONITOR | GET k | SET k v"))
    for wire in (redis_wire, strata_wire):
        wire.write(encode("MONITOR") + encode("PING"))  # already monitoring: no reply
        assert wire.read().raw == b"+PONG\r\n"
        assert wire.read().raw.endswith(b'"PING"\r\n')
    same_bytes(redis_wire, strata_wire, calls("RESET | GET k"))


def test_hits_and_misses_are_those_of_redis(
    strata_wire: WireClient, redis_wire: WireClient
) -> None:
    counted = []
    for wire in (strata_wire, redis_wire):
        wire.send("CONFIG", "RESETSTAT")
        for call in calls(
            "SET a 1 | GET a | GET b | GET b | MGET a b c | EXISTS a a b | HGET h f | HSET h f v"
            " | HGET h f | HGET h g | HGETALL h | TTL a | TTL x | TYPE a | TYPE x | GET h"
            " | GETSET n 1 | GETSET n 2 | GETDEL n | GETEX n | INCR m | APPEND m x | SADD s 1"
            " | SISMEMBER s 1 | SCARD t | ZSCORE z m | DEL a x | LRANGE l 0 -1 | XLEN x"
            " | STRLEN a | DBSIZE | KEYS * | SCAN 0 | EVAL return() 0"
        ):
            wire.send(*call)
        found = sections(wire, "stats")["Stats"]
        counted.append((found["keyspace_hits"], found["keyspace_misses"]))
    assert counted[0] == counted[1]
