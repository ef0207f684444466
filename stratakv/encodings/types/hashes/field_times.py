"""Expire-times of single hash fields (HEXPIRE), in rows that only such hashes have.

    "m#" | ns | h8 | key                 -> 4 | 2 | ... | u32 field count      was version 0 or 2
    "m#" | ns | h8 | key                 -> 5 | 2 | ...                        was version 1 or 3
    "i#" | path | field                  -> u64 expire-ms
    "k#" | path | u64 expire-ms | field  -> empty                              the same in order
    "t#" | ns | u64 expire-ms | u64 version | key  -> empty                    the first k# row

A hash becomes version 4 or 5 in place with its first expire-time, and 0 or 1 when the last is gone.
It has no entries in the Redis tier meanwhile, nor later: nobody kept them up to date.

Invariants
1. A field's `i#` and `k#` rows come and go together, and it has its `s#` row.
2. A hash of version 4 or 5 has a `k#` row, and one `t#` row with the time of its first.
3. A field whose time has passed stands for no field. Writers delete such fields first, readers
   leave them out, and the reclaimer finds them by the `t#` rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import HASH_TIMED
from stratakv.encodings.layout.metas import HASH, Meta
from stratakv.encodings.layout.rows import U64, end_of
from stratakv.encodings.types.shared import member_rows

NO_FIELD: Final = -2
NO_TIME: Final = -1
REFUSED: Final = 0
DONE: Final = 1
DELETED: Final = 2

Condition = Callable[[int | None, int], bool]
CONDITIONS: Final[dict[bytes, Condition]] = {
    b"": lambda old, new: True,
    b"NX": lambda old, new: old is None,
    b"XX": lambda old, new: old is not None,
    b"GT": lambda old, new: old is not None and new > old,
    b"LT": lambda old, new: old is None or new < old,
}
"""When a field with an old time (None for none) takes a new one."""
ALWAYS: Final = CONDITIONS[b""]

# what readers ask


def value(txn: Txn, meta: Meta, field: bytes) -> bytes | None:
    """The value of a field whose time has not passed. Requires: the hash has expire-times."""
    at_ms = _time_of(txn, meta, field)
    if at_ms is not None and at_ms <= txn.horizon_ms:
        return None
    return txn.get(meta.sub + field)


def due(txn: Txn, meta: Meta) -> frozenset[bytes]:
    """The fields whose time has passed: none as a rule, since the reclaimer takes them away."""
    skip = len(meta.sub) + 8
    return frozenset(row[skip:] for row in _due_rows(txn, meta))


def times(txn: Txn, key: bytes, fields: Sequence[bytes]) -> list[int]:
    """The expire-time of each field in ms; NO_TIME or NO_FIELD in its place."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return [NO_FIELD] * len(fields)
    txn.expect_work(2 * len(fields))
    return [_shown_time(txn, meta, field) for field in fields]


def _shown_time(txn: Txn, meta: Meta, field: bytes) -> int:
    at_ms = _time_of(txn, meta, field)
    if at_ms is None:
        return NO_FIELD if txn.get(meta.sub + field) is None else NO_TIME
    return at_ms if at_ms > txn.horizon_ms else NO_FIELD


def each_time(txn: Txn, meta: Meta) -> Iterator[tuple[bytes, int]]:
    """All fields that have an expire-time, in byte order, those whose time has passed included."""
    index = meta.index
    for row, raw in txn.scan(index, end_of(index)):
        yield row[len(index) :], int.from_bytes(raw, "big")


def first_ms(txn: Txn, meta: Meta) -> int | None:
    """The earliest expire-time of a hash, or None."""
    return _first_ms(txn, meta) if HASH_TIMED[meta.encoding] else None


def _first_ms(txn: Txn, meta: Meta) -> int | None:
    order = meta.order
    for row in txn.scan_keys(order, end_of(order), limit=1):
        return int.from_bytes(row[len(order) : len(order) + 8], "big")
    return None


# what writers do


def expire(
    txn: Txn, key: bytes, at_ms: int, condition: Condition, fields: Sequence[bytes]
) -> list[int]:
    """Give fields an expire-time; a time in the past deletes them. Says what became of each."""
    meta = settled(txn, key)
    if meta is None:
        return [NO_FIELD] * len(fields)
    txn.expect_work(2 * len(fields))
    before = first_ms(txn, meta)
    outcomes = [_expire_field(txn, meta, field, at_ms, condition) for field in fields]
    gone = outcomes.count(DELETED)
    if gone:
        member_rows.shrink(txn, key, meta, gone)
        txn.removal("h", "hdel", key)
    if DONE in outcomes:
        txn.event("h", "hexpire", key)
    if gone or DONE in outcomes:
        _reindex(txn, key, before, meta)
    return outcomes


def _expire_field(txn: Txn, meta: Meta, field: bytes, at_ms: int, condition: Condition) -> int:
    if txn.get(meta.sub + field) is None:
        return NO_FIELD
    old_ms = _own_time_of(txn, meta, field)
    if not condition(old_ms, at_ms):
        return REFUSED
    _delete_time(txn, meta, field, old_ms)
    if at_ms <= txn.horizon_ms:
        txn.delete(meta.sub + field)
        txn.note(meta, field)
        return DELETED
    _put_time(txn, meta, field, at_ms)
    return DONE


def persist(txn: Txn, key: bytes, fields: Sequence[bytes]) -> list[int]:
    """Take expire-times away; says for each field whether it had one."""
    meta = settled(txn, key)
    if meta is None:
        return [NO_FIELD] * len(fields)
    txn.expect_work(2 * len(fields))
    before = first_ms(txn, meta)
    outcomes = [_persist_field(txn, meta, field) for field in fields]
    if DONE in outcomes:
        txn.event("h", "hpersist", key)
        _reindex(txn, key, before, meta)
    return outcomes


def _persist_field(txn: Txn, meta: Meta, field: bytes) -> int:
    at_ms = _time_of(txn, meta, field)
    if at_ms is None:
        return NO_FIELD if txn.get(meta.sub + field) is None else NO_TIME
    _delete_time(txn, meta, field, at_ms)
    return DONE


def settled(txn: Txn, key: bytes) -> Meta | None:
    """The meta of a hash for a writer, after the fields whose time has passed are gone."""
    meta = txn.expect(key, HASH)
    return meta if meta is None or not HASH_TIMED[meta.encoding] else prepare(txn, key, meta)


def prepare(
    txn: Txn, key: bytes, meta: Meta, fields: Iterable[bytes] = (), limit: int = UNLIMITED
) -> Meta | None:
    """Delete the fields whose time has passed, up to a limit, and take the times of others away.

    Returns the hash as it is then, None if no field is left. Requires: it has expire-times.
    """
    before = first_ms(txn, meta)
    gone = 0
    if limit and before is not None and before <= txn.horizon_ms:
        gone = _delete_due(txn, key, meta, limit)
    cleared = 0
    for field in fields:
        at_ms = _time_of(txn, meta, field)
        if at_ms is not None:
            _delete_time(txn, meta, field, at_ms)
            cleared += 1
    if gone:
        member_rows.shrink(txn, key, meta, gone)
        txn.removal("h", "hexpired", key)
        txn.when_applied(partial(_count_expired, txn.keyspace, gone))
    if gone or cleared:
        _reindex(txn, key, before, meta)
    return txn.find(key)


def _delete_due(txn: Txn, key: bytes, meta: Meta, limit: int) -> int:
    sub, index = meta.sub, meta.index
    skip = len(sub) + 8
    gone: list[bytes] = []
    for row in list(_due_rows(txn, meta, limit)):
        field = row[skip:]
        txn.delete(row)
        txn.delete(index + field)
        txn.delete(sub + field)
        gone.append(field)
    _note_deleted(txn, meta, len(gone))
    if txn.keyspace.replicates and gone:
        txn.tell_gone((b"HDEL", key, *gone))
    return len(gone)


def give(txn: Txn, meta: Meta, field: bytes, at_ms: int) -> None:
    """Give a field of a hash that is being made its time; `adopt` is to follow."""
    _put_time(txn, meta, field, at_ms)


def adopt(txn: Txn, key: bytes, meta: Meta) -> None:
    """A hash was just made, and its fields given their times."""
    _reindex(txn, key, None, meta)


def enlist(txn: Txn, key: bytes, meta: Meta, at_ms: int) -> None:
    """Write the `t#` row of a hash whose first expire-time is given."""
    row = rows.field_expiry_row(txn.db.ns, at_ms, meta.version, key)
    txn.put(row, b"")
    txn.when_applied(partial(_begin_there, txn, txn.db.ns, row))


def _begin_there(txn: Txn, ns: bytes, row: bytes) -> None:
    """The reclaimer begins where it was: it has to begin earlier if the row stands before that."""
    begin = txn.recollections.field_times_from
    if row < begin.get(ns, b""):
        begin[ns] = row


# rows


def _time_of(txn: Txn, meta: Meta, field: bytes) -> int | None:
    return _own_time_of(txn, meta, field) if HASH_TIMED[meta.encoding] else None


def _own_time_of(txn: Txn, meta: Meta, field: bytes) -> int | None:
    """As `_time_of`, where this Txn may have given the hash its first time."""
    raw = txn.get(meta.index + field)
    return None if raw is None else int.from_bytes(raw, "big")


def _put_time(txn: Txn, meta: Meta, field: bytes, at_ms: int) -> None:
    raw = U64.pack(at_ms)
    txn.put(meta.index + field, raw)
    txn.put(meta.order + raw + field, b"")


def _delete_time(txn: Txn, meta: Meta, field: bytes, at_ms: int | None) -> None:
    if at_ms is not None:
        txn.delete(meta.index + field)
        txn.delete(meta.order + U64.pack(at_ms) + field)
        _note_deleted(txn, meta, 1)


def _note_deleted(txn: Txn, meta: Meta, gone: int) -> None:
    """Times went: whoever looks for the first that is left steps over them."""
    left = meta.extra if type(meta.extra) is int else 0
    txn.keyspace.sparse.note_deleted((meta.order,), gone, left)


def _due_rows(txn: Txn, meta: Meta, limit: int = UNLIMITED) -> Iterable[bytes]:
    order = meta.order
    return txn.scan_keys(order, order + U64.pack(txn.horizon_ms + 1), limit=limit)


def _reindex(txn: Txn, key: bytes, before: int | None, old: Meta) -> None:
    """Times were written: bring the `t#` row and the encode-version up to them."""
    meta = txn.find(key)
    after = None if meta is None else _first_ms(txn, meta)
    if before != after:
        if before is not None:
            txn.delete(rows.field_expiry_row(txn.db.ns, before, old.version, key))
        if after is not None:
            enlist(txn, key, old, after)
    if meta is not None and (after is not None) != HASH_TIMED[meta.encoding]:
        txn.save(key, meta.turned())


def _count_expired(keyspace: Keyspace, count: int) -> None:
    keyspace.expired_fields += count
