"""LevelDB's files, read without LevelDB: what it does not tell of them is told here.

All integers are little-endian, varints have seven bits a byte, `|` is concatenation. A crc is a
CRC-32C, turned by 15 bits and raised by a constant so that it is not its own.

    log, MANIFEST   blocks of 32 KB of records; a record does not cross their borders
    record          u32 crc(type | data) | u16 length | u8 type | data
                    type: 1 whole, 2 first, 3 middle, 4 last part
    of a log        u64 sequence | u32 count | entries: 1 | key | value   or   0 | key
    of a MANIFEST   fields of one version edit, each behind its tag

    table           data blocks | filter | metaindex | index | footer
    block           data | u8 compression | u32 crc(data | compression)
    data            entries: varint shared | varint unshared | varint length | key | value
                    | u32 restarts | u32 their number
    footer          handle of metaindex | handle of index | padding to 40 bytes | u64 magic
    handle          varint offset | varint size

A key in a table is the row | u64 (sequence << 8 | kind); kind 1 puts the row, 0 deletes it.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from crc32c import crc32c

LOG_BLOCK: Final = 32768
FOOTER_BYTES: Final = 48
TRAILER_BYTES: Final = 5
MAGIC: Final = struct.pack("<Q", 0xDB4775248B80FB57)

_HEADER = struct.Struct("<IHB")
_BATCH = struct.Struct("<QI")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_SNAPPY: Final = 1
_MASK: Final = 0xFFFFFFFF


class Broken(Exception):
    """Bytes that are not what was written; `offset` is where in the file, if that is known."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.offset = offset


def masked_crc(data: bytes) -> int:
    """The checksum of some bytes as it stands in the files."""
    return _masked(crc32c(data))


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _MASK


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(number, place behind it)."""
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Broken("a number has no end")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def write_varint(number: int) -> bytes:
    """The shortest form of a number."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = read_varint(data, at)
    if at + length > len(data):
        raise Broken("a name is cut off")
    return data[at : at + length], at + length


def _write_bytes(data: bytes) -> bytes:
    return write_varint(len(data)) + data


# logs


class Record(NamedTuple):
    """A whole record; `offset` is where its first part begins."""

    offset: int
    data: bytes


def read_records(raw: bytes) -> Iterator[Record | Broken]:
    """The records of a log or MANIFEST, and what is broken between them.

    A record that is cut off by the end of the file is neither: a process that was killed, or a
    machine that lost its power, leaves such a one.
    """
    at = begin = 0
    parts: list[bytes] | None = None
    while True:
        if LOG_BLOCK - at % LOG_BLOCK < _HEADER.size:
            at += LOG_BLOCK - at % LOG_BLOCK  # padding
        fault = _fault_at(raw, at)
        if fault == "end":
            return
        if fault:
            yield Broken(fault, at)
            parts = None
            at = _next_record(raw, at + 1)
            continue
        _, length, kind = _HEADER.unpack_from(raw, at)
        data = raw[at + _HEADER.size : at + _HEADER.size + length]
        if (kind in (_WHOLE, _FIRST)) == (parts is not None):
            yield Broken("a part of a record is missing", at)
            parts = [] if kind in (_WHOLE, _FIRST) else None
        if kind in (_WHOLE, _FIRST):
            begin, parts = at, []
        if parts is not None:
            parts.append(data)
            if kind in (_WHOLE, _LAST):
                yield Record(begin, b"".join(parts))
                parts = None
        at += _HEADER.size + length


def _fault_at(raw: bytes, at: int) -> str:
    """What is wrong with the record there: nothing, or `end` if the file ends in it."""
    left = len(raw) - at
    if left < _HEADER.size:
        return "end"
    crc, length, kind = _HEADER.unpack_from(raw, at)
    if not kind or kind > _LAST:
        return "zeros instead of a record" if not (crc or length or kind) else "no record"
    if length > LOG_BLOCK - at % LOG_BLOCK - _HEADER.size:
        return "a record of an impossible length"
    if length > left - _HEADER.size:
        is_whole = masked_crc(raw[at + 6 :]) == crc
        is_followed = _next_record(raw, at + 1) < len(raw)
        return "a record of a wrong length" if is_whole or is_followed else "end"
    if masked_crc(raw[at + 6 : at + _HEADER.size + length]) != crc:
        return "checksum mismatch"
    return ""


def _next_record(raw: bytes, at: int) -> int:
    """Where the next sound record begins; the end of the file if there is none."""
    while at + _HEADER.size <= len(raw):
        crc, length, kind = _HEADER.unpack_from(raw, at)
        end = at + _HEADER.size + length
        fits = end <= len(raw) and _HEADER.size + length <= LOG_BLOCK - at % LOG_BLOCK
        if 1 <= kind <= _LAST and fits and masked_crc(raw[at + 6 : end]) == crc:
            return at
        at += 1
    return len(raw)


def write_record(data: bytes) -> bytes:
    """A file of one record."""
    out = bytearray()
    at, kind = 0, _FIRST
    while True:
        room = LOG_BLOCK - _HEADER.size
        part = data[at : at + room]
        at += len(part)
        if at == len(data):
            kind = _WHOLE if kind == _FIRST else _LAST
        out += _HEADER.pack(masked_crc(bytes((kind,)) + part), len(part), kind) + part
        if at == len(data):
            return bytes(out)
        kind = _MIDDLE


class Batch(NamedTuple):
    """What one record of a log writes; None deletes."""

    sequence: int
    entries: list[tuple[bytes, bytes | None]]


def decode_head(data: bytes) -> tuple[int, int]:
    """The number of a batch's first entry, and how many it has."""
    if len(data) < _BATCH.size:
        raise Broken("a batch without its head")
    sequence, count = _BATCH.unpack_from(data)
    return sequence, count


def decode_batch(data: bytes) -> Batch:
    """The batch of a log's record."""
    sequence, count = decode_head(data)
    at = _BATCH.size
    entries: list[tuple[bytes, bytes | None]] = []
    while at < len(data):
        kind = data[at]
        row, at = _read_bytes(data, at + 1)
        value: bytes | None = None
        if kind == 1:
            value, at = _read_bytes(data, at)
        elif kind:
            raise Broken("a batch with an unknown entry")
        entries.append((row, value))
    if len(entries) != count:
        raise Broken("a batch with a wrong count")
    return Batch(sequence, entries)


# the MANIFEST


class Table(NamedTuple):
    """A table as the MANIFEST knows it; `low` and `high` are its outermost rows."""

    level: int
    number: int
    size: int
    low: bytes
    high: bytes


class Version(NamedTuple):
    """What the MANIFEST says in the end."""

    tables: dict[int, Table]
    log_number: int
    previous_log: int
    last_sequence: int


COMPARATOR: Final = b"leveldb.BytewiseComparator"


def decode_manifest(records: Iterator[bytes]) -> Version:
    """Apply the edits of a MANIFEST."""
    tables: dict[int, Table] = {}
    numbers = {2: 0, 3: 0, 4: 0, 9: 0}
    for data in records:
        _apply_edit(data, tables, numbers)
    if not numbers[3]:
        raise Broken("the MANIFEST has no beginning")
    return Version(tables, numbers[2], numbers[9], numbers[4])


def _apply_edit(data: bytes, tables: dict[int, Table], numbers: dict[int, int]) -> None:
    at = 0
    added: list[Table] = []
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag == 1:
            name, at = _read_bytes(data, at)
            if name != COMPARATOR:
                raise Broken("another comparator")
        elif tag in numbers:
            numbers[tag], at = read_varint(data, at)
        elif tag == 5:
            _, at = read_varint(data, at)
            _, at = _read_bytes(data, at)
        elif tag == 6:
            _, at = read_varint(data, at)
            number, at = read_varint(data, at)
            tables.pop(number, None)
        elif tag == 7:
            table, at = _read_table(data, at)
            added.append(table)
        else:
            raise Broken(f"an edit with the unknown tag {tag}")
    tables.update({table.number: table for table in added})


def _read_table(data: bytes, at: int) -> tuple[Table, int]:
    level, at = read_varint(data, at)
    number, at = read_varint(data, at)
    size, at = read_varint(data, at)
    low, at = _read_bytes(data, at)
    high, at = _read_bytes(data, at)
    return Table(level, number, size, low[:-8], high[:-8]), at


def encode_manifest(tables: list[Table], last_sequence: int) -> bytes:
    """A MANIFEST of these tables and no log."""
    out = bytearray(write_varint(1) + _write_bytes(COMPARATOR))
    following = max((table.number for table in tables), default=1) + 1
    for tag, number in ((2, 0), (9, 0), (3, following), (4, last_sequence)):
        out += write_varint(tag) + write_varint(number)
    for table in tables:
        out += write_varint(7) + write_varint(table.level) + write_varint(table.number)
        out += write_varint(table.size)
        out += _write_bytes(table.low + _U64.pack(((1 << 56) - 1) << 8 | 1))
        out += _write_bytes(table.high + _U64.pack(0))
    return write_record(bytes(out))


# tables


class Block(NamedTuple):
    """A data block: where it is, and the rows it may have, behind `after` and up to `high`."""

    offset: int
    size: int
    after: bytes
    high: bytes


class TableFile:
    """An open table. Everything raises `Broken` for what is not as it was written."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._descriptor).st_size

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def __enter__(self) -> "TableFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _footer(self) -> tuple[int, int, int, int]:
        """Offset and size of the metaindex and of the index."""
        at = max(0, self.size - FOOTER_BYTES)
        raw = os.pread(self._descriptor, FOOTER_BYTES, at)
        if len(raw) < FOOTER_BYTES or raw[-8:] != MAGIC:
            raise Broken("the footer is not one", at)
        numbers = []
        place = 0
        for _ in range(4):
            number, place = read_varint(raw, place)
            numbers.append(number)
        return numbers[0], numbers[1], numbers[2], numbers[3]

    def verify_index(self) -> None:
        """Read the footer and the index, with its checksum."""
        _, _, offset, size = self._footer()
        self._stored(offset, size)

    def verify_filter(self) -> None:
        """Read the metaindex and what it names."""
        offset, size, _, _ = self._footer()
        for _, handle in _entries(self.block(offset, size), offset):
            at, place = read_varint(handle, 0)
            self._stored(at, read_varint(handle, place)[0])

    def blocks(self) -> list[Block]:
        """Every data block, by the index."""
        _, _, offset, size = self._footer()
        found: list[Block] = []
        after = b""
        for key, handle in _entries(self.block(offset, size), offset):
            at, place = read_varint(handle, 0)
            found.append(Block(at, read_varint(handle, place)[0], after, key[:-8]))
            after = key[:-8]
        return found

    def _stored(self, offset: int, size: int) -> bytes:
        """The stored bytes of a block, with its compression, once their checksum is right."""
        if offset + size + TRAILER_BYTES > self.size:
            raise Broken("a block beyond the end of the file", offset)
        raw = os.pread(self._descriptor, size + TRAILER_BYTES, offset)
        if len(raw) != size + TRAILER_BYTES:
            raise Broken("a block is cut off", offset)
        if masked_crc(raw[: size + 1]) != _U32.unpack_from(raw, size + 1)[0]:
            raise Broken("checksum mismatch", offset)
        return raw[: size + 1]

    def verify(self, block: Block) -> None:
        """Read a data block with its checksum."""
        self._stored(block.offset, block.size)

    def block(self, offset: int, size: int) -> bytes:
        """The content of a block."""
        stored = self._stored(offset, size)
        if stored[-1] == _SNAPPY:
            return uncompress(stored[:-1])
        if stored[-1]:
            raise Broken("an unknown compression", offset)
        return stored[:-1]

    def entries(self, block: Block) -> Iterator[tuple[bytes, int, bytes | None]]:
        """(row, sequence, value or None for a deletion) of a data block."""
        for key, value in _entries(self.block(block.offset, block.size), block.offset):
            mark: int = _U64.unpack(key[-8:])[0]
            yield key[:-8], mark >> 8, value if mark & 0xFF else None


def _entries(data: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block's content."""
    if len(data) < 4:
        raise Broken("a block without restarts", offset)
    end = len(data) - 4 * (1 + _U32.unpack_from(data, len(data) - 4)[0])
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(data, at)
        unshared, at = read_varint(data, at)
        length, at = read_varint(data, at)
        key = key[:shared] + data[at : at + unshared]
        at += unshared
        yield key, data[at : at + length]
        at += length


class Rebuilt(NamedTuple):
    """A table with an index of our own over the data blocks that were found."""

    content: bytes
    last: bytes
    """The last row in it; what stood behind it is not known."""


def rebuild_table(raw: bytes) -> Rebuilt | None:
    """A table whose index or footer is lost, as far as its data blocks follow on each other.

    Where a block ends is found by its checksum: half a second for a table of 2 MB.
    """
    at, last = 0, b""
    index = bytearray()
    restarts: list[int] = []
    while (end := _block_end(raw, at)) is not None:
        key = _last_key(raw[at : end + 1], last)
        if key is None:
            break
        handle = write_varint(at) + write_varint(end - at)
        restarts.append(len(index))
        index += b"\0" + write_varint(len(key)) + write_varint(len(handle)) + key + handle
        at, last = end + TRAILER_BYTES, key
    if not restarts:
        return None
    content = bytearray(raw[:at])
    handles = b""
    for data, places in ((b"", [0]), (bytes(index), restarts)):
        block = data + struct.pack(f"<{len(places) + 1}I", *places, len(places)) + b"\0"
        handles += write_varint(len(content)) + write_varint(len(block) - 1)
        content += block + _U32.pack(masked_crc(block))
    content += handles.ljust(FOOTER_BYTES - len(MAGIC), b"\0") + MAGIC
    return Rebuilt(bytes(content), last[:-8])


def _block_end(raw: bytes, at: int) -> int | None:
    """Where the data of a block that begins there ends, judging by its checksum."""
    crc = 0
    for end in range(at, len(raw) - 4):
        byte = raw[end : end + 1]
        crc = crc32c(byte, crc)
        if byte <= b"\1" and _masked(crc) == _U32.unpack_from(raw, end + 1)[0]:
            return end
    return None


def _last_key(stored: bytes, before: bytes) -> bytes | None:
    """The last key of a data block; None if it is none, or does not stand behind another key."""
    last = before
    try:
        data = uncompress(stored[:-1]) if stored[-1] == _SNAPPY else stored[:-1]
        for key, _ in _entries(data, 0):
            if len(key) < 8 or key[-8] > 1 or key[:-8] < last[:-8]:
                return None
            last = key
    except Broken:
        return None
    return last if last != before else None


def uncompress(data: bytes) -> bytes:
    """The content of what Snappy has compressed.

    Few blocks are read here, mostly indexes: a millisecond each.
    """
    length, at = read_varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if not tag & 3:
            size = tag >> 2
            if size >= 60:
                width = size - 59
                size = int.from_bytes(data[at : at + width], "little")
                at += width
            size += 1
            out += data[at : at + size]
            at += size
            continue
        if tag & 3 == 1:
            size, back, width = (tag >> 2 & 7) + 4, tag >> 5 << 8, 1
        else:
            size, back, width = (tag >> 2) + 1, 0, 2 if tag & 3 == 2 else 4
        back |= int.from_bytes(data[at : at + width], "little")
        at += width
        if not 0 < back <= len(out):
            raise Broken("a compressed block that refers to nothing")
        start = len(out) - back
        piece = out[start : start + size]
        out += (piece * (size // len(piece) + 1))[:size]
    if len(out) != length:
        raise Broken("a compressed block of a wrong length")
    return bytes(out)
