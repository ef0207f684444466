"""Set commands."""

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import SET
from stratakv.encodings.types.sets import sets
from stratakv.encodings.types.shared import member_rows
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, Args, integer, ranged
from stratakv.proxy.arguments.scanning import parse_cursor, read_scan_options
from stratakv.proxy.commands import effects, streaks
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import Members, Reply, Stream

command = CommandGroup("set").command


@command(
    "SADD key member [member ...]", "write denyoom fast", key_flags="RW insert", streak=streaks.sadd
)
def sadd(txn: Txn, key: bytes, member: bytes, *more: bytes) -> int:
    """Add members to a set; returns how many are new."""
    if not more:
        return sets.add(txn, key, member)
    return sets.add_all(txn, key, (member, *more))


@command("SREM key member [member ...]", "write fast", key_flags="RW delete")
def srem(txn: Txn, key: bytes, *old: bytes) -> int:
    """Take members out of a set; returns how many there were."""
    return sets.remove(txn, key, old)


@command("SCARD key", "readonly fast", key_flags="RO")
def scard(txn: Txn, key: bytes) -> int:
    """Return the number of members."""
    return sets.count(txn, key)


@command("SMEMBERS key", "readonly", tips="nondeterministic_output_order")
def smembers(txn: Txn, key: bytes) -> Stream:
    """Return all members."""
    return Stream(Members, *sets.everything(txn, key))


@command("SISMEMBER key member", "readonly fast", key_flags="RO")
def sismember(txn: Txn, key: bytes, member: bytes) -> int:
    """Tell whether it is a member."""
    return int(sets.contains(txn, key, member))


@command("SMISMEMBER key member [member ...]", "readonly fast", since="6.2.0")
def smismember(txn: Txn, key: bytes, *candidates: bytes) -> list[int]:
    """Tell of several whether they are members."""
    return sets.contains_each(txn, key, candidates)


@command(
    "SPOP key [count]",
    "write fast",
    tips="nondeterministic_output",
    key_flags="RW access delete",
    effect=effects.of_spop,
)
def spop(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Take out random members and return them."""
    if not words:
        return sets.pop(txn, key)
    if len(words) > 1:
        raise errors.syntax()
    count = ranged(words[0], 0, INT64_MAX, errors.NOT_POSITIVE)
    return Stream(Members, *sets.pop_many(txn, key, count))


@command("SRANDMEMBER key [count]", "readonly", tips="nondeterministic_output")
def srandmember(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return random members."""
    if not words:
        return sets.random_member(txn, key)
    if len(words) > 1:
        raise errors.syntax()
    count = integer(words[0])
    if count < -INT64_MAX:
        raise CommandError(errors.NOT_NEGATABLE)
    return Stream(list, *sets.random_members(txn, key, count))


@command("SMOVE source destination member", "write fast", key_flags="RW access delete, RW insert")
def smove(txn: Txn, source: bytes, destination: bytes, member: bytes) -> int:
    """Take a member from one set to another."""
    return int(sets.move(txn, source, destination, member))


@command("SINTER key [key ...]", "readonly", tips="nondeterministic_output_order")
def sinter(txn: Txn, *keys: bytes) -> Stream:
    """Return the members that all sets have."""
    return Stream(Members, *sets.combined(txn, sets.intersection, keys))


@command("SINTERSTORE destination key [key ...]", "write denyoom", key_flags="RW update, RO access")
def sinterstore(txn: Txn, destination: bytes, *keys: bytes) -> int:
    """Store the members that all sets have."""
    return sets.store_combined(txn, sets.intersection, destination, keys, "sinterstore")


@command("SUNION key [key ...]", "readonly", tips="nondeterministic_output_order")
def sunion(txn: Txn, *keys: bytes) -> Stream:
    """Return the members that any of the sets has."""
    return Stream(Members, *sets.combined(txn, sets.union, keys))


@command("SUNIONSTORE destination key [key ...]", "write denyoom", key_flags="OW update, RO access")
def sunionstore(txn: Txn, destination: bytes, *keys: bytes) -> int:
    """Store the members that any of the sets has."""
    return sets.store_combined(txn, sets.union, destination, keys, "sunionstore")


@command("SDIFF key [key ...]", "readonly", tips="nondeterministic_output_order")
def sdiff(txn: Txn, *keys: bytes) -> Stream:
    """Return the members that only the first set has."""
    return Stream(Members, *sets.combined(txn, sets.difference, keys))


@command("SDIFFSTORE destination key [key ...]", "write denyoom", key_flags="OW update, RO access")
def sdiffstore(txn: Txn, destination: bytes, *keys: bytes) -> int:
    """Store the members that only the first set has."""
    return sets.store_combined(txn, sets.difference, destination, keys, "sdiffstore")


@command(
    "SINTERCARD numkeys key [key ...] [LIMIT limit]",
    "readonly movablekeys",
    since="7.0.0",
)
def sintercard(txn: Txn, numkeys: bytes, *words: bytes) -> int:
    """Return the number of members that all sets have."""
    count = ranged(numkeys, 1, INT64_MAX, errors.NUMKEYS)
    if count > len(words):
        raise CommandError(errors.MORE_KEYS_THAN_ARGS)
    args = Args(words[count:])
    limit = 0
    while args:
        if not args.accept(b"LIMIT"):
            raise errors.syntax()
        limit = ranged(args.take(), 0, INT64_MAX, errors.NEGATIVE_LIMIT)
    return sets.count_intersection(txn, words[:count], limit)


@command(
    "SSCAN key cursor [MATCH pattern] [COUNT count]",
    "readonly",
    tips="nondeterministic_output",
    since="2.8.0",
)
def sscan(txn: Txn, key: bytes, cursor: bytes, *words: bytes) -> list[Reply]:
    """Go through the members of a set step by step."""
    place = parse_cursor(cursor)
    meta = txn.look_up(key, SET)
    if meta is None:
        return [b"0", []]
    matches, limit = read_scan_options(words)
    following, found = member_rows.page(txn, meta, place, limit)
    shown = [member for member, _ in found if matches is None or matches(member)]
    return [b"%d" % following, shown]
