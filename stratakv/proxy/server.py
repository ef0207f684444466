"""The server: listens, admits clients, keeps house, and shuts down without losing anything."""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from pathlib import Path
from typing import Final

from stratakv.clock import Clock
from stratakv.encodings import metas
from stratakv.encodings.keyspace import Keyspace
from stratakv.encodings.txn import Txn
from stratakv.errors import StoreUnavailable
from stratakv.options import Options
from stratakv.proxy import commands  # noqa: F401  # fills the command table
from stratakv.proxy.background import Reencoding
from stratakv.proxy.connection import Connection
from stratakv.proxy.dispatch import Dispatcher
from stratakv.proxy.housekeeping import Housekeeper
from stratakv.proxy.limits import OutputLimits
from stratakv.proxy.notifications import Notifications
from stratakv.proxy.patience import Patience
from stratakv.proxy.pubsub import PubSub
from stratakv.proxy.scripting.engine import Scripting
from stratakv.proxy.session import Session
from stratakv.proxy.settings import Settings
from stratakv.proxy.stats import Stats
from stratakv.proxy.tiering import Tiering
from stratakv.proxy.turns import Turns
from stratakv.storage.engine import Engine
from stratakv.storage.leveldb import LevelEngine, LevelOptions
from stratakv.storage.memory import MemoryEngine
from stratakv.storage.store import Store

log = logging.getLogger("stratakv")

DRAIN_SECONDS: Final = 10.0
SEND_SECONDS: Final = 2.0
LOG_LEVELS: Final = {"debug": "DEBUG", "verbose": "INFO", "notice": "WARNING", "warning": "ERROR"}
"""Redis's names for how much is logged, and ours: the default is quiet in both."""


def open_engine(options: Options) -> Engine:
    """The engine that the options ask for; raises `StoreUnavailable`."""
    if options.engine == "memory":
        return MemoryEngine()
    return LevelEngine(
        Path(options.dir),
        LevelOptions(
            block_cache=options.block_cache_bytes,
            write_buffer=options.write_buffer_bytes,
            bloom_bits=options.bloom_bits,
            max_open_files=options.max_open_files,
            mapped=options.mapped_bytes,
            compression=options.compression,
        ),
    )


class Server:
    """Everything that lives as long as the process."""

    def __init__(
        self, options: Options, loop: asyncio.AbstractEventLoop, *, clock: Clock | None = None
    ) -> None:
        self.options = options
        self.loop = loop
        self.clock = clock or Clock()
        self.run_id = secrets.token_hex(20)
        self.stats = Stats()
        self.stats.log_slower_than(options.slowlog_log_slower_than)
        self.stats.keep_slow_calls(options.slowlog_max_len)
        self.stats.watch_latency_from(options.latency_monitor_threshold)
        self.store = Store(
            open_engine(options),
            post=loop.call_soon_threadsafe,
            sync=options.durability == "always",
        )
        self.keyspace = Keyspace(
            self.store,
            self.clock,
            databases=options.databases,
            cache_bytes=options.meta_cache_bytes,
            encodings=_encodings(options),
        )
        self.keyspace.string_limit = options.proto_max_bulk_len
        self.txns = [Txn(self.keyspace, database) for database in self.keyspace.databases]
        self.turns = Turns(loop, self.keyspace, self._store_failed)
        self.patience = Patience(loop)
        self.tiering = Tiering(self)
        self.reencoding: Reencoding | None = None
        self.dispatcher = Dispatcher(loop, self.turns, self.stats, self.patience)
        self.pubsub = PubSub()
        self.notifications = Notifications(self.keyspace, self.pubsub)
        self.notifications.choose(options.notify_keyspace_events)
        self.output_limits = OutputLimits(options.client_output_buffer_limit, self.stats)
        self.scripting = Scripting(self)
        self.housekeeper = Housekeeper(self)
        self.housekeeper.reclaimer.on_expired = self.notifications.expired
        self.sessions: dict[int, Session] = {}
        self._next_id = 1
        self._listeners: list[asyncio.Server] = []
        self.port = 0
        self.stopping = asyncio.Event()
        self.password = options.requirepass.encode()
        self.settings = Settings(options, self._setting_changed)
        self.last_save = int(time.time())

    # listening

    async def listen(self) -> None:
        """Open the sockets; raises OSError with the address in its text."""
        port = self.options.port
        for address in self.options.bind:
            listener = await self._listen_tcp(address, port)
            port = listener.sockets[0].getsockname()[1]
        self.port = port
        if self.options.unixsocket:
            await self._listen_unix(self.options.unixsocket)

    async def _listen_tcp(self, address: str, port: int) -> asyncio.Server:
        try:
            listener = await self.loop.create_server(
                lambda: Connection(self), address, port, backlog=self.options.tcp_backlog
            )
        except OSError as error:
            raise OSError(f"cannot listen on {address}:{port}: {_reason(error)}") from None
        self._listeners.append(listener)
        return listener

    async def _listen_unix(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        try:
            listener = await self.loop.create_unix_server(lambda: Connection(self), path)
        except OSError as error:
            raise OSError(f"cannot listen on {path}: {_reason(error)}") from None
        if self.options.unixsocketperm:
            os.chmod(path, int(self.options.unixsocketperm, 8))
        self._listeners.append(listener)

    # clients

    def admit(self, connection: Connection) -> Session | None:
        """A session for a new connection; None if there are too many."""
        self.stats.connections += 1
        if len(self.sessions) >= self.options.maxclients:
            self.stats.rejected_connections += 1
            return None
        session = Session(self, connection, self._next_id)
        self._next_id += 1
        self.sessions[session.id] = session
        if self.password:
            connection.expect_password(session)
        connection.set_keepalive(self.options.tcp_keepalive)
        return session

    def forget(self, session: Session) -> None:
        """A client is gone."""
        self.sessions.pop(session.id, None)
        session.backlog.clear()
        self.dispatcher.guards.unwatch(session)
        self.dispatcher.blocked.forget(session)
        self.pubsub.forget(session)
        self.output_limits.forget(session.connection)
        session.watches.clear()

    # the store

    def _store_failed(self, failure: StoreUnavailable) -> None:
        log.error("the store refuses to write: %s", failure)
        self.dispatcher.guards.refuse_writes(str(failure))
        self.housekeeper.mend_store()

    def _setting_changed(self, name: str) -> None:
        """CONFIG SET: tell the parts that keep a copy of the option."""
        options, keyspace = self.options, self.keyspace
        if name == "slowlog-log-slower-than":
            self.stats.log_slower_than(options.slowlog_log_slower_than)
        elif name == "slowlog-max-len":
            self.stats.keep_slow_calls(options.slowlog_max_len)
        elif name == "latency-monitor-threshold":
            self.stats.watch_latency_from(options.latency_monitor_threshold)
        elif name == "requirepass":
            self.password = options.requirepass.encode("utf-8", "surrogateescape")
        elif name == "durability":
            self.set_durability(options.durability)
        elif name == "client-output-buffer-limit":
            self.output_limits.set(options.client_output_buffer_limit)
        elif name == "notify-keyspace-events":
            self.notifications.choose(options.notify_keyspace_events)
        elif name == "stream-node-max-entries":
            keyspace.stream_node_entries = int(self.settings.show(name)) or 100
        elif name == "loglevel":
            log.setLevel(LOG_LEVELS[self.settings.show(name)])
        keyspace.cache_bytes = options.meta_cache_bytes
        keyspace.string_limit = options.proto_max_bulk_len
        keyspace.encodings.update(_encodings(options))
        self.tiering.adjust(name)

    def set_durability(self, mode: str) -> None:
        """Change how commits are synced while running."""
        self.options.durability = mode
        self.store.sync = mode == "always"

    # the end

    async def run(self) -> None:
        """Serve until told to stop, then drain."""
        self.housekeeper.start()
        await self.stopping.wait()
        await self.drain()

    async def drain(self) -> None:
        """Stop accepting, finish running commands, commit, close."""
        for listener in self._listeners:
            listener.close()
        for session in self.sessions.values():
            session.connection.pause_for_shutdown()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self._is_working() and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
        await self._send_the_rest()
        self.housekeeper.stop()
        for session in list(self.sessions.values()):
            session.closing = True
            session.connection.close()
        await asyncio.sleep(0)
        while self.turns.open or self.store.busy:
            await asyncio.sleep(0.001)
        self.tiering.close()
        self.keyspace.collect()
        self.store.close()
        if self.options.unixsocket:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.options.unixsocket)

    def _is_working(self) -> bool:
        return (
            self.turns.open
            or self.store.busy
            or self.patience.running > 0
            or any(
                session.backlog and not self.dispatcher.is_parked(session)
                for session in self.sessions.values()
            )
        )

    async def _send_the_rest(self) -> None:
        """Give clients a moment to take the replies of what has been done."""
        deadline = time.monotonic() + SEND_SECONDS
        while time.monotonic() < deadline and any(
            session.connection.unsent for session in self.sessions.values()
        ):
            await asyncio.sleep(0.005)


def _encodings(options: Options) -> dict[int, int]:
    """The encode-versions of new keys."""
    return {
        metas.HASH: options.hash_encoding,
        metas.SET: options.set_encoding,
        metas.ZSET: options.zset_encoding,
    }


def _reason(error: OSError) -> str:
    if error.strerror and "address already in use" in error.strerror:
        return "address already in use"
    if isinstance(error, socket.gaierror):
        return "unknown address"
    return os.strerror(error.errno).lower() if error.errno else str(error)
