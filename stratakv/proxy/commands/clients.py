"""CLIENT: what the server knows of its clients, and what can be done about them."""

from collections.abc import Callable, Iterable

from stratakv import errors
from stratakv.encodings.layout.numbers import parse_int
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer
from stratakv.proxy.clients.session import (
    FROM_MASTER,
    MUTED,
    REPLICA,
    SKIP_NEXT,
    SKIP_THIS,
    SUBSCRIBED,
    UNTOUCHING,
    Session,
)
from stratakv.proxy.commands.connection import checked_name
from stratakv.proxy.observe.client_lines import client_line
from stratakv.proxy.run.guards import BY_COMMAND
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, OK, Reply, Status, Text

_GROUP = CommandGroup("connection")
command, container = _GROUP.command, _GROUP.container

_ANY = "noscript loading stale"
_ADMIN = "admin noscript loading stale"
_TYPES = (b"normal", b"master", b"replica", b"slave", b"pubsub")

Test = Callable[[Session], bool]

container("CLIENT", since="2.4.0")


@command("CLIENT HELP", "loading stale", since="5.0.0", tenants="own")
def client_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("CLIENT")


# the own connection


@command("CLIENT ID", _ANY, since="5.0.0", tenants="own")
def client_id(session: Session) -> int:
    """Return the number of this connection."""
    return session.id


@command("CLIENT GETNAME", _ANY, since="2.6.9", tenants="own")
def client_getname(session: Session) -> bytes | None:
    """Return the name of this connection."""
    return session.profile.name or None


@command("CLIENT SETNAME connection-name", _ANY, since="2.6.9", tenants="own")
def client_setname(session: Session, name: bytes) -> Reply:
    """Name this connection."""
    session.profile.name = checked_name(name)
    return OK


@command(
    "CLIENT SETINFO <LIB-NAME libname|LIB-VER libver>",
    _ANY,
    arity=4,
    tips="request_policy:all_nodes response_policy:all_succeeded",
    since="7.2.0",
    tenants="own",
)
def client_setinfo(session: Session, attribute: bytes, value: bytes) -> Reply:
    """Name the client library and its version."""
    word = attribute.upper()
    if word not in (b"LIB-NAME", b"LIB-VER"):
        raise CommandError(b"ERR Unrecognized option '%b'" % attribute)
    if any(not 33 <= byte <= 126 for byte in value):
        text = b"ERR %b cannot contain spaces, newlines or special characters."
        raise CommandError(text % attribute)
    if word == b"LIB-NAME":
        session.library_name = value
    else:
        session.library_version = value
    return OK


@command("CLIENT REPLY <ON|OFF|SKIP>", _ANY, since="3.2.0", tenants="own")
def client_reply(session: Session, mode: bytes) -> Reply:
    """Turn replies on or off, or skip the next one."""
    word = mode.upper()
    if word == b"ON":
        session.guards &= ~(MUTED | SKIP_NEXT | SKIP_THIS)
        return OK
    if word == b"OFF":
        session.guards = session.guards & ~(SKIP_NEXT | SKIP_THIS) | MUTED
    elif word != b"SKIP":
        raise errors.syntax()
    elif not session.guards & MUTED or session.guards & SKIP_THIS:
        session.guards = session.guards & ~SKIP_THIS | MUTED | SKIP_NEXT
    return NO_REPLY


@command("CLIENT NO-EVICT <ON|OFF>", _ADMIN, since="7.0.0")
def client_no_evict(session: Session, mode: bytes) -> Reply:
    """Spare this client when the largest are cut for the memory of all (maxmemory-clients)."""
    session.profile.no_evict = _is_on(mode)
    return OK


@command("CLIENT NO-TOUCH <ON|OFF>", _ANY, since="7.2.0", tenants="own")
def client_no_touch(session: Session, mode: bytes) -> Reply:
    """Let what this client reads be no use of its keys; TOUCH and writes still are."""
    if _is_on(mode):
        session.guards |= UNTOUCHING
    else:
        session.guards &= ~UNTOUCHING
    return OK


def _is_on(mode: bytes) -> bool:
    word = mode.upper()
    if word not in (b"ON", b"OFF"):
        raise errors.syntax()
    return word == b"ON"


# all connections


@command("CLIENT INFO", _ANY, tips="nondeterministic_output", since="6.2.0", tenants="own")
def client_info(session: Session) -> Text:
    """Describe this connection."""
    return Text(client_line(session, running=_request_bytes(b"client", b"info")) + b"\n")


@command(
    "CLIENT LIST [TYPE <NORMAL|MASTER|REPLICA|PUBSUB>] [ID client-id [client-id ...]]",
    _ADMIN,
    tips="nondeterministic_output",
    since="2.4.0",
    tenants="own",
)
def client_list(session: Session, *arguments: bytes) -> Text:
    """List the connections, one on a line."""
    args = Args(arguments)
    sessions: Iterable[Session] = _visible(session)
    if args and args.peek() == b"TYPE" and len(args) == 2:
        args.take()
        wanted = _of_type(args.take())
        sessions = [one for one in sessions if wanted(one)]
    elif args and args.peek() == b"ID" and len(args) >= 2:
        args.take()
        sessions = _with_ids(session, args.rest())
    args.finish()
    running = _request_bytes(b"client", b"list", *arguments)
    lines = [client_line(one, running=running if one is session else 0) for one in sessions]
    return Text(b"".join(line + b"\n" for line in lines))


def _request_bytes(*words: bytes) -> int:
    """The size of a request on the wire: Redis has it in its buffer while it runs."""
    return sum(len(b"$%d\r\n%b\r\n" % (len(word), word)) for word in words) + len(
        b"*%d\r\n" % len(words)
    )


def _visible(session: Session) -> list[Session]:
    """The clients that this one may know of."""
    return [one for one in session.server.sessions.values() if session.realm.sees(one)]


def _with_ids(session: Session, texts: Iterable[bytes]) -> list[Session]:
    numbers = [integer(text, errors.BAD_CLIENT_ID) for text in texts]
    sessions = {one.id: one for one in _visible(session)}
    return [sessions[number] for number in numbers if number in sessions]


def _of_type(name: bytes) -> Test:
    """A test for Redis's classes of clients."""
    word = name.lower()
    if word not in _TYPES:
        raise errors.unknown_client_type(name)
    wanted = b"replica" if word == b"slave" else word
    return lambda session: _type_of(session) == wanted


def _type_of(session: Session) -> bytes:
    if session.guards & FROM_MASTER:
        return b"master"
    if session.guards & REPLICA:
        return b"replica"
    return b"pubsub" if session.guards & SUBSCRIBED else b"normal"


@command(
    "CLIENT KILL <ip:port|[ID client-id] [TYPE <NORMAL|MASTER|SLAVE|REPLICA|PUBSUB>]"
    " [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES|NO>]>",
    _ADMIN,
    arity=-3,
    since="2.4.0",
    tenants="own",
)
def client_kill(session: Session, *arguments: bytes) -> Reply:
    """Close connections: the one of an address, or all that pass the filters."""
    if len(arguments) == 1:
        if not _kill(session, [_has_address(arguments[0])], skip_me=False):
            raise CommandError(errors.NO_SUCH_CLIENT)
        return OK
    if len(arguments) % 2:
        raise errors.syntax()
    tests: list[Test] = []
    skip_me = True
    for option, value in zip(arguments[::2], arguments[1::2], strict=True):
        word = option.upper()
        if word == b"SKIPME" and value.upper() in (b"YES", b"NO"):
            skip_me = value.upper() == b"YES"
        elif word == b"USER":
            tests.append(_is_user(session, value))
        elif word in _FILTERS:
            tests.append(_FILTERS[word](value))
        else:
            raise errors.syntax()
    return _kill(session, tests, skip_me=skip_me)


def _kill(session: Session, tests: list[Test], *, skip_me: bool) -> int:
    """Close all that pass; returns how many."""
    chosen = [
        one
        for one in _visible(session)
        if all(test(one) for test in tests) and not (skip_me and one is session)
    ]
    for one in chosen:
        if one is session:
            one.closing = True  # after the reply
        else:
            one.connection.abort()
    return len(chosen)


def _has_address(value: bytes) -> Test:
    address = value.decode("latin-1")
    return lambda session: session.connection.address == address


def _has_local_address(value: bytes) -> Test:
    address = value.decode("latin-1")
    return lambda session: session.connection.local_address == address


def _has_id(value: bytes) -> Test:
    number = parse_int(value)
    if number is None or number < 1:
        raise CommandError(errors.CLIENT_ID_TOO_LOW)
    return lambda session: session.id == number


def _is_user(asking: Session, name: bytes) -> Test:
    user = asking.server.logins.users.find(name)
    if user is None or (asking.realm.id and user.namespace != asking.user.namespace):
        raise CommandError(b"ERR No such user '%b'" % name)
    return lambda session: session.user is user


_FILTERS: dict[bytes, Callable[[bytes], Test]] = {
    b"ID": _has_id,
    b"TYPE": _of_type,
    b"ADDR": _has_address,
    b"LADDR": _has_local_address,
}


@command("CLIENT PAUSE timeout [WRITE|ALL]", _ADMIN, since="2.9.50")
def client_pause(session: Session, timeout: bytes, *mode: bytes) -> Reply:
    """Hold commands back for a while: all of them, or those that write."""
    if len(mode) > 1:
        raise errors.wrong_subcommand("CLIENT", session.request[1])
    word = mode[0].upper() if mode else b"ALL"
    if word not in (b"WRITE", b"ALL"):
        raise CommandError(errors.PAUSE_MODE)
    guards = session.server.dispatcher.guards
    guards.pause(BY_COMMAND, milliseconds(timeout) / 1000, writes_only=word == b"WRITE")
    return OK


def milliseconds(text: bytes) -> int:
    """A time-out in milliseconds, or Redis's words for what is wrong with it."""
    number = integer(text, errors.TIMEOUT_NOT_INTEGER)
    if number < 0:
        raise CommandError(errors.TIMEOUT_NEGATIVE)
    return number


@command("CLIENT UNPAUSE", _ADMIN, since="6.2.0")
def client_unpause(session: Session) -> Reply:
    """End a pause."""
    session.server.dispatcher.guards.unpause(BY_COMMAND)
    return OK


@command("CLIENT UNBLOCK client-id [TIMEOUT|ERROR]", _ADMIN, since="5.0.0", tenants="own")
def client_unblock(session: Session, client: bytes, *mode: bytes) -> int:
    """End the wait of a blocked client."""
    if len(mode) > 1:
        raise errors.wrong_subcommand("CLIENT", session.request[1])
    if mode and mode[0].upper() not in (b"TIMEOUT", b"ERROR"):
        raise CommandError(b"ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
    other = session.server.sessions.get(integer(client))
    if other is not None and not session.realm.sees(other):
        other = None
    failing = bool(mode) and mode[0].upper() == b"ERROR"
    blocked = session.server.dispatcher.blocked
    return int(other is not None and blocked.unblock(other, with_error=failing))
