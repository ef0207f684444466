"""Quotas: what the clients of a namespace may no longer write.

Reads and deletes go on whatever is used up; what is refused are commands that may make the data
grow, those that Redis refuses when its memory is full (`denyoom`). With the quota of keys only
those that would make a key are, so what there is can be changed.
"""

from typing import Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.clients.realms import Realm
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import Command
from stratakv.proxy.wire.requests import Request

_GROWS: Final = frozenset(("insert", "update"))
"""Uses of keys by which a `denyoom` command may make one."""


def refusal(session: Session, entry: Command, request: Request) -> CommandError | None:
    """Why a client of a namespace may not send a request, which counts in any case.

    Requires: it is in a realm with an id.
    """
    realm = session.realm
    if realm.tenant is None:
        return None if "no_auth" in entry.flags else CommandError(errors.NO_NAMESPACE)
    realm.operations += 1
    if not realm.limits_writes:
        return None
    failure = _excess(session, realm, entry, request)
    if failure is not None:
        realm.refused += 1
    return failure


def _excess(
    session: Session, realm: Realm, entry: Command, request: Request
) -> CommandError | None:
    quota = realm.quota
    may_grow = "denyoom" in entry.flags
    if quota.operations:
        second = session.server.clock.now_ms // 1000
        used = realm.operations_in(second)
        if may_grow and used > quota.operations:
            return errors.over_quota(realm.name, f"{quota.operations} operations a second")
    if may_grow and realm.is_beyond_bytes:
        return errors.over_quota(realm.name, f"{quota.bytes} bytes")
    if entry.is_write and quota.keys and not _has_room(session, realm, entry, request):
        return errors.over_quota(realm.name, f"{quota.keys} keys")
    if may_grow and quota.bytes:
        realm.written_bytes += sum(map(len, request))
    return None


def _has_room(session: Session, realm: Realm, entry: Command, request: Request) -> bool:
    """Whether the keys that a request would make still fit."""
    wanted = _made(entry, request)
    if not wanted:
        return True
    txn, keyspace = session.txn, session.txn.keyspace
    assert realm.tenant is not None
    left = realm.quota.keys - sum(one.live for one in keyspace.databases_of(realm.tenant))
    left -= txn.unit_live_change
    if len(wanted) <= left:
        return True
    if "elsewhere" in entry.traits:
        return False
    new = sum(txn.makes(key) for key in wanted)
    return new <= max(0, left)


def _made(entry: Command, request: Request) -> set[bytes]:
    """The keys that a request may make."""
    if len(request) < entry.min_args or not entry.key_specs:
        return set()
    uses = _GROWS if "denyoom" in entry.flags else frozenset(("insert",))
    return {request[at] for at, flags in entry.find_key_uses(request) if not uses.isdisjoint(flags)}
