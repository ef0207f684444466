"""The front of the client: one table of an HBase, from one event loop.

Rows are named as in the table: `Group` builds the names. Reads and commits are tried again until
HBase has answered or the patience of `Limits` is over; whatever is raised is an `HBaseError`.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Self

from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.commits import Commits
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.fences import Fence, Fences
from stratakv.storage.hbase.gets import Gets
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.locations import Regions
from stratakv.storage.hbase.requests import Durability
from stratakv.storage.hbase.scans import Page, Scans
from stratakv.storage.hbase.servers import Servers
from stratakv.storage.hbase.snapshots import Snapshot, open_snapshot
from stratakv.storage.hbase.table import Table
from stratakv.storage.hbase.zookeeper import ZooKeeper, parse_address


class HBase:
    """A table, and the connections to the servers that have it."""

    def __init__(
        self,
        address: str,
        table: str,
        *,
        groups: int,
        durability: Durability = Durability.LOGGED,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.counters = Counters()
        self._zookeeper = ZooKeeper(parse_address(address), seconds=self.limits.call_seconds)
        self._servers = Servers(self.limits, self.counters)
        regions = Regions(
            table.encode(), self._zookeeper, self._servers, self.limits, self.counters
        )
        self._calls = Calls(regions, self._servers, self.limits, self.counters)
        self._table = Table(self._calls, self._servers, self._zookeeper, groups)
        self._gets = Gets(self._calls)
        self._scans = Scans(self._calls)
        self._fences = Fences(self._calls, self._gets, durability)
        self._commits = Commits(self._calls, self._fences, durability)

    async def open(self) -> Self:
        """See that the table is there, is ours, and obeys conditions; makes it if there is none."""
        await self._table.ensure()
        return self

    async def find(self) -> int:
        """The number of groups of a table that is there and ours; nothing is made or tried."""
        return await self._table.find()

    @property
    def is_pressed(self) -> bool:
        """Whether a server has said that it has too much to do."""
        return self._calls.pressure.is_high

    # reads

    async def get_many(self, rows: Sequence[bytes]) -> list[bytes | None]:
        """The values of rows of any groups, in their order: one call to each server."""
        return await self._gets.many(rows)

    async def page(
        self,
        start: bytes,
        stop: bytes,
        *,
        reverse: bool = False,
        limit: int | None = None,
        keys_only: bool = False,
    ) -> Page:
        """The first rows of a range, and what is left of it; see `Scans.page`."""
        return await self._scans.page(
            start, stop, reverse=reverse, limit=limit, keys_only=keys_only
        )

    async def scan(
        self,
        start: bytes,
        stop: bytes,
        *,
        reverse: bool = False,
        limit: int | None = None,
        keys_only: bool = False,
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """All rows of a range, at most `limit`, page by page: each as it is when it is read."""
        left = limit
        while start < stop and left != 0:
            page = await self.page(start, stop, reverse=reverse, limit=left, keys_only=keys_only)
            for row in page.rows:
                yield row
            start, stop = page.start, page.stop
            left = None if left is None else left - len(page.rows)

    async def snapshot(self, group: Group) -> Snapshot:
        """A group as it is now, for as long as its region stays where it is."""
        return await open_snapshot(self._calls, self._scans, group)

    # writes

    async def fence(self, group: Group) -> Fence:
        """Who may write to a group."""
        return await self._fences.read(group)

    async def raise_fence(self, group: Group, owner: bytes) -> Fence:
        """Become the owner of a group; see `Fences.raise_epoch`."""
        return await self._fences.raise_epoch(group, owner)

    async def commit(
        self,
        group: Group,
        epoch: int,
        turn: int,
        puts: Mapping[bytes, bytes],
        deletes: Iterable[bytes] = (),
    ) -> int:
        """Write rows of a group, whole or not at all; see `Commits.commit`."""
        return await self._commits.commit(group, epoch, turn, puts, deletes)

    def choose_durability(self, durability: Durability) -> None:
        """When commits are acknowledged from now on."""
        self._commits.durability = durability

    async def close(self) -> None:
        """Let go of all connections; what is under way raises `Lost`."""
        self._servers.close()
        await self._zookeeper.close()
