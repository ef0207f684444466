"""What CLUSTER shows of a topology, in Redis's forms."""

from typing import TYPE_CHECKING, Any

from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.cluster.topology import Node, SlotRange

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session


def info(cluster: Cluster) -> bytes:
    """CLUSTER INFO."""
    topology = cluster.topology
    assigned = sum(last - first + 1 for first, last, _ in topology.ranges())
    fields = {
        "cluster_state": "fail" if cluster.is_down else "ok",
        "cluster_slots_assigned": assigned,
        "cluster_slots_ok": assigned,
        "cluster_slots_pfail": 0,
        "cluster_slots_fail": 0,
        "cluster_known_nodes": len(topology.nodes),
        "cluster_size": len({group.owner for group in topology.groups if group.owner}),
        "cluster_current_epoch": topology.epoch,
        "cluster_my_epoch": topology.epoch,
        "cluster_stats_messages_sent": cluster.links.sent,
        "cluster_stats_messages_received": cluster.links.received,
        "total_cluster_links_buffer_limit_exceeded": cluster.links.cut,
    }
    return "".join(f"{name}:{value}\r\n" for name, value in fields.items()).encode()


def nodes(cluster: Cluster, session: "Session") -> bytes:
    """CLUSTER NODES. Nodes speak to each other at the port for clients."""
    shares = _shares(cluster)
    lines = []
    for node in cluster.topology.nodes.values():
        is_me = node.id == cluster.myself.id
        port = cluster.port_of(node, session)
        name = f",{node.hostname}" if node.hostname else ""
        flags = "myself,master" if is_me else "master"
        state = "connected" if is_me or cluster.links.is_up(node.id) else "disconnected"
        place = f"{node.id} {node.host}:{port}@{port}{name}"
        slots_ = [_shown(one) for one in shares[node.id]]
        words = [place, flags, "- 0 0", str(cluster.topology.epoch), state, *slots_]
        lines.append(" ".join(words) + "\n")
    return "".join(lines).encode()


def _shown(share: SlotRange) -> str:
    return str(share.first) if share.first == share.last else f"{share.first}-{share.last}"


def _shares(cluster: Cluster) -> dict[str, list[SlotRange]]:
    shares: dict[str, list[SlotRange]] = {id_: [] for id_ in cluster.topology.nodes}
    for share in cluster.topology.ranges():
        shares[share.owner].append(share)
    return shares


def slots(cluster: Cluster, session: "Session") -> list[Any]:
    """CLUSTER SLOTS."""
    found = cluster.topology.nodes
    return [
        [first, last, _address(cluster, found[owner], session)]
        for first, last, owner in cluster.topology.ranges()
    ]


def _address(cluster: Cluster, node: Node, session: "Session") -> list[Any]:
    """Where to go, and what else is known of it that is no part of that."""
    endpoint = cluster.endpoint_of(node)
    kind = cluster.endpoint_kind
    more: dict[bytes, Any] = {}
    if kind != "ip":
        more[b"ip"] = node.host.encode()
    if kind != "hostname" and node.hostname:
        more[b"hostname"] = node.hostname.encode()
    shown = None if endpoint is None else endpoint.encode()
    return [shown, cluster.port_of(node, session), node.id.encode(), more]


def shards(cluster: Cluster) -> list[Any]:
    """CLUSTER SHARDS: one for each node, those without slots too."""
    shares = _shares(cluster)
    return [
        {
            b"slots": [slot for first, last, _ in shares[node.id] for slot in (first, last)],
            b"nodes": [_described(cluster, node)],
        }
        for node in cluster.topology.nodes.values()
    ]


def _described(cluster: Cluster, node: Node) -> dict[bytes, Any]:
    endpoint = cluster.endpoint_of(node)
    shown: dict[bytes, Any] = {b"id": node.id.encode()}
    if node.port:
        shown[b"port"] = node.port
    if node.tls_port:
        shown[b"tls-port"] = node.tls_port
    shown[b"ip"] = node.host.encode()
    shown[b"endpoint"] = None if endpoint is None else endpoint.encode()
    if node.hostname:
        shown[b"hostname"] = node.hostname.encode()
    return shown | {b"role": b"master", b"replication-offset": 0, b"health": b"online"}


def links(cluster: Cluster) -> list[Any]:
    """CLUSTER LINKS."""
    return [
        {
            b"direction": b"to" if link.is_ours else b"from",
            b"node": link.node.encode(),
            b"create-time": link.created_ms,
            b"events": b"rw" if link.unsent else b"r",
            b"send-buffer-allocated": link.unsent,
            b"send-buffer-used": link.unsent,
        }
        for link in cluster.links.all()
    ]
