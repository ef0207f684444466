"""Strings as rows of bits, bit 0 being the highest bit of byte 0, as SETBIT and BITFIELD see them.

Values may have megabytes: what reads a whole value works in chunks and calls `pause_if_due`
between them, so that a caller can let others run.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import reduce
from operator import and_, or_, xor
from typing import Final, NamedTuple, Protocol, TypeAlias, overload

from stratakv.encodings.layout.numbers import INT64_MAX, parse_int
from stratakv.encodings.types.strings.pieces import Pieces

Pause: TypeAlias = Callable[[], None]


class Bytes(Protocol):
    """Bytes to be looked at: bytes, a bytearray, or a long string that is read in pieces."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, place: int, /) -> int: ...
    @overload
    def __getitem__(self, place: slice, /) -> bytes | bytearray: ...


class Buffer(Bytes, Protocol):
    """Bytes that can be changed in place."""

    @overload
    def __setitem__(self, place: int, new: int, /) -> None: ...
    @overload
    def __setitem__(self, place: slice, new: bytes, /) -> None: ...


CHUNK: Final = 64 * 1024
_UINT64: Final = 1 << 64


def never_pause() -> None:
    """The `pause_if_due` of a caller that nobody waits for."""


class Unit(Enum):
    """What the ends of a range count. The value is the unit's length in bits."""

    BYTE = 8
    BIT = 1


class Overflow(Enum):
    """What BITFIELD does with a number that does not fit its field."""

    WRAP = b"WRAP"
    SAT = b"SAT"
    FAIL = b"FAIL"


class FieldType(NamedTuple):
    """An integer of a BITFIELD: `i1` to `i64`, `u1` to `u63`."""

    signed: bool
    bits: int

    @property
    def least(self) -> int:
        """The smallest number that the field holds."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def greatest(self) -> int:
        """The largest number that the field holds."""
        return (1 << (self.bits - self.signed)) - 1


class FieldAction(Enum):
    """What a step of a BITFIELD does with its field."""

    GET = b"GET"
    SET = b"SET"
    INCRBY = b"INCRBY"


class FieldOp(NamedTuple):
    """One step of a BITFIELD; `value` is what to set or to add, an int64."""

    action: FieldAction
    type: FieldType
    offset: int
    value: int = 0
    overflow: Overflow = Overflow.WRAP


def get_bit(value: Bytes, offset: int) -> int:
    """Return the bit at `offset`; beyond the end all bits are 0."""
    at = offset >> 3
    return value[at] >> (7 - (offset & 7)) & 1 if at < len(value) else 0


def set_bit(value: Buffer, offset: int, bit: int) -> int:
    """Set a bit in place, growing the value with zeros if needed. Return the old bit."""
    _grow(value, offset + 1)
    at, mask = offset >> 3, 0x80 >> (offset & 7)
    old = value[at] & mask
    value[at] = value[at] | mask if bit else value[at] & ~mask
    return 1 if old else 0


def bitcount(
    value: Bytes,
    start: int = 0,
    end: int = -1,
    unit: Unit = Unit.BYTE,
    pause_if_due: Pause = never_pause,
) -> int:
    """Count the ones between start and end, both included, negative ones from the end."""
    if start < 0 and end < 0 and start > end:
        return 0
    first, stop = _bit_range(value, start, end, unit)
    if first >= stop:
        return 0
    from_byte, to_byte = first >> 3, (stop + 7) >> 3
    count = sum(
        int.from_bytes(chunk, "little").bit_count()
        for chunk in _chunks(value, from_byte, to_byte, pause_if_due)
    )
    before = value[from_byte] >> (8 - (first & 7))
    behind = value[to_byte - 1] & (0xFF >> ((stop - 1 & 7) + 1))
    return count - before.bit_count() - behind.bit_count()


def bitpos(
    value: Bytes,
    bit: int,
    start: int = 0,
    end: int | None = None,
    unit: Unit = Unit.BYTE,
    pause_if_due: Pause = never_pause,
) -> int:
    """Return the place of the first `bit` in the range, or -1.

    Without an `end` the value counts as followed by zeros, so a 0 is found right behind a
    value of ones; an empty range has neither. A key that does not exist is the caller's
    case: Redis answers -1 for 1 and 0 for 0.
    """
    first, stop = _bit_range(value, start, -1 if end is None else end, unit)
    if first >= stop:
        return -1
    found = _find_bit(value, bit, first, stop, pause_if_due)
    if found is not None:
        return found
    return stop if bit == 0 and end is None else -1


def _find_bit(value: Bytes, bit: int, first: int, stop: int, pause_if_due: Pause) -> int | None:
    """Return the place of the first `bit` in first..stop. Requires first < stop."""
    skipped = b"\x00" if bit else b"\xff"
    from_byte, to_byte = first >> 3, (stop + 7) >> 3
    # The first byte is looked at alone: bits before the range must not be found in it.
    found = _find_bit_in_byte(value[from_byte], bit, first & 7)
    at = from_byte + 1
    if found is not None:
        place = from_byte * 8 + found
        return place if place < stop else None
    for chunk in _chunks(value, at, to_byte, pause_if_due):
        left = chunk.lstrip(skipped)
        if left:
            at += len(chunk) - len(left)
            found = _find_bit_in_byte(value[at], bit, 0)
            place = at * 8 + (found or 0)
            return place if place < stop else None
        at += len(chunk)
    return None


def _find_bit_in_byte(byte: int, bit: int, start: int) -> int | None:
    wanted = (byte if bit else ~byte) & (0xFF >> start)
    return 8 - wanted.bit_length() if wanted else None


def bitop(
    operation: bytes, values: Sequence[Bytes], pause_if_due: Pause = never_pause
) -> Iterator[bytes]:
    """Combine values by AND, OR, XOR or NOT (of the first), in chunks; short ones end in zeros."""
    size = max(map(len, values), default=0)
    sources = [_chunks(value, 0, len(value), never_pause) for value in values]
    for at in range(0, size, CHUNK):
        if at:
            pause_if_due()
        length = min(CHUNK, size - at)
        # Little-endian, so that the bytes a short value lacks are zeros.
        numbers = [int.from_bytes(next(source, b""), "little") for source in sources]
        yield _combine(operation, numbers, length).to_bytes(length, "little")


def _combine(operation: bytes, numbers: list[int], length: int) -> int:
    if operation == b"NOT":
        return numbers[0] ^ ((1 << 8 * length) - 1)
    return reduce({b"AND": and_, b"OR": or_, b"XOR": xor}[operation], numbers)


def parse_field_type(text: bytes) -> FieldType | None:
    """Return the type that `i<bits>` or `u<bits>` names, or None."""
    bits = parse_int(text[1:])
    if text[:1] not in (b"i", b"u") or bits is None:
        return None
    signed = text[:1] == b"i"
    return FieldType(signed, bits) if 1 <= bits <= 63 + signed else None


def parse_bit_offset(text: bytes, field_bits: int = 0, max_bytes: int = 512 << 20) -> int | None:
    """Return a bit offset within `max_bytes`, or None; `#n` counts fields, if they have bits."""
    scale = field_bits if field_bits and text[:1] == b"#" else 0
    offset = parse_int(text[1:] if scale else text)
    if offset is None:
        return None
    offset *= scale or 1
    return offset if offset >= 0 and offset >> 3 < max_bytes else None


def bitfield(value: Buffer, ops: Sequence[FieldOp]) -> list[int | None]:
    """Run the steps on the value in place; None stands for a write that FAIL prevented.

    If any step writes, the value first grows to hold all written fields, as in Redis,
    even when FAIL then prevents the write.
    """
    return run_fields(value, ops)[0]


def run_fields(value: Buffer, ops: Sequence[FieldOp]) -> tuple[list[int | None], bool]:
    """As `bitfield`; says too whether a field has got another number."""
    _grow(value, fields_end(ops))
    numbers: list[int | None] = []
    changed = False
    for op in ops:
        before = read_field(value, op.type, op.offset)
        numbers.append(_run(value, op, before))
        changed = changed or read_field(value, op.type, op.offset) != before
    return numbers, changed


def fields_end(ops: Sequence[FieldOp]) -> int:
    """Return how many bits a value needs for the fields that are written."""
    writes = [op.offset + op.type.bits for op in ops if op.action is not FieldAction.GET]
    return max(writes, default=0)


def _run(value: Buffer, op: FieldOp, old: int) -> int | None:
    if op.action is FieldAction.GET:
        return old
    wanted = old + op.value if op.action is FieldAction.INCRBY else _as_set(op.type, op.value)
    new = fit_field(op.type, wanted, op.overflow)
    if new is None:
        return None
    write_field(value, op.type, op.offset, new)
    return old if op.action is FieldAction.SET else new


def _as_set(field: FieldType, number: int) -> int:
    """Return the number that Redis takes `number` for in a SET.

    A negative one for an unsigned field counts as huge, and so does one so low that its
    distance from the field's greatest leaves int64: both saturate upwards.
    """
    if field.signed and field.bits == 64:
        return number
    lowest = field.greatest - INT64_MAX if field.signed else 0
    return number + _UINT64 if number < lowest else number


def fit_field(field: FieldType, number: int, overflow: Overflow) -> int | None:
    """Return the number as the field holds it, or None if it must not be written."""
    if field.least <= number <= field.greatest:
        return number
    if overflow is Overflow.FAIL:
        return None
    if overflow is Overflow.SAT:
        return field.least if number < field.least else field.greatest
    return (number - field.least) % (1 << field.bits) + field.least


def read_field(value: Bytes, field: FieldType, offset: int) -> int:
    """Return the integer at a bit offset; beyond the end all bits are 0."""
    from_byte, to_byte = offset >> 3, (offset + field.bits + 7) >> 3
    window = int.from_bytes(value[from_byte:to_byte].ljust(to_byte - from_byte, b"\0"), "big")
    number = window >> (to_byte * 8 - offset - field.bits) & ((1 << field.bits) - 1)
    return number - (1 << field.bits) if number > field.greatest else number


def write_field(value: Buffer, field: FieldType, offset: int, number: int) -> None:
    """Write an integer in place. Requires that it fits, and that the value is long enough."""
    from_byte, to_byte = offset >> 3, (offset + field.bits + 7) >> 3
    shift = to_byte * 8 - offset - field.bits
    mask = (1 << field.bits) - 1
    window = int.from_bytes(value[from_byte:to_byte], "big")
    window = window & ~(mask << shift) | (number & mask) << shift
    value[from_byte:to_byte] = window.to_bytes(to_byte - from_byte, "big")


def _grow(value: Buffer, bits: int) -> None:
    missing = ((bits + 7) >> 3) - len(value)
    if missing > 0:
        assert isinstance(value, bytearray), "a long string is made long enough before"
        value.extend(bytes(missing))


def range_bytes(value: Bytes, start: int, end: int, unit: Unit) -> int:
    """Return how many bytes a range with Redis's ends touches."""
    first, stop = _bit_range(value, start, end, unit)
    return max(0, (stop + 7 >> 3) - (first >> 3))


def _bit_range(value: Bytes, start: int, end: int, unit: Unit) -> tuple[int, int]:
    """Return the bits of a range with Redis's ends as a half-open range within the value."""
    total = len(value) * 8 // unit.value
    first = max(start + total, 0) if start < 0 else start
    last = max(end + total, 0) if end < 0 else end
    return first * unit.value, (min(last, total - 1) + 1) * unit.value


def _chunks(
    value: Bytes, start: int, stop: int, pause_if_due: Pause
) -> Iterator[bytes | bytearray]:
    """The bytes of a range, cut where the pieces of long strings end."""
    if isinstance(value, Pieces):
        for chunk in value.chunks(start, stop):
            yield chunk
            pause_if_due()
        return
    at = start
    while at < stop:
        if at > start:
            pause_if_due()
        end = min(at - at % CHUNK + CHUNK, stop)
        yield value[at:end]
        at = end
