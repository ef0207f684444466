"""Dispatch: from a request to its handler and back with the reply. The hot path.

`run` takes the requests of one client in order. The normal state costs one look-up, one arity test
and one test of the guards; whatever is unusual about the client or the server is a guard bit, and
is looked into only when one is set.

Promises
1. Requests of a client run in order, and each gets one reply, or none if CLIENT REPLY says so.
2. A handler runs to its end or changes nothing. Between two commands every Txn of the server is
   clean: nothing of one command is seen by the next.
3. Only the handler that runs writes to the shared Txns. It never waits: what has to is set aside
   (blocked, long, or missing something) and begins anew.
4. A key that has changed is offered to those who wait for it before another command runs.
5. A failure of a command is a reply, never the end of the connection.
"""

import asyncio
import logging
from functools import partial
from time import perf_counter
from typing import Any, Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Uncovered, Unranked
from stratakv.errors import CommandError, Redirected
from stratakv.proxy.clients import untouched
from stratakv.proxy.clients.session import (
    FROM_MASTER,
    MONITORING,
    MUST_AUTHENTICATE,
    QUEUEING,
    REPLICA,
    RESTRICTED,
    SUBSCRIBED,
    TRACKING,
    UNTOUCHING,
    UNUSUAL,
    Session,
)
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.observe.stats import Stats
from stratakv.proxy.run import rights
from stratakv.proxy.run.blocking import BlockedClients, WouldBlock
from stratakv.proxy.run.demands import meets_keys, needs_master, writes
from stratakv.proxy.run.guards import (
    ALL_BUT_CLUSTERED,
    CLUSTERED,
    COUNTED,
    FOLLOWING,
    FULL,
    LOCKED,
    LONELY,
    PAUSED,
    READ_ONLY,
    READY,
    SAMPLED,
    TRACKED,
    WATCHED,
    Guards,
)
from stratakv.proxy.run.lock_waits import LockWaits, claim_of, is_queued, needs_locks
from stratakv.proxy.run.long_commands import LongCommands
from stratakv.proxy.run.pipelines import Pipelines
from stratakv.proxy.run.ranking import Ranking
from stratakv.proxy.run.retries import Retry
from stratakv.proxy.run.running import Running
from stratakv.proxy.run.slices import Slices
from stratakv.proxy.run.turns import Turns
from stratakv.proxy.run.unblocking import Unblocking
from stratakv.proxy.table.registry import CALLED, Command
from stratakv.proxy.wire.encoding import BULK_HEADS, CRLF, INTEGERS
from stratakv.proxy.wire.replies import NO_REPLY, QUEUED, Status
from stratakv.proxy.wire.requests import Request
from stratakv.storage.missing import Missing, TooLong

log = logging.getLogger("stratakv")

CLIENT_SLICE_SECONDS: Final = 0.001
"""How long one client's pipeline runs before the others are served."""
UNEQUAL: Final = READ_ONLY | FOLLOWING | LONELY | FULL | CLUSTERED
"""Guards for which some commands are refused and others run."""
KNOWN_SPELLINGS: Final = 4096
STREAK_TRIES: Final = 8
"""Commands of a pipeline that no streak could serve, before none is asked any more."""


class Dispatcher:
    """Runs requests; one for the whole server."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, turns: Turns, stats: Stats, slices: Slices
    ) -> None:
        self._stats = stats
        self._slices = slices
        self._spellings: dict[bytes, Command] = {
            spelling: entry
            for name, entry in CALLED.items()
            if not entry.container and not entry.subcommands
            for spelling in (name, name.upper(), name.capitalize())
        }
        self.pipelines = Pipelines(loop, turns, self.run)
        self.guards = Guards(loop, self.pipelines.resume_soon)
        self.lock_waits = LockWaits(loop, self.guards)
        self.running = Running(stats, self.guards, self.lock_waits.check_cover)
        self.blocked = BlockedClients(loop, turns.keyspace, self.wake_blocked)
        self.unblocking = Unblocking(self, self.blocked, self.guards)
        self.long_commands = LongCommands(self, turns)
        self.ranking = Ranking(self, turns.keyspace, slices)
        self.cluster: Cluster | None = None
        """Set on a node of a cluster."""

    def join(self, cluster: Cluster) -> None:
        """Be a node of a cluster from now on. Requires: nobody is served yet."""
        self.cluster = cluster
        self.guards.route()

    # the hot path

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
        total = len(requests)
        tries = STREAK_TRIES if slow_seconds >= CLIENT_SLICE_SECONDS else 0
        next_ = 0
        while next_ < total:
            number = next_
            next_ += 1
            request = requests[number]
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
            is_usual = not (guards.bits or session.guards)
            if not is_usual:
                # what only reads is as usual on a replica as on a master
                is_usual = not guards.bits or (entry.only_reads and guards.let_read)
                if is_usual and session.guards:
                    is_usual = session.guards == RESTRICTED and rights.lets_pass(
                        session, entry, request
                    )
                if not is_usual and not self._admit(session, entry, request):
                    if session.waiting:
                        session.backlog.extend(requests[number:])
                        break
                    continue
                txn = session.txn  # that of the slot, in a cluster
                # what a user with less than all rights may do goes on like anybody's
                is_usual = is_usual or not (
                    guards.bits & ALL_BUT_CLUSTERED or session.guards & UNUSUAL
                )
            if entry is not streak_of:
                if streak_of is not None:
                    streak_of.count(before - streak_began, streak)
                streak_of, streak, streak_began = entry, 0, before
                session.last_command = entry.name
            streak += 1
            served = 0
            if (
                tries
                and is_usual
                and entry.streak is not None
                and next_ < total
                and txn.keyspace.is_unobserved
            ):
                if guards.bits & CLUSTERED:
                    assert self.cluster is not None
                    near = self.cluster.beside(session, entry, requests, number)
                    if session.guards:
                        served = rights.serve_streak(session, entry, near, 0)
                    else:
                        served = entry.streak(session, near, 0)
                elif session.guards:
                    served = rights.serve_streak(session, entry, requests, number)
                else:
                    served = entry.streak(session, requests, number)
            if served:
                streak += served - 1
                next_ += served - 1
            elif entry.takes_session:
                constant = entry.constant
                if constant is not None and count == 1 and is_usual:
                    out.append(constant)
                else:
                    if not self._run_session_command(session, entry, request):
                        streak -= 1  # it is counted where it ends
                    if session.waiting or session.closing:
                        session.backlog.extend(requests[number + 1 :])
                        break
                    out, txn = session.out, session.txn
                    slow_seconds = self._stats.slow_seconds  # CONFIG SET counts for itself
                    tries = tries if slow_seconds >= CLIENT_SLICE_SECONDS else 0
            else:
                if entry.streak is not None:
                    tries -= tries > 0
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
                        if txn.keyspace.replicates:
                            entry.tell(txn, request, value)
                            session.has_written = True
                        txn.apply()
                        session.marks.append(len(out))
                    elif txn.later:
                        txn.apply()  # there is nothing to commit, but something to tell
                except (TooLong, WouldBlock) as reason:
                    streak -= 1
                    txn.discard()
                    session.backlog.extend(requests[number + 1 :])
                    self.set_aside(session, entry, request, reason)
                    break
                except Exception as failure:
                    txn.discard()
                    value = self.running.failed(entry, failure)
                if session.guards & UNUSUAL:
                    session.reply(value)
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
            if now > slice_end and next_ < total:
                self.pipelines.yield_turn(session, requests[next_:])
                break
        if streak:
            assert streak_of is not None
            streak_of.count(before - streak_began, streak)
        if guards.bits & (READY | TRACKED):
            guards.author = None
            self.unblocking.serve()

    def _run_session_command(self, session: Session, entry: Command, request: Request) -> bool:
        """Run a command on the connection or the server; False if it will end elsewhere."""
        reason: Exception | None = None
        value: Any = NO_REPLY
        try:
            value = self.running.run(session, entry, request)
        except (TooLong, WouldBlock) as raised:
            reason = raised
        if self.guards.bits & WATCHED and not isinstance(reason, TooLong):
            self.guards.show(session, entry, request)  # only now: SELECT with its new database
        if reason is not None:
            self.set_aside(session, entry, request, reason)
            return False
        session.reply(value)
        return True

    def set_aside(
        self, session: Session, entry: Command, request: Request, reason: Exception
    ) -> None:
        """The command cannot end in this turn: it is too long, or waits for a key."""
        if session.guards & UNTOUCHING and not isinstance(reason, Missing):
            session.leave_untouched()  # by its end others may have used them
        if isinstance(reason, WouldBlock):
            self.blocked.park(session, entry, request, reason)
        elif isinstance(reason, Missing) and reason.serves(entry.is_write):
            Retry(self, session, entry, request).ask(reason)
        elif isinstance(reason, Unranked):
            self.ranking.wait(session, entry, request, reason)
        else:
            self.long_commands.start(session, entry, request, widely=isinstance(reason, Uncovered))

    # what is unusual

    def _look_up(self, session: Session, request: Request) -> Command | None:
        """Find a command in any spelling, or a subcommand; replies with the error itself."""
        name = request[0].lower()
        entry = CALLED.get(name)
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
        self.reject(session, entry, failure)

    def _queue(self, session: Session, entry: Command, request: Request) -> None:
        """Between MULTI and EXEC a command only takes its place."""
        assert session.transaction is not None
        if "no_multi" in entry.flags:
            self.reject(session, entry, CommandError(errors.NOT_IN_MULTI))
            return
        session.transaction.add(entry, request)
        session.connection.check_query(session)
        session.reply(QUEUED)

    def reject(self, session: Session, entry: Command, failure: CommandError) -> None:
        """A command may not run. The transaction around it fails; if it is EXEC, at once."""
        entry.rejected += 1
        if "final" in entry.traits:
            session.end_transaction()
            if not isinstance(failure, Redirected):
                failure = errors.exec_abort(failure)
        self._stats.reject(session, failure)

    def _admit(self, session: Session, entry: Command, request: Request) -> bool:
        """Look into the guards; False if the command may not run (it has its reply, or waits)."""
        if session.guards == QUEUEING and not (self.guards.bits or entry.is_immediate):
            self._queue(session, entry, request)  # nothing else is unusual
            return False
        if self.guards.bits & READY:
            self.unblocking.serve()
        guards = self.guards.bits
        if guards & TRACKED:
            session.server.tracking.limit()
        is_plain = not (session.guards or guards & UNEQUAL)
        failure = None if is_plain else self._refusal(session, entry, request)
        if failure is None and self.lock_waits.busy and not session.guards & FROM_MASTER:
            failure = self.lock_waits.busy_refusal(session, entry, request)
        if failure is None and self._must_wait(session, entry, request):
            return False
        session.begin_command()
        if failure is not None:
            self.reject(session, entry, failure)
            return False
        if guards & SAMPLED and entry.touches_keys:
            self.guards.hot_keys.see(session.txn.db.index, entry.find_keys(request))
        if guards & COUNTED and entry.uses_keys and not session.guards & UNTOUCHING:
            self._count_uses(session, entry, request)
        if is_queued(session, entry):
            self._queue(session, entry, request)
            return False
        if guards & WATCHED and not entry.takes_session:
            self.guards.show(session, entry, request)
        if guards & TRACKED:
            self.guards.author = session
            if session.guards & TRACKING:
                session.server.tracking.command_begins(session, entry, request)
        if session.guards & UNTOUCHING:
            untouched.command_begins(session, entry, request)
        return True

    def _count_uses(self, session: Session, entry: Command, request: Request) -> None:
        frequencies = session.txn.keyspace.frequencies
        if frequencies is not None:
            frequencies.see(session.txn.db, entry.find_keys(request))

    def _refusal(self, session: Session, entry: Command, request: Request) -> CommandError | None:
        """Why the command may not run now, if so; in the order in which Redis looks."""
        guards, own = self.guards, session.guards
        if own & MUST_AUTHENTICATE and "no_auth" not in entry.flags:
            return CommandError(errors.NO_AUTH)
        if own & RESTRICTED:
            if own & QUEUEING and "no_multi" in entry.flags:
                return CommandError(errors.NOT_IN_MULTI)
            failure = rights.refusal(session, entry, request)
            if failure is not None:
                return failure
        if guards.bits & CLUSTERED:
            assert self.cluster is not None
            failure = self.cluster.judge(session, entry, request)
            if failure is not None:
                return failure
        if guards.finds_full(session, entry):
            return CommandError(errors.DISK_LIMIT)
        if guards.refuses_now(session, entry):
            return errors.misconf(guards.refusal, for_good=guards.refused_for_good)
        if guards.bits & (FOLLOWING | LONELY) and writes(session, entry, request):
            failure = guards.refuses_write(session)
            if failure is not None:
                return failure
        if own & SUBSCRIBED and not session.resp3 and "subscriber" not in entry.traits:
            return errors.subscriber_only(entry.name)
        if guards.is_stale and not own & FROM_MASTER and needs_master(session, entry, request):
            return CommandError(errors.MASTER_DOWN)
        if own & (MONITORING | REPLICA) and meets_keys(session, entry, request):
            return CommandError(errors.REPLICA_AND_KEYS)
        return None

    def _must_wait(self, session: Session, entry: Command, request: Request) -> bool:
        """Whether the command has to wait; it is then run again when the wait is over."""
        is_pausable = not session.guards & REPLICA  # they only say how far they are
        if (
            self.guards.bits & PAUSED
            and is_pausable
            and self.guards.holds_back(session, entry, request)
        ):
            self.guards.hold(session)
            return True
        if (
            self.cluster is not None
            and not is_queued(session, entry)
            and self.cluster.holds_back(session)
        ):
            return True
        return bool(
            self.guards.bits & LOCKED
            and needs_locks(session, entry)
            and self.wait_for_locks(session, entry, request)
        )

    # blocked clients

    def is_parked(self, session: Session) -> bool:
        """Whether a client waits for others: for a key to change, the end of a pause, or a slot."""
        return (
            self.blocked.find(session) is not None
            or self.guards.is_held(session)
            or (self.cluster is not None and self.cluster.is_held(session))
        )

    def is_answering(self, session: Session) -> bool:
        """Whether work on a client's command goes on while others are served."""
        return self.long_commands.works_for(session) or self.pipelines.awaits_answer(session)

    def wake_blocked(self) -> None:
        """A key has changed that a client waits for: serve it before the next command."""
        self.guards.bits |= READY

    def wait_for_locks(self, session: Session, entry: Command, request: Request) -> bool:
        """Whether a writer has to wait for a long one; it is resumed when the keys are free."""
        resume = partial(self.pipelines.resume_soon, session)

        def refuse(failure: CommandError) -> None:
            if session.backlog:
                session.backlog.popleft()
                self._refuse(session, entry, failure)
            resume()

        wanted = claim_of(session, entry, request)
        may_refuse = not self.is_parked(session) and not session.guards & FROM_MASTER
        return self.lock_waits.until_free(session, wanted, resume, refuse if may_refuse else None)

    @property
    def slices(self) -> Slices:
        """Where long work runs."""
        return self._slices

    @property
    def stats(self) -> Stats:
        """The server's counters."""
        return self._stats


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
