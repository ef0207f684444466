"""SORT and SORT_RO."""

from collections.abc import Sequence
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.keys import sorting
from stratakv.encodings.types.keys.sorting import Plan
from stratakv.errors import CommandError
from stratakv.proxy.access.checking import may_read_all_keys
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.clients.session import RESTRICTED, Session
from stratakv.proxy.commands import effects
from stratakv.proxy.table.keyspecs import KeySpec, KeyUse
from stratakv.proxy.table.registry import CALLED, CommandGroup
from stratakv.proxy.wire.replies import Reply, Stream

command = CommandGroup("generic").command

_SORTED: Final = KeySpec(("RO", "access"), 1)
_BY_CONTENT: Final = KeySpec(
    ("RO", "access"),
    find="unknown",
    notes="BY and GET name keys after what the sorted key holds",
)
_STORED: Final = KeySpec(("OW", "update"), find="unknown", notes="STORE may stand anywhere")
_TOLD_AT_ONCE: Final = 1000
_ARGUMENTS: Final = {b"LIMIT": 2, b"GET": 1, b"BY": 1}


def _sort_uses(request: Sequence[bytes]) -> list[KeyUse]:
    """The key to sort, and that of the last STORE."""
    destination: list[KeyUse] = []
    at = 2
    while at < len(request):
        word = request[at].upper()
        if word == b"STORE" and at + 1 < len(request):
            destination = [(at + 1, _STORED.flags)]
        at += 1 + _ARGUMENTS.get(word, 0)
    return [*_sort_ro_uses(request), *destination]


def _sort_ro_uses(request: Sequence[bytes]) -> list[KeyUse]:
    return [(_SORTED.begin, _SORTED.flags)]


@command(
    "SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC]"
    " [ALPHA] [STORE destination]",
    "write denyoom movablekeys",
    keys=(1, 1, 1),
    key_uses=_sort_uses,
    key_specs=(_SORTED, _BY_CONTENT, _STORED),
    categories="set sortedset list dangerous",
    effect=effects.nothing,
    tenants="own",
)
def sort(session: Session, key: bytes, *options: bytes) -> Reply:
    """Sort a list, set or sorted set, by its elements or by other keys; reply or store."""
    plan, txn = _parse_plan(session, Args(options), may_store=True), session.txn
    if plan.store is not None:
        elements = sorting.store(txn, key, plan.store, plan)
        if plan.store in txn.metas and (txn.keyspace.replicates or txn.is_long):
            _tell(txn, plan.store, elements, (b"SORT", key, *options) if plan.by is None else None)
        return len(elements)
    return _reply(txn, key, plan)


def _tell(
    txn: Txn, destination: bytes, elements: list[bytes], request: Sequence[bytes] | None
) -> None:
    """Let replicas know what was stored; by the request, if it leaves no two equal.

    BY can: then their order is that of a set, or of an algorithm, which are Redis's or ours.
    """
    if request is not None:
        txn.tell(request)
        return
    txn.tell((b"DEL", destination))
    for at in range(0, len(elements), _TOLD_AT_ONCE):
        txn.tell((b"RPUSH", destination, *elements[at : at + _TOLD_AT_ONCE]))


@command(
    "SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC]"
    " [ALPHA]",
    "readonly movablekeys",
    keys=(1, 1, 1),
    key_uses=_sort_ro_uses,
    key_specs=(_SORTED, _BY_CONTENT),
    categories="set sortedset list dangerous",
    since="7.0.0",
    tenants="own",
)
def sort_ro(session: Session, key: bytes, *options: bytes) -> Reply:
    """Sort a list, set or sorted set; SORT without STORE."""
    return _reply(session.txn, key, _parse_plan(session, Args(options), may_store=False))


def _reply(txn: Txn, key: bytes, plan: Plan) -> Reply:
    length, items = sorting.sort(txn, key, plan)
    # a short command must have read everything when it returns
    return Stream(list, length, items) if txn.is_long else list(items)


def _parse_plan(session: Session, args: Args, *, may_store: bool) -> Plan:
    plan = Plan()
    while args:
        word = args.option()
        if word in (b"ASC", b"DESC"):
            plan = plan._replace(descending=word == b"DESC")
        elif word == b"ALPHA":
            plan = plan._replace(alpha=True)
        elif word == b"LIMIT" and len(args) >= 2:
            plan = plan._replace(start=args.integer(), amount=args.integer())
        elif word == b"STORE" and may_store and args:
            plan = plan._replace(store=args.take())
        elif word == b"BY" and args:
            plan = plan._replace(by=args.take())
            if plan.by is not None and b"*" in plan.by:
                _check_rights(session, b"BY")
        elif word == b"GET" and args:
            _check_rights(session, b"GET")
            plan = plan._replace(gets=(*plan.gets, args.take()))
        else:
            raise errors.syntax()
    return plan


def _check_rights(session: Session, option: bytes) -> None:
    """Patterns may name any key: raises unless all are here, and the user may read them."""
    if session.server.keyspace.is_clustered:
        raise CommandError(errors.SORT_ON_CLUSTER % option)
    if not session.guards & RESTRICTED:
        return
    request = session.request
    if not may_read_all_keys(session.user, CALLED[request[0].lower()], request):
        raise CommandError(errors.SORT_NOT_ALLOWED % option)
