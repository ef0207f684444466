"""Directories of ranks: made in slices for whoever would walk far, once for all who ask.

A read that needs one waits until it is there, and runs again as the short command that it is then
(compare retries.py). Writers and units become long commands at once: they need their locks, and
walk once; those who come after find a directory. See encodings/keyspace/ranks.py for what is made.

1. Of a set no two directories are made at a time.
2. Who waits for one is answered when it is made, or cannot be.
"""

import logging
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.long_txn import SLICE_SECONDS
from stratakv.encodings.keyspace.txn import Unranked
from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.slices import Slices
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request
from stratakv.storage.missing import TooLong

if TYPE_CHECKING:
    from stratakv.proxy.run.dispatch import Dispatcher

log = logging.getLogger("stratakv")


class Ranking:
    """Has directories made, and goes on with the commands that wait for them."""

    def __init__(self, dispatcher: "Dispatcher", keyspace: Keyspace, slices: Slices) -> None:
        self._dispatcher = dispatcher
        self._keyspace = keyspace
        self._slices = slices
        self._waiting: dict[bytes, list[Callable[[], None]]] = {}
        """By the set's `sub`, while a directory is made: what to do then."""
        keyspace.recollections.ranks.on_wanted = self.begin

    def begin(self, sub: bytes, count: int) -> None:
        """Have a directory made, or put right, unless that is under way."""
        if sub not in self._waiting:
            self._waiting[sub] = []
            self._slices.start(partial(self._make, sub, count))

    def wait(self, session: Session, entry: Command, request: Request, reason: Unranked) -> None:
        """Go on with a command when there is a directory of the set."""
        self.begin(reason.sub, reason.count)
        if entry.is_write or entry.takes_session:
            self._dispatcher.long_commands.start(session, entry, request)
            return
        self._dispatcher.pipelines.await_answer(session)
        run_again = partial(self._run_again, session, entry, request, perf_counter())
        self._waiting[reason.sub].append(run_again)

    def _make(self, sub: bytes, count: int) -> None:
        """In slices: make the directory, then go on with those who wait, also if it failed."""
        pace = _Pace(self._slices)
        try:
            self._keyspace.recollections.ranks.make(
                sub, count, self._keyspace.store, pace.pause_if_due
            )
        except Exception as failure:  # whoever walks there will tell the client
            log.debug("no directory of ranks could be made", exc_info=failure)
        for run_again in self._waiting.pop(sub):
            run_again()
            pace.pause_if_due()

    def _run_again(
        self, session: Session, entry: Command, request: Request, started: float
    ) -> None:
        dispatcher = self._dispatcher
        dispatcher.pipelines.answered(session)
        if session.closing:
            dispatcher.pipelines.resume(session)
            return
        session.server.turns.touch(session)
        try:
            value = dispatcher.running.run(session, entry, request)
        except TooLong:
            dispatcher.long_commands.start(session, entry, request)
            return
        dispatcher.running.count(session, entry, request, perf_counter() - started)
        session.answer_later(value)


class _Pace:
    """Gives way to the loop when a slice is used up."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._started = perf_counter()

    def pause_if_due(self) -> None:
        if perf_counter() - self._started > SLICE_SECONDS:
            self._slices.pause()
            self._started = perf_counter()
