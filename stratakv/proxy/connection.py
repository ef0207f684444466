"""A connection: the socket side of a session, with its flow control."""

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from stratakv import errors
from stratakv.proxy import replies
from stratakv.proxy.requests import RequestParser
from stratakv.proxy.session import MUST_AUTHENTICATE, Session

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

BACKLOG_REQUESTS: Final = 1000
"""Requests that wait behind a long command before the client is no longer read."""


class Connection(asyncio.Protocol):
    """Bytes from and to one client.

    Three things can stop the reading: a long backlog, a slow commit, and the shutdown.
    """

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._receive = server.dispatcher.receive
        self._turns = server.turns
        self._stats = server.stats
        self._parser = RequestParser(server.options.proto_max_bulk_len)
        self._pauses: set[str] = set()
        self._when_writable: Callable[[], None] | None = None
        self.write_paused = False
        self.address = ""
        self.local_address = ""

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass
        self.address = _format_address(transport.get_extra_info("peername"), "client")
        self.local_address = _format_address(transport.get_extra_info("sockname"), "server")
        self.session = self._server.admit(self)
        if self.session is None:
            self._transport.write(replies.error(errors.MAX_CLIENTS))
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Run every complete request of the data: pipelining costs no extra turn."""
        session = self.session
        if session is None or session.closing:
            return
        turns = self._turns
        turns.touch(session)
        self._stats.bytes_in += len(data)
        session.last_active = turns.moment
        requests = self._parser.receive(data)
        if session.waiting:
            session.backlog.extend(requests)
            if len(session.backlog) > BACKLOG_REQUESTS:
                self._pause("backlog")
        else:
            self._receive(session, requests)
        if self._parser.error is not None:
            self._refuse_garbage(session)

    def _refuse_garbage(self, session: Session) -> None:
        """The client does not speak the protocol: say so, and let it go."""
        error = self._parser.error
        assert error is not None
        if session.waiting:
            return
        session.out.append(replies.error(error.text))
        session.closing = True

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        self.write_paused = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.write_paused = False
        self._wake_writer()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        session, self.session = self.session, None  # else they would keep each other alive
        if session is not None:
            session.closing = True
            self._server.forget(session)
        self._wake_writer()

    # our side

    def flush(self) -> None:
        """Send what the session has put out in this turn."""
        session = self.session
        if session is None:
            return
        if session.out:
            out, session.out = session.out, []
            session.marks = []
            self.send(out)
        if session.closing:
            self._transport.close()

    def send(self, out: list[bytes]) -> None:
        """Write replies to the socket."""
        data = out[0] if len(out) == 1 else b"".join(out)
        if data and not self._transport.is_closing():
            self._stats.bytes_out += len(data)
            self._transport.write(data)
            if self.write_paused:
                self._server.output_limits.check(self)
        session = self.session
        if session is not None and session.closing and not session.held:
            self._transport.close()

    def set_keepalive(self, seconds: int) -> None:
        """Have the kernel probe a silent peer, so that dead ones are noticed."""
        sock = self._transport.get_extra_info("socket")
        if sock is None or sock.family == socket.AF_UNIX or not seconds:
            return
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, seconds // 3))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def when_writable(self, callback: Callable[[], None]) -> None:
        """Call back once the client has read enough, or is gone."""
        self._when_writable = callback

    def _wake_writer(self) -> None:
        callback, self._when_writable = self._when_writable, None
        if callback is not None:
            callback()

    def authenticated(self, session: Session) -> None:
        """The client has given the password, or none is needed: normal limits from now on."""
        session.guards &= ~MUST_AUTHENTICATE
        self._parser.stranger = False

    def expect_password(self, session: Session) -> None:
        """Only a few commands and small requests until the client has authenticated."""
        session.guards |= MUST_AUTHENTICATE
        self._parser.stranger = True

    def _pause(self, reason: str) -> None:
        if not self._pauses and not self._transport.is_closing():
            self._transport.pause_reading()
        self._pauses.add(reason)

    def _resume(self, reason: str) -> None:
        if reason in self._pauses:
            self._pauses.discard(reason)
            if not self._pauses and not self._transport.is_closing():
                self._transport.resume_reading()

    def resume_after_wait(self) -> None:
        """The session no longer waits for a long command."""
        self._resume("backlog")
        if self._parser.error is not None and self.session is not None:
            self._refuse_garbage(self.session)
            self._turns.touch(self.session)

    def pause_for_commit(self) -> None:
        """Commits are slow: do not read more until this client's are through."""
        self._pause("commit")

    def resume_after_commit(self) -> None:
        """All commits of this client are through."""
        self._resume("commit")

    def pause_for_shutdown(self) -> None:
        """No more requests."""
        self._pause("shutdown")

    @property
    def descriptor(self) -> int:
        """The number of the socket, -1 once it is closed."""
        sock = self._transport.get_extra_info("socket")
        return sock.fileno() if sock is not None else -1

    @property
    def unsent(self) -> int:
        """Bytes that wait in the output buffer."""
        return self._transport.get_write_buffer_size()

    @property
    def unparsed(self) -> int:
        """Bytes of an incomplete request."""
        return self._parser.buffered

    def abort(self) -> None:
        """Cut the connection without sending what waits."""
        if self.session is not None:
            self.session.closing = True
        self._transport.abort()

    def close(self) -> None:
        """Close after what waits has been sent."""
        self._transport.close()


def _format_address(name: object, role: str) -> str:
    if isinstance(name, tuple):
        host, port = name[0], name[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    path = name.decode() if isinstance(name, bytes) else str(name or "")
    return f"{path}:0"
