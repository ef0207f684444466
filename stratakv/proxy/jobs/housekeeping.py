"""Housekeeping between the turns: expiry, reclaiming, syncing, idle clients, loop lag.

All work on rows is done in slices of a millisecond, so that no client notices.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.locks import claim
from stratakv.encodings.upkeep.reclaim import Compaction, Reclaimer
from stratakv.errors import Damaged, StoreDamaged, StoreUnavailable
from stratakv.proxy.clients.session import FROM_MASTER, REPLICA, SUBSCRIBED
from stratakv.proxy.table.registry import every_command
from stratakv.storage.remote_store import RemoteStore

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

TICK_SECONDS: Final = 0.1
PROBE_SECONDS: Final = 0.01
"""How often the loop's lag is measured: a stall of a few milliseconds is seldom missed."""
SLICE_SECONDS: Final = 0.001
REST_SECONDS: Final = 0.004
"""The pause between two slices while there is more to reclaim: a fifth of the loop's time."""
IDLE_SECONDS: Final = 1.0
"""How often the files are looked after when nothing is written; LevelDB may still compact."""
COMPACTION_REST: Final = 3.0
"""After a compaction, so many times its duration pass before the next: it takes a core and the disk
from the others."""
MEND_SECONDS: Final = 1.0
MOST_LOOKS: Final = 60
"""How often writes are kept waiting for the reclaimer, when there is room already."""
MEND_SOON_SECONDS: Final = 0.02
"""Until the first try, and between two looks whether others are still in the engine."""
DEAD_SECONDS: Final = 1.0
LOGGED_ROWS: Final = 1000
"""Fewer reclaimed rows are worth a line for the curious only."""
DAMAGE_SECONDS: Final = 60.0
"""How long reclaiming rests when what it needs cannot be read: expired keys are hidden anyway."""


class Lag:
    """How late the event loop is: a timer that measures by how much it was missed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due = 0.0
        self.stopped = False
        self.last_seconds = 0.0
        self.max_seconds = 0.0
        self.total_seconds = 0.0
        self.buckets = [0] * 40
        """Measurements by lag: bucket n holds those below 2**n microseconds."""

    def start(self) -> None:
        """Measure from now on, until `stopped` is set."""
        self._due = time.perf_counter() + PROBE_SECONDS
        self._loop.call_later(PROBE_SECONDS, self._probe)

    def _probe(self) -> None:
        self.observe(time.perf_counter() - self._due)
        if not self.stopped:
            self.start()

    def observe(self, seconds: float) -> None:
        """Count a measurement; timers of a millisecond's grain may fire a little early."""
        lag = max(0.0, seconds)
        self.last_seconds = lag
        self.max_seconds = max(self.max_seconds, lag)
        self.total_seconds += lag
        self.buckets[int(lag * 1e6).bit_length()] += 1


class Chore:
    """Work on the engine in a thread, once at a time; a failure is logged."""

    def __init__(self, server: "Server", level: int, complaint: str) -> None:
        self._server = server
        self._level = level
        self._complaint = complaint
        self.running = False

    def start(self, work: Callable[[], None]) -> None:
        """Begin. Requires: it is not running."""
        self.running = True
        self._server.in_thread(work).add_done_callback(self._done)

    def _done(self, future: "asyncio.Future[None]") -> None:
        self.running = False
        if not future.cancelled() and (error := future.exception()) is not None:
            log.log(self._level, "%s: %s", self._complaint, error)


class Housekeeper:
    """The periodic work of a server."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._loop = server.loop
        self.reclaimer = Reclaimer(
            server.keyspace, is_locked=self._is_locked, executor=server.store.threads
        )
        self.expired_elsewhere = 0
        """Keys that were found due in groups of slots, which have reclaimers of their own."""
        self.reclaimed_elsewhere = 0
        self.active_expire = True
        self.limits_tracking = True
        """Whether keys are forgotten that too many clients have copies of, without a command."""
        self.is_follower = False
        """Whether a master tells what is expired."""
        self._stopped = False
        self._synced_rows = 0
        self._syncing = Chore(server, logging.ERROR, "cannot sync the log")
        self._tidied_rows = -1
        self._tidied_at = 0.0
        self._tidying = Chore(server, logging.WARNING, "cannot look after the tables")
        self._looked_for_dead_at = 0.0
        self._compacting = False
        self._compacting_since = 0.0
        self._compact_after = 0.0
        self._mending = False
        self._logged_rows = 0
        self.lag = Lag(server.loop)

    def start(self) -> None:
        """Begin; runs until `stop`."""
        self._server.memory.start()
        self.lag.start()
        self._loop.call_later(TICK_SECONDS, self._tick)
        self._loop.call_soon(self._reclaim)
        if self._server.store.lacks_room():
            self._admit_writes()

    @property
    def may_expire(self) -> bool:
        """Whether due keys are deleted now."""
        return self.active_expire and not self._server.keyspace.rests

    def stop(self) -> None:
        """Begin no more work from now on; what runs in threads is joined when the store closes."""
        self._stopped = True
        self.lag.stopped = True

    def _is_locked(self, database: int, key: bytes) -> bool:
        locks = self._server.dispatcher.lock_waits.locks
        return bool(locks) and locks.blocks(claim([key]))

    def _tick(self) -> None:
        if self._stopped:
            return
        self._server.stats.loop_lag_seconds = self.lag.last_seconds
        self._loop.call_later(TICK_SECONDS, self._tick)
        self._server.memory_limit.judge(self._server.memory.look().own)
        self._server.stats.sample(sum(entry.calls for entry in every_command()))
        self._cut_idle_clients()
        self._cut_dead_clients()
        self._server.output_limits.check_again()
        self._server.client_memory.look()
        if self.limits_tracking:
            self._server.tracking.limit()
        self._sync_every_second()
        self._server.tier_control.check()
        self._server.replication.tick()
        self._server.ending.look()
        self._server.tenancy.look()
        self._free_leftovers()
        self._tidy()
        self._server.disk_limit.judge()
        self._server.saving.save_if_due()

    def _free_leftovers(self) -> None:
        """Turns free a little of what is no longer used; without turns it is done here."""
        end = time.perf_counter() + SLICE_SECONDS
        while self._server.keyspace.leftovers.free_some() and time.perf_counter() < end:
            pass

    def _tidy(self) -> None:
        """Let the engine look after its files, in a thread: often while there are writes."""
        store, now = self._server.store, self._loop.time()
        is_idle = store.stats.rows == self._tidied_rows and now < self._tidied_at + IDLE_SECONDS
        if not self._tidying.running and not is_idle:
            self._tidied_rows, self._tidied_at = store.stats.rows, now
            self._tidying.start(self._look_after_files)

    def _look_after_files(self) -> None:
        self._server.store.tidy()
        self._server.disk.look_if_due()

    # expiry and reclaiming

    def _reclaim(self) -> None:
        """One slice of work on due keys and dead rows; comes again soon if there is more."""
        if self._stopped:
            return
        delay = TICK_SECONDS
        try:
            delay = self._reclaim_slice()
        except Damaged as damaged:
            self._server.stats.count_damage(damaged)
            self.reclaimer.reset()
            delay = DAMAGE_SECONDS
        except Exception:  # a corrupt row, say: the other keys still expire
            log.exception("reclaiming failed; it begins again")
            self.reclaimer.reset()
        self._loop.call_later(delay, self._reclaim)

    def _reclaim_slice(self) -> float:
        """Work for a slice; returns the seconds until the next."""
        server = self._server
        more = False
        self._compact()
        if not server.dispatcher.guards.is_closed:
            server.turns.begin_background()
            more = self.reclaimer.work(
                time.perf_counter() + SLICE_SECONDS,
                expire=self.may_expire and not self.is_follower,
            )
            if self.is_follower and self.may_expire:
                more = self.reclaimer.expiry.expire_own() or more
            expired, reclaimed = self.reclaimer.expiry.expired_keys, self.reclaimer.reclaimed_rows
            server.stats.expired_keys = expired + self.expired_elsewhere
            server.stats.reclaimed_rows = reclaimed + self.reclaimed_elsewhere
            if not more:
                self._log_reclaimed()
        return REST_SECONDS if more else self.reclaimer.idle_seconds(TICK_SECONDS)

    def _log_reclaimed(self) -> None:
        """The queue of the dead is through for now: say what that was."""
        count = self.reclaimer.reclaimed_rows - self._logged_rows
        if count:
            self._logged_rows += count
            level = logging.INFO if count >= LOGGED_ROWS else logging.DEBUG
            log.log(level, "reclaimed %d rows of deleted keys", count)

    def _compact(self) -> None:
        """Give the space of a large deleted range back to the disk, in a thread."""
        store = self._server.store
        if self._compacting or store.pending or store.busy:
            return
        if self._loop.time() < self._compact_after and not self.reclaimer.is_tight:
            return
        wanted = self.reclaimer.next_compaction()
        if wanted is None:
            return
        self._compacting = True
        store.compacting += 1
        self._compacting_since = self._loop.time()
        log.info("compacting %d bytes of tables", store.size(wanted.start, wanted.stop))
        future = self._server.in_thread(partial(store.compact, wanted.start, wanted.stop))
        future.add_done_callback(lambda done: self._compacted(done, wanted))

    def _compacted(self, future: "asyncio.Future[None]", done: Compaction) -> None:
        self._compacting = False
        self._server.store.compacting -= 1
        now = self._loop.time()
        log.info("compacted in %.3f s", now - self._compacting_since)
        self._compact_after = now + COMPACTION_REST * (now - self._compacting_since)
        if self._stopped:
            return
        self._server.turns.begin_background()
        self.reclaimer.compacted(done)
        if not future.cancelled() and (error := future.exception()) is not None:
            log.warning("compaction failed: %s", error)

    # durability

    def _sync_every_second(self) -> None:
        server = self._server
        written = server.store.stats.rows
        due = written != self._synced_rows and int(self._loop.time()) != int(
            self._loop.time() - TICK_SECONDS
        )
        if server.options.durability == "everysec" and due and not self._syncing.running:
            self._synced_rows = written
            self._syncing.start(server.store.make_durable)

    def mend_store(self) -> None:
        """After a failed write: reopen the engine when it can be written again."""
        self.reclaimer.reset()
        if not self._mending:
            self._mending = True
            self._loop.call_later(MEND_SOON_SECONDS, self._try_to_mend)

    def _try_to_mend(self) -> None:
        server = self._server
        if self._stopped:
            return
        if server.store.busy or server.slices.running or server.store.threads.working:
            self._loop.call_later(MEND_SOON_SECONDS, self._try_to_mend)
            return
        if isinstance(server.store, RemoteStore):
            server.in_thread(server.store.reopen).add_done_callback(self._reopened)
        else:
            self._mend(server.store.reopen)

    def _reopened(self, done: "asyncio.Future[None]") -> None:
        """A store elsewhere was opened anew, or not."""
        if done.cancelled() or (self._stopped and done.exception() is not None):
            return  # looked at, so that nobody reports it
        if not self._stopped:
            self._mend(done.result)

    def _mend(self, reopen: Callable[[], None]) -> None:
        """Go on with what the store has, if it could be opened."""
        server = self._server
        try:
            reopen()
            server.store.reopened()
            server.keyspace.probe()
            server.keyspace.abandon()
            server.replication.mend()
        except (StoreDamaged, Damaged) as damage:
            server.dispatcher.guards.refuse_writes(str(damage), for_good=True)
            log.error("the store is damaged and stays closed to writes: %s", damage)
            return
        except StoreUnavailable as error:
            server.dispatcher.guards.refuse_writes(str(error))
            self._loop.call_later(MEND_SECONDS, self._try_to_mend)
            return
        self._mending = False
        self._admit_writes()

    def _admit_writes(self) -> None:
        """Accept all writes, or on a full disk those that delete, until there is room again."""
        reason = self._server.store.lacks_room()
        self._server.dispatcher.guards.refuse_writes(reason, deletes_only=True)
        self.reclaimer.is_tight = bool(reason)
        if reason:
            log.warning("only deleting is possible: %s", reason)
            self._loop.call_later(MEND_SECONDS, self._look_for_room)
        else:
            log.warning("the store accepts writes again")

    def _look_for_room(self, looks: int = 0) -> None:
        """Accept writes again when there is room, and what was deleted before is reclaimed.

        Else they would soon be refused again. But not all that waits may ever be reclaimed.
        """
        if self._stopped or self._mending:
            return
        is_reclaiming = looks < MOST_LOOKS and self.reclaimer.backlog(1) > 0
        if not is_reclaiming and self._server.store.regain_room():
            self._admit_writes()
        else:
            self._loop.call_later(MEND_SECONDS, self._look_for_room, looks + 1)

    # clients

    def _cut_idle_clients(self) -> None:
        timeout = self._server.options.timeout
        if not timeout:
            return
        oldest = time.monotonic() - timeout
        for session in list(self._server.sessions.values()):
            spared = session.waiting or session.guards & (SUBSCRIBED | REPLICA | FROM_MASTER)
            if session.last_active < oldest and not spared:
                session.closing = True
                session.connection.close()

    def _cut_dead_clients(self) -> None:
        """Notice the end of clients that are not read, once a second.

        One that has sent its last request is served, unless it waits for others.
        """
        now = self._loop.time()
        if now < self._looked_for_dead_at + DEAD_SECONDS:
            return
        self._looked_for_dead_at = now
        for session in list(self._server.sessions.values()):
            connection = session.connection
            if connection.is_paused and (
                connection.is_broken
                or (self._server.dispatcher.is_parked(session) and not connection.is_alive)
            ):
                connection.abort()
