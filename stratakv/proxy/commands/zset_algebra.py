"""Sorted set commands: unions, intersections and differences, of sets too."""

from collections.abc import Callable, Iterator, Sequence

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.zsets import zset_algebra, zsets
from stratakv.encodings.types.zsets.zset_algebra import Aggregate, Source
from stratakv.encodings.types.zsets.zsets import Scored
from stratakv.proxy.arguments.args import Args
from stratakv.proxy.arguments.zset_options import (
    algebra_options,
    limit_option,
    listing,
    take_keys,
)
from stratakv.proxy.table.registry import CommandGroup, numbered_keys
from stratakv.proxy.wire.replies import Pairs, Reply

command = CommandGroup("sorted-set").command


Operation = Callable[[Txn, Sequence[Source], Aggregate], Iterator[Scored]]


@command(
    "ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]"
    " [WITHSCORES]",
    "readonly movablekeys",
    since="6.2.0",
)
def zunion(txn: Txn, *arguments: bytes) -> Reply:
    """Return the union of sorted sets."""
    return _combine(txn, arguments, "zunion", zset_algebra.union)


@command(
    "ZINTER numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]"
    " [WITHSCORES]",
    "readonly movablekeys",
    since="6.2.0",
)
def zinter(txn: Txn, *arguments: bytes) -> Reply:
    """Return the intersection of sorted sets."""
    return _combine(txn, arguments, "zinter", zset_algebra.intersection)


@command(
    "ZDIFF numkeys key [key ...] [WITHSCORES]",
    "readonly movablekeys",
    since="6.2.0",
)
def zdiff(txn: Txn, *arguments: bytes) -> Reply:
    """Return the members of the first sorted set that the others do not have."""
    return _combine(txn, arguments, "zdiff", zset_algebra.difference)


@command(
    "ZINTERCARD numkeys key [key ...] [LIMIT limit]",
    "readonly movablekeys",
    since="7.0.0",
)
def zintercard(txn: Txn, *arguments: bytes) -> int:
    """Count the members of an intersection of sorted sets."""
    args = Args(arguments)
    sources = zset_algebra.open_sources(txn, take_keys(args, "zintercard"))
    return zset_algebra.intersection_size(txn, sources, limit_option(args))


def _stored_keys(request: Sequence[bytes]) -> list[bytes]:
    return [request[1], *numbered_keys(2, request)]


@command(
    "ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]]"
    " [AGGREGATE <SUM | MIN | MAX>]",
    "write denyoom movablekeys",
    keys=(1, 1, 1),
    key_finder=_stored_keys,
    key_flags="OW update, RO access",
    since="2.0.0",
)
def zunionstore(txn: Txn, destination: bytes, *arguments: bytes) -> int:
    """Store the union of sorted sets."""
    return _store(txn, destination, arguments, "zunionstore", zset_algebra.union)


@command(
    "ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]]"
    " [AGGREGATE <SUM | MIN | MAX>]",
    "write denyoom movablekeys",
    keys=(1, 1, 1),
    key_finder=_stored_keys,
    key_flags="OW update, RO access",
    since="2.0.0",
)
def zinterstore(txn: Txn, destination: bytes, *arguments: bytes) -> int:
    """Store the intersection of sorted sets."""
    return _store(txn, destination, arguments, "zinterstore", zset_algebra.intersection)


@command(
    "ZDIFFSTORE destination numkeys key [key ...]",
    "write denyoom movablekeys",
    keys=(1, 1, 1),
    key_finder=_stored_keys,
    key_flags="OW update, RO access",
    since="6.2.0",
)
def zdiffstore(txn: Txn, destination: bytes, *arguments: bytes) -> int:
    """Store the members of the first sorted set that the others do not have."""
    return _store(txn, destination, arguments, "zdiffstore", zset_algebra.difference)


def _combine(txn: Txn, arguments: Sequence[bytes], name: str, operation: Operation) -> Reply:
    members, with_scores = _begin(txn, Args(arguments), name, operation, stores=False)
    length, ordered = zset_algebra.in_order(txn, members)
    if with_scores:
        return listing(txn, Pairs, length, ordered)
    return listing(txn, list, length, (member for member, _ in ordered))


def _store(
    txn: Txn, destination: bytes, arguments: Sequence[bytes], name: str, operation: Operation
) -> int:
    members, _ = _begin(txn, Args(arguments), name, operation, stores=True)
    return zsets.replace(txn, destination, members, name)


def _begin(
    txn: Txn, args: Args, name: str, operation: Operation, *, stores: bool
) -> tuple[Iterator[Scored], bool]:
    """The members of the result by name, and whether their scores are to be shown."""
    sources = zset_algebra.open_sources(txn, take_keys(args, name))
    weighs = operation is not zset_algebra.difference
    options = algebra_options(args, len(sources), weighs=weighs, stores=stores)
    sources = zset_algebra.weighted(sources, options.weights)
    return operation(txn, sources, options.aggregate), options.with_scores
