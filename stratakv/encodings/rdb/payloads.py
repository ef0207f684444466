"""Redis's dump payloads: what DUMP gives and RESTORE takes.

    payload = u8 type | object | u16 RDB version | u64 CRC of all before it      little-endian

    length  00nnnnnn | 01nnnnnn nnnnnnnn | 0x80 u32 | 0x81 u64                   big-endian
    string  length | bytes
            0xc0 i8 | 0xc1 i16 | 0xc2 i32                                        an integer's digits
            0xc3 | length of data | length of string | LZF data

    number  type               object
         0  string             string
         1  list               length | element ...
         2  set                length | member ...
         3  zset               length | (member | u8 size | digits) ...          253 NaN, 254 inf
         4  hash               length | (field | value) ...
         5  zset               length | (member | f64) ...
         9  hash               string of a zipmap
        10  list               string of a ziplist
        11  set                string of an intset
     12 13  zset, hash         string of a ziplist
        14  list               length | string of a ziplist ...
     16 17  hash, zset         string of a listpack
        18  list               length | (1 | element, or 2 | string of a listpack) ...
        20  set                string of a listpack
        24  hash               u64 base | length | (time | field | value) ...    of Redis 7.4
        25  hash               u64 base | string of a listpack: field, value, expire-ms in turn
  15 19 21  stream             see rdb_streams.py

    time    length           0 for none, else expire-ms - base + 1; base is the first expire-ms

We write types 0, 1, 2, 4 and 5, which every Redis since 4.0 reads and makes compact by itself; 19
for streams, or 15 in dumps of version 9; and 24, which Redis reads since 7.4, for hashes whose
fields have expire-times.
"""

from collections.abc import Callable
from typing import Final

from stratakv import errors
from stratakv.encodings.rdb.crc64 import crc64
from stratakv.errors import CommandError

VERSION: Final = 10
"""That of Redis 7.0: what it writes, and the highest it reads."""

FIELD_TIMES_VERSION: Final = 12
"""That of Redis 7.4: the first that knows expire-times of fields, and the highest that we read."""

FOOTER_BYTES: Final = 10
COPIED_BYTES: Final = 1 << 20
_CRC_BYTES: Final = 8

STRING, LIST, SET, ZSET_TEXT, HASH, ZSET = 0, 1, 2, 3, 4, 5
HASH_ZIPMAP, LIST_ZIPLIST, SET_INTSET, ZSET_ZIPLIST, HASH_ZIPLIST = 9, 10, 11, 12, 13
LIST_ZIPLISTS, HASH_LISTPACK, ZSET_LISTPACK, LIST_NODES, SET_LISTPACK = 14, 16, 17, 18, 20
HASH_TIMES, HASH_LISTPACK_TIMES = 24, 25
STREAM_OLD, STREAM, STREAM_SEEN = 15, 19, 21
STREAMS: Final = (STREAM_OLD, STREAM, STREAM_SEEN)

INT8, INT16, INT32, LZF = 0xC0, 0xC1, 0xC2, 0xC3
LENGTH32, LENGTH64 = 0x80, 0x81

OLDEST_VERSION: Final = 9
"""That of Redis 5.0 to 6.2, which know neither functions nor how streams count what is added."""
_SINCE: Final = {
    **dict.fromkeys((HASH_LISTPACK, ZSET_LISTPACK, LIST_NODES, STREAM), VERSION),
    **dict.fromkeys((SET_LISTPACK, STREAM_SEEN), 11),
    **dict.fromkeys((HASH_TIMES, HASH_LISTPACK_TIMES), FIELD_TIMES_VERSION),
}
"""The first version that knows a type, of the later ones."""

Pause = Callable[[], None]


def seal(payload: bytearray, pause_if_due: Pause, version: int = VERSION) -> bytes | bytearray:
    """Put version and CRC after a type and its object; a large payload is not copied."""
    if payload[:1] == bytes((HASH_TIMES,)):
        version = FIELD_TIMES_VERSION
    payload += version.to_bytes(2, "little")
    payload += crc64(payload, pause_if_due).to_bytes(_CRC_BYTES, "little")
    return bytes(payload) if len(payload) < COPIED_BYTES else payload


def sealed(kind: int, body: bytes) -> bytes:
    """A payload of a type and its object, of the lowest version that knows the type."""
    version = _SINCE.get(kind, OLDEST_VERSION).to_bytes(2, "little")
    payload = b"%c%b%b" % (kind, body, version)
    return payload + crc64(payload).to_bytes(_CRC_BYTES, "little")


def check(payload: bytes, pause_if_due: Pause) -> None:
    """Refuse a payload whose version or CRC is wrong."""
    version = int.from_bytes(payload[-FOOTER_BYTES:-_CRC_BYTES], "little")
    known = len(payload) >= FOOTER_BYTES and version <= FIELD_TIMES_VERSION
    if not known or not _is_intact(payload, pause_if_due):
        raise CommandError(errors.BAD_DUMP_FOOTER)


def _is_intact(payload: bytes, pause_if_due: Pause) -> bool:
    crc = crc64(memoryview(payload)[:-_CRC_BYTES], pause_if_due)
    return crc.to_bytes(_CRC_BYTES, "little") == payload[-_CRC_BYTES:]
