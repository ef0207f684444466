"""Long strings: the value in pieces, rows of their own behind a meta that knows the length.

    "m#" | ns | h8 | key     -> 1 | 1 | u64 version | i64 expire-ms | u64 length
    "s#" | path | u32 number -> the bytes from number * PIECE_BYTES on

Invariants
1. A piece that is not there stands for zero bytes, and so does what a short one lacks.
2. No piece has more than PIECE_BYTES, and none reaches beyond the length.
3. An incarnation never gets shorter, so a string that does is a new one.

So whatever touches a part of a string touches only the pieces of that part, and a bitmap costs what
is set in it. Many bytes at once are written as a new incarnation, which a long command does in
slices (see long_txn.py); few are written over what is there.
"""

import io
from collections.abc import Iterable, Iterator
from typing import Final, overload

from stratakv.encodings.keyspace.limits import PIECE_BYTES
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import NO_EXPIRY, PIECES, STRING, Meta
from stratakv.encodings.layout.rows import U32, end_of

BYTES_PER_WORK: Final = 1024
"""Reading or writing so many takes as long as a row: 64 KB in 60 us, measured."""

STREAMED_BYTES: Final = 1 << 20
"""Longer values are not put together for a reply, but read as it is sent."""

IN_PLACE_BYTES: Final = 4 << 20
"""More bytes than that, written at once, make a new incarnation: they would all be one batch."""

_ZEROS: Final = bytes(PIECE_BYTES)


# reading


class Pieces:
    """The bytes of a long string, or of a part of it, read when they are asked for.

    `is_frozen` says that later writes of the same unit of work do not show.
    """

    __slots__ = ("_start", "_stop", "_sub", "_txn", "is_frozen")

    def __init__(
        self, txn: Txn, sub: bytes, start: int, stop: int, *, is_frozen: bool = False
    ) -> None:
        self._txn = txn
        self._sub = sub
        self._start = start
        self._stop = stop
        self.is_frozen = is_frozen

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, place: int, /) -> int: ...
    @overload
    def __getitem__(self, place: slice, /) -> bytes: ...
    def __getitem__(self, place: int | slice, /) -> int | bytes:
        if isinstance(place, slice):
            start, stop, _ = place.indices(len(self))
            return b"".join(self.chunks(start, stop))
        return b"".join(self.chunks(place, place + 1))[0]

    def __bytes__(self) -> bytes:
        """All bytes at once. A join would hold everybody up for a tenth of a second and more."""
        whole = io.BytesIO()
        for chunk in self.chunks(0, len(self)):
            whole.write(chunk)
        return whole.getvalue()

    def cut(self, start: int, stop: int) -> "Pieces":
        """A part, still unread. Requires: it lies within."""
        start += self._start
        stop += self._start
        return Pieces(self._txn, self._sub, start, stop, is_frozen=self.is_frozen)

    def chunks(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes from start to stop, in order, a piece at a time."""
        size = self._txn.keyspace.limits.piece_bytes
        at, end = self._start + start, self._start + stop
        if at >= end:
            return
        for number, piece in self._stored(at // size, (end - 1) // size):
            begins = number * size
            yield from _zeros(at, begins, size)
            at = max(at, begins)
            stops = min(end, begins + size)
            found = piece[at - begins : stops - begins]
            yield found if len(found) == stops - at else found.ljust(stops - at, b"\0")
            at = stops
        yield from _zeros(at, end, size)

    def _stored(self, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        """The pieces that are there, with their numbers."""
        txn, sub = self._txn, self._sub
        if first == last:
            piece = txn.get(sub + U32.pack(first))
            if piece is not None:
                txn.spend(len(piece) // BYTES_PER_WORK)
                yield first, piece
            return
        skip = len(sub)
        for row, piece in txn.scan(sub + U32.pack(first), sub + U32.pack(last) + b"\0"):
            yield int.from_bytes(row[skip:], "big"), piece


def _zeros(at: int, end: int, size: int) -> Iterator[bytes]:
    """Zero bytes from one place to another, cut where pieces end."""
    while at < end:
        stop = min(end, at - at % size + size)
        yield _ZEROS[: stop - at]
        at = stop


def length(meta: Meta) -> int:
    """How long a string in pieces is. Requires: it is one."""
    size = meta.extra
    assert type(size) is int
    return size


def opened(txn: Txn, meta: Meta) -> Pieces:
    """The bytes of a string in pieces, none of them read yet."""
    return Pieces(txn, meta.sub, 0, length(meta))


def frozen(txn: Txn, key: bytes, meta: Meta) -> Pieces:
    """As `opened`, for a reply, which is sent when the command has ended."""
    reader = txn.frozen(key)
    return Pieces(reader, meta.sub, 0, length(meta), is_frozen=reader is not txn)


class Draft(Pieces):
    """The bytes of a long string of which some are about to be changed, in place."""

    __slots__ = ("_meta",)

    def __init__(self, txn: Txn, meta: Meta) -> None:
        super().__init__(txn, meta.sub, 0, length(meta))
        self._meta = meta

    @overload
    def __setitem__(self, place: int, new: int, /) -> None: ...
    @overload
    def __setitem__(self, place: slice, new: bytes, /) -> None: ...
    def __setitem__(self, place: int | slice, new: int | bytes, /) -> None:
        at = place.start if isinstance(place, slice) else place
        data = new if isinstance(new, bytes) else bytes((new,))
        if self[at : at + len(data)] != data:
            overwrite(self._txn, self._meta, at, data)


# writing


def create(txn: Txn, key: bytes, size: int, expire_ms: int = NO_EXPIRY) -> Meta:
    """A new string of so many zero bytes, in place of whatever the key was."""
    return txn.create(key, STRING, size, expire_ms, PIECES)


def fill(txn: Txn, meta: Meta, chunks: Iterable[bytes]) -> None:
    """Write the bytes of a new string from its beginning on."""
    at = 0
    for chunk in chunks:
        overwrite(txn, meta, at, chunk)
        at += len(chunk)


def renew(txn: Txn, key: bytes, meta: Meta, size: int) -> Meta:
    """A new incarnation with the same bytes, and zeros behind them up to a size."""
    skip = len(meta.sub)
    found = txn.scan(meta.sub, end_of(meta.sub))
    fresh = create(txn, key, size, meta.expire_ms)
    for row, piece in found:
        txn.put(fresh.sub + row[skip:], piece)
    txn.forget(meta.sub)
    return fresh


def overwrite(txn: Txn, meta: Meta, at: int, data: bytes) -> None:
    """Write bytes at a place. Requires: the string reaches to their end."""
    size, end = txn.keyspace.limits.piece_bytes, at + len(data)
    view = memoryview(data)
    for begins in range(at // size * size, end, size):
        start, stop = max(at, begins), min(end, begins + size)
        part = bytes(view[start - at : stop - at])
        row = meta.sub + U32.pack(begins // size)
        txn.spend((stop - start) // BYTES_PER_WORK)
        if start > begins or stop < min(begins + size, length(meta)):
            old = txn.get(row) or b""
            txn.spend(len(old) // BYTES_PER_WORK)
            before = old[: start - begins].ljust(start - begins, b"\0")
            part = b"".join((before, part, old[stop - begins :]))
        txn.put(row, part)
