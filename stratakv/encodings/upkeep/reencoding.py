"""Moving a key to another encode-version: a new incarnation, the same members and expire-time."""

from collections.abc import Iterable

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import open_zset
from stratakv.encodings.layout.formats import CHOICES, FORMATS
from stratakv.encodings.layout.metas import PIECES, STRING, ZSET, Meta
from stratakv.encodings.types.shared import member_rows
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.zsets import zsets


def reencode(txn: Txn, key: bytes, version: int) -> bool:
    """Move a key to a version; False if it has no such version, or is of it already.

    A string's version follows from its length, unless it was written before there were pieces.
    """
    meta = txn.find(key)
    if meta is not None and meta.type == STRING:
        return version == PIECES and strings.divided(txn, key, meta) is not meta
    if meta is None or version not in CHOICES.get(meta.type, ()) or meta.encoding == version:
        return False
    if not meta.format.choosable:
        return False  # a hash whose fields have expire-times
    if meta.type == ZSET:
        _reencode_zset(txn, key, version)
    else:
        _reencode_members(txn, key, meta, version)
    return True


def _reencode_members(txn: Txn, key: bytes, meta: Meta, version: int) -> None:
    count = member_rows.measure(txn, meta)
    found = member_rows.each_pair(txn, meta)
    extra = count if FORMATS[meta.type][version].counted else None
    fresh = txn.create(key, meta.type, extra, meta.expire_ms, version)
    for member, value in found:
        txn.put(fresh.sub + member, value)


def _reencode_zset(txn: Txn, key: bytes, version: int) -> None:
    meta = open_zset(txn, key)
    if meta is None:
        return
    txn.expect_work(2 * zsets.size(meta))
    zsets.rebuild_as(txn, key, meta, version, _pairs(txn, meta))


def _pairs(txn: Txn, meta: Meta) -> Iterable[tuple[bytes, bytes]]:
    return member_rows.each_pair(txn, meta)
