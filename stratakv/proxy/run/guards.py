"""Guards: whatever is unusual about the server, a bit each.

The dispatcher looks at `bits` once per command; while none is set, nothing here costs anything.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.errors import CommandError, StoreDamaged, StoreUnavailable
from stratakv.proxy.clients.session import FROM_MASTER, Session
from stratakv.proxy.observe.hotkeys import HotKeys
from stratakv.proxy.observe.stats import monitor_line
from stratakv.proxy.run.demands import may_write
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

LOCKED: Final = 1
"""A long command holds keys."""
PAUSED: Final = 2
"""Commands are held back: by CLIENT PAUSE, a fail-over, or the end of the server."""
WATCHED: Final = 4
"""Somebody runs MONITOR."""
READ_ONLY: Final = 8
"""The store refuses writes."""
READY: Final = 16
"""A key has changed that a blocked client waits for."""
FOLLOWING: Final = 32
"""The server is a replica."""
LONELY: Final = 64
"""There are fewer replicas than writes need (min-replicas-to-write)."""
TRACKED: Final = 128
"""A client is to be told of changes of keys."""
SAMPLED: Final = 256
"""A window of STRATA HOTKEYS is open."""
FULL: Final = 512
"""The data directory takes more than it may (maxdisk-bytes)."""
COUNTED: Final = 1024
"""Uses of keys are counted (maxmemory-policy with LFU)."""
CLUSTERED: Final = 2048
"""The server is a node of a cluster: each request is looked at, whose its slot is."""
ALL_BUT_CLUSTERED: Final = -2049
"""A request that has been looked at is served as any other."""

BY_COMMAND: Final = "CLIENT PAUSE"
FOR_FAILOVER: Final = "FAILOVER"
FOR_THE_END: Final = "SHUTDOWN"
"""Why there is a pause. Who ends one leaves the others."""


class Pause(NamedTuple):
    """Commands are held back up to a moment: all of them, or those that write."""

    until: float
    writes_only: bool


_OVER: Final = Pause(0.0, writes_only=True)


class Guards:
    """The bits, and the states behind them: a pause, the monitors, a store that refuses writes."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, resume_soon: Callable[[Session], None]
    ) -> None:
        self._loop = loop
        self._resume_soon = resume_soon
        self.bits = 0
        self.refusal = ""
        """Why the store refuses writes."""
        self.refused_for_good = False
        """Whether it will go on to refuse them: it is damaged."""
        self.deletes_only = False
        """Whether it refuses only those that may grow: the disk is full."""
        self.read_only_replica = True
        """Whether a replica refuses what its clients write."""
        self.is_stale = False
        """Whether a replica without its master refuses to answer."""
        self.author: Session | None = None
        """The client whose command runs, while somebody is told of changes; None if the server
        itself is at work."""
        self.hot_keys = HotKeys(loop, self.sample)
        self._monitors: list[Session] = []
        self._paused: list[Session] = []
        self._pauses: dict[str, Pause] = {}
        """By their reasons."""
        self.on_pause: Callable[[bool], None] = _nobody_minds
        """Called when a pause begins, and when there is none any more."""

    @property
    def let_read(self) -> bool:
        """Whether the only unusual thing is that this is a replica, which answers."""
        return self.bits == FOLLOWING and not self.is_stale

    def hold(self, session: Session) -> None:
        """Let a session wait for the end of a pause."""
        session.waiting = True
        self._paused.append(session)

    @property
    def held(self) -> list[Session]:
        """The clients that wait for the end of a pause."""
        return self._paused

    def is_held(self, session: Session) -> bool:
        """Whether a session waits for the end of a pause."""
        return session in self._paused

    def holds_back(self, session: Session, entry: Command, request: Request) -> bool:
        """Whether a pause stops a command; ends those whose time is over."""
        now = time.monotonic()
        if any(pause.until <= now for pause in self._pauses.values()):
            self._end_pauses()
        if not self._pauses:
            return False
        if all(pause.writes_only for pause in self._pauses.values()):
            return may_write(session, entry, request)
        return True

    def pause(self, reason: str, seconds: float, *, writes_only: bool) -> None:
        """Hold commands back; a running pause only ever gets longer and stricter."""
        until = time.monotonic() + seconds
        before = self._pauses.get(reason)
        if before is not None:
            until = max(until, before.until)
            writes_only = writes_only and before.writes_only
        self._pauses[reason] = Pause(until, writes_only)
        self.bits |= PAUSED
        self.on_pause(True)
        if seconds != math.inf:
            self._loop.call_later(seconds + 0.001, self._end_pauses)

    def unpause(self, reason: str) -> None:
        """End the pause of that reason."""
        if reason in self._pauses:
            self._pauses[reason] = _OVER
            self._end_pauses()

    def _end_pauses(self) -> None:
        """Let everything go on that waited, if a pause is over; what another holds back waits
        again."""
        now = time.monotonic()
        left = {reason: pause for reason, pause in self._pauses.items() if pause.until > now}
        if len(left) == len(self._pauses):
            return
        self._pauses = left
        if not left:
            self.bits &= ~PAUSED
            self.on_pause(False)
        paused, self._paused = self._paused, []
        for session in paused:
            self._resume_soon(session)

    @property
    def are_locked(self) -> bool:
        """Whether a long command writes, of which nobody has been told yet."""
        return bool(self.bits & LOCKED)

    def lock(self, exist: bool) -> None:
        """Whether there are locks on keys from now on."""
        self.bits = self.bits | LOCKED if exist else self.bits & ~LOCKED

    def refuse_writes(
        self, reason: str | None, *, for_good: bool = False, deletes_only: bool = False
    ) -> None:
        """Refuse writes with that reason, or those that may grow; accept all again with None."""
        self.refusal = reason or ""
        self.refused_for_good = for_good
        self.deletes_only = deletes_only and bool(reason)
        self.bits = self.bits | READ_ONLY if reason else self.bits & ~READ_ONLY

    def refuse_growth(self, is_full: bool) -> None:
        """Refuse commands that may grow the data, or accept them again."""
        self.bits = self.bits | FULL if is_full else self.bits & ~FULL

    def finds_full(self, session: Session, entry: Command) -> bool:
        """Whether a command may not run because there is more data than may be; as `refuses_now`.

        What comes from a master is not asked for leave.
        """
        if not self.bits & FULL or session.guards & FROM_MASTER:
            return False
        if session.transaction is not None and "final" in entry.traits:
            return any("denyoom" in queued.flags for queued, _ in session.transaction.queue)
        return "denyoom" in entry.flags

    @property
    def is_closed(self) -> bool:
        """Whether the store takes nothing at all."""
        return bool(self.refusal) and not self.deletes_only

    def refuses(self, entry: Command) -> bool:
        """Whether a command may not run because of the store."""
        if not self.bits & READ_ONLY or not entry.is_write:
            return False
        return not self.deletes_only or "denyoom" in entry.flags

    def refuses_now(self, session: Session, entry: Command) -> bool:
        """As `refuses`; EXEC is refused if one of the commands is that it would run."""
        if session.transaction is not None and "final" in entry.traits:
            return any(self.refuses(queued) for queued, _ in session.transaction.queue)
        return self.refuses(entry)

    @property
    def is_lonely(self) -> bool:
        """Whether a master has too few replicas to write."""
        return bool(self.bits & LONELY) and not self.bits & FOLLOWING

    def is_read_only_for(self, session: Session) -> bool:
        """Whether the server is a replica that a client may not write to."""
        follows = bool(self.bits & FOLLOWING) and self.read_only_replica
        return follows and not session.guards & FROM_MASTER

    def refuses_write(self, session: Session) -> CommandError | None:
        """Why nothing may be written because of the server's place among others, if so."""
        if self.is_lonely:
            return CommandError(errors.NO_REPLICAS)
        if self.is_read_only_for(session):
            return CommandError(errors.READ_ONLY_REPLICA)
        return None

    def check_room(self) -> None:
        """Raise the store's reason if it refuses writes that need room."""
        if self.refusal:
            raise (StoreDamaged if self.refused_for_good else StoreUnavailable)(self.refusal)

    def route(self) -> None:
        """Requests have to be looked at, whose they are, from now on."""
        self.bits |= CLUSTERED

    def track(self, *, exist: bool) -> None:
        """Whether there are clients that are told of changes from now on."""
        self.bits = self.bits | TRACKED if exist else self.bits & ~TRACKED
        self.author = None

    @contextmanager
    def authored(self, session: Session | None) -> Iterator[None]:
        """What changes within is a client's own doing."""
        before, self.author = self.author, session
        try:
            yield
        finally:
            self.author = before

    def watch(self, session: Session) -> None:
        """MONITOR: show this session every command from now on."""
        self._monitors.append(session)
        self.bits |= WATCHED

    def unwatch(self, session: Session) -> None:
        """The session no longer monitors."""
        if session in self._monitors:
            self._monitors.remove(session)
        if not self._monitors:
            self.bits &= ~WATCHED

    def sample(self, is_open: bool) -> None:
        """Whether requests are shown to the sampling of keys from now on."""
        self.bits = self.bits | SAMPLED if is_open else self.bits & ~SAMPLED

    def count_uses(self, is_wanted: bool) -> None:
        """Whether uses of keys are counted from now on."""
        self.bits = self.bits | COUNTED if is_wanted else self.bits & ~COUNTED

    def show(self, session: Session, entry: Command, request: Request) -> None:
        """Show a command to all monitors, and those that it has run as a unit."""
        self.note(session, entry, request, 0)
        lines, session.shown = session.shown, []
        for monitor in self._monitors:
            for line in lines:
                if not monitor.realm.sees(session):
                    continue
                if monitor is not session:
                    monitor.push(line)
                else:  # its own commands too, behind their replies
                    self._loop.call_soon(monitor.push, line)

    def note(
        self, session: Session, entry: Command, request: Request, at: int, source: str = ""
    ) -> None:
        """Keep a command to be shown when the unit has ended, since units may begin anew.

        `at` is where its own commands begin: a script stands before them, EXEC behind.
        """
        if "admin" in entry.flags:
            return
        line = monitor_line(session, request, source)
        if "skip_monitor" in entry.flags:
            session.shown.insert(at, line)
        else:
            session.shown.append(line)


def _nobody_minds(exists: bool) -> None:
    """Nothing depends on pauses."""
