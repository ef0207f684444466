"""Spaces: each has the keys of a group of slots that this node owns, with all that belongs to them.

A space is a small server of its own below the commands: a store over one group of the table, the
keyspace of it, and who reclaims in it. It is made when the group is taken, and thrown away when the
group is lost or handed over; nothing of it is used again.
"""

from collections.abc import Callable
from concurrent.futures import Executor

from stratakv.clock import Clock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.measured_txn import MeasuredTxn
from stratakv.encodings.keyspace.tier_state import Slicing
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.keyspace.txns import Txns
from stratakv.encodings.upkeep.reclaim import Reclaimer
from stratakv.errors import StoreUnavailable
from stratakv.proxy.cluster.topology import index_of
from stratakv.storage.remote_store import RemoteStore


class Space:
    """One group of slots, open."""

    def __init__(
        self,
        group: int,
        store: RemoteStore,
        clock: Clock,
        *,
        slices: Slicing | None = None,
        is_locked: Callable[[int, bytes], bool],
        executor: Executor,
    ) -> None:
        """Reads what there is of it, which takes a while: for a thread."""
        self.group = group
        self.store = store
        self.keyspace = Keyspace(store, clock, databases=1, slices=slices, first=index_of(group))
        self.keyspace.measures = True
        self.txn: Txn = MeasuredTxn(self.keyspace, self.keyspace.databases[0])
        self.reclaimer = Reclaimer(self.keyspace, is_locked=is_locked, executor=executor)
        self.failure: StoreUnavailable | None = None
        """Why nothing of it counts any more, if so."""

    @property
    def epoch(self) -> int:
        """How often the group was taken."""
        return int(self.store.remote_counters["epoch"])

    @property
    def keys(self) -> int:
        """How many there are."""
        return self.keyspace.databases[0].live

    @property
    def must_commit(self) -> bool:
        """Whether a reply that tells of its keys has to wait for a commit."""
        store = self.store
        return self.keyspace.changed or store.busy or not store.is_entitled


class SpacesTxns(Txns):
    """The Txns of a node: that of the database without keys, and one for each space."""

    def __init__(self, keyspace: Keyspace) -> None:
        super().__init__(keyspace)
        self._spaces: dict[int, Txn] = {}
        self._home = super().at(0)

    def at(self, index: int) -> Txn:
        """The Txn of a space by the index of its database; that without keys if it is gone."""
        return self._spaces.get(index, self._home)

    def open(self, space: Space) -> None:
        """Have its Txn from now on."""
        self._spaces[space.txn.db.index] = space.txn

    def close(self, space: Space) -> None:
        """It is gone."""
        self._spaces.pop(space.txn.db.index, None)
