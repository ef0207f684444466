"""maxmemory: what the process may have of its own.

Data are on disk, so nothing is lost that goes from memory: of what the caches hold copies are
dropped, those first that were not used for longest. The option says how large the caches are from
the start on (cache_sizes.py); what else takes memory (clients, scripts, the engine) is not known
ahead, so while the process has more than it may the caches are made smaller, and larger again when
it has less. No command is ever refused for it.
"""

import time
from typing import TYPE_CHECKING, Final

from stratakv.cache_sizes import CacheSizes, cache_sizes
from stratakv.options import Effects

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

LEAST_SHARE: Final = 1 / 16
"""The caches are never smaller than that part of what they are to be."""
SHRINK: Final = 1 / 16
GROW: Final = 1 / 128
"""How much of it is taken away, or given back, with every tick."""
SLICE_SECONDS: Final = 0.001


class MemoryLimit:
    """How large the caches may be at the moment."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._share = 1.0

    @property
    def effects(self) -> Effects:
        """What setting its options does."""
        return dict.fromkeys(("maxmemory", "meta-cache-bytes", "row-cache-bytes"), self._choose)

    def _choose(self, _value: int) -> None:
        server = self._server
        blocks = server.cache_sizes.blocks  # the engine's, which has it until the end
        metas, _, rows = cache_sizes(server.options, blocks=blocks)
        server.cache_sizes = CacheSizes(metas, blocks, rows)
        self._share = 1.0
        self._apply()
        server.client_memory.choose()

    def judge(self, own_bytes: int) -> None:
        """Make the caches smaller or larger, by what the process has of its own."""
        limit = self._server.options.maxmemory
        if not limit:
            return
        before = self._share
        if own_bytes > limit:
            self._share = max(LEAST_SHARE, before - SHRINK)
        elif own_bytes < limit - limit // 16:
            self._share = min(1.0, before + GROW)
        if self._share != before:
            self._apply()
        self._trim()

    def _apply(self) -> None:
        """Tell the caches."""
        keyspace, sizes = self._server.keyspace, self._server.cache_sizes
        keyspace.cache.limit_bytes = int(sizes.metas * self._share)
        keyspace.store.row_cache.choose_limit(int(sizes.rows * self._share))

    def _trim(self) -> None:
        """Turns drop copies, some in each; without turns it is done here."""
        keyspace = self._server.keyspace
        databases = keyspace.opened.values()
        end = time.perf_counter() + SLICE_SECONDS
        while keyspace.cache.is_above(databases) and time.perf_counter() < end:
            keyspace.cache.trim(databases)
