"""A table of many groups, each of which is opened by itself, and may be another process's."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from stratakv.storage.hbase.engine import GroupEngine
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import patient_for
from stratakv.storage.hbase.open_table import OpenTable
from stratakv.storage.hbase.owner import SessionOwner
from stratakv.storage.hbase.requests import DURABILITIES
from stratakv.storage.remote_store import RemoteStore
from stratakv.storage.store import Post

if TYPE_CHECKING:
    from stratakv.options import Options


class GroupTable:
    """The table and its client."""

    def __init__(self, options: "Options", owner: bytes) -> None:
        self._owner = owner
        self._table = OpenTable(
            options.hbase_zookeeper,
            options.hbase_table,
            groups=options.hbase_groups,
            durability=DURABILITIES[options.durability],
            limits=patient_for(options.hbase_patience),
        )

    @property
    def groups(self) -> int:
        """How many there are."""
        return self._table.groups

    def open_group(
        self, number: int, until: Callable[[], float], *, post: Post, kept: tuple[bytes, ...]
    ) -> RemoteStore:
        """Take a group, and a store over it; for a thread. `until` is how long a session lasts.

        Requires: whoever else may own the group would need that session to end first.
        """
        owner = SessionOwner(self._table.client, Group(number), self._owner, until)
        self._table.thread.run(owner.take())
        return RemoteStore(GroupEngine(self._table, owner), post=post, kept=kept)

    def choose_durability(self, mode: str) -> None:
        """When commits count as done from now on, by the option `durability`."""
        client = self._table.client
        self._table.thread.call(lambda: client.choose_durability(DURABILITIES[mode]))

    @property
    def counters(self) -> dict[str, int | float]:
        """What the client has done, by name."""
        return self._table.client.counters.as_dict()

    def close(self) -> None:
        """Let go of all connections."""
        self._table.close()
