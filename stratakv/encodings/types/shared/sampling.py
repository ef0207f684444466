"""Random members out of ordered rows, for SPOP, SRANDMEMBER, HRANDFIELD and ZRANDMEMBER.

A collection of up to `SMALL` members is read, so that each member is exactly as likely as any
other. In a larger one a member is looked for from the top, as in a tree: which bytes may follow
here, take one of them at random, and so on until few rows are left. That costs some ten to thirty
seeks whatever the size; what follows where is remembered for a while if it is asked often, and then
a few seeks will do. A member found on a thin branch would come too often; the chance of its way is
known, so that it can be thrown back that much more often. The outcome is nearly uniform where
members look alike; at worst, some come two or three times as often as others (without a count,
which throwing back needs, more than that). Where many different members are wanted, one exactly
uniform pass takes them.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.layout.rows import end_of

SMALL: Final = 512
BUCKET: Final = 64
"""So few rows are read and one of them taken."""
THROWS: Final = 16
"""How often a byte is tried before the next one there is will do, and a member thrown back."""
PASS_SHARE: Final = 256
"""From one in this many members on, a pass over all is cheaper than looking for each."""
BATCH: Final = 4096
SPLIT_USES: Final = 8
"""A split that was met so often is looked at as a whole."""
SPLITS_KEPT: Final = 4096


def one(txn: Txn, meta: Meta) -> bytes | None:
    """A random member, or None if there is none."""
    known = meta.extra
    if type(known) is int:
        return _at(txn, meta, random.randrange(known)) if known <= SMALL else _seek(txn, meta)
    found = list(txn.scan_keys(meta.sub, end_of(meta.sub), limit=SMALL + 1))
    if not found:
        return None
    return random.choice(found)[len(meta.sub) :] if len(found) <= SMALL else _seek(txn, meta)


def distinct(txn: Txn, meta: Meta, wanted: int, total: int) -> Iterable[bytes]:
    """`wanted` different members out of `total`.

    Requires: 0 < wanted < total, and total is the number of members.
    """
    txn.expect_work(wanted)
    if total <= SMALL:
        return random.sample(_members(txn, meta), wanted)
    if wanted * PASS_SHARE >= total:
        chosen = _pass(txn, meta, wanted, total)
        return chosen if txn.is_long else list(chosen)
    return _distinct_seeks(txn, meta, wanted, total)


def repeated(txn: Txn, meta: Meta, wanted: int) -> Iterable[bytes]:
    """`wanted` members, each chosen out of all. Requires: there is at least one member."""
    txn.expect_work(wanted)
    sub = meta.sub
    found = [row[len(sub) :] for row in txn.scan_keys(sub, end_of(sub), limit=SMALL + 1)]
    if len(found) <= SMALL:
        chosen = _choices(txn, found, wanted)
    else:
        chosen = _large_choices(txn, meta, wanted)
    return chosen if txn.is_long else list(chosen)


def _large_choices(txn: Txn, meta: Meta, wanted: int) -> Iterator[bytes]:
    """In batches, so that any number can be sent without being kept."""
    total = meta.extra if type(meta.extra) is int else 0
    while wanted > 0:
        size = min(wanted, BATCH)
        wanted -= size
        if 0 < total <= size * PASS_SHARE:
            yield from _choices_of_pass(txn, meta, size, total)
        else:
            yield from (_seek(txn, meta) for _ in range(size))


def _choices_of_pass(txn: Txn, meta: Meta, wanted: int, total: int) -> list[bytes]:
    """Members at random places, repeats included, in random order."""
    places = Counter(random.randrange(total) for _ in range(wanted))
    skip = len(meta.sub)
    chosen: list[bytes] = []
    for place, row in enumerate(txn.scan_keys(meta.sub, end_of(meta.sub))):
        if place in places:
            chosen += [row[skip:]] * places[place]
    random.shuffle(chosen)
    return chosen


def _choices(txn: Txn, members: list[bytes], wanted: int) -> Iterator[bytes]:
    for number in range(wanted):
        yield random.choice(members)
        if not number % 128:
            txn.pause_if_due()


def _members(txn: Txn, meta: Meta) -> list[bytes]:
    skip = len(meta.sub)
    return [row[skip:] for row in txn.scan_keys(meta.sub, end_of(meta.sub))]


def _at(txn: Txn, meta: Meta, position: int) -> bytes | None:
    """The member at a position, read from the nearer end."""
    from_end = meta.extra - 1 - position  # type: ignore[operator]  # counted, see `one`
    reverse = from_end < position
    limit = min(position, from_end) + 1
    row = None
    for row in txn.scan_keys(meta.sub, end_of(meta.sub), reverse=reverse, limit=limit):  # noqa: B007
        pass
    return None if row is None else row[len(meta.sub) :]


def _pass(txn: Txn, meta: Meta, wanted: int, total: int) -> Iterator[bytes]:
    """Exactly uniform: each row is taken with the chance that the rest still needs it."""
    skip = len(meta.sub)
    left = total
    for row in txn.scan_keys(meta.sub, end_of(meta.sub)):
        if random.random() * left < wanted:
            wanted -= 1
            yield row[skip:]
        left -= 1
        if not wanted:
            return


def _distinct_seeks(txn: Txn, meta: Meta, wanted: int, total: int) -> Iterable[bytes]:
    """Seek until there are enough; in a collection too lumpy for that, pass over it after all."""
    chosen: set[bytes] = set()
    for _ in range(4 * wanted + 16):
        chosen.add(_seek(txn, meta))
        if len(chosen) == wanted:
            return list(chosen)
    return list(_pass(txn, meta, wanted, total))


def _seek(txn: Txn, meta: Meta) -> bytes:
    """A random member of a large collection. Requires: it is not empty."""
    total = meta.extra if type(meta.extra) is int else 0
    for _ in range(THROWS):
        row, odds = _descend(txn, meta.sub, total)
        if random.random() * total <= odds:
            break
    return row[len(meta.sub) :]


class _Split:
    """Where the rows below a prefix part, and what follows there.

    A byte that is new there goes unnoticed until the split is looked at again: after some uses, or
    when the collection has grown or shrunk by an eighth.
    """

    __slots__ = ("stems", "total", "uses")

    def __init__(self, total: int) -> None:
        self.total = total
        self.uses = 0
        self.stems: list[bytes] = []
        """The prefix with each byte that follows; first without any, if a row ends there."""

    def is_old(self, total: int) -> bool:
        """Whether it is time to look again."""
        return 8 * abs(total - self.total) > self.total or 8 * self.uses > self.total

    def learn(self, txn: Txn, prefix: bytes) -> None:
        """Look at all bytes that follow."""
        stop = end_of(prefix)
        row, high = _first(txn, prefix, stop), _first(txn, prefix, stop, reverse=True)
        depth = _agreement(row, high, len(prefix)) + 1
        last = high[:depth]
        stems = [row[:depth]]
        while stems[-1] != last:
            after = stems[-1]
            row = _first(txn, end_of(after) if len(after) == depth else after + b"\0", stop)
            stems.append(row[:depth])
        self.stems = stems  # only now: the Txn may pause on the way, or end


def _leap(txn: Txn, prefix: bytes, total: int) -> tuple[bytes, float, bool]:
    """A random prefix further down, as far as that is known, or a row, and the odds against it."""
    splits = txn.recollections.splits
    odds = 1.0
    while total > 8 * BUCKET * odds:
        split = splits.get(prefix)
        if split is None or split.is_old(total):
            if len(splits) >= SPLITS_KEPT:
                splits.clear()
            splits[prefix] = _Split(total)
            break
        if split.uses == SPLIT_USES - 1:
            split.learn(txn, prefix)
            split.uses += 1
            break
        split.uses += 1
        if not split.stems:
            break
        odds *= len(split.stems)
        stem = random.choice(split.stems)
        if len(stem) < len(split.stems[-1]):
            return stem, odds, True
        prefix = stem
    return prefix, odds, False


def _descend(txn: Txn, prefix: bytes, total: int) -> tuple[bytes, float]:
    """A random row below a prefix, and the odds against it: one in so many."""
    start = prefix
    prefix, odds, is_row = _leap(txn, prefix, total)
    if is_row and txn.get(prefix) is not None:
        return prefix, odds
    while True:
        stop = end_of(prefix)
        limit = 1 if total > 8 * BUCKET * odds else BUCKET + 1
        found = list(txn.scan_keys(prefix, stop, limit=limit))
        if not found:  # all rows of a known split are gone
            txn.recollections.splits.clear()
            prefix, odds = start, 1.0
            continue
        if limit > 1 and len(found) <= BUCKET:
            return random.choice(found), odds * len(found)
        low, high = found[0], _first(txn, prefix, stop, reverse=True)
        if low == high:
            return low, odds
        depth = _agreement(low, high, len(prefix))
        row, branches = _branch(txn, low, high, depth)
        odds *= branches
        if len(row) == depth:
            return row, odds
        prefix = row[: depth + 1]


def _branch(txn: Txn, low: bytes, high: bytes, depth: int) -> tuple[bytes, float]:
    """A row with a random next byte, out of the bytes that occur; and about how many do.

    Requires: `low` and `high` are the first and the last row that agree up to `depth`.
    """
    prefix, stop = low[:depth], end_of(low[:depth])
    ends = len(low) == depth
    first = (_first(txn, prefix + b"\0", stop) if ends else low)[depth]
    choices = high[depth] - first + 1 + ends
    row = low
    for throw in range(1, THROWS + 1):
        byte = first + random.randrange(choices)
        if byte > high[depth]:
            return low, max(2.0, choices / throw)
        row = _first(txn, prefix + bytes((byte,)), stop)
        if row[depth] == byte:
            break
    return row, max(2.0, choices / throw)


def _first(txn: Txn, start: bytes, stop: bytes, *, reverse: bool = False) -> bytes:
    """The first row of a range, or the last. Requires: there is one."""
    return next(iter(txn.scan_keys(start, stop, reverse=reverse, limit=1)))


def _agreement(one_row: bytes, other: bytes, start: int) -> int:
    """How many bytes two different rows have in common. Requires: at least `start`."""
    limit = min(len(one_row), len(other))
    for place in range(start, limit):
        if one_row[place] != other[place]:
            return place
    return limit
