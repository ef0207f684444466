"""A directory of ranks: how many members of a sorted set stand before certain places.

    place   = score8 | member: a `k#` row without its path
    bucket  = the places from its start up to the start of the next one, and how many they are
    chunk   = some hundred buckets, and their sum

To find a rank is to add up the sums of chunks and the counts of buckets before a place; what is
left is to count rows within one bucket. The starts need not be places that exist: one that was
taken away still parts the others, and a long one is cut to as few bytes as part it from the one
before.

Invariants
1. The starts rise, and no place stands before the first.
2. The count of a bucket is the number of places in it, the sum of a chunk that of its buckets.
3. No bucket is empty.

The rows of buckets that are read again and again are kept, until one of them changes.

A bucket that has grown is divided by whoever reads its rows next: only rows tell where its middle
is. At both ends new buckets are begun without that, since queues and time series grow there.
"""

from bisect import bisect_right
from itertools import islice
from typing import Final, NamedTuple

CHUNK: Final = 256
"""Buckets in a chunk; twice as many are two chunks."""
BUCKET_BYTES: Final = 72
"""What a bucket takes besides the bytes of its start (measured)."""
KEPT_ROW_BYTES: Final = 48
"""What a row that is kept takes besides its own bytes."""
KEPT_BYTES: Final = 64 << 10
"""A directory keeps as many bytes of rows as it takes itself, and these."""
ASKED: Final = 4096
"""So many buckets are remembered as read lately."""
SHORT: Final = 48
"""Starts are not cut below this length."""


class Bucket(NamedTuple):
    """A part of the order."""

    before: int
    """Places before it."""
    start: bytes
    stop: bytes | None
    """The start of the next one; None for the last."""
    size: int
    """How many it holds."""


class Directory:
    """The buckets of one sorted set."""

    __slots__ = (
        "_asked",
        "_counts",
        "_heads",
        "_high",
        "_kept",
        "_kept_bytes",
        "_starts",
        "_sums",
        "bytes",
        "hot",
        "is_broken",
        "journal",
        "stamp",
        "total",
        "width",
    )

    def __init__(self, width: int) -> None:
        self.width = width
        """Places in a bucket when it is new; past twice as many it is worth dividing."""
        self.total = 0
        self.bytes = 0
        """About what it takes in memory."""
        self.stamp = 0
        """The number of the last change; see ranks.py."""
        self.hot = True
        """Used since it was last looked at."""
        self.is_broken = False
        """It was told of what cannot be: a bug, and nothing that it says counts."""
        self.journal: list[tuple[bytes, int]] | None = None
        """Changes to be caught up with before it is right; None if it is."""
        self._heads: list[bytes] = []
        """The start of each chunk."""
        self._sums: list[int] = []
        self._starts: list[list[bytes]] = []
        self._counts: list[list[int]] = []
        self._high = b""
        """No place stands behind this one."""
        self._kept: dict[bytes, list[bytes]] = {}
        """By the starts of buckets: their rows."""
        self._kept_bytes = 0
        self._asked: set[bytes] = set()

    # making

    def feed(self, rows: list[bytes], skip: int) -> None:
        """The next rows of the order, behind those before; places begin after `skip` bytes."""
        size = len(rows)
        for at in range(0, size, self.width):
            place = rows[at][skip:]
            before = rows[at - 1][skip:] if at else self._high
            self._append(parting(before, place), min(self.width, size - at))
        if size:
            self._high = rows[size - 1][skip:]

    def _append(self, start: bytes, count: int) -> None:
        """A bucket behind all others."""
        if not self._heads or len(self._starts[-1]) >= CHUNK:
            self._heads.append(start)
            self._sums.append(0)
            self._starts.append([])
            self._counts.append([])
        self._starts[-1].append(start)
        self._counts[-1].append(count)
        self._sums[-1] += count
        self.total += count
        self.bytes += BUCKET_BYTES + len(start)

    # changes

    def amend(self, place: bytes, change: int) -> None:
        """A place was taken (1), or is free again (-1)."""
        if change > 0:
            if place > self._high:
                self._rise(place)
                return
            if place < self._heads[0]:
                self._fall(place)
                return
        elif not self._heads:
            self.is_broken = True
            return
        at = max(0, bisect_right(self._heads, place) - 1)
        bucket = max(0, bisect_right(self._starts[at], place) - 1)
        if self._kept:
            self._let_go(self._starts[at][bucket])
        counts = self._counts[at]
        count = counts[bucket] + change
        counts[bucket] = count
        self._sums[at] += change
        self.total += change
        if change < 0 and 4 * count <= self.width:
            self._thin_out(at, bucket, count)

    def _rise(self, place: bytes) -> None:
        """A place behind all others."""
        if not self._heads or self._counts[-1][-1] >= self.width:
            self._append(parting(self._high, place), 1)
        else:
            self._let_go(self._starts[-1][-1])
            self._counts[-1][-1] += 1
            self._sums[-1] += 1
            self.total += 1
        self._high = place

    def _fall(self, place: bytes) -> None:
        """A place before all others."""
        start = place[:SHORT]
        starts, counts = self._starts[0], self._counts[0]
        self.total += 1
        self._sums[0] += 1
        self.bytes += len(start)
        if counts[0] >= self.width:
            starts.insert(0, start)
            counts.insert(0, 1)
            self.bytes += BUCKET_BYTES
        else:
            self.bytes -= len(starts[0])
            self._let_go(starts[0])
            starts[0] = start
            counts[0] += 1
        self._heads[0] = start
        self._halve(0)

    def _thin_out(self, at: int, bucket: int, count: int) -> None:
        """A bucket has few places left: do without it, or join it with a neighbour."""
        starts, counts = self._starts[at], self._counts[at]
        if count <= 0:
            self.is_broken = self.is_broken or count < 0
            self._forget(at, bucket)
        elif bucket and counts[bucket - 1] + count <= self.width:
            self._let_go(starts[bucket - 1])
            counts[bucket - 1] += count
            self._forget(at, bucket)
        elif bucket + 1 < len(starts) and counts[bucket + 1] + count <= self.width:
            counts[bucket] += counts[bucket + 1]
            self._forget(at, bucket + 1)

    def _forget(self, at: int, bucket: int) -> None:
        """Take a start away. Requires: the places behind it are counted elsewhere, or none."""
        starts, counts = self._starts[at], self._counts[at]
        self._let_go(starts[bucket])
        self.bytes -= BUCKET_BYTES + len(starts[bucket])
        del starts[bucket], counts[bucket]
        if not starts:
            del self._starts[at], self._counts[at], self._heads[at], self._sums[at]
            if not self._heads:
                self._high = b""
        elif not bucket:
            self._heads[at] = starts[0]

    def divide(self, start: bytes, places: list[bytes]) -> bytes:
        """Make several buckets of one; returns where the last of them begins.

        Requires: these are its first places as they are now, twice the width of them or more.
        """
        at = max(0, bisect_right(self._heads, start) - 1)
        bucket = max(0, bisect_right(self._starts[at], start) - 1)
        starts, counts = self._starts[at], self._counts[at]
        self._let_go(start)
        width, count = self.width, counts[bucket]
        if count < len(places) or starts[bucket] != start:
            self.is_broken = True
            return start
        cuts = range(width, len(places) - width + 1, width)
        added = [parting(places[cut - 1], places[cut]) for cut in cuts]
        starts[bucket + 1 : bucket + 1] = added
        counts[bucket : bucket + 1] = [width] * len(added) + [count - width * len(added)]
        self.bytes += BUCKET_BYTES * len(added) + sum(map(len, added))
        self._halve(at)
        return added[-1] if added else start

    def _halve(self, at: int) -> None:
        """Make two of a chunk that has become too large."""
        while len(self._starts[at]) > 2 * CHUNK:
            starts, counts = self._starts[at], self._counts[at]
            middle = len(starts) - CHUNK
            self._starts[at : at + 1] = [starts[:middle], starts[middle:]]
            self._counts[at : at + 1] = [counts[:middle], counts[middle:]]
            behind = sum(counts[middle:])
            self._sums[at : at + 1] = [self._sums[at] - behind, behind]
            self._heads.insert(at + 1, starts[middle])

    # questions

    def find(self, place: bytes) -> Bucket:
        """The bucket in which a place is, or would be; the first one for those before it.

        Requires: there is a bucket.
        """
        at = max(0, bisect_right(self._heads, place) - 1)
        starts = self._starts[at]
        bucket = max(0, bisect_right(starts, place) - 1)
        sums, counts = self._sums, self._counts[at]
        if 2 * at <= len(sums):
            before = sum(sums[:at])
        else:
            before = self.total - sum(sums[at:])
        if 2 * bucket <= len(counts):
            before += sum(counts[:bucket])
        else:
            before += sums[at] - sum(counts[bucket:])
        return self._bucket(at, bucket, before)

    def at(self, rank: int) -> Bucket:
        """The bucket that holds the place of a rank. Requires: 0 <= rank < total."""
        before = at = 0
        sums = self._sums
        while before + sums[at] <= rank:
            before += sums[at]
            at += 1
        counts = self._counts[at]
        bucket = 0
        while before + counts[bucket] <= rank:
            before += counts[bucket]
            bucket += 1
        return self._bucket(at, bucket, before)

    def run(self, rank: int, wanted: int) -> list[Bucket]:
        """The buckets that hold some ranks, as far as there are. Requires: the first is there."""
        bucket = self.at(rank)
        found = [bucket]
        while bucket.stop is not None and bucket.before + bucket.size < rank + wanted:
            bucket = self.at(bucket.before + bucket.size)
            found.append(bucket)
        return found

    def _bucket(self, at: int, bucket: int, before: int) -> Bucket:
        starts = self._starts[at]
        stop: bytes | None = None
        if bucket + 1 < len(starts):
            stop = starts[bucket + 1]
        elif at + 1 < len(self._heads):
            stop = self._heads[at + 1]
        return Bucket(before, starts[bucket], stop, self._counts[at][bucket])

    # rows at hand

    def kept(self, start: bytes) -> list[bytes] | None:
        """All rows of a bucket, if they are at hand."""
        return self._kept.get(start)

    def is_asked_again(self, start: bytes) -> bool:
        """Whether a bucket was read lately: then its rows are worth keeping."""
        if start in self._asked:
            return True
        if len(self._asked) >= ASKED:
            self._asked.clear()
        self._asked.add(start)
        return False

    def keep(self, start: bytes, rows: list[bytes]) -> None:
        """Keep the rows of a bucket at hand. Requires: these are all of them, as they are now."""
        if self._kept_bytes * 2 > self.bytes + KEPT_BYTES:
            self.bytes -= self._kept_bytes
            self._kept_bytes = 0
            self._kept.clear()
        self._let_go(start)
        size = _size(rows)
        self._kept[start] = rows
        self._kept_bytes += size
        self.bytes += size

    def _let_go(self, start: bytes) -> None:
        """The rows of a bucket change: those that are kept count no more."""
        rows = self._kept.pop(start, None)
        if rows is not None:
            size = _size(rows)
            self._kept_bytes -= size
            self.bytes -= size

    def larger_than(self, count: int) -> list[bytes]:
        """The starts of the buckets that hold more places than this."""
        return [
            start
            for starts, counts in zip(self._starts, self._counts, strict=True)
            if max(counts) > count
            for start, held in zip(starts, counts, strict=True)
            if held > count
        ]

    def dismantle(self) -> list[list[bytes]]:
        """What it is made of, to be freed little by little. Nobody may use it any more."""
        parts, self._starts = self._starts, []
        return parts

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        starts = [start for chunk in self._starts for start in chunk]
        assert all(a < b for a, b in zip(starts, islice(starts, 1, None), strict=False)), (
            "ranks 1: the starts do not rise"
        )
        assert self._heads == [chunk[0] for chunk in self._starts], "ranks 1: a head is no start"
        assert self._sums == [sum(chunk) for chunk in self._counts], "ranks 2: a sum is wrong"
        assert self.total == sum(self._sums), "ranks 2: the total is wrong"
        assert all(count > 0 for chunk in self._counts for count in chunk), "ranks 3: empty"
        size = sum([BUCKET_BYTES + len(start) for start in starts])
        size += sum([_size(rows) for rows in self._kept.values()])
        assert self._kept.keys() <= set(starts), "ranks: rows of no bucket are kept"
        assert size == self.bytes, f"ranks: it counts {self.bytes} bytes, and has {size}"
        assert not self.is_broken, "ranks: it was told of what cannot be"


def _size(rows: list[bytes]) -> int:
    return sum(map(len, rows)) + KEPT_ROW_BYTES * len(rows)


def parting(before: bytes, place: bytes) -> bytes:
    """As little of a place as stands behind the one before. Requires: the place itself does."""
    size = SHORT
    while size < len(place) and place[:size] <= before:
        size *= 2
    return place[:size]
