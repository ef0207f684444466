"""Expire-times as commands give them: relative or absolute, in seconds or milliseconds."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.proxy.arguments.args import INT64_MAX, Args, integer

EXPIRE_OPTIONS: Final = frozenset({b"EX", b"PX", b"EXAT", b"PXAT"})
RELATIVE_OPTIONS: Final = frozenset({b"EX", b"PX"})
_IN_SECONDS: Final = frozenset({b"EX", b"EXAT"})

_RIVALS: Final = {
    word: (EXPIRE_OPTIONS | {b"KEEPTTL", b"PERSIST"}) - {word} for word in EXPIRE_OPTIONS
}
"""An expire-time may be given twice in the same unit (the last counts), but not in two."""


def absolute_ms(txn: Txn, unit: bytes, amount: int, command: str) -> int:
    """A positive expire-time in absolute milliseconds; refuses zero, negative and overflow."""
    if amount <= 0:
        raise errors.invalid_expire(command)
    ms = amount * 1000 if unit in _IN_SECONDS else amount
    base = txn.now_ms if unit in RELATIVE_OPTIONS else 0
    if ms > INT64_MAX - base:
        raise errors.invalid_expire(command)
    return ms + base


class ExpiringOptions(NamedTuple):
    """The options of SET and GETEX: words that stand alone, and an expire-time still as text."""

    words: frozenset[bytes]
    unit: bytes
    amount: bytes

    def expire_ms(self, txn: Txn, command: str) -> int:
        """The absolute expire-time, or NO_EXPIRY where none was given."""
        if not self.unit:
            return NO_EXPIRY
        return absolute_ms(txn, self.unit, integer(self.amount), command)


def parse_options(args: Args, rivals: Mapping[bytes, frozenset[bytes]]) -> ExpiringOptions:
    """Read all options; `rivals` has the words that stand alone, with what excludes each."""
    words: set[bytes] = set()
    unit = amount = b""
    while args:
        word = args.option()
        if word in rivals and words.isdisjoint(rivals[word]):
            words.add(word)
        elif word in _RIVALS and args and words.isdisjoint(_RIVALS[word]):
            words.add(word)
            unit, amount = word, args.take()
        else:
            raise errors.syntax()
    return ExpiringOptions(frozenset(words), unit, amount)
