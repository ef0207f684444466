"""STRATA NAMESPACES and STRATA NAMESPACE: namespaces of users, for administrators."""

from collections.abc import Callable
from typing import Final

from stratakv import errors
from stratakv.encodings.layout.tenant_records import Quota
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, Args, ranged
from stratakv.proxy.clients.realms import Realm
from stratakv.proxy.clients.session import FROM_MASTER, Session
from stratakv.proxy.commands import effects
from stratakv.proxy.jobs.tenancy import QUOTA_WORDS, Tenancy
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply

command = CommandGroup("server").command

_FIELDS: Final = {word: field for field, word in QUOTA_WORDS.items()}


@command("STRATA NAMESPACES", "admin noscript loading stale", since="7.0.0")
def strata_namespaces(session: Session) -> Reply:
    """List the namespaces of users with their quotas, and what each uses."""
    tenancy = session.server.tenancy
    return [_described(tenancy, realm) for realm in session.server.realms]


def _described(tenancy: Tenancy, realm: Realm) -> dict[bytes, Reply]:
    return {
        b"name": realm.name,
        b"keys": tenancy.keys_of(realm),
        b"bytes": realm.disk_bytes,
        b"clients": realm.clients,
        b"operations": realm.operations,
        b"refused": realm.refused,
        b"users": list(tenancy.users_of(realm.name)),
        b"quota": {word.lower(): getattr(realm.quota, field) for word, field in _FIELDS.items()},
    }


@command(
    "STRATA NAMESPACE <CREATE name [quota]|DROP name|RENAME name newname|QUOTA name [quota]>",
    "write admin noscript no_multi",
    arity=-4,
    keys=(0, 0, 0),
    since="7.0.0",
    effect=effects.nothing,
)
def strata_namespace(session: Session, action: bytes, *arguments: bytes) -> Reply:
    """Make, drop or rename a namespace of users, or give it a quota.

    A quota is `KEYS number`, `BYTES number`, `OPS number` (a second) and `CLIENTS number`, 0 for no
    limit, or `LIKE name` for that of another.
    """
    act = _ACTIONS.get(action.upper())
    if act is None:
        raise errors.wrong_subcommand("STRATA", session.request[1])
    args = Args(arguments)
    reply = act(session, args)
    session.mark_write()
    if session.txn.follows:
        session.txn.keyspace.on_effects([])
    return reply


def _create(session: Session, args: Args) -> Reply:
    name, id_ = args.take(), 0
    if session.guards & FROM_MASTER and args.accept(b"ID"):
        id_ = args.integer()
    quota = _quota(session, args, Quota())
    session.server.tenancy.create(name, quota, id_)
    return OK


def _drop(session: Session, args: Args) -> Reply:
    name = args.take()
    args.finish()
    session.server.tenancy.drop(name, is_told=bool(session.guards & FROM_MASTER))
    return OK


def _rename(session: Session, args: Args) -> Reply:
    if len(args) != 2:
        raise errors.syntax()
    session.server.tenancy.rename(args.take(), args.take())
    return OK


def _set_quota(session: Session, args: Args) -> Reply:
    """With nothing behind the name, the quota is told; else the parts that are named change."""
    realm = session.server.tenancy.realm(args.take())
    if not args:
        return {word.lower(): getattr(realm.quota, field) for word, field in _FIELDS.items()}
    session.server.tenancy.set_quota(realm.name, _quota(session, args, realm.quota))
    return OK


def _quota(session: Session, args: Args, quota: Quota) -> Quota:
    while args:
        word = args.option()
        if not args or word not in (*_FIELDS, b"LIKE"):
            raise CommandError(errors.BAD_QUOTA)
        if word == b"LIKE":
            quota = session.server.tenancy.realm(args.take()).quota
        else:
            number = ranged(args.take(), 0, INT64_MAX, errors.BAD_QUOTA)
            quota = quota._replace(**{_FIELDS[word]: number})
    return quota


_ACTIONS: Final[dict[bytes, Callable[[Session, Args], Reply]]] = {
    b"CREATE": _create,
    b"DROP": _drop,
    b"RENAME": _rename,
    b"QUOTA": _set_quota,
}
