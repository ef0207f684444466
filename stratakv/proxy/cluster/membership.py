"""How a server becomes a node: what it says of itself, and the cluster of one that it begins as."""

import secrets
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stratakv.options import BadOption, Effects
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.cluster.departures import Departures
from stratakv.proxy.cluster.links import Links
from stratakv.proxy.cluster.shared_code import SharedCode
from stratakv.proxy.cluster.topology import Node, alone, index_of

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

_EVERYWHERE: Final = ("*", "::*", "0.0.0.0", "::")
_FAR_AWAY: Final = ("192.0.2.1", 9)
_ANNOUNCED: Final = (
    *("cluster-announce-ip", "cluster-announce-port", "cluster-announce-tls-port"),
    "cluster-announce-hostname",
)


class Membership:
    """The place of a server among the nodes."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        myself = Node(server.run_id, "", 0, secret=secrets.token_hex(20))
        self.cluster = Cluster(
            server.options,
            myself,
            alone(myself, 1 if server.table is None else server.table.groups),
            Links(server, myself.id),
            server.dispatcher.pipelines.resume_soon,
        )
        if server.table is not None:
            self.cluster.database_of = index_of
        Departures(server, self.cluster)
        self.shared_code = SharedCode(server, self.cluster)
        server.dispatcher.join(self.cluster)
        server.keyspace.is_clustered = True
        for database in server.keyspace.databases[1:]:
            if database.live:
                reason = f"there are keys in database {database.number}, and a cluster has one"
                raise BadOption("cluster-enabled", "yes", reason)

    def describe(self) -> Node:
        """This node as it is to be known to clients and other nodes. Requires: it listens."""
        options, listeners = self._server.options, self._server.listeners
        return replace(
            self.cluster.myself,
            host=options.cluster_announce_ip or self._own_host(),
            peer_host=_own_address(options.bind),
            peer_port=listeners.port or listeners.tls_port,
            port=options.cluster_announce_port or listeners.port,
            tls_port=options.cluster_announce_tls_port or listeners.tls_port,
            hostname=options.cluster_announce_hostname,
        )

    def _own_host(self) -> str:
        """Where clients find this node if nothing is said; a node alone is where they are."""
        server = self._server
        return _own_address(server.options.bind) if server.table is not None else ""

    def announce(self) -> None:
        """Ports are open, or options have changed: tell who we are."""
        topology = self.cluster.topology
        myself = self.describe()
        if myself != self.cluster.myself:
            nodes = {**topology.nodes, myself.id: myself}
            self.cluster.learn(replace(topology, epoch=topology.epoch + 1, nodes=nodes))

    @property
    def effects(self) -> Effects:
        """What CONFIG SET changes here."""
        return {
            **dict.fromkeys(_ANNOUNCED, lambda _: self.announce()),
            "cluster-require-full-coverage": lambda _: self.cluster.arrange(),
        }


def _own_address(bind: tuple[str, ...]) -> str:
    """An address of ours that others can connect to."""
    for address in bind:
        if address.removeprefix("-") not in _EVERYWHERE:
            return address.removeprefix("-")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_FAR_AWAY)  # nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
