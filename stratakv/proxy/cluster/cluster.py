"""What this node knows of the cluster: the one thing that ownership tells, and routing asks.

How a group of slots comes and goes, by whoever decides about ownership, always on the loop:

1. `hold(group)` before it comes (it is known to be ours, but not yet open) and before it goes: from
   then on requests for its slots wait in their clients' backlogs, and nothing of it is begun.
2. What was begun before comes to its end: long commands, misses, commits.
3. `learn(topology)` when it is decided: blocked clients, shard subscribers and watches of slots
   that have gone are told, and who waits for a group that has gone is sent to its new owner.
4. `release(group)` when it is open, or stays after all: who waits goes on.

Each group is a database of the keyspace, chosen for each request as SELECT would: `database_of`
says which. A node alone has all slots in the first.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from stratakv.proxy.cluster.topology import Node, Topology

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session

Listener = Callable[[Topology, Topology], None]
"""Told of the topology before and after, once the new one is in force."""


def _first(group: int) -> int:
    return 0


class Cluster:
    """One for each server of a cluster."""

    def __init__(
        self, myself: Node, topology: Topology, resume_soon: Callable[["Session"], None]
    ) -> None:
        assert myself.id in topology.nodes
        self.topology = topology
        self.database_of: Callable[[int], int] = _first
        """The number of the database that has the keys of a group of ours."""
        self._my_id = myself.id
        self._resume_soon = resume_soon
        self._mine = topology.groups_of(myself.id)
        self._held: dict[int, list[Session]] = {}
        self._listeners: list[Listener] = []

    @property
    def myself(self) -> Node:
        """This node, as the others see it."""
        return self.topology.nodes[self._my_id]

    @property
    def is_alone(self) -> bool:
        """Whether there is no other node."""
        return len(self.topology.nodes) == 1

    def has(self, group: int) -> bool:
        """Whether a group is ours."""
        return group in self._mine

    # what ownership tells

    def on_change(self, listener: Listener) -> None:
        """Have somebody told of each new topology, after those who asked earlier."""
        self._listeners.append(listener)

    def learn(self, topology: Topology) -> None:
        """That is how it is from now on. Requires: its epoch is higher, and we are in it."""
        before = self.topology
        assert topology.epoch > before.epoch
        assert len(topology.groups) == len(before.groups)
        self.topology = topology
        self._mine = topology.groups_of(self._my_id)
        for listener in self._listeners:
            listener(before, topology)
        for group in self._held.keys() - self._mine:
            self.release(group)

    def hold(self, group: int) -> None:
        """Let requests for a group of ours wait from now on."""
        self._held.setdefault(group, [])

    def release(self, group: int) -> None:
        """Let those go on who wait for a group."""
        for session in self._held.pop(group, ()):
            self._resume_soon(session)
