"""How the server ends, by SHUTDOWN or a signal: replicas get all, then perhaps a dump is made.

Who wants the end waits for it as a blocked client does, and hears only if it is called off: by
SHUTDOWN ABORT, or because the dump cannot be written. From the moment on in which replicas are
waited for, nothing is written.
"""

import logging
import math
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.run.guards import FOR_THE_END

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

_CALLED_OFF: Final = CommandError(errors.NO_SHUTDOWN_WITHOUT_SAVE)


class Ending:
    """The end of a server, once somebody has asked for it."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._is_asked = False
        self._words: frozenset[str] = frozenset()
        """What SHUTDOWN was told."""
        self._until = 0.0
        """When replicas are no longer waited for; 0 if they are not."""

    @property
    def left_ms(self) -> int | None:
        """How long replicas may still be waited for; None if they are not."""
        return int((self._until - time.monotonic()) * 1000) if self._until else None

    def wait(self) -> WouldBlock:
        """What lets a client wait until the server ends."""
        return WouldBlock([], 0, _CALLED_OFF)

    def begin(self, words: Collection[str]) -> None:
        """End as SHUTDOWN with these words does, unless the end is under way."""
        if self._is_asked:
            return
        self._is_asked = True
        self._words = frozenset(words)
        log.info("User requested shutdown...")
        seconds = 0 if "now" in words else self._server.options.shutdown_timeout
        if not seconds or not len(self._server.replication.replicas):
            self._finish()
            return
        replication = self._server.replication
        self._until = time.monotonic() + seconds
        self._server.dispatcher.guards.pause(FOR_THE_END, math.inf, writes_only=True)
        if not self._is_ready:
            log.warning("Waiting for replicas before shutting down.")
        if replication.is_master:
            self._server.turns.begin_background()
            replication.replicas.ask()
        self.look()

    def hasten(self, words: Collection[str]) -> None:
        """As `begin`; asked again, wait neither for replicas nor for a dump."""
        if self._is_asked:
            self._until = 0.0
            self._server.stop()
        else:
            self.begin(words)

    def look(self) -> None:
        """Go on if replicas have everything, or their time is over."""
        if self._until and (self._is_ready or time.monotonic() >= self._until):
            self._finish()

    def abort(self) -> bool:
        """Call the end off; False if there is none to come."""
        if not self._is_asked or self._server.stopping.is_set():
            return False
        log.warning("Shutdown manually aborted.")
        self._call_off()
        return True

    @property
    def _is_ready(self) -> bool:
        """Whether all replicas have everything, and nothing more will be written."""
        server = self._server
        offset = server.replication.feed.position.offset
        replicas = server.replication.replicas
        is_writing = server.dispatcher.guards.are_locked and "nosave" not in self._words
        return not is_writing and all(one.acknowledged >= offset for one in replicas.all())

    @property
    def _writes_dump(self) -> bool:
        """Whether a dump comes before the end: without a word, if there are save points."""
        words = self._words
        return "save" in words or ("nosave" not in words and self._server.saving.has_points)

    def _finish(self) -> None:
        self._until = 0.0
        self._tell_who_lags()
        if self._writes_dump:
            self._save()
        else:
            self._server.stop(ends_scripts="nosave" in self._words)

    def _tell_who_lags(self) -> None:
        offset = self._server.replication.feed.position.offset
        replicas = self._server.replication.replicas.all()
        lagging = [one for one in replicas if one.acknowledged < offset]
        for one in lagging:
            log.warning(
                "Lagging replica %s reported offset %d behind master, lag=%d, state=%s.",
                one.name,
                offset - one.acknowledged,
                one.lag_seconds,
                one.state,
            )
        if replicas:
            in_step = len(replicas) - len(lagging)
            log.warning("%d of %d replicas are in sync when shutting down.", in_step, len(replicas))

    def _save(self) -> None:
        saving = self._server.saving
        if saving.is_running:
            saving.when_ended(lambda _: self._save_if_wanted())
        else:
            saving.start(self._saved)

    def _save_if_wanted(self) -> None:
        if self._is_asked:
            self._save()

    def _saved(self, failure: str) -> None:
        if not self._is_asked:
            return
        if failure and "force" not in self._words:
            log.error("no dump could be written: the server goes on")
            self._call_off()
        else:
            self._server.stop()

    def _call_off(self) -> None:
        self._is_asked = False
        self._until = 0.0
        blocked = self._server.dispatcher.blocked
        running = self._server.dispatcher.running
        for one in blocked.all():
            if one.nothing is _CALLED_OFF:
                blocked.release(one, running.failed(one.entry, _CALLED_OFF))
        self._server.dispatcher.guards.unpause(FOR_THE_END)
