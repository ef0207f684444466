"""What is remembered of stored things besides their metas, so that it need not be looked for again.

Everything here is a memory of committed or pending rows that outlives the Txn that read them. Each
is bounded, and right or harmless whatever becomes of the Txn:

    sample_rows       whoever uses one reads it first
    windows, orders   hold only while a very Meta object is the key's meta: a change makes another
                      one, and so does reading a meta again
    splits            tell what is likely, not what is there; a row is read before it is shown
    ranks             the directories of sorted sets hear of what is applied, and of nothing else
    field_times_from  is lowered when a `t#` row is put (by a Txn at once, which is early and does
                      no harm) and raised by the reclaimer only, from what it has read

FLUSHDB and SWAPDB need nothing: all names here begin with a namespace, which moves with its rows
and is never used twice. After a failed commit rows may be back that were deleted, and others
missing, so all of it is dropped as a whole.

Not here: cursors, which are handed out to clients and tell a name, not what is stored there; the
editors of HyperLogLogs, which are right by their content alone.
"""

from typing import Any, NamedTuple

from stratakv.encodings.keyspace.ranks import Ranks
from stratakv.encodings.layout.metas import Meta


class OrderLimits(NamedTuple):
    """All `k#` rows lie in [low, high), or are outliers, as long as `meta` is the key's meta.

    Outliers lie outside of [low, high); some may be deleted already.
    """

    meta: Meta
    low: bytes
    high: bytes
    outliers: tuple[bytes, ...] = ()


class Recollections:
    """Memory of collections. Whoever uses a part of it bounds it."""

    __slots__ = ("field_times_from", "orders", "ranks", "sample_rows", "splits", "windows")

    def __init__(self) -> None:
        self.sample_rows: dict[bytes, tuple[bytes, bool]] = {}
        """A row of collections without a count, and whether it was found from the end; 10,000 (see
        member_rows.py)."""
        self.windows: dict[tuple[bytes, int, int], tuple[Meta, list[bytes]]] = {}
        """Ranges of lists that were read lately, with the meta that they are right for; bounded in
        number and bytes (see lists.py)."""
        self.orders: dict[bytes, OrderLimits] = {}
        """Where the rows of sorted sets begin and end; 10,000 (see zset_order.py)."""
        self.ranks = Ranks()
        """Where in large sorted sets so many members have passed; bounded in bytes."""
        self.splits: dict[bytes, Any] = {}
        """The shape of large collections; 4096 (see sampling.py)."""
        self.field_times_from: dict[bytes, bytes] = {}
        """By namespace: no `t#` row stands before this one; if it is missing, it is not known. As
        many as there are databases."""

    def forget(self) -> None:
        """Know nothing."""
        self.sample_rows.clear()
        self.windows.clear()
        self.orders.clear()
        self.ranks.forget()
        self.splits.clear()
        self.field_times_from.clear()
