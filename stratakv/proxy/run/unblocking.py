"""Unblocking clients: their command runs again when a key that they wait for has changed.

Who misses something of an engine elsewhere, or finds its keys locked by a long command, stays where
it is, with its place in line, its time and what it takes for nothing; when that is over, the key is
offered once more.
"""

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.run.blocking import Blocked, BlockedClients, WaitedKey, WouldBlock
from stratakv.proxy.run.guards import LOCKED, READY, Guards
from stratakv.proxy.run.lock_waits import claim_of
from stratakv.proxy.run.running import invoke
from stratakv.storage.missing import Answers, Missing, TooLong

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
        session, dispatcher = blocked.session, self._dispatcher
        if not session.connection.is_alive:
            session.connection.abort()
            return True
        place = (session.txn.db.index, key)
        if place in blocked.awaited:
            return False  # nobody who came later is served before it
        if self._guards.bits & LOCKED and self._is_locked_out(blocked, place):
            return False
        started = perf_counter()
        try:
            value = self._running.run(
                session, blocked.entry, blocked.request, serve=partial(_serve, blocked, key)
            )
        except WouldBlock:
            blocked.let_go(place)
            return self._is_left(blocked, key)
        except TooLong as reason:
            if isinstance(reason, Missing) and reason.stays_true:
                self._ask(blocked, place, reason)
                return False
            self._blocked.free(blocked)
            dispatcher.set_aside(session, blocked.entry, blocked.request, reason)
            return False  # it is first in line: the others' turn comes when it has changed the key
        self._blocked.free(blocked)
        self._running.count(session, blocked.entry, blocked.request, perf_counter() - started)
        session.reply(value)
        session.server.turns.touch(session)
        dispatcher.pipelines.resume_soon(session)
        return self._is_left(blocked, key)

    def _is_left(self, blocked: Blocked, key: bytes) -> bool:
        """Whether there may be something for others."""
        try:
            return blocked.serve is None or blocked.session.txn.find(key) is not None
        except Missing:
            return True  # they will see for themselves

    def _ask(self, blocked: Blocked, place: WaitedKey, missing: Missing) -> None:
        """Have it asked for what a client misses, and kept for it until it is served."""
        answers = blocked.answers.setdefault(place, Answers())
        answers.rounds += 1
        blocked.awaited.add(place)
        missing.ask(answers, partial(self._offer, blocked, place))

    def _offer(self, blocked: Blocked, place: WaitedKey, failure: Exception | None) -> None:
        """What a client missed is at hand, or cannot be had."""
        blocked.awaited.discard(place)
        if not self._blocked.is_parked(blocked):
            blocked.let_go()
        elif failure is not None:
            self._blocked.release(blocked, self._running.failed(blocked.entry, failure))
        else:
            blocked.session.server.turns.touch(blocked.session)
            self._blocked.offer(place)
            self.serve()

    def _is_locked_out(self, blocked: Blocked, place: WaitedKey) -> bool:
        """Whether a long command holds a key of a blocked client; it is served after it.

        It stays blocked: run anew it would be refused if the key is of another type by then.
        """
        wanted = claim_of(blocked.session, blocked.entry, blocked.request)
        locks = self._dispatcher.lock_waits.locks
        if not locks.blocks(wanted):
            return False
        blocked.awaited.add(place)
        locks.wait(wanted, lambda lock: self._offer_soon(blocked, place))
        return True

    def _offer_soon(self, blocked: Blocked, place: WaitedKey) -> None:
        """Its keys are free; whoever gives locks back is not to be held up by what follows."""
        blocked.session.server.loop.call_soon(self._offer, blocked, place, None)


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
