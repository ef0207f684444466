"""Lengths and strings, of which dump payloads are made. See rdb.py for the format."""

import struct
from collections.abc import Iterator
from typing import Final

from stratakv.encodings.layout import numbers
from stratakv.encodings.rdb import lzf, packed, rdb
from stratakv.encodings.rdb.rdb import Breathe

_LONGEST_INTEGER: Final = 11
_INTEGERS: Final = (
    (rdb.INT8, struct.Struct("<b"), 1 << 7),
    (rdb.INT16, struct.Struct("<h"), 1 << 15),
    (rdb.INT32, struct.Struct("<i"), 1 << 31),
)


# writing


def encode_length(length: int) -> bytes:
    """A length."""
    if length < 1 << 6:
        return bytes((length,))
    if length < 1 << 14:
        return (length | 1 << 14).to_bytes(2, "big")
    if length < 1 << 32:
        return bytes((rdb.LENGTH32,)) + length.to_bytes(4, "big")
    return bytes((rdb.LENGTH64,)) + length.to_bytes(8, "big")


def encode_string(value: bytes) -> bytes:
    """A string; short integers take less."""
    if len(value) <= _LONGEST_INTEGER:
        number = numbers.parse_int(value)
        if number is not None:
            for mark, form, limit in _INTEGERS:
                if -limit <= number < limit:
                    return bytes((mark,)) + form.pack(number)
    return encode_length(len(value)) + value


# reading


class Reader:
    """Lengths and strings taken from the front of a payload; raises `Malformed` at its end."""

    __slots__ = ("_at", "_breathe", "_data", "_end", "_limit")

    def __init__(
        self, data: bytes, limit: int, breathe: Breathe, *, end: int | None = None
    ) -> None:
        self._data = data
        self._at = 0
        self._end = len(data) if end is None else end
        self._limit = limit
        self._breathe = breathe

    @property
    def position(self) -> int:
        """How many bytes were taken."""
        return self._at

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size > self._end - self._at:
            raise packed.Malformed
        self._at += size
        return self._data[self._at - size : self._at]

    def byte(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def length(self) -> int:
        """A length."""
        return self._length(self.byte())

    def _length(self, head: int) -> int:
        if head < 0x40:
            return head
        if head < 0x80:
            return (head & 0x3F) << 8 | self.byte()
        if head not in (rdb.LENGTH32, rdb.LENGTH64):
            raise packed.Malformed
        return int.from_bytes(self.take(4 if head == rdb.LENGTH32 else 8), "big")

    def string(self) -> bytes:
        """A string, however it is written."""
        head = self.byte()
        if head < rdb.INT8:
            return self.take(self._length(head))
        if head == rdb.LZF:
            return self._compressed()
        if head > rdb.LZF:
            raise packed.Malformed
        return b"%d" % int.from_bytes(self.take(1 << head - rdb.INT8), "little", signed=True)

    def _compressed(self) -> bytes:
        data_size, size = self.length(), self.length()
        data = self.take(data_size)
        value = lzf.decompress(data, size, self._breathe) if size <= self._limit else None
        if value is None:
            raise packed.Malformed
        return value

    def strings(self, count: int) -> Iterator[bytes]:
        """So many strings."""
        return (self.string() for _ in range(count))
