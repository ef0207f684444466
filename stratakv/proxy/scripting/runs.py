"""Lua at work: what a script may do, what it has done, and why it has to end early."""

import logging
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.errors import CommandError
from stratakv.proxy.access.checking import check
from stratakv.proxy.clients.session import RESTRICTED
from stratakv.proxy.run.blocking import Elsewhere
from stratakv.proxy.run.rights import refusal_in_script
from stratakv.proxy.scripting.conversion import NotCalled, argument
from stratakv.proxy.table.registry import CALLED, Command, find_called
from stratakv.proxy.wire.requests import Request
from stratakv.storage.missing import TooLong

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.cluster.cluster import Cluster

log = logging.getLogger("stratakv.script")

INLINE_SECONDS: Final = 0.005
"""How long a script holds the loop before it begins anew in slices."""
LOAD_SECONDS: Final = 0.5
"""How long a library may take to register its functions."""

LOG_LENGTH: Final = 16384
"""Bytes of a line that a script may log; the rest is cut off."""

LOG_LEVELS: Final = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
"""Of redis.LOG_DEBUG, VERBOSE, NOTICE and WARNING: our default is as quiet as Redis's."""


_ESCAPES: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)
}
"""What would begin another line, or steer the terminal that shows the log."""


class WorkMeter:
    """Lua at work, until it ends or has to."""

    def __init__(self, name: bytes, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.resp3 = False
        self.is_told = True
        """Whether replicas hear of what it writes from now on (redis.set_repl)."""
        self.started = time.perf_counter()
        self.reason = b""
        """Why Lua must give way now, as an error text; nothing while it may go on."""
        self.failure: BaseException | None = None
        """What is to be raised once Lua has come to its end."""

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.perf_counter() - self.started

    def end(self, failure: BaseException) -> None:
        """It cannot go on; `failure` is raised when Lua has given way."""
        self.failure = self.failure or failure
        self.reason = self.reason or b"ERR the script cannot go on"

    def raise_failure(self) -> None:
        """Raise what waits, if anything does.

        Nothing here keeps it: with its traceback it would hold the Lua state.
        """
        failure, self.failure = self.failure, None
        if failure is None:
            return
        try:
            raise failure
        finally:
            del failure

    def tick(self) -> bool:
        """Called every few thousand instructions; says whether Lua has to give way."""
        return bool(self.reason)

    def note(self, level: int, text: str) -> None:
        """redis.log: one line, whatever is in it."""
        log.log(LOG_LEVELS[level], "%s", text.translate(_ESCAPES))

    def call(self, values: tuple[Any, ...]) -> Any:
        """redis.call: the reply, errors included. Raises `TooLong`."""
        return CommandError(errors.SCRIPT_NOT_ALLOWED)


class Loading(WorkMeter):
    """A library that registers its functions; with a Txn it may begin anew in slices."""

    def __init__(self, txn: Txn | None) -> None:
        super().__init__(b"", "function")
        self._txn = txn

    def tick(self) -> bool:
        """See to the time limit."""
        if self.seconds > LOAD_SECONDS:
            self.reason = b"ERR FUNCTION LOAD timeout"
        elif self._txn is not None and self._txn.is_long:
            self._txn.pause_if_due()
        elif self._txn is not None and self.seconds > INLINE_SECONDS:
            self.end(TooLong())
        return bool(self.reason)


class Run(WorkMeter):
    """A script or function at work for a session."""

    def __init__(self, session: "Session", name: bytes, *, read_only: bool, kind: str) -> None:
        super().__init__(name, kind)
        self.session = session
        self.read_only = read_only
        self.wrote = False
        self.may_grow = False
        """Whether it has declared what it does, and was let run: each call is not asked again
        whether there is room."""
        self.request = session.request
        """The call, EVAL or FCALL with its arguments."""
        self.failures: list[CommandError] = []
        """Errors in its reply that are its own, not those of commands that it called."""
        self.failed = False
        """Whether its reply is or has an error."""
        self.may_cross_slots = True
        """Whether it may use keys of other slots than that of the first."""
        self._slot = session.slot
        """In a cluster the slot of the keys that it has named, or used first."""
        self._warn_after = session.server.options.busy_reply_threshold / 1000
        self._log: list[tuple[int, str]] = []

    def kill(self) -> None:
        """SCRIPT KILL or FUNCTION KILL."""
        word = b"SCRIPT" if self.kind == "eval" else b"FUNCTION"
        self.reason = b"ERR Script killed by user with %b KILL." % word

    def tick(self) -> bool:
        """Give way to other clients, or begin anew where that can be done."""
        if self.reason:
            return True
        txn = self.session.txn
        if txn.is_long:
            self._warn()
            txn.pause_if_due()
        elif self.seconds > INLINE_SECONDS:
            self.end(TooLong())
        return bool(self.reason)

    def pause_if_due(self) -> None:
        """Give way to other clients, if that can be done, after Lua has come to its end."""
        if self.session.txn.is_long:
            self.session.txn.pause_if_due()

    def _warn(self) -> None:
        if 0 < self._warn_after < self.seconds:
            self._warn_after = 0.0
            log.warning("script %s is still running after the threshold", self.name.decode())

    def note(self, level: int, text: str) -> None:
        """redis.log: at once in slices, else at the end, since the script may begin anew."""
        if self.session.txn.is_long:
            super().note(level, text)
        else:
            self._log.append((level, text))

    def flush_log(self) -> None:
        """The run counts: write what it noted."""
        for level, text in self._log:
            super().note(level, text)

    # commands

    def call(self, values: tuple[Any, ...]) -> Any:
        """redis.call: the reply, errors included. Raises `TooLong`."""
        if not values:
            return NotCalled(errors.SCRIPT_NO_ARGUMENT)
        request = [value if type(value) is bytes else argument(value) for value in values]
        if None in request:
            return NotCalled(errors.SCRIPT_BAD_ARGUMENT)
        return self._run(request)  # type: ignore[arg-type]  # None was refused

    def may_call(self, entry: Command, request: Request) -> bool:
        """Whether the user may run a command; one with too few arguments names no keys."""
        user = self.session.user
        return user.is_unlimited or check(user, entry, request) is None

    def _run(self, request: Request) -> Any:
        dispatcher = self.session.server.dispatcher
        entry = None if dispatcher.guards.is_stale else _readers().get(request[0])
        if (
            entry is not None
            and entry.min_args <= len(request) <= entry.max_args
            and not self.session.guards & RESTRICTED
            and dispatcher.cluster is None
        ):
            return dispatcher.running.run_in_unit(self.session, entry, request, "lua", self.is_told)
        entry = find_called(request)
        failure = self._refusal(entry, request)
        if failure is not None:
            if entry is not None:
                entry.rejected += 1
            dispatcher.stats.count_error(failure)
            return failure
        assert entry is not None
        if entry.is_write:
            self.wrote = True
        if dispatcher.cluster is not None and entry.is_routed:
            failure = self._stray(dispatcher.cluster, entry, request)
            if failure is not None:
                dispatcher.stats.count_error(failure)
                return failure
        return dispatcher.running.run_in_unit(self.session, entry, request, "lua", self.is_told)

    def _stray(self, cluster: "Cluster", entry: Command, request: Request) -> CommandError | None:
        """Why a script may not use keys of that slot; if it may, it is in the right database.

        One that has named keys stays in their slot, unless it may be anywhere on this node: and
        even then in one database, since what it writes is one commit. One that has not begins anew
        where the first key is that it uses.
        """
        try:
            slot, place = cluster.place_of(self.session, entry, request)
        except CommandError as failure:
            return failure
        if slot < 0:
            return None
        session = self.session
        is_here = session.txn.db.number == place
        if self._slot < 0:
            if not is_here and session.slot < 0 and not session.txn.is_long:
                raise Elsewhere(slot, place)
            self._slot = slot
            session.slot = slot
        is_bound = slot != self._slot and not self.may_cross_slots
        if is_bound or not is_here:
            return CommandError(errors.SCRIPT_CROSS_SLOT)
        return None

    def _refusal(self, entry: Command | None, request: Request) -> CommandError | None:
        if entry is None:
            return CommandError(errors.SCRIPT_UNKNOWN_COMMAND)
        if not entry.min_args <= len(request) <= entry.max_args:
            return CommandError(errors.SCRIPT_WRONG_ARITY)
        if "noscript" in entry.flags and not self.session.server.scripting.allows_all:
            return CommandError(errors.SCRIPT_NOT_ALLOWED)
        guards = self.session.server.dispatcher.guards
        if guards.is_stale and "stale" not in entry.flags:
            return CommandError(errors.STALE_IN_SCRIPT)
        failure = refusal_in_script(self.session, entry, request)
        if failure is not None:
            return failure
        if "blocking" in entry.flags and _may_wait(request):
            return errors.no_block_in_scripts(request[0])
        if self.read_only and (entry.is_write or "replicates" in entry.traits):
            return CommandError(errors.SCRIPT_READ_ONLY)
        if entry.is_write and not self.wrote:
            if not self.may_grow and guards.finds_full(self.session, entry):
                return CommandError(errors.DISK_LIMIT)
            if guards.refuses(entry):
                return errors.misconf(guards.refusal, for_good=guards.refused_for_good)
            return guards.refuses_write(self.session)
        return None


def _may_wait(request: Request) -> bool:
    """Whether XREAD or XREADGROUP, which scripts may call, has its option BLOCK."""
    words = [word.upper() for word in request]
    options = words[4:] if words[1] == b"GROUP" else words[1:]
    end = options.index(b"STREAMS") if b"STREAMS" in options else len(options)
    return b"BLOCK" in options[:end]


@cache
def _readers() -> dict[bytes, Command]:
    """Commands that every script may call, in the usual spellings."""
    barred = {"write", "noscript", "blocking"}
    return {
        spelling: entry
        for name, entry in CALLED.items()
        if not entry.subcommands
        and not entry.container
        and not barred & entry.flags
        and "replicates" not in entry.traits
        for spelling in (name, name.upper())
    }
