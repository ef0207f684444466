"""The cursor and the options that SCAN, HSCAN, SSCAN and ZSCAN have in common."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from stratakv import errors
from stratakv.encodings.layout.globs import Matcher, compile_glob
from stratakv.errors import CommandError
from stratakv.proxy.arguments.args import Args

DEFAULT_COUNT: Final = 10
COUNT_LIMIT: Final = 10_000
"""COUNT is a hint; a page beyond this many elements would hold up the other clients."""

_CURSOR: Final = re.compile(rb"([+-]?)(\d+)")
_CURSORS: Final = 1 << 64


class ScanOptions(NamedTuple):
    """MATCH (None: everything matches) and COUNT (a limit of elements looked at)."""

    matches: Matcher | None
    limit: int


def parse_cursor(text: bytes) -> int:
    """An unsigned 64-bit cursor, as lenient as C's strtoul: empty is 0 and -1 the largest."""
    text = text.split(b"\0", 1)[0]
    if not text:
        return 0
    match = _CURSOR.fullmatch(text)
    digits = match[2].lstrip(b"0") if match else b""
    if not match or len(digits) > 20 or int(digits or b"0") >= _CURSORS:
        raise CommandError(errors.INVALID_CURSOR)
    number = int(digits or b"0")
    return -number % _CURSORS if match[1] == b"-" else number


def read_scan_options(words: Sequence[bytes]) -> ScanOptions:
    """MATCH and COUNT, in any order; the last of each counts.

    Requires: the collection exists. Redis answers an empty scan before it looks at the options.
    """
    args = Args(words)
    matches: Matcher | None = None
    count = DEFAULT_COUNT
    while args:
        option = args.option()
        if option == b"COUNT" and args:
            count = args.integer()
            if count < 1:
                raise errors.syntax()
        elif option == b"MATCH" and args:
            pattern = args.take()
            matches = None if pattern == b"*" else compile_glob(pattern)
        else:
            raise errors.syntax()
    return ScanOptions(matches, min(count, COUNT_LIMIT))
