"""Scripts that try to hold the server: others are served, and each can be ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient, encode

LOOP = "function() while true do end end"
PATHS = "local function f(n) if n == 0 then return {} end local t = f(n - 1) return {t, t} end"
ENDLESS = {
    "a handler": f"xpcall(function() error('x') end, {LOOP})",
    "a handler for ever": f"while true do xpcall({LOOP}, {LOOP}) end",
    "a caught loop": f"while true do pcall({LOOP}) end",
    "calls that catch": "local function f() pcall(f) pcall(f) end f()",
    "a lazy search": "return string.find(string.rep('a', 3000), string.rep('.-', 12) .. 'b')",
    "a greedy search": "return string.match(string.rep('a', 3000), string.rep('a*', 12) .. 'b')",
    "optional letters": "return string.find(string.rep('a', 60), string.rep('a?', 60)"
    " .. string.rep('a', 60))",
    "a substitution": "return string.gsub(string.rep('a', 3000), string.rep('.-', 12) .. 'b', '')",
    "an iterator": "for x in string.gmatch(string.rep('a', 3000), string.rep('a*', 12) .. 'b')"
    " do end",
    "built-in callbacks": "local s = string.rep('a', 1e6)"
    " while true do string.gsub(s, '.', cjson.encode) end",
    "callbacks": f"string.gsub('abc', '.', {LOOP})",
    "a table of replacements": f"string.gsub('abc', '.', setmetatable({{}}, {{__index = {LOOP}}}))",
    "an order": f"table.sort({{3, 2, 1}}, {LOOP})",
    "a wrong order": "local t = {} for i = 1, 1e5 do t[i] = i end"
    " while true do pcall(table.sort, t, function() return true end) end",
    "a comparison": f"local m = {{__lt = {LOOP}}}"
    " table.sort({setmetatable({}, m), setmetatable({}, m)})",
    "a concatenation": f"return setmetatable({{}}, {{__concat = {LOOP}}}) .. 'x'",
    "an equality": f"local m = {{__eq = {LOOP}}}"
    " return setmetatable({}, m) == setmetatable({}, m)",
    "an index": f"return setmetatable({{}}, {{__index = {LOOP}}}).x",
    "a coroutine": f"while true do pcall(coroutine.wrap({LOOP})) end",
    "a resumed coroutine": f"while true do coroutine.resume(coroutine.create({LOOP})) end",
    "coroutines in coroutines": "local function f(n) while true do"
    " pcall(coroutine.wrap(function() if n > 0 then f(n - 1) end end)) end end f(6)",
    "a reader": f"load({LOOP})",
    "a reader without end": "load(function() return ' ' end)",
    "the handler of errors": "while true do pcall(__redis__err__handler,"
    f" setmetatable({{}}, {{__newindex = {LOOP}}})) end",
    "many paths as JSON": f"{PATHS} cjson.encode(f(60))",
    "a cycle as MessagePack": "local t = {} for i = 1, 4 do t[i] = t end"
    " while true do cmsgpack.pack(t) end",
    "a long format": "local f = string.rep('x', 1e6) while true do struct.pack(f) end",
    "many paths as a reply": f"{PATHS} return f(60)",
    "texts made in one go": "local s = string.rep('a', 4e6) while true do"
    " redis.sha1hex(s) s:upper():reverse():find('[bc]') string.format('%q', s) end",
    "texts joined": "while true do local s = 'abc' for i = 1, 20 do s = s .. s end end",
    "items moved": "local t = {} for i = 1, 1e5 do t[i] = i end"
    " while true do table.insert(t, 1, 1) table.remove(t, 1) table.concat(t) table.sort(t) end",
    "garbage": "local t = {} for i = 1, 1e5 do t[i] = {} end while true do collectgarbage() end",
}


AFTER_THE_DRAIN = pytest.param("SIGTERM", marks=pytest.mark.full)
"""The ten seconds in which a server lets long commands end."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    found = StrataServer(tmp_path_factory.mktemp("hostile") / "data").start()
    yield found
    found.kill9()


def killed(other: WireClient, *kill: str) -> None:
    """Send SCRIPT KILL or its like until there is something to kill."""

    def is_killed() -> bool:
        reply = other.send(*kill).raw
        assert reply == b"+OK\r\n" or reply.startswith(b"-NOTBUSY")
        return reply == b"+OK\r\n"

    wait_until(is_killed, "the script did not begin")


@pytest.mark.parametrize("script", ENDLESS.values(), ids=ENDLESS)
def test_a_script_that_never_ends_is_killed(server: StrataServer, script: str) -> None:
    with server.client() as client, server.client() as other:
        client.write(encode("EVAL", script, 0))
        for _ in range(5):
            assert other.send("PING").raw == b"+PONG\r\n"
        killed(other, "SCRIPT", "KILL")
        assert b"Script killed by user with SCRIPT KILL." in client.read().raw
        assert client.send("EVAL", "return 1", 0).frame.number == 1


@pytest.mark.parametrize("name", ["a handler", "a lazy search", "coroutines in coroutines"])
def test_a_function_that_never_ends_is_killed(server: StrataServer, name: str) -> None:
    code = f"#!lua name=l\nredis.register_function('f', function() {ENDLESS[name]} end)"
    with server.client() as client, server.client() as other:
        assert other.send("FUNCTION", "LOAD", "REPLACE", code).frame.data == b"l"
        client.write(encode("FCALL", "f", 0))
        killed(other, "FUNCTION", "KILL")
        assert b"Script killed by user with FUNCTION KILL." in client.read().raw


@pytest.mark.parametrize(
    "code",
    [
        "while true do end",
        "local s = ('a'):rep(3000) s:find(('.-'):rep(12) .. 'b')",
        "local s = 'abc' while true do s = s:rep(2):sub(1, 3e6) s:upper():gsub('b', 'c') end",
    ],
)
def test_a_library_that_never_loads_is_given_up(server: StrataServer, code: str) -> None:
    with server.client() as client:
        reply = client.send("FUNCTION", "LOAD", f"#!lua name=bad\n{code}")
        assert b"FUNCTION LOAD timeout" in reply.raw
        assert client.send("PING").raw == b"+PONG\r\n"


ERRORS = [
    f"error(setmetatable({{}}, {{__newindex = {LOOP}}}))",
    f"error(setmetatable({{}}, {{__index = {LOOP}}}))",
    f"error({{err = setmetatable({{}}, {{__tostring = {LOOP}}})}})",
    f"error(setmetatable({{err = 'x'}}, {{__index = {LOOP}, __newindex = {LOOP}}}))",
    f"return setmetatable({{err = 'x'}}, {{__index = {LOOP}}})",
    "error(redis)",
    "error(string.rep('x', 1e6))",
    "return redis.error_reply('A ' .. string.rep('\\n', 1e5) .. 'x')",
]


@pytest.mark.parametrize("script", ERRORS)
def test_an_object_that_runs_code_is_only_an_error(server: StrataServer, script: str) -> None:
    with server.client() as client:
        assert client.send("EVAL", script, 0).frame.is_error
        assert client.send("EVAL", "return 1", 0).frame.number == 1


def test_a_value_that_runs_code_is_only_a_reply(server: StrataServer) -> None:
    script = f"return setmetatable({{1, 2}}, {{__index = {LOOP}, __len = {LOOP}}})"
    with server.client() as client:
        assert client.send("EVAL", script, 0).raw == b"*2\r\n:1\r\n:2\r\n"


@pytest.mark.parametrize("how", [AFTER_THE_DRAIN, "SHUTDOWN"])
@pytest.mark.parametrize("name", ["a handler", "a lazy search", "texts joined"])
def test_the_server_ends_while_a_script_runs(tmp_path: Path, name: str, how: str) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client, server.client() as other:
        client.write(encode("EVAL", ENDLESS[name], 0))
        other.send("PING")
        if how == "SHUTDOWN":
            other.write(encode("SHUTDOWN", "NOSAVE"))
            assert server.process is not None
            assert server.process.wait(HANG_S) == 0
        else:
            assert server.terminate() == 0


def test_what_a_script_logs_is_one_line(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        client.send("EVAL", "redis.log(redis.LOG_WARNING, 'first\\nsecond\\27[31m', 'third\\r')", 0)
    server.terminate()
    line = next(line for line in server.output().split("\n") if "first" in line)
    assert line.endswith(r"first\nsecond\x1b[31m third\r")
