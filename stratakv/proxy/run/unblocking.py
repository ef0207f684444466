"""Unblocking clients: their command runs again when a key that they wait for has changed."""

from time import perf_counter
from typing import TYPE_CHECKING

from stratakv import errors
from stratakv.encodings.keyspace.txn import ROW_BUDGET, TooLong
from stratakv.proxy.run.blocking import Blocked, BlockedClients, WouldBlock
from stratakv.proxy.run.guards import LOCKED, READY, Guards

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher


class Unblocking:
    """Serves blocked clients between two commands of others, in order of arrival."""

    def __init__(self, dispatcher: "Dispatcher", blocked: BlockedClients, guards: Guards) -> None:
        self._dispatcher = dispatcher
        self._blocked = blocked
        self._guards = guards

    def serve(self) -> None:
        """Serve everybody who waits for a key that has changed."""
        self._guards.bits &= ~READY
        while self._blocked.ready:
            key, waiting = self._blocked.take_ready()
            goes_on = True
            for blocked in waiting:
                if (goes_on or blocked.minds_loss) and self._blocked.is_parked(blocked):
                    goes_on = self._retry(blocked, key) and goes_on

    def _retry(self, blocked: Blocked, key: bytes) -> bool:
        """Serve a blocked client if there is something; False if there is nothing for others."""
        session, txn, dispatcher = blocked.session, blocked.session.txn, self._dispatcher
        if not session.connection.is_alive:
            session.connection.abort()
            return True
        if self._guards.bits & LOCKED and self._is_locked_out(blocked):
            return True
        txn.budget = ROW_BUDGET
        started = perf_counter()
        try:
            if blocked.serve is not None:
                value = blocked.serve(txn, key)
            else:
                value = blocked.entry.handler(txn, *blocked.request[1:])
        except WouldBlock:
            txn.discard()
            return blocked.serve is None or txn.find(key) is not None
        except TooLong:
            txn.discard()
            self._blocked.free(blocked)
            dispatcher.start_long(session, blocked.entry, blocked.request)
            return False  # it is first in line: the others' turn comes when it has changed the key
        except Exception as failure:
            txn.discard()
            if blocked.serve is None and getattr(failure, "text", b"") == errors.WRONG_TYPE:
                return True
            value = dispatcher.failed(blocked.entry, failure)
        self._blocked.free(blocked)
        dispatcher.count(session, blocked.entry, blocked.request, perf_counter() - started)
        session.needs_commit = True
        if txn.changed:
            session.mark_write()
            txn.apply()
        session.reply(value)
        session.server.turns.touch(session)
        dispatcher.resume_soon(session)
        return blocked.serve is None or txn.find(key) is not None

    def _is_locked_out(self, blocked: Blocked) -> bool:
        """Whether a long command holds a key of a blocked client; it then begins anew after it."""
        session = blocked.session
        if not self._dispatcher.wait_for_locks(session, blocked.entry, blocked.request):
            return False
        self._blocked.free(blocked)
        session.backlog.appendleft(blocked.request)
        return True
