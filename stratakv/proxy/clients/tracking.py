"""Client-side caching: who may have a copy of which keys, and is told when they change.

Nothing of it is stored. A client that tracks is either told of the keys that it has read, once for
each, or of all keys with some prefixes. What changes is known from the events of the keyspace, as
far as Redis tells it too, so while nobody tracks none of this is asked.

Promises
1. Whoever was sent a value, and was to hear of its key, hears after the reply that the key has
   changed, has expired or was forgotten here. What a client changes itself it hears behind its
   own reply.
2. What changes while a command of the client itself still works (on a snapshot, or waiting for an
   answer of the tier) is told behind its reply, in which the key may be as it was before.
3. In a unit the order of what is read and changed is kept until it is applied: it may begin anew.
4. Nobody hears of a key that is not in the databases of his own realm.
5. Readers that are remembered are not believed to be there still: numbers of clients are never used
   twice, and who is gone, or tracks no more, is passed by.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.txn import OVERDUE, UNPUBLISHED
from stratakv.encodings.layout.rows import TENANT_BITS
from stratakv.options import ALL_EVENT_CLASSES
from stratakv.proxy.clients.session import SUBSCRIBED, TRACKING, Session
from stratakv.proxy.clients.tracking_tables import Prefix, Table
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.replies import Push
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

CHANNEL: Final = b"__redis__:invalidate"
TELLING: Final = frozenset((*ALL_EVENT_CLASSES, UNPUBLISHED))
"""The classes of events that are asked for while somebody tracks."""
UNTOLD: Final = frozenset(
    {
        "xgroup-create",
        "xgroup-setid",
        "xgroup-destroy",
        "xgroup-createconsumer",
        "xgroup-delconsumer",
        "xsetid",
    }
)
"""Events of what Redis tells nobody who tracks: consumer groups."""
EFFORT: Final = 100
"""Keys that a command forgets at first while there are too many."""
_OVERHEAD_BYTES: Final = 60

Keys = list[bytes] | None
"""What is told as one message: changed keys, or None for all of them."""


PREFIX_BYTES: Final = 400
"""What a prefix of a client takes of memory besides its name (measured)."""


class Tracker:
    """What a client that tracks has asked for, and what it has yet to hear."""

    __slots__ = (
        "broadcasts",
        "ends_caching",
        "is_broken",
        "is_caching",
        "no_loop",
        "opt_in",
        "opt_out",
        "pending",
        "pending_bytes",
        "prefix_bytes",
        "prefixes",
        "redirect",
    )

    def __init__(self) -> None:
        self.broadcasts = self.opt_in = self.opt_out = self.no_loop = False
        self.is_caching = False
        """CLIENT CACHING was said, and holds for the next command or transaction."""
        self.ends_caching = True
        """Whether the command that runs is that one."""
        self.redirect = 0
        self.is_broken = False
        """Whom it redirects to was gone when there was something to tell."""
        self.prefixes: set[bytes] = set()
        self.prefix_bytes = 0
        """What they take of memory."""
        self.pending: list[Keys] = []
        self.pending_bytes = 0

    @property
    def remembers(self) -> bool:
        """Whether the keys that are read now are to be remembered."""
        if self.broadcasts:
            return False
        return self.is_caching if self.opt_in else not (self.opt_out and self.is_caching)


class Tracking:
    """The clients of a server that track, and what they are to be told of."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._dispatcher = server.dispatcher
        self.sessions: dict[int, Session] = {}
        """Those who track."""
        self._tables: dict[int, Table] = {}
        """What is known, by the id of the realm."""
        self.key_count = 0
        """How many keys somebody has read, in all realms."""
        self._excess = 0
        """How often in a row there were too many keys to forget at once."""

    # who tracks

    def begin(self, session: Session, tracker: Tracker) -> None:
        """Let a client track. Requires: it does not, or in the same mode; its prefixes are new."""
        old = session.tracker
        if old is not None:
            tracker.is_caching, tracker.ends_caching = old.is_caching, old.ends_caching
            tracker.prefixes |= old.prefixes
            tracker.pending, tracker.pending_bytes = old.pending, old.pending_bytes
        prefixes = self._table(session.realm.id).prefixes
        for prefix in tracker.prefixes:
            prefixes.setdefault(prefix, Prefix()).sessions[session.id] = session
            tracker.prefix_bytes += len(prefix) + PREFIX_BYTES
        session.tracker = tracker
        session.guards |= TRACKING
        self.sessions[session.id] = session
        if len(self.sessions) == 1:
            self._observe(True)

    def end(self, session: Session) -> None:
        """A client tracks no more. When nobody does, all that was read is forgotten."""
        tracker, session.tracker = session.tracker, None
        if tracker is None:
            return
        session.guards &= ~TRACKING
        session.connection.queued -= tracker.pending_bytes
        prefixes = self._table(session.realm.id).prefixes
        for name in tracker.prefixes:
            prefix = prefixes[name]
            del prefix.sessions[session.id]
            if not prefix.sessions:
                del prefixes[name]
        del self.sessions[session.id]
        if not self.sessions:
            for table in self._tables.values():
                self._forget_readers(table)
            self._tables = {}
            self._observe(False)

    def _table(self, realm: int) -> Table:
        table = self._tables.get(realm)
        if table is None:
            table = self._tables[realm] = Table()
        return table

    def _observe(self, exists: bool) -> None:
        """Somebody tracks, or nobody does: see every change, or none."""
        server = self._server
        self._dispatcher.guards.track(exist=exists)
        server.notifications.tell_trackers(self._changed if exists else None, TELLING)
        server.turns.at_end = self._broadcast if exists else None

    # what was read

    @property
    def items(self) -> int:
        """The sum of the readers of all keys."""
        return sum(table.items for table in self._tables.values())

    @property
    def prefix_count(self) -> int:
        """How many prefixes somebody wants to hear of."""
        return sum(len(table.prefixes) for table in self._tables.values())

    def command_begins(self, session: Session, entry: Command, request: Request) -> None:
        """A client that tracks runs a command: what it reads is remembered ahead, since it may
        read a snapshot while others write."""
        tracker = session.tracker
        assert tracker is not None
        tracker.ends_caching = entry.words[0] != "client"
        if tracker.remembers and _reads(entry):
            self._remember(session, entry.find_keys(request))

    def command_ends(self, session: Session) -> None:
        """A client that tracks has its reply: tell it what came meanwhile."""
        tracker = session.tracker
        assert tracker is not None
        if tracker.ends_caching and session.transaction is None:
            tracker.is_caching = False
        tracker.ends_caching = True
        if tracker.pending:
            self._tell_pending(session, tracker)

    def read_in_unit(self, session: Session, entry: Command, request: Request) -> None:
        """A command of a transaction or a script has read. For a script, the keys that it was
        given are remembered, whichever it has read."""
        tracker = session.tracker
        assert tracker is not None
        if not tracker.remembers or not _reads(entry):
            return
        called = self._server.scripting.call_of(session)
        keys = entry.find_keys(request) if called is None else called[0].find_keys(called[1])
        if keys:
            session.txn.when_applied(partial(self._remember, session, keys))

    def long_begins(self, session: Session, entry: Command, request: Request) -> None:
        """A unit will read a snapshot: what it may have to remember is remembered before."""
        tracker = session.tracker
        assert tracker is not None
        if tracker.broadcasts:
            return
        if "script" in entry.traits:
            self._remember(session, entry.find_keys(request))
        elif session.transaction is not None and "final" in entry.traits:
            for queued, words in session.transaction.queue:
                if _reads(queued) or "script" in queued.traits:
                    self._remember(session, queued.find_keys(words))

    def _remember(self, session: Session, keys: Iterable[bytes]) -> None:
        table = self._table(session.realm.id)
        before = len(table.readers)
        table.remember(session.id, keys)
        self.key_count += len(table.readers) - before

    def limit(self) -> None:
        """Forget keys at random while there are too many, and tell their readers: more of them
        each time that it was not enough."""
        most = self._server.options.tracking_table_max_keys
        if not most or self.key_count <= most:
            self._excess = 0
            return
        for _ in range(EFFORT * (self._excess + 1)):
            largest = max(self._tables.values(), key=lambda table: len(table.readers))
            self._tell_readers(largest, largest.any_key(), None)
            if self.key_count <= most:
                self._excess = 0
                return
        self._excess += 1

    def _forget_readers(self, table: Table) -> None:
        self.key_count -= len(table.readers)
        self._server.keyspace.leftovers.add(table.forget_readers())

    # what has changed

    def _changed(self, database: int, event: str, key: bytes) -> None:
        """Something has happened to a key: all but a few events change what a reader would see."""
        table = self._tables.get(database >> TENANT_BITS)
        if table is None or event in UNTOLD:
            return
        author = self._dispatcher.guards.author
        if table.prefixes and event != OVERDUE:
            changed_by = None if event == "expired" else author
            for name, prefix in table.prefixes.items():
                if key.startswith(name):
                    prefix.changed[key] = changed_by
        if table.readers:
            self._tell_readers(table, key, author)

    def all_changed(self, author: Session | None, database: int | None = None) -> None:
        """Whole databases have changed, of one realm if one of its databases is named: nothing that
        anybody has of them is worth keeping."""
        if not self.sessions:
            return
        realm = None if database is None else database >> TENANT_BITS
        for number, table in self._tables.items():
            if realm in (None, number):
                self._forget_readers(table)
        for session in list(self.sessions.values()):
            if realm in (None, session.realm.id):
                self._tell(session, None, author)

    def _tell_readers(self, table: Table, key: bytes, author: Session | None) -> None:
        before = len(table.readers)
        numbers = table.take(key)
        self.key_count += len(table.readers) - before
        for number in numbers:
            session = self.sessions.get(number)
            if session is None or session.tracker is None or session.tracker.broadcasts:
                continue
            if not (session.tracker.no_loop and session is author):
                self._tell(session, [key], author)

    def _broadcast(self) -> None:
        """At the end of a turn: tell of the keys with prefixes that changed in it."""
        for table in list(self._tables.values()):
            self._broadcast_in(table)

    def _broadcast_in(self, table: Table) -> None:
        for _, prefix in sorted(table.prefixes.items()):
            if not prefix.changed:
                continue
            changed, prefix.changed = prefix.changed, {}
            keys = sorted(changed)
            for session in list(prefix.sessions.values()):
                wanted = keys
                if session.tracker is not None and session.tracker.no_loop:
                    wanted = [key for key in keys if changed[key] is not session]
                if wanted:
                    self._tell(session, wanted, None)

    # telling

    def _tell(self, session: Session, keys: Keys, author: Session | None) -> None:
        """Tell a client, or whom it redirects to: now, or behind the reply that it waits for."""
        tracker = session.tracker
        assert tracker is not None
        if session is author:
            tracker.pending.append(keys)
        elif self._dispatcher.is_answering(session):
            size = _OVERHEAD_BYTES + sum([len(key) for key in keys or ()])
            tracker.pending.append(keys)
            tracker.pending_bytes += size
            session.connection.queued += size
            self._server.output_limits.check(session.connection)
        else:
            self._send(session, tracker, keys)

    def _tell_pending(self, session: Session, tracker: Tracker) -> None:
        pending, tracker.pending = tracker.pending, []
        session.connection.queued -= tracker.pending_bytes
        tracker.pending_bytes = 0
        for keys in pending:
            self._send(session, tracker, keys)

    def _send(self, session: Session, tracker: Tracker, keys: Keys) -> None:
        target = session
        if tracker.redirect:
            found = self._server.sessions.get(tracker.redirect)
            if found is None or found.closing or found.realm is not session.realm:
                tracker.is_broken = True
                if session.resp3:
                    session.push(Push([b"tracking-redir-broken", tracker.redirect]))
                return
            target = found
        if target.resp3:
            target.push(Push([b"invalidate", keys]))
        elif tracker.redirect and target.guards & SUBSCRIBED:
            target.push(Push([b"message", CHANNEL, keys]))


def _reads(entry: Command) -> bool:
    """Whether the keys of a command are what a client may keep a copy of."""
    return "readonly" in entry.flags and not entry.is_vicarious
