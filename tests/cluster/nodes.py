"""Several nodes that are told who has which slots, and change it when the test says so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from tests.harness.servers import ROOT, SERVER_PYTHON, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient

GROUPS = 6


@dataclass(slots=True, eq=False)
class StaticNode(StrataServer):
    """One of them; see node.py."""

    groups: int = GROUPS
    apart: bool = True
    described: dict[str, Any] = field(init=False, default_factory=dict)

    def _argv(self) -> list[str]:
        places = ["--bind", "127.0.0.1", "--port", "0", "--http", "no", "--dir", str(self.dir)]
        cluster = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]
        where = "apart" if self.apart else "together"
        words = [str(self.dir), str(self.groups), where, *places, *cluster, *self.flags]
        return [SERVER_PYTHON, "-P", "-c", _RUN, *words]

    def start(self) -> Self:
        StrataServer.start(self)
        self.described = json.loads((self.dir / "node.json").read_text())
        return self

    def client(self, protocol: int = 2) -> WireClient:
        found = StrataServer.client(self, protocol)
        if "--requirepass" in self.flags:
            found.send("AUTH", self.flags[self.flags.index("--requirepass") + 1])
        return found

    @property
    def id(self) -> str:
        return str(self.described["id"])

    def obey(self, told: dict[str, Any]) -> None:
        """Learn what follows, and hold what it says."""
        part = self.dir / "topology.part"
        part.write_text(json.dumps(told))
        part.rename(self.dir / "topology.json")


_RUN = f"import sys; sys.path.append({str(ROOT)!r}); "
_RUN += "from tests.cluster.node import main; sys.exit(main())"


@dataclass(slots=True)
class StaticCluster:
    """Nodes that share the groups: each has a third of them in one piece, at first."""

    dir: Path
    count: int = 3
    groups: int = GROUPS
    flags: tuple[str, ...] = ()
    apart: bool = True
    """Whether each group is a database of its own."""
    nodes: list[StaticNode] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    epoch: int = 100

    def start(self) -> Self:
        self.nodes = [
            StaticNode(
                self.dir / f"node-{n}", flags=self.flags, groups=self.groups, apart=self.apart
            ).start()
            for n in range(self.count)
        ]
        self.owners = [
            self.nodes[group * self.count // self.groups].id for group in range(self.groups)
        ]
        self.tell()
        return self

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def tell(self, *, held: tuple[int, ...] = (), only: StaticNode | None = None) -> None:
        """Have all learn how it is now, or only one of them."""
        self.epoch += 10  # a node may have made some by itself
        told = {
            "epoch": self.epoch,
            "nodes": [node.described for node in self.nodes if node.is_running],
            "groups": self.owners,
            "held": list(held),
        }
        concerned = [node for node in self.nodes if node.is_running] if only is None else [only]
        for node in concerned:
            node.obey(told)
        for node in concerned:
            self._wait_until_learnt(node)

    def _wait_until_learnt(self, node: StaticNode) -> None:
        shown = b"cluster_current_epoch:%d\r\n" % self.epoch
        with node.client() as client:
            wait_until(lambda: shown in client.send("CLUSTER", "INFO").raw, node.output)

    def wait_until_linked(self) -> None:
        """Until each can tell the others something."""
        for node in self.nodes:
            wait_until(partial(self._is_linked, node), node.output)

    def _is_linked(self, node: StaticNode) -> bool:
        with node.client() as client:
            links = client.send("CLUSTER", "LINKS").frame.elements
        running = [one for one in self.nodes if one.is_running]
        return len(links) == 2 * (len(running) - 1)

    def give(self, group: int, node: StaticNode) -> None:
        """A group goes to another node, which is the first to know, as it would be."""
        self.owners[group] = node.id
        self.tell(only=node)
        self.tell()
