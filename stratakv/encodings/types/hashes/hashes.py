"""Hashes: one row per field; see member_rows.py for what they share with sets.

    "m#" | ns | h8 | key -> 0 | 2 | u64 version | i64 expire-ms | u32 field count        counted
    "m#" | ns | h8 | key -> 1 | 2 | u64 version | i64 expire-ms                          blind
    "s#" | path | field  -> value

Encode-versions 2 and 3 have the rows of 0 and 1, and entries in the tier (see cached_reads.py).
Versions 4 and 5 are 0 and 1 with fields that have expire-times (see field_times.py).
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.formats import HASH_PLAIN, HASH_TIMED
from stratakv.encodings.layout.metas import HASH, Meta
from stratakv.encodings.layout.numbers import (
    INT64_MAX,
    INT64_MIN,
    add_long_doubles,
    format_long_double,
    parse_int,
    parse_long_double,
)
from stratakv.encodings.tier import cached_reads
from stratakv.encodings.types.hashes import field_times
from stratakv.encodings.types.shared import member_rows, sampling
from stratakv.encodings.types.shared.member_rows import PAUSE_EVERY
from stratakv.errors import CommandError

Pair = tuple[bytes, bytes]
_NONE: Final[frozenset[bytes]] = frozenset()


def assign(txn: Txn, key: bytes, field: bytes, value: bytes) -> int:
    """Set one field; 1 if it is new (or if the hash does not count), else 0. The hot path.

    The caller knows what event that is.
    """
    meta = txn.expect(key, HASH)
    if meta is None:
        member_rows.fill(txn, key, member_rows.begin(txn, key, HASH, 1), {field: value})
        return 1
    row = meta.sub + field
    known = meta.extra
    if not HASH_PLAIN[meta.encoding]:
        if HASH_TIMED[meta.encoding]:
            return _assign_timed(txn, key, meta, (field, value))
        txn.note(meta, field)
    if known is None:
        txn.put(row, value)
        return 1
    is_new = member_rows.find(txn, meta, field) is None
    txn.put(row, value)
    put = {field: value}
    if is_new:
        member_rows.grow(txn, key, meta, put, put)
        return 1
    member_rows.overwrite(txn, key, meta, put)
    return 0


def assign_all(txn: Txn, key: bytes, pairs: Sequence[bytes]) -> int:
    """Set fields, given as field, value, field, value; says how many are new.

    A hash that does not count says how many were given.
    """
    fields = len(pairs) // 2
    txn.expect_work(fields)
    meta = txn.expect(key, HASH)
    if meta is None:
        made = dict(zip(pairs[::2], pairs[1::2], strict=True))
        meta = member_rows.begin(txn, key, HASH, len(made))
        member_rows.fill(txn, key, meta, made)
        return _told(txn, key, fields if meta.extra is None else len(made))
    if not HASH_PLAIN[meta.encoding]:
        if HASH_TIMED[meta.encoding]:
            return _told(txn, key, _assign_timed(txn, key, meta, pairs))
        for field in pairs[::2]:
            txn.note(meta, field)
    return _told(txn, key, _put_all(txn, key, meta, pairs))


def _told(txn: Txn, key: bytes, new: int) -> int:
    """Fields were set: say so to others, and how many are new to the caller."""
    txn.event("h", "hset", key)
    return new


def assign_until(txn: Txn, key: bytes, at_ms: int, pairs: Sequence[bytes]) -> None:
    """As `assign_all`; the fields expire at that time, at once if it has passed."""
    assign_all(txn, key, pairs)
    field_times.expire(txn, key, at_ms, field_times.ALWAYS, pairs[::2])


def assign_within(txn: Txn, key: bytes, pairs: Sequence[bytes]) -> None:
    """As `assign_all`; the fields keep their expire-times."""
    meta = txn.expect(key, HASH)
    if meta is not None and HASH_TIMED[meta.encoding]:
        txn.expect_work(len(pairs) // 2)
        _assign_timed(txn, key, meta, pairs, keep=True)
        txn.event("h", "hset", key)
    else:
        assign_all(txn, key, pairs)


def _assign_timed(
    txn: Txn, key: bytes, meta: Meta, pairs: Sequence[bytes], *, keep: bool = False
) -> int:
    """As `assign_all`; the fields lose their expire-times, unless they are to `keep` them."""
    left = field_times.prepare(txn, key, meta, () if keep else pairs[::2])
    return _put_all(txn, key, left or member_rows.begin(txn, key, HASH, 0), pairs)


def _put_all(txn: Txn, key: bytes, meta: Meta, pairs: Sequence[bytes]) -> int:
    if meta.extra is None:
        _put_blindly(txn, meta, pairs)
        return len(pairs) // 2
    sub = meta.sub
    put = dict(zip(pairs[::2], pairs[1::2], strict=True))
    new: dict[bytes, bytes] = {}
    for field, value in put.items():
        if member_rows.find(txn, meta, field) is None:
            new[field] = value
        txn.put(sub + field, value)
    if new:
        member_rows.grow(txn, key, meta, new, put)
    else:
        member_rows.overwrite(txn, key, meta, put)
    return len(new)


def _put_blindly(txn: Txn, meta: Meta, pairs: Sequence[bytes]) -> None:
    sub = meta.sub
    for number, (field, value) in enumerate(zip(pairs[::2], pairs[1::2], strict=True)):
        txn.put(sub + field, value)
        if not number % PAUSE_EVERY:
            txn.pause_if_due()


def assign_new(txn: Txn, key: bytes, field: bytes, value: bytes) -> bool:
    """Set a field that is not there; says whether it was so."""
    if _stored(txn, key, field) is not None:
        return False
    assign(txn, key, field, value)
    txn.event("h", "hset", key)
    return True


def find(txn: Txn, key: bytes, field: bytes) -> bytes | None:
    """The value of a field, or None."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return None
    if not HASH_PLAIN[meta.encoding]:
        if HASH_TIMED[meta.encoding]:
            return field_times.value(txn, meta, field)
        found = cached_reads.fields(txn, meta, (field,))
        if found is not None:
            return found[0]
    return member_rows.find(txn, meta, field)


def _stored(txn: Txn, key: bytes, field: bytes) -> bytes | None:
    """As `find`, for writers: they decide by what is stored."""
    meta = txn.expect(key, HASH)
    return None if meta is None else value_in(txn, meta, field)


def value_in(txn: Txn, meta: Meta, field: bytes) -> bytes | None:
    """The stored value of a live field, or None. Requires: the key is a hash."""
    if HASH_TIMED[meta.encoding]:
        return field_times.value(txn, meta, field)
    return member_rows.find(txn, meta, field)


def find_all(txn: Txn, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
    """The value of each field, or None in its place."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return [None] * len(fields)
    if not HASH_PLAIN[meta.encoding]:
        if HASH_TIMED[meta.encoding]:
            return [field_times.value(txn, meta, field) for field in fields]
        found = cached_reads.fields(txn, meta, fields)
        if found is not None:
            return found
    return [member_rows.find(txn, meta, field) for field in fields]


def has_all(txn: Txn, key: bytes, fields: Sequence[bytes]) -> bool:
    """Whether every one of the fields is there."""
    return all(_stored(txn, key, field) is not None for field in fields)


def has_any(txn: Txn, key: bytes, fields: Sequence[bytes]) -> bool:
    """Whether one of the fields is there."""
    return any(_stored(txn, key, field) is not None for field in fields)


def count(txn: Txn, key: bytes) -> int:
    """The number of fields; as in Redis, those that expired but are not deleted yet included."""
    meta = txn.look_up(key, HASH)
    return 0 if meta is None else member_rows.count(txn, meta)


def _hidden(txn: Txn, meta: Meta) -> frozenset[bytes]:
    """Fields whose time has passed."""
    return field_times.due(txn, meta) if HASH_TIMED[meta.encoding] else _NONE


def remove(txn: Txn, key: bytes, fields: Sequence[bytes]) -> int:
    """Delete fields, as in Redis also those whose time has passed; see `member_rows.remove`."""
    gone = _remove(txn, key, fields)
    if gone and txn.keyspace.notifies:
        txn.removal("h", "hdel", key)
    return gone


def _remove(txn: Txn, key: bytes, fields: Sequence[bytes]) -> int:
    meta = txn.expect(key, HASH)
    if meta is not None and HASH_TIMED[meta.encoding]:
        meta = field_times.prepare(txn, key, meta, fields, limit=0)
    return member_rows.remove(txn, key, meta, fields)


def take(txn: Txn, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
    """The value of each field, or None in its place; the fields are deleted."""
    meta = field_times.settled(txn, key)
    if meta is None:
        return [None] * len(fields)
    txn.expect_work(2 * len(fields))
    found = _each_once(txn, meta, fields)
    _remove(txn, key, fields)
    if any(value is not None for value in found):
        txn.removal("h", "hdel", key)
    return found


def _each_once(txn: Txn, meta: Meta, fields: Sequence[bytes]) -> list[bytes | None]:
    """Values of fields that go when they are read: the second mention of one finds nothing."""
    seen: set[bytes] = set()
    found: list[bytes | None] = []
    for field in fields:
        found.append(None if field in seen else value_in(txn, meta, field))
        seen.add(field)
    return found


def find_and_expire(
    txn: Txn, key: bytes, at_ms: int, fields: Sequence[bytes]
) -> list[bytes | None]:
    """As `find_all`; the fields expire at that time, at once if it has passed."""
    if at_ms <= txn.horizon_ms:
        return take(txn, key, fields)
    found = find_stored(txn, key, fields)
    field_times.expire(txn, key, at_ms, field_times.ALWAYS, fields)
    return found


def find_and_persist(txn: Txn, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
    """As `find_all`; the fields lose their expire-times."""
    found = find_stored(txn, key, fields)
    field_times.persist(txn, key, fields)
    return found


def find_stored(txn: Txn, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
    """As `find_all`, for writers: they decide by what is stored."""
    txn.expect_work(2 * len(fields))
    return [_stored(txn, key, field) for field in fields]


def everything(txn: Txn, key: bytes) -> tuple[int, Iterable[Pair]]:
    """The number of fields, and the fields with their values."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return 0, ()
    if not HASH_PLAIN[meta.encoding]:
        if hidden := _hidden(txn, meta):
            return _live_pairs(txn, meta, hidden)
        found = _cached_pairs(txn, meta)
        if found is not None:
            return len(found), found
    return member_rows.measure(txn, meta), member_rows.each_pair(txn, meta)


def names(txn: Txn, key: bytes) -> tuple[int, Iterable[bytes]]:
    """The number of fields, and the fields."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return 0, ()
    if not HASH_PLAIN[meta.encoding]:
        if hidden := _hidden(txn, meta):
            length, pairs = _live_pairs(txn, meta, hidden)
            return length, map(itemgetter(0), pairs)
        found = _cached_pairs(txn, meta)
        if found is not None:
            return len(found), [field for field, _ in found]
    return member_rows.measure(txn, meta), member_rows.each(txn, meta)


def values(txn: Txn, key: bytes) -> tuple[int, Iterable[bytes]]:
    """The number of fields, and their values."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return 0, ()
    if not HASH_PLAIN[meta.encoding]:
        if hidden := _hidden(txn, meta):
            length, live = _live_pairs(txn, meta, hidden)
            return length, map(itemgetter(1), live)
        pairs = _cached_pairs(txn, meta)
        if pairs is not None:
            return len(pairs), [value for _, value in pairs]
    length = member_rows.measure(txn, meta)
    return length, map(itemgetter(1), member_rows.each_pair(txn, meta))


def _cached_pairs(txn: Txn, meta: Meta) -> list[Pair] | None:
    return None if HASH_TIMED[meta.encoding] else cached_reads.pairs(txn, meta)


def _live_pairs(txn: Txn, meta: Meta, hidden: frozenset[bytes]) -> tuple[int, Iterable[Pair]]:
    """As `everything`, without the hidden fields."""
    length = member_rows.measure(txn, meta) - len(hidden)
    return length, _without(member_rows.each_pair(txn, meta), hidden)


def _without(pairs: Iterable[Pair], hidden: frozenset[bytes]) -> Iterator[Pair]:
    for pair in pairs:
        if pair[0] not in hidden:
            yield pair


def page(txn: Txn, meta: Meta, cursor: int, wanted: int) -> tuple[int, Sequence[Pair]]:
    """The next cursor (0 at the end) and about `wanted` fields with their values."""
    following, found = member_rows.page(txn, meta, cursor, wanted)
    hidden = _hidden(txn, meta)
    return following, [pair for pair in found if pair[0] not in hidden] if hidden else found


def increment(txn: Txn, key: bytes, field: bytes, amount: int) -> int:
    """Add to the integer that a field shows; a field that is not there shows 0."""
    text = _stored(txn, key, field)
    old = 0 if text is None else parse_int(text)
    if old is None:
        raise CommandError(errors.HASH_VALUE_NOT_INTEGER)
    new = old + amount
    if not INT64_MIN <= new <= INT64_MAX:
        raise CommandError(errors.OVERFLOW)
    _change(txn, key, field, b"%d" % new)
    if txn.keyspace.notifies:
        txn.event("h", "hincrby", key)
    return new


def increment_float(txn: Txn, key: bytes, field: bytes, amount: bytes) -> bytes:
    """Add to the number that a field shows, in long double precision."""
    step = parse_long_double(amount)
    if step is None:
        raise errors.not_float()
    if step.is_infinite:
        raise CommandError(errors.VALUE_NAN_OR_INFINITY)
    old = parse_long_double(_or_zero(_stored(txn, key, field)))
    if old is None:
        raise CommandError(errors.HASH_VALUE_NOT_FLOAT)
    total = add_long_doubles(old, step)
    if total is None:
        raise CommandError(errors.NAN_OR_INFINITY)
    value = format_long_double(total)
    _change(txn, key, field, value)
    txn.event("h", "hincrbyfloat", key)
    return value


def _change(txn: Txn, key: bytes, field: bytes, value: bytes) -> None:
    """As `assign`; the field keeps its expire-time."""
    meta = txn.expect(key, HASH)
    if meta is not None and HASH_TIMED[meta.encoding]:
        _assign_timed(txn, key, meta, (field, value), keep=True)
    else:
        assign(txn, key, field, value)


def _or_zero(text: bytes | None) -> bytes:
    return b"0" if text is None else text


def random_field(txn: Txn, key: bytes) -> bytes | None:
    """A field, or None."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return None
    if hidden := _hidden(txn, meta):
        _, found = _random_live(txn, meta, hidden, 1)
        return next(iter(found), None)
    return sampling.one(txn, meta)


def random_fields(txn: Txn, key: bytes, wanted: int) -> tuple[int, Iterable[bytes]]:
    """`wanted` different fields (all, if there are no more); with repeats if negative."""
    meta = txn.look_up(key, HASH)
    return (0, ()) if meta is None else _random_fields(txn, meta, wanted)


def _random_fields(txn: Txn, meta: Meta, wanted: int) -> tuple[int, Iterable[bytes]]:
    if hidden := _hidden(txn, meta):
        return _random_live(txn, meta, hidden, wanted)
    return member_rows.random_members(txn, meta, wanted)


def _random_live(
    txn: Txn, meta: Meta, hidden: frozenset[bytes], wanted: int
) -> tuple[int, Sequence[bytes]]:
    """The same out of a hash that has fields whose time has passed: all are read."""
    txn.expect_work(abs(wanted))
    found = [field for field in member_rows.each(txn, meta) if field not in hidden]
    if wanted < 0:
        chosen = random.choices(found, k=-wanted) if found else []
    else:
        chosen = random.sample(found, min(wanted, len(found)))
    return len(chosen), chosen


def random_pairs(txn: Txn, key: bytes, wanted: int) -> tuple[int, Iterable[Pair]]:
    """As `random_fields`, with the values."""
    meta = txn.look_up(key, HASH)
    if meta is None:
        return 0, ()
    length, fields = _random_fields(txn, meta, wanted)
    txn.expect_work(2 * length)
    pairs = _with_values(txn, meta, fields)
    return length, pairs if txn.is_long else list(pairs)


def _with_values(txn: Txn, meta: Meta, fields: Iterable[bytes]) -> Iterator[Pair]:
    for field in fields:
        yield field, txn.get(meta.sub + field) or b""
