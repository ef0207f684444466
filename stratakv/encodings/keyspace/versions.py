"""Key-versions, which tell the incarnations of a key apart."""

from typing import Final

from stratakv.clock import Clock
from stratakv.encodings.layout import rows
from stratakv.storage.store import Store

VERSION_LEASE_US: Final = 60_000_000
"""How far ahead of use the version mark is persisted: one extra row a minute, not one a key."""


class Versions:
    """Key-versions: microseconds, strictly rising, across restarts and clock changes."""

    __slots__ = ("_clock", "_store", "building", "last", "lease")

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.reload()
        self.last = self.lease
        self.building: set[int] = set()
        """Those that a long command is still writing: not garbage yet."""

    def reload(self) -> None:
        """Take the lease from the store: what a failed commit should have raised is not there."""
        self.lease = int.from_bytes(self._store.get(rows.VERSION_ROW) or b"", "big")

    def next(self) -> int:
        """A version higher than all before it; its lease joins the current commit."""
        version = self.last + 1
        if version < self._clock.now_us:
            version = self._clock.now_us
        self.last = version
        if version >= self.lease:
            self.lease = version + VERSION_LEASE_US
            self._store.pending[rows.VERSION_ROW] = rows.U64.pack(self.lease)
        return version
