"""Lengths and strings of a dump that arrives in chunks, of which a few are held."""

from collections.abc import Iterator
from typing import Final

from stratakv.encodings.rdb.crc64 import crc64
from stratakv.encodings.rdb.packed import Malformed
from stratakv.encodings.rdb.parts import PayloadReader
from stratakv.encodings.rdb.payloads import INT8, LZF, Pause

_SKIPPED_AT_ONCE: Final = 1 << 16


class ChunkReader(PayloadReader):
    """Takes the next chunk when there is not enough at hand; asking for it may wait.

    A string that is longer than `limit` is malformed, unless it is taken in parts.
    """

    __slots__ = ("_before", "_chunks", "_counted", "_crc", "_kept", "_kept_from")

    def __init__(self, chunks: Iterator[bytes], limit: int, pause_if_due: Pause) -> None:
        super().__init__(b"", limit, pause_if_due)
        self._chunks = chunks
        self._before = 0
        """Where in the dump the data at hand begin."""
        self._crc = 0
        self._counted = 0
        """How much of the data at hand the CRC covers."""
        self._kept: list[bytes] | None = None
        """What was taken since `record`, but for what is still at hand from `_kept_from` on."""
        self._kept_from = 0

    @property
    def position(self) -> int:
        """How many bytes were taken."""
        return self._before + self._at

    def go_on_from(self, position: int, crc: int) -> None:
        """The chunks begin at a later place of the dump, up to which the CRC is known."""
        self._before, self._crc = position, crc

    def crc(self) -> int:
        """The CRC of what was taken."""
        self._crc = crc64(memoryview(self._data)[self._counted : self._at], crc=self._crc)
        self._counted = self._at
        return self._crc

    def rest(self) -> bytes:
        """What is at hand, and was not taken: it does not belong to the dump."""
        return self._data[self._at : self._end]

    def string(self) -> bytes:
        """A string, however it is written."""
        head = self.byte()
        if head >= INT8:
            return self._string(head)
        return self.take(self._sized(self._length(head)))

    def skip_string(self) -> None:
        """Read past a string."""
        head = self.byte()
        if head < INT8:
            self.skip(self._length(head))
        elif head == LZF:
            size = self.length()
            self.length()
            self.skip(size)
        else:
            self._string(head)

    def skip(self, size: int) -> None:
        """Read past so many bytes."""
        while size:
            step = min(size, max(self._end - self._at, 1), _SKIPPED_AT_ONCE)
            self.take(step)
            size -= step

    def _sized(self, size: int) -> int:
        if size > self._limit:
            raise Malformed
        return size

    def record(self) -> None:
        """Keep what is taken from here on, for `recorded`."""
        self._kept, self._kept_from = [], self._at

    def recorded(self) -> bytes:
        """What was taken since `record`; from here on it is kept no more."""
        assert self._kept is not None
        kept, self._kept = self._kept, None
        return b"".join((*kept, self._data[self._kept_from : self._at]))

    def _need(self, size: int) -> None:
        self.crc()
        if self._kept is not None:
            self._kept.append(self._data[self._kept_from : self._at])
            self._kept_from = 0
        found = [self._data[self._at : self._end]]
        have = len(found[0])
        for chunk in self._chunks:
            found.append(chunk)
            have += len(chunk)
            if have >= size:
                break
        self._before += self._at
        self._data = b"".join(found)
        self._at = self._counted = 0
        self._end = have
        if have < size:
            raise CutShort


class CutShort(Malformed):
    """The chunks have ended before the dump."""
