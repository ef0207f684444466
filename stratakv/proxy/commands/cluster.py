"""CLUSTER and its kin: what clients ask of a server that is no cluster."""

from typing import Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import Reply
from stratakv.slots import slot_of

_GROUP = CommandGroup("cluster")
command, container = _GROUP.command, _GROUP.container


@command("READONLY", "loading stale fast", categories="connection", since="3.0.0", tenants="own")
@command("READWRITE", "loading stale fast", categories="connection", since="3.0.0", tenants="own")
@command("ASKING", "fast", categories="connection", since="3.0.0", tenants="own")
def refuse(session: Session, *words: bytes) -> Reply:
    """Refuse: this is no cluster."""
    raise CommandError(errors.CLUSTER_DISABLED)


container("CLUSTER", since="3.0.0")


@command("CLUSTER KEYSLOT key", "stale", keys=(0, 0, 0), since="3.0.0", tenants="own")
def cluster_keyslot(session: Session, key: bytes) -> int:
    """Return the slot that a cluster would keep a key in."""
    return slot_of(key)


_ADMIN: Final = "admin stale no_async_loading"
_VARIES: Final = "nondeterministic_output"
_REFUSED: Final = (
    ("HELP", "loading stale", "", "5.0.0"),
    ("INFO", "stale", _VARIES, "3.0.0"),
    ("LINKS", "stale", _VARIES, "7.0.0"),
    ("MYID", "stale", "", "3.0.0"),
    ("NODES", "stale", _VARIES, "3.0.0"),
    ("SHARDS", "stale", _VARIES, "7.0.0"),
    ("SLOTS", "stale", _VARIES, "3.0.0"),
    ("COUNTKEYSINSLOT slot", "stale", "", "3.0.0"),
    ("GETKEYSINSLOT slot count", "stale", _VARIES, "3.0.0"),
    ("COUNT-FAILURE-REPORTS node-id", "admin stale", _VARIES, "3.0.0"),
    ("REPLICAS node-id", "admin stale", _VARIES, "5.0.0"),
    ("SLAVES node-id", "admin stale", _VARIES, "3.0.0"),
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
    _tenants = "" if "admin" in _flags else "own"  # all hear that there is no cluster
    command(f"CLUSTER {_syntax}", _flags, arity=_exact, tips=_tips, since=_since, tenants=_tenants)(
        refuse
    )
