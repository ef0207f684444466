"""Turns: what all connections do between two polls of the event loop becomes one commit.

The first event of a turn reads the clock and schedules the turn's end; at the end, everything that
was written is one engine batch, and the replies leave when it is through. A connection whose
commands touched no key does not wait for somebody else's commit.

Invariants, between two turns
1. No session has output or writes that no turn will see to: who is touched has an open turn.
2. Replies are held only while a commit of the turns is under way in the store: at its end, what was
   collected meanwhile is committed, or released.
3. A reply whose write is not in the engine has not left, and its place is marked; no mark is behind
   the end of the output.

A crash leaves the batches that were written, whole ones, in order; whoever had a reply of a write
finds the write there.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.errors import Damaged, StoreDamaged, StoreUnavailable, misconf
from stratakv.proxy.clients.session import Session
from stratakv.proxy.wire import encoding

TURN_SECONDS: Final = 0.002
"""How long pipelines run in a turn before what is left of them waits for the next."""
PENDING_ROWS: Final = 20_000
"""Rows that wait behind a slow commit before their writers are no longer read."""

Held = list[tuple[Session, list[bytes], list[int]]]


class Turns:
    """Opens and ends turns; holds replies until their commit is written.

    One batch is under way at a time. What the following turns write joins the next one, so a slow
    disk makes larger groups; past `PENDING_ROWS` the writers are no longer read.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        keyspace: Keyspace,
        on_failure: Callable[[StoreUnavailable], None],
    ) -> None:
        self._loop = loop
        self.keyspace = keyspace
        self._store = keyspace.store
        self._on_failure = on_failure
        self._store.on_failure = self._fail
        self._active: dict[int, Session] = {}
        self._held: Held = []
        self._after_commit: list[Callable[[], None]] = []
        self._underway = False
        """Whether a commit of ours is. Long commands have batches of their own in the store, at
        whose end nobody thinks of the replies that are held here."""
        self.open = False
        self.moment = 0.0
        """When the turn began, by the monotonic clock."""
        self.commit_seconds = 0.0
        self.commits = 0
        self.at_end: Callable[[], None] | None = None
        """What to do before a turn ends, if anything: it may have something to say to clients."""
        self.checks: list[Callable[[], None]] = []
        """What to look at after each turn, if anything; see invariants.py."""

    def touch(self, session: Session) -> None:
        """The session has output, or writes: see to it at the end of this turn."""
        self._active[session.id] = session
        if not self.open:
            self.begin()

    def leaves(self, session: Session) -> None:
        """The session goes on with another database than the one that it has."""

    def begin(self) -> None:
        """Start a turn: read the clock once, and end the turn after this round of events."""
        self.open = True
        self.moment = time.monotonic()
        self.keyspace.clock.tick()
        self._loop.call_soon(self._end_and_check if self.checks else self.end)

    def begin_background(self) -> None:
        """Work of the server's own follows: it belongs to a turn like any other."""
        if not self.open:
            self.begin()

    def end(self) -> None:
        """Commit what was written, and let the replies go."""
        if self.at_end is not None:
            self.at_end()
        self.open = False
        self.keyspace.trim()
        sessions, self._active = self._active, {}
        if not self.keyspace.changed and not self._store.busy:
            for session in sessions.values():
                session.needs_commit = False
                session.connection.flush()
            return
        for session in sessions.values():
            if session.needs_commit or session.held:
                self._hold(session)
            else:
                session.connection.flush()
        if not self._underway:
            self._commit()
        elif len(self._store.pending) > PENDING_ROWS:
            for session, _, _ in self._held:
                session.connection.pause_for_commit()

    def _end_and_check(self) -> None:
        self.end()
        for check in self.checks:
            check()

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        assert self.open or not self._active, "turns 1: sessions were touched outside of a turn"
        waits = bool(self._held or self._after_commit)
        assert self._underway or not waits, "turns 2: replies are held, and no commit is under way"
        assert self._store.busy or not self._underway, "turns 2: a commit has not ended"
        for session, out, marks in self._held:
            assert session.held > 0, "turns 2: a session does not know of its held replies"
            assert marks == sorted(set(marks)), "turns 3: a reply is marked twice"
            assert not marks or marks[-1] < len(out), "turns 3: a mark is behind the output"

    def flush_now(self, then: Callable[[], None], keyspace: Keyspace | None = None) -> None:
        """Commit everything decided so far; `then` runs when it is in the engine.

        In a cluster that of `keyspace` is enough, if one is given (group_turns.py).
        """
        self._after_commit.append(then)
        if not self._underway:
            self._commit()

    def _hold(self, session: Session) -> None:
        """Keep a session's replies until the commit that is being collected is through."""
        self._held.append((session, session.out, session.marks))
        session.out, session.marks = [], []
        session.needs_commit = False
        session.held += 1

    def _commit(self) -> None:
        """One batch out of everything that waits."""
        held, self._held = self._held, []
        then, self._after_commit = self._after_commit, []
        started = time.perf_counter()
        self._underway = True

        def done(error: StoreUnavailable | None) -> None:
            self._underway = False
            self.commits += 1
            self.commit_seconds += time.perf_counter() - started
            if error is not None:
                _refuse(held, error)
            self._release(held)
            for callback in then:
                callback()
            if not self._underway and (self._held or self._after_commit):
                self._commit()

        try:
            self.keyspace.commit(done)
        except BaseException:
            self._underway = False  # a bug, but the next turn may be without it
            raise

    def _release(self, held: Held) -> None:
        for session, out, _ in held:
            session.held -= 1
            session.connection.send(out)
            if not session.held:
                session.connection.resume_after_commit()

    def _fail(self, failure: StoreUnavailable) -> None:
        """A batch was refused. What was decided since is forgotten with it, so its writers hear."""
        _refuse(self._held, failure)
        _refuse([(s, s.out, s.marks) for s in self._active.values()], failure)
        try:
            self.keyspace.abandon()
        except Damaged as damaged:
            failure = StoreDamaged(str(damaged))
        self._on_failure(failure)


def _refuse(held: Held, failure: StoreUnavailable) -> None:
    """Put the reason in place of the replies of writers."""
    refusal = misconf(str(failure), for_good=isinstance(failure, StoreDamaged))
    line = encoding.error(refusal.text)
    for _, out, marks in held:
        for mark in marks:
            if mark < len(out):  # else CLIENT REPLY had muted it
                out[mark] = line
