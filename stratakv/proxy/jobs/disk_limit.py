"""maxdisk-bytes: how much the data directory may take before what may grow it is refused.

The directory is measured about once a second, so it may grow beyond the limit for so long. What
deletes goes on; while writes are refused, its space is given back at once, range by range, since
LevelDB would only do that when more is written. Writes are accepted again below 15/16 of the limit.
"""

import logging
from typing import TYPE_CHECKING, Final

from stratakv.encodings.layout import rows
from stratakv.options import Effects

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

SLACK: Final = 16
"""Writes are accepted again when a part of so many is free."""


class DiskLimit:
    """Whether the data directory takes more than it may."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self.is_full = False
        self.times_full = 0
        self._compacted_rows = 0
        """How many rows were written when space was last asked back."""

    @property
    def effects(self) -> Effects:
        """What setting its option does."""
        return {"maxdisk-bytes": self._choose}

    def _choose(self, limit: int) -> None:
        self._server.options.maxdisk_bytes = limit
        self._server.disk.look()
        self.judge()

    def judge(self) -> None:
        """Refuse what may grow, or accept it again, by what was last measured.

        A replica takes what its master has, as Redis's replicas ignore maxmemory.
        """
        server = self._server
        limit, used = server.options.maxdisk_bytes, server.disk.latest.used
        if not limit or server.housekeeper.is_follower:
            self._set_full(False)
        elif used > limit:
            self._set_full(True)
        elif used <= limit - limit // SLACK:
            self._set_full(False)
        if self.is_full:
            self._ask_space_back()

    def _set_full(self, is_full: bool) -> None:
        if is_full is self.is_full:
            return
        self.is_full = is_full
        self._server.dispatcher.guards.refuse_growth(is_full)
        if is_full:
            self.times_full += 1
            self._compacted_rows = self._server.store.stats.rows
            log.warning(
                "only deleting is possible: the data directory takes more than maxdisk-bytes"
            )
        else:
            log.warning("the data directory takes less than maxdisk-bytes: writes go on")

    def _ask_space_back(self) -> None:
        """Have everything compacted if something was written, which can only have deleted."""
        server = self._server
        waiting = server.keyspace.sparse.waiting
        written = server.store.stats.rows
        if written != self._compacted_rows and not waiting and not server.store.compacting:
            self._compacted_rows = written
            waiting.append((b"", rows.END))
