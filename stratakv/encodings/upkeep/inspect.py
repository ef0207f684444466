"""What is stored of a key, row by row, for people: `STRATA INSPECT` and `stratakv inspect`."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

from stratakv.encodings.keyspace.namespaces import names_in
from stratakv.encodings.keyspace.tier_state import CacheRequest, Tier
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import HASH, NO_EXPIRY, SET, STRING, ZSET, Meta
from stratakv.encodings.layout.tenant_records import decode_tenant
from stratakv.encodings.types.strings import strings
from stratakv.errors import StoreUnavailable, quote
from stratakv.slots import group_of, slot_of
from stratakv.storage.contract import Reader
from stratakv.storage.engines import open_directory
from stratakv.storage.store import Store
from stratakv.storage.tables import open_table

SHOWN_ROWS: Final = 100
SHOWN_BYTES: Final = 64
SHOWN_FIELDS: Final = 100


def inspect(reader: Reader, ns: bytes, key: bytes, limit: int = SHOWN_ROWS) -> Iterator[str]:
    """A line for the meta and its parts, and one for each row; the first `limit` of each kind."""
    row = rows.meta_row(ns, key)
    raw = reader.get(row)
    if raw is None:
        yield "no such key"
        return
    meta = metas.decode(row, len(ns), raw)
    yield f"{_shown(row)} -> {_shown(raw)}"
    yield from describe(meta)
    if not meta.sub:
        return
    for prefix in rows.PATH_PREFIXES:  # whatever the format says: rows that are too many show too
        start = prefix + meta.sub[2:]
        found = list(islice(reader.scan(start, rows.end_of(start)), limit + 1))
        yield from (f"{_shown(name)} -> {_shown(value)}" for name, value in found[:limit])
        if len(found) > limit:
            yield f"  and more {prefix.decode()} rows"


def sizes(store: Store, meta: Meta) -> Iterator[str]:
    """What each kind of a key's rows takes in the engine, as it estimates that."""
    if not meta.sub:
        return
    for prefix in rows.PATH_PREFIXES:
        start = prefix + meta.sub[2:]
        if size := store.size(start, rows.end_of(start)):
            yield f"  {prefix.decode()} rows: {size} bytes in tables"


def inspect_directory(
    path: Path, database: int, key: bytes, limit: int, tenant: str = ""
) -> Iterator[str]:
    """The same for a data directory, for a database of nobody or of a namespace of users.

    Requires: no server is running on it.
    """
    with closing(open_directory(path)) as engine:
        yield from inspect(engine, _namespace(engine, database, tenant), key, limit)


def inspect_table(
    zookeeper: str, name: str, database: int, key: bytes, limit: int, tenant: str = ""
) -> Iterator[str]:
    """The same for a table of an HBase, whoever serves it."""
    with closing(open_table(zookeeper, name)) as table:
        group = group_of(slot_of(key), table.groups)
        with closing(table.view(group)) as view:
            yield from inspect(view, _namespace(view, database, tenant), key, limit)


def _namespace(reader: Reader, database: int, tenant: str) -> bytes:
    """The namespace of a database, of nobody or of a namespace of users."""
    if not tenant:
        return names_in(reader, database + 1)[database]
    raw = reader.get(rows.TENANT + tenant.encode())
    if raw is None:
        raise StoreUnavailable(f"there is no namespace {tenant!r}")
    return decode_tenant(rows.TENANT + tenant.encode(), raw).namespace(database)


def describe(meta: Meta) -> Iterator[str]:
    """The parts of a meta."""
    yield f"  type: {metas.NAMES[meta.type].decode()}"
    yield f"  encode-version: {meta.encoding}"
    yield f"  version: {meta.version}"
    yield f"  expire-ms: {'none' if meta.expire_ms == NO_EXPIRY else meta.expire_ms}"
    if meta.type == STRING:
        yield f"  value: {strings.length(meta)} bytes{' in pieces' if meta.sub else ''}"
    else:
        yield f"  extra: {'none' if meta.extra is None else repr(meta.extra)}"


def entry_name(tier: Tier, meta: Meta, ns_length: int) -> bytes:
    """The name of a key's entry in Redis."""
    if meta.format.remote:
        return tier.store_name(meta.sub, ns_length)
    return tier.name(meta.sub, ns_length)


def entry_requests(name: bytes, meta: Meta) -> list[CacheRequest]:
    """What to ask Redis about a key's entry: its type, its time to live and its size."""
    size = {HASH: b"HLEN", SET: b"SCARD", ZSET: b"ZCARD"}[meta.type]
    return [(b"TYPE", name), (b"TTL", name), (size, name)]


def ask(txn: Txn, meta: Meta, requests: list[CacheRequest]) -> list[object] | None:
    """The replies of the Redis that has the key's entry; None if it cannot be asked."""
    if meta.format.remote:
        return txn.ask_storage(requests)
    return txn.ask(requests) if txn.may_ask else None


def entry_lines(name: bytes, replies: list[object] | None) -> Iterable[str]:
    """The same for people."""
    if replies is None:
        return [f"{_shown(name)} -> the cache cannot be asked"]
    kind, ttl, size = replies
    if kind in (b"none", "none"):
        return [f"{_shown(name)} -> not cached"]
    shown = kind.decode() if isinstance(kind, bytes) else kind
    return [f"{_shown(name)} -> {shown} of {size}, {ttl} s to live"]


def _shown(raw: bytes) -> str:
    """Quoted as redis-cli does; long values by their beginning and length."""
    if len(raw) <= SHOWN_BYTES:
        return quote(raw).decode("latin-1")
    return quote(raw[:SHOWN_BYTES]).decode("latin-1") + f"... ({len(raw)} bytes)"
