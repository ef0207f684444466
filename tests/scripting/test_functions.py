"""Functions over the wire: the same replies as redis-server, and libraries that stay."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.wire import Arg, WireClient

Call = tuple[Arg, ...]

LISTING = "function(k, a) return {k, a} end"
FIRST_LINES = (
    "x",
    "#!lua",
    "#!lua\n",
    "#!lua name=\n",
    "#!lua name=a-b\n",
    "#!lua name=a\\0b\n",
    "#!lua name='a\n",
    "#!foo name=c\n",
    "#!lua name=d name=e\n",
    "#!lua name=d foo=e\n",
    "#!lua name=d",
)
BODIES = (
    "x x",
    "return 1",
    "error('boo')",
    "redis.call('get','x')",
    "local a = string.len('x')",
    "local a = foo",
    "foo = 1",
    "redis.x = 1",
    "redis.register_function()",
    "redis.register_function('x')",
    "redis.register_function('x', 1)",
    "redis.register_function(redis, function() end)",
    "redis.register_function('a b', function() end)",
    f"redis.register_function('x', {LISTING}) redis.register_function('x', {LISTING})",
    "redis.register_function{foo=1}",
    "redis.register_function{function_name={}}",
    "redis.register_function{function_name='x'}",
    "redis.register_function{callback=function() end}",
    "redis.register_function{flags=1}",
    "redis.register_function{flags={'x'}}",
    "redis.register_function{1}",
    "redis.register_function{function_name='e1',callback=1}",
    "redis.register_function{function_name='e1',callback=function() end,description=redis}",
    "while true do end",
)
BEHAVIOURS = """#!lua name=h
local n = 0
redis.register_function('fails', function(k, a) error('boo') end)
redis.register_function('unknown', function(k, a) return redis.call('foo') end)
redis.register_function('keys', function(k, a) return KEYS end)
redis.register_function('global', function(k, a) zz = 1 end)
redis.register_function('registers', function(k, a) return redis.register_function('x', 1) end)
redis.register_function('counts', function(k, a) n = n + 1 return n end)
redis.register_function('loads', function() return loadstring('return KEYS')() end)
redis.register_function('globals', function()
  local r = {} for k in pairs(_G) do r[#r + 1] = k end table.sort(r) return r end)
redis.register_function{function_name='reads', description='hello',
  flags={'no-writes', 'allow-stale'},
  callback=function(k, a) return redis.call('set', 'x', '1') end}
"""


def library(name: str, body: str) -> str:
    return f"#!lua name={name}\n{body}"


LOAD = ("FUNCTION", "LOAD")
CALLS: list[Call] = [
    (*LOAD, library("a", f"redis.register_function('f', {LISTING})")),
    (*LOAD, library("a", f"redis.register_function('f', {LISTING})")),
    (*LOAD, library("b", f"redis.register_function('f', {LISTING})")),
    (*LOAD, "REPLACE", library("a", f"redis.register_function('f', {LISTING})")),
    (*LOAD, "x", library("a", "")),
    (*LOAD, "REPLACE"),
    LOAD,
    ("FUNCTION", "LIST"),
    ("FUNCTION", "LIST", "WITHCODE", "LIBRARYNAME", "A*"),
    ("FUNCTION", "LIST", "LIBRARYNAME"),
    ("FUNCTION", "LIST", "x"),
    *(
        ("FCALL", *more)
        for more in (("F", 1, "k", "a"), ("f", "x"), ("f", -1), ("f", 5, "a"), ("no", 0))
    ),
    ("FCALL_RO", "f", 0),
    *((*LOAD, line) for line in FIRST_LINES),
    *((*LOAD, library("d", body)) for body in BODIES),
    (*LOAD, BEHAVIOURS),
    *(
        ("FCALL", name, 1, "k")
        for name in (
            *("fails", "unknown", "keys", "global", "registers"),
            *("counts", "counts", "loads", "globals", "reads"),
        )
    ),
    ("FCALL_RO", "reads", 0),
    ("FCALL_RO", "counts", 0),
    ("FUNCTION", "STATS"),
    ("FUNCTION", "DELETE", "zz"),
    ("FUNCTION", "DELETE", "h"),
    ("FUNCTION", "FLUSH", "x"),
    ("FUNCTION", "FLUSH", "x", "y"),
    ("FUNCTION", "FLUSH", "ASYNC"),
    ("FUNCTION", "LIST"),
    ("FUNCTION", "KILL"),
    ("FUNCTION", "foo"),
]


def test_functions_reply_as_in_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for wire in (redis_wire, strata_wire):
        wire.send("FUNCTION", "FLUSH")
    for call in CALLS:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path / "data").start()
    yield server
    server.stop()


def test_libraries_survive_a_kill_and_a_flush(own_server: StrataServer) -> None:
    with own_server.client() as wire:
        for name in ("kept", "gone"):
            code = library(name, f"redis.register_function('{name}', function() return 7 end)")
            assert wire.send("FUNCTION", "LOAD", code).frame.data == name.encode()
        wire.send("FUNCTION", "DELETE", "gone")
        wire.send("FLUSHALL")
    own_server.kill9()
    own_server.start()
    with own_server.client() as wire:
        assert wire.send("FCALL", "kept", 0).frame.number == 7
        assert wire.send("FCALL", "gone", 0).frame.is_error


def test_dumps_are_exchanged_with_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    """What one server dumps, the other restores, compressed strings included."""
    padding = "-- the same again and again " * 50
    codes = [
        library(name, f"{padding}\nredis.register_function('{name}', {LISTING})") for name in "ab"
    ]
    for source, target in ((redis_wire, strata_wire), (strata_wire, redis_wire)):
        for wire in (source, target):
            wire.send("FUNCTION", "FLUSH")
        for code in codes:
            source.send("FUNCTION", "LOAD", code)
        payload = source.send("FUNCTION", "DUMP").frame.data or b""
        assert target.send("FUNCTION", "RESTORE", payload).raw == b"+OK\r\n"
        for name in "ab":
            call: Call = ("FCALL", name, 1, "k", "v")
            assert target.send(*call).raw == source.send(*call).raw


def test_restore_replies_as_redis(redis_wire: WireClient, strata_wire: WireClient) -> None:
    for wire in (redis_wire, strata_wire):
        wire.send("FUNCTION", "FLUSH")
        wire.send("FUNCTION", "LOAD", library("a", f"redis.register_function('f', {LISTING})"))
    payload = redis_wire.send("FUNCTION", "DUMP").frame.data or b""
    other = library("b", f"redis.register_function('f', {LISTING})")
    restore = ("FUNCTION", "RESTORE")
    calls: list[Call] = [
        (*restore, payload),
        (*restore, payload, "APPEND"),
        (*restore, payload, "replace"),
        (*restore, payload, "foo"),
        (*restore, payload, "FLUSH", "x"),
        (*restore, payload[:-1]),
        (*restore, "x"),
        (*restore, ""),
        restore,
        (*restore, payload, "FLUSH"),
        ("FUNCTION", "FLUSH"),
        ("FUNCTION", "LOAD", other),
        (*restore, payload),
        (*restore, payload, "REPLACE"),
        ("FUNCTION", "LIST"),
        (*restore, payload, "FLUSH"),
        ("FUNCTION", "LIST", "WITHCODE"),
        ("FUNCTION", "DUMP"),
    ]
    for call in calls:
        assert strata_wire.send(*call).raw == redis_wire.send(*call).raw, call
