"""What MULTI does with calls that are refused: the bytes of redis-server until the end."""

from __future__ import annotations

import pytest

from tests.harness.wire import WireClient, encode

REFUSED = """
EXEC x | exec a b c | DISCARD x | WATCH | MULTI x | MULTI | UNWATCH x | WATCH key | RESET x | AUTH
AUTH x | HELLO x | HELLO 9 | HELLO 2 x | HELLO 3 AUTH a | nosuch | nosuch a b | SAVE | SHUTDOWN x y
CLIENT | CLIENT nosuch | CLIENT ID x | CLIENT REPLY x | COMMAND nosuch | CONFIG GET | DEBUG | GET
EVAL | EVALSHA x 0 | FUNCTION | ACL | XGROUP | XGROUP CREATE | SUBSCRIBE | MONITOR | BLPOP key x
"""
CALLS = [call.strip() for line in REFUSED.strip().splitlines() for call in line.split("|")]
OUTSIDE = [call for call in CALLS if call not in ("MONITOR", "MULTI", "BLPOP key x", "WATCH key")]
"""Those that are refused outside of MULTI too."""


def said(client: WireClient, calls: list[str]) -> bytes:
    """All bytes of the replies to calls that are sent in one write."""
    client.write(b"".join(encode(*call.split()) for call in [*calls, "QUIT"]))
    return client.read_to_end()


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_call_in_a_transaction(
    call: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = ["MULTI", "SET key 1", call, "SET key 2", "EXEC", "PING", "GET key"]
    assert said(strata_wire, calls) == said(redis_wire, calls)


@pytest.mark.parametrize("call", OUTSIDE)
def test_a_refused_call_while_keys_are_watched(
    call: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = ["WATCH key", "SET key 0", call, "MULTI", "SET key 1", "EXEC", "GET key"]
    assert said(strata_wire, calls) == said(redis_wire, calls)


def test_exec_of_a_subscriber(redis_wire: WireClient, strata_wire: WireClient) -> None:
    calls = ["SUBSCRIBE channel", "EXEC", "EXEC x", "MULTI", "UNSUBSCRIBE channel", "PING"]
    assert said(strata_wire, calls) == said(redis_wire, calls)


LONG = " ".join(map(str, range(5000)))
WHOLE_DATABASES = {
    "a write before a flush that makes it begin anew, from another database": [
        *("SELECT 1", "DEL log", "MULTI", "RPUSH log here", "SELECT 0", "FLUSHDB", "EXEC"),
        *("DBSIZE", "SELECT 1", "LRANGE log 0 -1"),
    ],
    "a write after a flush of another database": [
        *("MULTI", "SELECT 1", "SET a 1", "FLUSHDB", "SET b 2", "GET b", "EXEC"),
        *("GET a", "GET b", "SELECT 0", "GET b"),
    ],
    "a long command after a swap": [
        *("FLUSHALL", "SET where 0", f"RPUSH long {LONG}"),
        *("MULTI", "SWAPDB 0 1", "SELECT 1", "LRANGE long 0 -1", "EXEC"),
        *("GET where", "SELECT 0", "GET where"),
    ],
    "a long command after a flush": [
        *("FLUSHALL", "SET n 5", "MULTI", "INCR n", "FLUSHALL", f"RPUSH long {LONG}", "INCR n"),
        *("LRANGE long 0 -1", "EXEC", "GET n", "LLEN long"),
    ],
}


@pytest.mark.parametrize("name", WHOLE_DATABASES)
def test_whole_databases_change_once_in_a_unit(
    name: str, redis_wire: WireClient, strata_wire: WireClient
) -> None:
    calls = WHOLE_DATABASES[name]
    assert said(strata_wire, calls) == said(redis_wire, calls)


def test_a_script_that_goes_on_for_long_swaps_databases_once(
    redis_wire: WireClient, strata_wire: WireClient
) -> None:
    script = (
        "redis.call('SET', 'where', 0) redis.call('SWAPDB', 0, 1) redis.call('SELECT', 1)"
        " for i = 1, 3000 do redis.call('RPUSH', 'list', i) end return redis.call('GET', 'where')"
    )
    for client in (redis_wire, strata_wire):
        client.send("FLUSHALL")
        assert client.send("EVAL", script, 0).frame.data == b"0"
        client.send("SELECT", 1)
        assert client.send("GET", "where").frame.data == b"0"
        assert client.send("LLEN", "list").frame.number == 3000
