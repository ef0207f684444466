"""The owner of a group: its epoch, its turns, and until when it may answer from memory.

Commits are fenced by HBase: they are refused as soon as another one has raised the epoch. Reads are
not, so they need a lease. Whoever has seen the fence at its own epoch may answer for so many
seconds after it began to look; whoever takes a group that was not given back waits for as long
before it answers anybody. Clocks need to agree on how long a second is, not on what time it is.

    lease row of the group -> u32 milliseconds: what the owner's lease is; gone when it gave back

1. `entitled_until` is by the monotonic clock, and never later than a lease after the beginning of a
   call that found the fence at our epoch.
2. A commit that may have been done, or not, makes the owner `broken`: nothing is committed, and
   nobody is entitled, until the group is taken anew.
3. One that found the fence at another's epoch is lost for good.

Where a session of ZooKeeper says who owns a group, that session is the lease (`SessionOwner`).
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from stratakv.errors import StoreDamaged, StoreUnavailable
from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.errors import Fenced, HBaseError, TooLarge
from stratakv.storage.hbase.fences import Fence
from stratakv.storage.hbase.groups import Group

LEASE_SECONDS: Final = 5.0
MARGIN: Final = 1.1
"""Clocks may differ by so much in how long a second is."""
LOOKS: Final = 4
"""In the time of a lease, while nothing is committed."""


class Lost(StoreDamaged):
    """The group belongs to somebody else: this process serves nobody any more."""


class Owner:
    """One group, and the right to it."""

    def __init__(
        self, client: HBase, group: Group, name: bytes, *, seconds: float = LEASE_SECONDS
    ) -> None:
        self._client = client
        self._name = name
        self._seconds = seconds
        self._fence = Fence()
        self._turn = 0
        self._lock = asyncio.Lock()
        self._keeping: asyncio.Task[None] | None = None
        self.group = group
        self._entitled_until = 0.0
        self.failure: StoreUnavailable | None = None
        """Why nothing is committed any more, if so."""
        self.on_lost: Callable[[StoreUnavailable], None] = _nobody
        """Hears that the group belongs to somebody else, if no commit has met that."""

    @property
    def epoch(self) -> int:
        """How often the group was taken."""
        return self._fence.epoch

    @property
    def entitled_until(self) -> float:
        """By the monotonic clock: until then nobody else can have written."""
        return self._entitled_until

    async def take(self) -> None:
        """Become the owner, whoever was it, and wait until that one answers nobody any more."""
        self._fence = await self._client.raise_fence(self.group, self._name)
        self._turn = 0
        (lease,) = await self._client.get_many([self.group.lease])
        if lease is not None:
            await asyncio.sleep(int.from_bytes(lease, "big") / 1000 * MARGIN)
        await self._begin()

    async def take_again(self) -> None:
        """After a failure: a new epoch for what is ours; raises `Lost` if it no longer is."""
        if isinstance(self.failure, Lost):
            raise self.failure
        async with self._lock:
            there = await self._client.fence(self.group)
            if there.token != self._fence.token:
                raise self._lose(there)
            wanted = await self._client.raise_fence(self.group, self._name)
            if wanted.epoch != there.epoch + 1:  # somebody was there in between
                raise self._lose(wanted)
            self._fence, self._turn = wanted, 0
        await self._begin()

    async def _begin(self) -> None:
        self.failure = None
        await self.commit({self.group.lease: int(self._seconds * 1000).to_bytes(4, "big")})
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep())

    async def commit(self, rows: Mapping[bytes, bytes | None]) -> int:
        """Write rows, by their names in the table, as the next turn; returns how many bytes."""
        async with self._lock:
            if self.failure is not None:
                raise self.failure
            began = time.monotonic()
            puts = {row: bytes(value) for row, value in rows.items() if value is not None}
            deletes = [row for row, value in rows.items() if value is None]
            try:
                size = await self._client.commit(
                    self.group, self.epoch, self._turn + 1, puts, deletes
                )
            except TooLarge:
                raise  # nothing was sent
            except Fenced as error:
                raise self._lose_by(error) from error
            except HBaseError as error:
                self.failure = error
                self._entitled_until = 0.0
                raise
            self._turn += 1
            self._extend(began)
            return size

    def _extend(self, began: float) -> None:
        self._entitled_until = max(self._entitled_until, began + self._seconds)

    async def _keep(self) -> None:
        """Look at the fence while nothing is committed, so that reads need not wait for it."""
        while not isinstance(self.failure, Lost):
            await asyncio.sleep(self._seconds / LOOKS)
            left = self.entitled_until - time.monotonic()
            if self.failure is None and left < self._seconds * (LOOKS - 1) / LOOKS:
                await self._look()

    async def _look(self) -> None:
        began, ours = time.monotonic(), self._fence
        try:
            there = await self._client.fence(self.group)
        except HBaseError:
            return  # it is asked again
        if ours is not self._fence or self.failure is not None:
            return
        if there.token == ours.token:
            self._extend(began)
        else:
            self.on_lost(self._lose(there))

    def _lose(self, there: Fence) -> Lost:
        return self._lose_by(
            Fenced(f"{self.group} belongs to {there.owner!r} by now, with epoch {there.epoch}")
        )

    def _lose_by(self, error: Fenced) -> Lost:
        self._entitled_until = 0.0
        self.failure = lost = Lost(f"{error}: this server has stopped serving")
        return lost

    async def give_back(self) -> None:
        """The end: whoever comes next need not wait."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self.failure is None:
            await self.commit({self.group.lease: None})
        self._entitled_until = 0.0


class SessionOwner(Owner):
    """An owner by the grace of a session of ZooKeeper, which only one process has for the group.

    Nobody takes the group before the session has ended, and `until` is the moment before which that
    cannot be. So nobody waits for a lease in the table, and none stands there.
    """

    def __init__(
        self, client: HBase, group: Group, name: bytes, until: Callable[[], float]
    ) -> None:
        super().__init__(client, group, name)
        self._until = until
        self._is_taken = False

    @property
    def entitled_until(self) -> float:
        """As long as the session is sure to last, unless something has failed."""
        return self._until() if self._is_taken and self.failure is None else 0.0

    async def take(self) -> None:
        """Become the owner: from now on whoever was it is refused."""
        self._fence = await self._client.raise_fence(self.group, self._name)
        self._turn = 0
        self._is_taken = True

    async def give_back(self) -> None:
        """The end: nothing is committed or answered any more."""
        self._is_taken = False


def _nobody(failure: StoreUnavailable) -> None:
    """Nobody wants to know."""
