"""STRATA: what only StrataKV has. Rows, policies, moving keys to other encode-versions, backups."""

import os
from pathlib import Path

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.layout.formats import CHOICES
from stratakv.encodings.layout.globs import compile_glob, literal_prefix
from stratakv.encodings.upkeep import inspect
from stratakv.encodings.upkeep.expiry_times import forecast
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.jobs.reencode_job import Reencoding
from stratakv.proxy.table.helptext import help_of
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, OK, Reply, Status

_GROUP = CommandGroup("server")
command, container = _GROUP.command, _GROUP.container

HOT_KEYS = 20
MOST_HOT_KEYS = 1000
FORECASTS = (60, 600, 3600, 86400)
MOST_FORECASTS = 100
MOST_SECONDS = 10**9

container("STRATA", since="7.0.0")


@command("STRATA HELP", "loading stale", since="7.0.0", tenants="own")
def strata_help(session: Session) -> list[Status]:
    """Show the subcommands."""
    return help_of("STRATA")


@command("STRATA INSPECT key", "readonly", since="7.0.0", tenants="barred")
def strata_inspect(txn: Txn, _word: bytes, key: bytes) -> Reply:
    """Show a key's rows, its meta in parts, what the engine says of sizes, its tier entries."""
    txn.keyspace.settle()
    txn.keyspace.collect()
    lines = list(inspect.inspect(txn.store, txn.db.ns, key))
    meta = txn.find(key)
    if meta is not None:
        lines += inspect.sizes(txn.store, meta)
    if meta is not None and meta.format.tiered:
        name = inspect.entry_name(txn.keyspace.tier, meta, len(txn.db.ns))
        requests = inspect.entry_requests(name, meta)
        lines += inspect.entry_lines(name, inspect.ask(txn, meta, requests))
    return [line.encode("latin-1", "replace") for line in lines]


@command("STRATA POLICY EXPLAIN key", "readonly", since="7.0.0", keys=(3, 3, 1), tenants="barred")
def strata_policy(txn: Txn, _word: bytes, action: bytes, key: bytes) -> Reply:
    """Say which policy applies to a key, and what follows from it."""
    if action.upper() != b"EXPLAIN":
        raise errors.syntax()
    keyspace = txn.keyspace
    policy = keyspace.policy(txn.db, key)
    if policy is None:
        reason = b"no policy matches: the defaults apply"
    else:
        where = f"db {policy.database}" if policy.database is not None else "any db"
        text = f"match {policy.pattern.decode('utf-8', 'replace')!r} in {where} ({policy.source})"
        reason = text.encode()
    shown: dict[bytes, Reply] = {b"rule": reason}
    for type_ in CHOICES:
        shown[metas.NAMES[type_]] = keyspace.encoding(txn.db, type_, key)
    shown[b"cache"] = b"on" if policy is None or policy.cache else b"off"
    ttl = None if policy is None else policy.cache_ttl_seconds
    shown[b"cache-ttl"] = ttl or keyspace.tier.ttl_seconds
    meta = txn.find(key)
    if meta is not None:
        shown[b"stored-as"] = b"%b v%d" % (metas.NAMES[meta.type], meta.encoding)
    return shown


@command("STRATA REENCODE pattern version", "write admin noscript", since="7.0.0")
def strata_reencode(session: Session, pattern: bytes, version: bytes) -> Reply:
    """Move hashes, sets and sorted sets to an encode-version, in the background."""
    server = session.server
    number = integer(version)
    highest = max(map(max, CHOICES.values()))
    if not 0 <= number <= highest:
        raise errors.no_such_version(highest)
    if server.reencoding is not None and server.reencoding.running:
        raise CommandError(errors.REENCODING)
    job = Reencoding(server, session.txn.db, pattern, compile_glob(pattern), number)
    if literal_prefix(pattern) == pattern and session.txn.find(pattern) is None:
        raise CommandError(errors.NO_SUCH_KEY)
    server.reencoding = job
    job.start()
    return OK


@command("STRATA PROGRESS", "admin noscript loading stale", since="7.0.0")
def strata_progress(session: Session) -> Reply:
    """Say how far the last STRATA REENCODE is."""
    job = session.server.reencoding
    return {b"running": 0} if job is None else dict(job.progress())


@command("STRATA HOTKEYS [count]", "admin noscript loading stale", since="7.0.0")
def strata_hotkeys(session: Session, *arguments: bytes) -> Reply:
    """Sample which keys requests name most, for half a minute on, and return those met so far."""
    if len(arguments) > 1:
        raise errors.wrong_subcommand("STRATA", session.request[1])
    count = integer(arguments[0]) if arguments else HOT_KEYS
    if not 0 < count <= MOST_HOT_KEYS:
        raise CommandError(errors.OUT_OF_RANGE)
    hot = session.server.dispatcher.guards.hot_keys
    hot.ask()
    return {
        b"seconds": hot.seconds(),
        b"requests": hot.requests,
        b"keys": [list(one) for one in hot.most_used(count)],
    }


@command("STRATA EXPIRING [seconds ...]", "readonly", since="7.0.0", keys=(0, 0, 0))
def strata_expiring(txn: Txn, _word: bytes, *arguments: bytes) -> Reply:
    """Count the keys that expire within so many seconds: seconds, keys, and 1 if these are all."""
    within = [integer(one) for one in arguments] or FORECASTS
    if len(within) > MOST_FORECASTS or not all(0 < one <= MOST_SECONDS for one in within):
        raise CommandError(errors.OUT_OF_RANGE)
    return [[one.seconds, one.keys, int(one.is_all)] for one in forecast(txn, within)]


@command("STRATA ADOPT", "admin noscript", since="7.0.0")
def strata_adopt(session: Session) -> Reply:
    """Use a zset-store that was emptied, and give up the scores that it has lost."""
    session.server.tier_control.adopt()
    return OK


@command(
    "STRATA COMPACT [<DB number|KEY key>]", "admin noscript no_multi", since="7.0.0", keys=(0, 0, 0)
)
def strata_compact(session: Session, *words: bytes) -> Reply:
    """Rewrite everything, a database or the rows of a key without what was deleted, in the
    background.
    """
    server, guards = session.server, session.server.dispatcher.guards
    ranges = _ranges(session, words)
    if server.compaction.is_running:
        raise CommandError(errors.COMPACTING)
    if guards.refusal:
        raise errors.misconf(guards.refusal, for_good=guards.refused_for_good)
    server.compaction.start(ranges)
    return Status(b"Background compaction started")


def _ranges(session: Session, words: tuple[bytes, ...]) -> list[rows.Range]:
    """The rows that STRATA COMPACT is about."""
    if not words:
        return rows.everything()
    if len(words) != 2:
        raise errors.syntax()
    kind, name = words
    if kind.upper() == b"KEY":
        return rows.ranges_of_key(session.txn.db.ns, name)
    if kind.upper() != b"DB":
        raise errors.syntax()
    databases = session.server.keyspace.databases
    number = integer(name)
    if not 0 <= number < len(databases):
        raise CommandError(errors.DB_OUT_OF_RANGE)
    return rows.ranges_of_namespace(databases[number].ns)


@command("STRATA BACKUP path", "admin noscript no_multi", since="7.0.0")
def strata_backup(session: Session, path: bytes) -> Reply:
    """Make a copy of the data directory that opens as one, while clients are served."""
    place = Path(os.fsdecode(path))
    if not place.is_absolute():
        raise CommandError(errors.NO_BACKUP_PLACE)
    backups = session.server.backups
    if backups.is_running:
        raise CommandError(errors.BACKING_UP)
    session.server.dispatcher.pipelines.await_answer(session)

    def done(failure: str) -> None:
        refused = CommandError(b"ERR " + failure.encode("utf-8", "surrogateescape"))
        session.answer_later(refused if failure else OK)

    backups.start(place, done)
    return NO_REPLY
