"""Blocking commands: a client that waits for a key, and is served in the order of arrival.

A handler that finds nothing raises `WouldBlock`. The client is parked; when a command changes one
of its keys, the client is served before any other command runs: by the function that it left for
that, or else by the same handler. Whoever waited longest for a key is served first.

Invariants
1. A parked client is found by itself and by each key that it waits for.
2. Nothing is kept of a client that no longer waits, and no key is listened to for nobody.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from stratakv.errors import CommandError
from stratakv.proxy.wire.replies import Reply
from stratakv.proxy.wire.requests import Request
from stratakv.storage.missing import Answers, TooLong

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.keyspace import Keyspace
    from stratakv.encodings.keyspace.txn import Txn
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.table.registry import Command

WaitedKey = tuple[int, bytes]
Serve = Callable[["Txn", bytes], Reply]

_SAME: Final = object()


class Elsewhere(TooLong):
    """What is asked for is in another group of slots: nothing is done yet, so begin anew there."""

    def __init__(self, slot: int, database: int) -> None:
        super().__init__()
        self.slot = slot
        self.database = database


class WouldBlock(Exception):
    """There is nothing at the keys: wait for them. `seconds` of 0 is for ever.

    `nothing` is the reply when the time is over, or what makes it then. Inside MULTI and scripts,
    which never wait, it is `denied`, or `nothing` if that is not given. `serve` answers for a key
    that has changed, and raises WouldBlock to go on waiting; without it the handler runs again.
    `request` is what to run should the command begin anew, if not the request itself.
    `minds_loss`: it is also to be asked
    when the key is gone.
    """

    def __init__(
        self,
        keys: Sequence[bytes],
        seconds: float,
        nothing: Reply,
        *,
        denied: Reply = _SAME,
        serve: "Serve | None" = None,
        request: Request | None = None,
        minds_loss: bool = False,
    ) -> None:
        super().__init__()
        self.keys = keys
        self.seconds = seconds
        self.nothing = nothing
        self.denied = nothing if denied is _SAME else denied
        self.serve = serve
        self.request = request
        self.minds_loss = minds_loss


class Blocked:
    """A parked client and the command it waits with."""

    __slots__ = (
        "answers",
        "awaited",
        "entry",
        "minds_loss",
        "nothing",
        "places",
        "request",
        "serve",
        "session",
        "timer",
    )

    def __init__(
        self,
        session: "Session",
        entry: "Command",
        request: Request,
        places: list[WaitedKey],
        reason: WouldBlock,
    ) -> None:
        self.session = session
        self.entry = entry
        self.request = reason.request or request
        self.minds_loss = reason.minds_loss
        self.places = places
        self.nothing = reason.nothing
        self.serve = reason.serve
        self.timer: Any = None
        self.answers: dict[WaitedKey, Answers] = {}
        """What was found out to serve it, by the key that had changed."""
        self.awaited: set[WaitedKey] = set()
        """Keys for which something of that is still to come."""

    def let_go(self, place: WaitedKey | None = None) -> None:
        """Nothing that was found out, for that key or for any, is needed any more."""
        for one in list(self.answers) if place is None else [place]:
            answers = self.answers.pop(one, None)
            if answers is not None:
                answers.close()

    def default(self) -> Reply:
        """The reply when the time is over."""
        return self.nothing() if callable(self.nothing) else self.nothing


class BlockedClients:
    """All parked clients, by the keys they wait for, in order of arrival."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, keyspace: "Keyspace", on_ready: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._on_ready = on_ready
        self._watchers = keyspace.watchers
        self._by_place: dict[WaitedKey, dict[int, Blocked]] = {}
        self._by_session: dict[int, Blocked] = {}
        self.ready: dict[WaitedKey, None] = {}
        """Keys that changed since the last `take_ready`, in order."""

    def __len__(self) -> int:
        return len(self._by_session)

    def waiting(self) -> list["Session"]:
        """The clients that are parked."""
        return [blocked.session for blocked in self._by_session.values()]

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        for blocked in self._by_session.values():
            assert all(
                self._by_place[place].get(blocked.session.id) is blocked for place in blocked.places
            ), "blocking 1: a client is not known at a key that it waits for"
        for waiting in self._by_place.values():
            assert waiting, "blocking 2: a key is listened to that nobody waits for"
            assert all(map(self.is_parked, waiting.values())), "blocking 2: a client is left behind"

    @property
    def timed(self) -> int:
        """How many of them wait for a limited time."""
        return sum(one.timer is not None for one in self._by_session.values())

    def park(
        self, session: "Session", entry: "Command", request: Request, reason: WouldBlock
    ) -> None:
        """Let a client wait, unless it has gone: then nothing may be taken for it."""
        session.waiting = True
        if session.connection.has_ended:
            session.connection.close_after_replies(session)
            return
        database = session.txn.db.index
        places = list(dict.fromkeys((database, key) for key in reason.keys))
        blocked = Blocked(session, entry, request, places, reason)
        self._by_session[session.id] = blocked
        for place in places:
            waiting = self._by_place.get(place)
            if waiting is None:
                waiting = self._by_place[place] = {}
                self._watchers.listen(*place, self._changed)
            waiting[session.id] = blocked
        if reason.seconds:
            blocked.timer = self._loop.call_later(reason.seconds, self._time_out, blocked)

    def _changed(self, database: int, key: bytes) -> None:
        self.offer((database, key))

    def offer(self, place: WaitedKey) -> None:
        """Let those who wait for a key be served, if there is something for them."""
        self.ready[place] = None
        self._on_ready()

    def take_ready(self) -> tuple[bytes, list[Blocked]]:
        """The key that changed first, and the clients that wait for it, longest wait first."""
        place = next(iter(self.ready))
        del self.ready[place]
        return place[1], list(self._by_place.get(place, {}).values())

    def is_parked(self, blocked: Blocked) -> bool:
        """Whether the client still waits with that command."""
        return self._by_session.get(blocked.session.id) is blocked

    def find(self, session: "Session") -> Blocked | None:
        """What a client waits with, if it does."""
        return self._by_session.get(session.id)

    def free(self, blocked: Blocked) -> None:
        """The client no longer waits; its reply is somebody else's task."""
        del self._by_session[blocked.session.id]
        for place in blocked.places:
            waiting = self._by_place[place]
            del waiting[blocked.session.id]
            if not waiting:
                del self._by_place[place]
                self._watchers.ignore(*place, self._changed)
        if blocked.timer is not None:
            blocked.timer.cancel()
        if blocked.answers:
            blocked.let_go()

    def _time_out(self, blocked: Blocked) -> None:
        self.release(blocked, blocked.default())

    def all(self) -> list[Blocked]:
        """All that wait."""
        return list(self._by_session.values())

    def release(self, blocked: Blocked, reply: Reply) -> None:
        """End a wait with that reply; the client goes on after the command that runs now."""
        self.free(blocked)
        session = blocked.session
        dispatcher = session.server.dispatcher
        dispatcher.running.count(
            session, blocked.entry, blocked.request, 0.0
        )  # waiting is not work
        session.reply(reply)
        session.server.turns.touch(session)
        dispatcher.pipelines.resume_soon(session)

    def unblock(self, session: "Session", *, with_error: bool) -> bool:
        """CLIENT UNBLOCK: end a client's wait; False if it does not wait."""
        blocked = self.find(session)
        if blocked is None:
            return False
        reply = blocked.default()
        if with_error:
            reply = session.server.dispatcher.running.failed(blocked.entry, _UNBLOCKED)
        self.release(blocked, reply)
        return True

    def turn_away(self, failure: CommandError) -> None:
        """End all waits with an error, and the connections: nothing here may be theirs now."""
        for blocked in self.all():
            session = blocked.session
            self.release(blocked, session.server.dispatcher.running.failed(blocked.entry, failure))
            session.connection.close_after_replies(session)

    def forget(self, session: "Session") -> None:
        """The client is gone."""
        blocked = self.find(session)
        if blocked is not None:
            self.free(blocked)


_UNBLOCKED = CommandError(b"UNBLOCKED client unblocked via CLIENT UNBLOCK")
