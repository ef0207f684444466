"""Compiled Lua 5.1 without tail calls.

    function = source:string | u32 line | u32 last line | u8 upvalues | u8 parameters | u8 vararg
             | u8 stack | u32 n, n instructions of 4 bytes | constants | u32 n, n functions
             | u32 n, n lines of 4 bytes | locals | u32 n, n strings
    string   = u64 length | bytes

`return f()` is TAILCALL and RETURN; CALL with the same operands and that RETURN give the same
results, and the caller keeps its frame, so that errors can be told where they happened: Redis's
built-in functions are in C and leave the script's frame in place, ours are in Lua.

That is the layout of Lua 5.1 on a 64-bit, little-endian machine. `rewriter_for` tries it on a chunk
of the Lua that is installed; if it is another, chunks stay as they are: scripts do the same, only
the line of an error may be missing.
"""

import logging
import struct
from collections.abc import Callable
from typing import Final

log = logging.getLogger("stratakv")

_HEADER: Final = b"\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"
_OPCODE: Final = 0x3F
_CALL: Final = 28
_TAIL_CALL: Final = 29
_PLAIN: Final = bytes(
    byte & ~_OPCODE | _CALL if byte & _OPCODE == _TAIL_CALL else byte for byte in range(256)
)
"""The first byte of an instruction, which has the opcode, with a plain call for a tail call."""
SAMPLE: Final = (
    b"local a, b = 1.5, true local function f(x) if x == nil then return tostring(a) end"
    b" return f(x, b) end return 'text', f"
)
"""A chunk with every part that the layout has, and two tail calls."""
_SAMPLE_TAIL_CALLS: Final = 2
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")


def rewriter_for(sample: bytes) -> Callable[[bytes], bytes]:
    """What to do with chunks of the Lua that has made `sample` of `SAMPLE`."""
    if _is_laid_out_as_known(sample):
        return without_tail_calls
    log.warning(
        "Lua's bytecode has another layout (it begins with %s): errors may lack their line",
        sample[: len(_HEADER)].hex(" "),
    )
    return bytes


def _is_laid_out_as_known(sample: bytes) -> bool:
    if not sample.startswith(_HEADER):
        return False
    code = bytearray(sample)
    try:
        end = _function(code, len(_HEADER))
    except (struct.error, IndexError, KeyError):
        return False
    changed = sum(old != new for old, new in zip(sample, code, strict=True))
    return end == len(sample) and changed == _SAMPLE_TAIL_CALLS


def without_tail_calls(dumped: bytes) -> bytes:
    """The same chunk with plain calls. Requires: its layout is the one above."""
    code = bytearray(dumped)
    _function(code, len(_HEADER))
    return bytes(code)


def _count(code: bytearray, at: int) -> tuple[int, int]:
    return _U32.unpack_from(code, at)[0], at + 4


def _skip_string(code: bytearray, at: int) -> int:
    length: int = _U64.unpack_from(code, at)[0]
    return at + 8 + length


def _function(code: bytearray, at: int) -> int:
    """Patch the function at that place; returns where it ends."""
    at = _skip_string(code, at) + 12
    at = _instructions(code, at)
    at = _skip_constants(code, at)
    count, at = _count(code, at)
    for _ in range(count):
        at = _function(code, at)
    count, at = _count(code, at)
    at += 4 * count
    count, at = _count(code, at)
    for _ in range(count):
        at = _skip_string(code, at) + 8
    count, at = _count(code, at)
    for _ in range(count):
        at = _skip_string(code, at)
    return at


def _instructions(code: bytearray, at: int) -> int:
    count, at = _count(code, at)
    end = at + 4 * count
    code[at:end:4] = code[at:end:4].translate(_PLAIN)
    return end


_CONSTANT_SIZES: Final = {0: 0, 1: 1, 3: 8}


def _skip_constants(code: bytearray, at: int) -> int:
    count, at = _count(code, at)
    for _ in range(count):
        kind = code[at]
        at = _skip_string(code, at + 1) if kind == 4 else at + 1 + _CONSTANT_SIZES[kind]
    return at
