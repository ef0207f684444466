"""Redis's glob patterns: `*`, `?`, `[abc]`, `[^a-z]` and backslash escapes, on bytes.

A pattern is a row of pieces separated by stars; each piece matches a fixed number of bytes,
because every symbol but the star matches exactly one. So the leftmost place of each piece is
as good as any other, and matching never has to come back to a piece once it is placed:
time is bounded by the product of both lengths.

Redis's oddities are kept: an unclosed `[` ends with the pattern; bytes from 0x80 on sort
below 0x00 in ranges; only `*` itself, not `**`, matches the empty string.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

Matcher: TypeAlias = Callable[[bytes], bool]
Symbol: TypeAlias = bytes
"""The bytes that one place of a piece accepts, each once."""
Piece: TypeAlias = list[Symbol]

_STAR: Final = ord("*")
_ANY: Final = bytes(range(256))
# Compiling an expression costs about 10 us a byte and is kept in memory: not for long ones.
_LONGEST_COMPILED: Final = 256
# Redis gives up, unmatched, when more stars than this have something behind them.
_MOST_STARS: Final = 1000


def compile_glob(pattern: bytes) -> Matcher:
    """Return a function that tells whether a string matches the whole of `pattern`."""
    if len(pattern) <= _LONGEST_COMPILED:
        return _compile_short(pattern)
    return _compile(pattern, _piecewise)


def literal_prefix(pattern: bytes) -> bytes:
    """Return the bytes that every match begins with."""
    prefix = bytearray()
    at = 0
    while at < len(pattern):
        byte = pattern[at]
        if byte in b"*?[":
            break
        if byte == ord("\\") and at + 1 < len(pattern):
            at += 1
        prefix.append(pattern[at])
        at += 1
    return bytes(prefix)


@lru_cache(maxsize=512)
def _compile_short(pattern: bytes) -> Matcher:
    return _compile(pattern, _expression)


def _compile(pattern: bytes, general: Callable[[list[Piece]], Matcher]) -> Matcher:
    if pattern == b"*":
        return _always
    pieces = _split(pattern)
    if not any(pieces) and len(pieces) > 1:
        return bool
    if _stars_with_more_behind(pieces) > _MOST_STARS:
        return _never
    return _simple(pieces) or general(pieces)


def _always(_string: bytes) -> bool:
    return True


def _never(_string: bytes) -> bool:
    return False


def _stars_with_more_behind(pieces: list[Piece]) -> int:
    return len(pieces) - 1 - (not pieces[-1])


def _simple(pieces: list[Piece]) -> Matcher | None:
    """Return a matcher made of one method of bytes, if the pattern is as simple as that."""
    if len(pieces) > 3 or any(len(symbol) != 1 for piece in pieces for symbol in piece):
        return None
    texts = [b"".join(piece) for piece in pieces]
    match texts:
        case [text]:
            return text.__eq__
        case [prefix, b""]:
            return lambda string: string.startswith(prefix)
        case [b"", suffix]:
            return lambda string: string.endswith(suffix)
        case [b"", middle, b""]:
            return lambda string: middle in string
    return None


def _expression(pieces: list[Piece]) -> Matcher:
    """Return a matcher by a regular expression that holds each placed piece (atomic groups)."""
    first, *middle, last = [b"".join(map(_symbol_expression, piece)) for piece in pieces] + (
        [] if len(pieces) > 1 else [b""]
    )
    held = b"".join(b"(?>.*?%b)" % piece for piece in middle)
    star = b".*" if len(pieces) > 1 else b""
    found = re.compile(first + held + star + last, re.DOTALL).fullmatch
    return lambda string: found(string) is not None


def _symbol_expression(symbol: Symbol) -> bytes:
    if len(symbol) == 1:
        return re.escape(symbol)
    if len(symbol) == 256:
        return b"."
    if not symbol:
        return b"(?!)"
    return b"[%b]" % b"".join(b"\\x%02x" % byte for byte in symbol)


def _piecewise(pieces: list[Piece]) -> Matcher:
    """Return a matcher that places one piece after the other, without compiling anything."""

    def matches(string: bytes) -> bool:
        first, last = pieces[0], pieces[-1]
        if len(pieces) == 1:
            return len(string) == len(first) and _fits(first, string, 0)
        end = len(string) - len(last)
        if len(first) > end or not _fits(first, string, 0) or not _fits(last, string, end):
            return False
        at = len(first)
        for piece in pieces[1:-1]:
            found = _find_piece(piece, string, at, end)
            if found is None:
                return False
            at = found
        return True

    return matches


def _find_piece(piece: Piece, string: bytes, start: int, end: int) -> int | None:
    """Return where the leftmost match of `piece` within start..end ends."""
    for at in range(start, end - len(piece) + 1):
        if _fits(piece, string, at):
            return at + len(piece)
    return None


def _fits(piece: Piece, string: bytes, at: int) -> bool:
    """Requires at + len(piece) <= len(string)."""
    return all(string[at + step] in symbol for step, symbol in enumerate(piece))


def _split(pattern: bytes) -> list[Piece]:
    """Return the pieces between the stars; the first and the last may be empty."""
    pieces: list[Piece] = [[]]
    at = 0
    while at < len(pattern):
        if pattern[at] == _STAR:
            if pieces[-1] or len(pieces) == 1:
                pieces.append([])
            at += 1
        else:
            symbol, at = _read_symbol(pattern, at)
            pieces[-1].append(symbol)
    return pieces


def _read_symbol(pattern: bytes, at: int) -> tuple[Symbol, int]:
    """Return the symbol that begins at `at`, and where the next one begins."""
    byte = pattern[at : at + 1]
    if byte == b"?":
        return _ANY, at + 1
    if byte == b"[":
        return _read_class(pattern, at + 1)
    if byte == b"\\" and at + 1 < len(pattern):
        return pattern[at + 1 : at + 2], at + 2
    return byte, at + 1


def _read_class(pattern: bytes, at: int) -> tuple[Symbol, int]:
    """Return the bytes of a class whose `[` stands before `at`, and where it ends."""
    negated = pattern[at : at + 1] == b"^"
    at += negated
    accepted: set[int] = set()
    while at < len(pattern) and pattern[at] != ord("]"):
        left = len(pattern) - at
        if pattern[at] == ord("\\") and left >= 2:
            accepted.add(pattern[at + 1])
            at += 2
        elif left >= 3 and pattern[at + 1] == ord("-"):
            accepted.update(_byte_range(pattern[at], pattern[at + 2]))
            at += 3
        else:
            accepted.add(pattern[at])
            at += 1
    return bytes(b for b in range(256) if (b in accepted) != negated), at + 1


def _byte_range(one: int, other: int) -> list[int]:
    """Return the bytes between two, in either order, both included, as signed chars sort."""
    low, high = sorted((byte - 256 if byte > 127 else byte) for byte in (one, other))
    return [byte % 256 for byte in range(low, high + 1)]
