"""How a command runs: budget, handler, apply or discard, failure to reply, count.

The hot loop of the dispatcher has this sequence spelt out, for speed. Everybody else who runs a
command calls one of two functions: `run`, which is a unit of work by itself, and `run_in_unit`, of
which many make one.

1. A command that raises changes nothing. `TooLong` and `WouldBlock` are not failures: the command
   has not run, and whoever called decides how it goes on.
2. Its writes are applied before its reply is made, since they may push to this very client; the
   place of the reply is marked behind them, in case the commit is refused.
3. A reply that tells of keys waits for the commit by which they are written. A long command reads
   a snapshot and commits by itself, so its reply waits for nothing more.
4. A command is counted once, where it ends, however often it began.
5. In a unit, a writer that ended where it did not expect to may have written in part: the unit goes
   with it. An error that Redis has is a reply, and the unit goes on.
"""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any

from stratakv import errors
from stratakv.encodings.keyspace.keyspace import Effect
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Txn
from stratakv.errors import CommandError, Corrupt, Damaged, StoreDamaged, StoreUnavailable
from stratakv.proxy.clients.session import FROM_MASTER, TRACKING, Session
from stratakv.proxy.observe.stats import Stats
from stratakv.proxy.run.blocking import Elsewhere, WouldBlock
from stratakv.proxy.run.guards import LOCKED, TRACKED, WATCHED, Guards
from stratakv.proxy.run.long_work import LongWork
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.packing import MANY, pack_slowly
from stratakv.proxy.wire.replies import made
from stratakv.proxy.wire.requests import Request
from stratakv.storage.missing import TooLong

log = logging.getLogger("stratakv")

CheckCover = Callable[[Session, Command, Request], None]


def invoke(session: Session, entry: Command, request: Request) -> Any:
    """Call the handler, over the session or over its Txn."""
    if entry.takes_session:
        session.request = request
        return entry.handler(session, *request[len(entry.words) :])
    return entry.handler(session.txn, *request[1:])


class Running:
    """Runs commands for whoever is not the hot loop."""

    def __init__(self, stats: Stats, guards: Guards, check_cover: CheckCover) -> None:
        self._stats = stats
        self._guards = guards
        self._check_cover = check_cover

    def run(
        self,
        session: Session,
        entry: Command,
        request: Request,
        *,
        serve: Callable[[], Any] | None = None,
        work: LongWork | None = None,
    ) -> Any:
        """Run a command as a unit of work; returns its reply, errors included.

        `serve` stands for the handler, if it is not to be called as the client did. `work` is for
        a command in slices: its Txn is the session's then. Raises `TooLong` and `WouldBlock`.
        """
        txn = session.txn
        txn.budget = ROW_BUDGET
        try:
            value = invoke(session, entry, request) if serve is None else serve()
            if work is None and session.txn is not txn and not txn.changed:
                txn = session.txn  # it went to where the rows are: libraries in a cluster
            if work is not None:
                if work.has_changes:
                    self._tell(session, work.txn, entry, request, value)
                    work.publish()
            elif txn.changed:
                self._tell(session, txn, entry, request, value)
                self._apply(session, txn)
                session.mark_write()
            elif txn.effects is not None:
                txn.effects = None  # a unit that has written nothing
        except Elsewhere as elsewhere:
            _discard(session, txn, work)
            session.select(elsewhere.database)
            session.slot = elsewhere.slot
            return self.run(session, entry, request, serve=serve)
        except (TooLong, WouldBlock):
            _discard(session, txn, work)
            raise
        except Exception as failure:
            _discard(session, txn, work)
            value = self.failed(entry, failure)
        if work is None and _sees_keys(entry):
            session.needs_commit = True
        return value

    def _apply(self, session: Session, txn: Txn) -> None:
        if self._guards.bits & TRACKED:
            with self._guards.authored(session):
                txn.apply()
        else:
            txn.apply()

    def _tell(
        self, session: Session, txn: Txn, entry: Command, request: Request, value: Any
    ) -> None:
        """Let replicas know what a command has written, if anything.

        What a long reader has found expired may be there again: it has locked nothing.
        """
        if not txn.keyspace.replicates:
            txn.effects = None
            return
        if txn.is_long and session.lock is None:
            txn.effects = None
        elif txn.metas or txn.rows or txn.siblings or txn.is_long:
            entry.tell(txn, request, value)
            session.has_written = True
            if txn.is_long and txn.effects is not None:
                _pack_long_ones(txn, txn.effects)

    def run_in_unit(
        self,
        session: Session,
        entry: Command,
        request: Request,
        source: str = "",
        is_told: bool = True,
    ) -> Any:
        """Run one command of a transaction or a script; returns its reply, errors included.

        What follows may depend on it, so a reply that is made lazily is made now. `source` is who
        runs it, as MONITOR shows it, if not the client; `is_told` whether replicas are to hear of
        what it writes. Raises `TooLong`, and what spoils the unit.
        """
        if self._guards.bits & LOCKED:
            self._check_cover(session, entry, request)
        shown = len(session.shown)
        started = perf_counter()
        try:
            value = made(invoke(session, entry, request))
        except TooLong:
            raise
        except WouldBlock as reason:
            value = reason.denied
        except Exception as failure:
            if _spoils_unit(entry, failure):
                raise
            value = self.failed(entry, failure)
            if session.guards & FROM_MASTER:
                self._stats.unexpected_errors += 1
        txn = session.txn
        if (
            is_told
            and (txn.keyspace.replicates or txn.is_long)
            and not isinstance(value, CommandError)
        ):
            entry.tell(session.txn, request, value)  # a stream may begin before a long one ends
        if session.guards & TRACKING:
            session.server.tracking.read_in_unit(session, entry, request)
        self.count(session, entry, request, perf_counter() - started)
        if self._guards.bits & WATCHED:
            self._guards.note(session, entry, request, shown, source)
        session.txn.pause_if_due()
        return value

    def count(self, session: Session, entry: Command, request: Request, seconds: float) -> None:
        """A command has ended elsewhere than in the hot loop: count it, log it if it was slow."""
        entry.count(seconds)
        if seconds >= self._stats.slow_seconds:
            self._stats.record_slow(session, request, seconds)

    def failed(self, entry: Command, failure: Exception) -> CommandError:
        """The error reply of a command that raised; what is not known as an error is our bug."""
        entry.failed += 1
        if isinstance(failure, Damaged):
            failure = self._stats.count_damage(failure)
        elif isinstance(failure, StoreUnavailable):
            failure = errors.misconf(str(failure), for_good=isinstance(failure, StoreDamaged))
        elif not isinstance(failure, CommandError):
            log.error("command %s failed", entry.name, exc_info=failure)
            failure = CommandError(b"ERR internal error; see the server's log")
        self._stats.count_error(failure)
        return failure


def _discard(session: Session, txn: Txn, work: LongWork | None) -> None:
    """Forget what a command has written."""
    if work is not None:
        work.txn.discard()
        return
    txn.discard()
    if session.txn is not txn:
        session.txn.discard()


def _pack_long_ones(txn: Txn, effects: list[Effect]) -> None:
    """Make ahead, in slices, what would hold everybody up when the writes are applied."""
    for at, (database, words) in enumerate(effects):
        if len(words) > MANY:
            effects[at] = (database, pack_slowly(words, txn.pause_if_due))


def _sees_keys(entry: Command) -> bool:
    """Whether a reply may tell of keys: all but those on the connection and the server."""
    return (
        not entry.takes_session
        or entry.is_write
        or "unit" in entry.traits
        or "readonly" in entry.flags
    )


def _spoils_unit(entry: Command, failure: Exception) -> bool:
    """Whether a command may have written in part, and so has spoilt what it is a part of."""
    is_expected = isinstance(failure, CommandError) and not isinstance(failure, Damaged | Corrupt)
    return not is_expected and (entry.is_write or "replicates" in entry.traits)
