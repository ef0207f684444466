"""A Txn for a store that takes no large commits.

Each unit of work is measured before it is applied, so that one that is too large is refused by
itself; and what is pending is handed over before it is too large together with the next.
"""

from typing import Final

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.errors import StoreUnavailable
from stratakv.storage.store import Overlay

HANDED_OVER_BYTES: Final = 2 << 20
"""With so much pending it is made a batch of its own, with the next unit at the latest."""


class MeasuredTxn(Txn):
    """As a Txn; `apply` raises `CommandError`, before anything is done, for what is too large."""

    def _open_sibling(self, database: Database) -> Txn:
        sibling = MeasuredTxn(self.keyspace, database)
        sibling.clock = self.clock
        return sibling

    def apply(self) -> None:
        """As in a Txn."""
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
