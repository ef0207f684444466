"""Connections between nodes: each node has one to every other, and speaks first on its own.

They lead to the port for clients, and begin with `STRATA PEER`, which shows the secret of the node
that is called: whoever knows it has read what the nodes say of themselves where ownership is
decided, and is trusted. What follows are commands; replies come in their order.

1. What is told to all is told to those that can be reached at that moment: at most once.
2. A node that does not read loses its connection when too much waits for it. Nobody waits for it.
3. A link that ends is made anew as long as its node is in the topology.
"""

import asyncio
import logging
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import hiredis

from stratakv.proxy.clients import tls
from stratakv.proxy.cluster.topology import Node, Topology
from stratakv.proxy.wire.packing import request

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

MOST_UNSENT: Final = 32 << 20
FIRST_PAUSE_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 1.0
CONNECT_SECONDS: Final = 5.0

Then = Callable[[Any], None]
"""Called with the reply, a HiredisError among them; with None if it will never come."""


class Link(asyncio.Protocol):
    """Our connection to one other node."""

    is_ours = True

    def __init__(self, links: "Links", node: Node) -> None:
        self._links = links
        self.node = node.id
        self.target = node
        self.created_ms = int(time.time() * 1000)
        self.is_up = False
        self._is_closed = False
        self._transport: asyncio.Transport | None = None
        self._replies = hiredis.Reader()
        self._waiting: deque[Then | None] = deque()

    @property
    def unsent(self) -> int:
        """Bytes that wait for it."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def send(self, frame: bytes, then: Then | None = None) -> None:
        """Send a request. Requires: it is up, or this is the greeting."""
        assert self._transport is not None
        self._waiting.append(then)
        self._transport.write(frame)
        if self.unsent > MOST_UNSENT:
            log.warning("node %s does not read: its connection is cut", self.node)
            self._links.cut += 1
            self.close()

    def close(self) -> None:
        """End it, whatever waits."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say who we are."""
        self._transport = cast("asyncio.Transport", transport)
        if self._is_closed:
            self._transport.abort()
            return
        words = [b"STRATA", b"PEER", self._links.name, self.target.secret.encode()]
        self.send(request(*words), self._greeted)

    def _greeted(self, reply: Any) -> None:
        if reply != b"OK":
            if reply is not None:
                log.info("node %s does not let us in: %s", self.node, reply)
            self.close()
            return
        self.is_up = True
        self._links.came_up(self)

    def data_received(self, data: bytes) -> None:
        """Give replies to those who asked."""
        self._replies.feed(data)
        reply = self._replies.gets()
        while reply is not False:
            self._links.received += 1
            then = self._waiting.popleft()
            if then is not None:
                then(reply)
            reply = self._replies.gets()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self.is_up = False
        self._transport = None
        waiting, self._waiting = self._waiting, deque()
        for then in waiting:
            if then is not None:
                then(None)
        self._links.lost(self)


class Guest:
    """Another node's connection to us."""

    is_ours = False

    def __init__(self, session: "Session", node: str) -> None:
        self._session = session
        self.node = node
        self.created_ms = int(session.created * 1000)

    @property
    def unsent(self) -> int:
        """Bytes that wait for it."""
        return self._session.connection.unsent


class Links:
    """All connections of this node with others."""

    def __init__(self, server: "Server", my_id: str) -> None:
        self._server = server
        self.name = my_id.encode()
        self._links: dict[str, Link] = {}
        self._guests: dict[int, Guest] = {}
        self._pauses: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._context: ssl.SSLContext | None = None
        self._wanted: dict[str, Node] = {}
        self._on_up: list[Callable[[Link], None]] = []
        self.sent = 0
        self.received = 0
        self.cut = 0
        """How often one did not read, and lost its connection."""

    # who there is

    def follow(self, before: Topology, after: Topology) -> None:
        """Be connected to all other nodes, and to no other."""
        wanted = {id_: node for id_, node in after.nodes.items() if id_.encode() != self.name}
        for id_, link in list(self._links.items()):
            if wanted.get(id_) != link.target:
                del self._links[id_]
                link.close()
        self._wanted = wanted
        for id_, node in wanted.items():
            if id_ not in self._links and node.peer_address[1]:
                self._open(node)

    def close(self) -> None:
        """Leave all."""
        self._wanted = {}
        for link in list(self._links.values()):
            link.close()
        for task in self._tasks:
            task.cancel()

    def _open(self, node: Node) -> None:
        link = self._links[node.id] = Link(self, node)
        task = self._server.loop.create_task(self._connect(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, link: Link) -> None:
        host, port = link.target.peer_address
        try:
            context = self._context_for(link.target)
            connecting = self._server.loop.create_connection(
                lambda: link, host, port, ssl=context, server_hostname="" if context else None
            )
            await asyncio.wait_for(connecting, CONNECT_SECONDS)
        except (OSError, TimeoutError) as failure:
            log.info("node %s at %s:%d cannot be reached: %s", link.node, host, port, failure)
            self.lost(link)

    def _context_for(self, node: Node) -> ssl.SSLContext | None:
        if node.port:
            return None
        if self._context is None:
            self._context = tls.for_master(self._server.options)
        return self._context

    def came_up(self, link: Link) -> None:
        """It can be used."""
        self._pauses.pop(link.node, None)
        log.info("connected to node %s", link.node)
        for listener in self._on_up:
            listener(link)

    def lost(self, link: Link) -> None:
        """It has ended: try again after a while, if it is still wanted."""
        if self._links.get(link.node) is not link:
            return
        del self._links[link.node]
        pause = self._pauses.get(link.node, FIRST_PAUSE_SECONDS)
        self._pauses[link.node] = min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._server.loop.call_later(pause, self._try_again, link.node)

    def _try_again(self, id_: str) -> None:
        node = self._wanted.get(id_)
        if node is not None and id_ not in self._links:
            self._open(node)

    def on_up(self, listener: Callable[[Link], None]) -> None:
        """Have somebody told of each link that can be used."""
        self._on_up.append(listener)

    # guests

    def let_in(self, session: "Session", node: str) -> None:
        """A client has shown that it is another node."""
        self._guests[session.id] = Guest(session, node)

    def is_guest(self, session: "Session") -> bool:
        """Whether a client is another node."""
        return session.id in self._guests

    def forget(self, session: "Session") -> None:
        """A client is gone."""
        self._guests.pop(session.id, None)

    # what is told

    def tell_all(self, words: list[bytes]) -> None:
        """Send a request to all nodes that can be reached; nobody waits for replies."""
        frame = b""
        for link in list(self._links.values()):
            if link.is_up:
                frame = frame or request(*words)
                self.sent += 1
                link.send(frame)

    def tell(self, node: str, words: list[bytes]) -> None:
        """Send a request to one node, if it can be reached."""
        self.ask(node, words, None)

    def ask(self, node: str, words: list[bytes], then: Then | None) -> bool:
        """Send a request to one node; False if it cannot be reached."""
        link = self._links.get(node)
        if link is None or not link.is_up:
            return False
        self.sent += 1
        link.send(request(*words), then)
        return True

    # what is shown

    def is_up(self, node: str) -> bool:
        """Whether a node can be told something."""
        link = self._links.get(node)
        return link is not None and link.is_up

    def all(self) -> list[Link | Guest]:
        """Those that can be used, in both directions."""
        return [*(link for link in self._links.values() if link.is_up), *self._guests.values()]
