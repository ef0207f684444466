"""What nodes tell each other through ZooKeeper, as JSON.

    members/<id>   of a node, while its session lasts: who it is, which groups it has open
    groups/<n>     the right to group n, while its owner's session lasts: the owner's id
    plan           who is to have each group: written by the eldest member
    beats/<any>    what keeps a session and tells that it lives

Invariants
1. A node has a group open, and says so, only while `groups/<n>` is of its session.
2. `groups/<n>` is given up only when everything of the group is in HBase, or cannot get there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from stratakv.proxy.cluster.topology import Group, Node, Topology

PLAN = "plan"


class Malformed(ValueError):
    """That was written by somebody else, or by a version that is too new."""


@dataclass(slots=True)
class Member:
    """What a node says of itself."""

    node: Node
    groups: dict[int, int] = field(default_factory=dict)
    """Those that it has open, each with its epoch."""
    heirs: dict[int, str] = field(default_factory=dict)
    """To whom it is handing some of them over."""
    is_leaving: bool = False
    made_by: int = 0
    """The eldest has the lowest."""
    changed_by: int = 0

    def encode(self) -> bytes:
        """As it stands in ZooKeeper."""
        return json.dumps(
            {
                "node": asdict(self.node),
                "groups": self.groups,
                "heirs": self.heirs,
                "leaving": self.is_leaving,
            }
        ).encode()


def decode_member(value: bytes, made_by: int, changed_by: int) -> Member:
    """A member as it stands in ZooKeeper; raises `Malformed`."""
    try:
        told: dict[str, Any] = json.loads(value)
        known = {one.name for one in fields(Node)}
        node = Node(**{name: of for name, of in told["node"].items() if name in known})
        groups = {int(group): int(epoch) for group, epoch in told["groups"].items()}
        heirs = {int(group): str(heir) for group, heir in told["heirs"].items()}
        return Member(node, groups, heirs, bool(told["leaving"]), made_by, changed_by)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Malformed(f"a member that cannot be read: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Plan:
    """Who is to have which group, and between whom that was shared out."""

    nodes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    version: int = -1
    """Of the node in ZooKeeper; -1 if there is none."""
    changed_by: int = 0

    def encode(self) -> bytes:
        """As it stands in ZooKeeper."""
        return json.dumps({"nodes": self.nodes, "targets": self.targets}).encode()


def decode_plan(value: bytes, version: int, changed_by: int) -> Plan:
    """A plan as it stands in ZooKeeper; raises `Malformed`."""
    try:
        told = json.loads(value)
        nodes, targets = tuple(map(str, told["nodes"])), tuple(map(str, told["targets"]))
    except (ValueError, TypeError, KeyError) as error:
        raise Malformed(f"a plan that cannot be read: {error!r}") from error
    return Plan(nodes, targets, version, changed_by)


def topology_of(
    members: Mapping[str, Member], plan: Plan, groups: int, epoch: int
) -> Topology | None:
    """How clients are to see it; nothing while it is not known who is to have some group.

    A group that nobody has open belongs to who is to have it: requests wait there until it is.
    """
    nodes = {id_: members[id_].node for id_ in sorted(members)}
    found: list[Group] = []
    for number in range(groups):
        owners = [one for one in members.values() if number in one.groups]
        if owners:
            owner = max(owners, key=lambda one: one.groups[number])
            heir = owner.heirs.get(number, "")
            found.append(Group(owner.node.id, heir if heir in nodes else ""))
            continue
        target = plan.targets[number] if number < len(plan.targets) else ""
        if target not in nodes:
            return None
        found.append(Group(target))
    return Topology(epoch, nodes, tuple(found))


def eldest(members: Mapping[str, Member]) -> str:
    """The id of the member that has been there the longest."""
    return min(members.values(), key=lambda one: (one.made_by, one.node.id)).node.id


def candidates(members: Mapping[str, Member]) -> Sequence[str]:
    """Who may have groups, by id."""
    return sorted(id_ for id_, one in members.items() if not one.is_leaving)
