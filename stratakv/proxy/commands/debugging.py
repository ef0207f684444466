"""DEBUG: what test suites want, and nobody else."""

import time
from collections.abc import Callable, Sequence

from stratakv import errors
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Uncovered
from stratakv.encodings.layout.numbers import parse_float, parse_int
from stratakv.encodings.types.keys.sizes import stored_bytes
from stratakv.encodings.types.strings import strings
from stratakv.encodings.upkeep import digest
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import ranged
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands.configuration import rewrite_everything
from stratakv.proxy.table.registry import TABLE, CommandGroup
from stratakv.proxy.wire.replies import (
    OK,
    Attribute,
    BigNumber,
    Boolean,
    Members,
    Push,
    Reply,
    Several,
    Status,
    Text,
)

command = CommandGroup("server").command

_ADMIN = "admin noscript loading stale"
_LONGEST_SLEEP = 1e6
_MOST = (1 << 63) - 1


@command("DEBUG subcommand [argument [argument ...]]", _ADMIN)
def debug(session: Session, subcommand: bytes, *arguments: bytes) -> Reply:
    """Do what only tests want: sleep, make keys, tell the digest of all data."""
    allowed = session.server.options.enable_debug_command
    if allowed == "no" or (allowed == "local" and not session.connection.is_local):
        raise CommandError(errors.NO_DEBUG)
    handler, counts = _DEBUG.get(subcommand.upper(), (None, range(0)))
    if handler is None or len(arguments) not in counts:
        raise errors.wrong_subcommand("DEBUG", subcommand)
    return handler(session, *arguments)


def _no_op(session: Session, *arguments: bytes) -> Reply:
    return OK


def _sleep(session: Session, seconds: bytes) -> Reply:
    """As in Redis nobody is served meanwhile."""
    time.sleep(_seconds(seconds))
    return OK


def _sleep_alone(session: Session, seconds: bytes) -> Reply:
    """Only this client waits, with the keys of its transaction locked if it is in one."""
    duration = _seconds(seconds)
    if duration:
        session.txn.expect_work(ROW_BUDGET + 1)  # in the room of long commands one can wait
        server = session.server
        server.slices.wait(lambda resume: server.loop.call_later(duration, resume))
    return OK


def _seconds(text: bytes) -> float:
    number = parse_float(text)
    return 0.0 if number is None or not 0 < number < _LONGEST_SLEEP else number


def _digest(session: Session) -> Reply:
    session.txn.expect_work(ROW_BUDGET + 1)
    return Status(digest.of_everything(session.txn).hex().encode())


def _digest_values(session: Session, *keys: bytes) -> Reply:
    return [Status(digest.of_value(session.txn, key).hex().encode()) for key in keys]


def _populate(session: Session, count: bytes, prefix: bytes = b"key", size: bytes = b"0") -> Reply:
    """Make strings of those that are not there; as in Redis no replica is told."""
    total, length = (ranged(text, 0, _MOST, errors.NOT_POSITIVE) for text in (count, size))
    txn = session.txn
    if session.lock is None and session.unit is None:
        raise Uncovered
    for number in range(total):
        key = b"%b:%d" % (prefix, number)
        if txn.find(key) is None:
            value = b"value:%d" % number
            strings.assign(txn, key, value[: length or None].ljust(length, b"\0"))
        txn.pause_if_due()
    return OK


def _change_id(session: Session) -> Reply:
    """Go on under another id, which no replica knows that comes back."""
    feed = session.server.replication.feed
    if feed.is_open:
        feed.rename()
    return OK


def _replicate(session: Session, *words: bytes) -> Reply:
    """Send replicas a command that has not run here."""
    txn = session.txn
    if txn.keyspace.replicates:
        txn.keyspace.on_effects([(txn.db.index, words)])
    return OK


def _set_active_expire(session: Session, value: bytes) -> Reply:
    session.server.housekeeper.active_expire = (parse_int(value) or 0) != 0
    return OK


def _pause_cron(session: Session, value: bytes) -> Reply:
    session.server.housekeeper.limits_tracking = not parse_int(value)
    return OK


def _allow_all_in_scripts(session: Session, value: bytes) -> Reply:
    session.server.scripting.allows_all = (parse_int(value) or 0) != 0
    return OK


def _object(session: Session, key: bytes) -> Reply:
    meta = session.txn.find(key)
    text = b"Value at:0x%012x refcount:1 encoding:%b serializedlength:%d lru:0 lru_seconds_idle:0"
    if meta is None:
        if session.txn.is_overdue(key):  # still stored: test suites ask for that
            return Status(text % (0, b"none", 0))
        raise CommandError(errors.NO_SUCH_KEY)
    encoding = TABLE[b"object"].subcommands[b"encoding"].handler(session.txn, b"encoding", key)
    size = stored_bytes(session.txn, key, 5)
    return Status(text % (meta.version, encoding, size))


def _reload(session: Session, *options: bytes) -> Reply:
    """Forget what is cached, so that all that follows is read from the store."""
    if not {option.upper() for option in options} <= {b"NOSAVE", b"NOFLUSH", b"MERGE"}:
        raise CommandError(errors.RELOAD_OPTIONS)
    keyspace = session.server.keyspace
    keyspace.collect()
    for database in keyspace.opened.values():
        database.forget()
    session.server.tracking.all_changed(session)
    return OK


def _error(session: Session, text: bytes) -> Reply:
    return CommandError(text)


def _protocol(session: Session, kind: bytes) -> Reply:
    if kind.lower() not in _PROTOCOL:
        text = b"ERR Wrong protocol type name. Please use one of the following: "
        raise CommandError(text + b"|".join(_PROTOCOL))
    if kind.lower() == b"push" and not session.resp3:
        raise CommandError(b"ERR RESP2 is not supported by this command")
    return _PROTOCOL[kind.lower()]


def _rewrite_config(session: Session) -> Reply:
    """Put all settings into the redis.conf, changed or not."""
    rewrite_everything(session)
    return OK


def _help(session: Session) -> list[Status]:
    lines = ["DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"]
    lines += sorted(name.decode() for name in _DEBUG)
    return [Status(line.encode()) for line in lines]


_PROTOCOL: dict[bytes, Reply] = {
    b"string": b"Hello World",
    b"integer": 12345,
    b"double": 3.141,
    b"bignum": BigNumber(b"1234567999999999999999999999999999999"),
    b"null": None,
    b"array": [0, 1, 2],
    b"set": Members([0, 1, 2]),
    b"map": {0: Boolean(False), 1: Boolean(True), 2: Boolean(False)},
    b"attrib": Several(
        [
            Attribute({b"key-popularity": [b"key:123", 90]}),
            b"Some real reply following the attribute",
        ]
    ),
    b"push": Several(
        [Push([b"server-cpu-usage", 42]), b"Some real reply following the push reply"]
    ),
    b"verbatim": Text(b"This is a verbatim\nstring"),
    b"true": Boolean(True),
    b"false": Boolean(False),
}

_Debug = Callable[..., Reply]
_DEBUG: dict[bytes, tuple[_Debug, Sequence[int]]] = {
    b"SLEEP": (_sleep, (1,)),
    b"SLEEP-ALONE": (_sleep_alone, (1,)),
    b"SET-ACTIVE-EXPIRE": (_set_active_expire, (1,)),
    b"PAUSE-CRON": (_pause_cron, (1,)),
    b"OBJECT": (_object, (1,)),
    b"RELOAD": (_reload, range(4)),
    b"LOADAOF": (_reload, (0,)),
    b"DIGEST": (_digest, (0,)),
    b"DIGEST-VALUE": (_digest_values, range(1024)),
    b"POPULATE": (_populate, (1, 2, 3)),
    b"ERROR": (_error, (1,)),
    b"PROTOCOL": (_protocol, (1,)),
    b"QUICKLIST-PACKED-THRESHOLD": (_no_op, (1,)),
    b"CHANGE-REPL-ID": (_change_id, (0,)),
    b"REPLICATE": (_replicate, range(1, 1024)),
    b"SET-DISABLE-DENY-SCRIPTS": (_allow_all_in_scripts, (1,)),
    b"REPLYBUFFER": (_no_op, (2,)),
    b"CONFIG-REWRITE-FORCE-ALL": (_rewrite_config, (0,)),
    b"HELP": (_help, (0,)),
}
