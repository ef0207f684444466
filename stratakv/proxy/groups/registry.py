"""The register of a cluster in ZooKeeper as this node last saw it, and what it says there."""

import asyncio
from collections.abc import Callable
from typing import Final

from stratakv.proxy.cluster.topology import Node
from stratakv.proxy.groups.records import (
    PLAN,
    Member,
    Plan,
    decode_member,
    decode_plan,
)
from stratakv.storage.hbase.coordination import Coordination, Taken
from stratakv.storage.hbase.zookeeper import parse_address

ROOT: Final = "/stratakv"


class Registry:
    """Members, rights and the plan of one table."""

    def __init__(
        self,
        address: str,
        table: str,
        *,
        seconds: float,
    ) -> None:
        where = parse_address(address)
        self.session = Coordination(where, f"{ROOT}{where.znode}/{table}", seconds=seconds)
        self.members: dict[str, Member] = {}
        """By id, as of the last look."""
        self.plan = Plan()
        self.epoch = 0
        """Rises with every change of what is told here; the same on all nodes that see the same."""
        self._publishing = asyncio.Lock()

    async def begin(self, on_change: Callable[[], None], on_lost: Callable[[], None]) -> None:
        """Have a session, and see that there is a register; raises `Unreachable`."""
        await self.session.connect(on_change, on_lost)
        for name in ("members", "groups", "beats", PLAN):
            await self.session.ensure(name)

    async def join(self, me: Member) -> None:
        """Be a member from now on, in this session."""
        self.session.check_granted()
        await self.session.begin_beating()
        name = f"members/{me.node.id}"
        try:
            await self.session.create(name, me.encode(), is_ephemeral=True)
        except Taken:  # of a session that nobody will go on with
            await self.session.delete(name)
            await self.session.create(name, me.encode(), is_ephemeral=True)

    async def look(self) -> None:
        """Know what there is now; whatever changes later is told."""
        names, stat = await self.session.children("members")
        reading = [self.session.get(f"members/{name}", is_watched=True) for name in names]
        found = await asyncio.gather(*reading)
        members = {}
        epoch = max(self.epoch, stat.changed_by)
        for one in found:
            if one is not None:
                member = decode_member(one[0], one[1].made_by, one[1].changed_by)
                members[member.node.id] = member
                epoch = max(epoch, member.changed_by)
        plan = await self.session.get(PLAN, is_watched=True)
        if plan is not None:
            value, stat = plan
            if value:
                self.plan = decode_plan(value, stat.version, stat.changed_by)
            else:
                self.plan = Plan(version=stat.version)
            epoch = max(epoch, stat.changed_by)
        self.members, self.epoch = members, epoch

    async def publish(self, me: Member) -> None:
        """Say of ourselves what is so now; the last word stands."""
        async with self._publishing:
            stat = await self.session.set(f"members/{me.node.id}", me.encode())
        me.changed_by = stat.changed_by
        self.epoch = max(self.epoch, stat.changed_by)

    async def write_plan(self, nodes: tuple[str, ...], targets: tuple[str, ...]) -> None:
        """Decide who is to have which group; raises `Taken` if somebody else has, meanwhile."""
        plan = Plan(nodes, targets)
        stat = await self.session.set(PLAN, plan.encode(), self.plan.version)
        self.plan = Plan(nodes, targets, stat.version, stat.changed_by)
        self.epoch = max(self.epoch, stat.changed_by)

    async def take_right(self, group: int, node: Node) -> bool:
        """Have the right to a group, for as long as the session; False if another one has it."""
        name = f"groups/{group}"
        try:
            await self.session.create(name, node.id.encode(), is_ephemeral=True)
        except Taken:
            found = await self.session.get(name, is_watched=True)
            return found is not None and found[1].session == self.session.session
        return True

    async def give_right(self, group: int) -> None:
        """Let others have a group. Requires: the right is ours."""
        await self.session.delete(f"groups/{group}")

    async def leave(self) -> None:
        """End the session: what was ours is free at once."""
        await self.session.close()
