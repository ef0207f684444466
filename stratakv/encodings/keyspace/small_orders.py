"""The whole order of small sorted sets in memory: ranges of them are slices of a list.

A scan of the store takes some 15 us, and before it what was written lately goes to the engine. An
application that adds to a ranking and shows its first page pays for both each time. So the `k#`
rows of a small set that is new, or is asked again, are kept as a sorted list.

A list is right as a directory of ranks is (see ranks.py, which hands the shifts on): it tells of
what the last command left, a Txn adds its own shifts, and a LongTxn, which reads a snapshot, asks
the snapshot. What does not fit (a place that is taken twice, a set that has grown) is dropped.

Invariants, between two turns
1. A list holds the names of all `k#` rows of its set, in order, if the set is live; and `names`, if
   it is there, the members.
2. `bytes` is the sum of what the lists take.
"""

from bisect import bisect_left
from collections import OrderedDict
from typing import Final

from stratakv.encodings.layout.metas import order_of
from stratakv.encodings.layout.rows import SCORE_BYTES, end_of
from stratakv.storage.store import Store

LIMIT_BYTES: Final = 16 << 20
AT_ONCE_MEMBERS: Final = 128
"""A larger set is read as a whole when it is asked for the second time."""
ASKED: Final = 4096
ROW_BYTES: Final = 41
"""What a row takes besides its bytes: the object, and its place in the list."""
ORDER_BYTES: Final = 300
NAMED: Final = 512
"""Up to so many members their names are known as well: a new one need not be looked for."""
NAME_BYTES: Final = 100
"""What a name takes besides its bytes: the object, and its place in the set."""
GROWTH: Final = 4
"""A set may grow to so many times the size up to which it is learned."""


class SmallOrder:
    """The rows of one set."""

    __slots__ = ("bytes", "hot", "names", "prefix", "rows")

    def __init__(self, prefix: bytes, rows: list[bytes], *, named: bool = True) -> None:
        self.prefix = prefix
        self.rows = rows
        self.hot = False
        self.bytes = ORDER_BYTES + sum([len(row) + ROW_BYTES for row in rows])
        self.names: set[bytes] | None = None
        """The members, if they are few."""
        if named and len(rows) <= NAMED:
            at = len(prefix) + SCORE_BYTES
            self.names = {row[at:] for row in rows}
            self.bytes += sum([len(row) - at + NAME_BYTES for row in rows])

    def amend(self, place: bytes, change: int) -> bool:
        """A place was taken (1) or left (-1); says whether that can be."""
        row = self.prefix + place
        rows = self.rows
        at = bisect_left(rows, row)
        is_there = at < len(rows) and rows[at] == row
        if change > 0:
            if is_there:
                return False
            rows.insert(at, row)
            self.bytes += len(row) + ROW_BYTES
            if self.names is not None:
                self._name(self.names, place[SCORE_BYTES:])
        else:
            if not is_there:
                return False
            del rows[at]
            self.bytes -= len(row) + ROW_BYTES
            if self.names is not None:
                self.names.discard(place[SCORE_BYTES:])
                self.bytes -= len(place) - SCORE_BYTES + NAME_BYTES
        return True

    def _name(self, names: set[bytes], member: bytes) -> None:
        """Know one more member, or none any more if they are too many."""
        if len(names) < NAMED:
            names.add(member)
            self.bytes += len(member) + NAME_BYTES
        else:
            self.bytes -= sum([len(name) + NAME_BYTES for name in names])
            self.names = None

    def amended(self, own: list[tuple[bytes, int]]) -> list[bytes]:
        """The rows as they would be after some more changes."""
        after = SmallOrder(self.prefix, self.rows.copy(), named=False)
        for place, change in own:
            after.amend(place, change)
        return after.rows


class SmallOrders:
    """The orders of a keyspace, by the `sub` of their sets."""

    __slots__ = ("_asked", "bytes", "limit_bytes", "most", "orders")

    def __init__(self, most: int) -> None:
        self.orders: OrderedDict[bytes, SmallOrder] = OrderedDict()
        self.bytes = 0
        self.limit_bytes = LIMIT_BYTES
        self.most = most
        """Sets of fewer members are learned."""
        self._asked: set[bytes] = set()

    def choose_limit(self, size: int) -> None:
        """How many bytes the orders may take; 0 for none."""
        self.limit_bytes = size
        self._trim()

    def find(self, sub: bytes) -> SmallOrder | None:
        """The order of a set, if it is known."""
        order = self.orders.get(sub)
        if order is not None:
            order.hot = True
        return order

    def learn(self, sub: bytes, count: int, store: Store) -> SmallOrder | None:
        """Read the order of a set of `count` members, if that is worth it.

        Requires: whoever asks has written nothing that the store does not know.
        """
        if count >= self.most or not self.limit_bytes or not self._is_worth_it(sub, count):
            return None
        prefix = order_of(sub)
        found = list(store.scan_keys(prefix, end_of(prefix)))
        if len(found) != count:
            return None
        order = self.orders[sub] = SmallOrder(prefix, found)
        self.bytes += order.bytes
        self._trim()
        return order

    def begin(self, sub: bytes) -> None:
        """A set is new, and its order is known from the start: its members follow."""
        if self.limit_bytes and self.most:
            self.drop(sub)
            order = self.orders[sub] = SmallOrder(order_of(sub), [])
            self.bytes += order.bytes
            if self.bytes > self.limit_bytes:
                self._trim()

    def _is_worth_it(self, sub: bytes, count: int) -> bool:
        if count <= AT_ONCE_MEMBERS or sub in self._asked:
            self._asked.discard(sub)
            return True
        if len(self._asked) >= ASKED:
            self._asked.clear()
        self._asked.add(sub)
        return False

    def amend(self, sub: bytes, place: bytes, change: int) -> None:
        """A place in the order of a set was taken (1), or left (-1)."""
        order = self.orders.get(sub)
        if order is None:
            return
        before = order.bytes
        fits = order.amend(place, change)
        self.bytes += order.bytes - before
        if not fits or not order.rows or len(order.rows) > GROWTH * self.most:
            self.drop(sub)
        elif self.bytes > self.limit_bytes:
            self._trim()

    def drop(self, sub: bytes) -> None:
        """Forget an order, if it is known."""
        order = self.orders.pop(sub, None)
        if order is not None:
            self.bytes -= order.bytes

    def forget(self) -> None:
        """Know nothing."""
        self.orders.clear()
        self._asked.clear()
        self.bytes = 0

    def _trim(self) -> None:
        """Drop what was not used since the last time, until the rest has room."""
        while self.bytes > self.limit_bytes:
            sub, order = next(iter(self.orders.items()))
            if order.hot:
                order.hot = False
                self.orders.move_to_end(sub)
            else:
                self.drop(sub)
