"""What the server knows of a client, in a line: CLIENT LIST, and whoever names a client."""

import time

from stratakv.proxy.clients.client_memory import (
    ARGUMENT_BYTES,
    request_memory,
    total_memory,
    transaction_memory,
)
from stratakv.proxy.clients.session import (
    FROM_MASTER,
    MONITORING,
    REPLICA,
    SUBSCRIBED,
    UNTOUCHING,
    Session,
)


def client_line(session: Session, running: int) -> bytes:
    """A line of CLIENT LIST; `running` is the size of the request that asks for it."""
    connection, pubsub = session.connection, session.realm.pubsub
    now = time.monotonic()
    unsent = connection.unsent
    fields = {
        "id": session.id,
        "addr": connection.address,
        "laddr": connection.local_address,
        "fd": connection.descriptor,
        "name": session.profile.name.decode("latin-1"),
        "age": int(time.time() - session.created),
        "idle": int(now - session.last_active),
        "flags": _flags(session),
        "db": session.server.keyspace.shown_number(session.txn.db.index),
        "sub": pubsub.channels.count_of(session),
        "psub": pubsub.patterns.count_of(session),
        "ssub": pubsub.shard_channels.count_of(session),
        "multi": -1 if session.transaction is None else len(session.transaction.queue),
        "qbuf": connection.unparsed + running,
        "qbuf-free": 0,  # what is read is taken as it comes: no buffer is kept
        "argv-mem": request_memory(session) + (running and ARGUMENT_BYTES + running),
        "multi-mem": transaction_memory(session),
        **dict.fromkeys(("rbs", "rbp", "obl"), 0),
        "oll": len(session.backlog),
        "omem": unsent,
        "tot-mem": total_memory(session) + running,
        "events": "rw" if unsent else "r",
        "cmd": session.last_command or "NULL",
        "user": session.user.name.decode("latin-1"),
        "redir": session.tracker.redirect if session.tracker is not None else -1,
        "resp": session.encoding.version,
        "lib-name": session.library_name.decode("latin-1"),
        "lib-ver": session.library_version.decode("latin-1"),
    }
    return " ".join(f"{name}={value}" for name, value in fields.items()).encode("latin-1")


def _flags(session: Session) -> str:
    flags = "O" if session.guards & MONITORING else ""
    flags += "S" if session.guards & REPLICA else ""
    flags += "M" if session.guards & FROM_MASTER else ""
    flags += "P" if session.guards & SUBSCRIBED else ""
    flags += "x" if session.transaction is not None else ""
    flags += "b" if session.waiting else ""
    if session.tracker is not None:
        flags += "t"
        flags += "R" if session.tracker.is_broken else ""
        flags += "B" if session.tracker.broadcasts else ""
    flags += "c" if session.closing else ""
    flags += "U" if session.connection.local_address.startswith("/") else ""
    flags += "r" if session.profile.accepts_replicas else ""
    flags += "e" if session.profile.no_evict else ""
    flags += "T" if session.guards & UNTOUCHING else ""
    return flags or "N"
