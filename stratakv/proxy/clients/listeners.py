"""Where clients connect: TCP ports and a unix socket."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
from typing import TYPE_CHECKING

from stratakv.proxy.clients.connection import Connection

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")


class Listeners:
    """The sockets of one server; `port` is known after `open`."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._options = server.options
        self._open: list[asyncio.Server] = []
        self.port = 0

    async def open(self) -> None:
        """Open the sockets; raises OSError with the address in its text."""
        port = self._options.port
        for address in self._options.bind:
            listener = await self._listen_tcp(address, port)
            port = listener.sockets[0].getsockname()[1]
        self.port = port
        if self._options.unixsocket:
            await self._listen_unix(self._options.unixsocket)
        self._warn_of_strangers()

    def close(self) -> None:
        """Accept nobody any more."""
        for listener in self._open:
            listener.close()

    def remove_socket_file(self) -> None:
        """The last thing that is left of a unix socket."""
        if self._options.unixsocket:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._options.unixsocket)

    def _connection(self) -> Connection:
        return Connection(self._server)

    def _warn_of_strangers(self) -> None:
        """Say what becomes of clients of other machines if there is no password."""
        places = [_shown_address(one) for one in self._open if _faces_others(one)]
        if self._server.password or not places:
            return
        shown = ", ".join(places)
        if self._options.protected_mode:
            log.warning(
                "no password is set: clients of other machines that connect to %s are refused"
                " (protected mode); set requirepass",
                shown,
            )
        else:
            log.warning(
                "no password is set and protected-mode is no: whoever reaches %s is served", shown
            )

    async def _listen_tcp(self, address: str, port: int) -> asyncio.Server:
        try:
            listener = await self._server.loop.create_server(
                self._connection, address, port, backlog=self._options.tcp_backlog
            )
        except OSError as error:
            raise OSError(f"cannot listen on {address}:{port}: {_reason(error)}") from None
        self._open.append(listener)
        log.info("listening on %s", _shown_address(listener))
        return listener

    async def _listen_unix(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        try:
            listener = await self._server.loop.create_unix_server(self._connection, path)
        except OSError as error:
            raise OSError(f"cannot listen on {path}: {_reason(error)}") from None
        if self._options.unixsocketperm:
            os.chmod(path, int(self._options.unixsocketperm, 8))
        self._open.append(listener)
        log.info("listening on %s", path)


def _shown_address(listener: asyncio.Server) -> str:
    host, port = listener.sockets[0].getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _faces_others(listener: asyncio.Server) -> bool:
    """Whether clients of other machines can reach it."""
    place = listener.sockets[0]
    if place.family == socket.AF_UNIX:
        return False
    return not ipaddress.ip_address(place.getsockname()[0].partition("%")[0]).is_loopback


def _reason(error: OSError) -> str:
    if error.strerror and "address already in use" in error.strerror:
        return "address already in use"
    if isinstance(error, socket.gaierror):
        return "unknown address"
    return os.strerror(error.errno).lower() if error.errno else str(error)
