"""A session of ZooKeeper in which processes agree who owns what, and until when that is sure.

kazoo has threads of its own; whatever they find is handed to the loop. The session is the lease of
all that this process owns: its ephemeral nodes are gone once it has ended, and no sooner.

1. `until` is by the monotonic clock, and a margin before the earliest moment at which ZooKeeper can
   end the session. It is set by beats, writes that the leader itself takes note of: each tells that
   the session lived when it was sent or later.
2. A session that has ended never comes back: `generation` is another, `until` is 0, and beats of
   before find no node. Whoever owned something by it owns nothing.
"""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
)
from kazoo.protocol.serialization import Connect
from kazoo.retry import KazooRetry

from stratakv.storage.hbase.errors import HBaseError, Unreachable, Unsupported
from stratakv.storage.hbase.kazoo_threads import in_the_loop, result_of
from stratakv.storage.hbase.zookeeper import Address, quiet_logger

BEATS: Final = 5
"""In the time of a session: some may get lost."""
MARGIN: Final = 0.9
"""Clocks may differ by so much in how long a second is."""
CALL_SECONDS: Final = 5.0


class Stat(NamedTuple):
    """What ZooKeeper tells of a node beside its value. The numbers of transactions rise with each
    write to any node."""

    version: int
    made_by: int
    """The number of the transaction that made it."""
    changed_by: int
    """That of the last that changed it, or its children."""
    session: int
    """The session that it ends with, 0 if with none."""


class Taken(HBaseError):
    """There is such a node already, or it was changed meanwhile."""


class Coordination:
    """A session, and the nodes below `root`. For the loop that runs when it is made."""

    def __init__(
        self,
        address: Address,
        root: str,
        *,
        seconds: float,
    ) -> None:
        self.root = root
        self.until = 0.0
        """Until then the session is sure to last."""
        self.generation = 0
        """Counts the sessions that have ended."""
        self.is_connected = False
        self._address = address
        self._seconds = seconds
        self._on_change: Callable[[], None] = _nothing
        self._on_lost: Callable[[], None] = _nothing
        self._loop = asyncio.get_running_loop()
        self._beat_node = ""
        self._beating: asyncio.Task[None] | None = None
        self._granted = 0.0
        self._client = KazooClient(
            ",".join(address.hosts),
            timeout=seconds,
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5),
            logger=quiet_logger(),
        )
        self._client.add_listener(self._state_changed)
        self._read_granted()

    @property
    def session(self) -> int:
        """The number of the session; 0 without one."""
        found = self._client.client_id
        return int(found[0]) if found and found[0] else 0

    def _read_granted(self) -> None:
        """Know for how long ZooKeeper has agreed to keep the session, which kazoo tells nobody."""
        connection = self._client._connection
        invoke = connection._invoke

        def listening(timeout: float, request: Any, xid: Any = None) -> Any:
            answer = invoke(timeout, request, xid)
            if isinstance(request, Connect):
                self._granted = answer[0].time_out / 1000
            return answer

        connection._invoke = listening

    # threads of kazoo

    def _state_changed(self, state: str) -> None:
        if state == KazooState.LOST:
            in_the_loop(self._loop, self._lost)
        else:
            in_the_loop(self._loop, lambda: self._connected(state == KazooState.CONNECTED))

    def _watch(self, event: object) -> None:
        in_the_loop(self._loop, self._on_change)

    # the session

    def _lost(self) -> None:
        self.until = 0.0
        self.generation += 1
        self.is_connected = False
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None
        self._on_lost()

    def _connected(self, is_connected: bool) -> None:
        self.is_connected = is_connected
        if is_connected:
            self._on_change()

    async def connect(self, on_change: Callable[[], None], on_lost: Callable[[], None]) -> None:
        """Begin; raises `Unreachable` or `Unsupported`. What is called may be called too often."""
        self._on_change, self._on_lost = on_change, on_lost
        self._client.start_async()
        deadline = time.monotonic() + 2 * CALL_SECONDS
        while not self.is_connected:
            if time.monotonic() > deadline:
                raise Unreachable(f"no answer from ZooKeeper at {self._address}")
            await asyncio.sleep(0.01)
        self.check_granted()
        await self._ensure(self.root)

    def check_granted(self) -> None:
        """Raises `Unsupported` if ZooKeeper ends sessions sooner than was asked for."""
        if 0 < self._granted < self._seconds - 0.001:
            raise Unsupported(
                f"ZooKeeper at {self._address} allows sessions of {self._granted:g} s at most, "
                f"not of {self._seconds:g} s: cluster-node-timeout has to be shorter"
            )

    async def _ensure(self, path: str) -> None:
        await self._call(self._client.ensure_path_async(path))

    async def ensure(self, name: str) -> None:
        """See that there is such a node, and those above it."""
        await self._ensure(self._path(name))

    async def begin_beating(self) -> None:
        """From now on, or not at all, the session is kept and `until` told."""
        self._beat_node = f"beats/{os.urandom(16).hex()}"
        await self.create(self._beat_node, b"", is_ephemeral=True)
        await self._beat()
        self._beating = asyncio.create_task(self._keep_beating())

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._seconds / BEATS)
            try:
                await self._beat()
            except HBaseError:
                continue  # `until` is not moved

    async def _beat(self) -> None:
        generation, began = self.generation, time.monotonic()
        await self.set(self._beat_node, b"")
        if generation == self.generation:
            self.until = began + self._seconds * MARGIN

    # nodes

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"

    async def create(self, name: str, value: bytes, *, is_ephemeral: bool = False) -> None:
        """Make a node; raises `Taken`."""
        await self._call(self._client.create_async(self._path(name), value, ephemeral=is_ephemeral))

    async def set(self, name: str, value: bytes, version: int = -1) -> Stat:
        """Write a node, if it has that version; raises `Taken` otherwise."""
        stat = await self._call(self._client.set_async(self._path(name), value, version))
        return _stat(stat)

    async def delete(self, name: str) -> None:
        """See that there is no such node."""
        try:
            await self._call(self._client.delete_async(self._path(name)))
        except KeyError:
            return

    async def get(self, name: str, *, is_watched: bool = False) -> tuple[bytes, Stat] | None:
        """The value of a node, if it is there."""
        watch = self._watch if is_watched else None
        try:
            value, stat = await self._call(self._client.get_async(self._path(name), watch=watch))
        except KeyError:
            return None
        return bytes(value), _stat(stat)

    async def children(self, name: str) -> tuple[list[str], Stat]:
        """The nodes below one, which is watched."""
        found = self._client.get_children_async(
            self._path(name), watch=self._watch, include_data=True
        )
        names, stat = await self._call(found)
        return sorted(names), _stat(stat)

    async def _call(self, result: Any) -> Any:
        """What a thread of kazoo finds out; raises KeyError if there is no such node."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await result_of(result)
        except TimeoutError as error:
            raise Unreachable(f"no answer from ZooKeeper at {self._address}") from error
        except NoNodeError as error:
            raise KeyError(str(error)) from error
        except (NodeExistsError, BadVersionError) as error:
            raise Taken(repr(error)) from error
        except NoAuthError as error:
            raise Unsupported(
                f"the ZooKeeper at {self._address} does not let us write below {self.root}"
            ) from error
        except KazooException as error:
            raise Unreachable(f"ZooKeeper at {self._address}: {error!r}") from error

    async def close(self) -> None:
        """End the session at once: what is ephemeral is gone. Nobody is told that it was lost."""
        self._on_change = self._on_lost = _nothing
        self.until = 0.0
        if self._beating is not None:
            self._beating.cancel()
        await asyncio.to_thread(self._client.stop)
        await asyncio.to_thread(self._client.close)


def _nothing() -> None:
    """Nobody listens yet."""


def _stat(stat: Any) -> Stat:
    changed = max(stat.mzxid, stat.pzxid)
    return Stat(stat.version, stat.czxid, changed, stat.ephemeralOwner)
