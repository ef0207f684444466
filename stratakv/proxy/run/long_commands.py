"""Long commands: the same handler over a snapshot, in slices, from its start to its reply.

See slices.py for the slices and encodings/keyspace/long_txn.py for what the operation sees.

Invariants
1. A long writer has locked all that it touches before its snapshot is taken, and what was decided
   before is in the engine by then: nobody else changes those keys until it has published.
2. It publishes once, in a commit of its own. A crash before leaves none of it but rows that `g#`
   rows give to the reclaimer, a crash after all of it.
3. Its lock is given back once: when it has published, before its reply is sent, or at its end.
4. Its client waits from its start to its end, and goes on then, whatever happens.
5. A lock that a long command has is of one that still runs.
"""

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from stratakv.encodings.keyspace.locks import EVERYTHING, Lock
from stratakv.encodings.keyspace.long_txn import MANY, LongTxn
from stratakv.encodings.keyspace.txn import Uncovered
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import FROM_MASTER, MUTED, TRACKING, Session
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.run.foresight import expected
from stratakv.proxy.run.guards import READY, WATCHED
from stratakv.proxy.run.lock_waits import claim_of
from stratakv.proxy.run.long_work import LongWork
from stratakv.proxy.run.turns import Turns
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher


class LongCommands:
    """Begins long commands, each with its lock, over what is committed, and sees to their end."""

    def __init__(self, dispatcher: "Dispatcher", turns: Turns) -> None:
        self._dispatcher = dispatcher
        self._turns = turns
        self._lock_waits = dispatcher.lock_waits
        self._sessions: dict[int, Session] = {}
        """Clients whose command waits for its lock, or runs."""
        self._tasks: dict[LongCommand, None] = {}

    def start(
        self, session: Session, entry: Command, request: Request, *, widely: bool = False
    ) -> None:
        """Run a command that is too long for a turn: lock, commit what is pending, go in slices.

        `widely`: it needs keys that it does not name, so it gets a lock on everything.
        """
        dispatcher = self._dispatcher
        session.waiting = True
        self._sessions[session.id] = session
        if session.guards & TRACKING:
            session.server.tracking.long_begins(session, entry, request)
        dispatcher.stats.long_commands += 1
        wanted = EVERYTHING if widely else claim_of(session, entry, request)
        if not wanted:
            self._begin(session, entry, request, None)
            return

        if session.guards & FROM_MASTER:
            self._lock_waits.locks.acquire(wanted, partial(self._begin, session, entry, request))
            return

        def refuse(failure: CommandError) -> None:
            del self._sessions[session.id]
            dispatcher.reject(session, entry, failure)
            dispatcher.pipelines.resume_soon(session)

        self._lock_waits.acquire(wanted, partial(self._begin, session, entry, request), refuse)

    def _begin(self, session: Session, entry: Command, request: Request, lock: Lock | None) -> None:
        task = LongCommand(self._dispatcher, session, entry, request, lock)
        self._tasks[task] = None
        if lock is not None and "unit" in entry.traits:
            server = session.server
            self._lock_waits.busy.began(
                lock,
                lambda: server.scripting.kind_for(session),
                server.options.busy_reply_threshold / 1000,
            )
        keyspace = session.txn.keyspace
        self._turns.flush_now(lambda: self._dispatcher.slices.start(task.run), keyspace)

    def end(self, task: "LongCommand") -> None:
        """A long command has ended: give its lock back and go on with its client."""
        dispatcher, session = self._dispatcher, task.session
        del self._tasks[task], self._sessions[session.id]
        self.unlock(task)
        if task.is_uncovered:
            self.start(session, task.entry, task.request, widely=True)
            return
        if session.guards & TRACKING:
            session.server.tracking.command_ends(session)
        if task.blocked is not None:
            dispatcher.blocked.park(session, task.entry, task.request, task.blocked)
            return
        dispatcher.running.count(session, task.entry, task.request, task.seconds)
        if dispatcher.guards.bits & READY:
            dispatcher.unblocking.serve()
        dispatcher.pipelines.resume(session)

    def unlock(self, task: "LongCommand") -> None:
        """Give back the lock of a long command, if it still has one."""
        lock, task.lock = task.lock, None
        if lock is not None:
            self._lock_waits.release(lock)

    def waiting(self) -> list[Session]:
        """The clients that wait for the end of their long command."""
        return list(self._sessions.values())

    def works_for(self, session: Session) -> bool:
        """Whether a client waits for the end of its long command."""
        return session.id in self._sessions

    def locks(self) -> set[Lock]:
        """The locks that long commands have."""
        return {task.lock for task in self._tasks if task.lock is not None}


class LongCommand:
    """One command at work in slices, from its snapshot to its reply."""

    def __init__(
        self,
        dispatcher: "Dispatcher",
        session: Session,
        entry: Command,
        request: Request,
        lock: Lock | None,
    ) -> None:
        self._dispatcher = dispatcher
        self._slices = dispatcher.slices
        self.session = session
        self.entry = entry
        self.request = request
        self.lock = lock
        """None for a reader."""
        self.seconds = 0.0
        self.blocked: WouldBlock | None = None
        """Set if there is nothing at the keys yet: the client is to wait."""
        self.is_uncovered = False
        """Set if it is to begin anew with a lock on everything."""
        self._is_underway = False
        """Whether a part of the reply is out."""

    def run(self) -> None:
        """Work to the end; whatever happens, the lock is given back and the client goes on."""
        started = perf_counter()
        txn = self.session.txn
        keyspace = txn.keyspace
        try:
            work = LongWork(
                self._slices,
                self._dispatcher.guards,
                keyspace,
                txn.db,
                author=self.session,
                follows=txn.clock if txn.follows else None,
            )
        except Exception as failure:  # a store elsewhere gives no view of its rows just now
            self._end_unbegun(failure)
            return
        self.session.lock = self.lock
        try:
            work.expect(partial(expected, self.session, self.entry, self.request))
            self._answer(work)
        except WouldBlock as reason:
            self.blocked = reason
        except Uncovered:
            self.is_uncovered = True
        except Exception as failure:  # while the reply was made
            self.session.reply(self._dispatcher.running.failed(self.entry, failure))
            if self._is_underway:
                self.session.closing = True  # the rest of the reply will never come
        finally:
            work.close()
            self.session.lock = None
            self._show()
            self.seconds = perf_counter() - started
            self.session.server.turns.touch(self.session)
            self._dispatcher.long_commands.end(self)
            if len(self.request) > MANY and self.blocked is None and not self.is_uncovered:
                keyspace.leftovers.add(self.request)

    def _end_unbegun(self, failure: Exception) -> None:
        """There is nothing to work on."""
        self.session.reply(self._dispatcher.running.failed(self.entry, failure))
        self.session.server.turns.touch(self.session)
        self._dispatcher.long_commands.end(self)

    def _show(self) -> None:
        """MONITOR: others than these were shown when they were admitted."""
        guards = self._dispatcher.guards
        if self.entry.takes_session and guards.bits & WATCHED and not self.is_uncovered:
            guards.show(self.session, self.entry, self.request)

    def _answer(self, work: LongWork) -> None:
        session = self.session
        session.txn, session.renew = work.txn, work.renew
        try:
            value = self._dispatcher.running.run(session, self.entry, self.request, work=work)
        finally:
            session.renew = None
            session.txn = session.txns.at(session.txn.db.index)
        # Others need not wait until the client has read its reply.
        self._dispatcher.long_commands.unlock(self)
        if session.guards & MUTED:
            return
        session.interjections = []
        try:
            self._send(work.txn, value)
        finally:
            session.out += session.interjections
            session.connection.queued -= sum(map(len, session.interjections))
            session.interjections = None

    def _send(self, txn: LongTxn, value: Any) -> None:
        """Put the reply out, a long one in pieces."""
        session = self.session
        for number, chunk in enumerate(session.encoding.chunks(value)):
            if number:
                self._wait_until_sent()
            session.out.append(chunk)
            self._is_underway = True
            session.server.turns.touch(session)
            txn.pause_if_due()
            if session.closing:
                return

    def _wait_until_sent(self) -> None:
        """Give a slow reader time: a long reply is made no faster than it is read."""
        connection = self.session.connection
        if connection.write_paused and not self.session.closing:
            self._slices.wait(connection.when_writable)
