"""Forty hexadecimal digits that stand for all data: Redis's own, so that the two can be compared.

A digest is xor'ed from parts whose order does not matter, and mixed from those whose order does:

    xor(digest, part)   digest ^ SHA1(part)
    mix(digest, part)   SHA1(xor(digest, part))

Keys that have expired are in none, whether or not their rows are still there.
"""

from collections.abc import Callable
from hashlib import sha1
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.metas import NO_EXPIRY, Meta
from stratakv.encodings.layout.numbers import format_float
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.shared import member_rows
from stratakv.encodings.types.streams import streams
from stratakv.encodings.types.strings import pieces, strings
from stratakv.encodings.types.zsets import zset_order, zsets

NOTHING: Final = bytes(20)
_EXPIRES: Final = b"!!expire!!"
_HALF: Final = (1 << 64) - 1


def of_everything(txn: Txn) -> bytes:
    """The digest of all databases; work for slices."""
    total = NOTHING
    for number in range(len(txn.keyspace.databases)):
        total = _with_database(txn.sibling(number), number, total)
    return total


def _with_database(txn: Txn, number: int, total: bytes) -> bytes:
    keys.show_metas(txn)
    start = rows.META + txn.db.ns
    is_named = False
    for row in txn.scan_keys(start, rows.end_of(start)):
        key = rows.key_of_meta_row(txn.db.ns, row)
        meta = txn.find(key)
        if meta is None:
            continue
        if not is_named:
            total = _mixed(total, number.to_bytes(4, "big"))
            is_named = True
        total = _xored(total, _of_key(txn, key, meta, _mixed(NOTHING, key)))
    return total


def of_value(txn: Txn, key: bytes) -> bytes:
    """The digest of what a key holds; nothing but zeros if there is no such key."""
    meta = txn.peek(key)
    return NOTHING if meta is None else _of_key(txn, key, meta, NOTHING)


def _of_key(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    found = opened(txn, meta)
    if found is not None:
        digest = _mixed(digest, _NUMBERS[meta.type].to_bytes(4, "big"))
        digest = _READERS[meta.type](txn, key, found, digest)
    return digest if meta.expire_ms == NO_EXPIRY else _xored(digest, _EXPIRES)


def _of_string(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    if meta.encoding == metas.WHOLE:
        return _mixed(digest, meta.value)
    size = strings.length(meta)
    txn.expect_work(size // pieces.BYTES_PER_WORK)
    value = sha1()
    for chunk in pieces.opened(txn, meta).chunks(0, size):
        value.update(chunk)
        txn.pause_if_due()
    return sha1(_joined(digest, value.digest())).digest()


def _of_list(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    for element in lists.elements(txn, meta):
        digest = _mixed(digest, element)
    return digest


def _of_set(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    for member in member_rows.each(txn, meta):
        digest = _xored(digest, member)
    return digest


def _of_zset(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    for member, score in zsets.scored(meta, zset_order.walk(txn, meta)):
        digest = _xored(digest, _mixed(_mixed(NOTHING, member), format_float(score)))
    return digest


def _of_hash(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    for field, value in member_rows.each_pair(txn, meta):
        digest = _xored(digest, _mixed(_mixed(NOTHING, field), value))
    return digest


def _of_stream(txn: Txn, key: bytes, meta: Meta, digest: bytes) -> bytes:
    for number, words in streams.between(txn, key, meta):
        digest = _mixed(digest, b"%d.%d" % (number >> 64, number & _HALF))
        for word in words:
            digest = _mixed(digest, word)
    return digest


def _joined(digest: bytes, other: bytes) -> bytes:
    return bytes(one ^ two for one, two in zip(digest, other, strict=True))


def _xored(digest: bytes, part: bytes) -> bytes:
    return _joined(digest, sha1(part).digest())


def _mixed(digest: bytes, part: bytes) -> bytes:
    return sha1(_xored(digest, part)).digest()


_NUMBERS: Final = {
    metas.STRING: 0,
    metas.LIST: 1,
    metas.SET: 2,
    metas.ZSET: 3,
    metas.HASH: 4,
    metas.STREAM: 6,
}
"""Redis's own numbers of the types."""
_READERS: Final[dict[int, Callable[[Txn, bytes, Meta, bytes], bytes]]] = {
    metas.STRING: _of_string,
    metas.LIST: _of_list,
    metas.SET: _of_set,
    metas.ZSET: _of_zset,
    metas.HASH: _of_hash,
    metas.STREAM: _of_stream,
}
