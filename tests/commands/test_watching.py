"""MONITOR, SLOWLOG and INFO commandstats: commands within transactions and scripts are seen too."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.harness.servers import Process
from tests.harness.wire import WireClient, encode

LONG = "for i = 1, 3000 do redis.call('exists', KEYS[1]) end return 1"

CALLS = """
MULTI
SET foo bar
EVAL "redis.call('set','a','b') redis.pcall('nosuch') redis.pcall('lpush','a','b') return 1" 0
CONFIG GET port
EXEC
EVAL "redis.call('select', 3) redis.call('set', 'x', '1') return redis.call('select', 5)" 0
EVAL "redis.call('nosuch')" 0
EVALSHA 123 0
EVAL_RO "return redis.call('get', KEYS[1])" 1 foo
FCALL nosuch 0
MULTI
NOSUCH
EXEC
EXEC
BLPOP nokey 0.01
SELECT 4
SELECT 0
"""


def watched(server: Process, calls: list[list[str]]) -> list[bytes]:
    """What MONITOR shows of the calls, without time and port."""
    with server.client() as watcher, server.client() as other:
        assert watcher.send("MONITOR").raw == b"+OK\r\n"
        for call in calls:
            other.send(*call)
        other.send("PING", "end")
        lines: list[bytes] = []
        while not lines or not lines[-1].endswith(b'"end"'):
            lines.append(watcher.read().frame.data or b"")
        return [re.sub(rb"^\d+\.\d{6}|127\.0\.0\.1:\d+", b"", line) for line in lines]


def test_monitor_shows_units_in_the_order_of_redis(
    redis_server: Process, strata_server: Process
) -> None:
    calls = [shlex.split(line) for line in CALLS.strip().splitlines()]
    assert watched(strata_server, calls) == watched(redis_server, calls)


def test_monitor_shows_a_long_unit_once(strata_server: Process) -> None:
    lines = watched(strata_server, [["MULTI"], ["EVAL", LONG, "1", "k"], ["EXEC"]])
    assert [line.split(b'"')[1] for line in lines[:3]] == [b"MULTI", b"EVAL", b"exists"]
    assert len(lines) == 1 + 1 + 3000 + 1 + 1


@pytest.fixture
def logging_all(strata_wire: WireClient) -> WireClient:
    strata_wire.send("CONFIG", "SET", "slowlog-log-slower-than", "100000")
    strata_wire.send("SLOWLOG", "RESET")
    return strata_wire


def logged(wire: WireClient) -> list[list[bytes]]:
    entries = wire.send("SLOWLOG", "GET", -1).frame.items or ()
    wire.send("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    return [(entry.items or ())[3].blobs() for entry in entries]


def test_the_slow_log_has_the_commands_of_a_transaction_and_not_exec(
    logging_all: WireClient,
) -> None:
    for call in ("MULTI", "PING", "DEBUG SLEEP 0.12", "EXEC", "DEBUG SLEEP 0.11"):
        logging_all.send(*call.split())
    assert logged(logging_all) == [[b"DEBUG", b"SLEEP", b"0.11"], [b"DEBUG", b"SLEEP", b"0.12"]]


def test_who_changes_the_threshold_is_judged_by_the_new_one(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls: list[tuple[str, ...]] = [
        ("SLOWLOG", "RESET"),
        ("CONFIG", "SET", "slowlog-log-slower-than", "0"),
        *[("GET", "k")] * 3,
        ("CONFIG", "SET", "slowlog-log-slower-than", "100000"),
        ("PING",),
    ]
    seen = []
    for wire in (redis_wire, strata_wire):
        wire.send("CONFIG", "SET", "slowlog-log-slower-than", "100000")
        wire.pipeline(calls)
        seen.append(logged(wire))
    assert seen[1] == seen[0]
    assert len(seen[1]) == 4


def test_the_slow_log_has_a_blocked_command_when_it_is_served(strata_server: Process) -> None:
    with strata_server.client() as waiting, strata_server.client() as other:
        waiting.write(encode("BLPOP", "list", "0"))
        strata_server.wait_until_blocked()
        other.send("CONFIG", "SET", "slowlog-log-slower-than", "0")
        other.send("SLOWLOG", "RESET")
        other.send("RPUSH", "list", "a")
        waiting.read()
        assert logged(other)[:2] == [[b"BLPOP", b"list", b"0"], [b"RPUSH", b"list", b"a"]]


def test_a_transaction_that_sleeps_keeps_its_keys_and_nobody_elses(strata_server: Process) -> None:
    with strata_server.client() as sleeper, strata_server.client() as other:
        for call in ("DEL k", "MULTI", "SET k 1", "DEBUG SLEEP-ALONE 0.2", "INCR k"):
            sleeper.send(*call.split())
        sleeper.write(encode("EXEC"))
        assert other.send("SET", "unrelated", "x").raw == b"+OK\r\n"
        assert other.send("GET", "k").raw in (b"$-1\r\n", b"_\r\n")
        assert [other.send(*call.split()).raw for call in ("MULTI", "SET k 3", "DISCARD")] == [
            b"+OK\r\n",
            b"+QUEUED\r\n",
            b"+OK\r\n",
        ]
        assert other.send("GET", "k").raw in (b"$-1\r\n", b"_\r\n")
        assert sleeper.read().frame.items is not None
        assert other.send("GET", "k").raw == b"$1\r\n2\r\n"


def stats_of(wire: WireClient, name: str) -> str:
    text = (wire.send("INFO", "commandstats").frame.data or b"").decode()
    return next((line for line in text.splitlines() if line.startswith(f"cmdstat_{name}:")), "")


def test_an_unblocked_command_counts_as_failed(strata_server: Process) -> None:
    with strata_server.client() as waiting, strata_server.client() as other:
        other.send("CONFIG", "RESETSTAT")
        number = waiting.send("CLIENT", "ID").frame.data or b""
        waiting.write(encode("BLPOP", "list", "0"))
        strata_server.wait_until_blocked()
        other.send("CLIENT", "UNBLOCK", number, "ERROR")
        assert waiting.read().raw.startswith(b"-UNBLOCKED ")
        assert stats_of(other, "blpop").endswith("failed_calls=1")
        assert b"errorstat_UNBLOCKED:count=1" in other.send("INFO", "errorstats").raw


def test_a_blocked_command_is_counted_when_its_wait_ends(strata_server: Process) -> None:
    with strata_server.client() as waiting, strata_server.client() as other:
        other.send("CONFIG", "RESETSTAT")
        waiting.write(encode("BLPOP", "list", "0"))
        strata_server.wait_until_blocked()
        assert stats_of(other, "blpop") == ""
        other.send("RPUSH", "list", "a")
        waiting.read()
        waiting.send("BLPOP", "list", "0.01")
        assert stats_of(other, "blpop").startswith("cmdstat_blpop:calls=2,")


LOOP = "local n = 0 for i = 1, 2000000 do n = n + i end return n"


@pytest.mark.parametrize("call", [("EVAL", LOOP, "0"), ("WAIT", "1", "5")])
def test_a_call_that_is_set_aside_counts_once(
    call: tuple[str, ...], redis_server: Process, strata_server: Process
) -> None:
    for server in (redis_server, strata_server):
        with server.client() as wire:
            wire.send("CONFIG", "RESETSTAT")
            wire.send(*call)
            name = call[0].lower()
            assert stats_of(wire, name).startswith(f"cmdstat_{name}:calls=1,"), type(server)


PAUSED = r"""
SET k v
PFCOUNT h
PUBLISH c m
EVAL "return 1" 0
EVAL "#!lua flags=no-writes\nreturn 1" 0
EVAL_RO "return 1" 0
GET k
PING
EXEC
"""


@pytest.mark.parametrize("call", PAUSED.strip().splitlines())
def test_a_pause_of_writes_holds_back_what_redis_holds_back(
    call: str, redis_server: Process, strata_server: Process
) -> None:
    held = []
    for server in (redis_server, strata_server):
        with server.client() as one, server.client() as other:
            if call == "EXEC":
                one.send("MULTI")
                one.send("SET", "k", "v")
            other.send("CLIENT", "PAUSE", "10000", "WRITE")
            words = [word.replace(r"\n", "\n") for word in shlex.split(call)]
            one.write(encode(*words))
            other.settle()
            held.append(b"blocked_clients:1" in other.send("INFO", "clients").raw)
            other.send("CLIENT", "UNPAUSE")
            one.read()
    assert held[0] == held[1]


def test_clients_held_back_by_a_pause_count_as_blocked(
    redis_server: Process, strata_server: Process
) -> None:
    for server in (redis_server, strata_server):
        with server.client() as writer, server.client() as other:
            other.send("CLIENT", "PAUSE", "10000", "WRITE")
            writer.write(encode("SET", "k", "v"))
            server.wait_until_blocked()
            other.send("CLIENT", "UNPAUSE")
            assert writer.read().raw == b"+OK\r\n"
            assert b"blocked_clients:0" in other.send("INFO", "clients").raw
