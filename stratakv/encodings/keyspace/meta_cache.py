"""The limit of the cache of decoded metas, over all databases (CLOCK).

The metas themselves are in the databases, where a look-up is one step; see `Database.evict`.
"""

from collections.abc import Collection
from typing import Final

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.plain_strings import make_notes

TRIM_EVERY: Final = 16
"""Turns between two looks at the size, while it is below the limit."""


class MetaCache:
    """How much may be cached, and whether some of it has to go."""

    __slots__ = ("_trimming", "_turns", "evictions", "limit_bytes", "plain")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.plain = make_notes(limit_bytes)
        """Notes of plain strings that were let go of; they count as cached."""
        self.evictions = 0
        self._turns = 0
        self._trimming = False

    def is_above(self, databases: Collection[Database]) -> bool:
        """Whether more is cached than may be."""
        return sum([database.cached_bytes for database in databases]) > self.limit_bytes

    def trim(self, databases: Collection[Database]) -> None:
        """Bring the cache back under its limit in steps, the largest database first.

        Called at the end of every turn: reads fill the cache as well as writes do.
        """
        self._turns += 1
        if self._turns % TRIM_EVERY and not self._trimming:
            return
        total = sum([database.cached_bytes for database in databases])
        if self.plain is not None:
            total += self.plain.size_bytes
        enough = self.limit_bytes * 31 // 32
        self._trimming = total > (enough if self._trimming else self.limit_bytes)
        if self._trimming:
            largest = max(databases, key=lambda database: database.cached_bytes)
            self.evictions += largest.evict(total - enough, self.plain)
