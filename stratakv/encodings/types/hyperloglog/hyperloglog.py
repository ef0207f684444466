"""HyperLogLogs: strings in Redis's own format, so that GET and SET carry them between servers.

    "HYLL" | u8 form | 3 bytes 0 | u64 little-endian estimate | registers

    form 0   dense: 16384 registers of 6 bits           (see hll_registers.py)
    form 1   sparse: runs of equal registers            (see hll_sparse.py)

Invariants
1. The estimate is right unless its highest bit is set; whoever changes a register sets the bit.
2. A new one is sparse. It becomes dense, for ever, when a register has to exceed 32, when the
   sparse form would exceed `hll-sparse-max-bytes`, or when it is merged with a dense one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.limits import COMPACT_LIMITS
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import PIECES, STRING, Meta
from stratakv.encodings.types.hyperloglog import hll_registers, hll_sparse
from stratakv.encodings.types.hyperloglog.hll_sparse import REGISTERS
from stratakv.encodings.types.strings import strings
from stratakv.errors import CommandError

SPARSE_BYTES: Final = COMPACT_LIMITS["hll-sparse-max-bytes"]
"""Redis's default of hll-sparse-max-bytes, the header included."""

HEADER_BYTES: Final = 16
DENSE_BYTES: Final = HEADER_BYTES + REGISTERS * 6 // 8
_MAGIC: Final = b"HYLL"
_DENSE, _SPARSE = 0, 1
_STALE_BIT: Final = 1 << 63

# Work in rows that could be read in the same time, about a microsecond each (measured).
_WORK_PER_MERGE: Final = 150
_WORK_PER_REGISTER: Final = 8
_BYTES_PER_WORK: Final = 16
_BREATHE_EVERY: Final = 64


EDITORS_KEPT: Final = 64
_editors: dict[bytes, hll_sparse.SparseEditor] = {}
"""Editors by the opcodes they stand at, so that the next element need not look through them all.

An editor is never wrong about its opcodes, whichever key they are of, stored or not.
"""

# the format


@dataclass(slots=True)
class Sketch:
    """A HyperLogLog taken apart: its form, the estimate as stored, and the registers' bytes."""

    is_dense: bool
    estimate: int
    body: bytes

    @property
    def is_stale(self) -> bool:
        """Whether the estimate is not that of the registers."""
        return bool(self.estimate & _STALE_BIT)

    def registers(self) -> bytes:
        """The registers, a byte each."""
        if self.is_dense:
            return hll_registers.unpack(self.body)
        return hll_sparse.expand(self.body)


def new() -> Sketch:
    """A HyperLogLog of nothing."""
    return Sketch(is_dense=False, estimate=0, body=hll_sparse.empty())


def encode(sketch: Sketch) -> bytes:
    """The string of a HyperLogLog."""
    form = _DENSE if sketch.is_dense else _SPARSE
    return b"%b%c\0\0\0%b%b" % (_MAGIC, form, sketch.estimate.to_bytes(8, "little"), sketch.body)


def decode(value: bytes) -> Sketch:
    """A string taken apart; an error if it is no HyperLogLog."""
    is_dense = _check_header(value, len(value))
    estimate = int.from_bytes(value[8:HEADER_BYTES], "little")
    return Sketch(is_dense, estimate, value[HEADER_BYTES:])


def _check_header(value: bytes, length: int) -> bool:
    """Refuse a string of that length if it does not begin like one; says whether it is dense."""
    is_dense = value[4:5] == bytes((_DENSE,))
    if (
        length < HEADER_BYTES
        or value[:4] != _MAGIC
        or value[4] not in (_DENSE, _SPARSE)
        or (is_dense and length != DENSE_BYTES)
    ):
        raise CommandError(errors.NOT_HLL)
    return is_dense


# operations


def add(txn: Txn, key: bytes, elements: Sequence[bytes]) -> bool:
    """Count elements; says whether anything changed, a new key included."""
    meta = txn.expect(key, STRING)
    sketch = _opened(txn, meta)
    txn.expect_work(len(elements) + sum(map(len, elements)) // _BYTES_PER_WORK)
    changed = raise_registers(sketch, _located(txn, elements), _sparse_bytes(txn)) or meta is None
    if changed:
        sketch.estimate |= _STALE_BIT
        strings.change(txn, key, meta, encode(sketch))
        txn.event("$", "pfadd", key)
    return changed


def count(txn: Txn, key: bytes) -> int:
    """How many different elements were counted; the answer is kept in the string."""
    meta = txn.look_up(key, STRING)
    if meta is None:
        return 0
    sketch = _opened(txn, meta)
    if sketch.is_stale:
        sketch.estimate = hll_registers.estimate(sketch.registers())
        strings.change(txn, key, meta, encode(sketch))
    return sketch.estimate


def count_union(txn: Txn, keys: Sequence[bytes]) -> int:
    """How many different elements were counted under any of the keys."""
    return hll_registers.estimate(_merged(txn, keys)[0])


def merge(txn: Txn, key: bytes, sources: Sequence[bytes]) -> None:
    """Make the key count what any of the sources counts, in addition to its own."""
    registers, any_is_dense = _merged(txn, (key, *sources))
    meta = txn.expect(key, STRING)
    sketch = _opened(txn, meta)
    if any_is_dense:
        sketch = Sketch(is_dense=True, estimate=sketch.estimate, body=hll_registers.pack(registers))
    else:
        txn.expect_work((REGISTERS - registers.count(0)) * _WORK_PER_REGISTER)
        raise_registers(sketch, _standing(txn, registers), _sparse_bytes(txn))
    sketch.estimate |= _STALE_BIT
    strings.change(txn, key, meta, encode(sketch))
    txn.event("$", "pfadd", key)


def make_dense(txn: Txn, key: bytes) -> tuple[bool, Sketch]:
    """Turn a HyperLogLog into the dense form; says whether it was sparse."""
    meta, sketch = _found(txn, key)
    was_sparse = not sketch.is_dense
    if was_sparse:
        _densify(sketch)
        strings.change(txn, key, meta, encode(sketch))
    return was_sparse, sketch


def find(txn: Txn, key: bytes) -> Sketch:
    """The HyperLogLog under a key; an error if there is none."""
    return _found(txn, key)[1]


def _sparse_bytes(txn: Txn) -> int:
    return txn.keyspace.limits.compact["hll-sparse-max-bytes"]


def raise_registers(
    sketch: Sketch, changes: Iterable[tuple[int, int]], sparse_bytes: int = SPARSE_BYTES
) -> bool:
    """Make registers at least so high; says whether any was lower. The estimate stays."""
    if sketch.is_dense:
        return _raise_dense(sketch, changes)
    remaining = iter(changes)
    editor = _editors.pop(sketch.body, None) or hll_sparse.SparseEditor(sketch.body)
    changed = False
    for index, value in remaining:
        done = _raise_sparse(editor, index, value, sparse_bytes)
        if done is None:
            sketch.body = bytes(editor.raw)
            _densify(sketch)
            _raise_dense(sketch, ((index, value),))
            _raise_dense(sketch, remaining)
            return True
        changed |= done
    if changed:
        sketch.body = bytes(editor.raw)
    if len(_editors) >= EDITORS_KEPT:
        _editors.clear()
    _editors[sketch.body] = editor
    return changed


def _raise_sparse(
    editor: hll_sparse.SparseEditor, index: int, value: int, sparse_bytes: int
) -> bool | None:
    """None if only the dense form can hold it."""
    if value > hll_sparse.MOST_VALUE:
        return None
    return editor.raise_register(index, value, sparse_bytes - HEADER_BYTES)


def _raise_dense(sketch: Sketch, changes: Iterable[tuple[int, int]]) -> bool:
    packed = bytearray(sketch.body)
    changed = False
    for index, value in changes:
        changed |= hll_registers.raise_packed(packed, index, value)
    if changed:
        sketch.body = bytes(packed)
    return changed


def _densify(sketch: Sketch) -> None:
    sketch.body = hll_registers.pack(sketch.registers())
    sketch.is_dense = True


def _located(txn: Txn, elements: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    for number, element in enumerate(elements):
        if not number % _BREATHE_EVERY:
            txn.pause_if_due()
        yield hll_registers.locate(element, txn.pause_if_due)


def _standing(txn: Txn, registers: bytes) -> Iterator[tuple[int, int]]:
    """The registers that are not 0."""
    for index, value in enumerate(registers):
        if not index % _BREATHE_EVERY:
            txn.pause_if_due()
        if value:
            yield index, value


def _opened(txn: Txn, meta: Meta | None) -> Sketch:
    """The HyperLogLog of a string; a long string is asked for its header before it is read."""
    if meta is None:
        return new()
    if meta.encoding == PIECES:
        _check_header(strings.opened(txn, meta)[:HEADER_BYTES], strings.length(meta))
    return decode(strings.whole(txn, meta))


def _found(txn: Txn, key: bytes) -> tuple[Meta, Sketch]:
    meta = txn.expect(key, STRING)
    if meta is None:
        raise CommandError(errors.KEY_DOES_NOT_EXIST)
    return meta, _opened(txn, meta)


def _merged(txn: Txn, keys: Sequence[bytes]) -> tuple[bytes, bool]:
    """The highest registers of all, and whether any was dense."""
    txn.expect_work(len(keys) * _WORK_PER_MERGE)
    registers, any_is_dense = bytes(REGISTERS), False
    for key in keys:
        meta = txn.look_up(key, STRING)
        if meta is not None:
            sketch = _opened(txn, meta)
            any_is_dense |= sketch.is_dense
            registers = hll_registers.highest(registers, sketch.registers())
            txn.pause_if_due()
    return registers, any_is_dense
