"""A long command: the same handler over a snapshot, in slices, from its start to its reply.

See slices.py for the slices and encodings/keyspace/long_txn.py for what the operation sees.
"""

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from stratakv import errors
from stratakv.encodings.keyspace.locks import Lock
from stratakv.encodings.keyspace.long_txn import MANY, LongTxn
from stratakv.encodings.keyspace.txn import Txn, Uncovered
from stratakv.errors import StoreDamaged, StoreUnavailable
from stratakv.proxy.clients.session import MUTED, Session
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.run.guards import WATCHED
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request
from stratakv.storage.store import Done, Overlay

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
        snapshot = keyspace.store.snapshot()
        txn = LongTxn(keyspace, self.session.txn.db, snapshot, self._slices.pause, self._write_rows)
        self.session.lock = self.lock
        try:
            self._answer(txn)
        except WouldBlock as reason:
            txn.discard()
            self.blocked = reason
        except Uncovered:
            txn.discard()
            self.is_uncovered = True
        except Exception as failure:
            txn.discard()
            self.session.reply(self._dispatcher.failed(self.entry, failure))
            if self._is_underway:
                self.session.closing = True  # the rest of the reply will never come
        finally:
            txn.close()
            snapshot.close()
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
        if self.entry.takes_session and guards.bits & WATCHED:
            guards.show(self.session, self.entry, self.request)

    def _answer(self, txn: LongTxn) -> None:
        session = self.session
        if self.entry.takes_session:
            session.txn = txn
            try:
                value = self.entry.handler(session, *self.request[len(self.entry.words) :])
            finally:
                session.txn = session.server.txns[session.txn.db.index]
        else:
            value = self.entry.handler(txn, *self.request[1:])
        if txn.changed:
            self._commit(txn)
            txn.confirm()
        self._dispatcher.unlock(self)  # others need not wait until the client has read its reply
        if session.guards & MUTED:
            return
        session.interjections = []
        try:
            self._send(txn, value)
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

    def _commit(self, txn: Txn) -> None:
        """Publish in a commit of its own, and wait for it."""
        keyspace = txn.keyspace

        if isinstance(txn, LongTxn):
            txn.conclude()

        def publish(done: Done) -> None:
            keyspace.commit(_ignore)
            txn.apply()
            keyspace.commit(done)

        self._wait_for_store(publish)

    def _write_rows(self, rows: Overlay) -> None:
        """Write rows that nobody can see yet, and wait for it; they need room."""
        refusal = self._dispatcher.guards.refusal
        if refusal:
            raise errors.misconf(refusal)
        store = self.session.txn.store
        self._wait_for_store(lambda done: store.submit(rows, done))

    def _wait_for_store(self, submit: Callable[[Done], None]) -> None:
        """Sleep until a batch is written; raises MISCONF if it was refused."""
        outcome: list[StoreUnavailable | None] = []

        def subscribe(resume: Callable[[], None]) -> None:
            def done(error: StoreUnavailable | None) -> None:
                outcome.append(error)
                resume()

            submit(done)

        self._slices.wait(subscribe)
        if outcome[0] is not None:
            raise errors.misconf(str(outcome[0]), for_good=isinstance(outcome[0], StoreDamaged))


def _ignore(error: StoreUnavailable | None) -> None:
    """The outcome is somebody else's concern."""
