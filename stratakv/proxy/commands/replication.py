"""Replication: who follows whom, and what replicas and masters say to each other."""

import logging

from stratakv import errors
from stratakv.encodings.layout.numbers import parse_int
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer, ranged
from stratakv.proxy.clients.session import REPLICA, Session
from stratakv.proxy.commands.clients import milliseconds
from stratakv.proxy.replication.failover import NONE
from stratakv.proxy.replication.replicas import Replica
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, OK, Reply, Status
from stratakv.proxy.wire.requests import split_words

command = CommandGroup("server").command

log = logging.getLogger("stratakv")

_LONGEST_HOST = 256
_SYNC = "admin noscript no_async_loading no_multi"


@command("REPLICAOF host port", "admin noscript stale no_async_loading", since="5.0.0")
@command("SLAVEOF host port", "admin noscript stale no_async_loading")
def replicaof(session: Session, host: bytes, port: bytes) -> Reply:
    """Follow a master, or with NO ONE be one."""
    replication = session.server.replication
    if host.upper() == b"NO" and port.upper() == b"ONE":
        if not replication.is_master:
            log.warning("%s makes this server a master", session.connection.address)
            replication.lead()
        return OK
    if session.guards & REPLICA:
        raise CommandError(errors.NOT_FOR_REPLICAS)
    _check_store(session)
    number = ranged(port, 0, 65535, errors.BAD_MASTER_PORT)
    name = host.decode("latin-1")
    link = replication.link
    if link is not None and (link.address.host, link.address.port) == (name, number):
        return Status(b"OK Already connected to specified master")
    log.warning("%s makes this server follow %s %d", session.connection.address, name, number)
    replication.follow(f"{name} {number}")
    return OK


def _check_store(session: Session) -> None:
    """A store that takes no large commits cannot promise to take all that a master writes, and has
    copies of its own."""
    if session.server.keyspace.measures:
        raise CommandError(errors.NO_REPLICATION)


@command(
    "ROLE",
    "noscript loading stale fast",
    categories="admin dangerous",
    since="2.8.12",
    tenants="barred",
)
def role(session: Session) -> Reply:
    """Return the role in replication, and who is on the other side."""
    return session.server.replication.role()


@CommandGroup("generic").command(
    "WAIT numreplicas timeout",
    "noscript",
    categories="connection",
    tips="request_policy:all_shards response_policy:agg_min",
    since="3.0.0",
    tenants="own",
)
def wait(session: Session, replicas: bytes, timeout: bytes) -> Reply:
    """Wait until so many replicas have what this connection wrote; tells how many have."""
    replication = session.server.replication
    if not replication.is_master:
        raise CommandError(errors.WAIT_ON_REPLICA)
    wanted, limit = integer(replicas), milliseconds(timeout)
    session.needs_commit = True  # the reply leaves behind the writes that it speaks of
    return replication.waits.wait(session, wanted, limit / 1000)


@command(
    "FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
    "admin noscript stale",
    since="6.2.0",
)
def failover(session: Session, *words: bytes) -> Reply:
    """Hand the place of the master over to a replica, without losing a write."""
    replication = session.server.replication
    if len(words) == 1 and words[0].upper() == b"ABORT":
        if replication.failover.state == NONE:
            raise CommandError(b"ERR No failover in progress.")
        replication.failover.abort("FAILOVER ABORT")
        return OK
    place: tuple[str, int] | None = None
    timeout_ms = 0
    is_forced = False
    args = Args(words)
    while args:
        word = args.option()
        if word == b"TIMEOUT" and args and not timeout_ms:
            timeout_ms = args.integer()
            if timeout_ms <= 0:
                raise CommandError(b"ERR FAILOVER timeout must be greater than 0")
        elif word == b"TO" and len(args) >= 2 and place is None:
            place = (args.take().decode("latin-1"), args.integer())
        elif word == b"FORCE" and not is_forced:
            is_forced = True
        else:
            raise errors.syntax()
    if replication.failover.state != NONE:
        raise CommandError(b"ERR FAILOVER already in progress.")
    if not replication.is_master:
        raise CommandError(b"ERR FAILOVER is not valid when server is a replica.")
    if not len(replication.replicas):
        raise CommandError(b"ERR FAILOVER requires connected replicas.")
    if is_forced and (place is None or not timeout_ms):
        raise CommandError(errors.FORCED_FAILOVER)
    replication.failover.begin(place, timeout_seconds=timeout_ms / 1000, is_forced=is_forced)
    return OK


# between masters and replicas


@command("PSYNC replicationid offset", _SYNC, arity=-3, since="2.8.0")
def psync(session: Session, replication_id: bytes, offset: bytes, *words: bytes) -> Reply:
    """Send the stream of what is written from an offset on, or everything first."""
    if words and words[0].upper() == b"FAILOVER":
        _take_over(session, replication_id)
    _serve(session, replication_id, offset, greets=True)
    return NO_REPLY


def _take_over(session: Session, replication_id: bytes) -> None:
    """The master of this replica hands its place over."""
    replication = session.server.replication
    if replication.is_master:
        return
    if replication_id.lower() != replication.feed.position.id:
        raise CommandError(b"ERR PSYNC FAILOVER replid must match my replid.")
    log.warning("the master hands its place over to this server")
    replication.lead()


@command("SYNC", _SYNC)
def sync(session: Session) -> Reply:
    """Send everything, then the stream of what is written."""
    _serve(session, b"?", b"-1", greets=False)
    return NO_REPLY


def _serve(session: Session, replication_id: bytes, offset: bytes, *, greets: bool) -> None:
    if session.guards & REPLICA:
        return
    _check_store(session)
    replication = session.server.replication
    if replication.failover.state != NONE:
        raise CommandError(errors.SYNC_IN_FAILOVER)
    if replication.link is not None and not replication.link.is_up:
        raise CommandError(errors.NO_MASTER_LINK)
    if session.out or session.held or session.connection.unsent:
        raise CommandError(errors.SYNC_BEHIND_OUTPUT)
    if session.replica is not None and session.replica.needs_mark:
        raise CommandError(b"ERR Filtered replica requires EOF capability")
    replication.serve(session, replication_id, integer(offset), greets=greets)


@command("REPLCONF", "admin noscript loading stale allow_busy", arity=-1, since="3.0.0")
def replconf(session: Session, *words: bytes) -> Reply:
    """Tell or ask something of the other side, before the stream and during it."""
    if len(words) % 2:
        raise errors.syntax()
    for option, value in zip(words[::2], words[1::2], strict=True):
        word = option.lower()
        if word == b"ack":
            return _acknowledged(session, value)
        if word == b"getack":
            return NO_REPLY
        _note(session, word, option, value)
    return OK


def _acknowledged(session: Session, offset: bytes) -> Reply:
    number = parse_int(offset)
    if session.guards & REPLICA and session.replica is not None and number is not None:
        session.server.replication.acknowledged(session.replica, number)
    return NO_REPLY


def _note(session: Session, word: bytes, option: bytes, value: bytes) -> None:
    """What a replica tells of itself."""
    if session.replica is None:
        session.replica = Replica(session)
    replica = session.replica
    if word == b"listening-port":
        replica.port = integer(value)
    elif word == b"ip-address":
        if len(value) >= _LONGEST_HOST:
            raise errors.long_replica_address(len(value))
        replica.ip = value.decode("latin-1")
    elif word == b"capa":
        replica.takes_mark = replica.takes_mark or value.lower() == b"eof"
        replica.holds_tenants = replica.holds_tenants or value.lower() == b"namespaces"
    elif word == b"rdb-only":
        wanted = integer(value)
        if wanted not in (0, 1):
            raise CommandError(errors.NOT_ZERO_OR_ONE)
        replica.wants_dump_only = bool(wanted)
    elif word == b"rdb-filter-only":
        filters = split_words(value)
        if filters is None:
            raise CommandError(b"ERR Missing rdb-filter-only values")
        replica.filter_dump(filters)
    elif word != b"version":
        raise CommandError(b"ERR Unrecognized REPLCONF option: %b" % option)
