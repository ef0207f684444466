"""A Redis Cluster of three masters on loopback, whose slots can be moved while it works.

A master can be given a replica, which takes its place when it dies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from tests.harness.servers import RedisServer, free_port
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, WireClient

NODES = 3
SLOTS = 16384


class SlotRange(NamedTuple):
    """One line of CLUSTER SLOTS: the slots from first to last, and the port of their master."""

    first: int
    last: int
    port: int

    @classmethod
    def read(cls, line: Frame) -> Self:
        first, last, master = line.elements[:3]
        return cls(_integer(first), _integer(last), _integer(master.elements[1]))


class Node(RedisServer):
    """One of its servers; its bus has a port of its own."""

    def _argv(self) -> list[str]:
        bus = ["--cluster-port", str(free_port()), "--cluster-node-timeout", "2000"]
        return [*RedisServer._argv(self), "--cluster-enabled", "yes", *bus]


@dataclass(slots=True)
class RedisCluster:
    """Started, joined, and all slots handed out."""

    dir: Path
    flags: tuple[str, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    replicas: list[Node] = field(default_factory=list)

    def start(self) -> RedisCluster:
        self.nodes = [
            Node(self.dir / f"node-{number}", flags=self.flags).start() for number in range(NODES)
        ]
        first = self.nodes[0]
        for number, node in enumerate(self.nodes):
            begin, end = number * SLOTS // NODES, (number + 1) * SLOTS // NODES - 1
            with node.client() as client:
                expect(client, "CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
                expect(client, "CLUSTER", "ADDSLOTSRANGE", str(begin), str(end))
                if node is not first:
                    self._join(client)
        self.wait_until_agreed()
        return self

    def stop(self) -> None:
        for node in self.nodes + self.replicas:
            node.stop()

    def _join(self, client: WireClient) -> None:
        first = self.nodes[0]
        expect(client, "CLUSTER", "MEET", "127.0.0.1", str(first.port), self._bus_port(first))

    def add_replica(self, master: Node) -> Node:
        """A new node that copies the master, up to date when this returns."""
        number = len(self.nodes) + len(self.replicas)
        replica = Node(self.dir / f"node-{number}", flags=self.flags).start()
        self.replicas.append(replica)
        with master.client() as client:
            identity = client.send("CLUSTER", "MYID").frame.data or b""
        with replica.client() as client:
            self._join(client)
            self._wait(lambda: identity in (client.send("CLUSTER", "NODES").frame.data or b""))
            self._wait(lambda: client.send("CLUSTER", "REPLICATE", identity).raw == b"+OK\r\n")
            self._wait(lambda: b"master_link_status:up" in (client.send("INFO").frame.data or b""))
        self.wait_until_agreed()
        return replica

    def wait_for_promotion(self, replica: Node) -> None:
        """Until the replica is a master, and the others know."""
        with self.nodes[0].client() as client:
            self._wait(lambda: replica.port in _masters(client))

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.nodes[0].port}"

    def _bus_port(self, node: Node) -> str:
        with node.client() as client:
            return client.send("CONFIG", "GET", "cluster-port").frame.blobs()[1].decode()

    def wait_until_agreed(self) -> None:
        """Until every node finds the cluster complete, and all say the same of the slots."""
        self._wait(self._agrees)

    def _wait(self, is_so: Callable[[], bool]) -> None:
        wait_until(is_so, lambda: [node.output()[-500:] for node in self.nodes + self.replicas])

    def _agrees(self) -> bool:
        try:
            return self._all_agree()
        except ConnectionError:  # one of them is still starting
            return False

    def _all_agree(self) -> bool:
        views = set()
        known = b"cluster_known_nodes:%d" % (len(self.nodes) + len(self.replicas))
        for node in self.nodes:
            if not node.is_ready():
                return False
            with node.client() as client:
                info = client.send("CLUSTER", "INFO").frame.data or b""
                if b"cluster_state:ok" not in info or known not in info:
                    return False
                frame = client.send("CLUSTER", "SLOTS").frame
                views.add(frozenset(SlotRange.read(one) for one in frame.elements))
        return len(views) == 1

    def owner_of(self, slot: int) -> Node:
        with self.nodes[0].client() as client:
            for one in client.send("CLUSTER", "SLOTS").frame.elements:
                owned = SlotRange.read(one)
                if owned.first <= slot <= owned.last:
                    return next(node for node in self.nodes if node.port == owned.port)
        raise AssertionError(f"slot {slot} has no master")

    def move(self, slot: int, pause_seconds: float = 0.0) -> None:
        """Give a slot to the next node, name by name, as an operator's tool does."""
        source = self.owner_of(slot)
        target = self.nodes[(self.nodes.index(source) + 1) % NODES]
        with ExitStack() as stack:
            to, origin, *rest = (
                stack.enter_context(node.client())
                for node in sorted(
                    self.nodes, key=lambda one: (one is not target, one is not source)
                )
            )
            ids = [one.send("CLUSTER", "MYID").frame.data or b"" for one in (to, origin)]
            expect(to, "CLUSTER", "SETSLOT", str(slot), "IMPORTING", ids[1])
            expect(origin, "CLUSTER", "SETSLOT", str(slot), "MIGRATING", ids[0])
            time.sleep(pause_seconds)
            while True:
                asked = ("CLUSTER", "GETKEYSINSLOT", str(slot), "1")
                names = origin.send(*asked).frame.blobs()
                if not names:
                    break
                where = ("127.0.0.1", str(target.port), names[0], "0", "2000")
                moved = origin.send("MIGRATE", *where).raw
                assert moved in (b"+OK\r\n", b"+NOKEY\r\n"), moved
                time.sleep(pause_seconds)
            for client in (to, origin, *rest):
                expect(client, "CLUSTER", "SETSLOT", str(slot), "NODE", ids[0])


def _integer(frame: Frame) -> int:
    assert frame.number is not None, frame
    return frame.number


def _masters(client: WireClient) -> set[int]:
    frame = client.send("CLUSTER", "SLOTS").frame
    return {SlotRange.read(one).port for one in frame.elements}


def expect(client: WireClient, *words: str | bytes) -> None:
    assert client.send(*words).raw == b"+OK\r\n", words
