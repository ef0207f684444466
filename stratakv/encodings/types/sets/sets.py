"""Sets: one row per member, without a value; see member_rows.py for what they share with hashes.

    "m#" | ns | h8 | key -> 0 | 5 | u64 version | i64 expire-ms | u32 member count       counted
    "m#" | ns | h8 | key -> 1 | 5 | u64 version | i64 expire-ms                          blind
    "s#" | path | member -> empty

Encode-versions 2 and 3 have the rows of 0 and 1. Rows are in byte order, so unions, intersections
and differences are merges of scans: they need no memory, whatever the size of the sets.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from time import thread_time
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.formats import SET_TIERED
from stratakv.encodings.layout.metas import SET, Meta
from stratakv.encodings.tier import cached_reads
from stratakv.encodings.types.shared import member_rows, sampling
from stratakv.encodings.types.shared.member_rows import PAUSE_EVERY

SLOW_SECONDS: Final = 0.001
"""A pop from a small set takes a tenth of this, unless there are many deleted rows in its way."""
PROBE_SHARE: Final = 4
"""A set this many times larger is asked member by member, a smaller one is read alongside."""

Sources = Sequence[Meta | None]
Combine = Callable[[Txn, Sources], Iterable[bytes]]


# one set


def add(txn: Txn, key: bytes, member: bytes) -> int:
    """Add one member; 1 if it is new (or if the set does not count), else 0. The hot path."""
    meta = txn.expect(key, SET)
    if meta is None:
        member_rows.fill(txn, key, member_rows.begin(txn, key, SET, 1), {member: b""})
    else:
        row = meta.sub + member
        known = meta.extra
        if known is not None and member_rows.find(txn, meta, member) is not None:
            return 0
        if SET_TIERED[meta.encoding]:
            txn.note(meta, member)
        txn.put(row, b"")
        if known is not None:
            put = {member: b""}
            member_rows.grow(txn, key, meta, put, put)
    if txn.keyspace.notifies:
        txn.event("s", "sadd", key)
    return 1


def add_all(txn: Txn, key: bytes, new_members: Sequence[bytes]) -> int:
    """Add members; says how many are new, or how many were given if the set does not count."""
    txn.expect_work(len(new_members))
    meta = txn.expect(key, SET)
    if meta is None:
        made = dict.fromkeys(new_members, b"")
        meta = member_rows.begin(txn, key, SET, len(made))
        member_rows.fill(txn, key, meta, made)
        if SET_TIERED[meta.encoding]:
            txn.note(meta, b"")
        txn.event("s", "sadd", key)
        return len(new_members) if meta.extra is None else len(made)
    sub, counted = meta.sub, meta.extra is not None
    new: dict[bytes, bytes] = {}
    given = 0
    for number, member in enumerate(new_members):
        row = sub + member
        if not counted:
            txn.put(row, b"")
            given += 1
        elif member_rows.find(txn, meta, member) is None:
            txn.put(row, b"")
            new[member] = b""
        if not number % PAUSE_EVERY:
            txn.pause_if_due()
    if new or given:
        if SET_TIERED[meta.encoding]:
            txn.note(meta, b"")
        if counted:
            member_rows.grow(txn, key, meta, new, new)
        txn.event("s", "sadd", key)
    return len(new) + given


def remove(txn: Txn, key: bytes, old_members: Sequence[bytes]) -> int:
    """Take members out; see `member_rows.remove`."""
    gone = member_rows.remove(txn, key, txn.expect(key, SET), old_members)
    if gone and txn.keyspace.notifies:
        txn.removal("s", "srem", key)
    return gone


def count(txn: Txn, key: bytes) -> int:
    """The number of members."""
    meta = txn.look_up(key, SET)
    return 0 if meta is None else member_rows.count(txn, meta)


def contains(txn: Txn, key: bytes, member: bytes) -> bool:
    """Whether it is a member."""
    meta = txn.look_up(key, SET)
    return meta is not None and member_rows.find(txn, meta, member) is not None


def contains_each(txn: Txn, key: bytes, candidates: Sequence[bytes]) -> list[int]:
    """For each candidate 1 if it is a member, else 0."""
    meta = txn.look_up(key, SET)
    if meta is None:
        return [0] * len(candidates)
    return [int(member_rows.find(txn, meta, member) is not None) for member in candidates]


def everything(txn: Txn, key: bytes) -> tuple[int, Iterable[bytes]]:
    """The number of members, and the members."""
    meta = txn.look_up(key, SET)
    if meta is None:
        return 0, ()
    if SET_TIERED[meta.encoding]:
        found = cached_reads.members(txn, meta)
        if found is not None:
            return len(found), found
    return member_rows.measure(txn, meta), member_rows.each(txn, meta)


def move(txn: Txn, source: bytes, destination: bytes, member: bytes) -> bool:
    """Take a member from one set to another; says whether it was there."""
    meta = txn.expect(source, SET)
    if meta is None:
        return False
    txn.expect(destination, SET)
    if txn.get(meta.sub + member) is None:
        return False
    if source != destination:
        member_rows.remove(txn, source, meta, (member,))
        txn.removal("s", "srem", source)
        add(txn, destination, member)
    return True


# random members


def random_member(txn: Txn, key: bytes) -> bytes | None:
    """A member, or None."""
    meta = txn.look_up(key, SET)
    return None if meta is None else sampling.one(txn, meta)


def random_members(txn: Txn, key: bytes, wanted: int) -> tuple[int, Iterable[bytes]]:
    """`wanted` different members (all, if there are no more); with repeats if negative."""
    meta = txn.look_up(key, SET)
    return (0, ()) if meta is None else member_rows.random_members(txn, meta, wanted)


def pop(txn: Txn, key: bytes) -> bytes | None:
    """Take out a random member; None if there is no set.

    LevelDB steps over deleted rows until it compacts them: the last members of a set of 30,000 that
    was popped empty took 7 ms each. A small set that is slow is therefore written anew, once.
    """
    meta = txn.expect(key, SET)
    if meta is None:
        return None
    is_small = _known_count(meta) <= sampling.SMALL
    started = thread_time() if is_small else 0.0  # a system call
    member = sampling.one(txn, meta)
    if member is not None:
        if SET_TIERED[meta.encoding]:
            txn.note(meta, member)
        txn.delete(meta.sub + member)
        member_rows.shrink(txn, key, meta, 1)
        if txn.keyspace.notifies:
            txn.removal("s", "spop", key)
    if is_small and thread_time() - started > SLOW_SECONDS:
        member_rows.renew(txn, key)
    return member


def pop_many(txn: Txn, key: bytes, wanted: int) -> tuple[int, Iterable[bytes]]:
    """Take out random members: `wanted` of them, or all there are, and then the key is gone."""
    meta = txn.expect(key, SET)
    if meta is None or not wanted:
        return 0, ()
    total = member_rows.count(txn, meta)
    if wanted >= total:
        txn.expect_work(total)
        popped = member_rows.each(txn, meta)
        txn.drop(key)
        txn.removal("s", "spop", key)
        return total, popped
    chosen = list(sampling.distinct(txn, meta, wanted, total))
    if SET_TIERED[meta.encoding]:
        txn.note(meta, b"")
    for member in chosen:
        txn.delete(meta.sub + member)
    member_rows.shrink(txn, key, meta, wanted)
    txn.removal("s", "spop", key)
    return wanted, chosen


# algebra


def combined(txn: Txn, combine: Combine, keys: Sequence[bytes]) -> tuple[int, Iterable[bytes]]:
    """The number of members of a combination, and the members in byte order.

    A long one is made twice, once to be counted and once to be sent: nothing of it is kept.
    """
    sources = _sources(txn, keys)
    if not txn.is_long:
        found = list(combine(txn, sources))
        return len(found), found
    length = sum(1 for _ in combine(txn, sources))
    return length, combine(txn, sources)


def store_combined(
    txn: Txn, combine: Combine, destination: bytes, keys: Sequence[bytes], event: str
) -> int:
    """Make `destination` the combination, in place of whatever it was; says how many members.

    The new incarnation is written while the sources are read, the old one of `destination` too if
    it is among them.
    """
    found = iter(combine(txn, _sources(txn, keys)))
    first = next(found, None)
    if first is None:
        txn.erase(destination)
        return 0
    meta = member_rows.begin(txn, destination, SET, 1)
    sub = meta.sub
    txn.put(sub + first, b"")
    length = 1
    for member in found:
        txn.put(sub + member, b"")
        length += 1
    if meta.extra is not None:
        txn.save(destination, meta.with_extra(length))
    txn.event("s", event, destination)
    return length


def count_intersection(txn: Txn, keys: Sequence[bytes], limit: int) -> int:
    """The size of an intersection, counted up to `limit`; 0 means without limit."""
    found = intersection(txn, _sources(txn, keys))
    return sum(1 for _ in (islice(found, limit) if limit else found))


def union(txn: Txn, sources: Sources) -> Iterator[bytes]:
    """The members of any source."""
    streams = [member_rows.each(txn, meta) for meta in sources if meta is not None]
    last = None
    for member in heapq.merge(*streams):
        if member != last:
            yield member
            last = member


def intersection(txn: Txn, sources: Sources) -> Iterable[bytes]:
    """The members of every source: the smallest is read, the others are asked or read along."""
    present = [meta for meta in sources if meta is not None]
    if len(present) < len(sources):
        return ()
    smallest, *others = sorted(present, key=_known_count)
    found = member_rows.each(txn, smallest)
    for other in others:
        found = _filtered(txn, found, other, _known_count(smallest), keep=True)
    return found


def difference(txn: Txn, sources: Sources) -> Iterable[bytes]:
    """The members of the first source that are in none of the others."""
    first, *others = sources
    if first is None:
        return ()
    found = member_rows.each(txn, first)
    for other in others:
        if other is not None:
            found = _filtered(txn, found, other, _known_count(first), keep=False)
    return found


def _sources(txn: Txn, keys: Sequence[bytes]) -> Sources:
    """The sets of all keys; raises WRONGTYPE even where the result is plain without the key."""
    return [txn.look_up(key, SET) for key in keys]


def _known_count(meta: Meta) -> int:
    """The count; a set that does not count is taken for a large one."""
    known = meta.extra
    return known if type(known) is int else 1 << 32


def _filtered(
    txn: Txn, found: Iterable[bytes], other: Meta, expected: int, *, keep: bool
) -> Iterator[bytes]:
    """Those of `found` that are in the other set, or those that are not."""
    if _known_count(other) >= PROBE_SHARE * expected:
        return _probed(txn, found, other, keep)
    return _merged(found, member_rows.each(txn, other), keep)


def _probed(txn: Txn, found: Iterable[bytes], other: Meta, keep: bool) -> Iterator[bytes]:
    """As `_filtered`, by a look at each member."""
    sub, get = other.sub, txn.get
    for member in txn.looked_up(found, lambda member: [sub + member]):
        if (get(sub + member) is not None) is keep:
            yield member


def _merged(found: Iterable[bytes], others: Iterable[bytes], keep: bool) -> Iterator[bytes]:
    """As `_filtered`, side by side. Requires: both are in byte order."""
    rest = iter(others)
    head = next(rest, None)
    for member in found:
        while head is not None and head < member:
            head = next(rest, None)
        if (head == member) is keep:
            yield member
        if head is None and keep:
            return
