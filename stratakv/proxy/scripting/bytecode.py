"""Compiled Lua 5.1 without tail calls.

    function = source:string | u32 line | u32 last line | u8 upvalues | u8 parameters | u8 vararg
             | u8 stack | u32 n, n instructions of 4 bytes | constants | u32 n, n functions
             | u32 n, n lines of 4 bytes | locals | u32 n, n strings
    string   = u64 length | bytes

`return f()` is TAILCALL and RETURN; CALL with the same operands and that RETURN give the same
results, and the caller keeps its frame, so that errors can be told where they happened.
"""

import struct
from typing import Final

_HEADER: Final = b"\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"
_OPCODE: Final = 0x3F
_CALL: Final = 28
_TAIL_CALL: Final = 29
_PLAIN: Final = bytes(
    byte & ~_OPCODE | _CALL if byte & _OPCODE == _TAIL_CALL else byte for byte in range(256)
)
"""The first byte of an instruction, which has the opcode, with a plain call for a tail call."""
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")


def without_tail_calls(dumped: bytes) -> bytes:
    """The same chunk with plain calls; unchanged where the format is not the one we know."""
    if not dumped.startswith(_HEADER):
        return dumped
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
