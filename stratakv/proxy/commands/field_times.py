"""Commands on the expire-times of hash fields, those of Redis 7.4 and 8.0."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import HASH
from stratakv.encodings.types.hashes import field_times, hashes
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, Args, integer, ranged
from stratakv.proxy.arguments.expiry import EXPIRE_OPTIONS
from stratakv.proxy.commands import effects
from stratakv.proxy.table.registry import CommandGroup

command = CommandGroup("hash").command

_LAST_MS: Final = ((1 << 48) - 1) >> 2
"""Redis accepts no later expire-time for a field."""

INT32_MAX: Final = (1 << 31) - 1

_EXPIRE: Final = "[NX|XX|GT|LT] FIELDS numfields field [field ...]"
_WRITE: Final = "write denyoom fast"


@command(
    f"HEXPIRE key seconds {_EXPIRE}",
    _WRITE,
    key_flags="RW update",
    since="7.4.0",
    effect=effects.of_field_times,
)
def hexpire(txn: Txn, key: bytes, seconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire after a number of seconds."""
    return _expire(txn, key, seconds, words, "hexpire", unit_ms=1000, base_ms=txn.now_ms)


@command(
    f"HPEXPIRE key milliseconds {_EXPIRE}",
    _WRITE,
    key_flags="RW update",
    since="7.4.0",
    effect=effects.of_field_times,
)
def hpexpire(txn: Txn, key: bytes, milliseconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire after a number of milliseconds."""
    return _expire(txn, key, milliseconds, words, "hpexpire", unit_ms=1, base_ms=txn.now_ms)


@command(
    f"HEXPIREAT key unix-time-seconds {_EXPIRE}",
    _WRITE,
    key_flags="RW update",
    since="7.4.0",
    effect=effects.of_field_times,
)
def hexpireat(txn: Txn, key: bytes, seconds: bytes, *words: bytes) -> list[int]:
    """Let fields of a hash expire at a time given in seconds."""
    return _expire(txn, key, seconds, words, "hexpireat", unit_ms=1000, base_ms=0)


@command(
    f"HPEXPIREAT key unix-time-milliseconds {_EXPIRE}",
    _WRITE,
    key_flags="RW update",
    since="7.4.0",
    effect=effects.of_field_times,
)
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
    at_ms = _moment(amount, name, unit_ms, base_ms)
    args = Args(words)
    condition = field_times.CONDITIONS[args.accept(b"NX", b"XX", b"GT", b"LT")]
    fields = _fields(args, errors.FIELDS_ABOVE_ZERO)
    return field_times.expire(txn, key, at_ms, condition, fields)


def _moment(amount: bytes, name: str, unit_ms: int, base_ms: int) -> int:
    """An expire-time in absolute milliseconds; it may have passed."""
    number = integer(amount)
    if number < 0:
        raise CommandError(errors.NEGATIVE_EXPIRE)
    at_ms = number * unit_ms + base_ms
    if at_ms > _LAST_MS:
        raise errors.invalid_expire(name)
    return at_ms


def _fields(args: Args, not_positive: bytes = errors.FIELDS_POSITIVE) -> Sequence[bytes]:
    """FIELDS numfields field [field ...], which end the arguments."""
    if not args.accept(b"FIELDS"):
        raise CommandError(errors.FIELDS_MISSING)
    count = ranged(args.take() if args else b"", 1, INT64_MAX, not_positive)
    fields = args.rest()
    if count != len(fields):
        raise CommandError(errors.FIELDS_MISMATCH)
    return fields


@command(
    "HTTL key FIELDS numfields field [field ...]",
    "readonly fast",
    tips="nondeterministic_output",
    since="7.4.0",
)
def httl(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Tell in how many seconds fields of a hash expire."""
    return _times(txn, key, words, unit_ms=1000, base_ms=txn.now_ms)


@command(
    "HPTTL key FIELDS numfields field [field ...]",
    "readonly fast",
    tips="nondeterministic_output",
    since="7.4.0",
)
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


@command(
    "HPERSIST key FIELDS numfields field [field ...]",
    "write fast",
    key_flags="RW update",
    since="7.4.0",
)
def hpersist(txn: Txn, key: bytes, *words: bytes) -> list[int]:
    """Take the expire-times of fields of a hash away."""
    txn.expect(key, HASH)
    return field_times.persist(txn, key, _fields(Args(words)))


# reading and writing fields together with their times

_TIME: Final = "EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds"


@command(
    f"HGETEX key [{_TIME}|PERSIST] FIELDS numfields field [field ...]",
    "write fast",
    key_notes="changes the time to live",
    since="8.0.0",
    effect=effects.of_field_times,
)
def hgetex(txn: Txn, key: bytes, *words: bytes) -> list[bytes | None]:
    """Return the values of fields, and set or take away their expire-times."""
    txn.expect(key, HASH)
    args = Args(words)
    option = args.accept(*EXPIRE_OPTIONS, b"PERSIST")
    if not option:
        return hashes.find_stored(txn, key, _fields(args))
    if option == b"PERSIST":
        return hashes.find_and_persist(txn, key, _fields(args))
    at_ms = _moment_by(txn, option, args.take(), "hgetex")
    return hashes.find_and_expire(txn, key, at_ms, _fields(args))


def _moment_by(txn: Txn, option: bytes, amount: bytes, name: str) -> int:
    """The moment that EX, PX, EXAT or PXAT name."""
    unit_ms = 1000 if option.startswith(b"EX") else 1
    return _moment(amount, name, unit_ms, 0 if option.endswith(b"AT") else txn.now_ms)


@command(
    "HGETDEL key FIELDS numfields field [field ...]",
    "write fast",
    key_flags="RW access delete",
    since="8.0.0",
)
def hgetdel(txn: Txn, key: bytes, *words: bytes) -> list[bytes | None]:
    """Return the values of fields and delete them."""
    txn.expect(key, HASH)
    return hashes.take(txn, key, _fields(Args(words)))


@command(
    f"HSETEX key [FNX|FXX] [{_TIME}|KEEPTTL] FIELDS numfields field value [field value ...]",
    _WRITE,
    key_flags="RW update",
    since="8.0.0",
    effect=effects.of_hsetex,
)
def hsetex(txn: Txn, key: bytes, *words: bytes) -> int:
    """Set fields with an expire-time: all of them, or none if the condition does not hold."""
    wanted = _setting(txn, Args(words))
    txn.expect(key, HASH)
    fields = wanted.pairs[::2]
    txn.expect_work(2 * len(fields))
    if wanted.condition == b"FNX" and hashes.has_any(txn, key, fields):
        return 0
    if wanted.condition == b"FXX" and not hashes.has_all(txn, key, fields):
        return 0
    if wanted.at_ms is not None:
        hashes.assign_until(txn, key, wanted.at_ms, wanted.pairs)
    elif wanted.keeps:
        hashes.assign_within(txn, key, wanted.pairs)
    else:
        hashes.assign_all(txn, key, wanted.pairs)
    return 1


class _Setting(NamedTuple):
    """What HSETEX is to do: `at_ms` is None where no expire-time is given."""

    condition: bytes
    at_ms: int | None
    keeps: bool
    pairs: Sequence[bytes]


def _setting(txn: Txn, args: Args) -> _Setting:
    """The options in any order; then FIELDS, which ends them."""
    condition = b""
    at_ms: int | None = None
    keeps = False
    while not args.accept(b"FIELDS"):
        text = args.take()
        word = text.upper()
        if word in (b"FNX", b"FXX"):
            if condition:
                raise CommandError(errors.ONE_CONDITION)
            condition = word
        elif word == b"KEEPTTL" or word in EXPIRE_OPTIONS:
            if keeps or at_ms is not None:
                raise CommandError(errors.ONE_EXPIRATION)
            if word == b"KEEPTTL":
                keeps = True
            else:
                at_ms = _moment_by(txn, word, args.take(), "hsetex")
        else:
            raise CommandError(b"ERR unknown argument: %b" % text)
    return _Setting(condition, at_ms, keeps, _pairs(args))


def _pairs(args: Args) -> Sequence[bytes]:
    """numfields field value [field value ...], which end the arguments."""
    if len(args) < 3:
        raise errors.wrong_arity("hsetex")
    count = ranged(args.take(), 1, INT32_MAX, errors.FIELDS_INVALID)
    pairs = args.rest()
    if len(pairs) != 2 * count:
        raise errors.wrong_arity("hsetex")
    return pairs
