"""Bitmaps: strings seen as bits, bit 0 being the highest of byte 0. See strings.py for the row.

Invariants
1. A bitmap grows by whole bytes of zeros, and never shrinks but by BITOP, which replaces it.
2. SETBIT and BITFIELD keep the incarnation there is; BITOP makes a new one, or none if all its
   sources are empty.
"""

from collections.abc import Sequence

from stratakv.encodings import bits, strings
from stratakv.encodings.bits import FieldAction, FieldOp
from stratakv.encodings.metas import STRING
from stratakv.encodings.txn import Txn

_BYTES_PER_US = 512
"""What counting, searching or combining gets through, measured and rounded down."""


def set_bit(txn: Txn, key: bytes, offset: int, bit: int) -> int:
    """Set a bit; returns what it was."""
    meta = txn.expect(key, STRING)
    value = bytearray(meta.value if meta is not None else b"")
    length = len(value)
    old = bits.set_bit(value, offset, bit)
    if meta is None or old != bit or len(value) != length:
        strings.change(txn, key, meta, bytes(value))
    return old


def find(txn: Txn, key: bytes) -> bytes | None:
    """The bytes of a bitmap that will be read from end to end, or None."""
    value = strings.find(txn, key)
    if value is not None:
        txn.expect_work(len(value) // _BYTES_PER_US)
    return value


def combine(txn: Txn, operation: bytes, target: bytes, sources: Sequence[bytes]) -> int:
    """Put the combination of the sources into the target; returns its length in bytes."""
    txn.expect_work(len(sources))
    values = [strings.find(txn, key) or b"" for key in sources]
    txn.expect_work(sum(map(len, values)) // _BYTES_PER_US)
    result = bits.bitop(operation, values, txn.breathe)
    if result:
        strings.assign(txn, target, result)
    else:
        txn.drop(target)
    return len(result)


def run_fields(txn: Txn, key: bytes, ops: Sequence[FieldOp]) -> list[int | None]:
    """Run the steps of a BITFIELD; None stands for a write that FAIL prevented."""
    meta = txn.expect(key, STRING)
    old = meta.value if meta is not None else b""
    if all(op.action is FieldAction.GET for op in ops):
        return [bits.read_field(old, op.type, op.offset) for op in ops]
    value = bytearray(old)
    numbers = bits.bitfield(value, ops)
    if meta is None or value != old:
        strings.change(txn, key, meta, bytes(value))
    return numbers
