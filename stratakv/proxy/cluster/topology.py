"""A topology: the nodes of a cluster, and who has which group of slots, at one moment.

Whoever decides about ownership makes a new one at each change. Nothing here ever changes, so it may
be made in any thread, and compared with the one before.
"""

from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from stratakv.slots import SLOTS, group_of, slots_of


@dataclass(frozen=True, slots=True)
class Node:
    """A process of the cluster, as it says of itself to the others."""

    id: str
    """40 hexadecimal digits, new with each start."""
    host: str
    """The address that clients are told."""
    port: int
    """0 if it listens for TLS alone."""
    tls_port: int = 0
    hostname: str = ""
    """A name that clients may be told instead of the address."""
    peer_host: str = ""
    """Where other nodes find it, if not at the address for clients."""
    peer_port: int = 0
    secret: str = field(default="", repr=False)
    """What another node has to show to it to be let in; whoever may see it is trusted."""

    def __post_init__(self) -> None:
        assert len(self.id) == 40, self.id

    @property
    def peer_address(self) -> tuple[str, int]:
        """Where other nodes find it."""
        return self.peer_host or self.host, self.peer_port or self.port or self.tls_port


class Group(NamedTuple):
    """Who has a group of slots."""

    owner: str = ""
    """The node's id; empty if nobody has it just now."""
    heir: str = ""
    """To whom the owner is handing it over, if it is."""


class SlotRange(NamedTuple):
    """Slots next to each other that a node has, both ends included."""

    first: int
    last: int
    owner: str


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes, and groups by their number.

    Requires: owners are among the nodes; `epoch` is higher than that of any topology before, on
    whatever node.
    """

    epoch: int
    nodes: dict[str, Node]
    """By id, in the order of their ids."""
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        assert 0 < len(self.groups) <= SLOTS
        assert all(not group.owner or group.owner in self.nodes for group in self.groups)

    def group_of(self, slot: int) -> int:
        """The number of a slot's group."""
        return group_of(slot, len(self.groups))

    def slots_of(self, group: int) -> range:
        """The slots of a group."""
        return slots_of(group, len(self.groups))

    def owner_of(self, slot: int) -> Node | None:
        """Who has a slot."""
        return self.nodes.get(self.groups[self.group_of(slot)].owner)

    def groups_of(self, node: str) -> frozenset[int]:
        """The groups that a node has."""
        return frozenset(n for n, group in enumerate(self.groups) if group.owner == node)

    @property
    def is_covered(self) -> bool:
        """Whether somebody has each slot."""
        return all(group.owner for group in self.groups)

    def ranges(self) -> list[SlotRange]:
        """The slots that somebody has, in order; groups of one owner side by side are one range."""
        found = []
        numbers = range(len(self.groups))
        for owner, run in groupby(numbers, key=lambda number: self.groups[number].owner):
            members = list(run)
            if owner:
                first, last = self.slots_of(members[0]), self.slots_of(members[-1])
                found.append(SlotRange(first[0], last[-1], owner))
        return found


def index_of(group: int) -> int:
    """The index of the database of a group, where there are several: that without is 0."""
    return group + 1


def alone(node: Node, groups: int = 1) -> Topology:
    """That of a node that has all slots."""
    return Topology(1, {node.id: node}, (Group(node.id),) * groups)
