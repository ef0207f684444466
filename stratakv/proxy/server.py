"""The server: listens, admits clients, keeps house, and shuts down without losing anything."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stratakv import errors, logs, service_manager
from stratakv.cache_sizes import cache_sizes
from stratakv.clock import Clock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.limits import COMPACT_LIMITS, Limits
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.rows import KEPT_PREFIXES
from stratakv.errors import CommandError, StoreDamaged, StoreUnavailable
from stratakv.options import Effects, Options
from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.clients.client_memory import ClientMemory
from stratakv.proxy.clients.connection import Connection
from stratakv.proxy.clients.limits import OutputLimits
from stratakv.proxy.clients.listeners import Listeners
from stratakv.proxy.clients.logins import Logins
from stratakv.proxy.clients.notifications import Notifications
from stratakv.proxy.clients.realms import Realms
from stratakv.proxy.clients.session import Session
from stratakv.proxy.clients.tracking import Tracking
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.cluster.membership import Membership
from stratakv.proxy.cluster.shared_code import SharedCode
from stratakv.proxy.commands.whole_node import use_whole_node
from stratakv.proxy.config.renames import rename_commands
from stratakv.proxy.config.settings import Settings
from stratakv.proxy.config.users import configured_lines, load_users
from stratakv.proxy.jobs.backups import Backups
from stratakv.proxy.jobs.compaction import CompactionJob
from stratakv.proxy.jobs.disk_limit import DiskLimit
from stratakv.proxy.jobs.ending import Ending
from stratakv.proxy.jobs.housekeeping import Housekeeper
from stratakv.proxy.jobs.memory_limit import MemoryLimit
from stratakv.proxy.jobs.oom_score import OomScore
from stratakv.proxy.jobs.reencode_job import Reencoding
from stratakv.proxy.jobs.saving import Saving
from stratakv.proxy.jobs.tenancy import Tenancy
from stratakv.proxy.jobs.tier_control import TierControl
from stratakv.proxy.jobs.uses import KeyUses
from stratakv.proxy.observe.memory import MemoryWatch
from stratakv.proxy.observe.stats import Stats
from stratakv.proxy.replication.replication import Replication
from stratakv.proxy.run.dispatch import Dispatcher
from stratakv.proxy.run.group_turns import GroupTurns
from stratakv.proxy.run.invariants import Invariants
from stratakv.proxy.run.leased_turns import LeasedTurns
from stratakv.proxy.run.slices import Slices
from stratakv.proxy.run.spaces import Space, SpacesTxns
from stratakv.proxy.run.turns import Turns
from stratakv.proxy.scripting.engine import Scripting
from stratakv.storage.engines import open_groups, open_store
from stratakv.storage.leveldb.usage import DiskWatch
from stratakv.storage.remote_store import RemoteStore
from stratakv.storage.store import Store

if TYPE_CHECKING:
    from stratakv.proxy.groups.ownership import Ownership

log = logging.getLogger("stratakv")

DRAIN_SECONDS: Final = 10.0
SEND_SECONDS: Final = 2.0


class Server:
    """Everything that lives as long as the process."""

    def __init__(
        self, options: Options, loop: asyncio.AbstractEventLoop, *, clock: Clock | None = None
    ) -> None:
        self.options = options
        self.loop = loop
        self.clock = clock or Clock()
        self.run_id = secrets.token_hex(20)
        self.sessions: dict[int, Session] = {}
        rename_commands(options)
        self.logins = Logins(self, options)
        load_users(self.logins.users, options)  # before anything is opened: a bad file is refused
        self.users_at_start = configured_lines(self.logins.users)
        self.memory = MemoryWatch()
        self.stats = Stats()
        self.stats.log_slower_than(options.slowlog_log_slower_than)
        self.stats.keep_slow_calls(options.slowlog_max_len)
        self.stats.watch_latency_from(options.latency_monitor_threshold)
        self.cache_sizes = cache_sizes(options)
        log.info("caches: %s", self.cache_sizes)
        self.table = open_groups(options)
        """The table whose groups of slots have the keys, on a node of several."""
        self.store = open_store(
            options,
            post=loop.call_soon_threadsafe,
            row_cache_bytes=self.cache_sizes.rows,
            kept=KEPT_PREFIXES,
        )
        self.disk = DiskWatch(self.store.directory)
        self.slices = Slices(loop)
        self.keyspace = Keyspace(
            self.store,
            self.clock,
            databases=options.databases,
            cache_bytes=self.cache_sizes.metas,
            encodings=_encodings(options),
            slices=self.slices,
        )
        self.keyspace.limits = Limits(
            string_bytes=options.proto_max_bulk_len, rdb_version=options.rdb_version
        )
        self.keyspace.recollections.ranks.choose_limit(options.rank_directory_bytes)
        self.keyspace.recollections.ranks.choose_least(options.rank_directory_members)
        is_remote = isinstance(self.store, RemoteStore)
        self.keyspace.measures = is_remote or self.table is not None
        self.realms = Realms(self.keyspace)
        self.turns: Turns
        if self.table is not None:
            self.realms.first.txns = SpacesTxns(self.keyspace)
            self.turns = GroupTurns(loop, self.keyspace, self._store_failed)
        else:
            make_turns = LeasedTurns if is_remote else Turns
            self.turns = make_turns(loop, self.keyspace, self._store_failed)
        self.tier_control = TierControl(self)
        self.reencoding: Reencoding | None = None
        self.dispatcher = Dispatcher(loop, self.turns, self.stats, self.slices)
        self.dispatcher.guards.on_pause = self.keyspace.rest
        is_node = options.cluster_enabled or self.table is not None
        self.membership = Membership(self) if is_node else None
        self.notifications = Notifications(self.keyspace, self.realms)
        self.notifications.choose(options.notify_keyspace_events)
        self.tracking = Tracking(self)
        self.client_memory = ClientMemory(self)
        self.memory_limit = MemoryLimit(self)
        self.uses = KeyUses(self)
        self.oom_score = OomScore(self)
        self.output_limits = OutputLimits(options.client_output_buffer_limit, self.stats)
        self.scripting = Scripting(self)
        self.housekeeper = Housekeeper(self)
        self.housekeeper.reclaimer.on_damage = self.stats.count_damage
        self._next_id = 1
        self.listeners = Listeners(self)
        self.stopping = asyncio.Event()
        self.ending = Ending(self)
        self._ends_scripts = False
        self.replication = Replication(self)
        self.disk_limit = DiskLimit(self)
        self.saving = Saving(self)
        self.settings = Settings(options, self._effects)
        self.settings.resume(options.redis_settings)
        self.backups = Backups(self)
        self.compaction = CompactionJob(self)
        self.tenancy = Tenancy(self)
        if options.debug_invariants:
            Invariants(self).watch()
        self.ownership = None if self.table is None else self._make_ownership()
        if isinstance(self.store, RemoteStore):
            self.keyspace.recollections.ranks.on_wanted = None  # a long way to read them all
            self.store.serve(self.slices.wait)

    async def listen(self) -> None:
        """Open the sockets; raises OSError with the address in its text."""
        self.replication.start()  # before anybody can write: what is not told, replicas never have
        await self.listeners.open()
        self.announce()
        if self.ownership is not None:
            await self.ownership.begin()
        self.settings.begin()

    def announce(self) -> None:
        """Where we listen has changed: let the other nodes know, if there may be any."""
        if self.membership is not None:
            self.membership.announce()

    # clients

    def admit(self, connection: Connection) -> Session | bytes:
        """A session for a new connection, or the reason why it is refused."""
        self.stats.connections += 1
        refusal = self._refusal(connection)
        if refusal:
            self.stats.rejected_connections += 1
            log.info(
                "connection from %s refused: %s", connection.address, refusal[:60].decode("ascii")
            )
            return refusal
        session = self.make_session(connection)
        log.debug("client %d connected from %s", session.id, connection.address)
        self.logins.welcome(session)
        connection.set_keepalive(self.options.tcp_keepalive)
        return session

    def make_session(self, connection: Connection) -> Session:
        """A session with a number of its own."""
        session = Session(self, connection, self._next_id)
        self._next_id += 1
        self.sessions[session.id] = session
        return session

    def _refusal(self, connection: Connection) -> bytes:
        if len(self.sessions) >= self.options.maxclients:
            return errors.MAX_CLIENTS
        has_password = not self.logins.users.default.needs_no_password
        is_protected = self.options.protected_mode and not has_password
        return errors.PROTECTED_MODE if is_protected and not connection.is_local else b""

    def forget(self, session: Session) -> None:
        """A client is gone."""
        if self.sessions.pop(session.id, None) is not None:
            session.realm.clients -= 1
        log.debug("client %d is gone", session.id)
        session.backlog.clear()
        self.dispatcher.guards.unwatch(session)
        self.dispatcher.blocked.forget(session)
        session.realm.pubsub.forget(session)
        self.tracking.end(session)
        self.output_limits.forget(session.connection)
        self.client_memory.forget(session)
        session.watches.clear()
        if self.membership is not None:
            self.membership.cluster.forget(session)
        self.replication.forget(session)

    # the store

    def _store_failed(self, failure: StoreUnavailable) -> None:
        log.error("the store refuses to write: %s", failure)
        is_damaged = isinstance(failure, StoreDamaged)
        self.dispatcher.guards.refuse_writes(str(failure), for_good=is_damaged)
        self.replication.abandon()
        self.tracking.all_changed(None)  # what was read of the last commit is no longer so
        self.tenancy.abandon()
        if not is_damaged:
            self.housekeeper.mend_store()

    @property
    def cluster(self) -> Cluster | None:
        """What this node knows of the cluster, if it is one."""
        return None if self.membership is None else self.membership.cluster

    def _make_ownership(self) -> "Ownership":
        from stratakv.proxy.groups.ownership import Ownership, register  # needs kazoo

        assert self.cluster is not None
        use_whole_node()
        return Ownership(self, self.cluster, register(self.options))

    @property
    def group_turns(self) -> GroupTurns:
        """The turns of a node that has groups of a table."""
        assert isinstance(self.turns, GroupTurns)
        return self.turns

    @property
    def spaces(self) -> list[Space]:
        """The groups of slots that are open here, on a node that has groups of a table."""
        return [] if self.ownership is None else list(self.ownership.spaces.values())

    @property
    def keyspaces(self) -> list[Keyspace]:
        """Those that have the keys of clients."""
        if self.ownership is None:
            return [self.keyspace]
        return [space.keyspace for space in self.spaces]

    @property
    def library_store(self) -> Store:
        """Where libraries of functions are: in a cluster with the keys of the first group."""
        first = None if self.ownership is None else self.ownership.spaces.get(0)
        return self.store if first is None else first.store

    @property
    def shared_code(self) -> SharedCode | None:
        """What the nodes know together, if it is one."""
        return None if self.membership is None else self.membership.shared_code

    @property
    def mode(self) -> str:
        """Redis's word for what it is."""
        return "standalone" if self.membership is None else "cluster"

    @property
    def _effects(self) -> Effects:
        """What CONFIG SET does beyond changing the option, by its owner."""
        return {
            "durability": self.set_durability,
            "log-level": logs.set_level,
            **_keyspace_effects(self.keyspace),
            **self.logins.effects,
            **self.stats.effects,
            **self.output_limits.effects,
            **self.notifications.effects,
            **self.tier_control.effects,
            **self.replication.effects,
            **self.listeners.effects,
            **self.disk_limit.effects,
            **self.memory_limit.effects,
            **self.uses.effects,
            **self.oom_score.effects,
            "maxmemory-clients": lambda _: self.client_memory.choose(),
            **self.saving.effects,
            **(self.membership.effects if self.membership is not None else {}),
        }

    def in_thread(self, work: Callable[[], None]) -> "asyncio.Future[None]":
        """Run work on the engine in one of the store's threads."""
        return asyncio.wrap_future(self.store.threads.submit(work), loop=self.loop)

    def set_durability(self, mode: str) -> None:
        """Change how commits are synced while running."""
        self.options.durability = mode
        self.store.choose_durability(mode)
        if self.table is not None:
            self.table.choose_durability(mode)

    # the end

    async def run(self) -> None:
        """Serve until told to stop, then drain; `close` is left to do."""
        self.client_memory.choose()
        self.oom_score.follow_role()
        self.housekeeper.start()
        self.tenancy.begin()
        await self.stopping.wait()
        service_manager.tell(service_manager.STOPPING)
        log.info("stopping: %d clients are served to the end", len(self.sessions))
        if self.ownership is not None:
            await self.ownership.leave()
        await self.drain()
        log.info("stopped: all is committed and the store is closed")

    def stop(self, *, ends_scripts: bool = False) -> None:
        """Drain and end; scripts that run are given time, unless they are to end at once."""
        self._ends_scripts = ends_scripts
        self.stopping.set()

    async def drain(self) -> None:
        """Stop accepting, finish running commands, and commit. Nothing runs any more then."""
        self.listeners.close()
        self.replication.stop()
        if self.membership is not None:
            self.membership.cluster.links.close()
        self.saving.stop()
        for session in self.sessions.values():
            session.connection.pause_for_shutdown()
        if self._ends_scripts:
            await self._end_scripts()
        await self._until(lambda: not self._is_working(), DRAIN_SECONDS)
        await self._end_scripts()
        await self._until(lambda: not self._unsent(), SEND_SECONDS)
        self.housekeeper.stop()
        for session in list(self.sessions.values()):
            session.closing = True
            session.connection.close()
        await asyncio.sleep(0)
        self.slices.stop()
        while self.turns.open or self.store.busy:
            await asyncio.sleep(0.001)
        if self.ownership is not None:
            await self.ownership.end()
        self.tier_control.close()

    def close(self) -> None:
        """Write the rest and let go of the store: the last thing that touches the engine."""
        self.keyspace.collect()
        try:
            self.store.close()
            if self.table is not None:
                self.table.close()
        finally:
            self.listeners.remove_socket_file()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait for a condition, but no longer than that."""
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            await asyncio.sleep(0.005)

    async def _end_scripts(self) -> None:
        """End the scripts that run: their writes are dropped, as one unit."""
        for run in self.scripting.running:
            run.end(CommandError(errors.SHUTTING_DOWN))
        await self._until(lambda: not self.scripting.running, SEND_SECONDS)

    def _is_working(self) -> bool:
        return (
            self.turns.open
            or self.store.busy
            or self.slices.running > 0
            or any(
                session.backlog and not self.dispatcher.is_parked(session)
                for session in self.sessions.values()
            )
        )

    def _unsent(self) -> bool:
        """Whether clients have yet to take replies of what has been done."""
        return any(session.connection.unsent for session in self.sessions.values())


_ENCODINGS: Final = {
    "hash-encoding": metas.HASH,
    "set-encoding": metas.SET,
    "zset-encoding": metas.ZSET,
}


def _encodings(options: Options) -> dict[int, int]:
    """The encode-versions of new keys."""
    return {type_: getattr(options, name.replace("-", "_")) for name, type_ in _ENCODINGS.items()}


def _keyspace_effects(keyspace: Keyspace) -> Effects:
    """What the keyspace, which knows no options, is told of them; Redis's limits come as text."""

    def change(**limits: Any) -> None:
        keyspace.choose_limits(replace(keyspace.limits, **limits))

    def change_compact(name: str, text: str) -> None:
        change(compact={**keyspace.limits.compact, name: int(text)})

    return {
        "rank-directory-bytes": keyspace.recollections.ranks.choose_limit,
        "proto-max-bulk-len": lambda size: change(string_bytes=size),
        "rdb-version": lambda version: change(rdb_version=version),
        "stream-node-max-entries": lambda text: change(stream_node_entries=int(text) or 100),
        **{name: partial(change_compact, name) for name in COMPACT_LIMITS},
        **{
            name: partial(keyspace.encodings.__setitem__, type_)
            for name, type_ in _ENCODINGS.items()
        },
    }
