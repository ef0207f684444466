"""Server commands: its state, whole databases, and the commands that every Redis answers."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from stratakv import __version__, errors
from stratakv.encodings.keyspace import Database
from stratakv.encodings.numbers import parse_int
from stratakv.errors import CommandError
from stratakv.proxy import facts, info, pictures
from stratakv.proxy.args import integer
from stratakv.proxy.blocking import WouldBlock
from stratakv.proxy.commands.clients import milliseconds
from stratakv.proxy.helptext import help_of
from stratakv.proxy.replies import NO_REPLY, OK, Members, Reply, Status, Text
from stratakv.proxy.session import Session
from stratakv.proxy.table import TABLE, command, container

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

_ADMIN = "admin noscript loading stale"


@command("INFO [section [section ...]]", "loading stale")
def info_(session: Session, *sections: bytes) -> Text:
    """Describe the state of the server."""
    names = [section.decode("latin-1").lower() for section in sections]
    return Text(info.report(session.server, names or ["default"]).encode())


@command("TIME", "loading stale fast", since="2.6.0")
def time_(session: Session) -> list[bytes]:
    """Return the time of the server in seconds and microseconds."""
    seconds, micros = divmod(session.server.clock.micros(), 1_000_000)
    return [b"%d" % seconds, b"%d" % micros]


@command("ROLE", "noscript loading stale fast", since="2.8.12")
def role(session: Session) -> Reply:
    """Return the role in replication: a master without replicas."""
    return [b"master", 0, []]


@command("WAIT numreplicas timeout", "noscript", since="3.0.0")
def wait(session: Session, replicas: bytes, timeout: bytes) -> Reply:
    """Wait for replicas, of which there are none."""
    wanted, limit = integer(replicas), milliseconds(timeout)
    if wanted <= 0:
        return 0
    raise WouldBlock([], limit / 1000, 0)


# whole databases


@command("FLUSHDB [ASYNC|SYNC]", "write")
def flushdb(session: Session, *mode: bytes) -> Reply:
    """Delete all keys of the database, at once; their space is reclaimed later."""
    _check_flush_mode(mode)
    _flush(session, [session.txn.db])
    return OK


@command("FLUSHALL [ASYNC|SYNC]", "write")
def flushall(session: Session, *mode: bytes) -> Reply:
    """Delete all keys of all databases, at once; their space is reclaimed later."""
    _check_flush_mode(mode)
    _flush(session, session.server.keyspace.databases)
    return OK


def _check_flush_mode(mode: tuple[bytes, ...]) -> None:
    if len(mode) > 1 or (mode and mode[0].upper() not in (b"ASYNC", b"SYNC")):
        raise errors.syntax()


def _flush(session: Session, databases: list[Database]) -> None:
    keyspace = session.server.keyspace
    _begin_write(session)
    for database in databases:
        if database.live or database.dirty:
            keyspace.flush(database)


def _begin_write(session: Session) -> None:
    """Databases change as a whole: what EXEC wrote before comes first, and rounds begin anew."""
    session.mark_write()
    if session.unit is not None:
        session.unit.apply()
    session.server.housekeeper.reclaimer.reset()


@command("SWAPDB index1 index2", "write fast", since="4.0.0")
def swapdb(session: Session, index1: bytes, index2: bytes) -> Reply:
    """Exchange the contents of two databases."""
    first = _database(session, index1, b"ERR invalid first DB index")
    second = _database(session, index2, b"ERR invalid second DB index")
    databases = session.server.keyspace.databases
    if not (0 <= first < len(databases) and 0 <= second < len(databases)):
        raise CommandError(errors.DB_OUT_OF_RANGE)
    _begin_write(session)
    session.server.keyspace.swap(databases[first], databases[second])
    return OK


def _database(session: Session, text: bytes, message: bytes) -> int:
    number = parse_int(text)
    if number is None or not -(1 << 31) <= number < 1 << 31:
        raise CommandError(message)
    return number


# persistence: everything acknowledged is stored already, so these only sync


@command("SAVE", "admin noscript no_async_loading no_multi")
def save(session: Session) -> Reply:
    """Put everything on stable storage, then answer."""
    session.waiting = True
    _sync(session.server, lambda failure: session.answer_later(failure or OK))
    return NO_REPLY


@command("BGSAVE [SCHEDULE]", "admin noscript no_async_loading")
def bgsave(session: Session, *mode: bytes) -> Reply:
    """Put everything on stable storage in the background."""
    if len(mode) > 1 or (mode and mode[0].upper() != b"SCHEDULE"):
        raise errors.syntax()
    _sync(session.server, lambda failure: None)
    return Status(b"Background saving started")


@command("BGREWRITEAOF", "admin noscript no_async_loading")
def bgrewriteaof(session: Session) -> Reply:
    """Answer as Redis does; LevelDB compacts its log by itself."""
    return Status(b"Background append only file rewriting started")


@command("LASTSAVE", "loading stale fast")
def lastsave(session: Session) -> int:
    """Return when SAVE or BGSAVE last ended."""
    return session.server.last_save


def _sync(server: "Server", done: Callable[[CommandError | None], None]) -> None:
    """Commit and sync in a thread; `done` hears of a failure, or of none."""

    def synced(future: "asyncio.Future[None]") -> None:
        error = future.exception()
        if error is None:
            server.last_save = int(time.time())
        done(errors.misconf(str(error)) if error is not None else None)

    def committed() -> None:
        server.loop.run_in_executor(None, server.store.engine.sync).add_done_callback(synced)

    server.turns.flush_now(committed)


@command(
    "SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
    "admin noscript loading stale no_multi allow_busy",
)
def shutdown(session: Session, *arguments: bytes) -> Reply:
    """Finish what is running, commit, close and exit."""
    words = {argument.upper() for argument in arguments}
    known = {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"}
    if not words <= known or {b"SAVE", b"NOSAVE"} <= words:
        raise errors.syntax()
    if b"ABORT" in words:
        if len(arguments) > 1:
            raise errors.syntax()
        raise CommandError(errors.NO_SHUTDOWN)
    session.server.stopping.set()
    return NO_REPLY


# a cluster and users: what clients ask of a server that has neither


@command("READONLY", "loading stale fast", since="3.0.0")
def readonly(session: Session) -> Reply:
    """Refuse: this is no cluster."""
    raise CommandError(errors.CLUSTER_DISABLED)


@command("READWRITE", "loading stale fast", since="3.0.0")
def readwrite(session: Session) -> Reply:
    """Refuse: this is no cluster."""
    raise CommandError(errors.CLUSTER_DISABLED)


@command("ASKING", "fast", since="3.0.0")
def asking(session: Session) -> Reply:
    """Refuse: this is no cluster."""
    raise CommandError(errors.CLUSTER_DISABLED)


container("CLUSTER", since="3.0.0")


@command("CLUSTER HELP", "loading stale", since="5.0.0")
@command("CLUSTER INFO", "stale", since="3.0.0")
@command("CLUSTER MYID", "stale", since="3.0.0")
@command("CLUSTER NODES", "stale", since="3.0.0")
@command("CLUSTER SHARDS", "stale", since="7.0.0")
@command("CLUSTER SLOTS", "stale", since="3.0.0")
def cluster(session: Session) -> Reply:
    """Refuse: this is no cluster."""
    raise CommandError(errors.CLUSTER_DISABLED)


@command("CLUSTER RESET [HARD|SOFT]", "admin noscript stale", since="3.0.0")
def cluster_reset(session: Session, *words: bytes) -> Reply:
    """Refuse: this is no cluster."""
    raise CommandError(errors.CLUSTER_DISABLED)


container("ACL", since="6.0.0")


@command("ACL HELP", "loading stale", since="6.0.0")
def acl_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("ACL")


@command("ACL WHOAMI", "noscript loading stale", since="6.0.0")
def acl_whoami(session: Session) -> bytes:
    """Return the name of the user of this connection."""
    return session.user


@command("ACL USERS", _ADMIN, since="6.0.0")
def acl_users(session: Session) -> list[bytes]:
    """List the users: there is one, `default`."""
    return [b"default"]


@command("ACL LIST", _ADMIN, since="6.0.0")
def acl_list(session: Session) -> list[bytes]:
    """List the rules of the users."""
    password = b"#" + _password_hash(session) if session.server.password else b"nopass"
    return [b"user default on %b ~* &* +@all" % password]


@command("ACL GETUSER username", _ADMIN, since="6.0.0")
def acl_getuser(session: Session, username: bytes) -> Reply:
    """Describe a user."""
    if username != b"default":
        return None
    password = session.server.password
    return {
        b"flags": Members([b"on"] if password else [b"on", b"nopass"]),
        b"passwords": [_password_hash(session)] if password else [],
        b"commands": b"+@all",
        b"keys": b"~*",
        b"channels": b"&*",
        b"selectors": [],
    }


def _password_hash(session: Session) -> bytes:
    return hashlib.sha256(session.server.password).hexdigest().encode()


@command("ACL CAT [categoryname]", "noscript loading stale", since="6.0.0")
def acl_cat(session: Session, *names: bytes) -> list[bytes]:
    """List the categories of commands, or the commands of one."""
    if len(names) > 1:
        raise errors.wrong_subcommand("ACL", session.request[1])
    if not names:
        return [name.encode() for name in facts.CATEGORIES]
    wanted = names[0].lower().decode("latin-1")
    if wanted not in facts.CATEGORIES:
        raise CommandError(b"ERR Unknown category '%b'" % names[0])
    return [
        one.name.encode()
        for entry in TABLE.values()
        for one in (entry, *entry.subcommands.values())
        if wanted in facts.categories(one)
    ]


@command("LOLWUT [VERSION version]", "readonly fast", since="5.0.0")
def lolwut(session: Session, *arguments: bytes) -> Text:
    """Draw a piece of generative art: strata, never twice the same."""
    numbers = list(arguments)
    if len(arguments) > 1 and arguments[0].upper() == b"VERSION":
        integer(arguments[1])
        numbers = list(arguments[2:])
        for number in numbers[:3]:
            integer(number)
    width, height = ([parse_int(number) or 0 for number in numbers] + [0, 0])[:2]
    picture = pictures.strata(
        width=min(max(width, 0), 200) or 66,
        height=min(max(height, 0), 100) or 15,
        seed=session.server.clock.micros(),
    )
    return Text(f"{picture}\n\nStrataKV {__version__} follows Redis ver. 7.0.15\n".encode())
