"""STRATA COMPACT: ranges of the store are rewritten without what was deleted, piece by piece.

LevelDB compacts by itself what is written and deleted; this is for whoever wants the space back
now, or scans that need not step over what was deleted. A piece is a second's work of a thread, and
as long a rest follows, so that neither the disk nor the processor is taken from the clients.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from stratakv.encodings.layout.rows import Range

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")


class CompactionJob:
    """One at a time, and what is told of the last."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._loop = server.loop
        self._left: deque[Range] = deque()
        self._started = self._piece_started = 0.0
        self.is_running = False
        self.pieces = self.pieces_done = 0
        self.last_seconds = -1.0
        """How long the last took; negative if there was none."""
        self.failure = ""

    def start(self, ranges: Sequence[Range]) -> None:
        """Begin with what is decided so far. Requires: no other is running."""
        self.is_running = True
        self.failure = ""
        self.pieces = self.pieces_done = 0
        self._started = self._loop.time()
        self._server.turns.flush_now(partial(self._cut, ranges))

    def fields(self) -> dict[str, object]:
        """How far it is, for INFO."""
        return {
            "store_compaction_in_progress": int(self.is_running),
            "store_compaction_pieces": self.pieces,
            "store_compaction_pieces_done": self.pieces_done,
            "store_compaction_last_seconds": f"{self.last_seconds:.3f}",
            "store_compaction_last_error": self.failure,
        }

    def _cut(self, ranges: Sequence[Range]) -> None:
        """Have a thread look how large the ranges are; the engine is not asked on the loop."""
        store = self._server.store

        def cut() -> None:
            for start, stop in ranges:
                self._left.extend(store.pieces(start, stop))

        self._left.clear()
        self._server.in_thread(cut).add_done_callback(self._begun)

    def _begun(self, future: "asyncio.Future[None]") -> None:
        self.pieces = len(self._left)
        log.info("compacting %d pieces, as STRATA COMPACT asked", self.pieces)
        self._go_on(future)

    def _go_on(self, future: "asyncio.Future[None]") -> None:
        """The last step is done: rest for as long as it took, unless that was it."""
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self.failure = str(error)
        if self.failure or not self._left or self._server.stopping.is_set():
            self._end()
            return
        rest = self._loop.time() - self._piece_started if self.pieces_done else 0.0
        self._loop.call_later(rest, self._compact_next)

    def _compact_next(self) -> None:
        server = self._server
        self.failure = server.dispatcher.guards.refusal  # a full disk has no room for new tables
        if self.failure or server.stopping.is_set():
            self._end()
            return
        self._piece_started = self._loop.time()
        server.store.compacting += 1
        work = server.in_thread(partial(server.store.compact, *self._left.popleft()))
        work.add_done_callback(self._compacted)

    def _compacted(self, future: "asyncio.Future[None]") -> None:
        self._server.store.compacting -= 1
        self.pieces_done += 1
        self._go_on(future)

    def _end(self) -> None:
        self.is_running = False
        self._left.clear()
        self.last_seconds = self._loop.time() - self._started
        if self.failure:
            log.error("STRATA COMPACT ended early: %s", self.failure)
        else:
            log.info("STRATA COMPACT is done, after %.1f s", self.last_seconds)
