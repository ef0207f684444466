"""Lengths and strings, of which dump payloads are made. See payloads.py for the format."""

import struct
from collections.abc import Iterator
from typing import Final

from stratakv.encodings.layout import numbers
from stratakv.encodings.rdb import lzf, packed, payloads
from stratakv.encodings.rdb.payloads import Pause

_LONGEST_INTEGER: Final = 11
_INTEGERS: Final = (
    (payloads.INT8, struct.Struct("<b"), 1 << 7),
    (payloads.INT16, struct.Struct("<h"), 1 << 15),
    (payloads.INT32, struct.Struct("<i"), 1 << 31),
)


# writing


def encode_length(length: int) -> bytes:
    """A length."""
    if length < 1 << 6:
        return bytes((length,))
    if length < 1 << 14:
        return (length | 1 << 14).to_bytes(2, "big")
    if length < 1 << 32:
        return bytes((payloads.LENGTH32,)) + length.to_bytes(4, "big")
    return bytes((payloads.LENGTH64,)) + length.to_bytes(8, "big")


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


class PayloadReader:
    """Lengths and strings taken from the front of a payload; raises `Malformed` at its end."""

    __slots__ = ("_at", "_data", "_end", "_limit", "_pause_if_due")

    def __init__(
        self, data: bytes, limit: int, pause_if_due: Pause, *, end: int | None = None
    ) -> None:
        self._data = data
        self._at = 0
        self._end = len(data) if end is None else end
        self._limit = limit
        self._pause_if_due = pause_if_due

    @property
    def position(self) -> int:
        """How many bytes were taken."""
        return self._at

    def take(self, size: int) -> bytes:
        """So many bytes."""
        at = self._at
        end = at + size
        if end > self._end:
            self._need(size)
            at = self._at
            end = at + size
        self._at = end
        return self._data[at:end]

    def _need(self, size: int) -> None:
        """There are fewer bytes at hand than are needed."""
        raise packed.Malformed

    def byte(self) -> int:
        """One byte."""
        if self._at >= self._end:
            self._need(1)
        self._at += 1
        return self._data[self._at - 1]

    def length(self) -> int:
        """A length."""
        return self._length(self.byte())

    def _length(self, head: int) -> int:
        if head < 0x40:
            return head
        if head < 0x80:
            return (head & 0x3F) << 8 | self.byte()
        if head not in (payloads.LENGTH32, payloads.LENGTH64):
            raise packed.Malformed
        return int.from_bytes(self.take(4 if head == payloads.LENGTH32 else 8), "big")

    def string(self) -> bytes:
        """A string, however it is written."""
        return self._string(self.byte())

    def _string(self, head: int) -> bytes:
        if head < payloads.INT8:
            return self.take(self._length(head))
        if head == payloads.LZF:
            return self._compressed()
        if head > payloads.LZF:
            raise packed.Malformed
        return b"%d" % int.from_bytes(self.take(1 << head - payloads.INT8), "little", signed=True)

    def _compressed(self) -> bytes:
        data_size, size = self.length(), self.length()
        if max(data_size, size) > self._limit:
            raise packed.Malformed
        value = lzf.decompress(self.take(data_size), size, self._pause_if_due)
        if value is None:
            raise packed.Malformed
        return value

    def string_or_parts(self, most: int) -> bytes | tuple[int, Iterator[bytes]]:
        """A string; a longer one than `most` as its length and parts, all but the last as long.

        Requires: all parts are taken before anything else is read.
        """
        head = self.byte()
        if head >= payloads.INT8:
            return self._string(head)
        size = self._length(head)
        return self.take(size) if size <= most else (size, self._parts(size, most))

    def _parts(self, size: int, most: int) -> Iterator[bytes]:
        for at in range(0, size, most):
            yield self.take(min(most, size - at))

    def strings(self, count: int) -> Iterator[bytes]:
        """So many strings."""
        for _ in range(count):
            yield self.string()
