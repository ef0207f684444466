"""DUMP: a key as a payload that Redis restores. See payloads.py for the format."""

import struct
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import Meta
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


def dump(txn: Txn, key: bytes) -> bytes | bytearray | None:
    """The payload of a key; None if there is no such key."""
    meta = txn.read(key)
    meta = None if meta is None else opened(txn, meta)
    if meta is None:
        return None
    payload = bytearray()
    _WRITERS[meta.type](txn, key, meta, payload)
    txn.expect_work(len(payload) // _BYTES_PER_WORK)
    return payloads.seal(payload, txn.pause_if_due)


def _write_string(txn: Txn, key: bytes, meta: Meta, out: bytearray) -> None:
    out.append(payloads.STRING)
    if meta.encoding == metas.WHOLE:
        out += encode_string(meta.value)
        return
    size = strings.length(meta)
    txn.expect_work(size // _BYTES_PER_WORK)
    out += encode_length(size)
    for chunk in pieces.opened(txn, meta).chunks(0, size):
        out += chunk


def _write_list(txn: Txn, key: bytes, meta: Meta, out: bytearray) -> None:
    count = lists.count(meta)
    txn.expect_work(count)
    out.append(payloads.LIST)
    out += encode_length(count)
    for element in lists.elements(txn, meta):
        out += encode_string(element)


def _write_hash(txn: Txn, key: bytes, meta: Meta, out: bytearray) -> None:
    base = field_times.first_ms(txn, meta)
    if base is not None:
        _write_timed_hash(txn, meta, base, out)
        return
    out.append(payloads.HASH)
    out += encode_length(member_rows.measure(txn, meta))
    for field, value in member_rows.each_pair(txn, meta):
        out += encode_string(field)
        out += encode_string(value)


def _write_timed_hash(txn: Txn, meta: Meta, base: int, out: bytearray) -> None:
    times = field_times.each_time(txn, meta)
    out.append(payloads.HASH_TIMES)
    out += base.to_bytes(8, "little")
    out += encode_length(member_rows.measure(txn, meta))
    for field, value in member_rows.each_pair(txn, meta):
        out += encode_length(times[field] - base + 1 if field in times else 0)
        out += encode_string(field)
        out += encode_string(value)


def _write_set(txn: Txn, key: bytes, meta: Meta, out: bytearray) -> None:
    out.append(payloads.SET)
    out += encode_length(member_rows.measure(txn, meta))
    for member in member_rows.each(txn, meta):
        out += encode_string(member)


def _write_zset(txn: Txn, key: bytes, meta: Meta, out: bytearray) -> None:
    """From the highest score on: that is how Redis inserts fastest."""
    count = zsets.size(meta)
    txn.expect_work(count)
    out.append(payloads.ZSET)
    out += encode_length(count)
    for member, score in zsets.scored(meta, zset_order.walk(txn, meta, reverse=True)):
        out += encode_string(member)
        out += _F64.pack(score)


_WRITERS: Final = {
    metas.STRING: _write_string,
    metas.LIST: _write_list,
    metas.HASH: _write_hash,
    metas.SET: _write_set,
    metas.ZSET: _write_zset,
    metas.STREAM: rdb_streams.write,
}
