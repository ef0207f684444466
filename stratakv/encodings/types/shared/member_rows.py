"""What hashes and sets have in common: one `s#` row per member, counted or blind.

    "s#" | path | member -> value            a set's values are empty

Encode-versions that are `counted` (see formats.py) keep the number of members in the meta, at the
price of a read before each write. The others write blindly: they keep no count, so a write reads
nothing and counting is a scan.

Invariants
1. A collection without members does not exist: whoever takes the last one drops the key.
2. The count of a counted collection is the number of its rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from stratakv.encodings.keyspace.database import KNOWN_BYTES
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout.formats import FORMATS
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import end_of, key_of_sub_row
from stratakv.encodings.types.shared import sampling
from stratakv.storage.row_cache import UNKNOWN

PAUSE_EVERY: Final = 128
SAMPLE_ROWS_KEPT: Final = 10_000
WHOLE_COUNT: Final = 128
WHOLE_VALUE_BYTES: Final = 64
"""Redis keeps a collection up to these sizes in one piece, and scans it in one step."""
KNOWN_MEMBERS: Final = 64
"""Collections of so many members, and of KNOWN_BYTES, are known as a whole: those that were made
by this process, and those that were read as a whole."""
MEMBER_COST: Final = 150
"""What a member takes besides its bytes: two objects and a place in a dictionary."""


def begin(txn: Txn, key: bytes, type_: int, count: int) -> Meta:
    """A new incarnation that is about to get `count` members; blind ones do not say how many."""
    encoding = txn.encoding(type_, key)
    extra = count if FORMATS[type_][encoding].counted else None
    return txn.create(key, type_, extra, encoding=encoding)


def fill(txn: Txn, key: bytes, meta: Meta, members: Mapping[bytes, bytes]) -> None:
    """Give a new incarnation its members. Requires: it was begun for just so many.

    No row of it is there, so none is looked for; and if it is small, it is known as a whole.
    """
    sub = meta.sub
    for number, (member, value) in enumerate(members.items()):
        txn.put(sub + member, value)
        if not number % PAUSE_EVERY:
            txn.pause_if_due()
    if txn.is_long or meta.extra is None:
        return
    if meta.format.plain and len(members) <= KNOWN_MEMBERS:
        _know(txn, key, meta, dict(members))
    if meta.members is None:
        pending = txn.store.pending
        for member in members:
            if sub + member not in pending:  # it may be of an incarnation that was just deleted
                txn.store.row_cache.keep(sub + member, None)


def grow(
    txn: Txn, key: bytes, meta: Meta, new: Mapping[bytes, bytes], all_put: Mapping[bytes, bytes]
) -> None:
    """Count new members. Requires: the collection counts, and had none of them.

    `all_put` are the members whose rows were put, the new ones among them.
    """
    known: int = meta.extra  # type: ignore[assignment]  # an int by the layout
    txn.update(key, meta, known + len(new))
    if meta.members is not None and known + len(new) <= KNOWN_MEMBERS:
        _know(txn, key, txn.metas[key], {**meta.members, **all_put})


def overwrite(txn: Txn, key: bytes, meta: Meta, put: dict[bytes, bytes]) -> None:
    """Rows of members that were there already were put: their values are known with them."""
    if meta.members is not None or txn.is_long:
        txn.overwrote(key, put)


def _know(txn: Txn, key: bytes, meta: Meta, members: dict[bytes, bytes]) -> None:
    """These are all members; remember that if they are small.

    Not if values wait to be renewed: they may be those of the incarnation before.
    """
    if key in txn.overwritten:
        return
    size = 0
    for member, value in members.items():
        size += len(member) + len(value) + MEMBER_COST
    if size <= KNOWN_BYTES:
        meta.members, meta.members_bytes, meta.in_order = members, size, False


def find(txn: Txn, meta: Meta, member: bytes) -> bytes | None:
    """The value of a member, or None if it is not there."""
    members = meta.members
    if members is None:
        return txn.get(meta.sub + member)
    if txn.rows:
        own = txn.rows.get(meta.sub + member, UNKNOWN)
        if own is not UNKNOWN:
            return own
    return members.get(member)


def count(txn: Txn, meta: Meta) -> int:
    """The number of members: what the meta says, or a scan."""
    known = meta.extra
    if known is not None:
        return known  # type: ignore[return-value]  # an int by the layout of hashes and sets
    return sum(1 for _ in txn.scan_keys(meta.sub, end_of(meta.sub)))


def measure(txn: Txn, meta: Meta) -> int:
    """The number of members, with a word ahead to the Txn that all of them will be read."""
    length = count(txn, meta)
    txn.expect_work(length)
    return length


def each(txn: Txn, meta: Meta, limit: int = UNLIMITED) -> Iterable[bytes]:
    """The members in byte order."""
    sub = meta.sub
    skip = len(sub)
    if meta.members is not None and limit >= len(meta.members) and not txn.is_long:
        txn.spend(len(meta.members))
        return list(_in_order(meta, meta.members))
    found = txn.scan_keys(sub, end_of(sub), limit=limit)
    if txn.is_long:
        return _cut(found, skip)
    return [row[skip:] for row in found]


def each_pair(txn: Txn, meta: Meta) -> Iterable[tuple[bytes, bytes]]:
    """The members with their values, in byte order."""
    sub = meta.sub
    skip = len(sub)
    if meta.members is not None and not txn.is_long:
        txn.spend(len(meta.members))
        return _known_pairs(txn, meta, _in_order(meta, meta.members))
    found = txn.scan(sub, end_of(sub))
    if txn.is_long:
        return _cut_pairs(found, skip)
    pairs = [(row[skip:], value) for row, value in found]
    if len(pairs) <= KNOWN_MEMBERS and not txn.rows:
        _learn(txn, meta, pairs)
    return pairs


def _known_pairs(txn: Txn, meta: Meta, members: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The members with their values, and with those that the Txn has given them: no scan.

    A scan takes 15 us, and before it what was written lately goes to the engine.
    """
    if not txn.rows:
        return list(members.items())
    sub, own = meta.sub, txn.rows
    pairs: list[tuple[bytes, bytes]] = []
    for member, value in members.items():
        fresh = own.get(sub + member)
        pairs.append((member, value if fresh is None else fresh))
    return pairs


def _in_order(meta: Meta, members: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The members, put into the order of their names when they are first asked for."""
    if not meta.in_order:
        found = sorted(members.items())
        members.clear()
        members.update(found)
        meta.in_order = True
    return members


def _learn(txn: Txn, meta: Meta, pairs: list[tuple[bytes, bytes]]) -> None:
    """Remember the members of a small collection that was read as a whole.

    Requires: the Txn has no writes of its own, which might never be committed.
    """
    if not meta.charge or meta.extra != len(pairs) or not meta.format.plain:
        return
    _know(txn, key_of_sub_row(meta.sub, len(txn.db.ns)), meta, dict(pairs))
    if meta.members is not None:
        meta.in_order = True
        txn.db.charge(meta)


def _cut(found: Iterable[bytes], skip: int) -> Iterator[bytes]:
    for row in found:
        yield row[skip:]


def _cut_pairs(found: Iterable[tuple[bytes, bytes]], skip: int) -> Iterator[tuple[bytes, bytes]]:
    for row, value in found:
        yield row[skip:], value


def remove(txn: Txn, key: bytes, meta: Meta | None, members: Sequence[bytes]) -> int:
    """Delete members; says how many there were, or how many were named if that is not counted."""
    if meta is None:
        return 0
    if meta.extra is None:
        return _remove_blindly(txn, key, meta, members)
    sub, is_tiered = meta.sub, meta.format.tiered
    gone = 0
    for member in members:
        row = sub + member
        if find(txn, meta, member) is not None:
            txn.delete(row)
            gone += 1
            if is_tiered:
                txn.note(meta, member)
    if gone:
        shrink(txn, key, meta, gone)
    return gone


def _remove_blindly(txn: Txn, key: bytes, meta: Meta, members: Sequence[bytes]) -> int:
    txn.expect_work(len(members))
    is_tiered = meta.format.tiered
    for number, member in enumerate(members):
        txn.delete(meta.sub + member)
        if is_tiered:
            txn.note(meta, member)
        if not number % PAUSE_EVERY:
            txn.pause_if_due()
    shrink(txn, key, meta, 0)
    return len(members)


def shrink(txn: Txn, key: bytes, meta: Meta, gone: int) -> None:
    """Members were deleted: keep the count, and drop a collection that has become empty.

    Requires: the rows are deleted already; `gone` is their number if the collection is counted.
    """
    known = meta.extra
    if known is None:
        left = _has_members(txn, meta.sub)
    else:
        left = gone < known  # type: ignore[operator]  # an int by the layout
    if not left:
        txn.drop(key)
    elif known is not None:
        txn.update(key, meta, known - gone)  # type: ignore[operator]
        txn.keyspace.sparse.note_deleted((meta.sub,), gone, known - gone)  # type: ignore[operator]


def _has_members(txn: Txn, sub: bytes) -> bool:
    """Whether a collection has rows, own writes included.

    LevelDB steps over every deleted row on its way to one that is left, so looking from the same
    end each time would make emptying a collection in order quadratic. One row is remembered
    instead; when it is gone, the next one is looked for from the other end.
    """
    sample_rows = txn.recollections.sample_rows
    sample_row, reverse = sample_rows.get(sub, (None, True))
    if sample_row is not None and txn.get(sample_row) is not None:
        return True
    sample_rows.pop(sub, None)
    for row in txn.scan_keys(sub, end_of(sub), reverse=not reverse, limit=1):
        if len(sample_rows) >= SAMPLE_ROWS_KEPT:
            sample_rows.clear()
        sample_rows[sub] = (row, not reverse)
        return True
    return False


def random_members(txn: Txn, meta: Meta, wanted: int) -> tuple[int, Iterable[bytes]]:
    """`wanted` different members (all, if there are no more); with repeats if negative."""
    if wanted < 0:
        return -wanted, sampling.repeated(txn, meta, -wanted)
    total = count(txn, meta) if wanted else 0
    if wanted >= total:
        txn.expect_work(total)
        return total, each(txn, meta, limit=total)
    return wanted, sampling.distinct(txn, meta, wanted, total)


def renew(txn: Txn, key: bytes) -> None:
    """Write a small collection anew, away from the rows that were deleted around it."""
    meta = txn.find(key)
    if meta is not None:
        left = list(txn.scan(meta.sub, end_of(meta.sub)))
        fresh = txn.create(key, meta.type, meta.extra, meta.expire_ms, meta.encoding)
        for row, value in left:
            txn.put(fresh.sub + row[len(meta.sub) :], value)


def page(
    txn: Txn, meta: Meta, cursor: int, wanted: int
) -> tuple[int, Sequence[tuple[bytes, bytes]]]:
    """The next cursor (0 at the end) and about `wanted` members with their values."""
    sub = meta.sub
    cursors = txn.keyspace.cursors
    last = cursors.start_after(cursor, sub) if cursor else None
    start = sub if last is None else sub + last + b"\0"
    found = list(txn.scan(start, end_of(sub), limit=wanted + 1))
    more = len(found) > wanted
    if more and _comes_whole(meta, found):
        found += txn.scan(found[-1][0] + b"\0", end_of(sub))
        more = False
    skip = len(sub)
    shown = [(row[skip:], value) for row, value in (found[:wanted] if more else found)]
    return cursors.remember(sub, shown[-1][0]) if more else 0, shown


def _comes_whole(meta: Meta, seen: Sequence[tuple[bytes, bytes]]) -> bool:
    known = meta.extra
    return (
        type(known) is int
        and known <= WHOLE_COUNT
        and max(len(value) for _, value in seen) <= WHOLE_VALUE_BYTES
    )
