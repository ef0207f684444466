"""The key-meta: one row per key that says what the key is.

    "m#" | ns | h8 | key
        ->  u8 encode-version | u8 key-type | u64 key-version | i64 expire-ms | extra

What `extra` is, and whether there are other rows, follows from the format (see formats.py).

Invariants
1. expire-ms is -1 for none; a meta whose expire-ms has passed stands for no key.
2. A meta shorter than 18 bytes, or of an unknown type or encode-version, is corruption.
"""

import struct
from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from stratakv.encodings.layout import rows
from stratakv.encodings.layout.formats import (
    ABSENT,
    FORMATS,
    HASH,
    LIST,
    NAMES,
    PIECES,
    SET,
    STREAM,
    STRING,
    TABLE,
    WHOLE,
    ZSET,
    ExtraKind,
    Format,
)
from stratakv.errors import Corrupt

__all__ = (
    "ABSENT",
    "HASH",
    "LIST",
    "NAMES",
    "PIECES",
    "SET",
    "STREAM",
    "STRING",
    "WHOLE",
    "ZSET",
)
"""Whoever reads metas finds the key-types here too."""

NO_EXPIRY: Final = -1
STREAM_EXTRA_BYTES: Final = 76

_HEADER = struct.Struct(">BBQq")
_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_HEAD_TAIL = struct.Struct(">QQ")

_STRUCTS: Final = {ExtraKind.LENGTH: _U64, ExtraKind.COUNT: _U32}
_NUMBERS: Final = [[_STRUCTS.get(one.extra) for one in versions] for versions in FORMATS]
"""How a number is kept in the meta, by key-type and encode-version."""

Extra = bytes | int | tuple[int, int] | None


@mypyc_attr(acyclic=True)
class Meta:
    """A decoded meta, with the names of its rows ready made. Never changed in place.

    `extra` is the value of a string (the length of one in pieces), the count of a counted
    collection, (head, tail) of a list, the state of a stream as stored, or None. `sub` is
    "s#" | path; it is empty for strings that have no sub rows. `used` and `charge` belong to the
    cache: when the key was last used, in milliseconds, and the bytes it was charged for the key;
    `used` is negative if the hand has passed since, or the key was only loaded or written, and 0
    for a meta that waits for its commit, which was used just now. So do
    `members`, all members of a small collection that counts, with their values, if they are known:
    whoever adds or takes one makes another Meta, whoever gives one another value changes it there
    when that is applied (see member_rows.py). `in_order`: they are in the order of their names.

    An absent one may have the version of an incarnation that has left no rows: see `Txn.create`.
    """

    __slots__ = (
        "charge",
        "encoding",
        "expire_ms",
        "extra",
        "in_order",
        "members",
        "members_bytes",
        "row",
        "sub",
        "type",
        "used",
        "version",
    )

    def __init__(
        self,
        row: bytes,
        type_: int,
        encoding: int,
        version: int,
        expire_ms: int,
        extra: Extra,
        sub: bytes,
    ) -> None:
        self.row = row
        self.type = type_
        self.encoding = encoding
        self.version = version
        self.expire_ms = expire_ms
        self.extra = extra
        self.sub = sub
        self.used = 0
        self.charge = 0
        self.members: dict[bytes, bytes] | None = None
        self.members_bytes = 0
        self.in_order = False

    @property
    def value(self) -> bytes:
        """A string's value, or a stream's state. Requires: it is one, and not in pieces."""
        return self.extra  # type: ignore[return-value]  # bytes, as required

    @property
    def is_plain_string(self) -> bool:
        """Whether it is a short string without an expire-time."""
        return self.type == STRING and self.encoding == WHOLE and self.expire_ms == NO_EXPIRY

    @property
    def order(self) -> bytes:
        """ "k#" | path of a sorted set."""
        return order_of(self.sub)

    @property
    def index(self) -> bytes:
        """ "i#" | path of a sorted set."""
        return b"i#" + self.sub[2:]

    @property
    def format(self) -> Format:
        """What its type and encode-version mean. Requires: it is not absent."""
        return FORMATS[self.type][self.encoding]

    @property
    def counted(self) -> bool:
        """Whether the meta holds an exact count."""
        return type(self.extra) is int

    def with_extra(self, extra: Extra) -> "Meta":
        """The same incarnation with another count or value."""
        return Meta(
            self.row, self.type, self.encoding, self.version, self.expire_ms, extra, self.sub
        )

    def with_expiry(self, expire_ms: int) -> "Meta":
        """The same incarnation with another expire-time."""
        changed = Meta(
            self.row, self.type, self.encoding, self.version, expire_ms, self.extra, self.sub
        )
        changed.members, changed.members_bytes = self.members, self.members_bytes
        changed.in_order = self.in_order
        return changed

    def turned(self) -> "Meta":
        """The same hash after its first field got an expire-time, or after the last was gone."""
        encoding = self.format.turns_into
        assert encoding is not None, "only hashes have fields"
        return Meta(
            self.row, self.type, encoding, self.version, self.expire_ms, self.extra, self.sub
        )


def order_of(sub: bytes) -> bytes:
    """ "k#" | path of the sorted set whose "s#" | path this is."""
    return b"k#" + sub[2:]


def absent(row: bytes) -> Meta:
    """The meta of a key that is not there; worth caching, since it spares the next read."""
    return Meta(row, ABSENT, 0, 0, NO_EXPIRY, None, b"")


def encode(meta: Meta) -> bytes | None:
    """The stored value of a meta; None for an absent one, which has no row."""
    kind = meta.type
    if kind == ABSENT:
        return None
    head = _HEADER.pack(meta.encoding, kind, meta.version, meta.expire_ms)
    extra = meta.extra
    if extra is None:
        return head
    if type(extra) is int:
        number = _NUMBERS[kind][meta.encoding]
        if number is None:
            return head  # a sorted set's count, which its Redis knows
        return head + number.pack(extra)
    if type(extra) is tuple:
        return head + _HEAD_TAIL.pack(*extra)
    return head + extra  # type: ignore[operator]  # bytes: mypy cannot follow type() tests


def obituary(meta: Meta) -> bytes:
    """What the queue of the dead keeps of an incarnation (the value of its `g#` row)."""
    kind = bytes((meta.type, meta.encoding))
    if meta.type == STRING:
        return kind + _U64.pack(meta.extra)  # which pieces there may be need not be looked up
    return kind


def decode(row: bytes, ns_length: int, raw: bytes) -> Meta:
    """The meta of a row. Raises `Corrupt`, naming the key, for anything the table lacks."""
    if len(raw) < 18:
        raise Corrupt(row[ns_length + 10 :], "meta is shorter than 18 bytes")
    encoding, kind, version, expire_ms = _HEADER.unpack_from(raw)
    if kind == STRING and encoding == WHOLE:
        return Meta(row, kind, encoding, version, expire_ms, raw[18:], b"")
    decoder = _EXTRAS.get((kind, encoding))
    if decoder is None:
        raise Corrupt(row[ns_length + 10 :], f"unknown type {kind} or encode-version {encoding}")
    try:
        extra = decoder(raw[18:])
    except struct.error:
        raise Corrupt(row[ns_length + 10 :], "meta has the wrong length") from None
    return Meta(
        row, kind, encoding, version, expire_ms, extra, rows.sub_prefix(row, ns_length, version)
    )


def _count(raw: bytes) -> int:
    count: int = _U32.unpack(raw)[0]
    return count


def _length(raw: bytes) -> int:
    length: int = _U64.unpack(raw)[0]
    return length


def _nothing(raw: bytes) -> None:
    if raw:
        raise struct.error


def _head_tail(raw: bytes) -> tuple[int, int]:
    head, tail = _HEAD_TAIL.unpack(raw)
    return head, tail


def _stream_state(raw: bytes) -> bytes:
    if len(raw) != STREAM_EXTRA_BYTES:
        raise struct.error
    return raw


_DECODERS: Final[dict[ExtraKind, Callable[[bytes], Extra]]] = {
    ExtraKind.VALUE: bytes,
    ExtraKind.LENGTH: _length,
    ExtraKind.COUNT: _count,
    ExtraKind.NOTHING: _nothing,
    ExtraKind.ENDS: _head_tail,
    ExtraKind.STATE: _stream_state,
}
_EXTRAS: Final = {(one.type, one.version): _DECODERS[one.extra] for one in TABLE}
