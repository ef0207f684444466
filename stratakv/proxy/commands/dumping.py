"""DUMP and RESTORE: keys as payloads that other servers restore."""

from typing import Final

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.rdb import reader, writer
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import INT64_MAX, INT64_MIN, Args, integer
from stratakv.proxy.commands import effects
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import OK, Reply

command = CommandGroup("generic").command

_MOST_FREQUENCY: Final = 255


@command("DUMP key", "readonly", tips="nondeterministic_output", since="2.6.0")
def dump(txn: Txn, key: bytes) -> Reply:
    """Return a key's value as a payload for RESTORE."""
    return writer.dump(txn, key)


@command(
    "RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
    "write denyoom",
    categories="keyspace dangerous",
    key_flags="OW update",
    since="2.6.0",
    effect=effects.of_restore,
)
def restore(txn: Txn, key: bytes, ttl: bytes, payload: bytes, *words: bytes) -> Reply:
    """Create a key from the payload that DUMP returned."""
    options, idle_ms, uses = _options(Args(words))
    if b"REPLACE" not in options and txn.find(key) is not None:
        raise CommandError(errors.BUSY_KEY)
    expire_ms = _expire_ms(txn, ttl, is_absolute=b"ABSTTL" in options)
    reader.restore(txn, key, payload, expire_ms)
    if b"IDLETIME" in options:
        txn.set_idle(key, idle_ms)
    elif b"FREQ" in options and txn.keyspace.frequencies is not None:
        txn.keyspace.frequencies.restore((txn.db.index, key), uses)
    return OK


def _options(args: Args) -> tuple[set[bytes], int, int]:
    """The words given, the idle time, and the frequency, which is kept only with LFU."""
    given: set[bytes] = set()
    idle_ms = uses = 0
    while args:
        word = args.option()
        if word == b"IDLETIME" and args and b"FREQ" not in given:
            idle_ms = args.integer() * 1000
            if idle_ms < 0:
                raise CommandError(errors.RESTORE_IDLETIME)
        elif word == b"FREQ" and args and b"IDLETIME" not in given:
            uses = args.integer()
            if not 0 <= uses <= _MOST_FREQUENCY:
                raise CommandError(errors.RESTORE_FREQ)
        elif word not in (b"REPLACE", b"ABSTTL"):
            raise errors.syntax()
        given.add(word)
    return given, idle_ms, uses


def _expire_ms(txn: Txn, ttl: bytes, *, is_absolute: bool) -> int:
    """The expire-time; one beyond 64 bits comes out in the past, as in Redis."""
    amount = integer(ttl)
    if amount < 0:
        raise CommandError(errors.RESTORE_TTL)
    if not amount:
        return NO_EXPIRY
    expire_ms = amount if is_absolute else amount + txn.now_ms
    return expire_ms if expire_ms <= INT64_MAX else INT64_MIN
