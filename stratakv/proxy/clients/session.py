"""A session: what the server knows of one client between its commands."""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.locks import Lock
from stratakv.encodings.keyspace.txn import Txn, Uncovered
from stratakv.encodings.keyspace.txns import Txns
from stratakv.errors import CommandError
from stratakv.proxy.access.users import User
from stratakv.proxy.clients.pubsub import SUBSCRIBED as SUBSCRIBED
from stratakv.proxy.clients.realms import Realm
from stratakv.proxy.clients.transactions import Transaction, Watches
from stratakv.proxy.wire.encoding import RESP2, RESP3, Encoding
from stratakv.proxy.wire.replies import NO_REPLY, Reply
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.clients.connection import Connection
    from stratakv.proxy.clients.tracking import Tracker
    from stratakv.proxy.replication.replicas import Replica
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

MUST_AUTHENTICATE: Final = 1
MUTED: Final = 2
"""CLIENT REPLY OFF or SKIP is in force."""
MONITORING: Final = 4
SKIP_NEXT: Final = 8
"""CLIENT REPLY SKIP was the last command."""
SKIP_THIS: Final = 16
"""The reply of the current command is skipped."""
QUEUEING: Final = 32
"""Between MULTI and EXEC."""
REPLICA: Final = 128
"""The client is sent the stream of what is written."""
FROM_MASTER: Final = 256
"""The client is the master that this server follows."""
RESTRICTED: Final = 512
"""The client's user may not do everything."""
TRACKING: Final = 1024
"""The client is to be told of changes of keys (client-side caching)."""
UNTOUCHING: Final = 2048
"""What the client reads is no use of its keys (CLIENT NO-TOUCH)."""
UNUSUAL: Final = -513
"""All bits but RESTRICTED, as a number that mypyc knows at compile time: a request that is allowed
is served as any other."""


class Profile:
    """What a client has said of itself and asked for; RESET begins anew."""

    __slots__ = ("accepts_replicas", "name", "no_evict", "reply_mode")

    def __init__(self) -> None:
        self.name = b""
        self.no_evict = False
        self.reply_mode = b"ON"
        self.accepts_replicas = False
        """READONLY, in a cluster."""


class Session:
    """One client. Grouped by lifetime: the connection, what commands set, the current turn.

    `txn` is the database's, shared with all clients: what lives for one command is in the Txn only
    while that runs, and whoever put it there takes it away (see dispatch.py, promises 2 and 3).
    """

    def __init__(self, server: "Server", connection: "Connection", number: int) -> None:
        self.server = server
        self.connection = connection
        self.id = number
        self.created = time.time()
        self.last_active = time.monotonic()

        self.realm: Realm = server.realms.first
        """What it shares with the others of its namespace."""
        self.realm.clients += 1
        self.txns: Txns = self.realm.txns
        """The Txns of the databases: those of its realm, but for what comes from a master."""
        self.txn: Txn = self.txns.at(0)
        self.encoding: Encoding = RESP2
        self.profile = Profile()
        self.user: User = server.logins.users.default
        self.is_authenticated = False
        """Whether it has shown who it is, or did not have to when it came."""
        self.library_name = b""
        self.library_version = b""
        self.guards = 0
        self.last_command = ""
        self.slot = -1
        """In a cluster that of the keys that the running command names, -1 if it names none."""
        self.request: Request = []
        """The command on the connection or the server that runs, as the client spelt it."""

        self.unit: Txn | None = None
        """The Txn that a running EXEC or script began with."""
        self.renew: Callable[[], Txn] | None = None
        """Commits a part of the unit that runs in slices; gives the Txn that it goes on in."""
        self.lock: Lock | None = None
        """What the long command that runs has locked."""
        self.replica: Replica | None = None
        """What a replica has told of itself, and what it is sent."""
        self.has_written = False
        """Whether it has written something that replicas are told of."""
        self.transaction: Transaction | None = None
        self.watches = Watches(server)
        self.tracker: Tracker | None = None
        """What it wants to hear of keys that change, if anything."""
        self.untouched: list[tuple[Database, bytes, int]] = []
        """When the keys were last used that the running command names, if it is no use of them."""
        self.shown: list[Reply] = []
        """Commands of the running unit that MONITOR is to show."""

        self.out: list[bytes] = []
        self.marks: list[int] = []
        """Where in `out` the replies of write commands stand."""
        self.interjections: list[bytes] | None = None
        """Pushes that came in the middle of a long reply, and wait for its end."""
        self.backlog: deque[Request] = deque()
        self.waiting = False
        self.held = 0
        """Commits that replies of this client still wait for."""
        self.needs_commit = False
        self.closing = False

    @property
    def resp3(self) -> bool:
        """Whether the client asked for RESP3."""
        return self.encoding is RESP3

    def select(self, index: int) -> None:
        """Use another database; within a unit of work, another Txn of the same unit."""
        if self.needs_commit:
            self.server.turns.leaves(self)
        self.txn = self.txns.at(index) if self.unit is None else self.unit.sibling(index)

    def enter(self, realm: Realm) -> None:
        """Be in another realm from now on: what it had in the one before is gone.

        Requires: no unit of work runs, nor is one being queued.
        """
        if realm is self.realm:
            return
        self.realm.pubsub.forget(self)
        self.watches.clear()
        self.server.tracking.end(self)
        self.server.dispatcher.guards.unwatch(self)
        self.guards &= ~MONITORING
        self.realm.clients -= 1
        realm.clients += 1
        self.realm = realm
        self.txns = realm.txns
        self.txn = self.txns.at(0)

    def begin_unit(self) -> None:
        """Several commands follow that are one unit of work: EXEC, or a script."""
        self.unit = self.txn
        self.txn.later = []
        self.txn.in_unit = True
        self.shown.clear()

    def begin_next_part(self) -> None:
        """A database is about to change as a whole, within a unit of work: commit the part before.

        From there on the unit cannot begin anew, so it has to run in slices already.
        """
        if self.renew is None:
            raise Uncovered
        index = self.txn.db.index
        self.unit = self.renew()
        self.unit.in_unit = True
        self.select(index)

    def end_unit(self) -> None:
        """The unit is over; the database that it selected stays selected."""
        if self.unit is not None and not self.unit.later:
            self.unit.later = None
        if self.unit is not None:
            self.unit.in_unit = False
        self.unit = None
        self.txn = self.txns.at(self.txn.db.index)

    def end_transaction(self) -> None:
        """Back to normal after EXEC or DISCARD."""
        self.transaction = None
        self.guards &= ~QUEUEING
        self.watches.clear()

    def reply(self, value: Reply) -> None:
        """Add a reply to this turn's output, unless CLIENT REPLY has muted the client."""
        if self.guards & (REPLICA | FROM_MASTER):
            self._answer_link(value)
        if not self.guards & MUTED:
            self.out.append(self.encoding.encode(value))
        elif self.marks and self.marks[-1] == len(self.out):
            self.marks.pop()  # there is no reply that a failed commit could replace
        if self.guards & TRACKING:
            self.server.tracking.command_ends(self)
        if self.guards & UNTOUCHING:
            self.leave_untouched()

    def leave_untouched(self) -> None:
        """The command that ran was no use of the keys that it named."""
        for database, key, used in self.untouched:
            database.set_last_use(key, used)
        self.untouched.clear()

    def _answer_link(self, value: Reply) -> None:
        """A replica, or the master, is not answered: an error is strange, and a replica that asks
        for answers is none."""
        if isinstance(value, CommandError):
            self.server.stats.unexpected_errors += 1
        if self.guards & REPLICA and value is not NO_REPLY:
            log.warning("replica %s sends what is answered: closing", self.connection.address)
            self.connection.abort()

    def push(self, value: Reply) -> None:
        """Send something outside the order of replies, and see that it leaves this turn."""
        if self.guards & REPLICA:
            self._answer_link(value)
        self.interject(self.encoding.encode(value))

    def interject(self, frame: bytes) -> None:
        """`push` for what is encoded already; never in the middle of a long reply."""
        if self.interjections is None:
            self.out.append(frame)
        else:
            self.interjections.append(frame)
            self.connection.queued += len(frame)
            self.server.output_limits.check(self.connection)
        self.server.turns.touch(self)

    def begin_command(self) -> None:
        """A command is about to get its reply: move CLIENT REPLY SKIP on by one."""
        if self.guards & SKIP_NEXT:
            self.guards ^= SKIP_NEXT | SKIP_THIS
        elif self.guards & SKIP_THIS:
            self.guards &= ~(SKIP_THIS | MUTED)

    def mark_write(self) -> None:
        """The reply to come belongs to a write: it waits for the commit, and falls with it."""
        self.needs_commit = True
        if not self.marks or self.marks[-1] != len(self.out):
            self.marks.append(len(self.out))

    def answer_later(self, value: Reply) -> None:
        """The end of a wait for an answer: reply, and go on with what came meanwhile."""
        pipelines = self.server.dispatcher.pipelines
        pipelines.answered(self)
        self.reply(value)
        self.server.turns.touch(self)
        pipelines.resume(self)

    def reset(self) -> None:
        """RESET: everything that commands set, as at the start."""
        self.txn = self.txns.at(0)
        self.encoding = RESP2
        self.profile = Profile()
        self.guards = 0
        self.server.logins.welcome(self)
