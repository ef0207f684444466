"""Unblocking clients: their command runs again when a key that they wait for has changed."""

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.run.blocking import Blocked, BlockedClients, WouldBlock
from stratakv.proxy.run.guards import LOCKED, READY, Guards
from stratakv.proxy.run.running import invoke
from stratakv.storage.missing import TooLong

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher


class Unblocking:
    """Serves blocked clients between two commands of others, in order of arrival."""

    def __init__(self, dispatcher: "Dispatcher", blocked: BlockedClients, guards: Guards) -> None:
        self._dispatcher = dispatcher
        self._running = dispatcher.running
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
        started = perf_counter()
        try:
            value = self._running.run(
                session, blocked.entry, blocked.request, serve=partial(_serve, blocked, key)
            )
        except WouldBlock:
            return blocked.serve is None or txn.find(key) is not None
        except TooLong as reason:
            self._blocked.free(blocked)
            dispatcher.set_aside(session, blocked.entry, blocked.request, reason)
            return False  # it is first in line: the others' turn comes when it has changed the key
        self._blocked.free(blocked)
        self._running.count(session, blocked.entry, blocked.request, perf_counter() - started)
        session.reply(value)
        session.server.turns.touch(session)
        dispatcher.pipelines.resume_soon(session)
        return blocked.serve is None or txn.find(key) is not None

    def _is_locked_out(self, blocked: Blocked) -> bool:
        """Whether a long command holds a key of a blocked client; it then begins anew after it."""
        session = blocked.session
        if not self._dispatcher.wait_for_locks(session, blocked.entry, blocked.request):
            return False
        self._blocked.free(blocked)
        session.backlog.appendleft(blocked.request)
        return True


def _serve(blocked: Blocked, key: bytes) -> Any:
    """Answer for a key that has changed; one of another type is as good as none, as in Redis."""
    if blocked.serve is not None:
        return blocked.serve(blocked.session.txn, key)
    try:
        return invoke(blocked.session, blocked.entry, blocked.request)
    except CommandError as failure:
        if failure.text == errors.WRONG_TYPE:
            raise WouldBlock((), 0, None) from None
        raise
