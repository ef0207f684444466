"""What a master sends, run as its commands: a session whose requests come from the stream.

The stream is made of units: a command, or all from MULTI to EXEC. A unit runs like any other
command, through the dispatcher, in slices if it is long; runs of the same command are served as
streaks, like those of a client. Where the stream stands afterwards joins the commit of its effects,
so after a crash the next unit is the one that was not applied.

Keys are not expired here: the master has decided what was there when it ran the command, and tells
by DEL what no longer is.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stratakv.clock import Timeless
from stratakv.encodings.keyspace.keyspace import Effect
from stratakv.encodings.keyspace.txns import Txns
from stratakv.proxy.clients.connection import Connection
from stratakv.proxy.clients.session import FROM_MASTER
from stratakv.proxy.replication.feed import Feed
from stratakv.proxy.run.guards import FOLLOWING
from stratakv.proxy.table.registry import CALLED, Command
from stratakv.proxy.wire.packing import MANY, Packing, pack, pack_all
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

SLICE_SECONDS: Final = 0.002
"""How long the stream is applied before others are served."""
_MOST_COMPLAINTS: Final = 20


class _NoSocket(asyncio.Transport):
    """The other side of the session's connection: replies to a master are not sent."""

    def __init__(self, address: tuple[str, int], resumed: Callable[[], None]) -> None:
        super().__init__({"peername": address})
        self._resumed = resumed
        self._closing = False
        self.on_close: Callable[[], None] = _nobody

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """A reply goes nowhere."""

    def get_write_buffer_size(self) -> int:
        """Nothing waits."""
        return 0

    def is_closing(self) -> bool:
        """Whether the connection has ended."""
        return self._closing

    def pause_reading(self) -> None:
        """The session waits."""

    def resume_reading(self) -> None:
        """The session goes on."""
        self._resumed()

    def close(self) -> None:
        """End the link to the master."""
        if not self._closing:
            self._closing = True
            self.on_close()

    def abort(self) -> None:
        """As `close`."""
        self.close()


class MasterSession:
    """Applies the stream of a master, unit by unit."""

    def __init__(
        self, server: "Server", feed: Feed, address: tuple[str, int], on_close: Callable[[], None]
    ) -> None:
        self._server = server
        self._feed = feed
        self._resumed: asyncio.Future[None] | None = None
        self._unit: list[bytes] | None = None
        """The unit that runs and is not in the stream yet, packed as it came."""
        self._gathered: list[Request] = []
        """The commands since MULTI."""
        self._complaints = 0
        self.on_question: Callable[[], None] = lambda: None
        """Called when the master asks how far we are."""
        self.is_stopped = False
        """Whether no further unit is to be applied."""
        self.is_abandoned = False
        """Whether a commit was refused: units that ran before have not happened."""
        self._transport = transport = _NoSocket(address, self._go_on)
        transport.on_close = on_close
        connection = Connection(server)
        self.session = server.make_session(connection)
        connection.stand_for(transport, self.session)
        clock = Timeless()
        self.session.txns = Txns(server.keyspace, clock=clock)
        server.logins.exempt(self.session)
        self.session.guards |= FROM_MASTER
        database = max(0, feed.position.database)
        self.session.select(database if server.keyspace.has_database(database) else 0)
        feed.follow(self._applied)

    def close(self) -> None:
        """Nothing more comes. Requires: no unit runs."""
        self._transport.on_close = _nobody  # the next link is not to hear of this one's end
        self.session.closing = True
        self._server.forget(self.session)

    @property
    def is_busy(self) -> bool:
        """Whether a unit runs, or waits for others to end."""
        return self._unit is not None

    async def take(self, requests: list[Request]) -> None:
        """Apply requests in order, as far as they make whole units."""
        began = time.perf_counter()
        at = 0
        while at < len(requests):
            if time.perf_counter() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
            if self.is_stopped:
                return
            served = self._apply_run(requests, at)
            at += served or 1
            if served:
                continue
            unit = self._unit_with(requests[at - 1])
            if unit:
                await self._apply(unit)

    def _unit_with(self, request: Request) -> list[Request]:
        """The unit that a request completes; nothing if it does not."""
        word = request[0].upper()
        if not self._gathered and word != b"MULTI":
            return [request]
        self._gathered.append(request)
        if word != b"EXEC":
            return []
        unit, self._gathered = self._gathered, []
        return unit

    def _apply_run(self, requests: list[Request], at: int) -> int:
        """Apply a run of the same command at one go, if it can be; says how many that were.

        They join the stream with their effects, before anything else can be written.
        """
        entry = self._streak_of(requests, at)
        if entry is None or entry.streak is None:
            return 0
        session = self.session
        began = time.perf_counter()
        self._server.turns.touch(session)
        served = entry.streak(session, requests, at)
        if served:
            packed: list[bytes] = []
            pack_all([*requests[at : at + served]], packed)
            self._feed.pass_on(packed, session.txn.db.index)
            entry.count(time.perf_counter() - began, served)
            session.out, session.marks = [], []
        return served

    def _streak_of(self, requests: list[Request], at: int) -> Command | None:
        """The command that is sent again and again from there on, if nothing is unusual."""
        request, following = requests[at], requests[at + 1 : at + 2]
        if not following or following[0][0] != request[0] or self._gathered or self.is_abandoned:
            return None
        server = self._server
        is_usual = server.dispatcher.guards.bits == FOLLOWING
        if not is_usual or self.session.guards != FROM_MASTER or not server.keyspace.is_unobserved:
            return None
        entry = CALLED.get(request[0].lower())
        if entry is None or not entry.min_args <= len(request) <= entry.max_args:
            return None
        return entry if entry.is_write else None

    async def _apply(self, unit: list[Request]) -> None:
        session = self.session
        packed = await self._pack(unit)
        self._server.turns.touch(session)
        self._unit = packed
        is_question = unit[0][0].upper() == b"REPLCONF"
        if not is_question:
            self._server.dispatcher.run(session, unit)
            while session.waiting:
                self._resumed = self._server.loop.create_future()
                session.connection.pause_for_wait()
                await self._resumed
        self._look_at_replies(unit)
        if self.is_abandoned:
            self._unit = None  # it was refused, or is in the stream already
            return
        self._applied([])
        if is_question:
            self.on_question()

    async def _pack(self, unit: list[Request]) -> list[bytes]:
        """The bytes of a unit; others are served if there are many."""
        packed: list[bytes] = []
        for request in unit:
            if len(request) <= MANY:
                pack(request, packed)
                continue
            steps = Packing(request)
            while not steps.step(packed):
                await asyncio.sleep(0)
        return packed

    def _go_on(self) -> None:
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)

    def _applied(self, effects: list[Effect]) -> None:
        """The unit that runs is applied, or has come to its end: it joins the stream, once."""
        unit, self._unit = self._unit, None
        if unit is None:
            return
        if self.is_abandoned:
            self._feed.renew()  # it has waited, and what came before was refused: no such history
        else:
            self._feed.pass_on(unit, self.session.txn.db.index)

    def _look_at_replies(self, unit: list[Request]) -> None:
        """A master's command that fails here means that the two differ: say so."""
        session = self.session
        out, session.out = session.out, []
        session.marks.clear()
        if out and out[-1].startswith(b"-") and self._complaints < _MOST_COMPLAINTS:
            self._complaints += 1
            name = b" ".join(unit[0][:2])[:80].decode("latin-1")
            log.error(
                "== CRITICAL == a command of the master failed here: %s: %s",
                name,
                out[-1][1:-2].decode(),
            )


def _nobody() -> None:
    """Nobody wants to know."""
