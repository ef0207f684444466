"""Commands on keys of any type."""

from collections.abc import Callable
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.types.keys import copying, keys
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, INT64_MIN, Args, integer
from stratakv.proxy.arguments.scanning import COUNT_LIMIT, DEFAULT_COUNT, parse_cursor
from stratakv.proxy.clients.session import Session
from stratakv.proxy.commands import effects
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Status, Stream

_GROUP = CommandGroup("generic")
command, container = _GROUP.command, _GROUP.container

_TYPE_REPLIES: Final = {number: Status(name) for number, name in metas.NAMES.items()}
_INT32: Final = range(-(1 << 31), 1 << 31)


@command(
    "DEL key [key ...]",
    "write",
    tips="request_policy:multi_shard response_policy:agg_sum",
    key_flags="RM delete",
)
def del_(txn: Txn, *names: bytes) -> int:
    """Delete keys; takes the same short time whatever their size."""
    return keys.delete(txn, names)


@command(
    "UNLINK key [key ...]",
    "write fast",
    tips="request_policy:multi_shard response_policy:agg_sum",
    key_flags="RM delete",
    since="4.0.0",
)
def unlink(txn: Txn, *names: bytes) -> int:
    """Delete keys; the same as DEL, which does not wait for the disk space either."""
    return keys.delete(txn, names)


@command(
    "EXISTS key [key ...]",
    "readonly fast",
    tips="request_policy:multi_shard response_policy:agg_sum",
    key_flags="RO",
    traits="peeks",
)
def exists(txn: Txn, *names: bytes) -> int:
    """Count the keys that exist."""
    return keys.count_existing(txn, names, uses=False)


@command(
    "TOUCH key [key ...]",
    "readonly fast",
    tips="request_policy:multi_shard response_policy:agg_sum",
    key_flags="RO",
    since="3.2.1",
    traits="touches",
)
def touch(txn: Txn, *names: bytes) -> int:
    """Count the keys that exist, as used just now."""
    return keys.count_existing(txn, names, uses=True)


@command("TYPE key", "readonly fast", key_flags="RO", traits="peeks")
def type_(txn: Txn, key: bytes) -> Status:
    """Name the type of a key."""
    meta = txn.glance(key)
    return _TYPE_REPLIES[metas.ABSENT if meta is None else meta.type]


# expire-times


@command(
    "EXPIRE key seconds [NX|XX|GT|LT]",
    "write fast",
    key_flags="RW update",
    effect=effects.of_expire,
)
def expire(txn: Txn, key: bytes, seconds: bytes, *options: bytes) -> int:
    """Let a key expire after some seconds."""
    return _expire(txn, key, seconds, options, "expire", unit_ms=1000, base_ms=txn.now_ms)


@command(
    "PEXPIRE key milliseconds [NX|XX|GT|LT]",
    "write fast",
    key_flags="RW update",
    since="2.6.0",
    effect=effects.of_expire,
)
def pexpire(txn: Txn, key: bytes, milliseconds: bytes, *options: bytes) -> int:
    """Let a key expire after some milliseconds."""
    return _expire(txn, key, milliseconds, options, "pexpire", unit_ms=1, base_ms=txn.now_ms)


@command(
    "EXPIREAT key unix-time-seconds [NX|XX|GT|LT]",
    "write fast",
    key_flags="RW update",
    since="1.2.0",
    effect=effects.of_expire,
)
def expireat(txn: Txn, key: bytes, seconds: bytes, *options: bytes) -> int:
    """Let a key expire at a time given in seconds."""
    return _expire(txn, key, seconds, options, "expireat", unit_ms=1000, base_ms=0)


@command(
    "PEXPIREAT key unix-time-milliseconds [NX|XX|GT|LT]",
    "write fast",
    key_flags="RW update",
    since="2.6.0",
    effect=effects.of_expire,
)
def pexpireat(txn: Txn, key: bytes, milliseconds: bytes, *options: bytes) -> int:
    """Let a key expire at a time given in milliseconds."""
    return _expire(txn, key, milliseconds, options, "pexpireat", unit_ms=1, base_ms=0)


def _expire(
    txn: Txn,
    key: bytes,
    amount: bytes,
    options: tuple[bytes, ...],
    name: str,
    *,
    unit_ms: int,
    base_ms: int,
) -> int:
    conditions = _expire_conditions(options) if options else frozenset[bytes]()
    ms = integer(amount) * unit_ms
    if not INT64_MIN <= ms <= INT64_MAX - base_ms:
        raise errors.invalid_expire(name)
    return int(keys.expire(txn, key, ms + base_ms, conditions))


def _expire_conditions(options: tuple[bytes, ...]) -> frozenset[bytes]:
    for option in options:
        if option.upper() not in (b"NX", b"XX", b"GT", b"LT"):
            raise errors.unsupported_option(option)
    words = frozenset(option.upper() for option in options)
    if b"NX" in words and len(words) > 1:
        raise CommandError(errors.NX_WITH_OTHERS)
    if words >= {b"GT", b"LT"}:
        raise CommandError(errors.GT_WITH_LT)
    return words


@command("TTL key", "readonly fast", tips="nondeterministic_output", traits="peeks")
def ttl(txn: Txn, key: bytes) -> int:
    """Tell in how many seconds a key expires."""
    left_ms = _left_ms(txn, key)
    return left_ms if left_ms < 0 else _rounded_seconds(left_ms)


@command("PTTL key", "readonly fast", tips="nondeterministic_output", traits="peeks", since="2.6.0")
def pttl(txn: Txn, key: bytes) -> int:
    """Tell in how many milliseconds a key expires."""
    return _left_ms(txn, key)


@command("EXPIRETIME key", "readonly fast", traits="peeks", since="7.0.0")
def expiretime(txn: Txn, key: bytes) -> int:
    """Tell at which time in seconds a key expires."""
    at_ms = keys.expire_time(txn, key)
    return at_ms if at_ms < 0 else _rounded_seconds(at_ms)


@command("PEXPIRETIME key", "readonly fast", traits="peeks", since="7.0.0")
def pexpiretime(txn: Txn, key: bytes) -> int:
    """Tell at which time in milliseconds a key expires."""
    return keys.expire_time(txn, key)


def _left_ms(txn: Txn, key: bytes) -> int:
    at_ms = keys.expire_time(txn, key)
    return at_ms if at_ms < 0 else at_ms - txn.now_ms


def _rounded_seconds(ms: int) -> int:
    return (ms + 500) // 1000


@command("PERSIST key", "write fast", key_flags="RW update", since="2.2.0")
def persist(txn: Txn, key: bytes) -> int:
    """Take the expire-time from a key."""
    return int(keys.persist(txn, key))


# other names and databases


@command("RENAME key newkey", "write", key_flags="RW access delete, OW update")
def rename(txn: Txn, key: bytes, newkey: bytes) -> Reply:
    """Give a key another name, replacing what had it."""
    meta = txn.find(key)
    if meta is None:
        raise CommandError(errors.NO_SUCH_KEY)
    copying.rename(txn, meta, key, newkey)
    return OK


@command("RENAMENX key newkey", "write fast", key_flags="RW access delete, OW insert")
def renamenx(txn: Txn, key: bytes, newkey: bytes) -> int:
    """Give a key another name, unless a key has it."""
    meta = txn.find(key)
    if meta is None:
        raise CommandError(errors.NO_SUCH_KEY)
    if txn.find(newkey) is not None:
        return 0
    copying.rename(txn, meta, key, newkey)
    return 1


@command(
    "COPY source destination [DB destination-db] [REPLACE]",
    "write denyoom",
    key_flags="RO access, OW update",
    traits="elsewhere",
    since="6.2.0",
)
def copy(txn: Txn, source: bytes, destination: bytes, *options: bytes) -> int:
    """Copy a key with its expire-time to another name or database."""
    args = Args(options)
    replace, target, chosen = False, txn.db.number, 0
    while args:
        word = args.option()
        if word == b"REPLACE":
            replace = True
        elif word == b"DB" and args:
            target = chosen = _database(txn, args.take())
        else:
            raise errors.syntax()
    if txn.keyspace.is_clustered:  # there is only the one that is called 0
        if chosen:
            raise CommandError(errors.COPY_ON_CLUSTER)
        target = txn.db.number
    if target == txn.db.number and source == destination:
        raise CommandError(errors.SAME_OBJECT)
    return int(copying.copy_key(txn, source, txn.sibling(target), destination, replace=replace))


@command("MOVE key db", "write fast")
def move(txn: Txn, key: bytes, db: bytes) -> int:
    """Move a key to another database, unless it has such a key."""
    if txn.keyspace.is_clustered:
        raise CommandError(errors.MOVE_ON_CLUSTER)
    target = _database(txn, db)
    if target == txn.db.number:
        raise CommandError(errors.SAME_OBJECT)
    return int(copying.move(txn, key, txn.sibling(target)))


def _database(txn: Txn, text: bytes) -> int:
    number = integer(text)
    if number not in _INT32:
        raise CommandError(errors.BEYOND_INT32)
    if not 0 <= number < txn.keyspace.numbers:
        raise CommandError(errors.DB_OUT_OF_RANGE)
    return number


# the keyspace


@command(
    "KEYS pattern",
    "readonly",
    categories="keyspace dangerous",
    tips="request_policy:all_shards nondeterministic_output_order",
)
def keys_(txn: Txn, pattern: bytes) -> Stream:
    """List the keys that match a pattern."""
    found = keys.matching(txn, pattern)
    return Stream(list, len(found), keys.paced(txn, keys.drained(found)))


@command(
    "SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]",
    "readonly",
    tips="nondeterministic_output request_policy:special",
    since="2.8.0",
)
def scan(txn: Txn, cursor: bytes, *options: bytes) -> Reply:
    """Go through the keys in steps; the cursor of a reply asks for the next step."""
    place = parse_cursor(cursor)
    args = Args(options)
    pattern = type_name = None
    amount = DEFAULT_COUNT
    while args:
        word = args.option()
        if word == b"COUNT" and args:
            amount = args.integer()
            if amount < 1:
                raise errors.syntax()
        elif word == b"MATCH" and args:
            pattern = args.take()
        elif word == b"TYPE" and args:
            type_name = args.take().lower()
        else:
            raise errors.syntax()
    following, found = keys.scan(txn, place, min(amount, COUNT_LIMIT), pattern, type_name)
    return [b"%d" % following, found]


@command("RANDOMKEY", "readonly", tips="request_policy:all_shards nondeterministic_output")
def randomkey(txn: Txn) -> bytes | None:
    """Return some key."""
    return keys.choose(txn)


@CommandGroup("server").command(
    "DBSIZE",
    "readonly fast",
    categories="keyspace",
    tips="request_policy:all_shards response_policy:agg_sum",
)
def dbsize(txn: Txn) -> int:
    """Count the keys of the database."""
    return keys.count(txn)


# OBJECT

container("OBJECT", since="2.2.3")


def _describe(
    txn: Txn, key: bytes, describe: Callable[[metas.Meta], bytes | int]
) -> bytes | int | None:
    meta = txn.peek(key)
    return None if meta is None else describe(meta)


@command(
    "OBJECT ENCODING key",
    "readonly",
    tips="nondeterministic_output",
    key_flags="RO",
    traits="peeks",
    since="2.2.3",
)
def object_encoding(txn: Txn, _word: bytes, key: bytes) -> Reply:
    """Name the encoding that Redis would use for the value."""
    return _describe(txn, key, lambda meta: keys.encoding_name(txn, meta))


@command(
    "OBJECT FREQ key",
    "readonly",
    tips="nondeterministic_output",
    key_flags="RO",
    traits="peeks",
    since="4.0.0",
)
def object_freq(txn: Txn, _word: bytes, key: bytes) -> Reply:
    """Tell how often a key is used, if that is counted: while maxmemory-policy is one with LFU."""
    if txn.peek(key) is None:
        return None
    frequencies = txn.keyspace.frequencies
    if frequencies is None:
        raise CommandError(errors.NO_LFU)
    return frequencies.count((txn.db.index, key))


@command(
    "OBJECT IDLETIME key",
    "readonly",
    tips="nondeterministic_output",
    key_flags="RO",
    traits="peeks",
    since="2.2.3",
)
def object_idletime(txn: Txn, _word: bytes, key: bytes) -> Reply:
    """Tell how many seconds ago a key was last used: at least so many if it is not cached."""
    if txn.keyspace.frequencies is not None and txn.peek(key) is not None:
        raise CommandError(errors.LFU_INSTEAD)
    idle_ms = txn.idle_ms(key)
    return _describe(txn, key, lambda meta: idle_ms // 1000)


@command(
    "OBJECT REFCOUNT key",
    "readonly",
    tips="nondeterministic_output",
    key_flags="RO",
    traits="peeks",
    since="2.2.3",
)
def object_refcount(txn: Txn, _word: bytes, key: bytes) -> Reply:
    """Tell how many references Redis would have to the value."""
    return _describe(txn, key, keys.reference_count)


@command("OBJECT HELP", "loading stale", since="6.2.0", tenants="own")
def object_help(session: Session) -> list[Status]:
    """List the subcommands."""
    return [Status(line) for line in _OBJECT_HELP]


_OBJECT_HELP: Final = (
    b"OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    b"ENCODING <key>",
    b"    Return the kind of internal representation used in order to store the value",
    b"    associated with a <key>.",
    b"FREQ <key>",
    b"    Return the access frequency index of the <key>. The returned integer is",
    b"    proportional to the logarithm of the recent access frequency of the key.",
    b"IDLETIME <key>",
    b"    Return the idle time of the <key>, that is the approximated number of",
    b"    seconds elapsed since the last access to the key.",
    b"REFCOUNT <key>",
    b"    Return the number of references of the value associated with the specified",
    b"    <key>.",
    b"HELP",
    b"    Prints this help.",
)
