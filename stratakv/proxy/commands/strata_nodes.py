"""STRATA PEER and what follows it: what nodes of a cluster tell each other."""

import hmac

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import Session
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply

command = CommandGroup("server").command

_FROM_NODES = "noscript no_multi loading stale fast"


def _cluster(session: Session) -> Cluster:
    """What the server knows of its cluster; raises if the client is no node of it."""
    cluster = session.server.cluster
    if cluster is None or not cluster.links.is_guest(session):
        raise CommandError(errors.NOT_A_NODE)
    return cluster


@command("STRATA PEER node-id secret", f"{_FROM_NODES} no_auth admin", since="7.0.0")
def strata_peer(session: Session, node_id: bytes, secret: bytes) -> Reply:
    """Be another node of the cluster: it shows the secret that this one has told those alone."""
    cluster = session.server.cluster
    if cluster is None or not hmac.compare_digest(secret, cluster.myself.secret.encode()):
        raise CommandError(errors.NOT_A_NODE)
    session.server.logins.exempt(session)
    cluster.links.let_in(session, node_id.decode("latin-1"))
    return OK


@command("STRATA RELAY channel message", f"{_FROM_NODES} pubsub admin", since="7.0.0")
def strata_relay(session: Session, channel: bytes, message: bytes) -> Reply:
    """Give a message of another node's client to those who listen here."""
    _cluster(session)
    session.realm.pubsub.publish(channel, message)
    return OK


@command("STRATA LIBRARIES [code [code ...]]", f"{_FROM_NODES} admin", since="7.0.0")
def strata_libraries(session: Session, *codes: bytes) -> Reply:
    """Know these libraries of functions from now on, and no others: their keeper has them."""
    _cluster(session)
    session.server.scripting.adopt(codes)
    return OK
