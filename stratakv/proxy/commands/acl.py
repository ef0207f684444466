"""ACL: users, and what each of them may do."""

import logging
import secrets
from itertools import islice
from typing import Final

from stratakv import errors
from stratakv.errors import CommandError
from stratakv.proxy.access import acl_file, describing, rules
from stratakv.proxy.access.acl_file import BadUsers
from stratakv.proxy.access.checking import COMMAND, KEY, TENANT, check
from stratakv.proxy.access.rules import RuleError, Unmatched
from stratakv.proxy.access.selectors import Selector
from stratakv.proxy.access.users import DEFAULT, User, Users
from stratakv.proxy.arguments.args import integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.config.users import file_of
from stratakv.proxy.table.categories import CATEGORIES
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup, every_entry, find_called
from stratakv.proxy.wire.replies import OK, Members, Reply, Status

_GROUP = CommandGroup("server")
command, container = _GROUP.command, _GROUP.container

log = logging.getLogger("stratakv")

_ANY = "noscript loading stale"
_ADMIN = "admin noscript loading stale"
_MOST_BITS: Final = 4096
_USUAL_BITS: Final = 256
_SHOWN_DENIALS: Final = 10
_USER_WORK: Final = 20
"""What it takes to put a user into words, in rows of a Txn."""

container("ACL", since="6.0.0")


@command("ACL HELP", "loading stale", since="6.0.0", tenants="own")
def acl_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("ACL")


def _users(session: Session) -> Users:
    return session.server.logins.users


# users


@command("ACL WHOAMI", _ANY, since="6.0.0", tenants="own")
def acl_whoami(session: Session) -> bytes:
    """Return the name of the user of this connection."""
    return session.user.name


@command("ACL USERS", _ADMIN, since="6.0.0")
def acl_users(session: Session) -> list[bytes]:
    """List the names of the users."""
    return [user.name for user in _users(session)]


@command("ACL LIST", _ADMIN, since="6.0.0")
def acl_list(session: Session) -> list[bytes]:
    """List the users with their rules."""
    return _lines(session)


def _lines(session: Session) -> list[bytes]:
    """The users in words; of very many, others are served meanwhile."""
    users, txn = list(_users(session)), session.txn
    txn.expect_work(_USER_WORK * len(users))
    lines = []
    for user in users:
        lines.append(describing.line(user))
        txn.pause_if_due()
    return lines


@command("ACL GETUSER username", _ADMIN, since="6.0.0")
def acl_getuser(session: Session, username: bytes) -> Reply:
    """Describe a user."""
    user = _users(session).find(username)
    if user is None:
        return None
    return {
        b"flags": Members(describing.flags(user)),
        b"passwords": list(user.passwords),
        **_described(user.root),
        b"selectors": [_described(selector) for selector in user.selectors[1:]],
        **({b"namespace": user.namespace} if user.namespace else {}),
    }


def _described(selector: Selector) -> dict[bytes, Reply]:
    return {
        b"commands": describing.commands(selector),
        b"keys": describing.keys(selector),
        b"channels": describing.channels(selector),
    }


@command("ACL SETUSER username [rule [rule ...]]", _ADMIN, since="6.0.0")
def acl_setuser(session: Session, username: bytes, *words: bytes) -> Reply:
    """Create a user, or change one: all rules are obeyed, or none if one is refused."""
    if rules.has_spaces(username):
        raise CommandError(errors.BAD_USER_NAME)
    users = _users(session)
    known = users.find(username)
    changed = users.new(username) if known is None else known.copy()
    _obey(changed, words, all_channels=users.all_channels)
    if known is session.user and known.namespace != changed.namespace:
        raise CommandError(errors.OWN_NAMESPACE)
    if changed.namespace:
        session.server.tenancy.make_for_user(changed.namespace)
        session.mark_write()
    if known is None:
        users.add(changed)
    else:
        session.server.logins.change(known, changed, session)
    return OK


def _obey(user: User, words: tuple[bytes, ...], *, all_channels: bool) -> None:
    try:
        for rule in rules.merged(words):
            rules.apply(user, rule, all_channels=all_channels)
    except Unmatched as open_:
        raise errors.unmatched_parenthesis(open_.start) from None
    except RuleError as refused:
        raise errors.bad_acl_rule(refused.rule, refused.reason) from None


@command("ACL DELUSER username [username ...]", _ADMIN, since="6.0.0")
def acl_deluser(session: Session, *usernames: bytes) -> int:
    """Delete users, and cut the clients that were these."""
    if DEFAULT in usernames:
        raise CommandError(errors.DEFAULT_USER_STAYS)
    removed = [_users(session).remove(name) for name in usernames]
    gone = [user for user in removed if user is not None]
    session.server.logins.expel(gone, session)
    return len(gone)


# the file


@command("ACL LOAD", _ADMIN, since="6.0.0")
def acl_load(session: Session) -> Reply:
    """Have the users of the file, and no others; clients of all but the default one are cut."""
    options, users = session.server.options, _users(session)
    if not options.aclfile:
        raise CommandError(errors.NO_ACL_FILE)
    try:
        loaded = acl_file.load(users, file_of(options), options.aclfile)
    except BadUsers as bad:
        raise errors.bad_acl_file(bad.text) from None
    gone = users.replace(loaded)
    session.server.logins.refresh(users.default)
    session.server.logins.expel(gone, session)
    session.server.tenancy.make_for_users()
    session.mark_write()
    return OK


@command("ACL SAVE", _ADMIN, since="6.0.0")
def acl_save(session: Session) -> Reply:
    """Put the users into the file."""
    options = session.server.options
    if not options.aclfile:
        raise CommandError(errors.NO_ACL_FILE)
    try:
        acl_file.save(_lines(session), file_of(options))
    except OSError as failure:
        log.error("cannot save the users: %s", failure)
        raise CommandError(errors.ACL_NOT_SAVED) from None
    return OK


# commands and their categories


@command("ACL CAT [categoryname]", _ANY, since="6.0.0", tenants="own")
def acl_cat(session: Session, *names: bytes) -> list[bytes]:
    """List the categories of commands, or the commands of one."""
    if len(names) > 1:
        raise errors.wrong_subcommand("ACL", session.request[1])
    if not names:
        return [name.encode() for name in CATEGORIES]
    wanted = names[0].lower().decode("latin-1")
    if wanted not in CATEGORIES:
        raise CommandError(b"ERR Unknown category '%b'" % names[0][:128])
    return [entry.name.encode() for entry in every_entry() if wanted in entry.categories]


@command("ACL DRYRUN username command [arg [arg ...]]", _ADMIN, since="7.0.0")
def acl_dryrun(session: Session, username: bytes, *words: bytes) -> Reply:
    """Say whether a user might run a command, without running it."""
    request = list(words)
    user = _users(session).find(username)
    if user is None:
        raise errors.no_such_user(username)
    entry = find_called(request)
    if entry is None:
        raise errors.no_such_command(request[0])
    if not entry.min_args <= len(request) <= entry.max_args:
        raise errors.wrong_arity(entry.name)
    denial = check(user, entry, request)
    if denial is None:
        return OK
    if denial.reason in (COMMAND, TENANT):
        return b"This user has no permissions to run the '%b' command" % entry.name.encode()
    kind = b"key" if denial.reason == KEY else b"channel"
    named = request[denial.at].partition(b"\0")[0]
    return b"This user has no permissions to access the '%b' %b" % (named, kind)


@command("ACL GENPASS [bits]", _ANY, since="6.0.0", tenants="own")
def acl_genpass(session: Session, *bits: bytes) -> bytes:
    """Return a password that nobody can guess."""
    if len(bits) > 1:
        raise errors.wrong_subcommand("ACL", session.request[1])
    count = integer(bits[0]) if bits else _USUAL_BITS
    if not 0 < count <= _MOST_BITS:
        raise CommandError(errors.GENPASS_BITS % _MOST_BITS)
    digits = (count + 3) // 4
    return secrets.token_hex((digits + 1) // 2)[:digits].encode()


# what was refused


@command("ACL LOG [count|RESET]", _ADMIN, since="6.0.0")
def acl_log(session: Session, *words: bytes) -> Reply:
    """Show what was refused lately, or forget it."""
    if len(words) > 1:
        raise errors.wrong_subcommand("ACL", session.request[1])
    denials = session.server.logins.log
    if words and words[0].lower() == b"reset":
        denials.clear()
        return OK
    count = max(0, integer(words[0])) if words else _SHOWN_DENIALS
    return [
        {
            b"count": entry.count,
            b"reason": entry.reason,
            b"context": entry.context,
            b"object": entry.object,
            b"username": entry.user,
            b"age-seconds": denials.age(entry),
            b"client-info": entry.client,
        }
        for entry in islice(denials.entries, count)
    ]
