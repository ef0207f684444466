"""A connection: the socket side of a session, with its flow control."""

import asyncio
import logging
import select
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from stratakv.proxy.clients import tls
from stratakv.proxy.clients.session import MUST_AUTHENTICATE, Session
from stratakv.proxy.wire import encoding
from stratakv.proxy.wire.requests import RequestParser

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

PORTION_BYTES: Final = 64 << 10
"""What is parsed in a turn, 3 ms if it is all short requests. The system gives four times as much
at once, and up to 32 times in a row while there is more: 200 ms and more, measured."""
BACKLOG_REQUESTS: Final = 1000
BACKLOG_BYTES: Final = 1 << 20
"""Requests that wait behind a long or blocked command before the client is no longer read."""
_BROKEN: Final = select.POLLHUP | select.POLLERR
_ENDED: Final = getattr(select, "POLLRDHUP", 0) | _BROKEN

LOOPBACK: Final = ("127.0.0.1", "::1")
"""Where clients of this machine come from; Redis counts no other address."""


class Connection(asyncio.Protocol):
    """Bytes from and to one client.

    Four things can stop the reading: much that was read at once, much that waits to be served, a
    slow commit, and the shutdown.
    """

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._receive = server.dispatcher.pipelines.receive
        self._turns = server.turns
        self._stats = server.stats
        self._parser = RequestParser(server.options.proto_max_bulk_len)
        self._pauses: set[str] = set()
        self._portions: deque[bytes] = deque()
        """The rest of what was read, for the next turns."""
        self._unserved = 0
        """Bytes that came since the session waits."""
        self.has_ended = False
        """The client has sent all that it ever will; what it sent is still served."""
        self._when_writable: Callable[[], None] | None = None
        self.write_paused = False
        self.queued = 0
        """Bytes that wait elsewhere for this client."""
        self.address = ""
        self.local_address = ""
        self.session: Session | None = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._attach(transport)
        admitted = self._server.admit(self)
        if isinstance(admitted, bytes):
            self._transport.write(encoding.error(admitted))
            self._transport.close()
        else:
            self.session = admitted

    def _attach(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass
        self.address = _format_address(transport.get_extra_info("peername"), "client")
        self.local_address = _format_address(transport.get_extra_info("sockname"), "server")
        self.session = None

    def stand_for(self, transport: asyncio.BaseTransport, session: Session) -> None:
        """Be the connection of a session whose requests come from elsewhere."""
        self._attach(transport)
        self.session = session

    def data_received(self, data: bytes) -> None:
        """Serve the data: pipelining costs no extra turn, unless there is very much of it."""
        session = self.session
        if session is None or session.closing:
            return
        if len(data) > PORTION_BYTES and len(data) > self._parser.lacking:
            self._pause("portions")
            starts = range(0, len(data), PORTION_BYTES)
            self._portions.extend([data[at : at + PORTION_BYTES] for at in starts])
            data = self._portions.popleft()
            self._server.loop.call_soon(self._next_portion)
        self._take(session, data)

    def _next_portion(self) -> None:
        """Go on with what was read; the system is asked for more when that is done."""
        session = self.session
        if session is None or session.closing:
            self._portions.clear()
            return
        portions = self._portions
        self._take(session, portions.popleft())
        while portions and len(portions[0]) <= self._parser.lacking and not session.closing:
            self._take(session, portions.popleft())
        if portions:
            self._server.loop.call_soon(self._next_portion)
        else:
            self._resume("portions")

    def _take(self, session: Session, data: bytes) -> None:
        """Run every complete request of the data."""
        turns = self._turns
        turns.touch(session)
        self._stats.bytes_in += len(data)
        session.last_active = turns.moment
        requests = self._parser.receive(data)
        if session.waiting:
            session.backlog.extend(requests)
            self._unserved += len(data)
            if self._unserved > BACKLOG_BYTES or len(session.backlog) > BACKLOG_REQUESTS:
                self._pause("backlog")
        else:
            self._receive(session, requests)
        if self._parser.error is not None:
            self._refuse_garbage(session)
        if self._parser.pending:
            self.check_query(session)

    def check_query(self, session: Session) -> None:
        """Cut a client whose request in the making, with what MULTI has queued, is too large, or
        with which all clients together are."""
        size = self._parser.pending
        if session.transaction is not None:
            size += session.transaction.size
        if size > self._server.options.client_query_buffer_limit:
            self._stats.query_limit_disconnections += 1
            log.warning("client %s sends too much, %d bytes wait: closing", self.address, size)
            self.abort()
        else:
            self._server.client_memory.note(session)

    def _refuse_garbage(self, session: Session) -> None:
        """The client does not speak the protocol: say so, and let it go."""
        error = self._parser.error
        assert error is not None
        if session.waiting:
            return
        session.out.append(encoding.error(error.text))
        self.close_after_replies(session)

    def eof_received(self) -> bool:
        """The client sends no more: serve what it has sent, then close.

        One that is blocked is gone, as in Redis: nothing may be taken for it any more.
        """
        session = self.session
        self.has_ended = True
        if session is None or self._server.dispatcher.is_parked(session):
            return False  # the transport closes
        if not session.waiting:
            self.close_after_replies(session)
        return not self.is_secure  # TLS has no half that stays open

    def close_after_replies(self, session: Session) -> None:
        """Close at the end of the turn, or when the replies that wait for a commit are sent."""
        session.closing = True
        self._turns.touch(session)

    @property
    def is_alive(self) -> bool:
        """Whether somebody is there to read a reply; asks the system, as it may know more."""
        return not (self.has_ended or self._transport.is_closing() or self._shows(_ENDED))

    @property
    def is_broken(self) -> bool:
        """Whether nothing can be sent any more. A client that only sends no more is not broken."""
        return self._transport.is_closing() or self._shows(_BROKEN)

    def _shows(self, events: int) -> bool:
        """Whether the system has seen one of the events at the socket, if there is one."""
        descriptor = self.descriptor
        if descriptor < 0:
            return False
        poll = select.poll()
        poll.register(descriptor, events)
        return bool(poll.poll(0))

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
        self._parser.unauthenticated = False

    def expect_password(self, session: Session) -> None:
        """Only a few commands and small requests until the client has authenticated."""
        session.guards |= MUST_AUTHENTICATE
        self._parser.unauthenticated = True

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
        self._unserved = 0
        self._resume("backlog")
        if self.has_ended and self.session is not None:
            self.close_after_replies(self.session)
        if self._parser.error is not None and self.session is not None:
            self._refuse_garbage(self.session)

    def pause_for_wait(self) -> None:
        """Do not read more until the session no longer waits."""
        self._pause("backlog")

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
    def is_paused(self) -> bool:
        """Whether the client is not read at present, so that its end would go unnoticed."""
        return bool(self._pauses)

    @property
    def is_secure(self) -> bool:
        """Whether the client speaks TLS."""
        return self._transport.get_extra_info("sslcontext") is not None

    @property
    def certified_name(self) -> str:
        """Whom the client's certificate names, if it has shown one that is believed."""
        return tls.common_name(self._transport.get_extra_info("peercert"))

    @property
    def is_local(self) -> bool:
        """Whether the client came by a unix socket or the loopback interface, as Redis sees it."""
        peer = self._transport.get_extra_info("peername")
        return not isinstance(peer, tuple) or peer[0] in LOOPBACK

    @property
    def descriptor(self) -> int:
        """The number of the socket, -1 once it is closed."""
        sock = self._transport.get_extra_info("socket")
        return sock.fileno() if sock is not None else -1

    @property
    def unsent(self) -> int:
        """Bytes that wait in the output buffer."""
        return self.queued + self._transport.get_write_buffer_size()

    @property
    def unparsed(self) -> int:
        """Bytes that were read and are no whole requests yet."""
        rest = sum(map(len, self._portions)) if self._portions else 0
        return self._parser.pending + rest

    def abort(self) -> None:
        """Cut the connection without sending what waits. The client is gone from now on."""
        if self.session is not None:
            self.session.closing = True
            self._server.forget(self.session)
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
