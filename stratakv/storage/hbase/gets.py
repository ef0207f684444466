"""Many rows at once: one call to each server that has some of them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import HBaseError, Kind, Lost, RemoteError
from stratakv.storage.hbase.groups import VALUE
from stratakv.storage.hbase.locations import Region
from stratakv.storage.hbase.requests import get
from stratakv.storage.hbase.servers import Server

Wanted = dict[Region, list[bytes]]
Values = dict[bytes, bytes | None]


class Gets:
    """Point reads of a table."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def many(self, rows: Sequence[bytes]) -> list[bytes | None]:
        """The values of rows, in their order; what could not be had is asked for again."""
        values: Values = {}
        missing = list(dict.fromkeys(rows))
        tries = self._calls.tries("get")
        while missing:
            error = await self._round(missing, values)
            missing = [row for row in missing if row not in values]
            if missing and error is not None:
                await tries.after(error)
        self._calls.counters.gets += len(rows)
        self._calls.counters.rows_read += len(rows)
        return [values[row] for row in rows]

    async def cells(self, row: bytes, *qualifiers: bytes) -> dict[bytes, bytes]:
        """Some cells of one row, as they are at one moment."""
        answer = await self._calls.of_row(
            row,
            "Get",
            lambda region: pb.GetRequest(region=region.specifier, get=get(row, *qualifiers)),
            pb.GetResponse,
        )
        return {cell.qualifier: cell.value for cell in answer.result.cell}

    async def _round(self, rows: Sequence[bytes], values: Values) -> HBaseError | None:
        """Ask for rows; says what went wrong, of several errors a final one."""
        wanted, errors = await self._by_server(rows)
        asked = [
            self._ask(server, part, values)
            for server, regions in wanted.items()
            for part in _parts(regions, self._calls.limits.gets)
        ]
        for found in await asyncio.gather(*asked):
            errors += found
        final = [error for error in errors if error.kind is Kind.FATAL]
        return next(iter(final + errors), None)

    async def _by_server(
        self, rows: Sequence[bytes]
    ) -> tuple[dict[Server, Wanted], list[HBaseError]]:
        wanted: dict[Server, Wanted] = {}
        for row in rows:
            try:
                region = await self._calls.regions.find(row)
            except HBaseError as error:
                return wanted, [error]
            wanted.setdefault(region.server, {}).setdefault(region, []).append(row)
        return wanted, []

    async def _ask(self, server: Server, wanted: Wanted, values: Values) -> list[HBaseError]:
        """One Multi; errors of single regions leave the others their answers."""
        request = pb.MultiRequest(regions=[_action(*item) for item in wanted.items()])
        try:
            answer = await self._calls.of_server(server, wanted, "Multi", request, pb.MultiResponse)
        except HBaseError as error:
            return [error]
        if len(answer.regions) != len(wanted):
            return [Lost(f"{server} has answered for {len(answer.regions)} regions")]
        errors: list[HBaseError] = []
        for (region, rows), told in zip(wanted.items(), answer.regions, strict=True):
            if failure := _take(rows, told, values):
                self._calls.learn(region, failure)
                errors.append(failure)
        return errors


def _parts(wanted: Wanted, most: int) -> Iterator[Wanted]:
    """Cut what one server is asked for into calls of so many rows."""
    pairs = ((region, row) for region, rows in wanted.items() for row in rows)
    while part := list(islice(pairs, most)):
        yield _grouped(part)


def _grouped(pairs: Iterable[tuple[Region, bytes]]) -> Wanted:
    wanted: Wanted = {}
    for region, row in pairs:
        wanted.setdefault(region, []).append(row)
    return wanted


def _action(region: Region, rows: Sequence[bytes]) -> pb.RegionAction:
    return pb.RegionAction(
        region=region.specifier,
        actions=[pb.Action(index=index, get=get(row, VALUE)) for index, row in enumerate(rows)],
    )


def _take(rows: Sequence[bytes], told: pb.RegionActionResult, values: Values) -> HBaseError | None:
    """Note the values that one region has; says why some are missing."""
    if told.HasField("exception"):
        return _error(told.exception)
    error: HBaseError | None = None
    for one in told.results:
        if one.HasField("exception"):
            error = _error(one.exception)
        elif one.index < len(rows):
            cells = one.result.cell
            values[rows[one.index]] = cells[0].value if cells else None
    if error is None and any(row not in values for row in rows):
        error = Lost("a server has left out rows that it was asked for")
    return error


def _error(told: pb.NameBytesPair) -> RemoteError:
    return RemoteError(told.name, told.value.decode("utf-8", "replace"))
