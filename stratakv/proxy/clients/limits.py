"""client-output-buffer-limit: when a client that does not read what it is sent is cut.

Each class of clients has a hard limit, at which a client is cut at once, and a soft one, which it
may be above for some seconds. A limit of 0 is none.
"""

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from stratakv.options import Effects
from stratakv.proxy.clients.session import REPLICA, SUBSCRIBED, Session

if TYPE_CHECKING:
    from stratakv.proxy.clients.connection import Connection
    from stratakv.proxy.observe.stats import Stats

log = logging.getLogger("stratakv")


class Limit(NamedTuple):
    """The limits of one class."""

    hard: int
    soft: int
    seconds: int


def _class_of(session: Session | None) -> str:
    """Redis's class of a client, by its name in the option."""
    if session is None:
        return "normal"
    if session.guards & REPLICA:
        return "slave"
    return "pubsub" if session.guards & SUBSCRIBED else "normal"


def _reaching(limit: Limit, backlog_bytes: int) -> Limit:
    """A replica may be behind by the whole backlog, or it could never go on from there."""
    return limit._replace(hard=max(limit.hard, backlog_bytes)) if limit.hard else limit


class OutputLimits:
    """Watches the clients that are behind with their reading."""

    def __init__(self, text: str, stats: "Stats") -> None:
        self._stats = stats
        self._limits: dict[str, Limit] = {}
        self._above_soft: dict[Connection, float] = {}
        """Clients above their soft limit, and since when."""
        self.set(text)

    @property
    def effects(self) -> Effects:
        """What setting its option does."""
        return {"client-output-buffer-limit": self.set}

    def set(self, text: str) -> None:
        """Take the limits of the option's text."""
        words = text.split()
        self._limits = {
            words[at]: Limit(int(words[at + 1]), int(words[at + 2]), int(words[at + 3]))
            for at in range(0, len(words), 4)
        }

    def check(self, connection: "Connection") -> None:
        """Cut a client that is too far behind."""
        session = connection.session
        limit = self._limits.get(_class_of(session))
        if limit is not None and session is not None and session.guards & REPLICA:
            limit = _reaching(limit, session.server.options.repl_backlog_size)
        if limit is not None and self._is_exceeded(connection, limit):
            self._stats.output_limit_disconnections += 1
            log.warning(
                "client %s does not read its replies, %d bytes wait: closing",
                connection.address,
                connection.unsent,
            )
            connection.abort()
        elif session is not None:
            session.server.client_memory.note(session)

    def check_again(self) -> None:
        """Look again at the clients above their soft limits; the time is up for some."""
        for connection in list(self._above_soft):
            self.check(connection)

    def forget(self, connection: "Connection") -> None:
        """The client is gone."""
        self._above_soft.pop(connection, None)

    def _is_exceeded(self, connection: "Connection", limit: Limit) -> bool:
        unsent = connection.unsent
        if limit.hard and unsent > limit.hard:
            return True
        if not limit.soft or unsent <= limit.soft:
            self._above_soft.pop(connection, None)
            return False
        now = time.monotonic()
        return now - self._above_soft.setdefault(connection, now) > limit.seconds
