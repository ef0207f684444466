"""Hash commands."""

from collections.abc import Sequence

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import HASH
from stratakv.encodings.types.hashes import hashes
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, Args, integer
from stratakv.proxy.arguments.scanning import parse_cursor, read_scan_options
from stratakv.proxy.commands import effects, streaks
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Pairs, Reply, Stream

command = CommandGroup("hash").command


@command(
    "HSET key field value [field value ...]",
    "write denyoom fast",
    key_flags="RW update",
    since="2.0.0",
    streak=streaks.hset,
)
def hset(txn: Txn, key: bytes, field: bytes, value: bytes, *more: bytes) -> int:
    """Set fields of a hash; returns how many are new."""
    if not more:
        new = hashes.assign(txn, key, field, value)
        if txn.keyspace.notifies:
            txn.event("h", "hset", key)
        return new
    return _assign_all(txn, "hset", key, (field, value, *more))


@command(
    "HMSET key field value [field value ...]",
    "write denyoom fast",
    key_flags="RW update",
    since="2.0.0",
)
def hmset(txn: Txn, key: bytes, *pairs: bytes) -> Reply:
    """Set fields of a hash."""
    _assign_all(txn, "hmset", key, pairs)
    return OK


def _assign_all(txn: Txn, name: str, key: bytes, pairs: Sequence[bytes]) -> int:
    if len(pairs) % 2:
        raise errors.wrong_arity(name)
    return hashes.assign_all(txn, key, pairs)


@command("HSETNX key field value", "write denyoom fast", key_flags="RW insert", since="2.0.0")
def hsetnx(txn: Txn, key: bytes, field: bytes, value: bytes) -> int:
    """Set a field of a hash unless it is there already."""
    return int(hashes.assign_new(txn, key, field, value))


@command("HGET key field", "readonly fast", since="2.0.0", streak=streaks.hget)
def hget(txn: Txn, key: bytes, field: bytes) -> bytes | None:
    """Return the value of a field."""
    return hashes.find(txn, key, field)


@command("HMGET key field [field ...]", "readonly fast", since="2.0.0")
def hmget(txn: Txn, key: bytes, *fields: bytes) -> list[bytes | None]:
    """Return the values of several fields."""
    return hashes.find_all(txn, key, fields)


@command("HGETALL key", "readonly", tips="nondeterministic_output_order", since="2.0.0")
def hgetall(txn: Txn, key: bytes) -> Stream:
    """Return all fields with their values."""
    return Stream(dict, *hashes.everything(txn, key))


@command("HKEYS key", "readonly", tips="nondeterministic_output_order", since="2.0.0")
def hkeys(txn: Txn, key: bytes) -> Stream:
    """Return all fields."""
    return Stream(list, *hashes.names(txn, key))


@command("HVALS key", "readonly", tips="nondeterministic_output_order", since="2.0.0")
def hvals(txn: Txn, key: bytes) -> Stream:
    """Return all values."""
    return Stream(list, *hashes.values(txn, key))


@command("HLEN key", "readonly fast", key_flags="RO", since="2.0.0")
def hlen(txn: Txn, key: bytes) -> int:
    """Return the number of fields."""
    return hashes.count(txn, key)


@command("HEXISTS key field", "readonly fast", key_flags="RO", since="2.0.0")
def hexists(txn: Txn, key: bytes, field: bytes) -> int:
    """Tell whether a field is there."""
    return int(hashes.find(txn, key, field) is not None)


@command("HDEL key field [field ...]", "write fast", key_flags="RW delete", since="2.0.0")
def hdel(txn: Txn, key: bytes, *fields: bytes) -> int:
    """Delete fields; returns how many there were."""
    return hashes.remove(txn, key, fields)


@command("HSTRLEN key field", "readonly fast", key_flags="RO", since="3.2.0")
def hstrlen(txn: Txn, key: bytes, field: bytes) -> int:
    """Return the length of a field's value."""
    return len(hashes.find(txn, key, field) or b"")


@command("HINCRBY key field increment", "write denyoom fast", since="2.0.0")
def hincrby(txn: Txn, key: bytes, field: bytes, increment: bytes) -> int:
    """Add to the integer value of a field."""
    return hashes.increment(txn, key, field, integer(increment))


@command(
    "HINCRBYFLOAT key field increment",
    "write denyoom fast",
    since="2.6.0",
    effect=effects.of_hincrbyfloat,
)
def hincrbyfloat(txn: Txn, key: bytes, field: bytes, increment: bytes) -> bytes:
    """Add to the floating point value of a field."""
    return hashes.increment_float(txn, key, field, increment)


@command(
    "HSCAN key cursor [MATCH pattern] [COUNT count]",
    "readonly",
    tips="nondeterministic_output",
    since="2.8.0",
)
def hscan(txn: Txn, key: bytes, cursor: bytes, *words: bytes) -> list[Reply]:
    """Go through the fields of a hash step by step."""
    place = parse_cursor(cursor)
    meta = txn.look_up(key, HASH)
    if meta is None:
        return [b"0", []]
    matches, limit = read_scan_options(words)
    following, found = hashes.page(txn, meta, place, limit)
    shown = [item for pair in found if matches is None or matches(pair[0]) for item in pair]
    return [b"%d" % following, shown]


@command(
    "HRANDFIELD key [count [WITHVALUES]]", "readonly", tips="nondeterministic_output", since="6.2.0"
)
def hrandfield(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return random fields."""
    if not words:
        return hashes.random_field(txn, key)
    args = Args(words)
    count = args.integer()
    if count < -INT64_MAX:
        raise CommandError(errors.NOT_NEGATABLE)
    with_values = args.accept(b"WITHVALUES")
    args.finish()
    if not with_values:
        return Stream(list, *hashes.random_fields(txn, key, count))
    if abs(count) > INT64_MAX // 2:
        raise CommandError(errors.VALUE_OUT_OF_RANGE)
    return Stream(Pairs, *hashes.random_pairs(txn, key, count))
