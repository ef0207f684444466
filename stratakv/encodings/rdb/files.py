"""Whole dumps of Redis: dump.rdb, and what a master sends to its replicas.

    file      = "REDIS" | RDB version, four digits | section ... | 0xff | u64 CRC of all before

    section   = 0xfa | string name | string value            a fact (AUX)
              | 0xf5 | string code                           a library of functions
              | 0xf7 | length module | module part ...       facts of a module
              | 0xfe | length number                         the database of the keys that follow
              | 0xfb | length keys | length expiring         how many those are, about
              | 0xf4 | length slot | length keys | length expiring
              | [0xfc | i64 expire-ms, or 0xfd | i32 expire-s] [0xf8 | length idle, or 0xf9 | u8]
                u8 type | string key | object                a key (see payloads.py)

    module part = length kind | what that kind holds         0 ends, 1 and 2 a length, 3 f32, 4 f64,
                                                             5 a string

Integers are little-endian, lengths as in payloads.py. A CRC of zero stands for none.
"""

from typing import Final

from stratakv.encodings.rdb.packed import Malformed
from stratakv.encodings.rdb.parts import PayloadReader

MAGIC: Final = b"REDIS"
OLDEST: Final = 5
"""The first version with a CRC, of Redis 2.6; types and opcodes of later ones are but added."""

AUX, LIBRARY, OLD_LIBRARY, MODULE_FACTS = 0xFA, 0xF5, 0xF6, 0xF7
SELECT, SIZES, SLOT, END = 0xFE, 0xFB, 0xF4, 0xFF
EXPIRE_MS, EXPIRE_S, IDLE, FREQUENCY = 0xFC, 0xFD, 0xF8, 0xF9

OLD_MODULE, MODULE = 6, 7
"""The types of values that modules made."""

CRC_BYTES: Final = 8

_PARTS_END, _PART_FLOAT, _PART_DOUBLE, _PART_STRING = 0, 3, 4, 5
_PART_LENGTHS: Final = (1, 2)
_NAME_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_NAME_LENGTH: Final = 9
_VERSION_BITS: Final = 10


class BadFile(Exception):
    """A dump cannot be loaded; the text says why, and at which byte."""

    def __init__(self, why: str, position: int) -> None:
        super().__init__(f"{why}, at byte {position}")
        self.why = why
        self.position = position


def module_name(number: int) -> str:
    """The name that a module's number stands for."""
    letters = number >> _VERSION_BITS
    return "".join(
        _NAME_LETTERS[letters >> 6 * place & 63] for place in range(_NAME_LENGTH - 1, -1, -1)
    )


def skip_module_parts(reader: PayloadReader) -> None:
    """Read past what a module has written. Raises `Malformed`."""
    while (kind := reader.length()) != _PARTS_END:
        if kind in _PART_LENGTHS:
            reader.length()
        elif kind == _PART_FLOAT:
            reader.take(4)
        elif kind == _PART_DOUBLE:
            reader.take(8)
        elif kind == _PART_STRING:
            reader.string()
        else:
            raise Malformed


TENANT = b"stratakv-namespace-"
"""A fact by which a dump for one of our own tells of a tenant: behind it comes the id."""
TENANT_LIBRARY = b"stratakv-function-"
"""The same of its functions: behind it come the id, a hyphen and a number."""
