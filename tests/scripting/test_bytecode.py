"""Compiled chunks without tail calls give the same results."""

import pytest
from lupa import lua51

from stratakv.proxy.scripting.bytecode import SAMPLE, rewriter_for, without_tail_calls


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


def dump(code: bytes) -> bytes:
    lua = lua51.LuaRuntime(encoding=None, unpack_returned_tuples=True)
    dumped: bytes = lua.execute(b"return string.dump(loadstring(...))", code)
    return dumped


def test_the_lua_that_is_installed_is_laid_out_as_known() -> None:
    assert rewriter_for(dump(SAMPLE)) is without_tail_calls


SOUND = dump(SAMPLE)
UNKNOWN = {
    "another version": SOUND[:4] + b"R" + SOUND[5:],
    "big-endian": SOUND[:6] + b"\0" + SOUND[7:],
    "int of 8 bytes": SOUND[:7] + b"\x08" + SOUND[8:],
    "size_t of 4 bytes": SOUND[:8] + b"\x04" + SOUND[9:],
    "whole numbers": SOUND[:11] + b"\x01" + SOUND[12:],
    "something between header and function": SOUND[:12] + b"\0\0\0\0" + SOUND[12:],
    "something behind the function": SOUND + b"\0",
    "cut": SOUND[:-1],
    "no tail calls": dump(b"return 1"),
    "nothing": b"",
}


@pytest.mark.parametrize("sample", UNKNOWN.values(), ids=UNKNOWN)
def test_chunks_of_an_unknown_layout_are_left_alone(
    sample: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite = rewriter_for(sample)
    assert rewrite(SOUND) == SOUND
    assert "another layout" in caplog.text
