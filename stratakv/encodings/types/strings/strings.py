"""Strings: the value is the meta's extra, so a string is one row, unless it is long.

    "m#" | ns | h8 | key -> 0 | 1 | u64 version | i64 expire-ms | value        up to PIECE_BYTES
    "m#" | ns | h8 | key -> 1 | 1 | u64 version | i64 expire-ms | u64 length   see pieces.py

Invariants
1. A string of version 0 has no sub rows, so writing over one keeps its incarnation.
2. The version follows from the length whenever a string is written: a longer one than PIECE_BYTES
   is in pieces. (Version 0 of any length is read: there were no pieces at first.)
3. A string that a command makes longer stays within the keyspace's `string_limit`.

Nobody but this module and pieces.py looks into a string's `extra`.
"""

from collections.abc import Iterable, Iterator, Sequence

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import NO_EXPIRY, PIECES, STRING, WHOLE, Meta
from stratakv.encodings.layout.numbers import (
    add_long_doubles,
    format_long_double,
    parse_int,
    parse_long_double,
)
from stratakv.encodings.types.strings import lcs, pieces
from stratakv.encodings.types.strings.pieces import (
    BYTES_PER_WORK,
    IN_PLACE_BYTES,
    STREAMED_BYTES,
    Pieces,
)
from stratakv.errors import CommandError, wrong_type

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)

_BREATH_KEYS = 100

# The work of an LCS in microseconds, measured and rounded up: each byte value that occurs, each
# row and each step of the way back cost a constant; rows also cost a part for each cell.
_LCS_BYTE_VALUE_US = 8
_LCS_STEP_US = 2
_LCS_CELLS_PER_US = 3000


# whole values


def find(txn: Txn, key: bytes) -> bytes | Pieces | None:
    """The value of a string for a reply; a huge one is still to be read."""
    meta = txn.find(key)
    if meta is None:
        txn.missed(key)
        return None
    if meta.type != STRING:
        raise wrong_type()
    if meta.encoding == PIECES:
        return _shown(txn, key, meta)
    return meta.extra  # type: ignore[return-value]  # bytes by the tests above


def value_of(txn: Txn, key: bytes, meta: Meta) -> bytes | Pieces:
    """As `find`, of a string whose meta is known."""
    return _shown(txn, key, meta) if meta.encoding == PIECES else meta.value


def _shown(txn: Txn, key: bytes, meta: Meta) -> bytes | Pieces:
    size = pieces.length(meta)
    txn.spend(size // BYTES_PER_WORK)
    if size > STREAMED_BYTES:
        return pieces.frozen(txn, key, meta)
    return bytes(pieces.opened(txn, meta))


def opened(txn: Txn, meta: Meta) -> bytes | Pieces:
    """The value of a string to look into: of a long one only what is asked for is read."""
    return pieces.opened(txn, meta) if meta.encoding == PIECES else meta.value


def find_opened(txn: Txn, key: bytes) -> bytes | Pieces | None:
    """As `opened`, by the key."""
    meta = txn.look_up(key, STRING)
    return None if meta is None else opened(txn, meta)


def whole(txn: Txn, meta: Meta) -> bytes:
    """The value of a string in one piece, however long it is."""
    if meta.encoding == WHOLE:
        return meta.value
    txn.spend(pieces.length(meta) // BYTES_PER_WORK)
    return bytes(pieces.opened(txn, meta))


def length(meta: Meta | None) -> int:
    """The length of a string, 0 of none."""
    if meta is None:
        return 0
    return pieces.length(meta) if meta.encoding == PIECES else len(meta.value)


def each(txn: Txn, keys: Sequence[bytes]) -> Iterator[bytes | Pieces | None]:
    """The value of each key, None for those that are absent or no strings."""
    for number, key in enumerate(keys):
        if not number % _BREATH_KEYS:
            txn.pause_if_due()
        meta = txn.read(key)
        is_string = meta is not None and meta.type == STRING
        yield value_of(txn, key, meta) if is_string else None  # type: ignore[arg-type]


def find_all(txn: Txn, keys: Sequence[bytes]) -> Iterable[bytes | Pieces | None]:
    """The value of each key, None for those that are absent or no strings."""
    txn.expect_work(len(keys))
    if txn.is_long and not txn.in_unit and "m" not in txn.keyspace.notifies:
        return each(txn, keys)
    values = list(each(txn, keys))
    txn.expect_work(sum([len(value) for value in values if value is not None]) // BYTES_PER_WORK)
    return values


def assign(txn: Txn, key: bytes, value: bytes, expire_ms: int = NO_EXPIRY) -> None:
    """Make the key a string with this value, whatever it was."""
    if len(value) <= txn.keyspace.limits.piece_bytes:
        txn.assign(key, value, expire_ms)
    else:
        txn.expect_work(len(value) // BYTES_PER_WORK)
        pieces.overwrite(txn, pieces.create(txn, key, len(value), expire_ms), 0, value)


def store(txn: Txn, key: bytes, value: bytes, expire_ms: int = NO_EXPIRY) -> None:
    """As `assign`, with the events of SET."""
    assign(txn, key, value, expire_ms)
    if txn.keyspace.notifies:
        txn.event("$", "set", key)
        if expire_ms != NO_EXPIRY:
            txn.event("g", "expire", key)


def assign_if(
    txn: Txn,
    key: bytes,
    value: bytes,
    *,
    exists: bool | None,
    expire_ms: int = NO_EXPIRY,
    keeps_expiry: bool = False,
) -> bool:
    """As `store`, if the key is there (`exists`), is not, or (None) anyway; says if it did."""
    meta = txn.find(key)
    if exists is not None and exists is (meta is None):
        return False
    if keeps_expiry and meta is not None:
        assign(txn, key, value, meta.expire_ms)
        txn.event("$", "set", key)
    else:
        store(txn, key, value, expire_ms)
    return True


def assign_all(txn: Txn, pairs: Sequence[bytes]) -> None:
    """Store keys and values, which follow each other in `pairs`."""
    txn.expect_work(len(pairs) // 2)
    for at in range(0, len(pairs), 2):
        store(txn, pairs[at], pairs[at + 1])
        if not at % _BREATH_KEYS:
            txn.pause_if_due()


def assign_all_if_absent(txn: Txn, pairs: Sequence[bytes]) -> bool:
    """As `assign_all`, but only if no key is there; says if it did."""
    txn.expect_work(len(pairs) // 2)
    if any(txn.find(key) is not None for key in pairs[::2]):
        return False
    assign_all(txn, pairs)
    return True


def exchange(txn: Txn, key: bytes, value: bytes) -> bytes | Pieces | None:
    """Store; returns the value there was."""
    old = find(txn, key)
    store(txn, key, value)
    return old


def take(txn: Txn, key: bytes) -> bytes | Pieces | None:
    """Delete the string; returns its value."""
    value = find(txn, key)
    if value is not None:
        txn.erase(key)
    return value


def expire(txn: Txn, key: bytes, meta: Meta, expire_ms: int) -> None:
    """Give a live key another expire-time; one that has passed deletes it."""
    if not txn.expires_after(expire_ms):
        txn.erase(key)
        return
    if expire_ms != NO_EXPIRY:
        txn.event("g", "expire", key)
    elif meta.expire_ms != NO_EXPIRY:
        txn.event("g", "persist", key)
    if meta.expire_ms != expire_ms:
        txn.save(key, divided(txn, key, meta).with_expiry(expire_ms))


def divided(txn: Txn, key: bytes, meta: Meta) -> Meta:
    """A key whose meta is about to be written: a string too long for a meta goes into pieces."""
    if meta.type != STRING or meta.encoding != WHOLE:
        return meta
    if len(meta.value) <= txn.keyspace.limits.piece_bytes:
        return meta
    assign(txn, key, meta.value, meta.expire_ms)
    return txn.metas[key]


def change(txn: Txn, key: bytes, meta: Meta | None, value: bytes) -> None:
    """Another value for a string, which keeps its expire-time; a new one if there was none."""
    if meta is None or meta.encoding != WHOLE or len(value) > txn.keyspace.limits.piece_bytes:
        assign(txn, key, value, NO_EXPIRY if meta is None else meta.expire_ms)
    else:
        txn.update(key, meta, value)


# numbers


def increment(txn: Txn, key: bytes, amount: int) -> int:
    """Add to the integer that the string shows."""
    meta = txn.expect(key, STRING)
    old: int | None = 0
    if meta is not None:
        old = None if meta.encoding == PIECES else parse_int(meta.value)  # nor is a long string one
    if old is None:
        raise errors.not_integer()
    new = old + amount
    if not INT64_MIN <= new <= INT64_MAX:
        raise CommandError(errors.OVERFLOW)
    change(txn, key, meta, b"%d" % new)
    if txn.keyspace.notifies:
        txn.event("$", "incrby", key)
    return new


def increment_float(txn: Txn, key: bytes, amount: bytes) -> bytes:
    """Add to the number that the string shows, in long double precision."""
    meta = txn.expect(key, STRING)
    old = parse_long_double(b"0") if meta is None else None
    if meta is not None and meta.encoding == WHOLE:  # a number is shorter than a piece
        old = parse_long_double(meta.value)
    step = parse_long_double(amount)
    if old is None or step is None:
        raise errors.not_float()
    total = add_long_doubles(old, step)
    if total is None:
        raise CommandError(errors.NAN_OR_INFINITY)
    value = format_long_double(total)
    change(txn, key, meta, value)
    txn.event("$", "incrbyfloat", key)
    return value


# parts of values


def append(txn: Txn, key: bytes, tail: bytes) -> int:
    """Add to the end; returns the new length."""
    meta = txn.expect(key, STRING)
    size = length(meta)
    if meta is None:
        assign(txn, key, tail)
    else:
        check_length(txn, size + len(tail))
        write(txn, key, meta, size, tail)
    if txn.keyspace.notifies:
        txn.event("$", "append", key)
    return size + len(tail)


def check_length(txn: Txn, size: int) -> None:
    """Refuse a string beyond `proto-max-bulk-len`."""
    if size > txn.keyspace.limits.string_bytes:
        raise CommandError(errors.STRING_TOO_LONG)


def find_part(txn: Txn, key: bytes, start: int, end: int) -> bytes | Pieces:
    """GETRANGE's part: both ends included, negative ones count from the end."""
    meta = txn.look_up(key, STRING)
    if meta is None:
        return b""
    first, stop = _span(length(meta), start, end)
    if meta.encoding == WHOLE:
        return meta.value[first:stop]
    txn.spend((stop - first) // BYTES_PER_WORK)
    if stop - first > STREAMED_BYTES:
        return pieces.frozen(txn, key, meta).cut(first, stop)
    return pieces.opened(txn, meta)[first:stop]


def _span(size: int, start: int, end: int) -> tuple[int, int]:
    """Redis's range as a half-open one."""
    if start < 0 and end < 0 and start > end:
        return 0, 0
    start = max(0, start + size if start < 0 else start)
    end = min(max(0, end + size if end < 0 else end), size - 1)
    return (start, end + 1) if start <= end else (0, 0)


def overwrite(txn: Txn, key: bytes, offset: int, part: bytes) -> int:
    """Write `part` at an offset, padding with zero bytes; returns the length."""
    meta = txn.expect(key, STRING)
    size = length(meta)
    if not part:
        return size
    check_length(txn, offset + len(part))
    write(txn, key, meta, offset, part)
    txn.event("$", "setrange", key)
    return max(size, offset + len(part))


def write(txn: Txn, key: bytes, meta: Meta | None, at: int, part: bytes) -> None:
    """Put bytes at a place in a string or behind it, with zero bytes between."""
    size = max(length(meta), at + len(part))
    if meta is None and not at:
        assign(txn, key, part)
    elif size <= txn.keyspace.limits.piece_bytes and (meta is None or meta.encoding == WHOLE):
        value = meta.value if meta is not None else b""
        before = value if at == len(value) else value[:at].ljust(at, b"\0")
        change(txn, key, meta, b"".join((before, part, value[at + len(part) :])))
    else:
        pieces.overwrite(txn, widened(txn, key, meta, size, len(part)), at, part)


def widened(txn: Txn, key: bytes, meta: Meta | None, size: int, amount: int) -> Meta:
    """A string as pieces of `size` bytes, of which `amount` are about to be written.

    Requires: it is not longer.
    """
    txn.expect_work(amount // BYTES_PER_WORK)
    if meta is None:
        return pieces.create(txn, key, size)
    if meta.encoding == WHOLE:
        value = meta.value
        txn.expect_work(len(value) // BYTES_PER_WORK)
        wide = pieces.create(txn, key, size, meta.expire_ms)
        pieces.overwrite(txn, wide, 0, value)
        return wide
    if not txn.has_room(meta, max(amount, txn.keyspace.limits.piece_bytes), IN_PLACE_BYTES):
        return pieces.renew(txn, key, meta, size)
    txn.update(key, meta, size)
    return txn.metas[key]


# the longest common subsequence


Pair = tuple[Meta | None, Meta | None]


def common_pair(txn: Txn, first: bytes, second: bytes) -> Pair:
    """The two strings that an LCS compares."""
    pair = txn.read(first), txn.read(second)
    if any(meta is not None and meta.type != STRING for meta in pair):
        raise CommandError(errors.LCS_NOT_STRINGS)
    return pair


def prepare_lcs(txn: Txn, pair: Pair) -> tuple[bytes, bytes]:
    """Refuse what Redis has no memory for, announce the work, and read; absent ones are empty."""
    a, b = length(pair[0]), length(pair[1])
    if lcs.table_bytes(a, b) > txn.keyspace.limits.string_bytes:
        raise CommandError(errors.LCS_TOO_LARGE)
    steps = (a + b) * _LCS_STEP_US + a * b // _LCS_CELLS_PER_US
    txn.expect_work(min(a, 256) * _LCS_BYTE_VALUE_US + steps)
    first, second = (whole(txn, meta) if meta is not None else b"" for meta in pair)
    return first, second
