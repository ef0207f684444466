"""Compiled chunks without tail calls give the same results."""

import pytest
from lupa import lua51

from stratakv.proxy.scripting.bytecode import without_tail_calls


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (b"return 1", 1),
        (b"return tostring(5)", b"5"),
        (b"local f = function(...) return select('#', ...) end return f(1, nil, 3)", 3),
        (
            b"local t = {g = function(a) return a, 2 end} function t:f(a) return self.g(a) end"
            b" return t:f('x')",
            (b"x", 2),
        ),
        (b"return (function() return unpack({1, 2, 3}) end)()", (1, 2, 3)),
    ],
)
def test_results_are_the_same(code: bytes, expected: object) -> None:
    lua = lua51.LuaRuntime(encoding=None, unpack_returned_tuples=True)
    dumped = lua.execute(b"return string.dump(loadstring(...))", code)
    patched = without_tail_calls(dumped)
    assert lua.execute(b"return loadstring(...)()", patched) == expected


def test_a_tail_call_keeps_the_callers_frame() -> None:
    lua = lua51.LuaRuntime(encoding=None, unpack_returned_tuples=True)
    code = b"local function inner() local x = debug.traceback() return x end return inner()"
    dumped = lua.execute(b"return string.dump(loadstring(...))", code)
    assert b"(tail call)" in lua.execute(b"return (loadstring(...)())", dumped)
    patched = without_tail_calls(dumped)
    assert b"(tail call)" not in lua.execute(b"return (loadstring(...)())", patched)


def test_an_unknown_format_is_left_alone() -> None:
    assert without_tail_calls(b"\x1bLuaR...") == b"\x1bLuaR..."
