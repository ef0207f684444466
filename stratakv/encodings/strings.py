"""Strings: the value is the meta's extra, so a string is one row.

    "m#" | ns | h8 | key -> 0 | 1 | u64 version | i64 expire-ms | value

Invariants
1. A string has no sub rows.
2. Writing over a string keeps its incarnation: there are no sub rows to tell apart.
3. A string that a command makes longer stays within the keyspace's `string_limit`.
"""

from collections.abc import Sequence

from stratakv import errors
from stratakv.encodings import lcs
from stratakv.encodings.metas import NO_EXPIRY, STRING, Meta
from stratakv.encodings.numbers import (
    add_long_doubles,
    format_long_double,
    parse_int,
    parse_long_double,
)
from stratakv.encodings.txn import Txn
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


def find(txn: Txn, key: bytes) -> bytes | None:
    """Return the value of a string."""
    meta = txn.find(key)
    if meta is None:
        return None
    if meta.type != STRING:
        raise wrong_type()
    return meta.extra  # type: ignore[return-value]  # bytes by the type test above


def find_all(txn: Txn, keys: Sequence[bytes]) -> list[bytes | None]:
    """The value of each key, None for those that are absent or no strings."""
    txn.expect_work(len(keys))
    values: list[bytes | None] = []
    for number, key in enumerate(keys):
        meta = txn.find(key)
        values.append(meta.value if meta is not None and meta.type == STRING else None)
        if not number % _BREATH_KEYS:
            txn.breathe()
    return values


def assign(txn: Txn, key: bytes, value: bytes, expire_ms: int = NO_EXPIRY) -> None:
    """Make the key a string with this value, whatever it was."""
    txn.assign(key, value, expire_ms)


def assign_if(
    txn: Txn,
    key: bytes,
    value: bytes,
    *,
    exists: bool | None,
    expire_ms: int = NO_EXPIRY,
    keeps_expiry: bool = False,
) -> bool:
    """As `assign`, if the key is there (`exists`), is not, or (None) anyway; says if it did."""
    meta = txn.find(key)
    if exists is not None and exists is (meta is None):
        return False
    if keeps_expiry and meta is not None:
        expire_ms = meta.expire_ms
    txn.assign(key, value, expire_ms)
    return True


def assign_all(txn: Txn, pairs: Sequence[bytes]) -> None:
    """Assign keys and values, which follow each other in `pairs`."""
    txn.expect_work(len(pairs) // 2)
    assign_one = txn.assign
    for at in range(0, len(pairs), 2):
        assign_one(pairs[at], pairs[at + 1])
        if not at % _BREATH_KEYS:
            txn.breathe()


def assign_all_if_absent(txn: Txn, pairs: Sequence[bytes]) -> bool:
    """As `assign_all`, but only if no key is there; says if it did."""
    txn.expect_work(len(pairs) // 2)
    if any(txn.find(key) is not None for key in pairs[::2]):
        return False
    assign_all(txn, pairs)
    return True


def exchange(txn: Txn, key: bytes, value: bytes) -> bytes | None:
    """Assign; returns the value there was."""
    old = find(txn, key)
    txn.assign(key, value)
    return old


def take(txn: Txn, key: bytes) -> bytes | None:
    """Delete the string; returns its value."""
    value = find(txn, key)
    if value is not None:
        txn.drop(key)
    return value


def expire(txn: Txn, key: bytes, meta: Meta, expire_ms: int) -> None:
    """Give a live key another expire-time; one that has passed deletes it."""
    if not txn.expires_after(expire_ms):
        txn.drop(key)
    elif meta.expire_ms != expire_ms:
        txn.save(key, meta.with_expiry(expire_ms))


def change(txn: Txn, key: bytes, meta: Meta | None, value: bytes) -> None:
    """Another value for the same incarnation; a new one without expiry if there was none."""
    if meta is None:
        txn.assign(key, value)
    else:
        txn.update(key, meta, value)


# numbers


def increment(txn: Txn, key: bytes, amount: int) -> int:
    """Add to the integer that the string shows."""
    meta = txn.expect(key, STRING)
    old = parse_int(meta.value) if meta is not None else 0
    if old is None:
        raise errors.not_integer()
    new = old + amount
    if not INT64_MIN <= new <= INT64_MAX:
        raise CommandError(errors.OVERFLOW)
    change(txn, key, meta, b"%d" % new)
    return new


def increment_float(txn: Txn, key: bytes, amount: bytes) -> bytes:
    """Add to the number that the string shows, in long double precision."""
    meta = txn.expect(key, STRING)
    old = parse_long_double(meta.value if meta is not None else b"0")
    step = parse_long_double(amount)
    if old is None or step is None:
        raise errors.not_float()
    total = add_long_doubles(old, step)
    if total is None:
        raise CommandError(errors.NAN_OR_INFINITY)
    value = format_long_double(total)
    change(txn, key, meta, value)
    return value


# parts of values


def append(txn: Txn, key: bytes, tail: bytes) -> int:
    """Add to the end; returns the new length."""
    meta = txn.expect(key, STRING)
    if meta is None:
        txn.assign(key, tail)
        return len(tail)
    check_length(txn, len(meta.value) + len(tail))
    value = meta.value + tail
    txn.update(key, meta, value)
    return len(value)


def check_length(txn: Txn, length: int) -> None:
    """Refuse a string beyond `proto-max-bulk-len`."""
    if length > txn.keyspace.string_limit:
        raise CommandError(errors.STRING_TOO_LONG)


def slice_of(value: bytes, start: int, end: int) -> bytes:
    """GETRANGE's slice: both ends included, negative ones count from the end."""
    length = len(value)
    if start < 0 and end < 0 and start > end:
        return b""
    start = max(0, start + length if start < 0 else start)
    end = min(max(0, end + length if end < 0 else end), length - 1)
    return value[start : end + 1] if start <= end else b""


def overwrite(txn: Txn, key: bytes, offset: int, piece: bytes) -> int:
    """Write `piece` at an offset, padding with zero bytes; returns the length."""
    meta = txn.expect(key, STRING)
    value = meta.value if meta is not None else b""
    if not piece:
        return len(value)
    check_length(txn, offset + len(piece))
    value = b"".join((value[:offset].ljust(offset, b"\0"), piece, value[offset + len(piece) :]))
    change(txn, key, meta, value)
    return len(value)


# the longest common subsequence


def common_pair(txn: Txn, first: bytes, second: bytes) -> tuple[bytes, bytes]:
    """The two strings that an LCS compares; absent ones are empty."""
    pair = txn.find(first), txn.find(second)
    if any(meta is not None and meta.type != STRING for meta in pair):
        raise CommandError(errors.LCS_NOT_STRINGS)
    a, b = (meta.value if meta is not None else b"" for meta in pair)
    return a, b


def prepare_lcs(txn: Txn, a: bytes, b: bytes) -> None:
    """Refuse what Redis has no memory for, and announce the work."""
    if lcs.table_bytes(a, b) > txn.keyspace.string_limit:
        raise CommandError(errors.LCS_TOO_LARGE)
    steps = (len(a) + len(b)) * _LCS_STEP_US + len(a) * len(b) // _LCS_CELLS_PER_US
    txn.expect_work(min(len(a), 256) * _LCS_BYTE_VALUE_US + steps)
