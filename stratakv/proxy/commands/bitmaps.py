"""Bit commands: strings as arrays of bits."""

from collections.abc import Sequence
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.strings import bitmaps, bits, strings
from stratakv.encodings.types.strings.bits import FieldAction, FieldOp, FieldType, Overflow, Unit
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer, ranged
from stratakv.proxy.table.registry import CommandGroup

command = CommandGroup("bitmap").command

_OPERATIONS: Final = frozenset({b"AND", b"OR", b"XOR", b"NOT"})
_OVERFLOWS: Final = {overflow.value: overflow for overflow in Overflow}
_ACTIONS: Final = {action.value: action for action in FieldAction}
_UNITS: Final = {b"BYTE": Unit.BYTE, b"BIT": Unit.BIT}


@command("SETBIT key offset value", "write denyoom", since="2.2.0")
def setbit(txn: Txn, key: bytes, offset: bytes, value: bytes) -> int:
    """Set a bit; returns what it was."""
    at = _offset(txn, offset)
    return bitmaps.set_bit(txn, key, at, ranged(value, 0, 1, errors.NOT_A_BIT))


@command("GETBIT key offset", "readonly fast", since="2.2.0")
def getbit(txn: Txn, key: bytes, offset: bytes) -> int:
    """Return a bit."""
    at = _offset(txn, offset)
    return bits.get_bit(strings.find_opened(txn, key) or b"", at)


@command("BITCOUNT key [start end [BYTE|BIT]]", "readonly", since="2.6.0")
def bitcount(txn: Txn, key: bytes, *span: bytes) -> int:
    """Count the ones of a string or of a part of it."""
    value = strings.find_opened(txn, key)
    if value is None:
        return 0
    if not span:
        bitmaps.expect_reading(txn, len(value))
        return bits.bitcount(value, pause_if_due=txn.pause_if_due)
    if len(span) not in (2, 3):
        raise errors.syntax()
    start, end = integer(span[0]), integer(span[1])
    if start < 0 and end < 0 and start > end:
        return 0  # before the unit is looked at, as in Redis
    unit = _unit(span[2:])
    bitmaps.expect_reading(txn, bits.range_bytes(value, start, end, unit))
    return bits.bitcount(value, start, end, unit, txn.pause_if_due)


@command("BITPOS key bit [start [end [BYTE|BIT]]]", "readonly", since="2.8.7")
def bitpos(txn: Txn, key: bytes, bit: bytes, *span: bytes) -> int:
    """Find the first zero or one of a string or of a part of it."""
    wanted = integer(bit)
    if wanted not in (0, 1):
        raise CommandError(errors.BIT_ARGUMENT)
    value = strings.find_opened(txn, key)
    if value is None:
        return -1 if wanted else 0
    if len(span) > 3:
        raise errors.syntax()
    start = integer(span[0]) if span else 0
    unit = _unit(span[2:])
    end = integer(span[1]) if len(span) > 1 else None
    bitmaps.expect_reading(txn, bits.range_bytes(value, start, -1 if end is None else end, unit))
    return bits.bitpos(value, wanted, start, end, unit, txn.pause_if_due)


@command(
    "BITOP <AND|OR|XOR|NOT> destkey key [key ...]",
    "write denyoom",
    keys=(2, -1, 1),
    key_flags="OW update, RO access",
    since="2.6.0",
)
def bitop(txn: Txn, operation: bytes, destkey: bytes, *keys: bytes) -> int:
    """Combine strings bit by bit; returns the length of the result."""
    name = operation.upper()
    if name not in _OPERATIONS:
        raise errors.syntax()
    if name == b"NOT" and len(keys) != 1:
        raise CommandError(errors.BITOP_NOT)
    return bitmaps.combine(txn, name, destkey, keys)


_READS: Final = {b"GET": 2, b"OVERFLOW": 1}
"""Operations of BITFIELD that write nothing, and how many arguments each has."""


def _bitfield_key_flags(request: Sequence[bytes]) -> str:
    """It reads if all it has are whole operations that do; what is wrong may write."""
    at = 2
    while at < len(request):
        arguments = _READS.get(request[at].upper(), len(request))
        if at + arguments >= len(request):
            return "RW access update"
        at += 1 + arguments
    return "RO access"


@command(
    "BITFIELD key [GET encoding offset|[OVERFLOW <WRAP|SAT|FAIL>]"
    " <SET encoding offset value|INCRBY encoding offset increment> ...]",
    "write denyoom",
    key_flags_finder=_bitfield_key_flags,
    key_notes="reads, writes or both, as its operations say",
    since="3.2.0",
)
def bitfield(txn: Txn, key: bytes, *words: bytes) -> list[int | None]:
    """Read, set and increment integers of any width within a string."""
    return bitmaps.run_fields(txn, key, _parse_fields(txn, Args(words)))


@command("BITFIELD_RO key [GET encoding offset ...]", "readonly fast", since="6.0.0")
def bitfield_ro(txn: Txn, key: bytes, *words: bytes) -> list[int | None]:
    """Read integers of any width within a string."""
    ops = _parse_fields(txn, Args(words))
    if any(op.action is not FieldAction.GET for op in ops):
        raise CommandError(errors.BITFIELD_RO)
    return bitmaps.run_fields(txn, key, ops)


def _parse_fields(txn: Txn, args: Args) -> list[FieldOp]:
    ops: list[FieldOp] = []
    overflow = Overflow.WRAP
    while args:
        word = args.option()
        action = _ACTIONS.get(word)
        if action is not None:
            ops.append(_parse_field(txn, action, overflow, args))
        elif word == b"OVERFLOW":
            overflow = _parse_overflow(args)
        else:
            raise errors.syntax()
    return ops


def _parse_field(txn: Txn, action: FieldAction, overflow: Overflow, args: Args) -> FieldOp:
    reads = action is FieldAction.GET
    if len(args) < (2 if reads else 3):
        raise errors.syntax()
    kind = _field_type(args.take())
    offset = _offset(txn, args.take(), kind.bits)
    return FieldOp(action, kind, offset, 0 if reads else args.integer(), overflow)


def _parse_overflow(args: Args) -> Overflow:
    overflow = _OVERFLOWS.get(args.option())
    if overflow is None:
        raise CommandError(errors.BITFIELD_OVERFLOW)
    return overflow


def _field_type(text: bytes) -> FieldType:
    kind = bits.parse_field_type(text)
    if kind is None:
        raise CommandError(errors.BITFIELD_TYPE)
    return kind


def _offset(txn: Txn, text: bytes, field_bits: int = 0) -> int:
    offset = bits.parse_bit_offset(text, field_bits, txn.keyspace.limits.string_bytes)
    if offset is None:
        raise CommandError(errors.BIT_OFFSET)
    return offset


def _unit(words: tuple[bytes, ...]) -> Unit:
    """The unit that the last option names, bytes where there is none."""
    if not words:
        return Unit.BYTE
    unit = _UNITS.get(words[0].upper())
    if unit is None:
        raise errors.syntax()
    return unit
