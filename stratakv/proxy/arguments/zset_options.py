"""What sorted set commands share: reading ZADD's flags, bounds, weights; long listings."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED, Txn
from stratakv.encodings.layout.numbers import parse_float
from stratakv.encodings.types.zsets import zset_algebra
from stratakv.encodings.types.zsets.zset_algebra import Aggregate
from stratakv.encodings.types.zsets.zset_ranges import LexRange, Query, Range, RankRange, ScoreRange
from stratakv.encodings.types.zsets.zsets import AddRule
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, Args, integer, ranged, real
from stratakv.proxy.wire.replies import Reply, Stream

RANK, SCORE, LEX = b"", b"BYSCORE", b"BYLEX"

AGGREGATES: Final[dict[bytes, Aggregate]] = {
    b"SUM": zset_algebra.aggregate_sum,
    b"MIN": zset_algebra.aggregate_min,
    b"MAX": zset_algebra.aggregate_max,
}

Pace = Callable[[Sequence[bytes]], Iterable[bytes]]

_ADD_WORDS: Final = (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR")
_BLANKS: Final = b" \t\n\v\f\r"
_DECIMAL: Final = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_HEX: Final = re.compile(
    rb"([+-]?)0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?", re.IGNORECASE
)


# ZADD


class AddOptions(NamedTuple):
    """ZADD's options and what it is to add."""

    rule: AddRule
    counts_changes: bool
    increments: bool
    pairs: list[tuple[float, bytes]]


def add_options(
    arguments: Sequence[bytes], *, increments: bool = False, pace: Pace = iter
) -> AddOptions:
    """Read what follows ZADD's or ZINCRBY's key; `pace` goes through what may be many."""
    args = Args(arguments)
    words = set()
    while word := args.accept(*_ADD_WORDS):
        words.add(word)
    rest = args.rest()
    if not rest or len(rest) % 2:
        raise errors.syntax()
    increments = increments or b"INCR" in words
    _check_add_words(words)
    if increments and len(rest) > 2:
        raise CommandError(errors.INCR_OF_MANY)
    rule = AddRule(b"NX" in words, b"XX" in words, b"GT" in words, b"LT" in words)
    scores = [real(text) for text in pace(rest[::2])]
    pairs = list(zip(scores, rest[1::2], strict=True))
    return AddOptions(rule, b"CH" in words, increments, pairs)


def _check_add_words(words: set[bytes]) -> None:
    if {b"NX", b"XX"} <= words:
        raise CommandError(errors.NX_WITH_XX)
    if len(words & {b"NX", b"GT", b"LT"}) > 1:
        raise CommandError(errors.GT_LT_OR_NX)


# ranges


class RangeOptions(NamedTuple):
    """A query and whether its scores are to be shown."""

    query: Query
    with_scores: bool


def range_options(
    first: bytes,
    second: bytes,
    options: Sequence[bytes],
    *,
    by: bytes | None = None,
    reverse: bool | None = None,
    stores: bool = False,
) -> RangeOptions:
    """Read what follows a range command's key; `by` and `reverse` are given if the name says so."""
    args = Args(options)
    with_scores = False
    offset, limit = 0, -1
    while args:
        word = args.option()
        if word == b"WITHSCORES" and not stores:
            with_scores = True
        elif word == b"LIMIT" and len(args) >= 2:
            offset, limit = args.integer(), args.integer()
        elif word == b"REV" and reverse is None:
            reverse = True
        elif word in (SCORE, LEX) and by is None:
            by = word
        else:
            raise errors.syntax()
    if limit != -1 and not by:
        raise CommandError(errors.LIMIT_OF_RANKS)
    if with_scores and by == LEX:
        raise CommandError(errors.SCORES_OF_LEX)
    low, high = (second, first) if reverse and by else (first, second)
    wanted = _RANGES[by or RANK](low, high)
    if not by:
        offset = 0
    query = Query(wanted, bool(reverse), offset, limit if limit >= 0 else UNLIMITED)
    return RangeOptions(query, with_scores)


def rank_range(start: bytes, end: bytes) -> RankRange:
    """Two ranks."""
    return RankRange(integer(start), integer(end))


def score_range(low: bytes, high: bytes) -> ScoreRange:
    """Two scores, each with `(` in front if it is open."""
    low_is_open, high_is_open = low[:1] == b"(", high[:1] == b"("
    return ScoreRange(
        _bound(low[low_is_open:]), _bound(high[high_is_open:]), low_is_open, high_is_open
    )


def lex_range(low: bytes, high: bytes) -> LexRange:
    """Two names, each with `(` or `[` in front, or `-` and `+` for the utmost ones."""
    low_name, high_name = _name(low), _name(high)
    is_empty = low[:1] == b"+" or high[:1] == b"-"
    return LexRange(low_name, high_name, low[:1] == b"(", high[:1] == b"(", is_empty)


_RANGES: Final[dict[bytes, Callable[[bytes, bytes], Range]]] = {
    RANK: rank_range,
    SCORE: score_range,
    LEX: lex_range,
}


def _bound(text: bytes) -> float:
    """A bound as C reads it: blanks in front, nothing at all, and numbers too large are fine."""
    text = text.split(b"\0", 1)[0]
    if not text:
        return 0.0
    digits = text.lstrip(_BLANKS)
    number = parse_float(digits)
    return _beyond_doubles(digits) if number is None else number


def _beyond_doubles(text: bytes) -> float:
    """The infinity or zero that a number out of a double's range becomes, or the error."""
    if _DECIMAL.fullmatch(text):
        return float(text)
    match = _HEX.fullmatch(text)
    if match is None:
        raise CommandError(errors.MIN_OR_MAX_NOT_FLOAT)
    try:
        return float.fromhex(text.decode("ascii"))
    except OverflowError:
        return float("-inf" if match[1] == b"-" else "inf")


def _name(text: bytes) -> bytes | None:
    mark = text[:1]
    if mark in (b"[", b"("):
        return text[1:]
    if mark in (b"+", b"-") and text[1:2] in (b"", b"\0"):
        return None
    raise CommandError(errors.MIN_OR_MAX_NOT_LEX)


# several keys


def take_keys(args: Args, name: str) -> list[bytes]:
    """Take a number and that many keys."""
    count = args.integer()
    if count < 1:
        raise errors.no_input_keys(name)
    if count > len(args):
        raise errors.syntax()
    return [args.take() for _ in range(count)]


class AlgebraOptions(NamedTuple):
    """What may follow the keys of ZUNION and its like."""

    weights: list[float]
    aggregate: Aggregate
    with_scores: bool


def algebra_options(
    args: Args, count: int, *, weighs: bool = True, stores: bool = False
) -> AlgebraOptions:
    """Read the options after `count` keys; differences do not weigh, stores show no scores."""
    weights = [1.0] * count
    aggregate: Aggregate = zset_algebra.aggregate_sum
    with_scores = False
    while args:
        word = args.option()
        if word == b"WEIGHTS" and weighs and len(args) >= count:
            weights = [args.real(errors.WEIGHT_NOT_FLOAT) for _ in range(count)]
        elif word == b"AGGREGATE" and weighs and args.peek() in AGGREGATES:
            aggregate = AGGREGATES[args.option()]
        elif word == b"WITHSCORES" and not stores:
            with_scores = True
        else:
            raise errors.syntax()
    return AlgebraOptions(weights, aggregate, with_scores)


def limit_option(args: Args) -> int:
    """ZINTERCARD's LIMIT, 0 for none."""
    limit = 0
    while args:
        if args.option() != b"LIMIT":
            raise errors.syntax()
        limit = ranged(args.take(), 0, INT64_MAX, errors.NEGATIVE_LIMIT)
    return limit


# replies


def listing(txn: Txn, kind: type, length: int, items: Iterable[Any]) -> Reply:
    """A reply of that kind; made while it is sent if the command turned out to be long."""
    return Stream(kind, length, items) if txn.is_long else kind(items)
