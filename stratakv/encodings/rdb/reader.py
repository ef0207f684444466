"""RESTORE: a key from a payload of Redis. See payloads.py for the format.

Elements are read while rows are written, so that a key may be larger than the memory. One that
turns out to be bad halfway raises, and then nothing of it is kept.
"""

import math
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Final, TypeVar

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import NO_EXPIRY, Meta
from stratakv.encodings.layout.numbers import parse_float, parse_int
from stratakv.encodings.layout.rows import end_of
from stratakv.encodings.rdb import packed, payloads, rdb_streams
from stratakv.encodings.rdb.parts import PayloadReader
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.shared import member_rows
from stratakv.encodings.types.strings import pieces, strings
from stratakv.encodings.types.zsets import zsets
from stratakv.errors import CommandError

_BYTES_PER_WORK: Final = 16
_BREATHE_EVERY: Final = 64
_NAMES_KEPT: Final = 10_000
"""So many members are told apart by their names: some 2 MB, freed within a millisecond."""
_F64: Final = struct.Struct("<d")
_NOT_NUMBERS: Final = {253: math.nan, 254: math.inf, 255: -math.inf}
_LAST_FIELD_MS: Final = (1 << 48) - 1
_PLAIN_NODE, _PACKED_NODE = 1, 2

Unpack = Callable[[bytes], Iterator[bytes]]
Pair = tuple[bytes, bytes]
Value = TypeVar("Value")


def restore(txn: Txn, key: bytes, payload: bytes, expire_ms: int = NO_EXPIRY) -> None:
    """Make the key what the payload holds, whatever it was; no key if it has expired already."""
    txn.expect_work(len(payload) // _BYTES_PER_WORK)
    payloads.check(payload, txn.pause_if_due)
    end = len(payload) - payloads.FOOTER_BYTES
    reader = PayloadReader(payload, txn.keyspace.limits.string_bytes, txn.pause_if_due, end=end)
    was_live, will_live = txn.find(key) is not None, txn.expires_after(expire_ms)
    if was_live and will_live:
        txn.event("n", "new", key)  # in Redis what is there goes first
    txn.is_quiet = not will_live
    try:
        read_object(txn, key, reader, reader.byte())
    except packed.Malformed:
        raise CommandError(errors.BAD_DUMP) from None
    finally:
        txn.is_quiet = False
    meta = txn.find(key)
    if not will_live:
        txn.drop(key)
        if was_live:
            txn.event("g", "del", key)
        return
    if meta is not None and expire_ms != NO_EXPIRY:
        txn.save(key, meta.with_expiry(expire_ms))
    txn.event("g", "restore", key)


def read_object(txn: Txn, key: bytes, reader: PayloadReader, kind: int) -> None:
    """Make the key what the object of that type holds. Raises `Malformed`."""
    if kind in payloads.STREAMS:
        rdb_streams.restore(txn, key, reader, kind)
    elif kind in _RESTORERS:
        _RESTORERS[kind](txn, key, reader)
    else:
        raise packed.Malformed


# strings and lists


def _restore_string(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    value = reader.string_or_parts(txn.keyspace.limits.piece_bytes)
    if isinstance(value, bytes):
        strings.assign(txn, key, value)
        return
    size, found = value
    txn.expect_work(size // _BYTES_PER_WORK)
    pieces.fill(txn, pieces.create(txn, key, size), _paced(txn, found))


def _restore_list(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_list(txn, key, reader.strings(reader.length()))


def _restore_ziplist(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_list(txn, key, packed.ziplist(reader.string()))


def _restore_ziplists(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    nodes = reader.strings(reader.length())
    _create_list(txn, key, chain.from_iterable(map(packed.ziplist, nodes)))


def _restore_nodes(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_list(txn, key, chain.from_iterable(_nodes(reader)))


def _nodes(reader: PayloadReader) -> Iterator[Iterable[bytes]]:
    for _ in range(reader.length()):
        kind = reader.length()
        if kind not in (_PLAIN_NODE, _PACKED_NODE):
            raise packed.Malformed
        node = reader.string()
        yield (node,) if kind == _PLAIN_NODE else packed.listpack(node)


def _create_list(txn: Txn, key: bytes, found: Iterable[bytes]) -> None:
    if not lists.create(txn, key, _paced(txn, found)):
        raise packed.Malformed


# sets, hashes and sorted sets


def _restore_set(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_set(txn, key, reader.strings(reader.length()))


def _restore_hash(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_hash(txn, key, reader.strings(2 * reader.length()))


def _restore_timed_hash(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_timed_hash(txn, key, _timed_fields(reader))


def _timed_fields(reader: PayloadReader) -> Iterator[tuple[bytes, bytes, int]]:
    base = int.from_bytes(reader.take(8), "little")
    for _ in range(reader.length()):
        time, field = reader.length(), reader.string()
        yield field, reader.string(), base + time - 1 if time else 0


def _restore_packed_timed_hash(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    reader.take(8)  # the first of the times, which are all there
    _create_timed_hash(txn, key, _tripled(packed.listpack(reader.string())))


def _restore_zset(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_zset(txn, key, _scored(reader, _double))


def _restore_zset_text(txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_zset(txn, key, _scored(reader, _digits))


def _scored(
    reader: PayloadReader, score: Callable[[PayloadReader], float]
) -> Iterator[zsets.Scored]:
    for _ in range(reader.length()):
        member = reader.string()
        yield member, score(reader)


def _double(reader: PayloadReader) -> float:
    score: float = _F64.unpack(reader.take(8))[0]
    return score


def _digits(reader: PayloadReader) -> float:
    size = reader.byte()
    return _NOT_NUMBERS[size] if size in _NOT_NUMBERS else _score(reader.take(size))


def _score(text: bytes) -> float:
    score = parse_float(text)
    return math.nan if score is None else score


def _restore_packed_set(unpack: Unpack, txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_set(txn, key, unpack(reader.string()))


def _restore_packed_hash(unpack: Unpack, txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_hash(txn, key, unpack(reader.string()))


def _restore_packed_zset(unpack: Unpack, txn: Txn, key: bytes, reader: PayloadReader) -> None:
    _create_zset(txn, key, _parsed(_paired(unpack(reader.string()))))


def _parsed(pairs: Iterable[Pair]) -> Iterator[zsets.Scored]:
    for member, text in pairs:
        yield member, _score(text)


def _create_set(txn: Txn, key: bytes, found: Iterable[bytes]) -> None:
    _write_rows(txn, key, metas.SET, _without_values(found))


def _without_values(found: Iterable[bytes]) -> Iterator[Pair]:
    for member in found:
        yield member, b""


def _create_hash(txn: Txn, key: bytes, found: Iterable[bytes]) -> None:
    _write_rows(txn, key, metas.HASH, _paired(found))


def _create_timed_hash(txn: Txn, key: bytes, found: Iterable[tuple[bytes, bytes, int]]) -> None:
    """Fields with their values and expire-times, 0 for none."""
    meta = member_rows.begin(txn, key, metas.HASH, 0)

    def pairs() -> Iterator[Pair]:
        for field, value, at_ms in found:
            if not 0 <= at_ms <= _LAST_FIELD_MS:
                raise packed.Malformed
            if at_ms:
                field_times.give(txn, meta, field, at_ms)
            yield field, value

    _fill(txn, key, meta, pairs())
    field_times.adopt(txn, key, meta)


def _write_rows(txn: Txn, key: bytes, type_: int, pairs: Iterable[Pair]) -> None:
    _fill(txn, key, member_rows.begin(txn, key, type_, 0), pairs)


def _fill(txn: Txn, key: bytes, meta: Meta, pairs: Iterable[Pair]) -> None:
    distinct = _Distinct(txn)
    for member, value in distinct.of(pairs):
        txn.put(meta.sub + member, value)
    distinct.check(meta.sub)
    if meta.extra is not None:
        txn.save(key, meta.with_extra(distinct.count))


def _create_zset(txn: Txn, key: bytes, pairs: Iterable[zsets.Scored]) -> None:
    distinct = _Distinct(txn)
    zsets.replace(txn, key, _numbered(distinct.of(pairs)))
    meta = txn.find(key)
    distinct.check(b"" if meta is None or meta.format.remote else meta.sub)


def _numbered(pairs: Iterable[zsets.Scored]) -> Iterator[zsets.Scored]:
    for member, score in pairs:
        if score != score:
            raise packed.Malformed
        yield member, score


class _Distinct:
    """Refuses a member that comes twice, and a collection without any.

    The names are kept only as long as they are few; of more, the rows are counted in the end.
    """

    def __init__(self, txn: Txn) -> None:
        self._txn = txn
        self._seen: set[bytes] | None = set()
        self.count = 0

    def of(self, pairs: Iterable[tuple[bytes, Value]]) -> Iterator[tuple[bytes, Value]]:
        """The pairs as they come."""
        for pair in _paced(self._txn, pairs):
            self.count += 1
            if self._seen is not None:
                self._seen.add(pair[0])
                if len(self._seen) != self.count:
                    raise packed.Malformed
                if self.count > _NAMES_KEPT:
                    self._seen = None
            yield pair

    def check(self, sub: bytes) -> None:
        """All are through; their rows begin with `sub`, if they have any."""
        if not self.count:
            raise packed.Malformed
        if self._seen is None and sub:
            rows = self._txn.scan_keys(sub, end_of(sub))
            if sum(1 for _ in rows) != self.count:
                raise packed.Malformed


def _paired(found: Iterable[bytes]) -> Iterator[Pair]:
    remaining = iter(found)
    for field in remaining:
        value = next(remaining, None)
        if value is None:
            raise packed.Malformed
        yield field, value


def _tripled(found: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, int]]:
    remaining = iter(found)
    for field in remaining:
        value, digits = next(remaining, None), next(remaining, None)
        at_ms = None if digits is None else parse_int(digits)
        if value is None or at_ms is None:
            raise packed.Malformed
        yield field, value, at_ms


def _paced(txn: Txn, items: Iterable[Value]) -> Iterator[Value]:
    for number, item in enumerate(items):
        if not number % _BREATHE_EVERY:
            txn.pause_if_due()
        yield item


_RESTORERS: Final[dict[int, Callable[[Txn, bytes, PayloadReader], None]]] = {
    payloads.STRING: _restore_string,
    payloads.LIST: _restore_list,
    payloads.SET: _restore_set,
    payloads.ZSET_TEXT: _restore_zset_text,
    payloads.HASH: _restore_hash,
    payloads.ZSET: _restore_zset,
    payloads.HASH_ZIPMAP: partial(_restore_packed_hash, packed.zipmap),
    payloads.LIST_ZIPLIST: _restore_ziplist,
    payloads.SET_INTSET: partial(_restore_packed_set, packed.intset),
    payloads.ZSET_ZIPLIST: partial(_restore_packed_zset, packed.ziplist),
    payloads.HASH_ZIPLIST: partial(_restore_packed_hash, packed.ziplist),
    payloads.LIST_ZIPLISTS: _restore_ziplists,
    payloads.HASH_TIMES: _restore_timed_hash,
    payloads.HASH_LISTPACK_TIMES: _restore_packed_timed_hash,
    payloads.HASH_LISTPACK: partial(_restore_packed_hash, packed.listpack),
    payloads.ZSET_LISTPACK: partial(_restore_packed_zset, packed.listpack),
    payloads.LIST_NODES: _restore_nodes,
    payloads.SET_LISTPACK: partial(_restore_packed_set, packed.listpack),
}
