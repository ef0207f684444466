"""Reads that the cache tier answers: ask, and run the command again with the replies at hand.

A long command takes a commit, a greenlet and a snapshot before it can ask. A short read needs none
of that: its key has no changes under way when it asks (see `open_entry`), so the replies are of the
state that the store has, and the command is run again in a plain Txn, as if nothing had happened.
If the key was written meanwhile, or the command turns out to be long, it is one after all.
"""

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from stratakv.encodings.keyspace.tier_state import CacheRequest
from stratakv.encodings.keyspace.txn import CacheAnswers, TooLong, Unanswered
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import Command
from stratakv.storage.cache.contract import BYPASS

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher
    from stratakv.proxy.wire.requests import Request as Words

MOST_ROUNDS: Final = 4


class CacheRead:
    """One command that waits for replies of the cache."""

    __slots__ = (
        "_answers",
        "_asked",
        "_dispatcher",
        "_entry",
        "_left",
        "_replies",
        "_request",
        "_session",
        "_started",
        "_tier",
    )

    def __init__(
        self, dispatcher: "Dispatcher", session: Session, entry: Command, request: "Words"
    ) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._entry = entry
        self._request = request
        self._tier = session.txn.keyspace.tier
        self._answers = CacheAnswers(self._tier.committed)
        self._asked: tuple[CacheRequest, ...] = ()
        self._replies: list[Any] = []
        self._left = 0
        self._started = perf_counter()

    def ask(self, requests: tuple[CacheRequest, ...]) -> None:
        """Send requests; the client waits, the others do not."""
        self._dispatcher.pipelines.await_answer(self._session)
        self._asked = requests
        self._replies = [None] * len(requests)
        self._left = len(requests)
        cache = self._tier.cache
        for at, request in enumerate(requests):
            cache.ask(request, partial(self._collect, at))

    def _collect(self, at: int, reply: Any) -> None:
        self._replies[at] = reply
        self._left -= 1
        if not self._left:
            self._go_on()

    def _go_on(self) -> None:
        """All replies are there: run the command again."""
        session = self._session
        self._answers.replies[self._asked] = self._replies
        self._dispatcher.pipelines.answered(session)
        if session.closing:
            self._dispatcher.pipelines.resume(session)
            return
        session.server.turns.touch(session)
        if any(reply is BYPASS for reply in self._replies):
            self._become_long()
            return
        self._answers.tallies.clear()
        txn = session.txn
        txn.answers = self._answers
        running = self._dispatcher.running
        try:
            value = running.run(session, self._entry, self._request)
        except TooLong as reason:
            if isinstance(reason, Unanswered) and len(self._answers.replies) < MOST_ROUNDS:
                self.ask(reason.requests)
            else:
                self._become_long()
            return
        finally:
            txn.answers = None
        self._tier.add(self._answers.tallies)
        running.count(session, self._entry, self._request, perf_counter() - self._started)
        session.answer_later(value)

    def _become_long(self) -> None:
        self._dispatcher.long_commands.start(self._session, self._entry, self._request)
