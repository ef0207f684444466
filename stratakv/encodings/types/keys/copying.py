"""Copies of whole keys: COPY, RENAME and MOVE.

A key is part of the path of its sub rows, so another name means other rows: a copy is a new
incarnation with every row written again, and it keeps type, encode-version and expire-time. Its
format says which rows there are (see formats.py); a hash whose fields have expire-times has a "t#"
row besides. What is in Redis alone is copied as a Txn shows it: as "s#" rows, never stored.
"""

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import HASH, STRING, Meta
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.types.strings import strings
from stratakv.encodings.types.strings.pieces import BYTES_PER_WORK


def duplicate(txn: Txn, meta: Meta, target: Txn, key: bytes) -> None:
    """Make `key` in the target's database a copy of a live key, in place of what is there."""
    source_meta = opened(txn, meta)
    if source_meta is None:
        return
    meta = source_meta
    if target.keyspace.notifies and target.find(key) is not None:
        target.event("n", "new", key)  # in Redis what is there goes first
    prefixes = meta.format.shown
    if not prefixes:
        strings.assign(target, key, meta.value, meta.expire_ms)
        return
    if meta.type == STRING:
        txn.spend(strings.length(meta) // BYTES_PER_WORK)
    elif type(meta.extra) is int:
        txn.expect_work(meta.extra * len(prefixes))
    first_ms = field_times.first_ms(txn, meta) if meta.type == HASH else None
    copy = target.create(key, meta.type, meta.extra, meta.expire_ms, meta.encoding)
    for prefix in prefixes:
        source, destination = prefix + meta.sub[2:], prefix + copy.sub[2:]
        size = len(source)
        for row, value in txn.scan(source, rows.end_of(source)):
            target.put(destination + row[size:], value)
    if first_ms is not None:
        field_times.enlist(target, key, copy, first_ms)


def copy_key(txn: Txn, source: bytes, target: Txn, key: bytes, *, replace: bool) -> bool:
    """COPY; False if there is no source, or a destination that may not be replaced."""
    meta = txn.read(source)
    if meta is None or (not replace and target.find(key) is not None):
        return False
    duplicate(txn, meta, target, key)
    target.event("g", "copy_to", key)
    return True


def move(txn: Txn, key: bytes, target: Txn) -> bool:
    """Take a key to another database; False if there is no such key, or one there already."""
    meta = txn.find(key)
    if meta is None or target.find(key) is not None:
        return False
    duplicate(txn, meta, target, key)
    txn.drop(key)
    txn.event("g", "move_from", key)
    target.event("g", "move_to", key)
    return True


def rename(txn: Txn, meta: Meta, source: bytes, key: bytes) -> None:
    """Give a live key another name, in place of what is there."""
    if source != key:
        duplicate(txn, meta, txn, key)
        txn.drop(source)
        txn.event("g", "rename_from", source)
        txn.event("g", "rename_to", key)
