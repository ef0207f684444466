"""Ranks without a walk: what is known of the order of sorted sets, in step with every write.

Small sets are known as a whole (small_orders.py), large ones by a directory.

A directory is a memory of what the last command left: committed, in flight and pending rows alike.
A Txn notes the places that it takes and leaves (`Txn.shifts`), and `apply` hands them over with its
rows. So between two commands a directory that is ready is right for whoever reads as a Txn does.

A LongTxn reads a snapshot. Changes are numbered here, each directory knows its last one, and
`committed` is the last of those that are in the engine for sure. A directory whose last change was
committed before a snapshot was taken, and that has not changed since, is right for the snapshot.

Invariants, between two turns
1. The total of a directory that is ready is the count in the meta of its set, if that is live.
2. Each of its buckets holds as many places as there are rows in the store.
3. `bytes` is the sum of what the directories take.

Nothing is stored: a directory is made by reading the order once, in slices, when a command would
walk far. Dropping one is harmless at any time. Versions 1 to 3 have their order in Redis.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from operator import itemgetter
from typing import Final

from stratakv.encodings.keyspace.rank_directory import BUCKET_BYTES, Directory
from stratakv.encodings.keyspace.small_orders import SmallOrders
from stratakv.encodings.layout.metas import order_of
from stratakv.encodings.layout.rows import end_of
from stratakv.errors import StoreUnavailable
from stratakv.storage.store import Done, Store, merge

LIMIT_BYTES: Final = 32 << 20
LEAST_MEMBERS: Final = 1200
"""Smaller sets are known as a whole, or walked: that takes a millisecond at the most."""
NEAR: Final = 256
"""So few rows are walked over although there might be a directory."""
WIDTH: Final = 32
"""Places in a new bucket: a read finds its block, and then passes over half as many rows."""
WIDEST: Final = 256
"""Places in the new buckets of a set whose directory would take too many bytes otherwise."""
LARGEST: Final = 512
"""A larger bucket is not read within a turn: it is divided in slices first."""
SHARE: Final = 2
"""A single directory may take one in so many of the bytes."""
START_BYTES: Final = 40
"""What starts are expected to take when the width is chosen."""
AT_ONCE: Final = 1000
"""More changes at a time are journaled, and caught up with in slices."""
FED_ROWS: Final = 1024

Shift = tuple[bytes, bytes, int]
"""(the set's `sub`, place, 1 if it was taken and -1 if it was left); 0 if the set is new"""
Pause = Callable[[], None]


class Ranks:
    """The directories of a keyspace."""

    __slots__ = (
        "_submitted",
        "built",
        "bytes",
        "changes",
        "committed",
        "directories",
        "dropped",
        "least",
        "limit_bytes",
        "near",
        "on_leftovers",
        "on_wanted",
        "small",
    )

    def __init__(self) -> None:
        self.directories: dict[bytes, Directory] = {}
        """By the `sub` of a set's meta, those in the making included."""
        self.limit_bytes = LIMIT_BYTES
        self.least = LEAST_MEMBERS
        self.near = NEAR
        self.bytes = 0
        self.built = 0
        self.dropped = 0
        self.changes = 0
        self.committed = 0
        self._submitted = 0
        self.on_wanted: Callable[[bytes, int], None] | None = None
        """Called with `sub` and the count of a set whose directory is to be made, or mended. None
        if there is nobody to do so: then sets are walked."""
        self.on_leftovers: Callable[[list[bytes]], None] = _drop
        self.small = SmallOrders(LEAST_MEMBERS)

    def __bool__(self) -> bool:
        return bool(self.directories or self.small.orders)

    def choose_least(self, members: int) -> None:
        """From how many members on a set has a directory; tests have few."""
        self.least = members
        self.near = min(NEAR, members // 4)
        self.small.most = members

    def choose_limit(self, size: int) -> None:
        """How many bytes the directories may take, and small orders half as many; 0 for none."""
        self.limit_bytes = size
        self.small.choose_limit(size // 2)
        self._trim()

    # who reads

    def find(self, sub: bytes) -> Directory | None:
        """The directory of a set, if it is ready."""
        directory = self.directories.get(sub)
        if directory is None or directory.journal is not None or not directory.total:
            return None
        directory.hot = True
        return directory

    def may_have(self, count: int) -> bool:
        """Whether a set of so many members is worth a directory, and there is room for one."""
        return count >= self.least and self._width(count) <= WIDEST

    def _width(self, count: int) -> int:
        width = WIDTH
        room = self.limit_bytes // SHARE // (BUCKET_BYTES + START_BYTES)
        while width <= WIDEST and count > room * width:
            width *= 2
        return width

    def divide(self, sub: bytes, directory: Directory, start: bytes, places: list[bytes]) -> bytes:
        """Somebody has read a bucket that has grown; returns where the last part of it begins.

        Requires: these are its first places as they are now.
        """
        before = directory.bytes
        rest = directory.divide(start, places)
        self.bytes += directory.bytes - before
        if directory.is_broken:
            self.drop(sub)
        elif self.bytes > self.limit_bytes:
            self._trim()
        return rest

    def keep(self, sub: bytes, directory: Directory, start: bytes, rows: list[bytes]) -> None:
        """Somebody has read a bucket again. Requires: these are all its rows as they are now."""
        if self.directories.get(sub) is not directory:
            return  # there was no room for the one before
        before = directory.bytes
        directory.keep(start, rows)
        self.bytes += directory.bytes - before
        if self.bytes > self.limit_bytes:
            self._trim()

    # who writes

    def apply(self, shifts: list[Shift]) -> None:
        """What was written is what everybody sees from now on."""
        small = self.small
        for sub, place, change in shifts:
            if change:
                small.amend(sub, place, change)
            else:
                small.begin(sub)
        if self.directories:
            self._amend(shifts)

    def _amend(self, shifts: list[Shift]) -> None:
        """The directories follow."""
        self.changes += 1
        if len(shifts) > AT_ONCE and self.on_wanted is not None:
            self._journal(shifts)
        for sub, place, change in shifts:
            directory = self.directories.get(sub)
            if directory is None or not change:
                continue
            directory.stamp = self.changes
            if directory.journal is not None:
                directory.journal.append((place, change))
                continue
            before = directory.bytes
            directory.amend(place, change)
            self.bytes += directory.bytes - before
            if directory.is_broken or not directory.total:
                self.drop(sub)
        if self.bytes > self.limit_bytes:
            self._trim()

    def _journal(self, shifts: list[Shift]) -> None:
        """Too much to be amended at once: somebody does that in slices."""
        for sub in {shift[0] for shift in shifts}:
            directory = self.directories.get(sub)
            if directory is not None and directory.journal is None:
                directory.journal = []
                assert self.on_wanted is not None
                self.on_wanted(sub, directory.total)

    @property
    def uncommitted(self) -> bool:
        """Whether there were changes since the last commit."""
        return self._submitted != self.changes

    def after(self, done: Done) -> Done:
        """A commit follows that takes all changes along: know when it is through."""
        number = self._submitted = self.changes

        def ended(error: StoreUnavailable | None) -> None:
            self.committed = max(self.committed, number)
            done(error)

        return ended

    def drop(self, sub: bytes) -> None:
        """Forget what is known of a set."""
        self.small.drop(sub)
        directory = self.directories.pop(sub, None)
        if directory is not None:
            self.bytes -= directory.bytes
            self.dropped += 1
            for part in directory.dismantle():
                self.on_leftovers(part)

    def forget(self) -> None:
        """Know nothing."""
        self.small.forget()
        for sub in [*self.directories]:
            self.drop(sub)

    def _trim(self) -> None:
        """Drop what was not used since the last time, until the rest has room."""
        for sub, directory in [*self.directories.items()] * 2:
            if self.bytes <= self.limit_bytes:
                return
            if self.directories.get(sub) is not directory:
                continue
            if directory.hot:
                directory.hot = False
                self.directories[sub] = self.directories.pop(sub)
            else:
                self.drop(sub)

    # who makes them

    def make(self, sub: bytes, count: int, store: Store, pause: Pause) -> bool:
        """Make a directory, or put right the one that there is; says whether it is ready.

        Calls `pause` often, and gives up if it was dropped meanwhile. Raises what the store does.
        """
        directory = self.directories.get(sub)
        try:
            if directory is None:
                if not self.may_have(count):
                    return False
                directory = self.directories[sub] = Directory(self._width(count))
                self._read(sub, directory, store, pause)
            while self.directories.get(sub) is directory:
                self._catch_up(sub, directory, pause)
                self._refine(sub, directory, store, pause)
                if directory.journal is None:
                    break
        except BaseException:
            if directory is not None and self.directories.get(sub) is directory:
                self.drop(sub)
            raise
        return self.directories.get(sub) is directory

    def _read(self, sub: bytes, directory: Directory, store: Store, pause: Pause) -> None:
        """Read the order as it is now; what changes meanwhile is journaled."""
        directory.journal = []
        self.changes += 1
        directory.stamp = self.changes
        order = order_of(sub)
        stop = end_of(order)
        unwritten = dict(store.unwritten(order, stop))
        snapshot = store.snapshot()
        try:
            if unwritten:
                merged = merge(snapshot.scan(order, stop), unwritten)
                found: Iterable[bytes] = map(itemgetter(0), merged)
            else:
                found = snapshot.scan_keys(order, stop)
            rows = iter(found)
            while self.directories.get(sub) is directory:
                fed = list(islice(rows, FED_ROWS))
                if not fed:
                    break
                before = directory.bytes
                directory.feed(fed, len(order))
                self.bytes += directory.bytes - before
                if self.bytes > self.limit_bytes:
                    self._trim()
                pause()
        finally:
            snapshot.close()
        self.built += 1

    def _catch_up(self, sub: bytes, directory: Directory, pause: Pause) -> None:
        """Amend what was journaled, until there is no more of it."""
        while directory.journal and self.directories.get(sub) is directory:
            journal, directory.journal = directory.journal, []
            before = directory.bytes
            for number, (place, change) in enumerate(journal):
                directory.amend(place, change)
                if not number % 64:
                    self.bytes += directory.bytes - before
                    pause()
                    if self.directories.get(sub) is not directory:
                        return
                    before = directory.bytes
            self.bytes += directory.bytes - before
        directory.journal = None
        if directory.is_broken and self.directories.get(sub) is directory:
            self.drop(sub)
        elif self.bytes > self.limit_bytes:
            self._trim()

    def _refine(self, sub: bytes, directory: Directory, store: Store, pause: Pause) -> None:
        """Divide buckets that are too large to be read within a turn, a piece at a time."""
        order = order_of(sub)
        for start in directory.larger_than(LARGEST):
            while self.find(sub) is directory:
                bucket = directory.find(start)
                if bucket.size <= LARGEST:
                    break
                stop = end_of(order) if bucket.stop is None else order + bucket.stop
                rows = list(islice(store.scan_keys(order + bucket.start, stop), LARGEST))
                places = [row[len(order) :] for row in rows]
                start = self.divide(sub, directory, bucket.start, places)
                pause()


def _drop(part: list[bytes]) -> None:
    """It is freed at once."""
