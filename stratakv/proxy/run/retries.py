"""Commands that miss something: it is asked for, and they are run again with it at hand.

A long command takes a commit, a greenlet and a snapshot before it can ask. What only misses replies
of the tier, or rows of an engine that is far away, needs none of that: nothing of it has happened
yet, so it is run again as if it came now, in a plain Txn, over what is decided by then.

1. Its client waits meanwhile, and nobody else does.
2. Replies of the tier are of the state that the store had when it was asked (see `open_entry`). If
   the key was written meanwhile, or the command turns out to be long, it becomes a long one.
3. If it has to wait for others when it is run again, or is to be refused by then, it goes back to
   the head of its client's backlog, and is admitted like any other.
"""

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from stratakv.encodings.keyspace.txn import CacheAnswers
from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.run.foresight import foreseen
from stratakv.proxy.run.guards import LOCKED, PAUSED, READ_ONLY, READY, WATCHED
from stratakv.proxy.run.lock_waits import claim_of, needs_locks
from stratakv.proxy.table.registry import Command
from stratakv.storage.missing import Missing, TooLong

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher
    from stratakv.proxy.wire.requests import Request


FORESEEING_ROUNDS: Final = 20
"""Who still misses something then needs what nobody can foresee."""


class Retry:
    """One command that waits for what it misses."""

    __slots__ = ("_answers", "_dispatcher", "_entry", "_request", "_session", "_started", "_txn")

    def __init__(
        self, dispatcher: "Dispatcher", session: Session, entry: Command, request: "Request"
    ) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._entry = entry
        self._request = request
        self._txn = session.txn
        self._answers = CacheAnswers(session.txn.keyspace.tier.committed)
        self._started = perf_counter()

    def ask(self, missing: Missing) -> None:
        """Have it asked for; the client waits, the others do not."""
        answers = self._answers
        self._dispatcher.pipelines.await_answer(self._session)
        if answers.rounds < FORESEEING_ROUNDS:
            missing.foresee(partial(foreseen, self._session, self._entry, self._request, answers))
        answers.rounds += 1
        missing.ask(answers, self._go_on)

    def _go_on(self, failure: Exception | None) -> None:
        """It is at hand, or cannot be had that way."""
        session, pipelines = self._session, self._dispatcher.pipelines
        pipelines.answered(session)
        if session.closing:
            self._answers.close()
            pipelines.resume(session)
            return
        session.server.turns.touch(session)
        if isinstance(failure, TooLong):
            self._set_aside(failure)
        elif session.txn is not self._txn:  # its keys are on another node by now
            self._begin_anew()
        elif failure is not None:
            self._end(self._dispatcher.running.failed(self._entry, failure))
        elif self._stands_in_the_way():
            self._begin_anew()
        else:
            self._run_again()

    def _begin_anew(self) -> None:
        """As if it came now."""
        self._answers.close()
        self._session.backlog.appendleft(self._request)
        self._dispatcher.pipelines.resume(self._session)

    def _stands_in_the_way(self) -> bool:
        """Whether it would have to wait now, or be refused. Who only reads was admitted before."""
        dispatcher, session, entry = self._dispatcher, self._session, self._entry
        guards = dispatcher.guards
        if entry.only_reads:
            return False
        if guards.bits & READY:
            dispatcher.unblocking.serve()
        if guards.bits & (PAUSED | READ_ONLY):
            return True
        if not guards.bits & LOCKED or not needs_locks(session, entry):
            return False
        return dispatcher.lock_waits.locks.blocks(claim_of(session, entry, self._request))

    def _run_again(self) -> None:
        session, answers = self._session, self._answers
        answers.tallies.clear()
        txn = session.txn
        txn.answers = answers
        try:
            value = self._dispatcher.running.run(session, self._entry, self._request)
        except (TooLong, WouldBlock) as reason:
            if isinstance(reason, Missing) and answers.rounds < reason.most_rounds:
                self.ask(reason)
            else:
                self._set_aside(TooLong() if isinstance(reason, Missing) else reason)
            return
        finally:
            txn.answers = None
        txn.keyspace.tier.add(answers.tallies)
        self._end(value)

    def _end(self, value: Any) -> None:
        session, dispatcher = self._session, self._dispatcher
        self._answers.close()
        dispatcher.running.count(
            session, self._entry, self._request, perf_counter() - self._started
        )
        guards = dispatcher.guards
        if self._entry.takes_session and guards.bits & WATCHED:
            guards.show(session, self._entry, self._request)
        session.answer_later(value)
        if guards.bits & READY:
            dispatcher.unblocking.serve()

    def _set_aside(self, reason: Exception) -> None:
        self._answers.close()
        self._dispatcher.set_aside(self._session, self._entry, self._request, reason)
