"""Keys of any type: expire-times, the walk over the keyspace, and Redis's names of encodings.

The walk goes over the meta rows, which stand in the order of h8:

    "m#" | ns | h8 | key -> meta

Invariants
1. A SCAN cursor is the h8 to go on from, so it needs no memory and survives a restart; 0 is both
   the beginning and the end. All rows of one h8 are in the same reply, so none is left out.
2. An expired key is in no reply, whether or not its rows are still there.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from stratakv.encodings.keyspace.hits import HITS
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.keyspace.zset_remote import opened
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.globs import compile_glob, literal_prefix
from stratakv.encodings.layout.metas import (
    HASH,
    LIST,
    NO_EXPIRY,
    SET,
    STREAM,
    STRING,
    WHOLE,
    ZSET,
    Meta,
)
from stratakv.encodings.layout.numbers import parse_int
from stratakv.encodings.types.strings import strings
from stratakv.slots import slot_of

_LAST_H8: Final = (1 << 64) - 1
GRAIN: Final = 1 << 14
"""In a cluster cursors of SCAN have room for the number of a group in their lowest bits."""
_RANDOM_TRIES: Final = 16
_BREATH: Final = 64

Item = TypeVar("Item")

# existence and expire-times


def delete(txn: Txn, keys: tuple[bytes, ...]) -> int:
    """Delete keys; returns how many there were."""
    txn.expect_work(len(keys))
    if txn.is_on_its_own:
        return sum([_delete_stored(txn, key) for key in _many(txn, keys)])
    delete_one = txn.erase if txn.keyspace.notifies else txn.drop
    return sum([delete_one(key) for key in _many(txn, keys)])


def _delete_stored(txn: Txn, key: bytes) -> bool:
    """Delete a key; what has expired, and no master has deleted yet, counts, as in Redis."""
    is_overdue = txn.is_overdue(key)
    return txn.erase(key) or is_overdue


def count_existing(txn: Txn, keys: tuple[bytes, ...], *, uses: bool) -> int:
    """How many of the keys exist; one that is named twice counts twice. It may be a use of them."""
    txn.expect_work(len(keys))
    if txn.keyspace.notifies:
        find = txn.read if uses else txn.glance
    else:
        find = txn.find if uses else txn.peek
    found = sum([find(key) is not None for key in _many(txn, keys)])
    HITS.further += len(keys) - 1
    return found


def _many(txn: Txn, keys: tuple[bytes, ...]) -> Iterable[bytes]:
    return paced(txn, keys) if txn.is_long else keys


def expire(txn: Txn, key: bytes, at_ms: int, conditions: frozenset[bytes]) -> bool:
    """Set the expire-time if the conditions (NX XX GT LT) hold; one in the past deletes the key."""
    meta = txn.find(key)
    if meta is None or not _may_expire(meta.expire_ms, at_ms, conditions):
        return False
    if at_ms <= txn.horizon_ms:
        txn.erase(key)
    else:
        txn.save(key, strings.divided(txn, key, meta).with_expiry(at_ms))
        txn.event("g", "expire", key)
    return True


def _may_expire(old_ms: int, at_ms: int, conditions: frozenset[bytes]) -> bool:
    """NX and XX ask for none or some expire-time; to GT and LT, none is later than any."""
    if not conditions:
        return True
    is_set = old_ms != NO_EXPIRY
    return not (
        (b"NX" in conditions and is_set)
        or (b"XX" in conditions and not is_set)
        or (b"GT" in conditions and (not is_set or at_ms <= old_ms))
        or (b"LT" in conditions and is_set and at_ms >= old_ms)
    )


def expire_time(txn: Txn, key: bytes) -> int:
    """The expire-time in ms; as in Redis, -1 for a key without one and -2 for no key."""
    meta = txn.glance(key)
    return -2 if meta is None else meta.expire_ms


def persist(txn: Txn, key: bytes) -> bool:
    """Take the expire-time away; says whether there was one."""
    meta = txn.find(key)
    if meta is None or meta.expire_ms == NO_EXPIRY:
        return False
    txn.save(key, strings.divided(txn, key, meta).with_expiry(NO_EXPIRY))
    txn.event("g", "persist", key)
    return True


# the walk


def count(txn: Txn) -> int:
    """The number of keys; as in Redis, those that expired but are not reclaimed yet included."""
    return txn.db.live + txn.live_change


def matching(txn: Txn, pattern: bytes) -> list[bytes]:
    """All keys that match a glob."""
    if literal_prefix(pattern) == pattern:
        return [pattern] if txn.find(pattern) is not None else []
    return list(_all_that(txn, compile_glob(pattern)))


def in_slot(txn: Txn, slot: int) -> Iterator[bytes]:
    """All keys of a slot; each key of the database is looked at."""
    return _all_that(txn, lambda key: slot_of(key) == slot)


def _all_that(txn: Txn, fits: Callable[[bytes], bool]) -> Iterator[bytes]:
    """Go over all keys, and give those that fit."""
    total = count(txn)
    if not total:
        return
    txn.expect_work(total)
    show_metas(txn)
    due = _due_keys(txn)
    ns = txn.db.ns
    start = rows.META + ns
    limit = UNLIMITED if txn.is_long else total  # a snapshot may be older than the count
    for row in txn.scan_keys(start, rows.end_of(start), limit=limit):
        key = rows.key_of_meta_row(ns, row)
        if fits(key) and (key not in due or txn.find(key) is not None):
            yield key


def paced(txn: Txn, items: Iterable[Item]) -> Iterator[Item]:
    """Go through many things that are in memory, letting others have their turn."""
    for number, item in enumerate(items):
        if not number % _BREATH:
            txn.pause_if_due()
        yield item


def drained(items: list[Item]) -> Iterator[Item]:
    """The items in order, taken out of the list: to free a million at once takes too long."""
    items.reverse()
    while items:
        yield items.pop()


def _due_keys(txn: Txn) -> set[bytes]:
    """Keys that expired and are not reclaimed yet: usually few, so no meta need be read."""
    ns = txn.db.ns
    if not txn.db.expiring + txn.expiring_change:
        return set()
    stop = rows.expiry_row(ns, txn.horizon_ms + 1, b"")
    found = txn.scan_keys(rows.EXPIRY + ns, stop)
    return {rows.parse_expiry_row(ns, row)[1] for row in found}


def scan(
    txn: Txn, cursor: int, amount: int, pattern: bytes | None, type_name: bytes | None
) -> tuple[int, list[bytes]]:
    """The next cursor, and those of about `amount` keys from `cursor` on that fit."""
    total = count(txn)
    if not total:
        return 0, []
    show_metas(txn)
    ns = txn.db.ns
    matches = compile_glob(pattern if pattern is not None else b"*")
    found = []
    seen, last = 0, b""
    for last, raw in _rows_from(txn, cursor, amount, total):
        seen += 1
        key = rows.key_of_meta_row(ns, last)
        if matches(key) and _is_shown(txn, metas.decode(last, len(ns), raw), type_name):
            found.append(key)
    if seen < amount:
        return 0, found
    return (_end_of_step(txn, last) + 1) & _LAST_H8, found


def _rows_from(txn: Txn, cursor: int, amount: int, total: int) -> Iterator[tuple[bytes, bytes]]:
    """At least `amount` meta rows, and then the others of the last one's h8.

    The last of all is known by their number: to look for one behind it is to step over what was
    deleted there.
    """
    ns = txn.db.ns
    end = rows.end_of(rows.META + ns)
    row = b""
    if not cursor and total < amount and not txn.is_long:
        yield from txn.scan(rows.meta_rows_from(ns, 0), end, limit=total)
        return
    for row, raw in txn.scan(rows.meta_rows_from(ns, cursor), end, limit=amount):
        yield row, raw
    if row:
        h8 = _end_of_step(txn, row)
        stop = rows.meta_rows_from(ns, h8 + 1) if h8 < _LAST_H8 else end
        yield from txn.scan(row + b"\0", stop)


def _end_of_step(txn: Txn, row: bytes) -> int:
    """The last h8 that a step of SCAN is to show all keys of, which ends with a row."""
    h8 = rows.hash_of_meta_row(txn.db.ns, row)
    return h8 | (GRAIN - 1) if txn.keyspace.is_clustered else h8


def _is_shown(txn: Txn, meta: Meta, type_name: bytes | None) -> bool:
    if NO_EXPIRY != meta.expire_ms <= txn.horizon_ms:
        return False
    return type_name is None or type_name == metas.NAMES[meta.type]


def choose(txn: Txn) -> bytes | None:
    """A random key: one of the few that follow a random place; None if there is none."""
    if not count(txn):
        return None
    show_metas(txn)
    ns = txn.db.ns
    place = rows.meta_rows_from(ns, random.getrandbits(64))
    start, stop = rows.META + ns, rows.end_of(rows.META + ns)
    near = list(txn.scan_keys(place, stop, limit=_RANDOM_TRIES))
    near += txn.scan_keys(start, place, limit=_RANDOM_TRIES - len(near))
    for row in random.sample(near, len(near)):
        key = rows.key_of_meta_row(ns, row)
        if txn.find(key) is not None:
            return key
    found = _first_live(txn, place, stop)
    return found if found is not None else _first_live(txn, start, place)


def _first_live(txn: Txn, start: bytes, stop: bytes) -> bytes | None:
    """The first key of a range of meta rows; a few are read at a time, since the first will do."""
    while True:
        row = b""
        for row in txn.scan_keys(start, stop, limit=_RANDOM_TRIES):
            key = rows.key_of_meta_row(txn.db.ns, row)
            if txn.find(key) is not None:
                return key
        if not row:
            return None
        start = row + b"\0"


def show_metas(txn: Txn) -> None:
    """Let scans see the metas of this Txn, which are not rows yet."""
    for meta in txn.metas.values():
        txn.rows[meta.row] = metas.encode(meta)


# OBJECT

_ONE_ENCODING: Final = {LIST: b"quicklist", STREAM: b"stream"}
_LISTPACKS: Final = {HASH: "hash-max-listpack", ZSET: "zset-max-listpack"}
_EMBSTR_BYTES: Final = 44
_SHARED_INTEGERS: Final = 10_000
_SHARED_REFCOUNT: Final = 2147483647


def encoding_name(txn: Txn, meta: Meta) -> bytes:
    """How Redis 7.0 would keep this content, with the limits of compact forms that are set."""
    if meta.type == STRING:
        return _string_encoding(meta)
    if meta.type in _ONE_ENCODING:
        return _ONE_ENCODING[meta.type]
    meta = opened(txn, meta) or meta
    if meta.type == SET:
        return b"intset" if _is_intset(txn, meta) else b"hashtable"
    if _is_listpack(txn, meta):
        return b"listpackex" if meta.format.timed else b"listpack"
    return {HASH: b"hashtable", ZSET: b"skiplist"}[meta.type]


def reference_count(meta: Meta) -> int:
    """Redis shares small integers, and says so; everything else has one owner."""
    is_short = not meta.format.stored
    number = parse_int(meta.value) if is_short else None
    is_shared = number is not None and 0 <= number < _SHARED_INTEGERS
    return _SHARED_REFCOUNT if is_shared else 1


def _string_encoding(meta: Meta) -> bytes:
    if meta.encoding != WHOLE or len(meta.value) > _EMBSTR_BYTES:
        return b"raw"
    return b"int" if parse_int(meta.value) is not None else b"embstr"


def _is_intset(txn: Txn, meta: Meta) -> bool:
    found = _members(txn, meta, txn.keyspace.limits.compact["set-max-intset-entries"])
    return found is not None and all(parse_int(member) is not None for member, _ in found)


def _is_listpack(txn: Txn, meta: Meta) -> bool:
    """Of a sorted set only the members count: its values are scores."""
    limits, name = txn.keyspace.limits.compact, _LISTPACKS[meta.type]
    found = _members(txn, meta, limits[f"{name}-entries"])
    if found is None:
        return False
    longest = limits[f"{name}-value"]
    measured = 2 if meta.type == HASH else 1
    return all(len(part) <= longest for pair in found for part in pair[:measured])


def _members(txn: Txn, meta: Meta, most: int) -> list[tuple[bytes, bytes]] | None:
    """The sub rows of a collection as (member, value), or None if there are more than `most`."""
    if type(meta.extra) is int and meta.extra > most:
        return None
    size = len(meta.sub)
    found = txn.scan(meta.sub, rows.end_of(meta.sub), limit=most + 1)
    members = [(row[size:], value) for row, value in found]
    return members if len(members) <= most else None
