"""Dispatch: from a request to its handler and back with the reply. The hot path.

`run` takes the requests of one client in order. The normal state costs one look-up, one arity test
and one test of the guards; whatever is unusual about the client or the server is a guard bit, and
is looked into only when one is set.
"""

import asyncio
import logging
from collections import deque
from time import monotonic, perf_counter
from typing import Any, Final

from stratakv import errors
from stratakv.encodings.keyspace.locks import EVERYTHING, NOTHING, Claim, KeyLocks, Lock
from stratakv.encodings.keyspace.txn import ROW_BUDGET, TooLong, Unanswered, Uncovered
from stratakv.errors import CommandError, Damaged
from stratakv.proxy.clients.session import (
    MONITORING,
    MUST_AUTHENTICATE,
    MUTED,
    QUEUEING,
    SUBSCRIBED,
    Session,
)
from stratakv.proxy.observe.stats import Stats
from stratakv.proxy.run.blocking import BlockedClients, WouldBlock
from stratakv.proxy.run.busy import BusyScripts
from stratakv.proxy.run.cache_reads import CacheRead
from stratakv.proxy.run.guards import (
    LOCKED,
    PAUSED,
    READ_ONLY,
    READY,
    WATCHED,
    Guards,
    may_write,
)
from stratakv.proxy.run.long_commands import LongCommand
from stratakv.proxy.run.slices import Slices
from stratakv.proxy.run.turns import TURN_SECONDS, Turns
from stratakv.proxy.run.unblocking import Unblocking
from stratakv.proxy.table.registry import TABLE, Command
from stratakv.proxy.wire.replies import BULK_HEADS, CRLF, INTEGERS, NO_REPLY, QUEUED, Status, made
from stratakv.proxy.wire.requests import Request

log = logging.getLogger("stratakv")

CLIENT_SLICE_SECONDS: Final = 0.001
"""How long one client's pipeline runs before the others are served."""
FEW_REQUESTS: Final = 4
"""More of them at a time are a pipeline, and wait in line."""
KNOWN_SPELLINGS: Final = 4096


class Dispatcher:
    """Runs requests; one for the whole server."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, turns: Turns, stats: Stats, slices: Slices
    ) -> None:
        self._loop = loop
        self._turns = turns
        self._stats = stats
        self._slices = slices
        self._spellings: dict[bytes, Command] = {
            spelling: entry
            for name, entry in TABLE.items()
            if not entry.container and not entry.subcommands
            for spelling in (name, name.upper(), name.capitalize())
        }
        self.guards = Guards(loop, self.resume)
        self.locks = KeyLocks(loop.call_soon, self.guards.lock)
        self._busy = BusyScripts(loop, self.locks)
        self.blocked = BlockedClients(loop, turns.keyspace, self.wake_blocked)
        self._unblocking = Unblocking(self, self.blocked, self.guards)
        self._unfinished: deque[Session] = deque()
        """Clients with the rest of a pipeline, in the order in which they go on."""

    # the hot path

    def receive(self, session: Session, requests: list[Request]) -> None:
        """Run what has arrived, unless it is a pipeline and others are first in line.

        A few requests are served as long as the turn is not twice as long as it should be, a single
        one always: who asks for little does not queue behind those who ask for much.
        """
        if len(requests) > 1:
            age = monotonic() - self._turns.moment
            if age > 2 * TURN_SECONDS or (
                len(requests) > FEW_REQUESTS and (age > TURN_SECONDS or self._unfinished)
            ):
                self._yield_turn(session, requests)
                return
        self.run(session, requests)

    def run(self, session: Session, requests: list[Request]) -> None:
        """Run requests in order; what cannot run now is left in the session's backlog.

        Long for a function, and flat on purpose: a call per command for each step would cost a
        third of the speed. Calls with one and two arguments are spelt out (0.1 us each), and calls
        are counted once for a streak of the same command (0.15 us each).
        """
        spellings = self._spellings
        guards = self.guards
        slow_seconds = self._stats.slow_seconds
        out, txn = session.out, session.txn
        began = streak_began = before = perf_counter()
        slice_end = began + CLIENT_SLICE_SECONDS
        streak_of: Command | None = None
        streak = 0
        for number, request in enumerate(requests):
            try:
                entry = spellings[request[0]]
            except (KeyError, IndexError):
                if not request:
                    continue
                found = self._look_up(session, request)
                if found is None:
                    continue
                entry = found
            count = len(request)
            if not entry.min_args <= count <= entry.max_args:
                self._refuse(session, entry, errors.wrong_arity(entry.name))
                continue
            if (guards.bits or session.guards) and not self._admit(session, entry, request):
                if session.waiting:
                    session.backlog.extend(requests[number:])
                    break
                continue
            if entry is not streak_of:
                if streak_of is not None:
                    streak_of.count(before - streak_began, streak)
                streak_of, streak, streak_began = entry, 0, before
                session.last_command = entry.name
            streak += 1
            if entry.takes_session:
                constant = entry.constant
                if constant is not None and count == 1 and not (guards.bits or session.guards):
                    out.append(constant)
                else:
                    if entry.is_write:
                        session.needs_commit = True
                        session.marks.append(len(out))
                    _append(session, self._run_session_command(session, entry, request))
                    if session.waiting or session.closing:
                        session.backlog.extend(requests[number + 1 :])
                        break
                    out, txn = session.out, session.txn
            else:
                txn.budget = ROW_BUDGET
                session.needs_commit = True
                try:
                    if count == 2:
                        value = entry.handler(txn, request[1])
                    elif count == 3:
                        value = entry.handler(txn, request[1], request[2])
                    else:
                        value = entry.handler(txn, *request[1:])
                    if txn.metas or (entry.is_write and (txn.rows or txn.siblings)):
                        txn.apply()
                        session.marks.append(len(out))
                    elif txn.later:
                        txn.apply()  # there is nothing to commit, but something to tell
                except (TooLong, WouldBlock) as reason:
                    streak -= 1
                    txn.discard()
                    session.backlog.extend(requests[number + 1 :])
                    self._set_aside(session, entry, request, reason)
                    break
                except Exception as failure:
                    txn.discard()
                    value = self.failed(entry, failure)
                if session.guards:
                    _append(session, value)
                elif type(value) is bytes and len(value) < 1024:
                    out.append(BULK_HEADS[len(value)] + value + CRLF)
                elif type(value) is int:
                    out.append(INTEGERS[value] if 0 <= value < 1024 else b":%d\r\n" % value)
                elif type(value) is Status:
                    out.append(b"+" + value + CRLF)
                elif value is None:
                    out.append(session.encoding.null)
                else:
                    out.append(session.encoding.encode(value))
            now = perf_counter()
            if now - before >= slow_seconds:
                self._stats.record_slow(session, request, now - before)
            before = now
            if now > slice_end and number + 1 < len(requests):
                self._yield_turn(session, requests[number + 1 :])
                break
        if streak:
            assert streak_of is not None
            streak_of.count(before - streak_began, streak)
        if guards.bits & READY:
            self._unblocking.serve()

    def _run_session_command(self, session: Session, entry: Command, request: Request) -> Any:
        """Commands on the connection and the server."""
        session.request = request
        txn = session.txn
        txn.budget = ROW_BUDGET
        try:
            value = entry.handler(session, *request[len(entry.words) :])
        except TooLong as reason:
            txn.discard()
            self.start_long(session, entry, request, widely=isinstance(reason, Uncovered))
            return NO_REPLY
        except WouldBlock as reason:
            txn.discard()
            self.blocked.park(session, entry, request, reason)
            value = NO_REPLY
        except Exception as failure:
            txn.discard()
            value = self.failed(entry, failure)
        if self.guards.bits & WATCHED:  # afterwards: SELECT is shown with its new database
            self.guards.show(session, entry, request)
        if txn.changed:
            txn.apply()  # first: it may push to this very client, and the reply comes after that
            session.mark_write()
        return value

    def run_in_unit(
        self, session: Session, entry: Command, request: Request, source: str = ""
    ) -> Any:
        """Run one command of a transaction or a script; returns its reply, errors included.

        What follows may depend on it, so a reply that is made lazily is made now. `source` is who
        runs it, as MONITOR shows it, if not the client.
        """
        if self.guards.bits & LOCKED:
            self._check_cover(session, entry, request)
        shown = len(session.shown)
        started = perf_counter()
        try:
            if entry.takes_session:
                session.request = request
                value = entry.handler(session, *request[len(entry.words) :])
            else:
                value = entry.handler(session.txn, *request[1:])
            value = made(value)
        except TooLong:
            raise
        except WouldBlock as reason:
            value = reason.denied
        except Damaged as failure:
            if entry.is_write:
                raise  # it may have written in part: the unit goes with it
            value = self.failed(entry, failure)
        except Exception as failure:
            value = self.failed(entry, failure)
        self.count(session, entry, request, perf_counter() - started)
        if self.guards.bits & WATCHED:
            self.guards.note(session, entry, request, shown, source)
        session.txn.pause_if_due()
        return value

    def count(self, session: Session, entry: Command, request: Request, seconds: float) -> None:
        """A command has ended elsewhere than in `run`: count it, and log it if it was slow."""
        entry.count(seconds)
        if seconds >= self._stats.slow_seconds:
            self._stats.record_slow(session, request, seconds)

    def _set_aside(
        self, session: Session, entry: Command, request: Request, reason: Exception
    ) -> None:
        """The command cannot end in this turn: it is too long, or waits for a key."""
        if isinstance(reason, WouldBlock):
            self.blocked.park(session, entry, request, reason)
        elif isinstance(reason, Unanswered) and not entry.is_write:
            CacheRead(self, session, entry, request).ask(reason.requests)
        else:
            self.start_long(session, entry, request)

    def failed(self, entry: Command, failure: Exception) -> CommandError:
        """The error reply of a command that raised; anything but a CommandError is our own bug."""
        entry.failed += 1
        if isinstance(failure, Damaged):
            failure = self._stats.count_damage(failure)
        elif not isinstance(failure, CommandError):
            log.error("command %s failed", entry.name, exc_info=failure)
            failure = CommandError(b"ERR internal error; see the server's log")
        self._stats.count_error(failure)
        return failure

    def _yield_turn(self, session: Session, rest: list[Request]) -> None:
        """A long pipeline, or a long turn: go on in the next one, behind those who wait already."""
        session.backlog.extend(rest)
        session.waiting = True
        if not self._unfinished:
            self._loop.call_soon(self._go_on)
        self._unfinished.append(session)

    def _go_on(self) -> None:
        """Go on with the clients that wait with a pipeline, in order, for the time of a turn."""
        waiting, self._unfinished = self._unfinished, deque()
        end = perf_counter() + TURN_SECONDS
        while waiting and perf_counter() < end:
            self.resume(waiting.popleft())
        if waiting:
            if not self._unfinished:
                self._loop.call_soon(self._go_on)
            waiting.extend(self._unfinished)
            self._unfinished = waiting

    def resume_soon(self, session: Session) -> None:
        """Go on with a session's backlog after this round of events."""
        self._loop.call_soon(self.resume, session)

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
            self.run(session, requests)
        if not session.waiting:
            session.connection.resume_after_wait()

    # what is unusual

    def _look_up(self, session: Session, request: Request) -> Command | None:
        """Find a command in any spelling, or a subcommand; replies with the error itself."""
        name = request[0].lower()
        entry = TABLE.get(name)
        if entry is None:
            if name in _HTTP_WORDS:
                return _HTTP
            session.begin_command()
            self._stats.reject(session, _unknown_command(request))
            return None
        if not entry.container and not entry.subcommands:
            if len(self._spellings) < KNOWN_SPELLINGS:
                self._spellings[request[0]] = entry
            return entry
        if len(request) < 2:
            return entry  # COMMAND alone; of a real container the arity is wrong
        found = entry.subcommands.get(request[1].lower())
        if found is None:
            session.begin_command()
            self._stats.reject(session, _unknown_subcommand(request))
        return found

    def _refuse(self, session: Session, entry: Command, failure: CommandError) -> None:
        session.begin_command()
        self._reject(session, entry, failure)

    def _queue(self, session: Session, entry: Command, request: Request) -> None:
        """Between MULTI and EXEC a command only takes its place."""
        assert session.transaction is not None
        if "no_multi" in entry.flags:
            self._reject(session, entry, CommandError(errors.NOT_IN_MULTI))
            return
        session.transaction.add(entry, request)
        session.connection.check_query(session)
        session.reply(QUEUED)

    def _reject(self, session: Session, entry: Command, failure: CommandError) -> None:
        """A command may not run. The transaction around it fails; if it is EXEC, at once."""
        entry.rejected += 1
        if "final" in entry.traits:
            session.end_transaction()
            failure = errors.exec_abort(failure)
        self._stats.reject(session, failure)

    def _admit(self, session: Session, entry: Command, request: Request) -> bool:
        """Look into the guards; False if the command may not run (it has its reply, or waits)."""
        if self.guards.bits & READY:
            self._unblocking.serve()
        guards = self.guards.bits
        failure = self._refusal(session, entry) if (session.guards or guards & READ_ONLY) else None
        if failure is None and self._busy:
            failure = self._busy_refusal(session, entry, request)
        if failure is None and self._must_wait(session, entry, request):
            return False
        session.begin_command()
        if failure is not None:
            self._reject(session, entry, failure)
            return False
        if _is_queued(session, entry):
            self._queue(session, entry, request)
            return False
        if guards & WATCHED and not entry.takes_session:
            self.guards.show(session, entry, request)
        return True

    def _refusal(self, session: Session, entry: Command) -> CommandError | None:
        """Why the command may not run now, if so."""
        if session.guards & MUST_AUTHENTICATE and "no_auth" not in entry.flags:
            return CommandError(errors.NO_AUTH)
        if session.guards & MONITORING and (entry.is_write or "readonly" in entry.flags):
            return CommandError(errors.MONITOR_AND_KEYS)
        if self.guards.refuses(entry):
            return errors.misconf(self.guards.refusal, for_good=self.guards.refused_for_good)
        if session.guards & SUBSCRIBED and not session.resp3 and "subscriber" not in entry.traits:
            return errors.subscriber_only(entry.name)
        return None

    def _must_wait(self, session: Session, entry: Command, request: Request) -> bool:
        """Whether the command has to wait; it is then run again when the wait is over."""
        if self.guards.bits & PAUSED and self.guards.holds_back(session, entry, request):
            self.guards.hold(session)
            return True
        return bool(
            self.guards.bits & LOCKED
            and _needs_locks(session, entry)
            and self.wait_for_locks(session, entry, request)
        )

    # blocked clients

    def is_parked(self, session: Session) -> bool:
        """Whether a client waits for others: for a key to change, or the end of a pause."""
        return self.blocked.find(session) is not None or self.guards.is_held(session)

    def wake_blocked(self) -> None:
        """A key has changed that a client waits for: serve it before the next command."""
        self.guards.bits |= READY

    # long commands

    def wait_for_locks(self, session: Session, entry: Command, request: Request) -> bool:
        """Whether a writer has to wait for a long one; it is resumed when the keys are free."""
        wanted = self._claim(session, entry, request)
        if not self.locks.blocks(wanted):
            return False
        session.waiting = True

        def start(lock: Lock) -> None:
            self._busy.goes_on(lock)
            self.resume_soon(session)

        def refuse(failure: CommandError) -> None:
            if session.backlog:
                session.backlog.popleft()
                self._refuse(session, entry, failure)
            self.resume_soon(session)

        lock = self.locks.wait(wanted, start)
        if not self.is_parked(session):
            self._busy.waits(lock, refuse)
        return True

    def _busy_refusal(
        self, session: Session, entry: Command, request: Request
    ) -> CommandError | None:
        """Why a writer does not wait: a script has run for too long already."""
        if _needs_locks(session, entry) and "allow_busy" not in entry.flags:
            return self._busy.refusal(self._claim(session, entry, request))
        return None

    def _claim(self, session: Session, entry: Command, request: Request) -> Claim:
        """What a command locks if it takes long: all that it touches, if it may write."""
        if not may_write(session, entry, request):
            return NOTHING
        if session.transaction is not None and "unit" in entry.traits:
            return session.transaction.claim()
        return entry.claim(request)

    def _check_cover(self, session: Session, entry: Command, request: Request) -> None:
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

    def start_long(
        self, session: Session, entry: Command, request: Request, *, widely: bool = False
    ) -> None:
        """Run a command that is too long for a turn: lock, commit what is pending, go in slices.

        `widely`: it needs keys that it does not name, so it gets a lock on everything.
        """
        session.waiting = True
        self._stats.long_commands += 1
        wanted = EVERYTHING if widely else self._claim(session, entry, request)
        if not wanted:
            self._begin_long(session, entry, request, None)
            return

        def start(lock: Lock) -> None:
            self._busy.goes_on(lock)
            self._begin_long(session, entry, request, lock)

        def refuse(failure: CommandError) -> None:
            self._reject(session, entry, failure)
            self.resume_soon(session)

        self._busy.waits(self.locks.acquire(wanted, start), refuse)

    def _begin_long(
        self, session: Session, entry: Command, request: Request, lock: Lock | None
    ) -> None:
        task = LongCommand(self, session, entry, request, lock)
        if lock is not None and "unit" in entry.traits:
            server = session.server
            self._busy.began(
                lock,
                lambda: server.scripting.kind_for(session),
                server.options.busy_reply_threshold / 1000,
            )
        self._turns.flush_now(lambda: self._slices.start(task.run))

    def end_long(self, task: LongCommand) -> None:
        """A long command has ended: give its lock back and go on with its client."""
        self.unlock(task)
        if task.is_uncovered:
            self.start_long(task.session, task.entry, task.request, widely=True)
            return
        if task.blocked is not None:
            self.blocked.park(task.session, task.entry, task.request, task.blocked)
            return
        self.count(task.session, task.entry, task.request, task.seconds)
        if self.guards.bits & READY:
            self._unblocking.serve()
        self.resume(task.session)

    def unlock(self, task: LongCommand) -> None:
        """Give back the lock of a long command, if it still has one."""
        lock, task.lock = task.lock, None
        if lock is not None:
            self._busy.ended(lock)
            lock.release()

    @property
    def slices(self) -> Slices:
        """Where long work runs."""
        return self._slices

    @property
    def stats(self) -> Stats:
        """The server's counters."""
        return self._stats


def _is_queued(session: Session, entry: Command) -> bool:
    """Whether the command is one that only takes its place between MULTI and EXEC."""
    return bool(session.guards & QUEUEING) and "immediate" not in entry.traits


def _needs_locks(session: Session, entry: Command) -> bool:
    """Whether the command may write now, so that it waits for those who have its keys locked."""
    return (entry.is_write or "unit" in entry.traits) and not _is_queued(session, entry)


def _append(session: Session, value: Any) -> None:
    """Add a reply, unless CLIENT REPLY has muted the client."""
    if not session.guards & MUTED:
        session.out.append(session.encoding.encode(value))
    elif session.marks and session.marks[-1] == len(session.out):
        session.marks.pop()  # there is no reply that a failed commit could replace


def _unknown_command(request: Request) -> CommandError:
    """Redis's words: the name and the beginning of the arguments."""
    shown = b""
    for argument in request[1:]:
        if len(shown) >= 128:
            break
        shown += b"'%b' " % _shown(argument, 128 - len(shown))
    return CommandError(
        b"ERR unknown command '%b', with args beginning with: %b" % (_shown(request[0]), shown)
    )


def _unknown_subcommand(request: Request) -> CommandError:
    return CommandError(
        b"ERR unknown subcommand '%b'. Try %b HELP." % (_shown(request[1]), request[0].upper())
    )


def _shown(argument: bytes, limit: int = 128) -> bytes:
    """An argument as C prints it: up to the first NUL."""
    return argument[:limit].split(b"\0", 1)[0]


def _let_go(session: Session, *arguments: bytes) -> object:
    """Close the connection: a browser was tricked into speaking to us."""
    log.warning("%s speaks HTTP: closing", session.connection.address)
    session.closing = True
    return NO_REPLY


_HTTP_WORDS: Final = frozenset({b"post", b"host:"})
_HTTP: Final = Command("POST", "no_auth", _let_go, group="none", arity=-1, traits="immediate")
