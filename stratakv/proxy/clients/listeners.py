"""Where clients connect: TCP ports, with and without TLS, and a unix socket.

The TCP sockets are made here, and asyncio serves them. So ports, addresses and certificates change
while the server runs, and nobody who is connected, or waits to be accepted, notices.
"""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import socket
import ssl
from typing import TYPE_CHECKING, Final

from stratakv.options import BadOption, EffectFailed, Effects
from stratakv.proxy.clients import tls
from stratakv.proxy.clients.connection import Connection
from stratakv.proxy.clients.handshakes import Handshakes

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

_EVERYWHERE: Final = {"*": "0.0.0.0", "::*": "::"}
_NO_PORT: Final = "Unable to listen on this port. Check server logs."
_NO_ADDRESS: Final = "Failed to bind to specified addresses."
_NO_TLS: Final = "Unable to update TLS configuration. Check server logs."


class _Door:
    """A listening TCP socket, and who serves it."""

    def __init__(self, place: socket.socket, *, is_secure: bool) -> None:
        self.socket = place
        self.is_secure = is_secure
        self._server: asyncio.Server | Handshakes | None = None
        self._is_closed = False

    def replace_server(self, server: asyncio.Server | Handshakes) -> None:
        """Another one accepts from now on."""
        old, self._server = self._server, server
        if old is not None:
            old.close()
        if self._is_closed:
            server.close()

    def close(self) -> None:
        """Accept nobody any more."""
        self._is_closed = True
        self.socket.close()
        if self._server is not None:
            self._server.close()

    @property
    def port(self) -> int:
        """The port, chosen by the system if none was asked for."""
        return int(self.socket.getsockname()[1])

    def __str__(self) -> str:
        host, port = self.socket.getsockname()[:2]
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return f"{shown} (TLS)" if self.is_secure else shown

    @property
    def faces_others(self) -> bool:
        """Whether clients of other machines can reach it."""
        host = self.socket.getsockname()[0].partition("%")[0]
        return not ipaddress.ip_address(host).is_loopback


class Listeners:
    """The sockets of one server; `port` and `tls_port` are known after `open`, 0 is none."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._options = server.options
        self._doors: dict[tuple[str, int, bool], list[_Door]] = {}
        """By address, port and whether it speaks TLS."""
        self._unix: asyncio.Server | None = None
        self._context: ssl.SSLContext | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.http_context = tls.for_http(server.options) if server.options.http_tls else None
        """What the HTTP port shows of us."""
        self.port = 0
        self.tls_port = 0

    @property
    def effects(self) -> Effects:
        """What CONFIG SET changes here."""
        return {
            "port": self._set_port,
            "tls-port": self._set_tls_port,
            "bind": lambda addresses: self._arrange(_NO_ADDRESS),
            **dict.fromkeys(_TLS_OPTIONS, self._renew_tls),
        }

    async def open(self) -> None:
        """Open the sockets; raises OSError with the address in its text, and `BadOption`."""
        options = self._options
        self.tls_port = options.tls_port
        if options.port or not (options.tls_port or options.is_like_redis):
            options.port = self.port = options.port or self._take_free_port()
        self._arrange("")
        if options.unixsocket:
            await self._listen_unix(options.unixsocket)
        await asyncio.gather(*self._tasks)
        self._warn_of_strangers()

    def close(self) -> None:
        """Accept nobody any more."""
        for door in self._all():
            door.close()
        if self._unix is not None:
            self._unix.close()

    def remove_socket_file(self) -> None:
        """The last thing that is left of a unix socket."""
        if self._options.unixsocket:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._options.unixsocket)

    def reload_tls(self) -> None:
        """Read the files of certificates again; what is in force stays if they are of no use."""
        with contextlib.suppress(EffectFailed):
            self._renew_tls("")

    @property
    def port_for_replicas(self) -> int:
        """Where a master, or who asks it for its replicas, finds us."""
        if self.tls_port and (self._options.tls_replication or not self.port):
            return self.tls_port
        return self.port

    # TCP

    def _all(self) -> list[_Door]:
        return [door for doors in self._doors.values() for door in doors]

    def _take_free_port(self) -> int:
        """A port that is free at the first address, whose doors are made on the way."""
        address = self._options.bind[0]
        doors = self._bind(address, 0, is_secure=False)
        port = doors[0].port
        self._doors[address, port, False] = doors
        self._serve(doors)
        return port

    def _set_port(self, port: int) -> None:
        self.port, before = port, self.port
        try:
            self._arrange(_NO_PORT)
        except EffectFailed:
            self.port = before
            raise
        self._server.announce()

    def _set_tls_port(self, port: int) -> None:
        self.tls_port, before = port, self.tls_port
        try:
            self._arrange(_NO_PORT)
        except EffectFailed:
            self.tls_port = before
            raise
        if not port:
            self._context = None
        self._server.announce()

    def _arrange(self, refusal: str) -> None:
        """Open and close doors until they are those that are wanted.

        All or none: with a `refusal` raises `EffectFailed`, and else OSError or `BadOption`.
        """
        wanted = {
            (address, port, is_secure): address
            for port, is_secure in ((self.port, False), (self.tls_port, True))
            for address in self._options.bind
            if port
        }
        added: dict[tuple[str, int, bool], list[_Door]] = {}
        try:
            if self.tls_port and self._context is None:
                self._context = tls.for_clients(self._options)
            for place in wanted.keys() - self._doors.keys():
                added[place] = self._bind(place[0], place[1], is_secure=place[2])
        except (OSError, BadOption) as error:
            for doors in added.values():
                _close(doors)
            if not refusal:
                raise
            log.error("%s", error)
            raise EffectFailed(_NO_TLS if isinstance(error, BadOption) else refusal) from None
        for place in self._doors.keys() - wanted.keys():
            _close(self._doors.pop(place))
        self._doors |= added
        for doors in added.values():
            self._serve(doors)

    def _bind(self, address: str, port: int, *, is_secure: bool) -> list[_Door]:
        """The doors of an address; none if it may be missing, as one with a `-` may, and is."""
        host = address.removeprefix("-")
        host = _EVERYWHERE.get(host, host)
        doors: list[_Door] = []
        try:
            for family, kind, protocol, _, place in socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            ):
                one = socket.socket(family, kind, protocol)
                doors.append(_Door(one, is_secure=is_secure))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind(place)
                one.listen(self._options.tcp_backlog)
                one.setblocking(False)
        except OSError as error:
            _close(doors)
            if address.startswith("-") and error.errno in _MISSING:
                return []
            raise OSError(f"cannot listen on {host}:{port}: {_reason(error)}") from None
        return doors

    def _serve(self, doors: list[_Door]) -> None:
        for door in doors:
            log.info("listening on %s", door)
            task = self._server.loop.create_task(self._accept(door))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _accept(self, door: _Door) -> None:
        """Have connections accepted at a door, with the certificates of now."""
        loop, place = self._server.loop, door.socket.dup()  # the one who accepts closes his own
        if door.is_secure:
            assert self._context is not None
            door.replace_server(Handshakes(loop, place, self._context, self._connection))
            return
        backlog = self._options.tcp_backlog
        server = await loop.create_server(self._connection, sock=place, backlog=backlog)
        door.replace_server(server)

    def _renew_tls(self, value: object) -> None:
        """Show new certificates to who connects from now on; raises `EffectFailed`."""
        options = self._options
        try:
            if self.tls_port:
                self._context = tls.for_clients(options)
            if self.http_context is not None:
                tls.for_http(options)  # else what is of no use would be half in force
                tls.renew_certificate(self.http_context, options)
        except BadOption as error:
            log.error("TLS stays as it was: %s", error)
            raise EffectFailed(_NO_TLS) from None
        secure = [door for door in self._all() if door.is_secure]
        if secure:
            log.info("TLS is set up anew")
        self._serve(secure)

    # the rest

    def _connection(self) -> Connection:
        return Connection(self._server)

    async def _listen_unix(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        try:
            self._unix = await self._server.loop.create_unix_server(self._connection, path)
        except OSError as error:
            raise OSError(f"cannot listen on {path}: {_reason(error)}") from None
        if self._options.unixsocketperm:
            os.chmod(path, int(self._options.unixsocketperm, 8))
        log.info("listening on %s", path)

    def _warn_of_strangers(self) -> None:
        """Say what becomes of clients of other machines if the default user has no password."""
        places = [str(door) for door in self._all() if door.faces_others]
        if not self._server.logins.users.default.needs_no_password or not places:
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


_TLS_OPTIONS: Final = (
    *("tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir"),
    *("tls-auth-clients", "tls-protocols", "tls-ciphers", "tls-prefer-server-ciphers"),
)
_MISSING: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, socket.EAI_NONAME)


def _close(doors: list[_Door]) -> None:
    for door in doors:
        door.close()


def _reason(error: OSError) -> str:
    if error.strerror and "address already in use" in error.strerror.lower():
        return "address already in use"
    if isinstance(error, socket.gaierror):
        return "unknown address"
    return os.strerror(error.errno).lower() if error.errno else str(error)
