"""Housekeeping between the turns: expiry, reclaiming, syncing, idle clients, loop lag.

All work on rows is done in slices of a millisecond, so that no client notices.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from stratakv.encodings.reclaim import Compaction, Reclaimer
from stratakv.errors import StoreUnavailable
from stratakv.proxy.session import SUBSCRIBED
from stratakv.proxy.table import every_command

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
MEND_SECONDS: Final = 1.0


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

    def __init__(self, loop: asyncio.AbstractEventLoop, level: int, complaint: str) -> None:
        self._loop = loop
        self._level = level
        self._complaint = complaint
        self.running = False

    def start(self, work: Callable[[], None]) -> None:
        """Begin. Requires: it is not running."""
        self.running = True
        self._loop.run_in_executor(None, work).add_done_callback(self._done)

    def _done(self, future: "asyncio.Future[None]") -> None:
        self.running = False
        if not future.cancelled() and (error := future.exception()) is not None:
            log.log(self._level, "%s: %s", self._complaint, error)


class Housekeeper:
    """The periodic work of a server."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._loop = server.loop
        self._reader = ThreadPoolExecutor(1, "reclaim")
        self.reclaimer = Reclaimer(
            server.keyspace, is_locked=self._is_locked, executor=self._reader
        )
        self.active_expire = True
        self._stopped = False
        self._synced_rows = 0
        self._syncing = Chore(server.loop, logging.ERROR, "cannot sync the log")
        self._tidied_rows = -1
        self._tidied_at = 0.0
        self._tidying = Chore(server.loop, logging.WARNING, "cannot look after the tables")
        self._compacting = False
        self._mending = False
        self.lag = Lag(server.loop)

    def start(self) -> None:
        """Begin; runs until `stop`."""
        self.lag.start()
        self._loop.call_later(TICK_SECONDS, self._tick)
        self._loop.call_soon(self._reclaim)

    def stop(self) -> None:
        """No more work from now on."""
        self._stopped = True
        self.lag.stopped = True
        self._reader.shutdown()

    def _is_locked(self, database: int, key: bytes) -> bool:
        locks = self._server.dispatcher.locks
        return bool(locks) and locks.blocks([key])

    def _tick(self) -> None:
        if self._stopped:
            return
        self._server.stats.loop_lag_seconds = self.lag.last_seconds
        self._loop.call_later(TICK_SECONDS, self._tick)
        self._server.stats.sample(sum(entry.calls for entry in every_command()))
        self._cut_idle_clients()
        self._server.output_limits.check_again()
        self._sync_every_second()
        self._server.tiering.check()
        self._tidy()

    def _tidy(self) -> None:
        """Let the engine look after its files, in a thread: often while there are writes."""
        store, now = self._server.store, self._loop.time()
        is_idle = store.stats.rows == self._tidied_rows and now < self._tidied_at + IDLE_SECONDS
        if not self._tidying.running and not is_idle:
            self._tidied_rows, self._tidied_at = store.stats.rows, now
            self._tidying.start(store.engine.tidy)

    # expiry and reclaiming

    def _reclaim(self) -> None:
        """One slice of work on due keys and dead rows; comes again soon if there is more."""
        if self._stopped:
            return
        delay = TICK_SECONDS
        try:
            delay = self._reclaim_slice()
        except Exception:  # a corrupt row, say: the other keys still expire
            log.exception("reclaiming failed; it begins again")
            self.reclaimer.reset()
        self._loop.call_later(delay, self._reclaim)

    def _reclaim_slice(self) -> float:
        """Work for a slice; returns the seconds until the next."""
        server = self._server
        more = False
        self._compact()
        if not server.dispatcher.guards.refusal:
            server.turns.begin_background()
            more = self.reclaimer.work(
                time.perf_counter() + SLICE_SECONDS, expire=self.active_expire
            )
            server.stats.expired_keys = self.reclaimer.expired_keys
            server.stats.reclaimed_rows = self.reclaimer.reclaimed_rows
        return REST_SECONDS if more else self.reclaimer.idle_seconds(TICK_SECONDS)

    def _compact(self) -> None:
        """Give the space of a large deleted range back to the disk, in a thread."""
        store = self._server.store
        if self._compacting or store.pending or store.busy:
            return
        wanted = self.reclaimer.next_compaction()
        if wanted is None:
            return
        self._compacting = store.compacting = True
        future = self._loop.run_in_executor(None, store.engine.compact, wanted.start, wanted.stop)
        future.add_done_callback(lambda done: self._compacted(done, wanted))

    def _compacted(self, future: "asyncio.Future[None]", done: Compaction) -> None:
        self._compacting = self._server.store.compacting = False
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
            self._syncing.start(server.store.engine.sync)

    def mend_store(self) -> None:
        """After a failed write: reopen the engine when it can be written again."""
        self.reclaimer.reset()
        if not self._mending:
            self._mending = True
            self._loop.call_later(MEND_SECONDS, self._try_to_mend)

    def _try_to_mend(self) -> None:
        server = self._server
        if server.store.busy or server.patience.running or self.reclaimer.is_reading:
            self._loop.call_later(MEND_SECONDS, self._try_to_mend)
            return
        try:
            server.store.engine.reopen()
            server.keyspace.probe()
        except StoreUnavailable as error:
            server.dispatcher.guards.refuse_writes(str(error))
            self._loop.call_later(MEND_SECONDS, self._try_to_mend)
            return
        self._mending = False
        server.keyspace.abandon()
        server.dispatcher.guards.refuse_writes(None)
        log.warning("the store accepts writes again")

    # clients

    def _cut_idle_clients(self) -> None:
        timeout = self._server.options.timeout
        if not timeout:
            return
        oldest = time.monotonic() - timeout
        for session in list(self._server.sessions.values()):
            spared = session.waiting or session.guards & SUBSCRIBED
            if session.last_active < oldest and not spared:
                session.closing = True
                session.connection.close()
