"""Sorted set commands: ranges by rank, by score and by name."""

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.zsets import zset_ranges
from stratakv.proxy.arguments.zset_options import (
    LEX,
    RANK,
    SCORE,
    RangeOptions,
    lex_range,
    listing,
    range_options,
    rank_range,
    score_range,
)
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import Pairs, Reply

command = CommandGroup("sorted-set").command


@command(
    "ZRANGE key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
    "readonly",
    since="1.2.0",
)
def zrange(txn: Txn, key: bytes, start: bytes, stop: bytes, *options: bytes) -> Reply:
    """Return a range of members, by rank, by score or by name."""
    return _select(txn, key, range_options(start, stop, options))


@command("ZREVRANGE key start stop [WITHSCORES]", "readonly", since="1.2.0")
def zrevrange(txn: Txn, key: bytes, start: bytes, stop: bytes, *options: bytes) -> Reply:
    """Return members by rank, the highest score first."""
    return _select(txn, key, range_options(start, stop, options, by=RANK, reverse=True))


@command("ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]", "readonly", since="1.0.5")
def zrangebyscore(txn: Txn, key: bytes, low: bytes, high: bytes, *options: bytes) -> Reply:
    """Return members by score."""
    return _select(txn, key, range_options(low, high, options, by=SCORE, reverse=False))


@command(
    "ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]", "readonly", since="2.2.0"
)
def zrevrangebyscore(txn: Txn, key: bytes, high: bytes, low: bytes, *options: bytes) -> Reply:
    """Return members by score, the highest first."""
    return _select(txn, key, range_options(high, low, options, by=SCORE, reverse=True))


@command("ZRANGEBYLEX key min max [LIMIT offset count]", "readonly", since="2.8.9")
def zrangebylex(txn: Txn, key: bytes, low: bytes, high: bytes, *options: bytes) -> Reply:
    """Return members by name."""
    return _select(txn, key, range_options(low, high, options, by=LEX, reverse=False))


@command("ZREVRANGEBYLEX key max min [LIMIT offset count]", "readonly", since="2.8.9")
def zrevrangebylex(txn: Txn, key: bytes, high: bytes, low: bytes, *options: bytes) -> Reply:
    """Return members by name, the greatest first."""
    return _select(txn, key, range_options(high, low, options, by=LEX, reverse=True))


def _select(txn: Txn, key: bytes, options: RangeOptions) -> Reply:
    found = zset_ranges.select(txn, key, options.query)
    if found is None:
        return []
    if options.with_scores:
        return listing(txn, Pairs, found.length, found.scored())
    return listing(txn, list, found.length, found.members())


@command(
    "ZRANGESTORE dst src min max [BYSCORE|BYLEX] [REV] [LIMIT offset count]",
    "write denyoom",
    keys=(1, 2, 1),
    key_flags="OW update, RO access",
    since="6.2.0",
)
def zrangestore(
    txn: Txn, destination: bytes, source: bytes, low: bytes, high: bytes, *options: bytes
) -> int:
    """Store a range of members as another sorted set."""
    wanted = range_options(low, high, options, stores=True)
    return zset_ranges.store(txn, destination, source, wanted.query)


@command("ZCOUNT key min max", "readonly fast", since="2.0.0")
def zcount(txn: Txn, key: bytes, low: bytes, high: bytes) -> int:
    """Count the members within a range of scores."""
    return zset_ranges.count(txn, key, score_range(low, high))


@command("ZLEXCOUNT key min max", "readonly fast", since="2.8.9")
def zlexcount(txn: Txn, key: bytes, low: bytes, high: bytes) -> int:
    """Count the members within a range of names."""
    return zset_ranges.count(txn, key, lex_range(low, high))


@command("ZREMRANGEBYRANK key start stop", "write", key_flags="RW delete", since="2.0.0")
def zremrangebyrank(txn: Txn, key: bytes, start: bytes, stop: bytes) -> int:
    """Remove the members within a range of ranks."""
    return zset_ranges.remove(txn, key, rank_range(start, stop), "zremrangebyrank")


@command("ZREMRANGEBYSCORE key min max", "write", key_flags="RW delete", since="1.2.0")
def zremrangebyscore(txn: Txn, key: bytes, low: bytes, high: bytes) -> int:
    """Remove the members within a range of scores."""
    return zset_ranges.remove(txn, key, score_range(low, high), "zremrangebyscore")


@command("ZREMRANGEBYLEX key min max", "write", key_flags="RW delete", since="2.8.9")
def zremrangebylex(txn: Txn, key: bytes, low: bytes, high: bytes) -> int:
    """Remove the members within a range of names."""
    return zset_ranges.remove(txn, key, lex_range(low, high), "zremrangebylex")
