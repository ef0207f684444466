"""What the arguments of the stream commands mean: ids, intervals, trimming, reading."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import UNLIMITED
from stratakv.encodings.layout.numbers import INT64_MAX, parse_int
from stratakv.encodings.types.streams.streams import MAX_ID, SEQ, Trim
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args, integer

NEW: Final = MAX_ID
"""The id `>`: what nobody of the group has read."""
LAST: Final = b"$"

_LONGEST_ID: Final = 127
_TRIMMED_NODES: Final = 100
"""What rough trimming takes away at most, if there is no LIMIT."""
_MOST_TRIMMED: Final = 1_000_000
_ENDLESS_MS: Final = 1 << 40
_LOOSE_NUMBER = re.compile(rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)")


# ids


def _parse_u64(text: bytes) -> int | None:
    """A number of 64 bits, as C's strtoull reads what is not a plain number."""
    number = parse_int(text)
    if number is not None:
        return number if number >= 0 else None
    match = _LOOSE_NUMBER.fullmatch(text)
    if match is None or int(match[2]) > SEQ:
        return None
    return -int(match[2]) & SEQ if match[1] == b"-" else int(match[2])


def _parse(text: bytes, missing: int) -> tuple[int, bool] | None:
    """(id, whether its sequence is open) of `ms`, `ms-seq` or `ms-*`."""
    if len(text) > _LONGEST_ID:
        return None
    left, dash, right = text.split(b"\0", 1)[0].partition(b"-")
    is_open = right == b"*"
    ms = _parse_u64(left)
    seq = missing if not dash else 0 if is_open else _parse_u64(right)
    if ms is None or seq is None:
        return None
    return ms << 64 | seq, is_open


def find_id(text: bytes, missing: int = 0) -> int | None:
    """The id that a text is, or None; `missing` is the sequence of an id without one."""
    found = _parse(text, missing)
    return None if found is None or found[1] else found[0]


def strict_id(text: bytes, missing: int = 0) -> int:
    """An id in digits."""
    number = find_id(text, missing)
    if number is None:
        raise CommandError(errors.STREAM_ID)
    return number


def loose_id(text: bytes, missing: int = 0) -> int:
    """An id in digits, or `-` or `+`."""
    plain = text.split(b"\0", 1)[0] if len(text) <= _LONGEST_ID else text
    if plain in (b"-", b"+"):
        return 0 if plain == b"-" else MAX_ID
    return strict_id(text, missing)


def new_id(text: bytes) -> tuple[int, bool]:
    """XADD's id, and whether its sequence is left open."""
    found = _parse(text, 0)
    if found is None:
        raise CommandError(errors.STREAM_ID)
    return found


def interval_start(text: bytes) -> int:
    """The first id of an interval; `(` excludes it."""
    if len(text) < 2 or text[:1] != b"(":
        return loose_id(text)
    number = strict_id(text[1:])
    if number == MAX_ID:
        raise CommandError(errors.STREAM_INTERVAL_START)
    return number + 1


def interval_end(text: bytes) -> int:
    """The last id of an interval; `(` excludes it."""
    if len(text) < 2 or text[:1] != b"(":
        return loose_id(text, SEQ)
    number = strict_id(text[1:], SEQ)
    if number == 0:
        raise CommandError(errors.STREAM_INTERVAL_END)
    return number - 1


# trimming


class TrimOptions:
    """MAXLEN, MINID and LIMIT, as they are met among the arguments."""

    def __init__(self) -> None:
        self._max_length: int | None = None
        self._min_id: int | None = None
        self._limit: int | None = None
        self._is_rough = False

    def accept(self, args: Args) -> bool:
        """Take an option of trimming, if the next argument is one and has a value."""
        if len(args) < 2:
            return False
        word = args.accept(b"MAXLEN", b"MINID", b"LIMIT")
        if not word:
            return False
        if word == b"LIMIT":
            self._limit = _at_least_zero(args, errors.TRIM_LIMIT)
            return True
        if self._is_given:
            raise CommandError(errors.TRIM_TWICE)
        self._is_rough = len(args) >= 2 and args.accept(b"~", b"=") == b"~"
        if word == b"MAXLEN":
            self._max_length = _at_least_zero(args, errors.TRIM_MAXLEN)
        else:
            self._min_id = strict_id(args.take())
        return True

    @property
    def _is_given(self) -> bool:
        return self._max_length is not None or self._min_id is not None

    def finish(self, node_entries: int, *, required: bool, follows: bool = False) -> Trim | None:
        """What they come to; None if there is nothing to trim. Nodes have so many entries.

        A Redis tells its replicas (`follows`) an exact threshold, and leaves LIMIT where it was.
        """
        if follows and not self._is_rough:
            self._limit = None
        if self._limit and not self._is_given:
            raise CommandError(errors.TRIM_LIMIT_ALONE)
        if required and not self._is_given:
            raise CommandError(errors.TRIM_NOTHING)
        if self._limit is not None and not self._is_rough:
            raise CommandError(errors.TRIM_LIMIT_EXACT)
        if not self._is_given:
            return None
        node = node_entries if self._is_rough else 0
        limit = self._limit
        if limit is None:
            limit = min(_TRIMMED_NODES * node_entries, _MOST_TRIMMED)
        return Trim(self._max_length or 0, self._min_id, node, limit)


def _at_least_zero(args: Args, message: bytes) -> int:
    number = args.integer()
    if number < 0:
        raise CommandError(message)
    return number


def limit_of(count: int) -> int:
    """COUNT, of which 0 and less are no limit."""
    return min(count, UNLIMITED) if count > 0 else UNLIMITED


# reading


class ReadOptions(NamedTuple):
    """What XREAD and XREADGROUP are asked for."""

    keys: Sequence[bytes]
    ids: Sequence[bytes]
    limit: int
    block_ms: int | None
    group: bytes | None
    consumer: bytes
    no_ack: bool


def read_options(arguments: Sequence[bytes], *, grouped: bool) -> ReadOptions:
    """The options before STREAMS, and the keys and ids behind it."""
    args = Args(arguments)
    count, block_ms, group, consumer, no_ack = 0, None, None, b"", False
    while True:
        word = args.option()
        if word == b"BLOCK" and args:
            block_ms = _milliseconds(args.take())
        elif word == b"COUNT" and args:
            count = max(0, args.integer())
        elif word == b"STREAMS" and args:
            break
        elif word == b"GROUP" and len(args) >= 2:
            if not grouped:
                raise CommandError(errors.GROUP_OF_XREAD)
            group, consumer = args.take(), args.take()
        elif word == b"NOACK":
            if not grouped:
                raise CommandError(errors.NOACK_OF_XREAD)
            no_ack = True
        else:
            raise errors.syntax()
    places = args.rest()
    half, odd = divmod(len(places), 2)
    if odd:
        raise CommandError(errors.UNBALANCED_STREAMS)
    if grouped and group is None:
        raise CommandError(errors.GROUP_MISSING)
    return ReadOptions(places[:half], places[half:], count, block_ms, group, consumer, no_ack)


def _milliseconds(text: bytes) -> int:
    number = integer(text, errors.TIMEOUT_NOT_INTEGER)
    if number < 0:
        raise CommandError(errors.TIMEOUT_NEGATIVE)
    return number


def seconds(block_ms: int) -> float:
    """BLOCK's time; 0 is for ever, and so are thirty years, since timers take no more."""
    return block_ms / 1000 if block_ms < _ENDLESS_MS else 0.0


def stream_keys(first: int, request: Sequence[bytes]) -> list[bytes]:
    """The keys of XREAD and XREADGROUP: half of what follows STREAMS; none without that word."""
    words = [word.upper() for word in request]
    if b"STREAMS" not in words[first:]:
        return []
    at = words.index(b"STREAMS", first) + 1
    return list(request[at : at + (len(request) - at) // 2])


COUNT_LIMIT: Final = INT64_MAX // 16
"""XAUTOCLAIM's largest COUNT."""
