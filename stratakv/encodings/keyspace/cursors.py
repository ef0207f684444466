"""Where HSCAN, SSCAN and ZSCAN go on: a bounded table from a cursor to the last element shown.

Rows are in the order of their members, so a place in a collection is a member, which does not fit
into the 64 bits of a cursor. The cursor is therefore a hash of the place, and this table knows the
place. A cursor that the table does not know (the server was restarted, or the entry had to make
room) starts the scan over: SCAN's contract allows an element twice, but never none at all.
"""

from collections import OrderedDict
from hashlib import blake2b
from typing import Final

CURSOR_LIMIT: Final = 100_000
BYTE_LIMIT: Final = 32 << 20
"""Members may be long: their bytes are bounded as well as their number."""


class Cursors:
    """Open scans of collections, in one process.

    The first to make room are the cursors that a client has already come back with, the one used
    last before the others; then those that were handed out longest ago.
    """

    __slots__ = ("_byte_limit", "_bytes", "_limit", "_places")

    def __init__(self, limit: int = CURSOR_LIMIT, byte_limit: int = BYTE_LIMIT) -> None:
        self._limit = limit
        self._byte_limit = byte_limit
        self._bytes = 0
        self._places: OrderedDict[int, tuple[bytes, bytes]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._places)

    def start_after(self, cursor: int, sub: bytes) -> bytes | None:
        """The element after which to go on; None means from the beginning.

        `sub` is the prefix of the collection's rows: a cursor of another collection, or of an
        earlier incarnation of this one, is unknown.
        """
        place = self._places.get(cursor)
        if place is None or place[0] != sub:
            return None
        self._places.move_to_end(cursor, last=False)
        return place[1]

    def remember(self, sub: bytes, last: bytes) -> int:
        """The cursor for going on after `last`: 1 to 2^63 - 1, the same for the same place."""
        digest = blake2b(b"%d:%b%b" % (len(sub), sub, last), digest_size=8).digest()
        cursor = (int.from_bytes(digest, "big") >> 1) or 1
        self._forget(cursor)
        self._places[cursor] = (sub, last)
        self._bytes += len(sub) + len(last)
        self._make_room()
        return cursor

    def _make_room(self) -> None:
        """Keep within both limits, but always the newest: a scan must be able to go on."""
        while len(self._places) > 1 and (
            len(self._places) > self._limit or self._bytes > self._byte_limit
        ):
            self._forget(next(iter(self._places)))

    def _forget(self, cursor: int) -> None:
        place = self._places.pop(cursor, None)
        if place is not None:
            self._bytes -= len(place[0]) + len(place[1])
