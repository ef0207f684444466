"""Rebuilding the entry of a sorted set in Redis from its `s#` rows: once for all who wait for it.

The rows of a snapshot go, in pieces, into an entry of another name, which takes its place when it
is complete. What is written meanwhile is kept and follows right behind it. Scores are absolute, so
that what is in the snapshot already does no harm when it is done again.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from stratakv.encodings.keyspace.tier_state import CacheRequest, KeyChange, Tier, entries, follow
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.tier.cached_reads import EntryAccess
from stratakv.storage.cache.contract import BYPASS
from stratakv.storage.missing import TooLong
from stratakv.storage.store import Store

log = logging.getLogger("stratakv")

PIECE: Final = 250
UNFINISHED_SECONDS: Final = 600
"""How long an entry in the making outlives a crash."""
ACHIEVED: Final = 1

FINISH: Final = b"""
if redis.call('ZCARD', KEYS[1]) ~= tonumber(ARGV[1]) then redis.call('UNLINK', KEYS[1]) return 0 end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
return 1
"""
"""Put a new entry in its place, unless Redis evicted it in the making and it is not complete."""


class Rebuild:
    """One entry in the making."""

    def __init__(self, tier: Tier, store: Store, meta: Meta, name: bytes, ttl_seconds: int) -> None:
        self._tier = tier
        self._store = store
        self._meta = meta
        self._name = name
        self._new_name = name + b"\x02new"
        self._ttl_seconds = ttl_seconds
        self._waiting: list[Callable[[], None]] = []
        self.later: list[KeyChange] = []
        """What was written since it began."""
        self.succeeded = False

    def subscribe(self, resume: Callable[[], None]) -> None:
        """Call when it is over."""
        self._waiting.append(resume)

    def run(self) -> None:
        """Work to the end, whatever it is."""
        try:
            self.succeeded = self._build()
        except Exception:  # those who wait read the store
            log.exception("a sorted set could not be rebuilt in Redis")
        finally:
            if self._tier.rebuilding.get(self._meta.sub) is self:
                self._abandon()
            for resume in self._waiting:
                resume()

    def _build(self) -> bool:
        if not self._tier.cache.together(self._name, self._new_name):
            return False  # a name that a cluster puts into slots of its own: FINISH could not work
        snapshot = self._store.snapshot()
        total = 0
        prefix = self._meta.sub
        skip = len(prefix)
        try:
            piece: list[tuple[bytes, bytes]] = []
            for row, raw in snapshot.scan(prefix, rows.end_of(prefix)):
                piece.append((row[skip:], raw))
                if len(piece) == PIECE:
                    total += len(piece)
                    if not self._add(piece, first=total == PIECE):
                        return False
                    piece = []
            total += len(piece)
            if piece and not self._add(piece, first=total == len(piece)):
                return False
        finally:
            snapshot.close()
        return total > 0 and self._finish(total)

    def _add(self, piece: list[tuple[bytes, bytes]], *, first: bool) -> bool:
        requests: list[CacheRequest] = [(b"ZADD", self._new_name, *entries(self._meta, piece))]
        if first:
            requests.insert(0, (b"UNLINK", self._new_name))
            requests.append((b"EXPIRE", self._new_name, UNFINISHED_SECONDS))
        return self._achieved(requests) is not None

    def _finish(self, total: int) -> bool:
        """Put it in its place, with everything that was written meanwhile right behind it."""
        finish = (b"EVAL", FINISH, 2, self._new_name, self._name, total, self._ttl_seconds)
        del self._tier.rebuilding[self._meta.sub]
        return self._achieved([finish], self._follow_up) == [ACHIEVED]

    def _follow_up(self) -> None:
        for change in self.later:
            for request in follow(self._name, change):
                self._tier.cache.tell(request)

    def _abandon(self) -> None:
        """It was not finished: there is no entry, so what was written meanwhile needs no update."""
        del self._tier.rebuilding[self._meta.sub]

    def _achieved(
        self, requests: list[CacheRequest], then_send: Callable[[], None] | None = None
    ) -> list[Any] | None:
        """The replies, or None if one is an error or missing."""
        tier = self._tier
        replies: list[Any] = []

        def subscribe(resume: Callable[[], None]) -> None:
            def collect(reply: Any) -> None:
                replies.append(reply)  # of one name, so they come in order
                if len(replies) == len(requests):
                    resume()

            for request in requests:
                tier.cache.tell(request, collect)
            if then_send is not None:
                then_send()

        assert tier.slices is not None
        tier.slices.wait(subscribe)
        failed = any(reply is BYPASS or isinstance(reply, Exception) for reply in replies)
        return None if failed else replies


def rebuild(entry: EntryAccess, meta: Meta) -> bool:
    """Have a lost entry rebuilt and wait for it; says whether it succeeded."""
    txn = entry.txn
    if not txn.is_long:
        raise TooLong
    tier = txn.keyspace.tier
    assert tier.slices is not None, "a LongTxn runs in slices"
    job = tier.rebuilding.get(meta.sub)
    if job is None:
        entry.kind.rebuilds += 1
        job = Rebuild(tier, txn.store, meta, entry.name, entry.ttl_seconds)
        tier.rebuilding[meta.sub] = job
        tier.slices.start(job.run)
    tier.slices.wait(job.subscribe)
    succeeded: bool = job.succeeded
    return succeeded
