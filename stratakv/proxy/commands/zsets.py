"""Sorted set commands: members and scores."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import ZSET
from stratakv.encodings.layout.numbers import format_float
from stratakv.encodings.types.keys.keys import paced
from stratakv.encodings.types.zsets import zsets
from stratakv.errors import CommandError
from stratakv.proxy.arguments import scanning
from stratakv.proxy.arguments.args import INT64_MAX, Args, ranged
from stratakv.proxy.arguments.pop_options import EXTREMES, MAX, pop_options
from stratakv.proxy.arguments.zset_options import add_options, listing
from stratakv.proxy.commands import effects
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, Pairs, Reply

command = CommandGroup("sorted-set").command

_EXACT_DIGITS: Final = 15
"""So many digits are a double without rounding."""
_PLAIN_DECIMAL: Final = re.compile(rb"-?[0-9]{1,30}(?:\.[0-9]{1,30})?").fullmatch
"""Decimals that are no option, and neither too large nor too small for a double."""

_LARGE: Final = 1 << 62


@command(
    "ZADD key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]",
    "write denyoom fast",
    key_flags="RW update",
    since="1.2.0",
)
def zadd(txn: Txn, key: bytes, *arguments: bytes) -> Reply:
    """Add members to a sorted set, or give members new scores."""
    text = arguments[0]
    if len(arguments) == 2 and (
        (text.isdigit() and len(text) <= _EXACT_DIGITS) or _PLAIN_DECIMAL(text) is not None
    ):
        return zsets.add_one(txn, key, float(text), arguments[1])
    return _add(txn, key, arguments)


@command("ZINCRBY key increment member", "write denyoom fast", since="1.2.0")
def zincrby(txn: Txn, key: bytes, increment: bytes, member: bytes) -> Reply:
    """Add to the score of a member."""
    return _add(txn, key, (increment, member), increments=True)


def _add(txn: Txn, key: bytes, arguments: Sequence[bytes], *, increments: bool = False) -> Reply:
    txn.expect_work(len(arguments) // 2)
    pace = partial(paced, txn) if txn.is_long else iter
    options = add_options(arguments, increments=increments, pace=pace)
    if options.increments:
        score, member = options.pairs[0]
        return zsets.increment(txn, key, score, member, options.rule)
    added, updated = zsets.add(txn, key, options.pairs, options.rule)
    return added + updated if options.counts_changes else added


@command("ZREM key member [member ...]", "write fast", key_flags="RW delete", since="1.2.0")
def zrem(txn: Txn, key: bytes, *members: bytes) -> int:
    """Remove members from a sorted set."""
    return zsets.remove(txn, key, members)


@command("ZCARD key", "readonly fast", key_flags="RO", since="1.2.0")
def zcard(txn: Txn, key: bytes) -> int:
    """Return the number of members of a sorted set."""
    return zsets.length(txn, key)


@command("ZSCORE key member", "readonly fast", since="1.2.0")
def zscore(txn: Txn, key: bytes, member: bytes) -> float | None:
    """Return the score of a member."""
    return zsets.scores(txn, key, (member,))[0]


@command("ZMSCORE key member [member ...]", "readonly fast", since="6.2.0")
def zmscore(txn: Txn, key: bytes, *members: bytes) -> list[float | None]:
    """Return the scores of several members."""
    return zsets.scores(txn, key, members)


@command("ZRANK key member [WITHSCORE]", "readonly fast", since="2.0.0")
def zrank(txn: Txn, key: bytes, member: bytes, *words: bytes) -> Reply:
    """Return the rank of a member, the lowest score first."""
    if words:
        return _rank_with_score(txn, key, member, words, "zrank", reverse=False)
    return zsets.rank(txn, key, member)


@command("ZREVRANK key member [WITHSCORE]", "readonly fast", since="2.0.0")
def zrevrank(txn: Txn, key: bytes, member: bytes, *words: bytes) -> Reply:
    """Return the rank of a member, the highest score first."""
    if words:
        return _rank_with_score(txn, key, member, words, "zrevrank", reverse=True)
    return zsets.rank(txn, key, member, reverse=True)


def _rank_with_score(
    txn: Txn, key: bytes, member: bytes, words: Sequence[bytes], name: str, *, reverse: bool
) -> Reply:
    if len(words) > 1:
        raise errors.wrong_arity(name)
    if words[0].upper() != b"WITHSCORE":
        raise errors.syntax()
    rank = zsets.rank(txn, key, member, reverse=reverse)
    if rank is None:
        return NULL_ARRAY
    return [rank, zsets.scores(txn, key, (member,))[0]]


@command("ZPOPMIN key [count]", "write fast", key_flags="RW access delete", since="5.0.0")
def zpopmin(txn: Txn, key: bytes, *count: bytes) -> Reply:
    """Remove and return the members with the lowest scores."""
    return _pop(txn, key, count, highest=False)


@command("ZPOPMAX key [count]", "write fast", key_flags="RW access delete", since="5.0.0")
def zpopmax(txn: Txn, key: bytes, *count: bytes) -> Reply:
    """Remove and return the members with the highest scores."""
    return _pop(txn, key, count, highest=True)


def _pop(txn: Txn, key: bytes, count: Sequence[bytes], *, highest: bool) -> Reply:
    if not count:
        popped = zsets.pop(txn, key, 1, highest=highest)
        return list(popped[0]) if popped else []
    if len(count) > 1:
        raise errors.syntax()
    wanted = ranged(count[0], 0, INT64_MAX, errors.NOT_POSITIVE)
    popped = zsets.pop(txn, key, wanted, highest=highest)
    return listing(txn, Pairs, len(popped), popped)


@command(
    "ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]",
    "write movablekeys",
    key_flags="RW access delete",
    since="7.0.0",
    effect=effects.of_zmpop,
)
def zmpop(txn: Txn, *arguments: bytes) -> Reply:
    """Remove and return members from the first sorted set that is not empty."""
    options = pop_options(arguments, EXTREMES)
    popped = zsets.pop_first(txn, options.keys, options.wanted, highest=options.side == MAX)
    return NULL_ARRAY if popped is None else popped


@command(
    "ZRANDMEMBER key [count [WITHSCORES]]",
    "readonly",
    tips="nondeterministic_output",
    since="6.2.0",
)
def zrandmember(txn: Txn, key: bytes, *options: bytes) -> Reply:
    """Return random members of a sorted set."""
    if not options:
        return zsets.random_one(txn, key)
    args = Args(options)
    count = _negatable(args)
    with_scores = bool(args.accept(b"WITHSCORES"))
    args.finish()
    if with_scores and abs(count) > INT64_MAX // 2:
        raise CommandError(errors.VALUE_OUT_OF_RANGE)
    length, members = zsets.random_members(txn, key, count)
    if not with_scores:
        return listing(txn, list, length, members)
    return listing(txn, Pairs, length, _scored(txn, key, members))


def _scored(txn: Txn, key: bytes, members: Iterable[bytes]) -> Iterator[tuple[bytes, float | None]]:
    for member in members:
        yield member, zsets.scores(txn, key, (member,))[0]


def _negatable(args: Args) -> int:
    """Take a count that can be negated."""
    count = args.integer()
    if count < -INT64_MAX:
        raise CommandError(errors.NOT_NEGATABLE)
    return count


@command(
    "ZSCAN key cursor [MATCH pattern] [COUNT count]",
    "readonly",
    tips="nondeterministic_output",
    since="2.8.0",
)
def zscan(txn: Txn, key: bytes, cursor: bytes, *options: bytes) -> Reply:
    """Go through the members and scores of a sorted set in steps."""
    position = scanning.parse_cursor(cursor)
    if txn.look_up(key, ZSET) is None:
        return [b"0", []]
    matches, limit = scanning.read_scan_options(options)
    position, page = zsets.scan_page(txn, key, position, limit)
    shown: list[bytes] = []
    for member, score in page:
        if matches is None or matches(member):
            shown += (member, _scanned(score))
    return [b"%d" % position, shown]


def _scanned(score: float) -> bytes:
    """A score as ZSCAN shows it: large integers in full, unlike everywhere else."""
    if score.is_integer() and abs(score) < _LARGE:
        return b"%d" % int(score)
    return format_float(score)
