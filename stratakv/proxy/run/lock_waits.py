"""Writers that wait for the locks of long commands, and those that hear BUSY instead.

1. A short writer never runs while somebody has one of its keys locked, or waits for it longer.
2. Who waits is either resumed when its keys are free, or refused when a script becomes busy.
"""

import asyncio
from collections.abc import Callable

from stratakv.encodings.keyspace.locks import NOTHING, Claim, KeyLocks, Lock
from stratakv.encodings.keyspace.txn import Uncovered
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import QUEUEING, Session
from stratakv.proxy.run.busy import BusyScripts
from stratakv.proxy.run.demands import may_write
from stratakv.proxy.run.guards import Guards
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

Refuse = Callable[[CommandError], None]


class LockWaits:
    """Who has keys locked, and who waits for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, guards: Guards) -> None:
        self.locks = KeyLocks(loop.call_soon, guards.lock)
        self.busy = BusyScripts(loop, self.locks)
        self._sessions: dict[Lock, Session] = {}
        """Who waits until keys are free."""

    def until_free(
        self,
        session: Session,
        wanted: Claim,
        go_on: Callable[[], None],
        refuse: Refuse | None,
    ) -> bool:
        """Let a client wait, and call `go_on` once nobody has any of it; False if that is so now.

        `refuse` is called instead if a script becomes busy meanwhile.
        """
        if not self.locks.blocks(wanted):
            return False
        session.waiting = True

        def start(lock: Lock) -> None:
            del self._sessions[lock]
            go_on()

        def turn_away(failure: CommandError) -> None:
            del self._sessions[lock]
            assert refuse is not None
            refuse(failure)

        lock = self._ask(self.locks.wait, wanted, start, turn_away if refuse is not None else None)
        self._sessions[lock] = session
        return True

    def acquire(self, wanted: Claim, go_on: Callable[[Lock], None], refuse: Refuse) -> None:
        """Call `go_on` with the lock once all of it is ours, or `refuse` as above."""
        self._ask(self.locks.acquire, wanted, go_on, refuse)

    def _ask(
        self,
        ask: Callable[[Claim, Callable[[Lock], None]], Lock],
        wanted: Claim,
        go_on: Callable[[Lock], None],
        refuse: Refuse | None,
    ) -> Lock:
        """Ask for a lock; whichever is called, the other will not be."""

        def start(lock: Lock) -> None:
            self.busy.goes_on(lock)
            go_on(lock)

        lock = ask(wanted, start)
        if refuse is not None:
            self.busy.waits(lock, refuse)
        return lock

    def waiting(self) -> list[Session]:
        """The clients that wait until keys are free."""
        return list(self._sessions.values())

    def release(self, lock: Lock) -> None:
        """The owner of a lock has come to its end, and gives it back."""
        self.busy.ended(lock)
        lock.release()

    def busy_refusal(
        self, session: Session, entry: Command, request: Request
    ) -> CommandError | None:
        """Why a writer does not wait: a script has run for too long already."""
        if needs_locks(session, entry) and "allow_busy" not in entry.flags:
            return self.busy.refusal(claim_of(session, entry, request))
        return None

    def check_cover(self, session: Session, entry: Command, request: Request) -> None:
        """A command of a unit touches no key that others have locked; raises `Uncovered`.

        Scripts may use keys that they have not named. A unit that has a lock touches nothing but
        that, and one that has none, and ends within the turn, writes nothing that is locked.
        """
        touched = entry.claim(request)
        if session.lock is not None:
            if not session.lock.claim.covers(touched):
                raise Uncovered
        elif entry.is_write and self.locks.blocks(touched):
            raise Uncovered


def claim_of(session: Session, entry: Command, request: Request) -> Claim:
    """What a command locks if it takes long: all that it touches, if it may write."""
    if not may_write(session, entry, request):
        return NOTHING
    if session.transaction is not None and "unit" in entry.traits:
        return session.transaction.claim()
    return entry.claim(request)


def is_queued(session: Session, entry: Command) -> bool:
    """Whether the command is one that only takes its place between MULTI and EXEC."""
    return bool(session.guards & QUEUEING) and not entry.is_immediate


def needs_locks(session: Session, entry: Command) -> bool:
    """Whether the command may write now, so that it waits for those who have its keys locked."""
    return (entry.is_write or "unit" in entry.traits) and not is_queued(session, entry)
