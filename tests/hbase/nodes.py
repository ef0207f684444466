"""Nodes of a cluster over one table, and a client that finds its way among them."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from stratakv.slots import group_of, slot_of
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Frame, WireClient

GROUPS = 6
TIMEOUT_MS = 3000
BRISK_TIME = {"hbase.zookeeper.property.tickTime": "500"}
"""A ZooKeeper that counts time finely, so that sessions end when they should."""


class Unknown(Exception):
    """The connection ended before there was a reply: the command was done, or not."""


class SomeHBase(Protocol):
    """One in one process, or in several."""

    @property
    def address(self) -> str:
        """Of its ZooKeeper."""

    def flags(self, table: str) -> list[str]:
        """Of a StrataKV that keeps its rows there."""


@dataclass(eq=False)
class Nodes:
    """Servers that share a table."""

    hbase: SomeHBase
    table: str
    dir: Path
    groups: int = GROUPS
    timeout_ms: int = TIMEOUT_MS
    flags: tuple[str, ...] = ()
    all: list[StrataServer] = field(default_factory=list)
    asleep: set[StrataServer] = field(default_factory=set)
    """Those that do not answer now."""

    def add(self) -> StrataServer:
        """One more, that runs; what it has to take or to be given comes later."""
        options = [
            *self.hbase.flags(self.table),
            *("--hbase-groups", str(self.groups)),
            *("--cluster-node-timeout", str(self.timeout_ms)),
            *self.flags,
        ]
        server = StrataServer(self.dir / f"node{len(self.all)}", flags=options).start()
        self.all.append(server)
        return server

    def running(self) -> list[StrataServer]:
        return [one for one in self.all if one.is_running and one not in self.asleep]

    def pause(self, server: StrataServer) -> None:
        """SIGSTOP."""
        self.asleep.add(server)
        os.kill(server.pid, signal.SIGSTOP)

    def wake(self, server: StrataServer) -> None:
        """SIGCONT."""
        os.kill(server.pid, signal.SIGCONT)
        self.asleep.discard(server)

    def stop(self) -> None:
        for server in self.asleep.copy():
            self.wake(server)
        for server in self.all:
            server.stop()

    def owners(self) -> dict[int, StrataServer]:
        """Who has which group open, as they say themselves."""
        return {group: server for server in self.running() for group in shown(server, state="open")}

    def settle(self, servers: list[StrataServer] | None = None) -> None:
        """Until these have all groups among them, evenly, and all agree on that."""
        wanted = servers or self.running()
        least = self.groups // len(wanted)

        def is_settled() -> bool:
            counts = [len(shown(server, state="open")) for server in wanted]
            views = {json.dumps(owners_seen(server)) for server in wanted}
            is_even = all(least <= count <= least + 1 for count in counts)
            return sum(counts) == self.groups and is_even and len(views) == 1

        wait_until(is_settled, lambda: [shown(server) for server in wanted])

    def epochs(self) -> int:
        """How often groups were taken, in all."""
        return sum(
            one["epoch"]
            for server in self.running()
            for one in shown(server, state="open").values()
        )


def group_keys(groups: int) -> dict[int, bytes]:
    """A key of each group."""
    names = (b"of:%d" % number for number in count())
    found: dict[int, bytes] = {}
    while len(found) < groups:
        name = next(names)
        found.setdefault(group_of(slot_of(name), groups), name)
    return found


def shown(server: StrataServer, state: str = "") -> dict[int, dict[str, Any]]:
    """What a node tells of the groups: of those in that state."""
    with server.client() as client:
        found = [_pairs(one.elements) for one in client.send("STRATA", "CLUSTER").frame.elements]
    return {int(one["group"]): one for one in found if state in ("", one["state"])}


def owners_seen(server: StrataServer) -> dict[int, str]:
    """Whose each group is, as one node sees it."""
    return {group: str(one["owner"]) for group, one in shown(server).items()}


def _pairs(frames: tuple[Frame, ...]) -> dict[str, Any]:
    texts = [
        frame.number if frame.kind == ":" else (frame.data or b"").decode() for frame in frames
    ]
    return {str(name): told for name, told in zip(texts[::2], texts[1::2], strict=True)}


class Client:
    """Sends commands to where their keys are, and never one twice."""

    def __init__(self, nodes: Nodes, timeout_s: float = 10.0) -> None:
        self.timeout_s = timeout_s
        self._nodes = nodes
        self._ports: dict[int, int] = {}
        """By group."""
        self._links: dict[int, WireClient] = {}
        self.redirections = 0

    def send(self, key: bytes, *words: bytes | str) -> Frame:
        """The reply; raises `Unknown` if none came, or the node could not be reached."""
        group = group_of(slot_of(key), self._nodes.groups)
        for _ in range(10):
            port = self._port(group) or random.choice(self._nodes.running()).port
            frame = self._ask(port, words, group)
            if not frame.is_error:
                return frame
            text = (frame.data or b"").decode()
            if not text.startswith("MOVED "):
                raise Unknown(text)
            self.redirections += 1
            self._ports[group] = int(text.rpartition(":")[2])
        raise Unknown("sent from node to node")

    def _port(self, group: int) -> int:
        """Of whoever seems to have a group, unless it is known to be away."""
        port = self._ports.get(group, 0)
        return port if port in [one.port for one in self._nodes.running()] else 0

    def _ask(self, port: int, words: tuple[bytes | str, ...], group: int) -> Frame:
        try:
            link = self._links.get(port)
            if link is None:
                link = self._links[port] = WireClient(port, timeout_s=self.timeout_s)
            return link.send(*words).frame
        except (OSError, AssertionError, EOFError) as error:
            broken = self._links.pop(port, None)
            if broken is not None:
                broken.close()
            self._ports.pop(group, None)
            raise Unknown(repr(error)) from error

    def close(self) -> None:
        for link in self._links.values():
            link.close()


@contextmanager
def client_of(nodes: Nodes) -> Iterator[Client]:
    client = Client(nodes)
    try:
        yield client
    finally:
        client.close()
