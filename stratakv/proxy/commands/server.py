"""Server commands: its state, whole databases, and the commands that every Redis answers."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from stratakv import REDIS_VERSION, __version__, errors
from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.layout.numbers import parse_int
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, integer, ranged
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands import effects
from stratakv.proxy.commands.clients import milliseconds
from stratakv.proxy.commands.lolwut import strata
from stratakv.proxy.observe import info
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Status, Text

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

_GROUP = CommandGroup("server")
command, container = _GROUP.command, _GROUP.container

_ADMIN = "admin noscript loading stale"


@command(
    "INFO [section [section ...]]",
    "loading stale",
    categories="dangerous",
    tips="nondeterministic_output request_policy:all_shards response_policy:special",
    tenants="own",
)
def info_(session: Session, *sections: bytes) -> Text:
    """Describe the state of the server."""
    names = [section.decode("latin-1").lower() for section in sections]
    server, realm = session.server, session.realm
    if realm.id:
        return Text(info.report_of_tenant(server, realm, names or ["default"]).encode())
    return Text(info.report(server, names or ["default"]).encode())


@command("TIME", "loading stale fast", tips="nondeterministic_output", since="2.6.0", tenants="own")
def time_(session: Session) -> list[bytes]:
    """Return the time of the server in seconds and microseconds."""
    seconds, micros = divmod(session.server.clock.micros(), 1_000_000)
    return [b"%d" % seconds, b"%d" % micros]


@CommandGroup("generic").command(
    "WAITAOF numlocal numreplicas timeout",
    "blocking",
    categories="connection",
    tips="request_policy:all_shards response_policy:agg_min",
    since="7.2.0",
    tenants="own",
)
def waitaof(session: Session, local: bytes, replicas: bytes, timeout: bytes) -> Reply:
    """Wait until what this connection wrote is on stable storage; no replica tells that of itself.

    With `durability = always` every acknowledged write is. Else the store is synced now.
    """
    wanted = integer(local)
    if wanted not in (0, 1):
        raise CommandError(errors.NOT_ZERO_OR_ONE)
    copies = ranged(replicas, 0, INT64_MAX, errors.NOT_POSITIVE)
    seconds = milliseconds(timeout) / 1000
    session.needs_commit = True  # the reply leaves behind the writes that it speaks of
    reached = [int(session.server.options.durability == "always"), 0]
    if session.unit is not None or (reached[0] >= wanted and not copies):
        return reached
    if reached[0] < wanted:
        _sync(session.server, partial(_on_stable_storage, session, reached, copies))
    raise WouldBlock([], seconds, reached)


def _on_stable_storage(
    session: Session, reached: list[int], copies: int, failure: CommandError | None
) -> None:
    """The sync that WAITAOF began has ended: answer, unless it also waits for replicas."""
    if failure is None:
        reached[0] = 1
    waiting = session.server.dispatcher.blocked
    blocked = waiting.find(session)
    if blocked is None or blocked.nothing is not reached:
        return  # its time was over, or the client is gone
    if failure is not None or not copies:
        waiting.release(blocked, failure or reached)


# whole databases


@command(
    "FLUSHDB [ASYNC|SYNC]",
    "write",
    categories="keyspace dangerous",
    tips="request_policy:all_shards response_policy:all_succeeded",
    effect=effects.nothing,
    tenants="own",
)
def flushdb(session: Session, *mode: bytes) -> Reply:
    """Delete all keys of the database, at once; their space is reclaimed later."""
    _check_flush_mode(mode)
    is_of_group = session.txn.keyspace is not session.server.keyspace
    _flush(session, [] if is_of_group else [session.txn.db])
    return OK


@command(
    "FLUSHALL [ASYNC|SYNC]",
    "write",
    categories="keyspace dangerous",
    tips="request_policy:all_shards response_policy:all_succeeded",
    effect=effects.nothing,
    tenants="own",
)
def flushall(session: Session, *mode: bytes) -> Reply:
    """Delete all keys of all databases, at once; their space is reclaimed later."""
    _check_flush_mode(mode)
    _flush(session, _own_databases(session))
    return OK


def _own_databases(session: Session) -> list[Database]:
    """The databases in use of those that the client can select."""
    keyspace = session.server.keyspace
    tenant = keyspace.tenants.of_database(session.txn.db.index)
    return keyspace.databases if tenant is None else keyspace.databases_of(tenant)


def _check_flush_mode(mode: tuple[bytes, ...]) -> None:
    if len(mode) > 1 or (mode and mode[0].upper() not in (b"ASYNC", b"SYNC")):
        raise errors.syntax()


def _flush(session: Session, databases: list[Database]) -> None:
    keyspace = session.server.keyspace
    _begin_write(session)
    session.server.housekeeper.reclaimer.restart()
    for database in databases:
        if database.live or database.dirty:
            keyspace.flush(database)
    for space in session.server.spaces:
        session.server.group_turns.use(session, space)
        space.reclaimer.restart()
        space.keyspace.flush(space.keyspace.databases[0])
    _tell(session)
    session.server.tracking.all_changed(session, session.txn.db.index)


def _tell(session: Session) -> None:
    """Databases have changed as a whole: replicas hear of it at once, since the change is made,
    or with the unit that it is a part of."""
    txn = session.txn
    if session.unit is not None:
        txn.tell(session.request)
    elif txn.keyspace.replicates or txn.follows:
        txn.keyspace.on_effects([(txn.db.index, session.request)])


def _begin_write(session: Session) -> None:
    """Databases change as a whole: what EXEC or a script wrote before comes first."""
    if session.unit is None:
        session.mark_write()
    else:
        session.begin_next_part()


@command(
    "SWAPDB index1 index2",
    "write fast",
    categories="keyspace dangerous",
    since="4.0.0",
    effect=effects.nothing,
    tenants="own",
)
def swapdb(session: Session, index1: bytes, index2: bytes) -> Reply:
    """Exchange the contents of two databases."""
    if session.server.keyspace.is_clustered:
        raise CommandError(errors.SWAPDB_ON_CLUSTER)
    first = _database(session, index1, b"ERR invalid first DB index")
    second = _database(session, index2, b"ERR invalid second DB index")
    keyspace, own = session.server.keyspace, session.txn.db
    count = len(keyspace.databases)
    if not (0 <= first < count and 0 <= second < count):
        raise CommandError(errors.DB_OUT_OF_RANGE)
    _begin_write(session)
    session.server.housekeeper.reclaimer.reset()
    base = own.index - own.number
    keyspace.swap(keyspace.open_database(base + first), keyspace.open_database(base + second))
    _tell(session)
    session.server.tracking.all_changed(session, session.txn.db.index)
    return OK


def _database(session: Session, text: bytes, message: bytes) -> int:
    number = parse_int(text)
    if number is None or not -(1 << 31) <= number < 1 << 31:
        raise CommandError(message)
    return number


# stable storage, and the end


def _sync(server: "Server", done: Callable[[CommandError | None], None]) -> None:
    """Commit and sync in a thread; `done` hears of a failure, or of none."""

    def synced(future: "asyncio.Future[None]") -> None:
        error = None if future.cancelled() else future.exception()
        done(errors.misconf(str(error)) if error is not None else None)

    def committed() -> None:
        server.in_thread(server.store.make_durable).add_done_callback(synced)

    server.turns.flush_now(committed)


@command(
    "SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
    "admin noscript loading stale no_multi allow_busy",
)
def shutdown(session: Session, *arguments: bytes) -> Reply:
    """Finish what is running, commit, close and exit; replicas get everything before, and with
    save points a dump is written."""
    ending = session.server.ending
    words = {argument.upper() for argument in arguments}
    known = {b"NOSAVE", b"SAVE", b"NOW", b"FORCE", b"ABORT"}
    if not words <= known or {b"SAVE", b"NOSAVE"} <= words:
        raise errors.syntax()
    if b"ABORT" in words:
        if len(arguments) > 1:
            raise errors.syntax()
        if not ending.abort():
            raise CommandError(errors.NO_SHUTDOWN)
        return OK
    session.server.loop.call_soon(ending.begin, [word.decode().lower() for word in words])
    raise ending.wait()


# modules: none can be loaded

container("MODULE", since="4.0.0")


@command("MODULE HELP", "loading stale", since="5.0.0", tenants="own")
def module_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("MODULE")


@command("MODULE LIST", "admin noscript", tips="nondeterministic_output_order", since="4.0.0")
def module_list(session: Session) -> Reply:
    """List the loaded modules: there are none."""
    return []


@command("MODULE LOAD path [arg [arg ...]]", "admin noscript no_async_loading", since="4.0.0")
@command(
    "MODULE LOADEX path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
    "admin noscript no_async_loading",
    since="7.0.0",
)
@command("MODULE UNLOAD name", "admin noscript no_async_loading", since="4.0.0")
def module(session: Session, *words: bytes) -> Reply:
    """Refuse: there are no modules."""
    raise CommandError(errors.NO_MODULES)


@command("LOLWUT [VERSION version]", "readonly fast", since="5.0.0", tenants="own")
def lolwut(session: Session, *arguments: bytes) -> Text:
    """Draw a piece of generative art: strata, never twice the same."""
    numbers = list(arguments)
    if len(arguments) > 1 and arguments[0].upper() == b"VERSION":
        integer(arguments[1])
        numbers = list(arguments[2:])
        for number in numbers[:3]:
            integer(number)
    width, height = ([parse_int(number) or 0 for number in numbers] + [0, 0])[:2]
    picture = strata(
        width=min(max(width, 0), 200) or 66,
        height=min(max(height, 0), 100) or 15,
        seed=session.server.clock.micros(),
    )
    return Text(
        f"{picture}\n\nStrataKV {__version__} follows Redis ver. {REDIS_VERSION}\n".encode()
    )
