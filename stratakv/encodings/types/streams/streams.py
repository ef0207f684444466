"""Streams: entries under rising ids.

An id is `ms-seq`, two u64; here it is one number of 128 bits, id16 in the store.

    id16     = u64 ms | u64 seq
    name     = u32 length | bytes
    meta     -> 0 | 6 | u64 version | i64 expire-ms | state

    state    = u64 length | id16 last | id16 max-deleted | u64 entries-added | id16 first
               | u64 gone | u32 groups

    "s#" | path | 0x00 | id16                           -> name ...    fields and values in turn
    "s#" | path | 0x01 | group                          -> see stream_groups.py
    "s#" | path | 0x02 | name group | consumer
    "s#" | path | 0x03 | name group | id16
    "s#" | path | 0x04 | name group | name consumer | id16

Invariants
1. `length` is the number of 0x00 rows; `first` is the id of the first of them, or 0-0.
2. `gone` counts the entries that were deleted since the stream was last empty.
3. No entry has an id above `last`, and `last` never falls below an entry.
4. An entry never changes; a new one always stands behind all others.
5. A stream may be empty: only DEL and its like end it.

Adding an entry writes one row and the meta. Because `first` and the counts are known, a walk never
begins among the rows that trimming has deleted, and never looks for a row behind the last.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import STREAM, Meta
from stratakv.errors import CommandError, Corrupt

MAX_ID: Final = (1 << 128) - 1
SEQ: Final = (1 << 64) - 1
ENTRIES: Final = b"\x00"

IN_PLACE_ROWS: Final = 50_000
"""Rows that one batch may delete; beyond, a trimmed stream is written anew in slices."""

_STATE = struct.Struct(">Q16s16sQ16sQI")
_U32 = rows.U32

Entry = list[bytes | list[bytes]]
"""An entry as replies show it: the id's text, and fields and values in turn."""


class State(NamedTuple):
    """What a stream's meta says of it."""

    length: int
    last: int
    max_deleted: int
    added: int
    first: int
    gone: int
    groups: int


class Trim(NamedTuple):
    """How to cut a stream: to a number of entries, or to the ids from `min_id` on.

    `node` is 0 for an exact cut; else only whole groups of so many entries go, `limit` at most.
    """

    max_length: int = 0
    min_id: int | None = None
    node: int = 0
    limit: int = 0


EMPTY: Final = State(0, 0, 0, 0, 0, 0, 0)


# layout


def encode_state(state: State) -> bytes:
    """The meta's extra."""
    length, last, max_deleted, added, first, gone, groups = state
    return _STATE.pack(
        length,
        last.to_bytes(16, "big"),
        max_deleted.to_bytes(16, "big"),
        added,
        first.to_bytes(16, "big"),
        gone,
        groups,
    )


def decode_state(meta: Meta) -> State:
    """The state of a stream, out of its meta."""
    number = int.from_bytes
    length, last, max_deleted, added, first, gone, groups = _STATE.unpack(meta.value)
    return State(length, number(last), number(max_deleted), added, number(first), gone, groups)


def encode_fields(fields: Sequence[bytes]) -> bytes:
    """An entry's row."""
    pack = _U32.pack
    return b"".join([part for field in fields for part in (pack(len(field)), field)])


def decode_fields(key: bytes, raw: bytes) -> list[bytes]:
    """Fields and values in turn."""
    found = []
    at, end = 0, len(raw)
    while at < end:
        start = at + 4
        at = start + int.from_bytes(raw[at:start])
        found.append(raw[start:at])
    if at != end or len(found) % 2:
        raise Corrupt(key, "an entry of the stream has the wrong length")
    return found


def entry_row(meta: Meta, number: int) -> bytes:
    """The row of an entry."""
    return meta.sub + ENTRIES + number.to_bytes(16, "big")


def id_of(row: bytes) -> int:
    """The id that a row ends with."""
    return int.from_bytes(row[-16:])


def format_id(number: int) -> bytes:
    """An id as replies show it."""
    return b"%d-%d" % (number >> 64, number & SEQ)


def span(prefix: bytes, first: int, last: int) -> tuple[bytes, bytes]:
    """(start, stop) of the rows of ids from `first` to `last`, both included."""
    start = prefix + first.to_bytes(16, "big")
    if last == MAX_ID:
        return start, rows.end_of(prefix)
    return start, prefix + (last + 1).to_bytes(16, "big")


# adding


def append(
    txn: Txn,
    key: bytes,
    wanted: int | None,
    fields: Sequence[bytes],
    *,
    open_sequence: bool = False,
    create: bool = True,
    trim: Trim | None = None,
) -> int | None:
    """Add an entry, then trim; returns its id, None if there is no stream and none may be made.

    `wanted` is its id, None for the time; with `open_sequence` only its ms counts.
    """
    meta = txn.expect(key, STREAM)
    if meta is None and not create:
        return None
    state = EMPTY if meta is None else decode_state(meta)
    number = _next_id(txn, state.last, wanted, open_sequence)
    length, _, max_deleted, added, first, gone, groups = state
    first = first if length else number
    state = State(length + 1, number, max_deleted, added + 1, first, gone, groups)
    if meta is None:
        meta = txn.create(key, STREAM, encode_state(state))
    txn.put(entry_row(meta, number), encode_fields(fields))
    txn.event("t", "xadd", key)
    if trim is not None:
        meta, cut = _trimmed(txn, key, meta, state, trim)
        if cut is not state:
            txn.event("t", "xtrim", key)
        state = cut
    txn.update(key, meta, encode_state(state))
    return number


def _next_id(txn: Txn, last: int, wanted: int | None, open_sequence: bool) -> int:
    if last == MAX_ID:
        raise CommandError(errors.STREAM_EXHAUSTED)
    if wanted is None:
        return max(txn.now_ms << 64, last + 1)
    if open_sequence and wanted >> 64 == last >> 64:
        wanted = last + 1 if last & SEQ != SEQ else 0
    if wanted <= last:
        raise CommandError(errors.STREAM_ID_TOO_SMALL)
    return wanted


def create(txn: Txn, key: bytes, state: State = EMPTY) -> Meta:
    """An empty stream, in place of whatever the key was."""
    return txn.create(key, STREAM, encode_state(state))


# reading


def length(txn: Txn, key: bytes) -> int:
    """The number of entries."""
    meta = txn.look_up(key, STREAM)
    return 0 if meta is None else decode_state(meta).length


def count_between(txn: Txn, meta: Meta, first: int, last: int, limit: int) -> int:
    """How many entries have ids from `first` to `last`, counted up to `limit`."""
    state = decode_state(meta)
    if first <= state.first and last >= state.last:
        return min(state.length, limit)
    bounds = _within(meta, state, first, last)
    return 0 if bounds is None else sum(1 for _ in txn.scan_keys(*bounds, limit=limit))


def between(
    txn: Txn,
    key: bytes,
    meta: Meta,
    first: int = 0,
    last: int = MAX_ID,
    *,
    limit: int = UNLIMITED,
    reverse: bool = False,
) -> Iterator[tuple[int, list[bytes]]]:
    """(id, fields and values) of the entries from `first` to `last`, both included."""
    state = decode_state(meta)
    bounds = _within(meta, state, first, last)
    if bounds is None:
        return iter(())
    found = txn.scan(*bounds, reverse=reverse, limit=min(limit, state.length))
    return ((id_of(row), decode_fields(key, raw)) for row, raw in found)


def find(txn: Txn, key: bytes, meta: Meta, number: int) -> list[bytes] | None:
    """Fields and values of one entry."""
    raw = txn.get(entry_row(meta, number))
    return None if raw is None else decode_fields(key, raw)


def shown(found: Iterable[tuple[int, list[bytes]]]) -> Iterator[Entry]:
    """Entries as replies show them."""
    return ([format_id(number), fields] for number, fields in found)


def top(txn: Txn, meta: Meta) -> int:
    """The id of the last entry. Requires: there is one."""
    state = decode_state(meta)
    if txn.get(entry_row(meta, state.last)) is not None:
        return state.last  # spares a walk back, which may meet deleted rows behind the stream
    bounds = span(meta.sub + ENTRIES, state.first, state.last)
    return max(id_of(row) for row in txn.scan_keys(*bounds, reverse=True, limit=1))


def _within(meta: Meta, state: State, first: int, last: int) -> tuple[bytes, bytes] | None:
    first, last = max(first, state.first), min(last, state.last)
    if not state.length or first > last:
        return None
    return span(meta.sub + ENTRIES, first, last)


# removing


def delete(txn: Txn, key: bytes, ids: Sequence[int]) -> int:
    """Delete entries; returns how many there were. Requires: the stream is there."""
    meta = txn.expect(key, STREAM)
    assert meta is not None
    state = decode_state(meta)
    txn.expect_work(len(ids))
    deleted = {number for number in ids if txn.get(entry_row(meta, number)) is not None}
    if not deleted:
        return 0
    for number in deleted:
        txn.delete(entry_row(meta, number))
    first = state.first
    if len(deleted) == state.length:
        first = 0
    elif first in deleted:
        first = _first_from(txn, meta, first)
    state = _without(state, len(deleted), first)
    max_deleted = max(state.max_deleted, *deleted)
    txn.update(key, meta, encode_state(state._replace(max_deleted=max_deleted)))
    txn.event("t", "xdel", key)
    return len(deleted)


def trim(txn: Txn, key: bytes, how: Trim) -> int:
    """Cut a stream; returns how many entries went."""
    meta = txn.expect(key, STREAM)
    if meta is None:
        return 0
    state = decode_state(meta)
    meta, cut = _trimmed(txn, key, meta, state, how)
    if cut is not state:
        txn.update(key, meta, encode_state(cut))
        txn.event("t", "xtrim", key)
    return state.length - cut.length


def _trimmed(txn: Txn, key: bytes, meta: Meta, state: State, how: Trim) -> tuple[Meta, State]:
    """Delete what is to go; the meta and the state afterwards, the same ones if nothing went."""
    removed = _excess(txn, meta, state, how)
    if not removed:
        return meta, state
    txn.expect_work(removed)
    left = state.length - removed
    if left and removed > IN_PLACE_ROWS:
        first = _nth(txn, meta, state, removed)
        meta = _write_anew(txn, key, meta, first)
    else:
        bounds = span(meta.sub + ENTRIES, state.first, state.last)
        gone = list(txn.scan_keys(*bounds, limit=removed + 1))
        first = id_of(gone.pop()) if left else 0
        for row in gone:
            txn.delete(row)
    return meta, _without(state, removed, first)


def _without(state: State, removed: int, first: int) -> State:
    """The state when so many entries are gone; `first` is what is first now."""
    left = state.length - removed
    return state._replace(length=left, first=first, gone=state.gone + removed if left else 0)


def _excess(txn: Txn, meta: Meta, state: State, how: Trim) -> int:
    """How many of the first entries are to go."""
    if how.min_id is None:
        most = state.length - how.max_length
    elif not state.length or how.min_id <= state.first:
        most = 0
    elif how.min_id > state.last:
        most = state.length
    else:
        cap = how.limit + 1 if how.node and how.limit else UNLIMITED
        most = count_between(txn, meta, state.first, how.min_id - 1, cap)
    if most <= 0:
        return 0
    return _whole_nodes(state, how, most) if how.node else most


def _whole_nodes(state: State, how: Trim, most: int) -> int:
    """Redis cuts roughly: by the nodes that its entries stand in, which are `node` entries long.

    We have no nodes. Their bounds follow from the number of entries that are gone, if these were
    the first ones.
    """
    removed = 0
    size = how.node - state.gone % how.node
    while removed < most:
        size = min(size, state.length - removed)
        if removed + size > most or (how.limit and removed + size > how.limit):
            break
        removed += size
        size = how.node
    return removed


def _nth(txn: Txn, meta: Meta, state: State, index: int) -> int:
    """The id of the entry at an index."""
    bounds = span(meta.sub + ENTRIES, state.first, state.last)
    found = state.first
    for row in txn.scan_keys(*bounds, limit=index + 1):
        found = id_of(row)
    return found


def _first_from(txn: Txn, meta: Meta, number: int) -> int:
    """The first entry at or behind an id. Requires: there is one."""
    bounds = span(meta.sub + ENTRIES, number, MAX_ID)
    return min(id_of(row) for row in txn.scan_keys(*bounds, limit=1))


def _write_anew(txn: Txn, key: bytes, meta: Meta, first: int) -> Meta:
    """Another incarnation, without the entries before `first`."""
    fresh = txn.create(key, STREAM, meta.extra, meta.expire_ms)
    size = len(meta.sub)
    for row, value in txn.scan(entry_row(meta, first), rows.end_of(meta.sub)):
        txn.put(fresh.sub + row[size:], value)
    return fresh


# the last id


def set_last(
    txn: Txn, key: bytes, last: int, added: int | None = None, max_deleted: int = 0
) -> None:
    """XSETID."""
    meta = txn.expect(key, STREAM)
    if meta is None:
        raise CommandError(errors.NO_SUCH_KEY)
    state = decode_state(meta)
    if state.length:
        if last < top(txn, meta):
            raise CommandError(errors.XSETID_TOP)
        if added is not None and added < state.length:
            raise CommandError(errors.XSETID_LENGTH)
    state = state._replace(
        last=last,
        added=state.added if added is None else added,
        max_deleted=max_deleted or state.max_deleted,
    )
    txn.update(key, meta, encode_state(state))
    txn.event("t", "xsetid", key)
