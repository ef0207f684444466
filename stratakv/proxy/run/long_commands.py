"""A long command: the same handler over a snapshot, in slices, from its start to its reply.

See slices.py for the slices and encodings/keyspace/long_txn.py for what the operation sees.
"""

from time import perf_counter
from typing import TYPE_CHECKING, Any

from stratakv.encodings.keyspace.locks import Lock
from stratakv.encodings.keyspace.long_txn import MANY, LongTxn
from stratakv.encodings.keyspace.txn import Uncovered
from stratakv.proxy.clients.session import MUTED, Session
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.run.guards import WATCHED
from stratakv.proxy.run.long_work import LongWork
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher


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
        keyspace = self.session.txn.keyspace
        work = LongWork(self._slices, self._dispatcher.guards, keyspace, self.session.txn.db)
        self.session.lock = self.lock
        try:
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
            self._dispatcher.end_long(self)
            if len(self.request) > MANY and self.blocked is None and not self.is_uncovered:
                keyspace.leftovers.add(self.request)

    def _show(self) -> None:
        """MONITOR: others than these were shown when they were admitted."""
        guards = self._dispatcher.guards
        if self.entry.takes_session and guards.bits & WATCHED and not self.is_uncovered:
            guards.show(self.session, self.entry, self.request)

    def _answer(self, work: LongWork) -> None:
        session = self.session
        session.txn = work.txn
        try:
            value = self._dispatcher.running.run(session, self.entry, self.request, work=work)
        finally:
            session.txn = session.server.txns[session.txn.db.index]
        self._dispatcher.unlock(self)  # others need not wait until the client has read its reply
        if session.guards & MUTED:
            return
        session.interjections = []
        try:
            self._send(work.txn, value)
        finally:
            session.out += session.interjections
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
