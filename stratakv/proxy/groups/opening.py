"""Opening a group for clients and closing it: what changes in a server when one comes or goes."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.locks import claim
from stratakv.encodings.layout.rows import KEPT_PREFIXES
from stratakv.errors import CommandError, Damaged, StoreUnavailable
from stratakv.proxy.run.spaces import Space, SpacesTxns

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

UPKEEP_SECONDS: Final = 0.1
SLICE_SECONDS: Final = 0.001
"""How long a group is kept house in, before it is the next one's turn."""
REST_SECONDS: Final = 0.004


class Openings:
    """The spaces of a server."""

    def __init__(self, server: "Server", until: Callable[[], float]) -> None:
        self.spaces: dict[int, Space] = {}
        """By group."""
        self._server = server
        self._until = until
        txns = server.realms.first.txns
        assert isinstance(txns, SpacesTxns)
        self._txns = txns
        self._upkeep: asyncio.Task[None] | None = None

    # coming

    def make(self, group: int) -> Space:
        """Take a group in HBase, and read what there is. For a thread; the right is had."""
        server = self._server
        assert server.table is not None
        store = server.table.open_group(
            group,
            self._until,
            post=server.loop.call_soon_threadsafe,
            kept=KEPT_PREFIXES,
        )
        try:
            return Space(
                group,
                store,
                server.clock,
                slices=server.slices,
                is_locked=self._is_locked,
                executor=store.threads,
            )
        except BaseException:
            store.forsake(StoreUnavailable("it could not be read"))
            raise

    def _is_locked(self, database: int, key: bytes) -> bool:
        locks = self._server.dispatcher.lock_waits.locks
        return bool(locks) and locks.blocks(claim([key]))

    def open(self, space: Space) -> None:
        """Serve clients from a space."""
        server = self._server
        space.store.serve(server.slices.wait)
        space.keyspace.join(server.keyspace)
        space.reclaimer.on_damage = server.stats.count_damage
        self.spaces[space.group] = space
        self._txns.open(space)
        server.group_turns.admit(space)
        server.turns.begin_background()  # a new group has something to write
        self._share_caches()

    def _share_caches(self) -> None:
        sizes, count = self._server.cache_sizes, max(1, len(self.spaces))
        for space in self.spaces.values():
            space.keyspace.cache.limit_bytes = sizes.metas // count
            space.store.row_cache.limit_bytes = sizes.rows // count

    # going

    def discard(self, space: Space) -> None:
        """A space that was never open is not wanted any more."""
        space.store.forsake(StoreUnavailable("it came too late"))

    def throw_away(self, space: Space, reason: str) -> None:
        """Nothing is answered from a space any more. Who is about to hear of it is cut off."""
        server = self._server
        if self.spaces.pop(space.group, None) is None:
            return
        failure = StoreUnavailable(f"group {space.group} is not here any more: {reason}")
        server.group_turns.fail(space, failure)
        self.unblock(space)
        home = server.keyspace
        space.store.row_cache.on_leftovers = home.leftovers.add
        space.store.forsake(failure)
        space.keyspace.leave(home)
        for database in space.keyspace.databases:
            index = database.index
            home.watchers.emit(index, home.watchers.keys_of(index))
            home.leftovers.add(database.forget())
        self._txns.close(space)
        for session in server.sessions.values():
            if session.txn is space.txn:
                session.txn = self._txns.at(0)
        server.tracking.all_changed(None)
        self._share_caches()

    def unblock(self, space: Space) -> None:
        """Clients that are blocked on keys of a group ask again: they may be sent elsewhere."""
        blocked, pipelines = self._server.dispatcher.blocked, self._server.dispatcher.pipelines
        for one in blocked.all():
            if one.session.txn is space.txn:
                blocked.free(one)
                one.session.backlog.appendleft(one.request)
                pipelines.resume_soon(one.session)

    def is_working(self, space: Space) -> bool:
        """Whether something of a group runs, or waits for a commit."""
        return self._server.group_turns.is_busy(space) or bool(self._workers(space))

    def _workers(self, space: Space) -> "list[Session]":
        dispatcher = self._server.dispatcher
        waiting = [*dispatcher.long_commands.waiting(), *dispatcher.pipelines.waiting()]
        return [
            session
            for session in waiting
            if session.txn.keyspace is space.keyspace and dispatcher.is_answering(session)
        ]

    def cut(self, space: Space) -> None:
        """What still runs has had its time."""
        for session in self._workers(space):
            log.warning("client %d is cut off: group %d goes", session.id, space.group)
            session.connection.abort()

    # expiry and reclaiming

    def begin_upkeep(self) -> None:
        """Look after what is due and what is dead, from now on."""
        self._upkeep = asyncio.create_task(self._keep())

    def end_upkeep(self) -> None:
        """No more of it."""
        if self._upkeep is not None:
            self._upkeep.cancel()

    async def _keep(self) -> None:
        while True:
            has_more = False
            for space in list(self.spaces.values()):
                if self._work(space):
                    has_more = True
                    await asyncio.sleep(REST_SECONDS)
            await asyncio.sleep(REST_SECONDS if has_more else UPKEEP_SECONDS)

    def _work(self, space: Space) -> bool:
        """A slice in one group; says whether there is more."""
        server, reclaimer = self._server, space.reclaimer
        if space.failure is not None:
            return False
        server.turns.begin_background()
        expired, reclaimed = reclaimer.expiry.expired_keys, reclaimer.reclaimed_rows
        try:
            return reclaimer.work(
                time.perf_counter() + SLICE_SECONDS, expire=server.housekeeper.may_expire
            )
        except Damaged as damaged:
            server.stats.count_damage(damaged)
            reclaimer.reset()
        except (StoreUnavailable, CommandError):
            reclaimer.reset()
        except Exception:  # a corrupt row, say: the other keys still expire
            log.exception("reclaiming failed; it begins again")
            reclaimer.reset()
        finally:
            server.housekeeper.expired_elsewhere += reclaimer.expiry.expired_keys - expired
            server.housekeeper.reclaimed_elsewhere += reclaimer.reclaimed_rows - reclaimed
        return False
