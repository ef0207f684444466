"""Turns of a node of a cluster: each space that was written in a turn has a commit of its own.

The commits of different spaces go side by side. A client's replies wait for those of the spaces
that it has used in the turn, and leave in the order of its requests. What a commit that succeeded
shows of the lease is in leased_turns.py: it does here, too, and for each space by itself.

Invariants, between two turns
1. A reply that tells of a space leaves after a commit of it, or while nothing of it waits and its
   lease lasts.
2. Who has heard of a space that has failed is cut off: no reply of a turn that it was in leaves.
   Others go on.
3. Replies that wait are known to their client's queue, and to each space that they wait for.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.errors import StoreUnavailable
from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.spaces import Space
from stratakv.proxy.run.turns import PENDING_ROWS, Turns


class Waiting:
    """Replies of a client that wait for so many commits."""

    __slots__ = ("left", "out", "session")

    def __init__(self, session: Session, left: int) -> None:
        self.session = session
        self.left = left
        self.out = session.out


class Commits:
    """The commits of one space: what is collected for the next while one is under way."""

    __slots__ = ("is_underway", "space", "then", "waiting")

    def __init__(self, space: Space) -> None:
        self.space = space
        self.waiting: list[Waiting] = []
        self.then: list[Callable[[], None]] = []
        self.is_underway = False


class GroupTurns(Turns):
    """As `Turns`, over many spaces. The keyspace of the server itself has no keys."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        keyspace: Keyspace,
        on_failure: Callable[[StoreUnavailable], None],
    ) -> None:
        super().__init__(loop, keyspace, on_failure)
        self.on_space_failed: Callable[[Space], None] = _nobody
        """Hears of a space of which nothing counts any more."""
        self._commits: dict[Keyspace, Commits] = {}
        self._used: dict[int, set[Commits]] = {}
        """What clients have used in this turn, by their ids, besides what they use now."""
        self._queues: dict[int, deque[Waiting]] = {}

    # spaces

    def admit(self, space: Space) -> None:
        """See to its commits from now on."""
        self._commits[space.keyspace] = Commits(space)
        space.store.on_failure = lambda failure: self.fail(space, failure)

    def is_busy(self, space: Space) -> bool:
        """Whether something of it waits for a commit."""
        commits = self._commits.get(space.keyspace)
        if commits is None:
            return False
        waits = commits.is_underway or commits.waiting or commits.then
        return bool(waits) or space.keyspace.changed or space.store.busy

    def fail(self, space: Space, failure: StoreUnavailable) -> None:
        """Nothing of a space counts any more: who was about to hear of it is cut off."""
        if space.failure is not None:
            return
        space.failure = failure
        commits = self._commits.pop(space.keyspace, None)
        if commits is not None:
            for waiting in commits.waiting:
                self._cut(waiting.session)
            for session in list(self._active.values()):
                has_used = session.txn.keyspace is space.keyspace
                if session.needs_commit and (has_used or commits in self._uses(session)):
                    self._cut(session)
            then, commits.then = commits.then, []
            for callback in then:
                self._loop.call_soon(callback)
        self.on_space_failed(space)

    def leaves(self, session: Session) -> None:
        """As in `Turns`."""
        commits = self._commits.get(session.txn.keyspace)
        if commits is not None and session.needs_commit:
            self._used.setdefault(session.id, set()).add(commits)

    def use(self, session: Session, space: Space) -> None:
        """The client's reply rests on what is in a space, besides that of its keys."""
        commits = self._commits.get(space.keyspace)
        if commits is not None:
            self._used.setdefault(session.id, set()).add(commits)

    def _uses(self, session: Session) -> set[Commits]:
        used = self._used.get(session.id, set())
        commits = self._commits.get(session.txn.keyspace)
        return used if commits is None else used | {commits}

    # the end of a turn

    def end(self) -> None:
        """Commit what was written, and let the replies go that are sure to be true."""
        if self.at_end is not None:
            self.at_end()
        self.open = False
        self.keyspace.trim()
        if self.keyspace.changed:
            self.keyspace.commit(_ignore)
        sessions, self._active = self._active, {}
        for session in sessions.values():
            self._send_or_hold(session)
        self._used.clear()
        for commits in list(self._commits.values()):
            keyspace = commits.space.keyspace
            if commits.waiting or keyspace.changed:
                keyspace.trim()
                self._commit_next(commits)
            else:
                keyspace.unwritten_bytes = 0

    def _send_or_hold(self, session: Session) -> None:
        needs_commit, session.needs_commit = session.needs_commit, False
        awaited = [one for one in self._uses(session) if one.space.must_commit]
        if not needs_commit or not awaited:
            if not session.held:
                session.connection.flush()
                return
            awaited = []
        waiting = Waiting(session, len(awaited))
        session.out, session.marks = [], []
        session.held += 1
        self._queues.setdefault(session.id, deque()).append(waiting)
        for commits in awaited:
            commits.waiting.append(waiting)
            if commits.is_underway and len(commits.space.store.pending) > PENDING_ROWS:
                session.connection.pause_for_commit()

    def _commit_next(self, commits: Commits) -> None:
        """One batch out of everything in a space that waits, unless one is under way."""
        if commits.is_underway:
            return
        waiting, commits.waiting = commits.waiting, []
        then, commits.then = commits.then, []
        started = time.perf_counter()
        commits.is_underway = True

        def done(error: StoreUnavailable | None) -> None:
            commits.is_underway = False
            self.commits += 1
            self.commit_seconds += time.perf_counter() - started
            for one in waiting:
                if error is not None:
                    self._cut(one.session)
                else:
                    one.left -= 1
                    self._deliver(one.session)
            for callback in then:
                callback()
            if commits.waiting or commits.then:
                self._commit_next(commits)

        commits.space.keyspace.unwritten_bytes = 0
        try:
            commits.space.keyspace.commit(done)
        except BaseException:
            commits.is_underway = False  # a bug, but the next turn may be without it
            raise

    def _deliver(self, session: Session) -> None:
        """Send what waits no more, as far as nothing before it does."""
        queue = self._queues.get(session.id)
        while queue and not queue[0].left:
            waiting = queue.popleft()
            session.held -= 1
            session.connection.send(waiting.out)
        if not queue:
            self._queues.pop(session.id, None)
        if not session.held:
            session.connection.resume_after_commit()

    def _cut(self, session: Session) -> None:
        """The client hears nothing more."""
        self._queues.pop(session.id, None)
        self._active.pop(session.id, None)
        session.held = 0
        session.needs_commit = False
        session.out.clear()
        session.marks.clear()
        session.connection.abort()

    def flush_now(self, then: Callable[[], None], keyspace: Keyspace | None = None) -> None:
        """Commit everything decided so far, in that keyspace or in all; `then` runs when it is in
        the engine."""
        found = [self._commits[keyspace]] if keyspace in self._commits else []
        if keyspace is None or keyspace is self.keyspace:
            found = [one for one in self._commits.values() if self.is_busy(one.space)]
        if not found:
            self._loop.call_soon(then)
            return
        left = len(found)

        def committed() -> None:
            nonlocal left
            left -= 1
            if not left:
                then()

        for commits in found:
            commits.then.append(committed)
            self._commit_next(commits)

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        assert self.open or not self._active, "turns 1: sessions were touched outside of a turn"
        queued = {id(one) for queue in self._queues.values() for one in queue}
        for commits in self._commits.values():
            assert commits.is_underway or not commits.waiting, (
                "turns 2: replies are held, and no commit is under way"
            )
            for waiting in commits.waiting:
                is_cut = not waiting.session.held
                assert is_cut or id(waiting) in queued, "turns 3: replies are known to a space only"
        for queue in self._queues.values():
            held = {id(one.session): one.session.held for one in queue}
            assert all(held.values()), "turns 3: a session does not know of its held replies"


def _ignore(error: StoreUnavailable | None) -> None:
    """Rows of the server itself are in memory."""


def _nobody(space: Space) -> None:
    """Nobody wants to know."""
