"""Ranges, in pages of bounded size, both ways.

Between two pages nothing is kept: the next one begins behind the last row, wherever that is then.
Within a page, each region has a scanner. It may answer with fewer rows than it was asked for, or
with none, since so many bytes are together or so much time has passed; that is not the end of the
region, and it is asked again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import HBaseError, Lost
from stratakv.storage.hbase.locations import Region
from stratakv.storage.hbase.requests import scan

Rows = list[tuple[bytes, bytes]]
Find = Callable[[bytes], Awaitable[Region]]


@dataclass(slots=True)
class Page:
    """Rows that were read, in order, and what is left of the range: [start, stop)."""

    start: bytes
    stop: bytes
    reverse: bool = False
    rows: Rows = field(default_factory=list)
    size: int = 0

    @property
    def is_last(self) -> bool:
        """Whether nothing is left."""
        return self.start >= self.stop

    def add(self, row: bytes, value: bytes) -> None:
        """A row was read: what is left begins behind it. One that is not of the range is left out.

        A reverse scan of HBase 2.6 may give a row of the wrong side of its start, and too young a
        value, if cells that it must not see are first in a file.
        """
        if not self.start <= row < self.stop:
            return
        self.rows.append((row, value))
        self.size += len(row) + len(value)
        if self.reverse:
            self.stop = row
        else:
            self.start = row + b"\x00"

    def leave(self, region: Region) -> None:
        """All of a region was read."""
        if self.reverse:
            self.stop = max(region.start, self.start)
        else:
            self.start = min(region.end, self.stop) if region.end else self.stop


class Scans:
    """Range reads of a table."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def page(
        self,
        start: bytes,
        stop: bytes,
        *,
        reverse: bool = False,
        limit: int | None = None,
        keys_only: bool = False,
    ) -> Page:
        """The first rows of [start, stop), the last ones when `reverse`: at most `limit`.

        Fewer if that would be many bytes, or many rows; `is_last` says whether there may be more.
        Each region's part is of one moment. Values are empty with `keys_only`.
        """
        page = Page(start, stop, reverse)
        most = self._most(limit)
        tries = self._calls.tries("scan")
        while self._wants_more(page, most):
            before = (page.start, page.stop)
            try:
                region = await self._region(page)
                await self._read_region(page, region, most, keys_only)
                _check_progress(page, before, region)
            except HBaseError as error:
                await tries.after(error)
        self._count(page)
        return page

    async def page_at(
        self, region: Region, read_point: int, page: Page, limit: int | None, *, keys_only: bool
    ) -> None:
        """Fill a page from one region as it was; one try.

        Requires: the range is within the region, and a scanner holds the read point.
        """
        most = self._most(limit)
        while self._wants_more(page, most):
            before = (page.start, page.stop)
            await self._read_region(page, region, most, keys_only, read_point)
            _check_progress(page, before, region)
        self._count(page)

    def _most(self, limit: int | None) -> int:
        most = self._calls.limits.page_rows
        return most if limit is None else min(limit, most)

    def _wants_more(self, page: Page, most: int) -> bool:
        is_full = len(page.rows) >= most or page.size >= self._calls.limits.page_bytes
        return not page.is_last and not is_full

    def _count(self, page: Page) -> None:
        self._calls.counters.scans += 1
        self._calls.counters.rows_read += len(page.rows)

    async def _region(self, page: Page) -> Region:
        regions = self._calls.regions
        if page.reverse:
            return await regions.find_before(page.stop)
        return await regions.find(page.start)

    async def _read_region(
        self, page: Page, region: Region, most: int, keys_only: bool, read_point: int = 0
    ) -> None:
        """Read of one region until it ends or the page is full."""
        answer = await self._open(page, region, most - len(page.rows), keys_only, read_point)
        scanner, asked = answer.scanner_id, 0
        while True:
            for result in answer.results:
                if result.cell and len(page.rows) < most:
                    page.add(result.cell[0].row, result.cell[0].value)
            if not answer.more_results_in_region:
                if len(page.rows) < most:
                    page.leave(region)
                return
            if answer.HasField("more_results") and not answer.more_results:
                return  # the limit is reached, and the scanner closed
            if not self._wants_more(page, most):
                await self._close(region, scanner)
                return
            answer = await self._next(region, scanner, asked, most - len(page.rows))
            asked += 1

    async def _open(
        self, page: Page, region: Region, rows: int, keys_only: bool, read_point: int
    ) -> pb.ScanResponse:
        stop = page.stop
        if page.reverse:
            stop = min(stop, region.end) if region.end else stop
            rows += 1  # for one that is not of the range
        wanted = scan(
            page.start,
            stop,
            reverse=page.reverse,
            keys_only=keys_only,
            rows=rows,
            size=self._calls.limits.page_bytes,
            read_point=read_point,
        )
        request = pb.ScanRequest(
            region=region.specifier,
            scan=wanted,
            number_of_rows=rows,
            limit_of_rows=rows,
            client_handles_partials=False,
            client_handles_heartbeats=True,
        )
        return await self._calls.once(region, "Scan", request, pb.ScanResponse)

    async def _next(self, region: Region, scanner: int, asked: int, rows: int) -> pb.ScanResponse:
        """Go on; the number makes sure that an answer that got lost is not left out."""
        request = pb.ScanRequest(
            scanner_id=scanner,
            number_of_rows=rows,
            limit_of_rows=rows,
            next_call_seq=asked,
            client_handles_partials=False,
            client_handles_heartbeats=True,
        )
        return await self._calls.once(region, "Scan", request, pb.ScanResponse)

    async def _close(self, region: Region, scanner: int) -> None:
        await close_scanner(self._calls, region, scanner)


def _check_progress(page: Page, before: tuple[bytes, bytes], region: Region) -> None:
    """Nobody waits for a server that answers without end."""
    if (page.start, page.stop) == before:
        raise Lost(f"{region.server} neither answers with rows nor ends")


async def close_scanner(calls: Calls, region: Region, scanner: int) -> None:
    """Let go of a scanner; one that cannot be told ends by itself after its lease."""
    request = pb.ScanRequest(scanner_id=scanner, close_scanner=True, number_of_rows=0)
    try:
        await calls.once(region, "Scan", request, pb.ScanResponse)
    except HBaseError:
        return
