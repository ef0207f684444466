"""A StrataKV that is told by a file who has which slots: ownership is the test's.

    python -m tests.cluster.node DIR GROUPS apart|together [flags of stratakv serve]

It says in DIR/node.json who it is, and learns what it finds in DIR/topology.json. Each group is a
database of its own if they are to be apart, or all of a node are in one.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratakv import cli, options
from stratakv.proxy.cluster.topology import Group, Node, Topology

if TYPE_CHECKING:
    from stratakv.proxy.cluster.cluster import Cluster
    from stratakv.proxy.server import Server

LOOK_SECONDS = 0.01


class Teacher:
    """Has a server learn what stands in a file."""

    def __init__(self, server: Server, directory: Path, groups: int, *, apart: bool) -> None:
        assert server.membership is not None
        self._loop = server.loop
        self._file = directory / "topology.json"
        self._membership = server.membership
        self._cluster: Cluster = server.membership.cluster
        self._held: set[int] = set()
        if apart:
            self._cluster.database_of = lambda group: group
        mine = self._membership.describe()
        first = Topology(100, {mine.id: mine}, tuple(Group() for _ in range(groups)))
        self._cluster.begin(first)
        written = directory / "node.part"
        written.write_text(json.dumps(asdict(mine)))
        written.rename(directory / "node.json")
        self._look()

    def _look(self) -> None:
        if self._file.exists():
            self._obey(json.loads(self._file.read_text()))
        self._loop.call_later(LOOK_SECONDS, self._look)

    def _obey(self, told: dict[str, Any]) -> None:
        if self._cluster.myself.id not in [node["id"] for node in told["nodes"]]:
            return  # of before a restart
        held = set(told["held"])
        for group in held - self._held:
            self._cluster.hold(group)
        if told["epoch"] > self._cluster.topology.epoch:
            nodes = {one["id"]: Node(**one) for one in told["nodes"]}
            groups = tuple(Group(owner) for owner in told["groups"])
            self._cluster.learn(Topology(told["epoch"], nodes, groups))
        for group in self._held - held:
            self._cluster.release(group)
        self._held = held


def main() -> int:
    directory, groups, where, *flags = sys.argv[1:]
    place = Path(directory)

    def ready(server: Server, http_port: int) -> None:
        Teacher(server, place, int(groups), apart=where == "apart")
        print(f"ready port={server.listeners.port} http_port={http_port}", flush=True)

    given = dict(zip((flag.removeprefix("--") for flag in flags[::2]), flags[1::2], strict=True))
    chosen = options.load(given, options.from_environment(), None, None)
    return cli.serve(chosen, announce=ready)


if __name__ == "__main__":
    sys.exit(main())
