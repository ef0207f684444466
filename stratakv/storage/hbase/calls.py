"""Calls to whoever has a region, again if need be: each kind of error has its own way to go on."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from google.protobuf.message import Message

from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import GaveUp, HBaseError, Kind
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.locations import Region, Regions
from stratakv.storage.hbase.servers import Server, Servers

FIRST_PAUSE_SECONDS: Final = 0.02
LONGEST_PAUSE_SECONDS: Final = 1.0
FIRST_BACK_OFF_SECONDS: Final = 0.1
LONGEST_BACK_OFF_SECONDS: Final = 5.0

M = TypeVar("M", bound=Message)
T = TypeVar("T")


class Tries:
    """How often and how long something is tried."""

    def __init__(self, what: str, limits: Limits, counters: Counters) -> None:
        self._what = what
        self._counters = counters
        self._until = asyncio.get_running_loop().time() + limits.patience_seconds
        self._pause = FIRST_PAUSE_SECONDS
        self.is_in_doubt = False
        """Whether one of them may have been done."""

    async def after(self, error: HBaseError) -> None:
        """Wait for the next try, or raise: the error itself if it is final, `GaveUp` in the end."""
        self.is_in_doubt |= error.is_in_doubt
        if error.kind is Kind.FATAL:
            error.is_in_doubt = self.is_in_doubt
            raise error
        if asyncio.get_running_loop().time() + self._pause > self._until:
            raise GaveUp(self._what, error, is_in_doubt=self.is_in_doubt) from error
        self._counters.retries += 1
        await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)


class Pressure:
    """Servers that asked for less, and until when nothing is sent to them."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._pauses: dict[Server, float] = {}
        self._not_before: dict[Server, float] = {}

    @property
    def is_high(self) -> bool:
        """Whether some server has too much to do: who can wait with new work should."""
        return bool(self._pauses)

    async def wait(self, server: Server) -> None:
        """Until the server may be asked."""
        while (left := self._left(server)) > 0:
            await asyncio.sleep(left * random.uniform(1.0, 1.2))

    def _left(self, server: Server) -> float:
        until = self._not_before.get(server)
        return 0.0 if until is None else until - asyncio.get_running_loop().time()

    def rise(self, server: Server) -> None:
        """It said that it has too much to do."""
        self._counters.too_busy += 1
        if self._left(server) > 0:
            return  # said of a call that was on its way
        pause = min(
            2 * self._pauses.get(server, FIRST_BACK_OFF_SECONDS / 2), LONGEST_BACK_OFF_SECONDS
        )
        self._pauses[server] = pause
        self._not_before[server] = asyncio.get_running_loop().time() + pause

    def fall(self, server: Server) -> None:
        """It works again, or is gone."""
        if self._pauses:
            self._pauses.pop(server, None)
            self._not_before.pop(server, None)


class Calls:
    """What everything that is asked of a table goes through."""

    def __init__(
        self, regions: Regions, servers: Servers, limits: Limits, counters: Counters
    ) -> None:
        self.regions = regions
        self.limits = limits
        self.counters = counters
        self.pressure = Pressure(counters)
        self._servers = servers

    def tries(self, what: str) -> Tries:
        """For something that is tried until it is done."""
        return Tries(what, self.limits, self.counters)

    async def once(self, region: Region, method: str, request: Message, answer: type[M]) -> M:
        """One try, of one server. What it says of the region is remembered."""
        return await self.of_server(region.server, (region,), method, request, answer)

    async def of_server(
        self,
        server: Server,
        regions: Iterable[Region],
        method: str,
        request: Message,
        answer: type[M],
    ) -> M:
        """One try about several regions of a server."""
        await self.pressure.wait(server)
        try:
            connection = await self._servers.connection(server)
            got = await connection.call(method, request, answer, self.limits.call_seconds)
        except HBaseError as error:
            for region in regions:
                self.learn(region, error)
            raise
        self.pressure.fall(server)
        return got

    def learn(self, region: Region, error: HBaseError) -> None:
        """What an error tells about a region, or its server."""
        if error.kind is Kind.BUSY:
            self.pressure.rise(region.server)
        elif error.kind is Kind.ELSEWHERE:
            self.pressure.fall(region.server)
            self.regions.forget(region)

    async def until_done(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try until it works; for what may be done twice."""
        tries = self.tries(what)
        while True:
            try:
                return await attempt()
            except HBaseError as error:
                await tries.after(error)

    async def of_row(
        self,
        row: bytes,
        method: str,
        make: Callable[[Region], Message],
        answer: type[M],
    ) -> M:
        """Ask whoever has the region of a row, until it works; for what may be done twice."""

        async def attempt() -> M:
            region = await self.regions.find(row)
            return await self.once(region, method, make(region), answer)

        return await self.until_done(method, attempt)
