"""A table, and the loop that its client lives on: what all groups of a process share."""

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.requests import Durability
from stratakv.storage.hbase.thread import LoopThread


class OpenTable:
    """A client of a table, in a thread of its own. Made and closed by whoever may wait."""

    def __init__(
        self,
        address: str,
        table: str,
        *,
        groups: int,
        durability: Durability = Durability.LOGGED,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.groups = groups
        self.thread = LoopThread("hbase")
        try:
            self.client = self.thread.run(self._open(address, table, durability))
        except BaseException:
            self.thread.close()
            raise

    async def _open(self, address: str, table: str, durability: Durability) -> HBase:
        client = HBase(
            address, table, groups=self.groups, durability=durability, limits=self.limits
        )
        try:
            return await client.open()
        except BaseException:
            await client.close()
            raise

    def close(self) -> None:
        """Let go of all connections, and end the thread."""
        try:
            self.thread.run(self.client.close())
        finally:
            self.thread.close()
