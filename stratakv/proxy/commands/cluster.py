"""CLUSTER and its kin: which node has which slots, as clients of a Redis Cluster ask for it."""

from itertools import islice
from typing import Final

from stratakv import errors
from stratakv.encodings.types.keys import keys
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.cluster import views
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Status, Text
from stratakv.slots import SLOTS, slot_of

_GROUP = CommandGroup("cluster")
command, container = _GROUP.command, _GROUP.container

_VARIES: Final = "nondeterministic_output"


def _cluster(session: Session) -> Cluster:
    """What the server knows of its cluster; raises if it is in none."""
    cluster = session.server.cluster
    if cluster is None:
        raise CommandError(errors.CLUSTER_DISABLED)
    return cluster


# what a connection wants


@command("READONLY", "loading stale fast", categories="connection", since="3.0.0", tenants="own")
def readonly(session: Session) -> Reply:
    """Accept answers of replicas, of which there are none: each node answers for its own slots."""
    _cluster(session)
    session.profile.accepts_replicas = True
    return OK


@command("READWRITE", "loading stale fast", categories="connection", since="3.0.0", tenants="own")
def readwrite(session: Session) -> Reply:
    """Take READONLY back."""
    _cluster(session)
    session.profile.accepts_replicas = False
    return OK


@command("ASKING", "fast", categories="connection", since="3.0.0", tenants="own")
def asking(session: Session) -> Reply:
    """Let the next command use a slot that is on its way here; it would wait for that anyway."""
    _cluster(session)
    return OK


# questions

container("CLUSTER", since="3.0.0")


@command("CLUSTER KEYSLOT key", "stale", keys=(0, 0, 0), since="3.0.0", tenants="own")
def cluster_keyslot(session: Session, key: bytes) -> int:
    """Return the slot of a key."""
    return slot_of(key)


@command("CLUSTER HELP", "loading stale", since="5.0.0", tenants="own")
def cluster_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    _cluster(session)
    return help_of("CLUSTER")


@command("CLUSTER INFO", "stale", tips=_VARIES, since="3.0.0", tenants="own")
def cluster_info(session: Session) -> Text:
    """Describe the state of the cluster."""
    return Text(views.info(_cluster(session)))


@command("CLUSTER MYID", "stale", since="3.0.0", tenants="own")
def cluster_myid(session: Session) -> bytes:
    """Return the id of this node."""
    return _cluster(session).myself.id.encode()


@command("CLUSTER NODES", "stale", tips=_VARIES, since="3.0.0", tenants="own")
def cluster_nodes(session: Session) -> Text:
    """List the nodes and their slots, a line for each."""
    return Text(views.nodes(_cluster(session), session))


@command("CLUSTER SLOTS", "stale", tips=_VARIES, since="3.0.0", tenants="own")
def cluster_slots(session: Session) -> Reply:
    """List the ranges of slots, each with its node."""
    return views.slots(_cluster(session), session)


@command("CLUSTER SHARDS", "stale", tips=_VARIES, since="7.0.0", tenants="own")
def cluster_shards(session: Session) -> Reply:
    """List the nodes, each with its slots."""
    return views.shards(_cluster(session))


@command("CLUSTER LINKS", "stale", tips=_VARIES, since="7.0.0", tenants="own")
def cluster_links(session: Session) -> Reply:
    """Describe the connections between this node and the others."""
    return views.links(_cluster(session))


@command("CLUSTER COUNTKEYSINSLOT slot", "stale", traits="slot", since="3.0.0", tenants="own")
def cluster_countkeysinslot(session: Session, slot: bytes) -> int:
    """Count the keys of a slot that this node has; it looks at all keys of the slot's group."""
    cluster = _cluster(session)
    number = integer(slot)
    if not 0 <= number < SLOTS:
        raise CommandError(errors.INVALID_SLOT)
    if not cluster.has_slot(number):
        return 0
    return sum(1 for _ in keys.in_slot(session.txn, number))


@command(
    "CLUSTER GETKEYSINSLOT slot count",
    "stale",
    traits="slot",
    tips=_VARIES,
    since="3.0.0",
    tenants="own",
)
def cluster_getkeysinslot(session: Session, slot: bytes, count: bytes) -> list[bytes]:
    """Return so many keys of a slot that this node has."""
    cluster = _cluster(session)
    number, most = integer(slot), integer(count)
    if not 0 <= number < SLOTS or most < 0:
        raise CommandError(errors.INVALID_SLOT_OR_COUNT)
    if not cluster.has_slot(number):
        return []
    return list(islice(keys.in_slot(session.txn, number), most))


@command("CLUSTER REPLICAS node-id", "admin stale", tips=_VARIES, since="5.0.0")
@command("CLUSTER SLAVES node-id", "admin stale", tips=_VARIES, since="3.0.0")
def cluster_replicas(session: Session, node_id: bytes) -> list[bytes]:
    """List the replicas of a node: there are none."""
    _check_node(session, node_id)
    return []


@command("CLUSTER COUNT-FAILURE-REPORTS node-id", "admin stale", tips=_VARIES, since="3.0.0")
def cluster_count_failure_reports(session: Session, node_id: bytes) -> int:
    """Count the nodes that say that one has failed: ZooKeeper alone says so, and it is gone."""
    _check_node(session, node_id)
    return 0


def _check_node(session: Session, node_id: bytes) -> None:
    if node_id.decode("latin-1").lower() not in _cluster(session).topology.nodes:
        raise CommandError(b"ERR Unknown node %b" % node_id.split(b"\0")[0])


# what an operator of a Redis Cluster does by hand


def refuse(session: Session, *words: bytes) -> Reply:
    """Refuse: nodes share the slots among themselves."""
    _cluster(session)
    raise CommandError(errors.SLOTS_ARE_SHARED)


_ADMIN: Final = "admin stale no_async_loading"
_REFUSED: Final = (
    ("RESET [HARD|SOFT]", "admin noscript stale", "", "3.0.0"),
    ("ADDSLOTS slot [slot ...]", _ADMIN, "", "3.0.0"),
    ("ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]", _ADMIN, "", "7.0.0"),
    ("BUMPEPOCH", _ADMIN, _VARIES, "3.0.0"),
    ("DELSLOTS slot [slot ...]", _ADMIN, "", "3.0.0"),
    ("DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]", _ADMIN, "", "7.0.0"),
    ("FAILOVER [FORCE|TAKEOVER]", _ADMIN, "", "3.0.0"),
    ("FLUSHSLOTS", _ADMIN, "", "3.0.0"),
    ("FORGET node-id", _ADMIN, "", "3.0.0"),
    ("MEET ip port [cluster-bus-port]", _ADMIN, "", "3.0.0"),
    ("REPLICATE node-id", _ADMIN, "", "3.0.0"),
    ("SAVECONFIG", _ADMIN, "", "3.0.0"),
    ("SET-CONFIG-EPOCH config-epoch", _ADMIN, "", "3.0.0"),
    ("SETSLOT slot <IMPORTING node-id|MIGRATING node-id|NODE node-id|STABLE>", _ADMIN, "", "3.0.0"),
)
for _syntax, _flags, _tips, _since in _REFUSED:
    _exact = -4 if _syntax.startswith("SETSLOT") else None  # the syntax cannot tell
    command(f"CLUSTER {_syntax}", _flags, arity=_exact, tips=_tips, since=_since)(refuse)
