"""Lua states: their memory comes back, their limit holds, and what they do can be paused."""

import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import stratakv.proxy.server  # noqa: F401  # the modules of scripts are loaded by it
from stratakv.options import Options
from stratakv.proxy.scripting.runs import Run, WorkMeter
from stratakv.proxy.scripting.runtime import Lua, OutOfMemory, ScriptError
from tests.harness.servers import StrataServer
from tests.harness.wire import WireClient

MB = 1 << 20


class LonelyRun(Run):
    """A script without a server. From redis.call('begin') on it ends at its third pause."""

    def __init__(self) -> None:
        WorkMeter.__init__(self, b"script", "eval")
        self.failures = []
        self.failed = False
        self.calls: list[bytes] = []
        self.pauses = 0

    def call(self, values: tuple[Any, ...]) -> Any:
        self.calls.append(values[0])
        return 0

    def tick(self) -> bool:
        self.pauses += len(self.calls)
        if self.pauses == 3:
            self.reason = b"ERR ended"
        return bool(self.reason)


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def evaluate(lua: Lua, script: str, run: Run | None = None) -> None:
    lua.eval(run or LonelyRun(), lua.compile(script.encode(), b"@user_script"), [], [])


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    "script",
    [
        "return {1, 2, {3}}",
        "error({err = 'x'})",
        "local t = {} for i = 1, 1e8 do t[i] = {} end",
        "return coroutine.wrap(function() return cjson.encode({1}) end)()",
    ],
)
def test_a_closed_state_is_freed_at_once(script: str) -> None:
    lua = Lua("eval", Options(script_memory_limit=16 * MB))
    with contextlib.suppress(ScriptError, OutOfMemory):
        evaluate(lua, script)
    lua.close()
    alive = weakref.ref(lua)
    del lua
    assert alive() is None  # the state holds it, so that is gone too


def test_a_state_follows_the_limit() -> None:
    options = Options(script_memory_limit=64 * MB)
    lua = Lua("eval", options)
    script = "local t = {} for i = 1, 40 do t[i] = string.rep('x', 1e6) .. i end"
    evaluate(lua, script)
    options.script_memory_limit = 16 * MB
    with pytest.raises(OutOfMemory):
        evaluate(lua, script)


BIG = f"local s = string.rep('a', {8 * MB}) "
NUMBERS = "local t = {} for i = 1, 2e5 do t[i] = (i * 7919) % 200003 end "
LONG = {
    "rep": "string.rep('ab', 8e6)",
    "upper": BIG + "s:upper()",
    "lower": BIG + "s:lower()",
    "reverse": BIG + "s:reverse()",
    "find": BIG + "s:find('b', 1, true)",
    "find a class": BIG + "s:find('[bc]')",
    "match": BIG + "s:match('^a*$')",
    "gsub": BIG + "s:gsub('b', 'c')",
    "gmatch": BIG + "for x in s:gmatch('b+') do end",
    "quote": BIG + "string.format('%q', s)",
    "format": BIG + "string.format(s)",
    "sha1hex": BIG + "redis.sha1hex(s)",
    "joining": BIG + "local t = {} for i = 1, 40 do t = s .. i end",
    "encode": BIG + "cjson.encode(s)",
    "decode": "local s = cjson.decode('\"' .. string.rep('a', 8e6) .. '\"')",
    "decode space": "local s = cjson.decode(string.rep(' ', 8e6) .. '1')",
    "concat": NUMBERS + "table.concat(t, ',')",
    "sort": NUMBERS + "table.sort(t)",
    "sort by a built-in": NUMBERS + "pcall(table.sort, t, rawequal)",
    "insert": NUMBERS + "table.insert(t, 1, 1)",
    "remove": NUMBERS + "table.remove(t, 1)",
    "maxn": NUMBERS + "table.maxn(t)",
    "foreach": NUMBERS + "table.foreach(t, function() end)",
    "struct": "struct.pack(string.rep('x', 1e5))",
    "loadstring": "loadstring(string.rep('local x = 1 ', 150))"
    " loadstring(string.rep('do local x = 1 end ', 2e4))",
    "collectgarbage": NUMBERS + "for i = 1, 2e4 do t[i] = {} end collectgarbage()",
    "coroutines": "for i = 1, 1000 do coroutine.wrap(function() end)() end",
}


@pytest.mark.parametrize("work", LONG.values(), ids=LONG)
def test_long_work_can_be_paused_and_ended_in_its_midst(work: str) -> None:
    setup = next((start for start in (BIG, NUMBERS) if work.startswith(start)), "")
    work = work.removeprefix(setup)
    run, lua = LonelyRun(), Lua("eval", Options())
    with pytest.raises(ScriptError, match="ended"):
        evaluate(lua, f"{setup} redis.call('begin') {work} redis.call('end')", run)
    assert run.calls == [b"begin"]
    lua.close()


def info(client: WireClient) -> dict[str, int]:
    data = client.send("INFO", "memory").frame.data
    assert data is not None
    lines = [line.split(":") for line in data.decode().split("\r\n") if ":" in line]
    return {name: int(value) for name, value in lines if value.isdigit()}


def test_memory_of_scripts_is_shown_and_comes_back(strata_server: StrataServer) -> None:
    table = "local t = {} for i = 1, 1e8 do t[i] = {} end"
    with strata_server.client() as client:
        client.send("CONFIG", "SET", "script-memory-limit", "64mb")
        for _ in range(10):
            assert b"not enough memory" in client.send("EVAL", table, 0).raw
        client.send("SCRIPT", "FLUSH")
        client.send("EVAL", "return 1", 0)
        found = info(client)
        client.send("CONFIG", "SET", "script-memory-limit", "256mb")
    assert 0 < found["used_memory_lua"] < 4 * MB
    assert found["used_memory_vm_total"] >= found["used_memory_vm_eval"]
    assert found["used_memory_scripts_eval"] == len("return 1") + 40
    assert found["used_memory_rss"] < 400 * MB


def test_a_lowered_limit_binds_the_states_that_are_there(strata_server: StrataServer) -> None:
    script = "local t = {} for i = 1, 40 do t[i] = string.rep('x', 1e6) .. i end return #t"
    with strata_server.client() as client:
        assert client.send("EVAL", script, 0).frame.number == 40
        client.send("CONFIG", "SET", "script-memory-limit", "16mb")
        assert b"not enough memory" in client.send("EVAL", script, 0).raw
        client.send("CONFIG", "SET", "script-memory-limit", "256mb")
        assert client.send("EVAL", script, 0).frame.number == 40
