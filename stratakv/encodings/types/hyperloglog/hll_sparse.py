"""The sparse form of a HyperLogLog: runs of equal registers, as Redis writes them.

    00llllll                    ZERO   l + 1 registers are 0                     1 to 64
    01llllll llllllll           XZERO  l + 1 registers are 0                     1 to 16384
    1vvvvvll                    VAL    l + 1 registers are v + 1                 1 to 4, 1 to 32

The same values can be cut into runs in many ways. Clients see the bytes with GET, so an update cuts
and joins runs by the steps that Redis takes, and not by better ones.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from stratakv import errors
from stratakv.errors import CommandError

REGISTERS: Final = 16384
MOST_VALUE: Final = 32
_MOST_VALUE_RUN: Final = 4
_MOST_ZERO_RUN: Final = 64
_JOIN_STEPS: Final = 5

_XZERO_BIT: Final = 0x40
_VALUE_BIT: Final = 0x80

_MARK_BYTES: Final = 16
_LONG_WALK: Final = 2 * _MARK_BYTES
_JOINED_BYTES: Final = 2 * _JOIN_STEPS

_SHORT = re.compile(rb"[\x00-\x3f\x80-\xff]{1,16}")
"""Opcodes of one byte: from an opcode's start, some until the next XZERO."""

_SPANS: Final = bytes((op & 3) + 1 if op & _VALUE_BIT else (op & 63) + 1 for op in range(256))
_PIECES: Final = tuple(
    bytes((((op >> 2) & 31) + 1,)) * _SPANS[op] if op & _VALUE_BIT else bytes(_SPANS[op])
    for op in range(256)
)
"""What a short opcode stands for: how many registers, and their values."""


class Malformed(CommandError):
    """The opcodes do not stand for 16384 registers."""

    def __init__(self) -> None:
        super().__init__(errors.BROKEN_HLL)


def empty() -> bytes:
    """All registers 0."""
    return _zeros(REGISTERS)


def opcodes(raw: bytes) -> Iterator[tuple[str, int, int]]:
    """(letter, run, value) of each opcode: z for ZERO, Z for XZERO, v for VAL."""
    at = 0
    while at < len(raw):
        op = raw[at]
        if op & _VALUE_BIT:
            yield "v", _SPANS[op], ((op >> 2) & 31) + 1
        elif op & _XZERO_BIT:
            yield "Z", _xzero_span(raw, at), 0
            at += 1
        else:
            yield "z", _SPANS[op], 0
        at += 1


def expand(raw: bytes) -> bytes:
    """The 16384 registers, a byte each. Raises `Malformed`."""
    pieces: list[bytes] = []
    at = total = 0
    while at < len(raw):
        run = _SHORT.match(raw, at)
        if run is None:
            pieces.append(bytes(_xzero_span(raw, at)))
            at += 2
        else:
            pieces.append(b"".join([_PIECES[op] for op in run[0]]))
            at = run.end()
        total += len(pieces[-1])
        if total > REGISTERS:
            raise Malformed
    if total != REGISTERS:
        raise Malformed
    return b"".join(pieces)


class SparseEditor:
    """Raises single registers. It remembers where some opcodes begin, so that none is far away.

    Looking through all opcodes takes up to 100 us, a register among known ones about 5 us.
    """

    __slots__ = ("_firsts", "_places", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = bytearray(raw)
        self._places, self._firsts = [0], [0]
        """Where some opcodes begin, and the first register of each."""

    def raise_register(self, index: int, value: int, room: int) -> bool | None:
        """Make a register at least `value`; says if it was less, None if that takes too much room.

        `room` is how long the opcodes may get. Requires: 0 < value <= 32. Raises `Malformed`.
        """
        raw = self.raw
        at, first, before = self._find(index)
        op = raw[at]
        if op & _VALUE_BIT:
            old, width, span = ((op >> 2) & 31) + 1, 1, _SPANS[op]
            if old >= value:
                return False
        elif op & _XZERO_BIT:
            old, width, span = 0, 2, _xzero_span(raw, at)
        else:
            old, width, span = 0, 1, _SPANS[op]
        parts = _run(old, index - first) + _run(value, 1) + _run(old, first + span - 1 - index)
        size, growth = len(raw), len(parts) - width
        if growth > 0 and size + growth > room:
            return None
        raw[at : at + width] = parts
        self._join(before)
        self._move_marks(before, at + width + _JOINED_BYTES, len(raw) - size)
        return True

    def _find(self, index: int) -> tuple[int, int, int]:
        """(where the opcode of a register is, its first register, where the opcode before is)."""
        if index >= self._firsts[-1]:
            self._look_up_to(index)
        mark = bisect_right(self._firsts, index) - 1
        found = self._walk(mark, index)
        if mark and found[0] == self._places[mark]:
            found = self._walk(mark - 1, index)  # the opcode before is wanted too
        return found

    def _walk(self, mark: int, index: int) -> tuple[int, int, int]:
        raw, spans = self.raw, _SPANS
        at = before = self._places[mark]
        first = self._firsts[mark]
        end = min(len(raw), at + _LONG_WALK)
        while at < end:
            op = raw[at]
            is_long = op & 0xC0 == _XZERO_BIT
            span = _xzero_span(raw, at) if is_long else spans[op]
            if index < first + span:
                return at, first, before
            before = at
            at += 2 if is_long else 1
            first += span
        if at >= len(raw):
            raise Malformed
        self._places.insert(mark + 1, at)
        self._firsts.insert(mark + 1, first)
        at, first, following = self._walk(mark + 1, index)
        return at, first, before if following == at else following

    def _look_up_to(self, index: int) -> None:
        """Put marks on the way to a register that is behind the last one."""
        raw, places, firsts = self.raw, self._places, self._firsts
        at, first = places[-1], firsts[-1]
        while at < len(raw) and first <= index:
            if at >= places[-1] + _MARK_BYTES:
                places.append(at)
                firsts.append(first)
            run = _SHORT.match(raw, at)
            if run is None:
                first += _xzero_span(raw, at)
                at += 2
            else:
                first += sum(run[0].translate(_SPANS))
                at = run.end()

    def _move_marks(self, start: int, stop: int, growth: int) -> None:
        """Opcodes changed from `start` to `stop`: forget the marks there, move those behind."""
        places, firsts = self._places, self._firsts
        low, high = bisect_right(places, start), bisect_right(places, stop)
        places[low:] = [place + growth for place in places[high:]]
        del firsts[low:high]

    def _join(self, at: int) -> None:
        """Join equal neighbours among the five opcodes from here on."""
        raw = self.raw
        for _ in range(_JOIN_STEPS):
            if at >= len(raw):
                return
            op = raw[at]
            if not op & _VALUE_BIT:
                at += 2 if op & _XZERO_BIT else 1
                continue
            following = raw[at + 1] if at + 1 < len(raw) else 0
            run = _SPANS[op] + _SPANS[following]
            if following & 0xFC == op & 0xFC and run <= _MOST_VALUE_RUN:
                raw[at : at + 2] = bytes((op & 0xFC | (run - 1),))
            else:
                at += 1


def _xzero_span(raw: bytes | bytearray, at: int) -> int:
    if at + 1 >= len(raw):
        raise Malformed
    return ((raw[at] & 63) << 8 | raw[at + 1]) + 1


def _run(value: int, length: int) -> bytes:
    """Registers of one value as one opcode, none for no registers."""
    if not length:
        return b""
    if value:
        return bytes((_VALUE_BIT | (value - 1) << 2 | (length - 1),))
    return _zeros(length)


def _zeros(length: int) -> bytes:
    if length > _MOST_ZERO_RUN:
        return bytes((_XZERO_BIT | (length - 1) >> 8, (length - 1) & 0xFF))
    return bytes((length - 1,))
