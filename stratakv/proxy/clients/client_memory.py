"""What clients take of memory, and `maxmemory-clients`: beyond it the largest are cut.

While the option is 0 nothing is counted. Else a client is measured when its part grows (a request
in the making, a transaction, replies that it does not read), and all of them in turn, some with
every tick, for what grows or shrinks otherwise.
"""

import logging
from itertools import islice
from typing import TYPE_CHECKING, Final

from stratakv.proxy.clients.session import FROM_MASTER, REPLICA, SUBSCRIBED, Session

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

CLIENT_BYTES: Final = 4600
"""A client that does nothing: its session, parser, connection and socket (measured)."""
ARGUMENT_BYTES: Final = 33
"""What an argument takes besides its bytes."""
MEASURED_AT_ONCE: Final = 500
"""Clients that are looked at in a tick: half a millisecond."""
_SPARED: Final = REPLICA | FROM_MASTER


def request_memory(session: Session) -> int:
    """Requests that wait to be run, or run, as they are in memory."""
    return sum(
        sum(map(len, request)) + ARGUMENT_BYTES * len(request) for request in session.backlog
    )


def transaction_memory(session: Session) -> int:
    """What MULTI has queued, and what WATCH looks after."""
    queued = session.transaction.size if session.transaction is not None else 0
    return queued + session.watches.bytes


def total_memory(session: Session) -> int:
    """All that a client takes of memory. Of most only the first line is more than nothing, and INFO
    asks for all of them."""
    connection = session.connection
    total = CLIENT_BYTES + connection.unparsed + connection.unsent
    if session.backlog:
        total += request_memory(session)
    if session.transaction is not None or session.watches.bytes:
        total += transaction_memory(session)
    if session.guards & SUBSCRIBED:
        total += session.realm.pubsub.bytes_of(session)
    if session.tracker is not None:
        total += session.tracker.prefix_bytes + session.tracker.pending_bytes
    return total


class ClientMemory:
    """How much all clients take, and who has to go."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self.limit = 0
        self._sizes: dict[Session, int] = {}
        """As they were last measured."""
        self._total = 0
        self._next = 0
        """Which of the sessions is measured next."""
        self._rests = False
        """Nobody was found who may be cut: not before the next tick is it tried again."""

    def choose(self) -> None:
        """Take the limit of the options."""
        options = self._server.options
        text = options.maxmemory_clients
        is_share = text.endswith("%")
        self.limit = options.maxmemory * int(text[:-1]) // 100 if is_share else int(text)
        self._sizes.clear()
        self._total = 0
        if self.limit:
            for session in list(self._server.sessions.values()):
                self._measure(session)
            self._cut_largest()

    def note(self, session: Session) -> None:
        """The part of a client may have grown. It may be cut, as may any other."""
        if self.limit and session.id in self._server.sessions:
            self._measure(session)
            if self._total > self.limit and not self._rests:
                self._cut_largest()

    def look(self) -> None:
        """Measure some of the clients, all in turn."""
        if not self.limit:
            return
        self._rests = False
        sessions = self._server.sessions
        if self._next >= len(sessions):
            self._next = 0
        for session in list(islice(sessions.values(), self._next, self._next + MEASURED_AT_ONCE)):
            self._measure(session)
        self._next += MEASURED_AT_ONCE
        if self._total > self.limit:
            self._cut_largest()

    def forget(self, session: Session) -> None:
        """A client is gone."""
        self._total -= self._sizes.pop(session, 0)

    def _measure(self, session: Session) -> None:
        size = total_memory(session)
        self._total += size - self._sizes.get(session, 0)
        self._sizes[session] = size

    def _cut_largest(self) -> None:
        for session in [one for one, size in self._sizes.items() if size > 2 * CLIENT_BYTES]:
            self._measure(session)  # it may be less by now
        while self._total > self.limit:
            victims = [one for one in self._sizes if _may_be_cut(one)]
            if not victims:
                self._rests = True
                return
            self._cut(max(victims, key=self._sizes.__getitem__))

    def _cut(self, session: Session) -> None:
        size = self._sizes[session]
        log.warning(
            "client %s takes %d bytes, and all together more than maxmemory-clients: closing",
            session.connection.address,
            size,
        )
        self._server.stats.evicted_clients += 1
        self.forget(session)
        session.connection.abort()


def _may_be_cut(session: Session) -> bool:
    return not (session.profile.no_evict or session.guards & _SPARED)
