"""The stored layout: every row key is built, and taken apart, here and nowhere else.

All integers are big-endian; `|` is concatenation.

    ns      = namespace name | ":"
    h8      = md5(key)[0:8]
    path    = ns | h8 | u32 len(key) | key | u64 version
    score8  = f64, sign bit flipped if positive, all bits flipped if negative

    "m#" | ns | h8 | key              meta of a key                     (see metas.py)
    "s#" | path | member              a field, member, element or piece
    "k#" | path | score8 | member     a sorted set's order
    "i#" | path | index               a sorted set's long member
    "e#" | ns | u64 expire-ms | key   -> empty      finds due keys without a full scan
    "t#" | ns | u64 expire-ms | u64 version | key   -> empty      the same for fields of hashes
    "g#" | ns | u64 version | key     -> u8 key-type | u8 encode-version [| u64 length of a string]
                                                    a dead incarnation
    "n#" | ns                         -> u64 live keys
    "x#" | ns                         -> u64 live keys with an expire-time
    "d#" | ns                         -> empty      a dropped namespace, to be reclaimed
    "f#" | library name               -> code       a library of functions (FUNCTION LOAD)
    "l#" | "t" | id | ":" | library name -> code     the same of a tenant
    "u#" | name                       -> a tenant: a namespace of users     (see tenant_records.py)
    "!format"                         -> u32 layout number
    "!version"                        -> u64 high-water mark of key-versions
    "!generation"                     -> u32 cache generation
    "!databases"                      -> the namespace name of each database, joined by ","
    "!namespaces"                     -> u64 namespaces handed out so far
    "!remote"                         -> empty      there if a sorted set v3 was ever made
    "!replication"                    -> where the stream of replication stands (see positions.py)
    "!import"                         -> how far `stratakv import` is, while it is under way
    "!zset-store"                     -> the mark of this store in their Redis (see zset_marks.py)
    "!tenants"                        -> u64 ids of tenants handed out so far

Invariants
1. Rows of one key's incarnation share one path, so an incarnation is one range per prefix.
2. No namespace name is a prefix of another's rows: ":" ends it and no name contains one.
3. Byte order of score8 is numeric order of the score; -0.0 is stored as 0.0, NaN never.
"""

import struct
from typing import Final

from stratakv.encodings.layout.digests import md5

U32: Final = struct.Struct(">I")
U64: Final = struct.Struct(">Q")
_F64: Final = struct.Struct(">d")

META: Final[bytes] = b"m#"
SUB: Final[bytes] = b"s#"
ORDER: Final[bytes] = b"k#"
INDEX: Final[bytes] = b"i#"
EXPIRY: Final[bytes] = b"e#"
GARBAGE: Final[bytes] = b"g#"
LIVE: Final[bytes] = b"n#"
EXPIRING: Final[bytes] = b"x#"
DROPPED: Final[bytes] = b"d#"
LIBRARY: Final[bytes] = b"f#"
TENANT_LIBRARY: Final[bytes] = b"l#"
TENANT: Final[bytes] = b"u#"
FIELD_EXPIRY: Final[bytes] = b"t#"
FORMAT_ROW: Final[bytes] = b"!format"
VERSION_ROW: Final[bytes] = b"!version"
GENERATION_ROW: Final[bytes] = b"!generation"
DATABASES_ROW: Final[bytes] = b"!databases"
NAMESPACES_ROW: Final[bytes] = b"!namespaces"
REMOTE_ROW: Final[bytes] = b"!remote"
REPLICATION_ROW: Final[bytes] = b"!replication"
IMPORT_ROW: Final[bytes] = b"!import"
ZSET_STORE_ROW: Final[bytes] = b"!zset-store"
TENANTS_ROW: Final[bytes] = b"!tenants"

KEYED_PREFIXES: Final = (
    META,
    SUB,
    ORDER,
    INDEX,
    EXPIRY,
    FIELD_EXPIRY,
    GARBAGE,
    LIVE,
    EXPIRING,
    TENANT_LIBRARY,
)
"""The prefixes that are followed by a namespace: all that a dropped namespace leaves behind."""

PREFIXES = (*KEYED_PREFIXES, DROPPED, LIBRARY, TENANT)
"""All that a row may begin with, but for the single rows."""

SINGLE: Final[bytes] = b"!"
"""What the rows begin with of which there is one."""
KEPT_PREFIXES: Final = (SINGLE, LIVE, EXPIRING, DROPPED, LIBRARY, TENANT)
"""Rows that the server needs without delay, and that are few: a store elsewhere keeps them."""

PATH_PREFIXES = (SUB, ORDER, INDEX)
SUB_PREFIXES = frozenset(PATH_PREFIXES)

LAYOUT = 1
SCORE_BYTES: Final = 8
"""A score8."""
LONG_MEMBER = 15
"""Sorted set members of so many bytes have an index of another name."""
SEQUENCE_START = 1 << 63
END = b"\xff" * 8
"""Behind every row."""
Range = tuple[bytes, bytes]
"""The first row, and the first that no longer belongs to it."""
_ALL = (1 << 64) - 1

TENANT_BITS: Final = 16
SPAN: Final = 1 << TENANT_BITS
"""Databases have numbers below it; the index of a tenant's is its id times this, plus the number.
The id of what belongs to no tenant is 0."""


def first_namespace(index: int) -> bytes:
    """The name of a database's first namespace: its number, and of a tenant's the id before it."""
    if index < SPAN:
        return b"%d:" % index
    return b"t%d-%d:" % (index >> TENANT_BITS, index % SPAN)


def namespace(index: int, number: int) -> bytes:
    """The name of a database's next namespace, which sorts behind all its earlier ones.

    So a scan of it does not walk over what was deleted of those: 0.a1, ..., 0.a9, 0.b10, ...
    """
    digits = b"%d" % number
    return b"%b.%c%b:" % (first_namespace(index)[:-1], ord("a") + len(digits) - 1, digits)


def library_namespace(tenant: int) -> bytes:
    """What the libraries of functions of a tenant stand under."""
    return b"t%d:" % tenant


def h8(key: bytes) -> bytes:
    """The hash prefix that spreads keys evenly."""
    return md5(key).digest()[:8]


def end_of(prefix: bytes) -> bytes:
    """The first row after all rows that begin with `prefix`.

    Requires: `prefix` is not all 0xff bytes.
    """
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,))


def meta_row(ns: bytes, key: bytes) -> bytes:
    """The row of a key's meta."""
    return b"m#" + ns + md5(key).digest()[:8] + key


def key_of_meta_row(ns: bytes, row: bytes) -> bytes:
    """The client's key of a meta row."""
    return row[len(ns) + 10 :]


def hash_of_meta_row(ns: bytes, row: bytes) -> int:
    """The h8 of a meta row as a number: the SCAN cursor's measure."""
    at = len(ns) + 2
    return int.from_bytes(row[at : at + 8], "big")


def meta_rows_from(ns: bytes, position: int) -> bytes:
    """The first possible meta row whose h8 is at least `position`."""
    return b"m#" + ns + U64.pack(position)


def everything() -> list[Range]:
    """All rows there are, as one range."""
    return [(b"", END)]


def ranges_of_namespace(ns: bytes) -> list[Range]:
    """Where the rows of a namespace are."""
    return [(kind + ns, end_of(kind + ns)) for kind in KEYED_PREFIXES]


def ranges_of_key(ns: bytes, key: bytes) -> list[Range]:
    """Where the rows of a key's incarnations are, the dead ones included."""
    meta = meta_row(ns, key)
    starts = [kind + ns + h8(key) + U32.pack(len(key)) + key for kind in PATH_PREFIXES]
    return [(meta, meta + b"\0"), *[(start, start + END + b"\xff") for start in starts]]


def sub_prefix(row: bytes, ns_length: int, version: int) -> bytes:
    """ "s#" | path, out of the key's meta row (which already holds ns, h8 and key)."""
    split = ns_length + 10
    key = row[split:]
    return b"s#" + row[2:split] + U32.pack(len(key)) + key + U64.pack(version)


def path_of(row: bytes, ns_length: int) -> bytes:
    """The path that a sub row begins with, behind its prefix."""
    at = ns_length + 10
    return row[2 : at + 12 + int.from_bytes(row[at : at + 4], "big")]


def key_of_sub_row(row: bytes, ns_length: int) -> bytes:
    """The client's key of a row that begins with a path."""
    at = ns_length + 10
    length = int.from_bytes(row[at : at + 4], "big")
    return row[at + 4 : at + 4 + length]


def parse_path(ns: bytes, row: bytes) -> tuple[bytes, int] | None:
    """(key, version) of an `s#`, `k#` or `i#` row; None if it has not that form."""
    at = len(ns) + 14
    if len(row) < at:
        return None
    end = at + int.from_bytes(row[at - 4 : at], "big")
    key = row[at:end]
    if len(row) < end + 8 or row[at - 12 : at - 4] != h8(key):
        return None
    return key, int.from_bytes(row[end : end + 8], "big")


def sequence(number: int) -> bytes:
    """A list element's place as bytes that sort like the number."""
    return U64.pack(number)


def encode_score(score: float) -> bytes:
    """score8: eight bytes that sort like the number. Requires: it is not NaN."""
    if score >= 0.0:
        # The sign bit flips by negation: 0.16 us, where masking the bits takes 0.4.
        return _F64.pack(-(score + 0.0))
    return U64.pack(U64.unpack(_F64.pack(score))[0] ^ _ALL)


def decode_score(raw: bytes) -> float:
    """The number of a score8."""
    score: float
    if raw[0] & 0x80:
        score = -_F64.unpack(raw)[0]
    else:
        score = _F64.unpack(U64.pack(U64.unpack(raw)[0] ^ _ALL))[0]
    return score


def expiry_row(ns: bytes, expire_ms: int, key: bytes) -> bytes:
    """The index row of a key that has an expire-time."""
    return b"e#" + ns + U64.pack(expire_ms) + key


def parse_expiry_row(ns: bytes, row: bytes) -> tuple[int, bytes]:
    """(expire-ms, key) of an index row."""
    at = len(ns) + 2
    return int.from_bytes(row[at : at + 8], "big"), row[at + 8 :]


def field_expiry_row(ns: bytes, expire_ms: int, version: int, key: bytes) -> bytes:
    """The index row of a hash that has fields with expire-times, under the first of them."""
    return FIELD_EXPIRY + ns + U64.pack(expire_ms) + U64.pack(version) + key


def parse_field_expiry_row(ns: bytes, row: bytes) -> tuple[int, int, bytes]:
    """(expire-ms, version, key) of such a row."""
    at = len(ns) + 2
    expire_ms, version = row[at : at + 8], row[at + 8 : at + 16]
    return int.from_bytes(expire_ms, "big"), int.from_bytes(version, "big"), row[at + 16 :]


def garbage_row(ns: bytes, version: int, key: bytes) -> bytes:
    """The row that queues a dead incarnation for reclaiming."""
    return b"g#" + ns + U64.pack(version) + key


def parse_garbage_row(ns: bytes, row: bytes) -> tuple[int, bytes]:
    """(version, key) of a queued incarnation."""
    at = len(ns) + 2
    return int.from_bytes(row[at : at + 8], "big"), row[at + 8 :]


def index_of(member: bytes) -> bytes:
    """The short name under which a sorted set's member is kept in Redis and in `i#` rows."""
    if len(member) < LONG_MEMBER:
        return b"\x00" + member
    return b"\x01" + md5(member).digest()
