"""A Txn for a store that is far away, and takes no large commits.

Each unit of work is measured before it is applied, so that one that is too large is refused by
itself; and what is pending is handed over before it is too large together with the next.

Of an incarnation that the unit itself makes, the store has no rows. It is not asked for any: since
each attempt of a command makes an incarnation of another version, none would ever be at hand.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import NO_EXPIRY, Extra, Meta
from stratakv.encodings.layout.rows import path_of
from stratakv.errors import StoreUnavailable
from stratakv.storage.store import Overlay, merge, rows_between

HANDED_OVER_BYTES: Final = 2 << 20
"""With so much pending it is made a batch of its own, with the next unit at the latest."""


class MeasuredTxn(Txn):
    """As a Txn; `apply` raises `CommandError`, before anything is done, for what is too large."""

    def __init__(self, keyspace: Keyspace, database: Database) -> None:
        super().__init__(keyspace, database)
        self._fresh: set[bytes] = set()
        """The incarnations that the unit has made, by the path of their rows."""

    def _open_sibling(self, database: Database) -> Txn:
        sibling = MeasuredTxn(self.keyspace, database)
        sibling.clock = self.clock
        return sibling

    def create(
        self,
        key: bytes,
        type_: int,
        extra: Extra,
        expire_ms: int = NO_EXPIRY,
        encoding: int | None = None,
    ) -> Meta:
        """As in a Txn."""
        meta = super().create(key, type_, extra, expire_ms, encoding)
        if meta.sub:
            self._fresh.add(path_of(meta.sub, len(self.db.ns)))
        return meta

    def get(self, row: bytes) -> bytes | None:
        """As in a Txn."""
        return self.rows.get(row) if self._is_fresh(row) else super().get(row)

    def scan_keys(
        self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = UNLIMITED
    ) -> Iterable[bytes]:
        """As in a Txn."""
        if self._is_fresh(start):
            return [row for row, _ in self.scan(start, stop, reverse=reverse, limit=limit)]
        return super().scan_keys(start, stop, reverse=reverse, limit=limit)

    def _scan(self, start: bytes, stop: bytes, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        if self._is_fresh(start):
            return merge((), rows_between(self.rows, start, stop), reverse=reverse)
        return super()._scan(start, stop, reverse)

    def _is_fresh(self, row: bytes) -> bool:
        return bool(self._fresh) and path_of(row, len(self.db.ns)) in self._fresh

    def discard(self) -> None:
        """As in a Txn."""
        self._fresh.clear()
        super().discard()

    def apply(self) -> None:
        """As in a Txn."""
        self._fresh.clear()
        if self._opener is None and (self.metas or self.rows or self.siblings):
            written = written_by(self)
            store, keyspace = self.store, self.keyspace
            store.check_unit(written)
            size = sum([len(row) + len(value or b"") for row, value in written.items()])
            if keyspace.unwritten_bytes + size > HANDED_OVER_BYTES and keyspace.changed:
                keyspace.collect()
                rows, store.pending = store.pending, {}
                store.submit(rows, _reported_later)
                keyspace.unwritten_bytes = 0
            keyspace.unwritten_bytes += size
        super().apply()


def written_by(txn: Txn) -> Overlay:
    """All rows of a unit of work, metas encoded."""
    written: Overlay = {}
    for one in (txn, *(txn.siblings or {}).values()):
        written.update(one.rows)
        for meta in one.metas.values():
            written[meta.row] = metas.encode(meta)
    return written


def _reported_later(error: StoreUnavailable | None) -> None:
    """The commit of the turn comes behind it, and is refused with it."""
