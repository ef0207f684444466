"""A group as it was at one moment, whatever is written, deleted, flushed or compacted meanwhile.

A scanner that is open keeps HBase from dropping what it may still see, and tells its read point;
other scans of the same region with that read point see the same. The scanner has a lease, which is
renewed while the snapshot is open.

A region that moves forgets the read point, and would answer with something else without a word. So
what was read counts only if the scanner is still there afterwards: HBase keeps it only as long as
the region stays where it is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import HBaseError, Kind, SnapshotGone, Unsupported
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.locations import Region
from stratakv.storage.hbase.requests import scan
from stratakv.storage.hbase.scans import Page, Scans, close_scanner

RENEWALS = 4
"""In the time of one lease: some may get lost."""


class Snapshot:
    """A frozen view of one group; close it when done, since it keeps old rows alive."""

    def __init__(
        self, calls: Calls, scans: Scans, group: Group, region: Region, opened: pb.ScanResponse
    ) -> None:
        self.group = group
        self._calls = calls
        self._scans = scans
        self._region = region
        self._scanner = opened.scanner_id
        self._read_point = opened.mvcc_read_point
        self._lease_seconds = opened.ttl / 1000
        self._gone: SnapshotGone | None = None
        self._is_closed = False
        self._keeping = asyncio.create_task(self._keep())

    async def get_many(self, rows: Sequence[bytes]) -> list[bytes | None]:
        """The values of rows of the group, in their order; raises `SnapshotGone`."""
        pages = [Page(row, row + b"\x00") for row in rows]
        await self._read(pages, limit=1)
        return [page.rows[0][1] if page.rows else None for page in pages]

    async def page(
        self,
        start: bytes,
        stop: bytes,
        *,
        reverse: bool = False,
        limit: int | None = None,
        keys_only: bool = False,
    ) -> Page:
        """As `Scans.page`, within the group; raises `SnapshotGone`."""
        page = Page(start, stop, reverse)
        await self._read([page], limit, keys_only=keys_only)
        return page

    async def _read(
        self, pages: Sequence[Page], limit: int | None, *, keys_only: bool = False
    ) -> None:
        """Fill pages, some at a time, and see that it was this view that they show."""
        at_once = self._calls.limits.parallel_scans
        for first in range(0, len(pages), at_once):
            some = pages[first : first + at_once]
            await asyncio.gather(*(self._fill(page, limit, keys_only) for page in some))
        await self._renew()

    async def _fill(self, page: Page, limit: int | None, keys_only: bool) -> None:
        assert self._region.has(page.start), "a snapshot is of one group"
        await self._unless_gone(
            lambda: self._scans.page_at(
                self._region, self._read_point, page, limit, keys_only=keys_only
            )
        )

    async def _renew(self) -> None:
        """See that the scanner is still there, and has its time again."""
        request = pb.ScanRequest(scanner_id=self._scanner, renew=True)
        await self._unless_gone(
            lambda: self._calls.once(self._region, "Scan", request, pb.ScanResponse)
        )

    async def _unless_gone(self, attempt: Callable[[], Awaitable[object]]) -> None:
        """Try it; a server that has too much to do is waited for, all else ends the view."""
        tries = self._calls.tries(f"a snapshot of {self.group}")
        while True:
            if self._gone is not None or self._is_closed:
                raise self._gone or SnapshotGone(f"the snapshot of {self.group} is closed")
            try:
                await attempt()
            except HBaseError as error:
                if error.kind is not Kind.BUSY:
                    raise self._end(error) from error
                await tries.after(error)
            else:
                return

    def _end(self, error: HBaseError) -> HBaseError:
        """What to raise: errors that have to do with the place of the region end the view."""
        if error.kind is Kind.FATAL or isinstance(error, SnapshotGone):
            return error
        if self._gone is None:
            self._calls.counters.snapshots_gone += 1
            self._gone = SnapshotGone(f"the snapshot of {self.group} is gone: {error}")
        return self._gone

    async def _keep(self) -> None:
        while self._gone is None:
            await asyncio.sleep(self._lease_seconds / RENEWALS)
            try:
                await self._renew()
            except HBaseError:
                return  # whoever reads next is told

    async def close(self) -> None:
        """Let go of the view."""
        if self._is_closed:
            return
        self._is_closed = True
        self._keeping.cancel()
        if self._gone is None:
            await close_scanner(self._calls, self._region, self._scanner)


async def open_snapshot(calls: Calls, scans: Scans, group: Group) -> Snapshot:
    """A view of a group as it is now."""

    async def attempt() -> tuple[Region, pb.ScanResponse]:
        region = await calls.regions.find(group.fence)
        held = scan(group.fence, group.rows, rows=1, size=1)
        request = pb.ScanRequest(region=region.specifier, scan=held, number_of_rows=0)
        return region, await calls.once(region, "Scan", request, pb.ScanResponse)

    region, opened = await calls.until_done("snapshot", attempt)
    if not opened.mvcc_read_point or not opened.ttl:
        raise Unsupported(f"{region.server} tells no read points: it is older than HBase 2.0")
    calls.counters.snapshots += 1
    return Snapshot(calls, scans, group, region, opened)
