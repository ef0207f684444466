"""Scripts that run for too long, and the writers that they keep waiting.

A long script works in slices, so readers are served all the while. A writer of what it has locked
has to wait; once the script has run for `busy-reply-threshold`, it hears BUSY instead, as do those
that wait already. What waits for nothing but other locks goes on waiting.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.locks import Claim, KeyLocks, Lock
from stratakv.errors import CommandError

Refuse = Callable[[CommandError], None]

_TEXTS: Final = {"eval": errors.BUSY_SCRIPT, "function": errors.BUSY_FUNCTION}


class BusyScripts:
    """The scripts past the threshold, by the locks that they hold."""

    def __init__(self, loop: asyncio.AbstractEventLoop, locks: KeyLocks) -> None:
        self._loop = loop
        self._locks = locks
        self._timers: dict[Lock, asyncio.TimerHandle] = {}
        self._overdue: dict[Lock, bytes] = {}
        self._waiting: dict[Lock, Refuse] = {}

    def __bool__(self) -> bool:
        return bool(self._overdue)

    def began(self, lock: Lock, kind: Callable[[], str | None], seconds: float) -> None:
        """A unit has its lock, and is busy if it runs a script after `seconds`.

        `kind` tells what it runs by then: `eval`, `function`, or None for no script.
        """
        if seconds > 0:
            self._timers[lock] = self._loop.call_later(seconds, self._look_at, lock, kind, seconds)

    def ended(self, lock: Lock) -> None:
        """The owner of a lock has come to its end."""
        timer = self._timers.pop(lock, None)
        if timer is not None:
            timer.cancel()
        self._overdue.pop(lock, None)

    def refusal(self, wanted: Claim) -> CommandError | None:
        """Why a writer should not begin to wait, if a script past the threshold is the reason."""
        for lock, text in self._overdue.items():
            if lock.claim.overlaps(wanted):
                return CommandError(text)
        return None

    def waits(self, lock: Lock, refuse: Refuse) -> None:
        """A writer may have to wait; `refuse` is called if it does when a script becomes busy.

        If one is already, soon: who asks is to know its lock first.
        """
        if self._locks.is_waiting(lock):
            self._waiting[lock] = refuse
            if self.refusal(lock.claim) is not None:
                self._loop.call_soon(self._turn_away, lock)

    def _turn_away(self, lock: Lock) -> None:
        failure = self.refusal(lock.claim)
        refuse = None if failure is None else self._waiting.pop(lock, None)
        if failure is not None and refuse is not None:
            lock.release()
            refuse(failure)

    def goes_on(self, lock: Lock) -> None:
        """A writer no longer waits."""
        self._waiting.pop(lock, None)

    def _look_at(self, lock: Lock, kind: Callable[[], str | None], seconds: float) -> None:
        """The time is over: if a script runs, whoever waits for it hears so."""
        running = kind()
        if running is None:
            self.began(lock, kind, seconds)
            return
        self._overdue[lock] = text = _TEXTS[running]
        for waiting in self._locks.behind(lock):
            refuse = self._waiting.pop(waiting, None)
            if refuse is not None:
                waiting.release()
                refuse(CommandError(text))
