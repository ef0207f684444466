"""A table as it is, for who only looks: nothing is made, tried or taken, whoever serves it."""

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.engine import HBaseView
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.thread import LoopThread


class TableView:
    """A table that is there; raises `StoreUnavailable` if it is not, or not one of ours."""

    def __init__(self, address: str, table: str, *, limits: Limits | None = None) -> None:
        self._thread = LoopThread("hbase")
        try:
            self._client, self.groups = self._thread.run(_find(address, table, limits))
        except BaseException:
            self._thread.close()
            raise

    def view(self, number: int) -> HBaseView:
        """A group as it is now; reads of it raise `SnapshotGone` when its region moves."""
        group = Group(number)
        found = self._thread.run(self._client.snapshot(group))
        return HBaseView(group, found, self._thread.run, self._thread.start)

    def close(self) -> None:
        """Let go of everything."""
        try:
            self._thread.run(self._client.close())
        finally:
            self._thread.close()


async def _find(address: str, table: str, limits: Limits | None) -> tuple[HBase, int]:
    client = HBase(address, table, groups=1, limits=limits)
    try:
        return client, await client.find()
    except BaseException:
        await client.close()
        raise
