"""Which server has which region of a table: ZooKeeper knows where the meta table is, that the rest.

What was found is remembered until it turns out wrong, region by region: when a server dies, its
regions come back one after the other, and those of others have not moved.
"""

import asyncio
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import HBaseError, Kind, NoRegion, NoTable
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.requests import meta_scan, region_by_name
from stratakv.storage.hbase.servers import Server, Servers
from stratakv.storage.hbase.zookeeper import ZooKeeper

MAGIC: Final = b"PBUF"
PAGE: Final = 1_000
"""Regions that are looked up in one call."""
NEAREST: Final = 4
"""How far back to look for one region: parents of a split may lie before it."""
AFTER_ALL_IDS: Final = b":"
"""The byte behind `9`: names of regions end with a number."""


@dataclass(frozen=True, slots=True)
class Region:
    """Rows of [start, end); without an end, all that follow."""

    name: bytes
    start: bytes
    end: bytes
    server: Server
    specifier: pb.RegionSpecifier = field(compare=False, repr=False)

    def has(self, row: bytes) -> bool:
        """Whether a row belongs to it."""
        return self.start <= row and (not self.end or row < self.end)

    def has_before(self, row: bytes) -> bool:
        """Whether what comes just before a row belongs to it."""
        return self.start < row and (not self.end or row <= self.end)


class Regions:
    """The regions of one table, as far as they are known."""

    def __init__(
        self,
        table: bytes,
        zookeeper: ZooKeeper,
        servers: Servers,
        limits: Limits,
        counters: Counters,
    ) -> None:
        self.table = table
        self._zookeeper = zookeeper
        self._servers = servers
        self._limits = limits
        self._counters = counters
        self._starts: list[bytes] = []
        self._known: dict[bytes, Region] = {}
        self._meta: Server | None = None
        self._looking = asyncio.Lock()
        """One look at a time: who waited finds what the others have found."""

    async def find(self, row: bytes) -> Region:
        """The region of a row; raises `NoRegion`, `NoTable`, or what went wrong on the way."""
        return self._cached(row) or await self._look_up(row)

    async def find_before(self, row: bytes) -> Region:
        """The region of what comes just before a row."""
        return self._cached_before(row) or await self._look_up_before(row)

    def forget(self, region: Region) -> None:
        """It is not there any more."""
        if self._known.get(region.start) == region:
            self._counters.forgotten += 1
            del self._known[region.start]
            self._starts.remove(region.start)

    def remember(self, region: Region) -> None:
        """Of what was known of the same rows, nothing is true any more."""
        low = bisect_left(self._starts, region.start)
        high = bisect_left(self._starts, region.end) if region.end else len(self._starts)
        for start in self._starts[low:high]:
            del self._known[start]
        self._starts[low:high] = [region.start]
        self._known[region.start] = region

    async def load(self) -> list[Region]:
        """All regions that are served, in order, as the meta table has them now.

        Raises `NoTable`, and `NoRegion` if none is served.
        """
        rows = await self._meta_rows()
        if not rows:
            raise NoTable(f"HBase has no table {self.table.decode()}")
        found = [region for region in map(_region, rows) if region is not None]
        if not found:
            raise NoRegion(f"no region of table {self.table.decode()} is served now")
        for region in found:
            self.remember(region)
        return found

    # what is known

    def _cached(self, row: bytes) -> Region | None:
        place = bisect_right(self._starts, row) - 1
        region = self._known[self._starts[place]] if place >= 0 else None
        return region if region is not None and region.has(row) else None

    def _cached_before(self, row: bytes) -> Region | None:
        place = bisect_left(self._starts, row) - 1
        region = self._known[self._starts[place]] if place >= 0 else None
        return region if region is not None and region.has_before(row) else None

    # what is asked

    async def _look_up(self, row: bytes) -> Region:
        async with self._looking:
            if not self._known:
                await self.load()
            found = self._cached(row)
            if found is None:
                found = await self._nearest(row + b"," + AFTER_ALL_IDS)
            if not found.has(row):
                raise NoRegion(f"no server has the region of row {row[:32]!r} now")
            return found

    async def _look_up_before(self, row: bytes) -> Region:
        async with self._looking:
            if not self._known:
                await self.load()
            found = self._cached_before(row)
            if found is None:
                found = await self._nearest(row + b",")
            if not found.has_before(row):
                raise NoRegion(f"no server has the region before row {row[:32]!r} now")
            return found

    async def _meta_rows(self) -> list[pb.Result]:
        """What the meta table has of the regions."""
        start, stop = self.table + b",,", self.table + b" ,,"
        rows: list[pb.Result] = []
        while True:
            answer = await self._ask_meta(meta_scan(start, stop, reverse=False, rows=PAGE))
            rows += answer.results
            if not answer.results or not answer.more_results_in_region:
                return rows
            start = answer.results[-1].cell[0].row

    async def _nearest(self, name: bytes) -> Region:
        """The last region that is named before this."""
        start, stop = self.table + b"," + name, self.table + b",,"
        answer = await self._ask_meta(meta_scan(start, stop, reverse=True, rows=NEAREST))
        for region in map(_region, answer.results):
            if region is not None:
                self.remember(region)
                return region
        raise NoRegion(f"no server has a region of table {self.table.decode()} there now")

    async def _ask_meta(self, request: pb.ScanRequest) -> pb.ScanResponse:
        """Ask whoever has the meta table; it may move, too."""
        if self._meta is None:
            self._meta = await self._zookeeper.meta()
        try:
            connection = await self._servers.connection(self._meta)
            return await connection.call(
                "Scan", request, pb.ScanResponse, self._limits.call_seconds
            )
        except HBaseError as error:
            if error.kind is not Kind.FATAL:
                self._meta = None
            raise


def _region(result: pb.Result) -> Region | None:
    """A row of the meta table: nothing if nobody serves that region, or it was split."""
    cells = {cell.qualifier: cell.value for cell in result.cell}
    server, info = cells.get(b"server", b""), cells.get(b"regioninfo", b"")
    if not server or not info.startswith(MAGIC):
        return None
    try:
        told = pb.RegionInfo.FromString(info[len(MAGIC) :])
        host, _, port = server.decode().rpartition(":")
        place = Server(host, int(port))
    except (DecodeError, ValueError):
        return None
    if told.offline or told.split:
        return None
    name = result.cell[0].row
    return Region(name, told.start_key, told.end_key, place, region_by_name(name))
