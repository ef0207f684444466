"""Lists: elements under rising sequence numbers.

    "m#" | ns | h8 | key    -> 0 | 4 | u64 version | i64 expire-ms | u64 head | u64 tail
    "s#" | path | u64 sequence -> element

Invariants
1. Elements stand at head, head + 1, ..., tail - 1; a fresh list begins at 2^63, so that it can
   grow both ways.
2. head < tail: an empty list has no meta.

Element i is therefore row head + i, and nothing ever walks to an index. Both ends grow and shrink
by single rows. A change in the middle moves the elements of its shorter side; where those are very
many, or where little is left of a list, the list is written anew instead, as another incarnation.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import LIST, Meta
from stratakv.encodings.layout.rows import sequence
from stratakv.errors import CommandError

FIRST_LOOK: Final = 100
"""Elements read at first when searching: most searches end near an end of the list."""

IN_PLACE_ROWS: Final = 50_000
"""Rows that one batch may move or delete; beyond, the list is written anew in slices."""

CLEAN_ROWS: Final = 100
"""So few last rows are deleted with their list, and leave nothing to reclaim."""

WINDOWS_KEPT: Final = 256
WINDOW_BYTES: Final = 16 * 1024
"""How many ranges are remembered, and how large they may be: 4 MB at the most."""


# at the ends


def push(
    txn: Txn, key: bytes, elements: Sequence[bytes], *, left: bool, only_existing: bool = False
) -> int:
    """Add elements one by one at an end; returns the length, 0 if there is no list to add to."""
    meta = txn.expect(key, LIST)
    added = len(elements)
    if added == 1 and meta is not None:  # the usual call: 1.3 us instead of 3.1
        head, tail = _bounds(meta)
        if left:
            head -= 1
            txn.put(meta.sub + sequence(head), elements[0])
        else:
            txn.put(meta.sub + sequence(tail), elements[0])
            tail += 1
        txn.update(key, meta, (head, tail))
        if txn.keyspace.notifies:
            txn.event("l", "lpush" if left else "rpush", key)
        return tail - head
    txn.expect_work(added)
    if meta is not None:
        head, tail = _bounds(meta)
    elif only_existing:
        return 0
    else:
        head = tail = rows.SEQUENCE_START
    if left:
        places, head = range(head - 1, head - 1 - added, -1), head - added
    else:
        places, tail = range(tail, tail + added), tail + added
    if meta is None:
        meta = txn.create(key, LIST, (head, tail))
    else:
        txn.update(key, meta, (head, tail))
    sub = meta.sub
    for place, element in zip(places, elements, strict=True):
        txn.put(sub + sequence(place), element)
    txn.event("l", "lpush" if left else "rpush", key)
    return tail - head


def pop(txn: Txn, key: bytes, *, left: bool, quiet: bool = False) -> bytes | None:
    """Take an element off an end; None if there is no list. `quiet`: the caller tells it."""
    meta = txn.expect(key, LIST)
    if meta is None:
        return None
    head, tail = _bounds(meta)
    row = meta.sub + sequence(head if left else tail - 1)
    element = txn.get(row)
    txn.delete(row)
    if tail - head == 1:
        txn.drop(key, emptied=True)
    else:
        txn.update(key, meta, (head + 1, tail) if left else (head, tail - 1))
    if quiet or not txn.keyspace.notifies:
        return element
    txn.removal("l", "lpop" if left else "rpop", key)
    return element


def pop_many(txn: Txn, key: bytes, wanted: int, *, left: bool) -> list[bytes] | None:
    """Take up to so many elements off an end, the outermost first; None if there is no list."""
    meta = txn.expect(key, LIST)
    if meta is None:
        return None
    total = count(meta)
    wanted = min(wanted, total)
    if wanted == 0:
        return []
    txn.expect_work(wanted)
    first, last = (0, wanted) if left else (total - wanted, total)
    popped = list(_between(txn, meta, first, last, reverse=not left))
    _keep(txn, key, meta, *((wanted, total) if left else (0, total - wanted)))
    txn.removal("l", "lpop" if left else "rpop", key)
    return popped


def move(
    txn: Txn, source: bytes, destination: bytes, *, from_left: bool, to_left: bool
) -> bytes | None:
    """Take an element off one list and add it to another, or to the same; None without a source.

    As in Redis, others hear of the push first.
    """
    if txn.expect(source, LIST) is None:
        return None
    if source == destination:
        element = _rotate(txn, source, from_left, to_left)
        txn.event("l", "lpush" if to_left else "rpush", destination)
    else:
        txn.expect(destination, LIST)
        element = pop(txn, source, left=from_left, quiet=True)
        assert element is not None
        push(txn, destination, (element,), left=to_left)
    txn.removal("l", "lpop" if from_left else "rpop", source)
    return element


def _rotate(txn: Txn, key: bytes, from_left: bool, to_left: bool) -> bytes | None:
    """Move within one list, which exists, and keeps its expire-time even if it has one element."""
    meta = txn.expect(key, LIST)
    assert meta is not None
    head, tail = _bounds(meta)
    row = meta.sub + sequence(head if from_left else tail - 1)
    element = txn.get(row)
    assert element is not None
    if from_left == to_left or tail - head == 1:
        txn.put(row, element)  # nothing moves, but the key counts as changed
        return element
    txn.delete(row)
    step = 1 if from_left else -1
    txn.put(meta.sub + sequence(tail if from_left else head - 1), element)
    txn.update(key, meta, (head + step, tail + step))
    return element


def trim(txn: Txn, key: bytes, start: int, stop: int) -> None:
    """Keep only the elements from `start` to `stop`, both included."""
    meta = txn.expect(key, LIST)
    if meta is not None:
        _keep(txn, key, meta, *_clip(start, stop, count(meta)))
        txn.removal("l", "ltrim", key)


# by index


def length(txn: Txn, key: bytes) -> int:
    """The number of elements."""
    meta = txn.look_up(key, LIST)
    return 0 if meta is None else count(meta)


def select(txn: Txn, key: bytes, start: int, stop: int) -> tuple[int, Iterable[bytes]]:
    """(how many, elements) from `start` to `stop`, both included; negative ones count backwards."""
    meta = txn.look_up(key, LIST)
    if meta is None:
        return 0, ()
    first, last = _clip(start, stop, count(meta))
    if first == last:
        return 0, ()
    txn.expect_work(last - first)
    if txn.is_long:
        return last - first, _between(txn, meta, first, last)
    return last - first, _window(txn, meta, first, last)


def _window(txn: Txn, meta: Meta, first: int, last: int) -> Sequence[bytes]:
    """The elements of indexes [first, last), remembered: the same page is often read again.

    Every change of a list makes a new meta, so elements are right while the meta is the same.
    """
    windows = txn.recollections.windows
    place = meta.sub, first, last
    known = windows.get(place)
    if known is not None and known[0] is meta:
        return known[1]
    found = list(_between(txn, meta, first, last))
    if sum(map(len, found)) <= WINDOW_BYTES:
        if len(windows) >= WINDOWS_KEPT:
            windows.clear()
        windows[place] = meta, found
    return found


def find(txn: Txn, meta: Meta, index: int) -> bytes | None:
    """The element at an index, negative ones from the end; None beyond the ends."""
    row = _row_at(meta, index)
    return None if row is None else txn.get(row)


def assign(txn: Txn, key: bytes, meta: Meta, index: int, element: bytes) -> None:
    """Replace the element at an index."""
    row = _row_at(meta, index)
    if row is None:
        raise CommandError(errors.OUT_OF_RANGE)
    txn.put(row, element)
    txn.update(key, meta, meta.extra)  # see _window
    txn.event("l", "lset", key)


# by value


def positions(
    txn: Txn, meta: Meta, element: bytes, *, reverse: bool, look_at: int = UNLIMITED
) -> Iterator[int]:
    """Where an element stands, from the head on or from the tail on, among `look_at` elements."""
    total = count(meta)
    found = islice(_searching(txn, meta, reverse=reverse), look_at)
    places = range(total - 1, -1, -1) if reverse else range(total)
    for place, one in zip(places, found, strict=False):
        if one == element:
            yield place


def insert(txn: Txn, key: bytes, pivot: bytes, element: bytes, *, before: bool) -> int:
    """Add an element next to the first pivot; the length, -1 without pivot, 0 without list."""
    meta = txn.expect(key, LIST)
    if meta is None:
        return 0
    place = next(positions(txn, meta, pivot, reverse=False), None)
    if place is None:
        return -1
    _insert_at(txn, key, meta, place + (not before), element)
    txn.event("l", "linsert", key)
    return count(meta) + 1


def _insert_at(txn: Txn, key: bytes, meta: Meta, index: int, element: bytes) -> None:
    head, tail = _bounds(meta)
    total = tail - head
    moved = min(index, total - index)
    txn.expect_work(moved)
    if moved > IN_PLACE_ROWS:
        before, after = _between(txn, meta, 0, index), _between(txn, meta, index, total)
        _write_anew(txn, key, meta, total + 1, chain(before, (element,), after))
    elif index == moved:
        _write(txn, meta, head - 1, _between(txn, meta, 0, index))
        txn.put(meta.sub + sequence(head - 1 + index), element)
        txn.update(key, meta, (head - 1, tail))
    else:
        _write(txn, meta, head + index + 1, _between(txn, meta, index, total))
        txn.put(meta.sub + sequence(head + index), element)
        txn.update(key, meta, (head, tail + 1))


def remove(txn: Txn, key: bytes, limit: int, element: bytes) -> int:
    """Remove the first `limit` equal elements, the last ones if negative, all if 0."""
    meta = txn.expect(key, LIST)
    if meta is None:
        return 0
    found = positions(txn, meta, element, reverse=limit < 0)
    places = list(islice(found, min(abs(limit), UNLIMITED) or None))
    if limit < 0:
        places.reverse()
    if places:
        _remove_at(txn, key, meta, places)
        txn.removal("l", "lrem", key)
    return len(places)


def _remove_at(txn: Txn, key: bytes, meta: Meta, places: list[int]) -> None:
    """Remove the elements at rising indexes; the longest run of others between them stays put."""
    head, tail = _bounds(meta)
    total, removed = tail - head, len(places)
    if removed == total:
        _keep(txn, key, meta, 0, 0)
        return
    edges = [-1, *places, total]
    widest = max(range(removed + 1), key=lambda number: edges[number + 1] - edges[number])
    moved = edges[widest] + 1 + total - edges[widest + 1]
    txn.expect_work(moved)
    if moved > IN_PLACE_ROWS:
        kept = _without(_between(txn, meta, 0, total), 0, places)
        _write_anew(txn, key, meta, total - removed, kept)
        return
    left, right = places[:widest], places[widest:]
    new_head, new_tail = head + len(left), tail - len(right)
    if left:
        kept = _without(_between(txn, meta, 0, left[-1] + 1), 0, left)
        _write(txn, meta, new_head, kept)
    if right:
        kept = _without(_between(txn, meta, right[0], total), right[0], right)
        _write(txn, meta, head + right[0], kept)
    _delete(txn, meta, range(head, new_head))
    _delete(txn, meta, range(new_tail, tail))
    txn.update(key, meta, (new_head, new_tail))


def _without(found: Iterable[bytes], start: int, places: Sequence[int]) -> Iterator[bytes]:
    """The elements from index `start` on but for those at the given indexes, which rise."""
    waiting = iter(places)
    skipped = next(waiting, -1)
    for place, element in enumerate(found, start):
        if place == skipped:
            skipped = next(waiting, -1)
        else:
            yield element


# whole lists


def create(txn: Txn, key: bytes, elements: Iterable[bytes]) -> int:
    """Make the key a list of these elements, whatever it was; returns how many there are.

    Requires: there is at least one element.
    """
    head = tail = rows.SEQUENCE_START
    meta = txn.create(key, LIST, (head, tail))
    for tail, element in enumerate(elements, head + 1):
        txn.put(meta.sub + sequence(tail - 1), element)
    txn.update(key, meta, (head, tail))
    return tail - head


def count(meta: Meta) -> int:
    """How many elements a list has."""
    head, tail = _bounds(meta)
    return tail - head


def elements(txn: Txn, meta: Meta, *, reverse: bool = False) -> Iterator[bytes]:
    """The elements from head to tail, or backwards."""
    return iter(_between(txn, meta, 0, count(meta), reverse=reverse))


# rows


def _bounds(meta: Meta) -> tuple[int, int]:
    return meta.extra  # type: ignore[return-value]  # (head, tail) for every list


def _clip(start: int, stop: int, total: int) -> tuple[int, int]:
    """[first, last) of Redis's inclusive range; (0, 0) if nothing is in it."""
    first = max(start + total if start < 0 else start, 0)
    last = min(stop + total if stop < 0 else stop, total - 1) + 1
    return (first, last) if first < last else (0, 0)


def _row_at(meta: Meta, index: int) -> bytes | None:
    head, tail = _bounds(meta)
    place = (head if index >= 0 else tail) + index
    return meta.sub + sequence(place) if head <= place < tail else None


def _between(
    txn: Txn, meta: Meta, first: int, last: int, *, reverse: bool = False
) -> Iterable[bytes]:
    """The elements of indexes [first, last)."""
    if first == last:
        return ()
    head, sub = _bounds(meta)[0], meta.sub
    start, stop = sub + sequence(head + first), sub + sequence(head + last)
    found = txn.scan(start, stop, reverse=reverse, limit=last - first)
    if txn.is_long:
        return map(itemgetter(1), found)
    return [element for _, element in found]


def _searching(txn: Txn, meta: Meta, *, reverse: bool) -> Iterator[bytes]:
    """All elements from one end on, read in two goes."""
    total = count(meta)
    look = min(total, FIRST_LOOK)
    first, last = (total - look, total) if reverse else (0, look)
    yield from _between(txn, meta, first, last, reverse=reverse)
    if look < total:
        first, last = (0, total - look) if reverse else (look, total)
        yield from _between(txn, meta, first, last, reverse=reverse)


def _keep(txn: Txn, key: bytes, meta: Meta, first: int, last: int) -> None:
    """Cut a list down to the elements of indexes [first, last); to no key if there are none."""
    head, tail = _bounds(meta)
    kept, removed = last - first, tail - head - (last - first)
    if not kept and removed > CLEAN_ROWS:
        txn.drop(key)
        return
    txn.expect_work(min(kept, removed))
    if removed > IN_PLACE_ROWS or removed > max(kept, CLEAN_ROWS):
        _write_anew(txn, key, meta, kept, _between(txn, meta, first, last))
        return
    _delete(txn, meta, range(head, head + first))
    _delete(txn, meta, range(head + last, tail))
    if kept:
        txn.update(key, meta, (head + first, head + last))
    else:
        txn.drop(key, emptied=True)


def _write(txn: Txn, meta: Meta, place: int, found: Iterable[bytes]) -> None:
    """Put elements one after another, the first at a sequence number."""
    sub = meta.sub
    for number, element in enumerate(found, place):
        txn.put(sub + sequence(number), element)


def _delete(txn: Txn, meta: Meta, places: Iterable[int]) -> None:
    sub = meta.sub
    for place in places:
        txn.delete(sub + sequence(place))


def _write_anew(txn: Txn, key: bytes, meta: Meta, total: int, found: Iterable[bytes]) -> None:
    """Replace a list by another incarnation with these elements."""
    head = rows.SEQUENCE_START
    fresh = txn.create(key, LIST, (head, head + total), meta.expire_ms)
    _write(txn, fresh, head, found)
