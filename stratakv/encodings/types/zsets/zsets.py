"""Sorted sets: each member twice, by name and by score; see zset_orders.py for versions 1 to 3.

    "m#" | ns | h8 | key          -> meta, extra = u32 member count
    "s#" | path | member          -> score8
    "k#" | path | score8 | member -> empty

Invariants
1. A member has exactly one `s#` row and one `k#` row, and they hold the same score8.
2. The count in the meta is the number of `s#` rows, and of `k#` rows; it is never 0.
3. The order of the `k#` rows is the order of the set: by score, then by the member's bytes.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.zset_remote import look_up_zset, open_zset, prefetch
from stratakv.encodings.layout.formats import ZSET_INDEXED, ZSET_REMOTE, ZSET_TIERED
from stratakv.encodings.layout.metas import ZSET, Meta
from stratakv.encodings.layout.rows import LONG_MEMBER, decode_score, encode_score, index_of
from stratakv.encodings.tier import zset_orders
from stratakv.encodings.types.shared import member_rows, sampling
from stratakv.encodings.types.zsets import zset_order, zset_ranks
from stratakv.errors import CommandError, Corrupt

Scored = tuple[bytes, float]
"""A member and its score."""


@dataclass(frozen=True, slots=True)
class AddRule:
    """Which of the scores given to ZADD are taken."""

    only_new: bool = False
    only_existing: bool = False
    only_greater: bool = False
    only_less: bool = False

    def accepts(self, old: float | None, new: float) -> bool:
        """Whether a member whose score is `old` (None: no member yet) may get the score `new`."""
        if old is None:
            return not self.only_existing
        if self.only_new or (self.only_greater and new <= old):
            return False
        return not (self.only_less and new >= old)


ANY = AddRule()


class ZsetEditor:
    """Changes to one sorted set: keeps both rows of a member, and the count, in step.

    Requires: `close` is called at the end; until then the meta is the old one.
    """

    __slots__ = ("_key", "_meta", "_order", "_sub", "_txn", "count")

    def __init__(self, txn: Txn, key: bytes, meta: Meta | None) -> None:
        self._txn = txn
        self._key = key
        self.count = 0 if meta is None else size(meta)
        self._open(meta)

    def _open(self, meta: Meta | None) -> None:
        self._meta = meta
        self._sub = b"" if meta is None else meta.sub
        self._order = b"" if meta is None else meta.order

    def find(self, member: bytes) -> float | None:
        """The member's score, or None."""
        if self._meta is None or self._txn.lacks(self._sub, member):
            return None
        raw = self._txn.get(self._sub + member)
        return None if raw is None else _decode(self._key, raw)

    def place(self, member: bytes, old: float | None, new: float) -> None:
        """Give a member a score. Requires: `old` is what `find` says."""
        if self._meta is None:
            made = self._txn.create(self._key, ZSET, 0)
            if not ZSET_TIERED[made.encoding]:
                self._txn.begin_order(made.sub)
            self._open(made)
        assert self._meta is not None
        raw = encode_score(new)
        if old is None:
            self.count += 1
        elif not ZSET_TIERED[self._meta.encoding]:
            left = encode_score(old) + member
            self._txn.delete(self._order + left)
            self._txn.shifted(self._sub, left, -1)
        self._txn.put(self._sub + member, raw)
        if ZSET_TIERED[self._meta.encoding]:
            _put_tiered(self._txn, self._meta, member, raw, is_new=old is None)
            return
        row = self._order + raw + member
        self._txn.put(row, b"")
        self._txn.shifted(self._sub, raw + member, 1)
        if self._txn.is_long:
            self._txn.update(self._key, self._meta, self._meta.extra)  # see zset_order
        zset_order.widen(self._txn, self._meta, self._meta, row)

    def remove(self, member: bytes, score: float) -> None:
        """Take a member out. Requires: it is there, with that score."""
        self._txn.delete(self._sub + member)
        self.count -= 1
        assert self._meta is not None
        if ZSET_TIERED[self._meta.encoding]:
            _delete_tiered(self._txn, self._meta, member)
        else:
            left = encode_score(score) + member
            self._txn.delete(self._order + left)
            self._txn.shifted(self._sub, left, -1)

    def close(self) -> None:
        """Save the count; a set without members is no key."""
        meta = self._meta
        if meta is None or self.count == meta.extra:
            return
        if self.count:
            changed = meta.with_extra(self.count)
            self._txn.save(self._key, changed)
            zset_order.keep(self._txn, meta, changed)
            if self.count < size(meta):
                is_tiered = ZSET_TIERED[meta.encoding]
                ranges = (meta.sub,) if is_tiered else (meta.sub, meta.order)
                self._txn.keyspace.sparse.note_deleted(ranges, size(meta) - self.count, self.count)
        else:
            self._txn.drop(self._key)


# one member or some


def add_one(txn: Txn, key: bytes, score: float, member: bytes) -> int:
    """Give one member a score; returns how many were added. The short way for the usual ZADD."""
    meta = open_zset(txn, key)
    raw = encode_score(score)
    if meta is None:
        meta, old = txn.create(key, ZSET, 1), None
        if not ZSET_TIERED[meta.encoding]:
            txn.begin_order(meta.sub)
    else:
        old = None if txn.lacks(meta.sub, member) else txn.get(meta.sub + member)
        if old == raw:
            return 0
        before = meta
        if old is None:
            meta = meta.with_extra(size(meta) + 1)
            txn.save(key, meta)
        elif not ZSET_TIERED[meta.encoding]:
            txn.delete(meta.order + old + member)
            txn.shifted(meta.sub, old + member, -1)
            if txn.is_long:
                txn.update(key, meta, meta.extra)  # see zset_order
        zset_order.widen(txn, before, meta, meta.order + raw + member)
    txn.put(meta.sub + member, raw)
    if ZSET_TIERED[meta.encoding]:
        _put_tiered(txn, meta, member, raw, is_new=old is None)
    else:
        place = raw + member
        txn.put(meta.order + place, b"")
        txn.shifted(meta.sub, place, 1)
    if txn.keyspace.notifies:
        txn.event("z", "zadd", key)
    return old is None


def add(
    txn: Txn, key: bytes, pairs: Iterable[tuple[float, bytes]], rule: AddRule = ANY
) -> tuple[int, int]:
    """Give members scores, as far as the rule allows; returns (added, updated)."""
    meta = open_zset(txn, key)
    if meta is not None and ZSET_REMOTE[meta.encoding]:
        pairs = list(pairs)
        prefetch(txn, meta, [member for _, member in pairs])
    editor = ZsetEditor(txn, key, meta)
    added = updated = 0
    for score, member in pairs:
        old = editor.find(member)
        if old == score or not rule.accepts(old, score):
            continue
        editor.place(member, old, score)
        added += old is None
        updated += old is not None
        txn.pause_if_due()
    editor.close()
    if added or updated:
        txn.event("z", "zadd", key)
    return added, updated


def increment(
    txn: Txn, key: bytes, amount: float, member: bytes, rule: AddRule = ANY
) -> float | None:
    """Add to a member's score; returns the new score, or None if the rule forbids it."""
    editor = ZsetEditor(txn, key, open_zset(txn, key))
    old = editor.find(member)
    if old is not None and rule.only_new:
        return None
    score = amount if old is None else old + amount
    if score != score:
        raise CommandError(errors.SCORE_NAN)
    if not rule.accepts(old, score):
        return None
    if old != score:
        editor.place(member, old, score)
        editor.close()
        txn.event("z", "zincr", key)
    return score


def remove(txn: Txn, key: bytes, names: Iterable[bytes]) -> int:
    """Take members out; returns how many were there."""
    meta = open_zset(txn, key)
    if meta is None:
        return 0
    names = list(names)
    prefetch(txn, meta, names)
    editor = ZsetEditor(txn, key, meta)
    before = editor.count
    txn.expect_work(len(names))
    for member in names:
        score = editor.find(member)
        if score is not None:
            editor.remove(member, score)
    editor.close()
    if editor.count != before:
        txn.removal("z", "zrem", key)
    return before - editor.count


def length(txn: Txn, key: bytes) -> int:
    """The number of members."""
    meta = look_up_zset(txn, key)
    return 0 if meta is None else size(meta)


def scores(txn: Txn, key: bytes, names: Iterable[bytes]) -> list[float | None]:
    """The score of each member, None where there is no such member."""
    meta = look_up_zset(txn, key)
    if meta is not None and ZSET_REMOTE[meta.encoding]:
        names = list(names)
        prefetch(txn, meta, names)
    editor = ZsetEditor(txn, key, meta)
    return [editor.find(member) for member in names]


def rank(txn: Txn, key: bytes, member: bytes, *, reverse: bool = False) -> int | None:
    """How many members come before this one, or after it when `reverse`."""
    meta = look_up_zset(txn, key)
    if meta is not None and ZSET_TIERED[meta.encoding]:
        return zset_orders.rank(txn, meta, member, reverse=reverse)
    raw = None if meta is None else txn.get(meta.sub + member)
    if meta is None or raw is None:
        return None
    if zset_ranks.may_have(txn, meta):
        found = zset_ranks.rank(txn, meta, raw + member)
        if found is not None:
            return size(meta) - 1 - found if reverse else found
    row = meta.order + raw + member
    if reverse:
        return count_rows(zset_order.walk(txn, meta, row)) - 1
    return count_rows(zset_order.walk(txn, meta, stop=row))


def pop(txn: Txn, key: bytes, count: int, *, highest: bool) -> list[Scored]:
    """Take out up to `count` members with the lowest or highest scores, the utmost first."""
    meta = open_zset(txn, key)
    if meta is None or count == 0:
        return []
    count = min(count, size(meta))
    txn.expect_work(count)
    found = zset_order.walk(txn, meta, reverse=highest, limit=count)
    popped = list(scored(meta, found))
    remove_run(txn, key, meta, popped)
    txn.removal("z", "zpopmax" if highest else "zpopmin", key)
    return popped


def pop_first(
    txn: Txn, keys: Iterable[bytes], count: int, *, highest: bool
) -> tuple[bytes, list[Scored]] | None:
    """Pop from the first key that is a sorted set; None if there is none."""
    for key in keys:
        if open_zset(txn, key) is not None:
            return key, pop(txn, key, count, highest=highest)
    return None


def random_one(txn: Txn, key: bytes) -> bytes | None:
    """A random member, or None if there is no such key."""
    meta = look_up_zset(txn, key)
    return None if meta is None else _pick(txn, meta, random.randrange(size(meta)))


def _pick(txn: Txn, meta: Meta, rank: int) -> bytes | None:
    """The member of a random rank; without a directory, a random one of about equal chances."""
    if zset_ranks.may_have(txn, meta):
        row = zset_ranks.row_at(txn, meta, rank)
        if row is not None:
            return row[len(meta.sub) + 8 :]
        txn.want_ranks(meta)
    return sampling.one(txn, meta)


def random_members(txn: Txn, key: bytes, count: int) -> tuple[int, Iterable[bytes]]:
    """(length, members): up to `count` different ones, or exactly -count with repetitions."""
    meta = look_up_zset(txn, key)
    if meta is None or count == 0:
        return 0, ()
    total = size(meta)
    if count >= total:
        return total, members_of(meta, zset_order.walk(txn, meta, reverse=True))
    is_ranked = zset_ranks.may_have(txn, meta) and abs(count) * sampling.PASS_SHARE < total
    if is_ranked and txn.ranking(meta) is not None:
        ranks = random.sample(range(total), count) if count > 0 else None
        picked = _picked(txn, meta, ranks or random.choices(range(total), k=-count))
        if picked is not None:
            return abs(count), picked
    elif is_ranked:
        txn.want_ranks(meta)
    if count < 0:
        return -count, sampling.repeated(txn, meta, -count)
    return count, sampling.distinct(txn, meta, count, total)


def _picked(txn: Txn, meta: Meta, ranks: Sequence[int]) -> list[bytes] | None:
    """The members of some ranks; None if there is no directory, or no more."""
    at = len(meta.sub) + 8
    picked: list[bytes] = []
    for rank in ranks:
        row = zset_ranks.row_at(txn, meta, rank)
        if row is None:
            return None
        picked.append(row[at:])
    return picked


def scan_page(txn: Txn, key: bytes, cursor: int, wanted: int) -> tuple[int, list[Scored]]:
    """The next cursor (0 at the end) and about `wanted` members; a whole small set is in order."""
    meta = open_zset(txn, key)
    if meta is None:
        return 0, []
    cursor, found = member_rows.page(txn, meta, cursor, wanted)
    shown = [(member, _decode(key, raw)) for member, raw in found]
    if len(shown) == size(meta):
        shown.sort(key=lambda pair: (pair[1], pair[0]))
    return cursor, shown


# whole sets


def replace(txn: Txn, key: bytes, pairs: Iterable[Scored], event: str | None = None) -> int:
    """Make the key a sorted set of these members, whatever it was; no key if there are none.

    `event` is what that is called, if it is one. Requires: no member comes twice.
    """
    remaining = iter(pairs)
    first = next(remaining, None)
    if first is None:
        txn.erase(key)
        return 0
    editor = ZsetEditor(txn, key, None)
    editor.place(first[0], None, first[1])
    for member, score in remaining:
        editor.place(member, None, score)
    editor.close()
    if event is not None:
        txn.event("z", event, key)
    return editor.count


def rebuild_as(
    txn: Txn, key: bytes, meta: Meta, version: int, pairs: Iterable[tuple[bytes, bytes]]
) -> None:
    """The same members with their score8 in a new incarnation of another encode-version."""
    fresh = txn.create(key, ZSET, size(meta), meta.expire_ms, version)
    for member, raw in pairs:
        txn.put(fresh.sub + member, raw)
        if ZSET_TIERED[version]:
            _put_tiered(txn, fresh, member, raw, is_new=True)
        else:
            txn.put(fresh.order + raw + member, b"")


def remove_run(txn: Txn, key: bytes, meta: Meta, run: Sequence[Scored]) -> None:
    """Take out members whose scores are known. Requires: they are neighbours, in either order."""
    left = size(meta) - len(run)
    if not run:
        return
    if left == 0:
        txn.drop(key)
    elif txn.is_long and left < len(run) and not ZSET_TIERED[meta.encoding]:
        _keep_others(txn, key, meta, run)
    else:
        editor = ZsetEditor(txn, key, meta)
        for member, score in run:
            editor.remove(member, score)
        editor.close()


def _keep_others(txn: Txn, key: bytes, meta: Meta, run: Sequence[Scored]) -> None:
    """Remove a long run the short way: a new incarnation of the few members that stay."""
    ends = [meta.order + encode_score(score) + member for member, score in (run[0], run[-1])]
    before = zset_order.walk(txn, meta, stop=min(ends))
    after = zset_order.walk(txn, meta, max(ends) + b"\0")
    fresh = txn.create(key, ZSET, size(meta) - len(run), meta.expire_ms, meta.encoding)
    at = len(meta.sub)
    for row in chain(before, after):
        raw, member = row[at : at + 8], row[at + 8 :]
        txn.put(fresh.sub + member, raw)
        txn.put(fresh.order + raw + member, b"")


# rows


def _put_tiered(txn: Txn, meta: Meta, member: bytes, raw: bytes, *, is_new: bool) -> None:
    """Besides the `s#` row of v1 to v3: the row of a long member, and a word to the tier."""
    if is_new and ZSET_INDEXED[meta.encoding] and len(member) >= LONG_MEMBER:
        txn.put(meta.index + index_of(member), member)
    if not ZSET_REMOTE[meta.encoding]:
        txn.note(meta, member, raw)


def _delete_tiered(txn: Txn, meta: Meta, member: bytes) -> None:
    if ZSET_REMOTE[meta.encoding]:
        return  # the row of a long member goes when Redis has confirmed
    if ZSET_INDEXED[meta.encoding] and len(member) >= LONG_MEMBER:
        txn.delete(meta.index + index_of(member))
    txn.note(meta, member, None)


def size(meta: Meta) -> int:
    """The number of members, as the meta counts them."""
    return meta.extra  # type: ignore[return-value]  # an int for every counted type


def scored(meta: Meta, found: Iterable[bytes]) -> Iterator[Scored]:
    """The members and scores of `k#` rows."""
    at = len(meta.sub)
    for row in found:
        yield row[at + 8 :], decode_score(row[at : at + 8])


def members_of(meta: Meta, found: Iterable[bytes]) -> Iterator[bytes]:
    """The members of `k#` rows."""
    at = len(meta.sub) + 8
    for row in found:
        yield row[at:]


def count_rows(found: Iterable[bytes]) -> int:
    """How many rows a scan gives."""
    return len(found) if isinstance(found, list) else sum(1 for _ in found)


def _decode(key: bytes, raw: bytes) -> float:
    if len(raw) != 8:
        raise Corrupt(key, "a score is not 8 bytes long")
    return decode_score(raw)
