"""Commands that wait for an element: of lists, and of sorted sets.

At the call they take from the first key, in the order given, that has something. A client that
found nothing is parked, and then served from the one key that became ready, if that is of the right
type by then.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import LIST, ZSET
from stratakv.encodings.layout.numbers import parse_long_double
from stratakv.encodings.types.lists import lists
from stratakv.encodings.types.zsets import zsets
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX
from stratakv.proxy.arguments.pop_options import ENDS, EXTREMES, LEFT, MAX, pop_options
from stratakv.proxy.commands import effects
from stratakv.proxy.commands.lists import side
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NULL_ARRAY, Reply

_LISTS, _ZSETS = CommandGroup("list"), CommandGroup("sorted-set")

_ENDLESS_MS: Final = 1 << 40
"""Thirty years are for ever, and timers take no more."""

Serve = Callable[[Txn, bytes], Reply]
"""Takes from a key that has something, and says what the reply is."""


def seconds(text: bytes) -> float:
    """A time-out; 0 is for ever. Fractions are rounded up to milliseconds, as Redis does it."""
    number = parse_long_double(text)
    if number is None:
        raise CommandError(errors.TIMEOUT_NOT_FLOAT)
    if number.is_infinite:
        raise CommandError(errors.TIMEOUT_NEGATIVE)
    millis = -_floor(-number.mantissa * 1000, number.exponent)
    if not 0 <= millis <= INT64_MAX:  # Redis's own number wraps round and is negative
        raise CommandError(errors.TIMEOUT_NEGATIVE)
    return millis / 1000 if millis < _ENDLESS_MS else 0.0


def _floor(mantissa: int, exponent: int) -> int:
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def _take(
    txn: Txn,
    kind: int,
    keys: Sequence[bytes],
    timeout: bytes,
    serve: Serve,
    *,
    denied: Reply = NULL_ARRAY,
) -> Reply:
    """Serve from the first key that has something, or wait for one; `denied` is MULTI's reply."""
    wait = seconds(timeout)
    for key in keys:
        if txn.expect(key, kind) is not None:
            return serve(txn, key)
    retry = partial(_serve_ready, kind, serve)
    raise WouldBlock(keys, wait, NULL_ARRAY, denied=denied, serve=retry)


def _serve_ready(kind: int, serve: Serve, txn: Txn, key: bytes) -> Reply:
    meta = txn.find(key)
    if meta is None or meta.type != kind:
        raise WouldBlock((), 0, None)
    return serve(txn, key)


# lists


@_LISTS.command(
    "BLPOP key [key ...] timeout",
    "write noscript blocking",
    keys=(1, -2, 1),
    key_flags="RW access delete",
    since="2.0.0",
    effect=effects.of_blpop,
)
def blpop(txn: Txn, *arguments: bytes) -> Reply:
    """Remove and return the first element of a list, or wait for one."""
    return _take(txn, LIST, arguments[:-1], arguments[-1], _pop_first)


@_LISTS.command(
    "BRPOP key [key ...] timeout",
    "write noscript blocking",
    keys=(1, -2, 1),
    key_flags="RW access delete",
    since="2.0.0",
    effect=effects.of_brpop,
)
def brpop(txn: Txn, *arguments: bytes) -> Reply:
    """Remove and return the last element of a list, or wait for one."""
    return _take(txn, LIST, arguments[:-1], arguments[-1], _pop_last)


def _pop_first(txn: Txn, key: bytes) -> Reply:
    return [key, lists.pop(txn, key, left=True)]


def _pop_last(txn: Txn, key: bytes) -> Reply:
    return [key, lists.pop(txn, key, left=False)]


@_LISTS.command(
    "BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
    "write denyoom noscript blocking",
    key_flags="RW access delete, RW insert",
    since="6.2.0",
    effect=effects.of_blmove,
)
def blmove(
    txn: Txn, source: bytes, destination: bytes, origin: bytes, goal: bytes, timeout: bytes
) -> Reply:
    """Move an element from one list to another, or wait for one."""
    return _move(txn, source, destination, side(origin), side(goal), timeout)


@_LISTS.command(
    "BRPOPLPUSH source destination timeout",
    "write denyoom noscript blocking",
    key_flags="RW access delete, RW insert",
    since="2.2.0",
    effect=effects.of_brpoplpush,
)
def brpoplpush(txn: Txn, source: bytes, destination: bytes, timeout: bytes) -> Reply:
    """Move the last element of a list to the head of another, or wait for one."""
    return _move(txn, source, destination, False, True, timeout)


def _move(
    txn: Txn, source: bytes, destination: bytes, from_left: bool, to_left: bool, timeout: bytes
) -> Reply:
    def serve(txn: Txn, key: bytes) -> Reply:
        return lists.move(txn, key, destination, from_left=from_left, to_left=to_left)

    return _take(txn, LIST, (source,), timeout, serve, denied=None)


@_LISTS.command(
    "BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
    "write blocking movablekeys",
    key_flags="RW access delete",
    since="7.0.0",
    effect=effects.of_lmpop,
)
def blmpop(txn: Txn, timeout: bytes, *arguments: bytes) -> Reply:
    """Remove and return elements of the first list that is not empty, or wait for one."""
    options = pop_options(arguments, ENDS)

    def serve(txn: Txn, key: bytes) -> Reply:
        return [key, lists.pop_many(txn, key, options.wanted, left=options.side == LEFT)]

    return _take(txn, LIST, options.keys, timeout, serve)


# sorted sets

_ZPOP: Final = "write noscript blocking fast"


@_ZSETS.command(
    "BZPOPMIN key [key ...] timeout",
    _ZPOP,
    keys=(1, -2, 1),
    key_flags="RW access delete",
    since="5.0.0",
    effect=effects.of_bzpopmin,
)
def bzpopmin(txn: Txn, *arguments: bytes) -> Reply:
    """Remove and return the member with the lowest score, or wait for one."""
    return _take(txn, ZSET, arguments[:-1], arguments[-1], _pop_lowest)


@_ZSETS.command(
    "BZPOPMAX key [key ...] timeout",
    _ZPOP,
    keys=(1, -2, 1),
    key_flags="RW access delete",
    since="5.0.0",
    effect=effects.of_bzpopmax,
)
def bzpopmax(txn: Txn, *arguments: bytes) -> Reply:
    """Remove and return the member with the highest score, or wait for one."""
    return _take(txn, ZSET, arguments[:-1], arguments[-1], _pop_highest)


def _pop_lowest(txn: Txn, key: bytes) -> Reply:
    return [key, *zsets.pop(txn, key, 1, highest=False)[0]]


def _pop_highest(txn: Txn, key: bytes) -> Reply:
    return [key, *zsets.pop(txn, key, 1, highest=True)[0]]


@_ZSETS.command(
    "BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
    "write blocking movablekeys",
    key_flags="RW access delete",
    since="7.0.0",
    effect=effects.of_zmpop,
)
def bzmpop(txn: Txn, timeout: bytes, *arguments: bytes) -> Reply:
    """Remove and return members of the first sorted set that is not empty, or wait for one."""
    options = pop_options(arguments, EXTREMES)

    def serve(txn: Txn, key: bytes) -> Reply:
        return [key, zsets.pop(txn, key, options.wanted, highest=options.side == MAX)]

    return _take(txn, ZSET, options.keys, timeout, serve)
