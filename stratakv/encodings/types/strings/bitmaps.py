"""Bitmaps: strings seen as bits, bit 0 being the highest of byte 0. See strings.py for the rows.

Invariants
1. A bitmap grows by whole bytes of zeros, and never shrinks but by BITOP, which replaces it.
2. SETBIT and BITFIELD keep the incarnation there is; BITOP makes a new one, or none if all its
   sources are empty.
"""

from collections.abc import Sequence
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import STRING, WHOLE, Meta
from stratakv.encodings.types.strings import bits, pieces, strings
from stratakv.encodings.types.strings.bits import FieldAction, FieldOp
from stratakv.encodings.types.strings.pieces import Draft, Pieces

_BYTES_PER_US: Final = 512
"""What counting, searching or combining gets through, measured and rounded down."""

_FIELD_BYTES: Final = 16
"""No field takes more."""


def set_bit(txn: Txn, key: bytes, offset: int, bit: int) -> int:
    """Set a bit; returns what it was."""
    meta = txn.expect(key, STRING)
    length, needed = strings.length(meta), (offset >> 3) + 1
    if meta is not None and needed <= length:
        old = bits.get_bit(strings.opened(txn, meta), offset)
        if old == bit:
            return old
    value = _editable(txn, key, meta, max(length, needed), 1)
    old = bits.set_bit(value, offset, bit)
    if isinstance(value, bytearray):
        strings.change(txn, key, meta, bytes(value))
    txn.event("$", "setbit", key)
    return old


def _editable(txn: Txn, key: bytes, meta: Meta | None, size: int, amount: int) -> bytearray | Draft:
    """The bytes of a string, to be changed: a copy of a short one, a long one in place."""
    if size <= txn.keyspace.limits.piece_bytes and (meta is None or meta.encoding == WHOLE):
        return bytearray(meta.value if meta is not None else b"")
    return Draft(txn, strings.widened(txn, key, meta, size, amount))


def expect_reading(txn: Txn, count: int) -> None:
    """So many bytes of a bitmap will be counted, searched or combined."""
    txn.expect_work(count // _BYTES_PER_US)


def combine(txn: Txn, operation: bytes, target: bytes, sources: Sequence[bytes]) -> int:
    """Put the combination of the sources into the target; returns its length in bytes."""
    txn.expect_work(len(sources))
    values = [strings.find_opened(txn, key) or b"" for key in sources]
    expect_reading(txn, sum(map(len, values)))
    size = max(map(len, values), default=0)
    result = bits.bitop(operation, values, txn.pause_if_due)
    if not size:
        txn.erase(target)
        return 0
    if size <= txn.keyspace.limits.piece_bytes:
        strings.assign(txn, target, b"".join(result))
    else:
        pieces.fill(txn, pieces.create(txn, target, size), result)
    txn.event("$", "set", target)
    return size


def run_fields(txn: Txn, key: bytes, ops: Sequence[FieldOp]) -> list[int | None]:
    """Run the steps of a BITFIELD; None stands for a write that FAIL prevented."""
    meta = txn.expect(key, STRING)
    old: bytes | Pieces = b"" if meta is None else strings.opened(txn, meta)
    if all(op.action is FieldAction.GET for op in ops):
        if meta is None:
            txn.missed(key)
        return [bits.read_field(old, op.type, op.offset) for op in ops]
    size = max(len(old), (bits.fields_end(ops) + 7) >> 3)
    value = _editable(txn, key, meta, size, len(ops) * _FIELD_BYTES)
    numbers, changed = bits.run_fields(value, ops)
    if isinstance(value, bytearray):
        new = bytes(value)
        if meta is None or new != old:
            strings.change(txn, key, meta, new)
    if changed or (size > len(old) and _wrote(ops, numbers)):
        txn.event("$", "setbit", key)
    return numbers


def _wrote(ops: Sequence[FieldOp], numbers: Sequence[int | None]) -> bool:
    """Whether any step wrote its field, if only what was there."""
    return any(
        number is not None and op.action is not FieldAction.GET
        for op, number in zip(ops, numbers, strict=True)
    )
