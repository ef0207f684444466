"""A dump into a data directory that no server uses, some hundred keys to a commit.

How far it is joins each commit: whoever is killed goes on behind the last one, and has imported
every key once.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from stratakv.clock import Clock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.rdb import files, function_libraries, reader
from stratakv.encodings.rdb.file_reader import Entry, FileReader, Place
from stratakv.errors import StoreUnavailable
from stratakv.options import Options
from stratakv.storage.contract import Snapshot
from stratakv.storage.engines import open_engine
from stratakv.storage.store import Overlay, Store
from stratakv.tools import places
from stratakv.tools.outcomes import KeyExists, Outcome
from stratakv.tools.selection import Selection

KEYS_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 4 << 20
_CACHE_BYTES: Final = 1 << 20
_WRITE_BUFFER: Final = 64 << 20


class Directory:
    """A data directory that takes keys."""

    def __init__(self, path: Path, databases: int) -> None:
        options = Options(dir=str(path), write_buffer_bytes=_WRITE_BUFFER, disk_reserve_bytes=0)
        self._store = Store(open_engine(options))
        self.keyspace = Keyspace(
            self._store, Clock(), databases=databases, cache_bytes=_CACHE_BYTES
        )
        self._snapshot: Snapshot | None = None
        self._txn: LongTxn | None = None

    def place(self, mark: str) -> Place | None:
        """Where an import goes on that was stopped."""
        return places.decode(mark, self._store.get(rows.IMPORT_ROW))

    def txn(self, index: int) -> Txn:
        """Where keys of a database are written until the next commit."""
        if self._txn is None:
            self._snapshot = self._store.snapshot()
            first = self.keyspace.databases[0]
            self._txn = LongTxn(self.keyspace, first, self._snapshot, _pause, self._write)
        return self._txn.sibling(index)

    def commit(self, progress: bytes | None) -> None:
        """Make what was written one commit, with how far the import is; None at its end."""
        if self._txn is not None and self._snapshot is not None:
            self._txn.apply()
            self._snapshot.close()
            self._txn = self._snapshot = None
        self._store.pending[rows.IMPORT_ROW] = progress
        self.keyspace.commit(_raise)
        self.keyspace.trim()
        self.keyspace.clock.tick()

    def close(self) -> None:
        """Drop what is not committed, and let go of the directory."""
        if self._txn is not None and self._snapshot is not None:
            self._txn.discard()
            self._snapshot.close()
        self._store.close()

    def _write(self, batch: Overlay) -> None:
        self._store.submit(batch, _raise)


class DirectoryImport:
    """One dump on its way into a directory."""

    def __init__(
        self, directory: Directory, mark: str, selection: Selection, existing: str
    ) -> None:
        self._directory = directory
        self._mark = mark
        self._selection = selection
        self._existing = existing
        self.outcome = Outcome()

    def run(self, file: FileReader, place: Place | None, moved: Callable[[], None]) -> None:
        """Import what comes behind the place."""
        since, begun = 0, file.reader.position
        for entry in file.entries(place):
            self._take(file, entry)
            since += 1
            if since >= KEYS_AT_ONCE or file.reader.position - begun >= BYTES_AT_ONCE:
                self._directory.commit(places.encode(self._mark, file.place()))
                since, begun = 0, file.reader.position
                moved()
        self._take_libraries(file)
        self._directory.commit(None)
        moved()

    def _take(self, file: FileReader, entry: Entry) -> None:
        outcome, keyspace = self.outcome, self._directory.keyspace
        if entry.kind in (files.OLD_MODULE, files.MODULE):
            outcome.refuse(entry, file.module_of(entry))
        elif not self._selection(entry.database, entry.key):
            outcome.unwanted += 1
            file.skip(entry)
        elif entry.database >= len(keyspace.databases):
            outcome.refuse(entry, f"there are {len(keyspace.databases)} databases")
            file.skip(entry)
        elif entry.expire_ms != NO_EXPIRY and entry.expire_ms <= keyspace.clock.now_ms:
            outcome.expired += 1
            file.skip(entry)
        else:
            self._import(file, entry)

    def _import(self, file: FileReader, entry: Entry) -> None:
        txn, key = self._directory.txn(entry.database), entry.key
        if self._existing != "replace" and txn.find(key) is not None:
            if self._existing != "skip":
                raise KeyExists(key)
            self.outcome.existing += 1
            file.skip(entry)
            return
        file.take(entry, lambda source: reader.read_object(txn, key, source, entry.kind))
        meta = txn.find(key)
        if meta is not None and entry.expire_ms != NO_EXPIRY:
            txn.save(key, meta.with_expiry(entry.expire_ms))
        self.outcome.took(entry)

    def _take_libraries(self, file: FileReader) -> None:
        """A dump of everything brings its functions."""
        if not self._selection.is_everything:
            return
        txn = self._directory.txn(0)
        for code in file.libraries:
            name = function_libraries.name_of(code)
            if name is not None:
                function_libraries.save(txn, name, code)
                self.outcome.libraries += 1


def _pause() -> None:
    """Nobody waits."""


def _raise(error: StoreUnavailable | None) -> None:
    if error is not None:
        raise error
