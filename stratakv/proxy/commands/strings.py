"""String commands."""

from collections.abc import Sequence
from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.hits import HITS
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import STRING
from stratakv.encodings.types.strings import lcs, strings
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MIN, Args, integer
from stratakv.proxy.arguments.expiry import EXPIRE_OPTIONS, absolute_ms, parse_options
from stratakv.proxy.commands import effects, streaks
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply, Stream

command = CommandGroup("string").command

_SET_WORDS: Final = {
    b"NX": frozenset({b"XX"}),
    b"XX": frozenset({b"NX"}),
    b"GET": frozenset[bytes](),
    b"KEEPTTL": EXPIRE_OPTIONS,
}
_GETEX_WORDS: Final = {b"PERSIST": EXPIRE_OPTIONS}


# whole values


# The operation is the handler: a call less on the most frequent command.
command("GET key", "readonly fast", streak=streaks.get)(strings.find)


def _set_key_flags(request: Sequence[bytes]) -> str:
    words = [word.upper() for word in request[3:]]
    return "RW access update" if b"GET" in words else "OW update"


@command(
    "SET key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds"
    "|PXAT unix-time-milliseconds|KEEPTTL]",
    "write denyoom",
    key_flags_finder=_set_key_flags,
    key_notes="reads the key only with GET",
    streak=streaks.set_,
    effect=effects.of_set,
)
def set_(txn: Txn, key: bytes, value: bytes, *options: bytes) -> Reply:
    """Set the value of a string, replacing what the key held."""
    if not options:
        if len(value) <= txn.keyspace.limits.piece_bytes:
            txn.assign(key, value)
            if txn.keyspace.notifies:
                txn.event("$", "set", key)
        else:
            strings.store(txn, key, value)
        return OK
    if len(options) == 2 and (unit := options[0].upper()) in EXPIRE_OPTIONS:
        expire_ms = absolute_ms(txn, unit, integer(options[1]), "set")
        strings.store(txn, key, value, expire_ms)
        return OK
    return _set_with_options(txn, key, value, Args(options))


def _set_with_options(txn: Txn, key: bytes, value: bytes, args: Args) -> Reply:
    options = parse_options(args, _SET_WORDS)
    words = options.words
    expire_ms = options.expire_ms(txn, "set")
    old = strings.find(txn, key) if b"GET" in words else None
    done = strings.assign_if(
        txn,
        key,
        value,
        exists=True if b"XX" in words else False if b"NX" in words else None,
        expire_ms=expire_ms,
        keeps_expiry=b"KEEPTTL" in words,
    )
    if b"GET" in words:
        return old
    return OK if done else None


@command("SETNX key value", "write denyoom fast", key_flags="OW insert")
def setnx(txn: Txn, key: bytes, value: bytes) -> int:
    """Set the value of a string if the key does not exist."""
    return int(strings.assign_if(txn, key, value, exists=False))


@command(
    "SETEX key seconds value",
    "write denyoom",
    key_flags="OW update",
    since="2.0.0",
    effect=effects.of_setex,
)
def setex(txn: Txn, key: bytes, seconds: bytes, value: bytes) -> Reply:
    """Set the value and the time to live of a string, in seconds."""
    strings.store(txn, key, value, absolute_ms(txn, b"EX", integer(seconds), "setex"))
    return OK


@command(
    "PSETEX key milliseconds value",
    "write denyoom",
    key_flags="OW update",
    since="2.6.0",
    effect=effects.of_setex,
)
def psetex(txn: Txn, key: bytes, milliseconds: bytes, value: bytes) -> Reply:
    """Set the value and the time to live of a string, in milliseconds."""
    strings.store(txn, key, value, absolute_ms(txn, b"PX", integer(milliseconds), "psetex"))
    return OK


@command("GETSET key value", "write denyoom fast", effect=effects.of_getset)
def getset(txn: Txn, key: bytes, value: bytes) -> Reply:
    """Set the value of a string and return the one before."""
    return strings.exchange(txn, key, value)


@command(
    "GETDEL key",
    "write fast",
    key_flags="RW access delete",
    since="6.2.0",
    effect=effects.of_getdel,
)
def getdel(txn: Txn, key: bytes) -> Reply:
    """Return the value of a string and delete the key."""
    return strings.take(txn, key)


@command(
    "GETEX key [EX seconds|PX milliseconds|EXAT unix-time-seconds"
    "|PXAT unix-time-milliseconds|PERSIST]",
    "write fast",
    key_notes="changes the time to live",
    since="6.2.0",
    effect=effects.of_expire,
)
def getex(txn: Txn, key: bytes, *words: bytes) -> Reply:
    """Return the value of a string and change its time to live."""
    options = parse_options(Args(words), _GETEX_WORDS)
    meta = txn.look_up(key, STRING)
    if meta is None:
        return None
    expire_ms = options.expire_ms(txn, "getex")
    value = strings.value_of(txn, key, meta)
    if options.words:
        strings.expire(txn, key, meta, expire_ms)
    return value


@command("MGET key [key ...]", "readonly fast", tips="request_policy:multi_shard")
def mget(txn: Txn, *keys: bytes) -> Reply:
    """Return the values of several strings."""
    values = strings.find_all(txn, keys)
    HITS.further += len(keys) - 1
    return values if type(values) is list else Stream(list, len(keys), values)


@command(
    "MSET key value [key value ...]",
    "write denyoom",
    tips="request_policy:multi_shard response_policy:all_succeeded",
    key_flags="OW update",
    since="1.0.1",
)
def mset(txn: Txn, *pairs: bytes) -> Reply:
    """Set several strings at once."""
    if len(pairs) % 2:
        raise errors.wrong_arity("mset")
    strings.assign_all(txn, pairs)
    return OK


@command(
    "MSETNX key value [key value ...]",
    "write denyoom",
    tips="request_policy:multi_shard response_policy:agg_min",
    key_flags="OW insert",
    since="1.0.1",
)
def msetnx(txn: Txn, *pairs: bytes) -> int:
    """Set several strings at once, if none of the keys exists."""
    if len(pairs) % 2:
        raise errors.wrong_arity("msetnx")
    return int(strings.assign_all_if_absent(txn, pairs))


# numbers


@command("INCR key", "write denyoom fast", streak=streaks.incr)
def incr(txn: Txn, key: bytes) -> int:
    """Add one to the integer value of a key."""
    return strings.increment(txn, key, 1)


@command("DECR key", "write denyoom fast")
def decr(txn: Txn, key: bytes) -> int:
    """Take one from the integer value of a key."""
    return strings.increment(txn, key, -1)


@command("INCRBY key increment", "write denyoom fast")
def incrby(txn: Txn, key: bytes, increment: bytes) -> int:
    """Add to the integer value of a key."""
    return strings.increment(txn, key, integer(increment))


@command("DECRBY key decrement", "write denyoom fast")
def decrby(txn: Txn, key: bytes, decrement: bytes) -> int:
    """Take from the integer value of a key."""
    amount = integer(decrement)
    if amount == INT64_MIN:
        raise CommandError(errors.DECREMENT_OVERFLOW)
    return strings.increment(txn, key, -amount)


@command(
    "INCRBYFLOAT key increment", "write denyoom fast", since="2.6.0", effect=effects.of_incrbyfloat
)
def incrbyfloat(txn: Txn, key: bytes, increment: bytes) -> bytes:
    """Add to the floating point value of a key."""
    return strings.increment_float(txn, key, increment)


# parts of values


@command("APPEND key value", "write denyoom fast", key_flags="RW insert", since="2.0.0")
def append(txn: Txn, key: bytes, value: bytes) -> int:
    """Append to a string; returns its new length."""
    return strings.append(txn, key, value)


@command("STRLEN key", "readonly fast", key_flags="RO", since="2.2.0")
def strlen(txn: Txn, key: bytes) -> int:
    """Return the length of a string."""
    return strings.length(txn.look_up(key, STRING))


@command("SUBSTR key start end", "readonly")
@command("GETRANGE key start end", "readonly", since="2.4.0")
def getrange(txn: Txn, key: bytes, start: bytes, end: bytes) -> Reply:
    """Return a part of a string; both ends are included."""
    first, last = integer(start), integer(end)
    return strings.find_part(txn, key, first, last)


@command("SETRANGE key offset value", "write denyoom", key_flags="RW update", since="2.2.0")
def setrange(txn: Txn, key: bytes, offset: bytes, value: bytes) -> int:
    """Overwrite a part of a string; returns its length."""
    at = integer(offset)
    if at < 0:
        raise CommandError(errors.OFFSET_OUT_OF_RANGE)
    return strings.overwrite(txn, key, at, value)


# the longest common subsequence


@command(
    "LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
    "readonly",
    since="7.0.0",
)
def lcs_(txn: Txn, key1: bytes, key2: bytes, *options: bytes) -> Reply:
    """Return the longest common subsequence of two strings, its length, or where it lies."""
    pair = strings.common_pair(txn, key1, key2)
    words, min_length = _parse_lcs_options(Args(options))
    a, b = strings.prepare_lcs(txn, pair)
    if b"LEN" in words:
        return lcs.lcs_length(a, b, txn.pause_if_due)
    if b"IDX" not in words:
        return lcs.lcs_sequence(a, b, txn.pause_if_due)
    matches, length = lcs.lcs_matches(a, b, min_length, txn.pause_if_due)
    with_length = b"WITHMATCHLEN" in words
    return {b"matches": [_match(one, with_length) for one in matches], b"len": length}


def _parse_lcs_options(args: Args) -> tuple[set[bytes], int]:
    words: set[bytes] = set()
    min_length = 0
    while args:
        word = args.option()
        if word in (b"LEN", b"IDX", b"WITHMATCHLEN"):
            words.add(word)
        elif word == b"MINMATCHLEN" and args:
            min_length = args.integer()
        else:
            raise errors.syntax()
    if {b"LEN", b"IDX"} <= words:
        raise CommandError(errors.LCS_LEN_AND_IDX)
    return words, min_length


def _match(match: lcs.Match, with_length: bool) -> list[Reply]:
    ranges: list[Reply] = [list(match.a), list(match.b)]
    return [*ranges, match.length] if with_length else ranges
