"""DUMP: a key as a payload that Redis restores. See payloads.py for the format.

What a key holds is written part by part: a payload gathers the parts, a file passes them on.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import decode_score
from stratakv.encodings.rdb import payloads, rdb_streams
from stratakv.encodings.rdb.parts import encode_length, encode_string
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.shared import member_rows
from stratakv.encodings.types.strings import pieces, strings
from stratakv.encodings.types.zsets import zset_order, zsets

_BYTES_PER_WORK: Final = 16
"""The CRC of so many bytes takes as long as reading a row."""

_F64: Final = struct.Struct("<d")

Written = tuple[int, Iterator[bytes]]
"""The number of a type, and the parts of its object."""


def dump(txn: Txn, key: bytes) -> bytes | bytearray | None:
    """The payload of a key; None if there is no such key."""
    meta = txn.read(key)
    meta = None if meta is None else opened(txn, meta)
    if meta is None:
        return None
    version = txn.keyspace.limits.rdb_version
    kind, parts = written(txn, key, meta, version)
    payload = bytearray((kind,))
    for part in parts:
        payload += part
    txn.expect_work(len(payload) // _BYTES_PER_WORK)
    return payloads.seal(payload, txn.pause_if_due, version)


def written(txn: Txn, key: bytes, meta: Meta, version: int) -> Written:
    """What a key holds, in parts that are small where the key is large.

    Requires: a sorted set v3 is opened.
    """
    if version < payloads.VERSION and meta.type == metas.STREAM:
        return rdb_streams.written_as_old(txn, key, meta)
    return _WRITERS[meta.type](txn, key, meta)


def _write_string(txn: Txn, key: bytes, meta: Meta) -> Written:
    return payloads.STRING, _string(txn, meta)


def _string(txn: Txn, meta: Meta) -> Iterator[bytes]:
    if meta.encoding == metas.WHOLE:
        yield encode_string(meta.value)
        return
    size = strings.length(meta)
    txn.expect_work(size // _BYTES_PER_WORK)
    yield encode_length(size)
    yield from pieces.opened(txn, meta).chunks(0, size)


def _write_list(txn: Txn, key: bytes, meta: Meta) -> Written:
    count = lists.count(meta)
    txn.expect_work(count)
    return payloads.LIST, _counted(count, lists.elements(txn, meta))


def _write_set(txn: Txn, key: bytes, meta: Meta) -> Written:
    count = member_rows.measure(txn, meta)
    return payloads.SET, _counted(count, member_rows.each(txn, meta))


def _counted(count: int, found: Iterable[bytes]) -> Iterator[bytes]:
    yield encode_length(count)
    yield from map(encode_string, found)


def _write_hash(txn: Txn, key: bytes, meta: Meta) -> Written:
    base = field_times.first_ms(txn, meta)
    if base is not None:
        return payloads.HASH_TIMES, _timed_hash(txn, meta, base)
    return payloads.HASH, _hash(txn, meta)


def _hash(txn: Txn, meta: Meta) -> Iterator[bytes]:
    yield encode_length(member_rows.measure(txn, meta))
    for field, value in member_rows.each_pair(txn, meta):
        yield encode_string(field) + encode_string(value)


def _timed_hash(txn: Txn, meta: Meta, base: int) -> Iterator[bytes]:
    """Fields and times stand in rows of the same order: they are read side by side."""
    yield base.to_bytes(8, "little")
    yield encode_length(member_rows.measure(txn, meta))
    times = iter(field_times.each_time(txn, meta))
    timed, at_ms = next(times, (None, 0))
    for field, value in member_rows.each_pair(txn, meta):
        if field == timed:
            time = encode_length(at_ms - base + 1)
            timed, at_ms = next(times, (None, 0))
        else:
            time = encode_length(0)
        yield time + encode_string(field) + encode_string(value)


def _write_zset(txn: Txn, key: bytes, meta: Meta) -> Written:
    return payloads.ZSET, _zset(txn, meta)


def _zset(txn: Txn, meta: Meta) -> Iterator[bytes]:
    count = zsets.size(meta)
    txn.expect_work(count)
    yield encode_length(count)
    for member, score in _scored(txn, meta):
        yield encode_string(member) + _F64.pack(score)


def _scored(txn: Txn, meta: Meta) -> Iterable[zsets.Scored]:
    """From the highest score on, where the order is at hand: that is how Redis inserts fastest."""
    if meta.format.tiered and not meta.format.remote:
        return _decoded(member_rows.each_pair(txn, meta))
    return zsets.scored(meta, zset_order.walk(txn, meta, reverse=True))


def _decoded(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[zsets.Scored]:
    for member, raw in pairs:
        yield member, decode_score(raw)


_WRITERS: Final[dict[int, Callable[[Txn, bytes, Meta], Written]]] = {
    metas.STRING: _write_string,
    metas.LIST: _write_list,
    metas.HASH: _write_hash,
    metas.SET: _write_set,
    metas.ZSET: _write_zset,
    metas.STREAM: rdb_streams.written,
}
