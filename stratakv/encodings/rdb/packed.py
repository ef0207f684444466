"""The compact forms of small collections in Redis's dumps. Only listpacks are written, for streams.

    listpack   u32 bytes | u16 entries | entry ... | 0xff
    ziplist    u32 bytes | u32 last entry | u16 entries | entry ... | 0xff
    intset     u32 width | u32 numbers | number ...
    zipmap     u8 pairs | (length | key | length | u8 unused | value | unused bytes) ... | 0xff

Integers are little-endian. Entries are strings or integers; both come out as strings. Nothing is
taken on trust: what does not fit raises `Malformed`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from stratakv.encodings.layout.numbers import parse_int

_END: Final = 0xFF
_UNCOUNTED: Final = 0xFFFF


class Malformed(Exception):
    """The bytes are not what they should be."""


class _Cursor:
    """Bytes taken from the front."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        if len(piece) < size:
            raise Malformed
        self.at += size
        return piece

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def byte(self) -> int:
        return self.take(1)[0]

    def integer(self, size: int) -> bytes:
        return b"%d" % self.number(size, signed=True)

    def at_end(self) -> bool:
        """Whether the end mark is next; it has to be the last byte."""
        if self.at >= len(self.data):
            raise Malformed
        if self.data[self.at] != _END:
            return False
        if self.at != len(self.data) - 1:
            raise Malformed
        return True


def _check_size(cursor: _Cursor) -> None:
    if cursor.number(4) != len(cursor.data):
        raise Malformed


def _check_count(said: int, found: int) -> None:
    if said not in (found, _UNCOUNTED):
        raise Malformed


# listpack


def listpack(data: bytes) -> Iterator[bytes]:
    """The entries of a listpack."""
    cursor = _Cursor(data)
    _check_size(cursor)
    said, found = cursor.number(2), 0
    while not cursor.at_end():
        start = cursor.at
        yield _listpack_entry(cursor)
        cursor.take(_back_length_size(cursor.at - start))
        found += 1
    _check_count(said, found)


_LISTPACK_INTEGERS: Final = {0xF1: 2, 0xF2: 3, 0xF3: 4, 0xF4: 8}
"""The bytes of an integer, by the entry's first byte."""


def _listpack_entry(cursor: _Cursor) -> bytes:
    head = cursor.byte()
    if head < 0x80:
        return b"%d" % head
    if head < 0xC0:
        return cursor.take(head & 0x3F)
    if head < 0xE0:
        number = (head & 0x1F) << 8 | cursor.byte()
        return b"%d" % (number - (1 << 13) if number >> 12 else number)
    if head < 0xF0:
        return cursor.take((head & 0x0F) << 8 | cursor.byte())
    if head == 0xF0:
        return cursor.take(cursor.number(4))
    size = _LISTPACK_INTEGERS.get(head)
    if size is None:
        raise Malformed
    return cursor.integer(size)


def _back_length_size(size: int) -> int:
    """How many bytes say the length of an entry again, for reading backwards."""
    if size <= 127:
        return 1
    if size < 16383:
        return 2
    if size < 2097151:
        return 3
    return 4 if size < 268435455 else 5


def pack_listpack(entries: Sequence[bytes]) -> bytes:
    """A listpack of these entries; integers are stored as such."""
    body = b"".join([raw + _back_length(len(raw)) for raw in map(encode_entry, entries)])
    size, count = len(body) + 7, min(len(entries), _UNCOUNTED)
    return b"%b%b%b\xff" % (size.to_bytes(4, "little"), count.to_bytes(2, "little"), body)


def encode_entry(value: bytes) -> bytes:
    """An entry without its length at the end."""
    number = parse_int(value)
    if number is not None:
        return _encode_integer(number)
    size = len(value)
    if size < 1 << 6:
        return bytes((0x80 | size,)) + value
    if size < 1 << 12:
        return bytes((0xE0 | size >> 8, size & 0xFF)) + value
    return b"\xf0" + size.to_bytes(4, "little") + value


def _encode_integer(number: int) -> bytes:
    if 0 <= number < 1 << 7:
        return bytes((number,))
    if -(1 << 12) <= number < 1 << 12:
        low = number & 0x1FFF
        return bytes((0xC0 | low >> 8, low & 0xFF))
    for mark, size in _LISTPACK_INTEGERS.items():
        if -(1 << 8 * size - 1) <= number < 1 << 8 * size - 1:
            return bytes((mark,)) + number.to_bytes(size, "little", signed=True)
    raise OverflowError(number)


def _back_length(size: int) -> bytes:
    """The length again, seven bits a byte; all bytes but the first are marked."""
    count = _back_length_size(size)
    parts = [size >> 7 * shift & 0x7F | 0x80 for shift in range(count - 1, -1, -1)]
    parts[0] &= 0x7F
    return bytes(parts)


# ziplist


def ziplist(data: bytes) -> Iterator[bytes]:
    """The entries of a ziplist."""
    cursor = _Cursor(data)
    _check_size(cursor)
    cursor.take(4)
    said, found = cursor.number(2), 0
    while not cursor.at_end():
        if cursor.byte() == 0xFE:  # how long the entry before is
            cursor.take(4)
        yield _ziplist_entry(cursor)
        found += 1
    _check_count(said, found)


_ZIPLIST_INTEGERS: Final = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}


def _ziplist_entry(cursor: _Cursor) -> bytes:
    head = cursor.byte()
    if head < 0x40:
        return cursor.take(head)
    if head < 0x80:
        return cursor.take((head & 0x3F) << 8 | cursor.byte())
    if head == 0x80:
        return cursor.take(int.from_bytes(cursor.take(4), "big"))
    size = _ZIPLIST_INTEGERS.get(head)
    if size is not None:
        return cursor.integer(size)
    if 0xF1 <= head <= 0xFD:
        return b"%d" % ((head & 0x0F) - 1)
    raise Malformed


# intset and zipmap


def intset(data: bytes) -> Iterator[bytes]:
    """The numbers of an intset."""
    cursor = _Cursor(data)
    width, count = cursor.number(4), cursor.number(4)
    if width not in (2, 4, 8) or len(data) != 8 + width * count:
        raise Malformed
    for _ in range(count):
        yield cursor.integer(width)


def zipmap(data: bytes) -> Iterator[bytes]:
    """Keys and values of a zipmap in turn."""
    cursor = _Cursor(data)
    cursor.take(1)
    while not cursor.at_end():
        yield cursor.take(_zipmap_length(cursor))
        length = _zipmap_length(cursor)
        unused = cursor.byte()
        yield cursor.take(length)
        cursor.take(unused)


def _zipmap_length(cursor: _Cursor) -> int:
    length = cursor.byte()
    return cursor.number(4) if length == 0xFE else length
