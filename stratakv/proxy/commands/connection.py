"""Connection commands: who the client is, and how it wants to be spoken to."""

from stratakv import REDIS_VERSION, errors
from stratakv.encodings.layout.numbers import parse_int
from stratakv.errors import CommandError
from stratakv.proxy.access.users import DEFAULT
from stratakv.proxy.arguments.args import integer
from stratakv.proxy.clients.session import FROM_MASTER, SUBSCRIBED, Session
from stratakv.proxy.run.rights import note_wrong_password
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.encoding import RESP2, RESP3
from stratakv.proxy.wire.replies import OK, PONG, Reply, Status

command = CommandGroup("connection").command

_NEVER_LOGGED_IN = "noscript loading stale fast no_auth allow_busy"


@command(
    "PING [message]",
    "fast",
    traits="subscriber",
    constant=b"+PONG\r\n",
    tips="request_policy:all_shards response_policy:all_succeeded",
    tenants="own",
)
def ping(session: Session, *message: bytes) -> Reply:
    """Answer PONG, or the message."""
    if len(message) > 1:
        raise errors.wrong_arity("ping")
    if session.guards & SUBSCRIBED and not session.resp3:
        return [b"pong", *(message or (b"",))]
    return message[0] if message else PONG


@command("ECHO message", "loading stale fast", tenants="own")
def echo(session: Session, message: bytes) -> bytes:
    """Answer with the message."""
    return message


@command("SELECT index", "loading stale fast", tenants="own")
def select(session: Session, index: bytes) -> Reply:
    """Use another database."""
    number = integer(index)
    if not -(1 << 31) <= number < 1 << 31 and not session.guards & FROM_MASTER:
        raise CommandError(errors.BEYOND_INT32)
    keyspace = session.server.keyspace
    if keyspace.is_clustered and number:
        raise CommandError(errors.SELECT_ON_CLUSTER)
    most = 1 << 62 if session.guards & FROM_MASTER else len(keyspace.databases)
    if keyspace.is_clustered:
        return OK
    if not (0 <= number < most and keyspace.has_database(number)):
        raise CommandError(errors.DB_OUT_OF_RANGE)
    session.select(number)
    return OK


@command("QUIT", _NEVER_LOGGED_IN, arity=-1, traits="immediate subscriber", tenants="own")
def quit_(session: Session, *_: bytes) -> Reply:
    """Answer OK and close the connection."""
    session.closing = True
    return OK


@command("RESET", _NEVER_LOGGED_IN, traits="immediate subscriber", since="6.2.0", tenants="own")
def reset(session: Session) -> Reply:
    """Make the connection as it was at the start."""
    session.server.dispatcher.guards.unwatch(session)
    session.realm.pubsub.forget(session)
    session.server.tracking.end(session)
    session.end_transaction()
    session.reset()
    return Status(b"RESET")


@command("AUTH [username] password", _NEVER_LOGGED_IN, tenants="own")
def auth(session: Session, *credentials: bytes) -> Reply:
    """Be a user, or the default one, from now on."""
    if len(credentials) > 2:
        raise errors.syntax()
    if len(credentials) == 1 and session.server.logins.users.default.needs_no_password:
        raise CommandError(errors.NO_PASSWORD_SET)
    user, password = (DEFAULT, *credentials)[-2:]
    authenticate(session, user, password)
    return OK


def authenticate(session: Session, user: bytes, password: bytes) -> None:
    """Let the client be a user, or raise WRONGPASS and note it."""
    if not session.server.logins.log_in(session, user, password):
        note_wrong_password(session, user)
        raise CommandError(errors.WRONG_PASSWORD)


@command(
    "HELLO [protover [AUTH username password] [SETNAME clientname]]",
    _NEVER_LOGGED_IN,
    since="6.0.0",
    tenants="own",
)
def hello(session: Session, *arguments: bytes) -> Reply:
    """Choose the protocol, authenticate and name the connection in one step."""
    protocol = _parse_protocol(arguments[0]) if arguments else 0
    _obey_hello_options(session, arguments[1:])
    if not session.is_authenticated:
        raise CommandError(errors.HELLO_NEEDS_AUTH)
    if protocol:
        session.encoding = RESP3 if protocol == 3 else RESP2
    return {
        b"server": b"redis",
        b"version": REDIS_VERSION.encode(),
        b"proto": session.encoding.version,
        b"id": session.id,
        b"mode": session.server.mode.encode(),
        b"role": b"master",
        b"modules": [],
    }


def _parse_protocol(text: bytes) -> int:
    protocol = parse_int(text)
    if protocol is None:
        raise CommandError(errors.BAD_PROTOCOL)
    if protocol not in (2, 3):
        raise CommandError(errors.NO_PROTOCOL)
    return protocol


def _obey_hello_options(session: Session, options: tuple[bytes, ...]) -> None:
    """AUTH and SETNAME, each when it is met: what follows may be wrong, as in Redis."""
    at = 0
    while at < len(options):
        word, left = options[at].upper(), len(options) - at - 1
        if word == b"AUTH" and left >= 2:
            authenticate(session, options[at + 1], options[at + 2])
            at += 3
        elif word == b"SETNAME" and left >= 1:
            session.profile.name = checked_name(options[at + 1])
            at += 2
        else:
            raise CommandError(b"ERR Syntax error in HELLO option '%b'" % options[at])


def checked_name(name: bytes) -> bytes:
    """A client's name; raises unless all of it is printable and without spaces."""
    if any(not 33 <= byte <= 126 for byte in name):
        raise CommandError(errors.BAD_CLIENT_NAME)
    return name
