"""Scripts that take long: others are served meanwhile, they can be killed, and stay one unit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode

FOR_EVER = "while true do end"
LONG = "local n = 0 for i = 1, 2e6 do n = n + 1 end "


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    found = StrataServer(tmp_path / "data").start()
    yield found
    found.kill9()


def running(server: StrataServer, *call: str | int) -> WireClient:
    """A client whose script is running."""
    client = server.client()
    client.write(encode(*call))
    with server.client() as other:
        # The other kind's KILL says whether one runs, and ends nothing.
        probe = ("SCRIPT", "KILL") if call[0] == "FCALL" else ("FUNCTION", "KILL")
        wait_until(lambda: other.send(*probe).raw.startswith(b"-BUSY"), "no script runs")
    return client


def test_others_are_served_while_a_script_runs(server: StrataServer) -> None:
    with running(server, "EVAL", FOR_EVER, 1, "held"), server.client() as other:
        assert other.send("SET", "k", "v").raw == b"+OK\r\n"
        assert other.send("EVAL", "return redis.call('get','k')", 1, "k").frame.data == b"v"
        assert other.send("FUNCTION", "KILL").raw.startswith(b"-BUSY")


@pytest.mark.parametrize(
    "script",
    [
        FOR_EVER,
        "while true do pcall(function() while true do end end) end",
        "local co = coroutine.wrap(function() while true do end end) while true do pcall(co) end",
        "while true do redis.call('get', 'k') end",
        "while true do redis.pcall('foo') end",
        "while true do cjson.encode({1, 2, 3}) end",
    ],
)
def test_a_script_can_be_killed(server: StrataServer, script: str) -> None:
    with running(server, "EVAL", script, 0) as client, server.client() as other:
        assert other.send("SCRIPT", "KILL").raw == b"+OK\r\n"
        assert b"Script killed by user with SCRIPT KILL." in client.read().raw
        assert other.send("SCRIPT", "KILL").raw.startswith(b"-NOTBUSY")
        assert client.send("EVAL", "return 1", 0).frame.number == 1


def test_a_script_that_has_written_cannot_be_killed(server: StrataServer) -> None:
    script = "redis.call('set', KEYS[1], 'x') " + FOR_EVER
    with running(server, "EVAL", script, 1, "k"), server.client() as other:
        assert other.send("SCRIPT", "KILL").raw.startswith(b"-UNKILLABLE")
        assert other.send("GET", "k").frame.is_null


def test_a_running_function_is_shown_and_killed(server: StrataServer) -> None:
    code = f"#!lua name=l\nredis.register_function('f', function() {FOR_EVER} end)"
    with server.client() as other:
        other.send("FUNCTION", "LOAD", code)
        with running(server, "FCALL", "f", 1, "k", "a") as client:
            name = other.send("FUNCTION", "STATS").frame.pairs()[0][1].pairs()[0][1]
            assert name.data == b"f"
            assert other.send("SCRIPT", "KILL").raw.startswith(b"-BUSY")
            assert other.send("FUNCTION", "KILL").raw == b"+OK\r\n"
            assert b"Script killed by user with FUNCTION KILL." in client.read().raw


@pytest.mark.parametrize("keys", [(1, "n"), (0,)], ids=["declared", "undeclared"])
def test_long_scripts_on_one_key_do_not_lose_updates(
    server: StrataServer, keys: tuple[str | int, ...]
) -> None:
    script = (
        f"local old = redis.call('get', 'n') or 0 {LONG} return redis.call('set', 'n', old + 1)"
    )
    clients = [server.client() for _ in "abc"]
    for client in clients:
        client.write(encode("EVAL", script, *keys))
    assert [client.read().raw for client in clients] == [b"+OK\r\n"] * 3
    with server.client() as other:
        assert other.send("GET", "n").frame.data == b"3"


@pytest.mark.parametrize("keys", [(1, "n"), (0,)], ids=["declared", "undeclared"])
def test_a_long_script_in_a_transaction_is_one_unit(
    server: StrataServer, keys: tuple[str | int, ...]
) -> None:
    """One client reads while it runs, and sees nothing or all; one writes, before it or after."""
    script = f"redis.call('incr', 'n') {LONG * 4} return redis.call('incr', 'n')"
    unit = [("MULTI",), ("SET", "a", 1), ("EVAL", script, *keys), ("SET", "b", 1)]
    with server.client() as client, server.client() as reader, server.client() as writer:
        client.send("CONFIG", "SET", "busy-reply-threshold", 600_000)  # the writer is to wait
        client.pipeline(unit)
        client.write(encode("EXEC"))
        seen = [reader.send("MGET", "a", "b").raw]
        writer.write(encode("INCRBY", "n", 100))
        while not seen[-1].endswith(b"$1\r\n1\r\n"):
            seen.append(reader.send("MGET", "a", "b").raw)
        assert set(seen) <= {b"*2\r\n$-1\r\n$-1\r\n", b"*2\r\n$1\r\n1\r\n$1\r\n1\r\n"}
        before = writer.read().frame.number == 100
        numbers = [frame.number for frame in client.read().frame.items or ()]
        assert numbers == [None, 102 if before else 2, None]
        assert reader.send("GET", "n").frame.data == b"102"


def test_many_writes_are_one_unit(server: StrataServer) -> None:
    script = "for i = 1, 5000 do redis.call('set', 'k' .. i, i) end return redis.call('dbsize')"
    with server.client() as client:
        assert client.send("EVAL", script, 0).frame.number in (0, 5000)
        assert client.send("DBSIZE").frame.number == 5000


@pytest.mark.parametrize(
    "script",
    [
        "local t = {} for i = 1, 1e8 do t[i] = {} end",
        "return string.rep('x', 1e8)",
        "while true do pcall(string.rep, 'x', 1e12) end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 10 do t[i] = redis.call('get', 'big') .. i end",
        "local t, i = {}, 0 while true do"
        " pcall(function() while true do i = i + 1 t[i] = {} end end) redis.call('ping') end",
    ],
)
def test_memory_is_limited(server: StrataServer, script: str) -> None:
    with server.client() as client:
        client.send("CONFIG", "SET", "script-memory-limit", "16mb")
        client.send("SET", "big", "x" * (4 << 20))
        reply = client.send("EVAL", script, 0)
        assert reply.raw.endswith(b", not enough memory\r\n")
        assert client.send("EVAL", "return #ARGV[1]", 0, "x" * (40 << 20)).frame.is_error
        assert client.send("EVAL", "return 1", 0).frame.number == 1
