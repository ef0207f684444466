"""Commands on the expire-times of hash fields, those of Redis 7.4."""

from collections.abc import Sequence
from typing import Final

from stratakv import errors
from stratakv.encodings import field_times
from stratakv.encodings.metas import HASH
from stratakv.encodings.txn import Txn
from stratakv.errors import CommandError
from stratakv.proxy.args import INT64_MAX, Args, integer, ranged
from stratakv.proxy.table import command

_LAST_MS: Final = ((1 << 48) - 1) >> 2
"""Redis accepts no later expire-time for a field."""

_EXPIRE: Final = "[NX|XX|GT|LT] FIELDS numfields field [field ...]"
_WRITE: Final = "write denyoom fast"


@command(f"HEXPIRE key seconds {_EXPIRE}", _WRITE, since="7.4.0")
def hexpire(txn: Txn, key: bytes, seconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire after a number of seconds."""
    return _expire(txn, key, seconds, words, "hexpire", unit_ms=1000, base_ms=txn.now_ms)


@command(f"HPEXPIRE key milliseconds {_EXPIRE}", _WRITE, since="7.4.0")
def hpexpire(txn: Txn, key: bytes, milliseconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire after a number of milliseconds."""
    return _expire(txn, key, milliseconds, words, "hpexpire", unit_ms=1, base_ms=txn.now_ms)


@command(f"HEXPIREAT key unix-time-seconds {_EXPIRE}", _WRITE, since="7.4.0")
def hexpireat(txn: Txn, key: bytes, seconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire at a time given in seconds."""
    return _expire(txn, key, seconds, words, "hexpireat", unit_ms=1000, base_ms=0)


@command(f"HPEXPIREAT key unix-time-milliseconds {_EXPIRE}", _WRITE, since="7.4.0")
def hpexpireat(txn: Txn, key: bytes, milliseconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire at a time given in milliseconds."""
    return _expire(txn, key, milliseconds, words, "hpexpireat", unit_ms=1, base_ms=0)


def _expire(
    txn: Txn,
    key: bytes,
    amount: bytes,
    words: Sequence[bytes],
    name: str,
    *,
    unit_ms: int,
    base_ms: int,
) -> list[int]:
    txn.expect(key, HASH)
    number = integer(amount)
    if number < 0:
        raise CommandError(errors.NEGATIVE_EXPIRE)
    at_ms = number * unit_ms + base_ms
    if at_ms > _LAST_MS:
        raise errors.invalid_expire(name)
    args = Args(words)
    condition = field_times.CONDITIONS[args.accept(b"NX", b"XX", b"GT", b"LT")]
    fields = _fields(args, errors.FIELDS_ABOVE_ZERO)
    return field_times.expire(txn, key, at_ms, condition, fields)


def _fields(args: Args, not_positive: bytes = errors.FIELDS_POSITIVE) -> Sequence[bytes]:
    """FIELDS numfields field [field ...], which end the arguments."""
    if not args.accept(b"FIELDS"):
        raise CommandError(errors.FIELDS_MISSING)
    count = ranged(args.take(), 1, INT64_MAX, not_positive)
    fields = args.rest()
    if count != len(fields):
        raise CommandError(errors.FIELDS_MISMATCH)
    return fields


@command("HTTL key FIELDS numfields field [field ...]", "readonly fast", since="7.4.0")
def httl(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Tell in how many seconds fields of a hash expire."""
    return _times(txn, key, words, unit_ms=1000, base_ms=txn.now_ms)


@command("HPTTL key FIELDS numfields field [field ...]", "readonly fast", since="7.4.0")
def hpttl(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Tell in how many milliseconds fields of a hash expire."""
    return _times(txn, key, words, unit_ms=1, base_ms=txn.now_ms)


@command("HEXPIRETIME key FIELDS numfields field [field ...]", "readonly fast", since="7.4.0")
def hexpiretime(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Tell at what time, in seconds, fields of a hash expire."""
    return _times(txn, key, words, unit_ms=1000, base_ms=0)


@command("HPEXPIRETIME key FIELDS numfields field [field ...]", "readonly fast", since="7.4.0")
def hpexpiretime(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Tell at what time, in milliseconds, fields of a hash expire."""
    return _times(txn, key, words, unit_ms=1, base_ms=0)


def _times(
    txn: Txn, key: bytes, words: Sequence[bytes], *, unit_ms: int, base_ms: int
) -> list[int]:
    txn.expect(key, HASH)
    found = field_times.times(txn, key, _fields(Args(words)))
    return [at if at < 0 else (at - base_ms + unit_ms - 1) // unit_ms for at in found]


@command("HPERSIST key FIELDS numfields field [field ...]", "write fast", since="7.4.0")
def hpersist(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Take the expire-times of fields of a hash away."""
    txn.expect(key, HASH)
    return field_times.persist(txn, key, _fields(Args(words)))
