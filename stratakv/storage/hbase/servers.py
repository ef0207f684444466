"""A connection to each server, made when it is needed, shared by all."""

import asyncio
from typing import Final, NamedTuple

from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import Lost
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.wire import Connection, connect

CLIENTS: Final = "ClientService"
MASTER: Final = "MasterService"


class Server(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Servers:
    """Connections by server and service."""

    def __init__(self, limits: Limits, counters: Counters) -> None:
        self._limits = limits
        self._counters = counters
        self._made: dict[tuple[Server, str], Connection] = {}
        self._making: dict[tuple[Server, str], asyncio.Task[Connection]] = {}
        self._is_closed = False

    async def connection(self, server: Server, service: str = CLIENTS) -> Connection:
        """A connection that works, as far as is known, with room for a call; raises `Lost`."""
        found = self._made.get((server, service))
        if found is None or found.is_lost:
            found = await self._connect(server, service)
        await found.has_room()
        return found

    async def _connect(self, server: Server, service: str) -> Connection:
        """Whoever needs the same connection waits for the same attempt."""
        if self._is_closed:
            raise Lost(f"{server}: the client is closed")
        key = (server, service)
        task = self._making.get(key)
        if task is None:
            task = asyncio.create_task(
                connect(server.host, server.port, service, self._limits, self._counters)
            )
            self._making[key] = task
            task.add_done_callback(lambda made: self._finished(key, made))
        return await asyncio.shield(task)

    def _finished(self, key: tuple[Server, str], task: "asyncio.Task[Connection]") -> None:
        del self._making[key]
        if task.cancelled() or task.exception() is not None:
            return
        if self._is_closed:
            task.result().close()
        else:
            self._drop_lost()
            self._made[key] = task.result()

    def _drop_lost(self) -> None:
        """Servers come and go with other ports: what is lost is not kept."""
        for key in [key for key, made in self._made.items() if made.is_lost]:
            del self._made[key]

    def close(self) -> None:
        """End all connections; calls under way raise `Lost`."""
        self._is_closed = True
        for task in self._making.values():
            task.cancel()
        for made in self._made.values():
            made.close()
