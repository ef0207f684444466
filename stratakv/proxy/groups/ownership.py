"""Which groups this node has: it takes, opens, hands over, and loses them.

ZooKeeper decides who may have a group: one right to each, which lasts as long as its owner's
session. HBase decides what counts: whoever has the right raises the epoch of the group, and from
then on nothing of an owner before can be written. What is answered from memory is answered before
the moment from which another one might have the right (coordination.py, 1; group_turns.py).

A group comes
    the plan says so, and nobody has it open -> the right -> the epoch -> its rows -> open
and goes
    the plan says so -> requests wait -> what runs ends, and is committed -> the right is given back
    -> requests are sent to the next owner

Whatever fails on the way is begun anew: a group of which nothing is sure is thrown away, and taken
again as if it were another's.

Invariants
1. A space is open only in the session in which the right to its group was had.
2. While a group of ours is not open, requests for it wait.
3. One task at most is at work on a group.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from stratakv.errors import StoreUnavailable
from stratakv.proxy.cluster.topology import Node
from stratakv.proxy.groups.opening import Openings
from stratakv.proxy.groups.plans import spread
from stratakv.proxy.groups.records import (
    Malformed,
    Member,
    candidates,
    eldest,
    topology_of,
)
from stratakv.proxy.groups.registry import Registry
from stratakv.proxy.run.spaces import Space
from stratakv.storage.hbase.coordination import Taken

if TYPE_CHECKING:
    from stratakv.options import Options
    from stratakv.proxy.cluster.cluster import Cluster
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

LOOK_SECONDS: Final = 1.0
"""How often the register is looked at though nothing was told of it."""
REST_SECONDS: Final = 0.2
"""After something that failed."""
SESSION_SHARE: Final = 0.8
"""Of cluster-node-timeout, for the session: ZooKeeper ends one up to a tick later than agreed, and
to take what was another's takes a moment."""
TAKEN_AT_ONCE: Final = 8
DRAIN_SECONDS: Final = 10.0
"""How long what runs may take to its end, before a group goes."""
LEAVE_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.003


def register(options: "Options") -> Registry:
    """The register of the table that the options name."""
    seconds = options.cluster_node_timeout / 1000 * SESSION_SHARE
    return Registry(options.hbase_zookeeper, options.hbase_table, seconds=seconds)


class Ownership:
    """The groups of this node."""

    def __init__(self, server: "Server", cluster: "Cluster", registry: Registry) -> None:
        self._server = server
        self._cluster = cluster
        self._registry = registry
        self.openings = Openings(server, self._session_until)
        self._me = self._shown = Member(cluster.myself)
        """What we have said of ourselves last."""
        self._is_member = False
        self._is_leaving = False
        self._wake = asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._rights: set[int] = set()
        """The groups to which we have the right, open or not."""
        self._seats = asyncio.Semaphore(TAKEN_AT_ONCE)
        self._going = asyncio.Lock()
        """One group goes at a time."""
        self._running: asyncio.Task[None] | None = None
        self._executor = ThreadPoolExecutor(TAKEN_AT_ONCE, "open")
        self.takeovers = 0
        """Groups that were taken."""
        self.hand_overs = 0
        """Groups that were handed over."""
        self.losses = 0
        """Groups that were lost, or thrown away."""

    # what others ask

    @property
    def spaces(self) -> dict[int, Space]:
        """The groups that are open."""
        return self.openings.spaces

    @property
    def lease_seconds(self) -> float:
        """For how long it is sure that nobody else has what is ours."""
        return max(0.0, self._registry.session.until - time.monotonic())

    def fields(self) -> dict[str, int | float]:
        """What INFO and the metrics tell of it."""
        stats = [space.store.stats for space in self.spaces.values()]
        return {
            "groups_owned": len(self.spaces),
            "groups_moving": len(self._tasks),
            "takeovers": self.takeovers,
            "hand_overs": self.hand_overs,
            "losses": self.losses,
            "lease_seconds": round(self.lease_seconds, 3),
            "written_rows": sum(one.rows for one in stats),
            "commits": sum(one.batches for one in stats),
            "commit_seconds": round(sum(one.seconds for one in stats), 6),
        }

    @property
    def registry(self) -> Registry:
        """What all nodes agree on."""
        return self._registry

    def is_moving(self, group: int) -> bool:
        """Whether a group is on its way, to here or from here."""
        return group in self._tasks

    async def rebalance(self) -> None:
        """Share the groups out evenly between those who are there; raises `Taken`."""
        registry = self._registry
        nodes = tuple(candidates(registry.members))
        targets = spread(self._targets(), nodes)
        await registry.write_plan(nodes, tuple(targets))
        self.wake()

    async def move(self, group: int, node: str) -> None:
        """Have another node own a group, until nodes come or go; raises `Taken`."""
        targets = self._targets()
        targets[group] = node
        await self._registry.write_plan(self._registry.plan.nodes, tuple(targets))
        self.wake()

    def _targets(self) -> list[str]:
        groups = len(self._cluster.topology.groups)
        planned = list(self._registry.plan.targets)
        return planned if len(planned) == groups else [""] * groups

    # the session

    def _session_until(self) -> float:
        return self._registry.session.until

    def wake(self) -> None:
        """Something may have to be done."""
        self._wake.set()

    def lost(self) -> None:
        """The session has ended: nothing is ours any more."""
        log.warning("the session with ZooKeeper has ended: all groups are given up")
        self._is_member = False
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._rights.clear()
        for space in list(self.spaces.values()):
            self._cluster.hold(space.group)
            self.openings.throw_away(space, "the session with ZooKeeper has ended")
            self.losses += 1
        self._me = self._shown = Member(self._describe())
        self.wake()

    # the work

    async def begin(self) -> None:
        """Join the others; raises `StoreUnavailable`."""
        for group in range(len(self._cluster.topology.groups)):
            self._cluster.hold(group)
        self._server.group_turns.on_space_failed = self._failed
        await self._registry.begin(self.wake, self.lost)
        await self._join()
        self._running = asyncio.create_task(self._run())
        self.openings.begin_upkeep()

    def _describe(self) -> Node:
        membership = self._server.membership
        assert membership is not None
        return membership.describe()

    async def _join(self) -> None:
        self._me = self._shown = Member(self._describe(), is_leaving=self._is_leaving)
        await self._registry.join(self._me)
        self._is_member = True
        self.wake()

    async def _run(self) -> None:
        """Look and act, whenever something has changed."""
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                await self._step()
            except (StoreUnavailable, KeyError, Malformed) as error:
                log.info("cluster: %s", error)
                await asyncio.sleep(REST_SECONDS)
            except Exception:
                log.exception("the groups of this node could not be looked after")
                await asyncio.sleep(LOOK_SECONDS)

    async def _step(self) -> None:
        registry = self._registry
        if not registry.session.is_connected:
            return
        if not self._is_member:
            await self._join()
        await registry.look()
        if self._cluster.myself.id not in registry.members:
            return
        if eldest(registry.members) == self._cluster.myself.id:
            await self._plan()
        if self._me.node != self._describe():
            await self._publish()
        self._learn()
        self._reconcile()

    async def _plan(self) -> None:
        """We are the eldest: share the groups out if nodes have come or gone."""
        registry = self._registry
        nodes = tuple(candidates(registry.members))
        targets = self._targets()
        if nodes == registry.plan.nodes and len(registry.plan.targets) == len(targets):
            return
        try:
            await registry.write_plan(nodes, tuple(spread(targets, nodes)))
        except Taken:
            self.wake()  # somebody has decided meanwhile

    def _learn(self) -> None:
        """Tell the face of the cluster how it is now."""
        cluster, registry = self._cluster, self._registry
        mine = cluster.myself.id
        if mine not in registry.members:
            return
        members = {**registry.members, mine: self._shown}
        known = cluster.topology
        epoch = max(registry.epoch, known.epoch + 1)
        topology = topology_of(members, registry.plan, len(known.groups), epoch)
        if topology is None:
            return
        if (topology.groups, topology.nodes) == (known.groups, known.nodes):
            return
        for group in topology.groups_of(mine):
            if group not in self.spaces:
                cluster.hold(group)
        cluster.learn(topology)

    async def _publish(self) -> None:
        """Say which groups we have open."""
        self._me.node = self._describe()
        self._me.groups = {group: space.epoch for group, space in self.spaces.items()}
        heirs = dict(self._me.heirs)
        shown = Member(self._me.node, dict(self._me.groups), heirs, self._is_leaving)
        await self._registry.publish(shown)
        self._shown = shown
        self._learn()

    def _reconcile(self) -> None:
        """Begin to take what is to be ours, and to hand over what is not."""
        mine, registry = self._cluster.myself.id, self._registry
        elsewhere = self._elsewhere()
        for group, target in enumerate(self._targets()):
            if group in self._tasks:
                continue
            is_open = group in self.spaces
            if target == mine and not is_open and group not in elsewhere:
                self._start(group, self._take(group))
            elif target != mine and not is_open and group in self._rights:
                self._start(group, self._give_right(group))
            elif target != mine and is_open and target in registry.members:
                self._start(group, self._hand_over(group, target))

    def _elsewhere(self) -> set[int]:
        """The groups that others have open."""
        mine, members = self._cluster.myself.id, self._registry.members
        return {group for id_, one in members.items() if id_ != mine for group in one.groups}

    def _start(self, group: int, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(group, work))
        self._tasks[group] = task

        def ended(done: asyncio.Task[None]) -> None:
            if self._tasks.get(group) is done:
                del self._tasks[group]
                self.wake()

        task.add_done_callback(ended)

    async def _guarded(self, group: int, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (StoreUnavailable, KeyError) as error:
            log.warning("group %d: %s", group, error)
            await asyncio.sleep(REST_SECONDS)
        except Exception:
            log.exception("group %d could not be taken or handed over", group)
            await asyncio.sleep(LOOK_SECONDS)

    # a group comes

    async def _take(self, group: int) -> None:
        registry = self._registry
        async with self._seats:
            generation = registry.session.generation
            if not await registry.take_right(group, self._cluster.myself):
                await asyncio.sleep(REST_SECONDS / 10)
                return
            self._rights.add(group)
            began = time.monotonic()
            space = await self._open(group)
            if generation != registry.session.generation:
                self.openings.discard(space)
                return
            self.openings.open(space)
            self.takeovers += 1
            log.info("group %d is open, after %.3f s", group, time.monotonic() - began)
        await self._publish()
        self._cluster.release(group)
        code = self._server.shared_code
        if group == 0 and code is not None and self._cluster.serves(group):
            code.begin_keeping()

    async def _open(self, group: int) -> Space:
        """Take a group in HBase, and read what has to be known of it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self.openings.make, group)

    # a group goes

    async def _hand_over(self, group: int, heir: str) -> None:
        async with self._going:
            space = self.spaces.get(group)
            if space is None:
                return
            self._cluster.hold(group)
            self._me.heirs[group] = heir
            try:
                await self._publish()
                await self._drain(space)
                if self.spaces.get(group) is not space:
                    return
                self.openings.throw_away(space, "it was handed over")
                self.hand_overs += 1
                await self._give_right(group)
            finally:
                self._me.heirs.pop(group, None)
                if group in self.spaces:
                    self._cluster.release(group)  # it stays
            await self._publish()

    async def _give_right(self, group: int) -> None:
        await self._registry.give_right(group)
        self._rights.discard(group)

    async def _drain(self, space: Space) -> None:
        """Until nothing of a group runs, or waits for a commit; what takes too long is cut off."""
        self.openings.unblock(space)
        deadline = time.monotonic() + DRAIN_SECONDS
        await asyncio.sleep(POLL_SECONDS)
        while self.openings.is_working(space):
            if time.monotonic() > deadline:
                self.openings.cut(space)
                deadline += 1.0
            await asyncio.sleep(POLL_SECONDS)
            if self.spaces.get(space.group) is not space:
                return

    # a group is lost

    def _failed(self, space: Space) -> None:
        """Nothing is known of a group any more: throw it away, and take it anew."""
        if self.spaces.get(space.group) is not space:
            return
        log.warning("group %d is taken anew: %s", space.group, space.failure)
        self._cluster.hold(space.group)
        self.openings.throw_away(space, str(space.failure))
        self.losses += 1
        self.wake()

    # the end

    async def leave(self) -> None:
        """Hand everything over, before the server ends: until then it sends clients on."""
        self._is_leaving = True
        if self._has_heirs() and self._is_member:
            try:
                await self._publish()
            except (StoreUnavailable, KeyError) as error:
                log.warning("nothing is handed over: %s", error)
                return
            deadline = time.monotonic() + LEAVE_SECONDS
            while self._is_awaited() and self._has_heirs() and time.monotonic() < deadline:
                await asyncio.sleep(POLL_SECONDS)
            log.info("%d groups were handed over", self.hand_overs)

    def _is_awaited(self) -> bool:
        """Whether there is a group that nobody else has open yet."""
        return len(self._elsewhere()) < len(self._cluster.topology.groups)

    def _has_heirs(self) -> bool:
        """Whether there is another node that may have groups."""
        return bool(set(candidates(self._registry.members)) - {self._cluster.myself.id})

    async def end(self) -> None:
        """Let go of everything. Requires: nobody is served any more."""
        if self._running is not None:
            self._running.cancel()
        self.openings.end_upkeep()
        for task in self._tasks.values():
            task.cancel()
        for space in list(self.spaces.values()):
            self.openings.throw_away(space, "the server has ended")
        await self._registry.leave()
        self._executor.shutdown(cancel_futures=True)
