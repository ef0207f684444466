"""The replicas of this server: what each has told, what it is sent, how far it is.

A replica is a client that has sent PSYNC or SYNC. It gets a part of the backlog, or a dump of
everything, and from then on every chunk of the stream. One that is not yet ready for the stream has
its chunks queued, and counts like any client that does not read (client-output-buffer-limit).

Invariants
1. A replica is sent each byte of the stream behind its first offset once, in order.
2. Nothing waits for a replica: who is too far behind is cut.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from stratakv.errors import CommandError
from stratakv.proxy.clients.session import MUTED, REPLICA, Session
from stratakv.proxy.replication.feed import GETACK, PING, Feed

if TYPE_CHECKING:
    from stratakv.options import Options

log = logging.getLogger("stratakv")

WAITING: Final = "wait_bgsave"
SENDING: Final = "send_bulk"
ONLINE: Final = "online"


class Replica:
    """One replica. Its states have Redis's names, as INFO shows them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.port = 0
        self.ip = ""
        self.takes_mark = False
        """Whether it can read a dump of unknown length, up to a mark."""
        self.holds_tenants = False
        """Whether it can have namespaces of users: it is one of our own."""
        self.wants_dump_only = False
        self.wants_keys = self.wants_functions = True
        """What the dump is to have."""
        self.state = WAITING
        self.acknowledged = 0
        """The offset up to which it has everything."""
        self.acknowledged_at = time.monotonic()
        self._cursor = 0
        """The offset behind the last byte that was sent or queued."""
        self._queue: list[bytes] = []

    def filter_dump(self, filters: Sequence[bytes]) -> None:
        """The dump is to have nothing but what is named; raises for what cannot be."""
        self.wants_keys = self.wants_functions = False
        for name in filters:
            if name.lower() != b"functions":
                raise CommandError(b"ERR Unsupported rdb-filter-only option: %b" % name)
            self.wants_functions = True

    @property
    def needs_mark(self) -> bool:
        """Whether it has asked for a part of the dump, which only those get who know marks."""
        return not (self.takes_mark or (self.wants_keys and self.wants_functions))

    @property
    def address(self) -> str:
        """Its host, as it announces itself or as it is seen."""
        return self.ip or self.session.connection.address.rpartition(":")[0].strip("[]")

    @property
    def lag_seconds(self) -> int:
        """How long ago it was last heard of."""
        return int(time.monotonic() - self.acknowledged_at)

    @property
    def name(self) -> str:
        """As logs call it."""
        return f"{self.address}:{self.port or self.session.connection.address.rpartition(':')[2]}"

    def begin(self, offset: int) -> None:
        """The stream begins behind that offset; what was queued so far is not for it.

        Requires: what has been sent is in the snapshot that has the offset.
        """
        self._cursor = offset
        self._queue.clear()
        self.session.connection.queued = 0

    def take(self, chunk: bytes, end: int) -> None:
        """Send a chunk of the stream that ends at an offset, or keep it until that can be."""
        if end <= self._cursor:
            return
        fresh = chunk[len(chunk) - (end - self._cursor) :]
        self._cursor = end
        connection = self.session.connection
        if self.state == ONLINE:
            connection.send([fresh])
            return
        self._queue.append(fresh)
        connection.queued += len(fresh)
        self.session.server.output_limits.check(connection)

    def go_online(self) -> None:
        """It is ready for the stream: send what has waited."""
        self.state = ONLINE
        self.acknowledged_at = time.monotonic()
        queue, self._queue = self._queue, []
        connection = self.session.connection
        connection.queued = 0
        for chunk in queue:
            connection.send([chunk])


class Replicas:
    """All replicas, and who waits for them."""

    def __init__(self, feed: Feed, options: "Options") -> None:
        self._feed = feed
        self._options = options
        self._known: dict[int, Replica] = {}
        self.on_change: Callable[[], None] = lambda: None
        """Called when a replica has come, gone or acknowledged."""
        self.last_seen = time.monotonic()
        """When there was last a replica."""
        self._pinged_at = 0.0
        self._asked_at = -1
        """The offset for which acknowledgements were last asked."""
        feed.on_sent = self._distribute

    def __len__(self) -> int:
        return len(self._known)

    def all(self) -> list[Replica]:
        """In the order in which they came."""
        return list(self._known.values())

    def online(self) -> list[Replica]:
        """Those that get the stream."""
        return [one for one in self._known.values() if one.state == ONLINE]

    def admit(self, replica: Replica) -> None:
        """A client becomes a replica: from here on it gets no replies."""
        session = replica.session
        session.guards |= REPLICA | MUTED
        replica.acknowledged_at = time.monotonic()
        self._known[session.id] = replica
        self.on_change()

    def forget(self, session: Session) -> None:
        """A client is gone."""
        replica = self._known.pop(session.id, None)
        if replica is not None:
            log.warning("replica %s is gone", replica.name)
            self.last_seen = time.monotonic()
            self.on_change()

    def cut_all(self, reason: str) -> None:
        """What they have may not be what they will be sent: let them begin anew."""
        for replica in self.all():
            log.warning("replica %s is cut: %s", replica.name, reason)
            replica.session.connection.abort()

    def unable(self) -> list[Replica]:
        """Those that cannot have namespaces of users, and follow the stream."""
        return [
            one for one in self._known.values() if not (one.holds_tenants or one.wants_dump_only)
        ]

    def acknowledge(self, replica: Replica, offset: int) -> None:
        """A replica says how far it is."""
        replica.acknowledged = max(offset, replica.acknowledged)
        replica.acknowledged_at = time.monotonic()
        self.on_change()

    def have(self, offset: int) -> int:
        """How many replicas have everything up to an offset."""
        return sum(one.acknowledged >= offset for one in self.online())

    @property
    def good(self) -> int:
        """How many replicas were heard of lately (min-replicas-max-lag)."""
        most = self._options.min_replicas_max_lag
        return sum(one.lag_seconds <= most for one in self.online())

    def ask(self) -> None:
        """Ask all replicas how far they are, once for each place of the stream."""
        offset = self._feed.position.offset
        if self._known and offset != self._asked_at:
            self._feed.insert(GETACK)
            self._asked_at = self._feed.position.offset

    def ping(self) -> None:
        """Give a sign of life if it is time, so that replicas know that this server is there."""
        now = time.monotonic()
        if self._known and now >= self._pinged_at + self._options.repl_ping_replica_period:
            self._pinged_at = now
            self._feed.insert(PING)

    def check_silent(self) -> None:
        """Cut replicas that were not heard of for too long."""
        oldest = time.monotonic() - self._options.repl_timeout
        for replica in self.all():
            if replica.state == ONLINE and replica.acknowledged_at < oldest:
                log.warning("replica %s is silent: closing", replica.name)
                replica.session.connection.abort()

    def _distribute(self, chunk: bytes) -> None:
        end = self._feed.sent
        for replica in self.all():
            replica.take(chunk, end)
