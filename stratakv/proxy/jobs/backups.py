"""STRATA BACKUP: a copy of the data directory, made by a thread while everybody is served."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

Done = Callable[[str], None]
"""Hears why there is no backup; nothing if there is one."""


class Backups:
    """One backup at a time."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self.is_running = False

    def start(self, target: Path, done: Done) -> None:
        """Copy what is decided so far. Requires: no other is being made."""
        self.is_running = True
        started = time.monotonic()
        server = self._server

        def ended(future: "asyncio.Future[None]") -> None:
            self.is_running = False
            error = None if future.cancelled() else future.exception()
            failure = "" if error is None else str(error)
            if failure:
                log.error("no backup was made: %s", failure)
            else:
                log.info("a backup is in %s, after %.1f s", target, time.monotonic() - started)
            done(failure)

        def committed() -> None:
            server.in_thread(partial(server.store.back_up, target)).add_done_callback(ended)

        server.turns.flush_now(committed)
