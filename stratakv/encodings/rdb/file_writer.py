"""A dump of all databases, as chunks that are made while they are taken. See files.py.

It reads a snapshot, so whatever is written meanwhile is not in it, and holds no more than a chunk
and what a scan has at hand. Keys whose time is over are left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from stratakv import REDIS_VERSION
from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn, Pause
from stratakv.encodings.keyspace.namespaces import names_in
from stratakv.encodings.keyspace.tenants import tenants_in
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import NO_EXPIRY, Meta
from stratakv.encodings.layout.tenant_records import TenantRecord, quota_text
from stratakv.encodings.rdb import files, function_libraries, payloads, writer
from stratakv.encodings.rdb.crc64 import crc64
from stratakv.encodings.rdb.parts import encode_length, encode_string
from stratakv.storage.contract import Reader
from stratakv.storage.store import Overlay

CHUNK_BYTES: Final = 1 << 16
"""No chunk is larger."""

Wanted = Callable[[int, bytes], bool]
"""Whether a key of a database is to be in the dump."""


def facts(now_ms: int, used_memory: int) -> dict[str, str]:
    """What every dump tells of its server."""
    return {
        "redis-ver": REDIS_VERSION,
        "redis-bits": "64",
        "ctime": str(now_ms // 1000),
        "used-mem": str(used_memory),
    }


def replication_facts(stream_db: int, replication_id: str, offset: int) -> dict[str, str]:
    """What a replica needs to know to go on from a dump with the stream of commands."""
    return {
        "repl-stream-db": str(stream_db),
        "repl-id": replication_id,
        "repl-offset": str(offset),
    }


class FileWriter:
    """Dumps what a snapshot holds. Requires: all that is to be in it has reached the engine.

    A dump of version 9 has no functions, and streams as Redis 6.2 knows them.

    `pause` is called every two milliseconds; it may switch to others. Who goes on after long, as
    one who waits for a socket, need not say so: the time of waiting counts, and a pause follows.
    """

    def __init__(
        self,
        keyspace: Keyspace,
        snapshot: Reader,
        pause: Pause,
        *,
        told: Mapping[str, str],
        wants: Wanted | None = None,
        with_keys: bool = True,
        with_functions: bool = True,
        with_tenants: bool = False,
    ) -> None:
        self._keyspace = keyspace
        self._snapshot = snapshot
        self._pause = pause
        self._told = told
        self._wants = wants
        self._with_functions = with_functions
        self.version = keyspace.limits.rdb_version
        """What is asked for; fields of hashes with times need a later one."""
        self.keys = 0
        """Keys written so far."""
        self.total = 0
        """Keys that there were when the snapshot was taken, whether they are wanted or not."""
        self._databases = [
            Database(index, ns, keyspace.clock)
            for index, ns in enumerate(names_in(snapshot, len(keyspace.databases)))
            if with_keys
        ]
        self._tenants = tenants_in(snapshot) if with_tenants and with_keys else []
        for tenant in self._tenants:
            self._databases += self._databases_of(tenant)
        self._counts = [_counts(snapshot, database) for database in self._databases]
        self.total = sum(live for live, _ in self._counts)

    def _databases_of(self, tenant: TenantRecord) -> Iterator[Database]:
        """Those with keys."""
        for number in range(max(len(self._keyspace.databases), 1 + max(tenant.names, default=-1))):
            database = Database(
                tenant.index(number), tenant.namespace(number), self._keyspace.clock
            )
            if _counts(self._snapshot, database)[0]:
                yield database

    def _facts_of(self, tenant: TenantRecord) -> Iterator[tuple[bytes, bytes]]:
        """What a dump for one of our own tells of a tenant, its functions included."""
        yield files.TENANT + b"%d" % tenant.id, tenant.name + b" " + quota_text(tenant.quota)
        for number, code in enumerate(function_libraries.every(self._snapshot, tenant.id)):
            yield files.TENANT_LIBRARY + b"%d-%d" % (tenant.id, number), code

    def chunks(self) -> Iterator[bytes]:
        """The dump from its first byte to its CRC."""
        crc = 0
        for chunk in _gathered(self._parts()):
            crc = crc64(chunk, crc=crc)
            yield chunk
        yield crc.to_bytes(files.CRC_BYTES, "little")

    def _parts(self) -> Iterator[bytes]:
        yield files.MAGIC + b"%04d" % self._version()
        for name, value in self._told.items():
            yield bytes((files.AUX,)) + encode_string(name.encode()) + encode_string(value.encode())
        for tenant in self._tenants:
            for fact, told in self._facts_of(tenant):
                yield bytes((files.AUX,)) + encode_string(fact) + encode_string(told)
        if self._with_functions and self.version >= payloads.VERSION:
            for _, code in self._snapshot.scan(rows.LIBRARY, rows.end_of(rows.LIBRARY)):
                yield bytes((files.LIBRARY,)) + encode_string(code)
        for database, counts in zip(self._databases, self._counts, strict=True):
            if counts[0]:
                yield bytes((files.SELECT,)) + encode_length(database.index)
                yield bytes((files.SIZES,)) + b"".join(map(encode_length, counts))
                yield from self._keys_of(database)
        yield bytes((files.END,))

    def _version(self) -> int:
        """The one that is asked for, unless fields of hashes have times, which need a later one."""
        for database in self._databases:
            prefix = rows.FIELD_EXPIRY + database.ns
            if any(islice(self._snapshot.scan_keys(prefix, rows.end_of(prefix)), 1)):
                return payloads.FIELD_TIMES_VERSION
        return self.version

    def _keys_of(self, database: Database) -> Iterator[bytes]:
        txn = self._open(database)
        ns = database.ns
        prefix = rows.META + ns
        for row, raw in txn.scan(prefix, rows.end_of(prefix)):
            key = rows.key_of_meta_row(ns, row)
            meta = metas.decode(row, len(ns), raw)
            if self._is_wanted(database, key) and txn.expires_after(meta.expire_ms):
                if meta.format.remote:
                    yield from self._remote_key(database, key, meta)
                else:
                    yield from self._key(txn, key, meta)

    def _open(self, database: Database) -> LongTxn:
        return LongTxn(self._keyspace, database, self._snapshot, self._pause, _write_nothing)

    def _is_wanted(self, database: Database, key: bytes) -> bool:
        return self._wants is None or self._wants(database.index, key)

    def _remote_key(self, database: Database, key: bytes, meta: Meta) -> Iterator[bytes]:
        """A sorted set v3, in a Txn of its own: it knows what it has read until it is closed."""
        txn = self._open(database)
        try:
            counted = opened(txn, meta)
            if counted is not None:
                yield from self._key(txn, key, counted)
        finally:
            txn.close()

    def _key(self, txn: LongTxn, key: bytes, meta: Meta) -> Iterator[bytes]:
        kind, parts = writer.written(txn, key, meta, self.version)
        head = bytes((kind,)) + encode_string(key)
        if meta.expire_ms != NO_EXPIRY:
            head = bytes((files.EXPIRE_MS,)) + meta.expire_ms.to_bytes(8, "little") + head
        yield head
        yield from parts
        self.keys += 1


def _counts(snapshot: Reader, database: Database) -> tuple[int, int]:
    """How many keys a database has, and how many of them expire."""
    live = snapshot.get(rows.LIVE + database.ns) or b""
    expiring = snapshot.get(rows.EXPIRING + database.ns) or b""
    return int.from_bytes(live, "big"), int.from_bytes(expiring, "big")


def _gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Small parts together, large ones cut."""
    gathered = bytearray()
    for part in parts:
        gathered += part
        if len(gathered) >= CHUNK_BYTES:
            for at in range(0, len(gathered), CHUNK_BYTES):
                yield bytes(gathered[at : at + CHUNK_BYTES])
            gathered.clear()
    if gathered:
        yield bytes(gathered)


def _write_nothing(batch: Overlay) -> None:
    """A dump only reads."""
    raise AssertionError("a dump has written rows")
