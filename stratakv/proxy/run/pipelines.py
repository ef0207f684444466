"""Pipelines: whose requests run in this turn, and who goes on in the next.

1. A client's requests run in the order in which it sent them: while it waits, whatever arrives goes
   to the end of its backlog.
2. Who waits in line with a pipeline goes on in the order of arrival, for the time of a turn.
3. A single request never waits in line.
4. A client that waits is known to whoever will resume it, and to nobody else: this line, those
   resumed after this round of events, those who wait for an answer, blocked clients, a pause, the
   locks, or a long command. One that does not wait is known to none of them.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic, perf_counter
from typing import Final

from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.turns import TURN_SECONDS, Turns
from stratakv.proxy.wire.requests import Request

FEW_REQUESTS: Final = 4
"""More of them at a time are a pipeline, and wait in line."""

Run = Callable[[Session, list[Request]], None]


class Pipelines:
    """The line of clients with the rest of a pipeline. `run` runs requests of a client."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turns: Turns, run: Run) -> None:
        self._loop = loop
        self._turns = turns
        self._run = run
        self._line: deque[Session] = deque()
        """In the order in which they go on."""
        self._soon: dict[int, Session] = {}
        self._awaiting: dict[int, Session] = {}

    def receive(self, session: Session, requests: list[Request]) -> None:
        """Run what has arrived, unless it is a pipeline and others are first in line.

        A few requests are served as long as the turn is not twice as long as it should be, a single
        one always: who asks for little does not queue behind those who ask for much.
        """
        if len(requests) > 1:
            age = monotonic() - self._turns.moment
            if age > 2 * TURN_SECONDS or (
                len(requests) > FEW_REQUESTS and (age > TURN_SECONDS or self._line)
            ):
                self.yield_turn(session, requests)
                return
        self._run(session, requests)

    def yield_turn(self, session: Session, rest: list[Request]) -> None:
        """A long pipeline, or a long turn: go on in the next one, behind those who wait already."""
        session.backlog.extend(rest)
        session.waiting = True
        if not self._line:
            self._loop.call_soon(self._go_on)
        self._line.append(session)

    def _go_on(self) -> None:
        """Go on with the clients that wait with a pipeline, in order, for the time of a turn."""
        waiting, self._line = self._line, deque()
        end = perf_counter() + TURN_SECONDS
        while waiting and perf_counter() < end:
            self.resume(waiting.popleft())
        if waiting:
            if not self._line:
                self._loop.call_soon(self._go_on)
            waiting.extend(self._line)
            self._line = waiting

    def resume_soon(self, session: Session) -> None:
        """Go on with a session's backlog after this round of events."""
        self._soon[session.id] = session
        self._loop.call_soon(self._resume_now, session)

    def _resume_now(self, session: Session) -> None:
        self._soon.pop(session.id, None)
        self.resume(session)

    def await_answer(self, session: Session) -> None:
        """Let a client wait until `answered`: somebody else works on its command."""
        session.waiting = True
        self._awaiting[session.id] = session

    def answered(self, session: Session) -> None:
        """The wait for an answer is over; what follows is the caller's task."""
        self._awaiting.pop(session.id, None)

    def awaits_answer(self, session: Session) -> bool:
        """Whether a client waits for somebody else who works on its command."""
        return session.id in self._awaiting

    def waiting(self) -> list[Session]:
        """All that wait here: in line, to be resumed soon, or for an answer."""
        return [*self._line, *self._soon.values(), *self._awaiting.values()]

    def resume(self, session: Session) -> None:
        """Go on with the backlog of a session that waited."""
        session.waiting = False
        if session.closing:
            session.backlog.clear()
            return
        if session.backlog:
            requests = list(session.backlog)
            session.backlog.clear()
            self._turns.touch(session)
            self._run(session, requests)
        if not session.waiting:
            session.connection.resume_after_wait()
