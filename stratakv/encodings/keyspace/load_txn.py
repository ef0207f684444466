"""A Txn that fills a namespace which is nobody's yet.

There is nothing to read there but its own writes, nobody to tell, and no end to be undone: a load
that fails leaves the whole namespace to the reclaimer. So rows and metas are written as they come,
and what it keeps in memory is bounded whatever it writes.

Promises
1. Everything written begins with the namespace, but for the lease of versions.
2. After `seal` nothing of a key is kept, and after `finish` everything is in the engine.
"""

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn, Pause, Write
from stratakv.encodings.keyspace.namespaces import Contents
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.formats import FORMATS
from stratakv.encodings.layout.metas import Extra, Meta


class LoadTxn(LongTxn):
    """Keys for a fresh namespace, one after the other: make it by any operation, then `seal` it.

    Requires: as a LongTxn; what marks the namespace as one to be dropped is written before.
    """

    def __init__(
        self, keyspace: Keyspace, index: int, ns: bytes, pause: Pause, write: Write
    ) -> None:
        super().__init__(
            keyspace, Database(index, ns, keyspace.clock), keyspace.store.written, pause, write
        )
        self._spilled = None  # any row of the namespace may be asked for

    def has(self, key: bytes) -> bool:
        """Whether the key was loaded already."""
        return self.get(rows.meta_row(self.db.ns, key)) is not None

    def seal(self, key: bytes) -> None:
        """The key is as it is to be."""
        meta = self.metas.pop(key)
        self.put(meta.row, metas.encode(meta) or b"")

    def finish(self) -> Contents:
        """Write the rest; there is nothing to come."""
        self._spill()
        return Contents(self.db.ns, self.live_change, self.expiring_change)

    def encoding(self, type_: int, key: bytes) -> int:
        """As configured, but for sorted sets v3: their scores would have to be taken back."""
        chosen = self.keyspace.encoding(self.db, type_, key)
        return 0 if FORMATS[type_][chosen].remote else chosen

    def create(
        self,
        key: bytes,
        type_: int,
        extra: Extra,
        expire_ms: int = metas.NO_EXPIRY,
        encoding: int | None = None,
    ) -> Meta:
        """As in a LongTxn; the namespace as a whole is marked, so that no key need be."""
        meta = super().create(key, type_, extra, expire_ms, encoding)
        self.keyspace.versions.building.discard(meta.version)
        self._fresh = {}
        return meta

    def _load(self, key: bytes) -> Meta:
        return metas.absent(rows.meta_row(self.db.ns, key))

    def _is_fresh(self, row: bytes) -> bool:
        return True

    def _spill(self) -> None:
        batch, self.rows = self.rows, {}
        self._unspilled = 0
        if batch:
            batch[rows.VERSION_ROW] = rows.U64.pack(self.keyspace.versions.lease)
            self._write(batch)

    def shifted(self, sub: bytes, place: bytes, change: int) -> None:
        """Nobody knows anything of the order."""

    def note(self, meta: Meta, member: bytes, raw: bytes | None = None) -> None:
        """The Redis tier has nothing of it."""

    def _note_time(self, key: bytes, expire_ms: int) -> None:
        """What is loaded is the master's."""

    def event(self, kind: str, name: str, key: bytes) -> None:
        """Nobody is told."""
