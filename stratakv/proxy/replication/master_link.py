"""The link to the master: connect, introduce, sync, follow, and again whenever it breaks.

Every end of the link has a reason, which is logged once and shown by INFO until the next success.
New tries come after a pause that grows from a tenth of a second to a few.
"""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import time
from typing import TYPE_CHECKING, Final

from stratakv.encodings.layout.positions import Position
from stratakv.options import BadOption
from stratakv.proxy.clients import tls
from stratakv.proxy.replication.dump_load import DumpLoad
from stratakv.proxy.replication.feed import Feed
from stratakv.proxy.replication.handshake import (
    LONGEST_LINE,
    Answer,
    Handshake,
    LinkFailed,
    address_of,
)
from stratakv.proxy.replication.master_session import MasterSession
from stratakv.proxy.wire.packing import packed_size, request
from stratakv.proxy.wire.requests import Request, RequestParser

if TYPE_CHECKING:
    from stratakv.proxy.replication.replication import Replication
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

READ_BYTES: Final = 1 << 16
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 3.0
ACK_SECONDS: Final = 1.0
NOT_YET: Final = "not connected yet"
PROGRESS_SECONDS: Final = 5.0


class MasterLink:
    """Follows one master until it is stopped."""

    def __init__(
        self, server: "Server", replication: "Replication", target: str, *, takes_over: bool
    ) -> None:
        self._server = server
        self._replication = replication
        self._feed: Feed = replication.feed
        self.target = target
        self.address = address_of(target)
        self.takes_over = takes_over
        """Whether the other side is to become the master by our coming."""
        self.has_failed = False
        self.is_up = False
        self.state = "connect"
        """In Redis's words, as ROLE tells it."""
        self.reason = NOT_YET
        """Why it is not up."""
        self.down_since = time.monotonic()
        self.last_io = time.monotonic()
        self.dump: DumpLoad | None = None
        """What is being loaded, during a full sync."""
        self.session: MasterSession | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._stopped = False
        self._is_dropped = False
        """Whether it was we who ended the connection, for a reason that was told."""
        self._acked_at = 0.0
        self._told_at = 0.0
        """When the log was told how far a full sync is."""
        self._begins_at = 0
        """The offset at which the stream of this connection began."""
        self._received = 0
        """Bytes of the stream, and how many of them whole requests are made of."""
        self._parsed = 0
        self._task: asyncio.Task[None] | None = None

    def start(self, after: "MasterLink | None") -> None:
        """Follow from now on, once an earlier link has come to its end."""
        self._task = self._server.loop.create_task(self._follow(after))

    def stop(self) -> None:
        """Follow no longer. A unit that runs comes to its end."""
        self._stopped = True
        self.is_up = False
        self.reason = "stopped"
        if self.session is not None:
            self.session.is_stopped = True
        self._hang_up()

    def abandon(self) -> None:
        """A commit was refused: ask again for what is not applied, when the store accepts it."""
        if self.session is not None:
            self.session.is_abandoned = True
        self.drop(self._refusal)

    @property
    def _refusal(self) -> str:
        """Why nothing can be applied; nothing if it can."""
        refusal = self._server.dispatcher.guards.refusal
        return f"the store refuses writes: {refusal}" if refusal else ""

    def drop(self, reason: str) -> None:
        """End the connection; a new one follows."""
        self._failed(reason)
        self._is_dropped = True
        if self.session is not None:
            self.session.is_stopped = True
        self._hang_up()

    @property
    def read_offset(self) -> int:
        """How far the master's stream was read; not all of that may be applied."""
        if self.session is None:
            return self._feed.position.offset
        return self._begins_at + self._received

    @property
    def is_busy(self) -> bool:
        """Whether a unit of the master runs."""
        return self.session is not None and self.session.is_busy

    def tick(self) -> None:
        """Tell the master how far we are, once a second, and the log how far a full sync is."""
        now = time.monotonic()
        if self.dump is not None and now >= self._told_at + PROGRESS_SECONDS:
            self._told_at = now
            log.warning("full sync: %s", self.dump.progress())
        if now >= self._acked_at + ACK_SECONDS:
            if self.is_up:
                self.acknowledge()
            elif self.dump is not None and self._writer is not None:
                self._acked_at = now
                self._writer.write(b"\n")

    def acknowledge(self) -> None:
        """Tell the master up to where everything is in our store."""
        self._acked_at = time.monotonic()
        if self._writer is not None and self.is_up:
            self._writer.write(request(b"REPLCONF", b"ACK", b"%d" % self._feed.sent))

    # the life of the link

    async def _follow(self, after: "MasterLink | None") -> None:
        if after is not None and after._task is not None:
            await asyncio.wait([after._task])
        pause = FIRST_PAUSE_SECONDS
        while not self._stopped:
            began = time.monotonic()
            try:
                await self._follow_once()
            except (LinkFailed, BadOption) as failure:
                self._failed(str(failure))
            except (OSError, TimeoutError, ssl.SSLError, asyncio.IncompleteReadError) as error:
                self._failed(str(error) or type(error).__name__)
            except Exception:
                log.exception("following the master failed")
                self._failed("an error of our own; see the log")
            finally:
                self._let_go()
            if time.monotonic() - began > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            if not self._stopped:
                await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _failed(self, reason: str) -> None:
        if self._stopped or self._is_dropped:
            return
        if self.is_up or reason != self.reason:
            log.warning("no link to the master %s: %s", self.address, reason)
        self.reason = reason
        self.has_failed = True

    def _let_go(self) -> None:
        if self.is_up:
            self.down_since = time.monotonic()
        self.is_up = False
        self.state = "connect"
        self.dump = None
        self._hang_up()
        if self.session is not None:
            self.session.close()
            self.session = None
        self._replication.link_changed()

    def _hang_up(self) -> None:
        """End the connection at once: the transport closes its socket when the loop goes on, but
        the master should hear of it even if something keeps the loop."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(Exception):
                descriptor = os.dup(writer.get_extra_info("socket").fileno())
                with socket.socket(fileno=descriptor) as same:
                    same.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(Exception):
                writer.transport.abort()

    async def _follow_once(self) -> None:
        self._is_dropped = False
        if self._refusal:
            raise LinkFailed(self._refusal)
        self.state = "connecting"
        source = self._server.options.bind_source_addr
        async with asyncio.timeout(self._server.options.repl_timeout):
            reader, writer = await asyncio.open_connection(
                self.address.host,
                self.address.port,
                ssl=self._tls_context(),
                limit=LONGEST_LINE,
                local_addr=(source, 0) if source else None,
            )
        self._writer = writer
        self.state = "handshake"
        handshake = Handshake(reader, writer, self.address, self._server.options)
        await handshake.introduce(self._server.listeners.port_for_replicas)
        position = self._replication.known_position()
        answer = await handshake.ask_for_stream(position, takes_over=self.takes_over)
        self.takes_over = False
        if answer.is_full:
            rest = await self._sync(handshake, reader, answer)
        else:
            self._continue(answer.id)
            rest = b""
        await self._apply_stream(reader, rest)

    def _tls_context(self) -> ssl.SSLContext | None:
        """How to speak TLS to the master, if its address or `tls-replication` says so."""
        if self._server.options.tls_replication and not self.address.tls:
            return tls.for_master(self._server.options)
        return self.address.tls_context()

    async def _sync(
        self, handshake: Handshake, reader: asyncio.StreamReader, answer: Answer
    ) -> bytes:
        self.state = "sync"
        if self.reason == NOT_YET:  # what has gone wrong before says more
            self.reason = "a full sync is under way"
        log.warning("full sync from the master %s begins", self.address)
        length, mark = await handshake.dump_header()
        dump = DumpLoad(self._server, self._feed, reader, answer, length, mark)
        self.dump = dump
        self._told_at = time.monotonic()
        try:
            await dump.run()
        except LinkFailed as failure:
            if self._is_dropped:  # why, was told; not that the full sync has come to nothing
                log.warning("%s", failure)
            raise
        self.dump = None
        self._replication.loaded_keys = dump.keys
        self._replication.replicas.cut_all("the master has sent everything anew")
        log.warning("full sync from the master: %d bytes loaded", dump.read_bytes)
        return dump.rest

    def _continue(self, id_: bytes) -> None:
        """The master goes on where we are, perhaps under another id."""
        position = self._feed.position
        log.warning("the master goes on from offset %d", position.offset)
        if id_ != position.id:
            moved = Position(
                id_, position.offset, position.id, position.offset + 1, position.database
            )
            self._feed.move(moved)
            self._replication.replicas.cut_all("the id of the history has changed")

    # the stream

    async def _apply_stream(self, reader: asyncio.StreamReader, rest: bytes) -> None:
        if self._stopped:
            return
        host = (self.address.host, self.address.port)
        session = MasterSession(self._server, self._feed, host, lambda: self.drop("cut"))
        session.on_question = self._answer_soon
        self.session = session
        parser = RequestParser(self._server.options.proto_max_bulk_len)
        self._begins_at = self._feed.position.offset
        self._received = self._parsed = 0
        self.is_up = True
        self.state = "connected"
        self.reason = ""
        self._replication.link_changed()
        self.acknowledge()
        data = rest
        while not session.is_stopped:
            if data:
                self.last_io = time.monotonic()
                await session.take(self._parse(parser, data))
            data = await self._next(reader)

    async def _next(self, reader: asyncio.StreamReader) -> bytes:
        if self._refusal:
            raise LinkFailed(self._refusal)
        try:
            async with asyncio.timeout(self._server.options.repl_timeout):
                data = await reader.read(READ_BYTES)
        except TimeoutError:
            raise LinkFailed("the master is silent") from None
        if not data:
            raise LinkFailed("the master has closed the connection")
        return data

    def _parse(self, parser: RequestParser, data: bytes) -> list[Request]:
        """The requests of some data. Their sizes have to add up: offsets count the same bytes."""
        requests = [words for words in parser.receive(data) if words]
        if parser.error is not None:
            raise LinkFailed(f"the master sends nonsense: {parser.error.text.decode('latin-1')}")
        self._received += len(data)
        self._parsed += sum(map(packed_size, requests))
        if parser.is_between and self._parsed != self._received:
            raise LinkFailed("the master sends something else than plain requests")
        return requests

    def _answer_soon(self) -> None:
        """The master asks how far we are: it hears when what we have is in the engine."""
        self._server.turns.flush_now(self.acknowledge)
