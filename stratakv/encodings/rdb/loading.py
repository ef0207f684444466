"""A dump in place of all databases: loaded beside them, and put in their place in one commit.

Each database of the dump is written into a namespace of its own, which the store has among the
dropped: a crash leaves all of it to the reclaimer. Clients are served what there is all the while.

    load = Load(keyspace, write, pause)
    load.run(chunks)                     reads, waits and writes; raises BadFile or StoreUnavailable
    load.put_in_place(rows)              in the commit that follows, with rows of the caller's
    load.drop()                          instead, if it is not to be
"""

from collections.abc import Iterable, Iterator

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.load_txn import LoadTxn
from stratakv.encodings.keyspace.long_txn import Pause, Write
from stratakv.encodings.keyspace.namespaces import Contents
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.layout.tenant_records import TenantRecord, tenant_of_text
from stratakv.encodings.rdb import files, function_libraries, reader
from stratakv.encodings.rdb.chunk_reader import ChunkReader
from stratakv.encodings.rdb.file_reader import Entry, FileReader
from stratakv.encodings.rdb.files import BadFile
from stratakv.encodings.rdb.packed import Malformed
from stratakv.storage.store import Overlay


class Load:
    """One dump on its way in. Requires: as a LongTxn (see there for `pause` and `write`)."""

    def __init__(self, keyspace: Keyspace, write: Write, pause: Pause) -> None:
        self._keyspace = keyspace
        self._write = write
        self._pause = pause
        self._txns: dict[int, LoadTxn] = {}
        self._contents: dict[int, Contents] = {}
        self._libraries: Overlay = {}
        self._tenants: list[TenantRecord] = []
        self.file: FileReader | None = None
        """What is being read: its `facts`, its `libraries` and how far it is."""
        self.rest = b""
        """What came behind the dump, in its last chunk."""

    def run(self, chunks: Iterator[bytes]) -> FileReader:
        """Load all of a dump; to ask for the next chunk may wait.

        Whatever it raises, `drop` is to be called.
        """
        file = FileReader(chunks, self._keyspace.limits.string_bytes, self._breathe)
        self.file = file
        for entry in file.entries():
            self._load(file, entry)
        self._libraries = _named(file, file.libraries, rows.LIBRARY)
        self._tenants = _tenants(file)
        for tenant in self._tenants:
            prefix = files.TENANT_LIBRARY + b"%d-" % tenant.id
            codes = [code for fact, code in file.facts.items() if fact.startswith(prefix)]
            self._libraries |= _named(file, codes, function_libraries.prefix_of(tenant.id))
        known = {0, *(tenant.id for tenant in self._tenants)}
        if any(index >> rows.TENANT_BITS not in known for index in self._txns):
            raise BadFile("there is a database of nobody", file.reader.position)
        for index, txn in self._txns.items():
            self._contents[index] = txn.finish()
        self.rest = file.reader.rest()
        return file

    @property
    def position(self) -> int:
        """How many bytes of the dump are read."""
        return 0 if self.file is None else self.file.reader.position

    @property
    def keys(self) -> int:
        """How many keys are read."""
        return 0 if self.file is None else self.file.keys

    def put_in_place(self, extra: Overlay) -> None:
        """Let all databases, and the libraries, be those of the dump; `extra` joins the commit.

        Requires: `run` has returned; as `Keyspace.supplant`. Who knows the libraries reads them
        again.
        """
        assert self.file is not None
        pending = self._keyspace.store.pending
        self._keyspace.supplant(self._contents, self._tenants)
        for prefix in (rows.LIBRARY, rows.TENANT_LIBRARY):
            for row in self._keyspace.store.scan_keys(prefix, rows.end_of(prefix)):
                pending[row] = None
        pending.update(self._libraries)
        pending.update(extra)
        self._txns = {}

    def drop(self) -> None:
        """Leave what was loaded to the reclaimer."""
        for txn in self._txns.values():
            self._keyspace.namespaces.give_up_loading(txn.db.ns)
        self._txns = {}

    def _breathe(self) -> None:
        """Give way while a long string is decompressed."""
        for txn in self._txns.values():
            txn.pause_if_due()
            return

    def _load(self, file: FileReader, entry: Entry) -> None:
        txn = self._txns.get(entry.database) or self._begin(file, entry.database)

        def read(source: ChunkReader) -> None:
            if txn.has(entry.key):
                raise Malformed
            reader.read_object(txn, entry.key, source, entry.kind)

        file.take(entry, read)
        if entry.expire_ms != NO_EXPIRY:
            meta = txn.find(entry.key)
            assert meta is not None
            txn.save(entry.key, meta.with_expiry(entry.expire_ms))
        txn.seal(entry.key)
        txn.pause_if_due()

    def _begin(self, file: FileReader, index: int) -> LoadTxn:
        if index % rows.SPAN >= len(self._keyspace.databases):
            number, count = index % rows.SPAN, len(self._keyspace.databases)
            raise BadFile(
                f"there is a database {number}, and {count} are configured", file.reader.position
            )
        ns, first = self._keyspace.namespaces.begin_loading(index)
        txn = LoadTxn(self._keyspace, index, ns, self._pause, self._write)
        self._txns[index] = txn
        self._write(first)
        return txn


def _named(file: FileReader, codes: Iterable[bytes], prefix: bytes) -> Overlay:
    """The rows of libraries of functions."""
    named: Overlay = {}
    for code in codes:
        name = function_libraries.name_of(code)
        if name is None or prefix + name in named:
            raise BadFile("a library of functions has no name of its own", file.reader.position)
        named[prefix + name] = code
    return named


def _tenants(file: FileReader) -> list[TenantRecord]:
    """The tenants that a dump of one of our own tells of."""
    found: list[TenantRecord] = []
    for fact, told in file.facts.items():
        if fact.startswith(files.TENANT):
            tenant = tenant_of_text(fact[len(files.TENANT) :], told)
            if tenant is None or tenant.name in [one.name for one in found]:
                raise BadFile("the dump tells of a namespace badly", file.reader.position)
            found.append(tenant)
    return found
