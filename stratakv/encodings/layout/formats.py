"""What each pair of key-type and encode-version means, in one table that all others read.

A new encode-version is a line here, and its operations: metas are read and written, keys checked,
copied, mended, inspected and re-encoded, and options refused by what the line says.

Invariants
1. A number in the table is never reused for something else.
2. The versions of a type are 0, 1, 2, ... without a gap.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from stratakv.encodings.layout.rows import INDEX, ORDER, SUB

ABSENT: Final = 0
STRING: Final = 1
HASH: Final = 2
ZSET: Final = 3
LIST: Final = 4
SET: Final = 5
STREAM: Final = 6

NAMES: Final = {
    ABSENT: b"none",
    STRING: b"string",
    HASH: b"hash",
    ZSET: b"zset",
    LIST: b"list",
    SET: b"set",
    STREAM: b"stream",
}

WHOLE: Final = 0
"""The encode-version of strings whose value is in the meta."""
PIECES: Final = 1
"""The encode-version of strings whose value is in pieces."""


class ExtraKind(Enum):
    """What a meta has behind its header, in the words of docs/encodings.md."""

    VALUE = "the value"
    LENGTH = "u64 length"
    COUNT = "u32 count"
    NOTHING = "none"
    ENDS = "u64 head, u64 tail"
    STATE = "76 bytes, see [Streams](#streams)"


@dataclass(frozen=True, slots=True)
class Format:
    """One line of the table."""

    type: int
    version: int
    summary: str
    """In a few words, for the docs and the help of options."""
    extra: ExtraKind
    stored: tuple[bytes, ...]
    """The prefixes of its sub rows; none if all is in the meta."""
    tiered: bool = False
    """Whether it has entries in the Redis tier."""
    remote: bool = False
    """Whether its values are in Redis alone: a Txn shows them as if they were `s#` rows."""
    timed: bool = False
    """Whether its fields may have expire-times."""
    turns_into: int | None = None
    """The version that it becomes, in place, when its first field gets an expire-time; of a `timed`
    one, when the last is gone."""

    @property
    def counted(self) -> bool:
        """Whether the number of its members is in the meta."""
        return self.extra is ExtraKind.COUNT

    @property
    def choosable(self) -> bool:
        """Whether options, policies and STRATA REENCODE may ask for it.

        The version of other types follows from the value, and so does that of a `timed` one.
        """
        return self.type in (HASH, SET, ZSET) and not self.timed

    @property
    def plain(self) -> bool:
        """Whether there is nothing to look after but its rows and its count."""
        return not (self.tiered or self.timed)

    @property
    def shown(self) -> tuple[bytes, ...]:
        """The prefixes under which a Txn shows all of a key; a copy has the same."""
        return (SUB, *self.stored) if self.remote else self.stored


_VALUE, _LENGTH, _COUNT, _NOTHING, _ENDS, _STATE = ExtraKind

TABLE: Final = (
    Format(STRING, WHOLE, "in the meta", _VALUE, ()),
    Format(STRING, PIECES, "in pieces", _LENGTH, (SUB,)),
    Format(HASH, 0, "exact", _COUNT, (SUB,), turns_into=4),
    Format(HASH, 1, "blind writes", _NOTHING, (SUB,), turns_into=5),
    Format(HASH, 2, "exact with Redis cache", _COUNT, (SUB,), tiered=True, turns_into=4),
    Format(HASH, 3, "blind with Redis cache", _NOTHING, (SUB,), tiered=True, turns_into=5),
    Format(HASH, 4, "exact, timed", _COUNT, (SUB, ORDER, INDEX), timed=True, turns_into=0),
    Format(HASH, 5, "blind, timed", _NOTHING, (SUB, ORDER, INDEX), timed=True, turns_into=1),
    Format(ZSET, 0, "ordered in the store", _COUNT, (SUB, ORDER)),
    Format(ZSET, 1, "in Redis", _COUNT, (SUB,), tiered=True),
    Format(ZSET, 2, "in Redis by short names", _COUNT, (SUB, INDEX), tiered=True),
    Format(ZSET, 3, "scores in Redis alone", _NOTHING, (INDEX,), tiered=True, remote=True),
    Format(LIST, 0, "by sequence", _ENDS, (SUB,)),
    Format(SET, 0, "exact", _COUNT, (SUB,)),
    Format(SET, 1, "blind writes", _NOTHING, (SUB,)),
    Format(SET, 2, "exact with Redis cache", _COUNT, (SUB,), tiered=True),
    Format(SET, 3, "blind with Redis cache", _NOTHING, (SUB,), tiered=True),
    Format(STREAM, 0, "by id", _STATE, (SUB,)),
)

FORMATS: Final = tuple(tuple([one for one in TABLE if one.type == type_]) for type_ in NAMES)
"""By key-type and encode-version."""

CHOICES: Final = {
    type_: tuple([one.version for one in FORMATS[type_] if one.choosable])
    for type_ in (HASH, SET, ZSET)
}
"""The versions that may be asked for, by key-type."""


def find(type_: int, version: int) -> Format | None:
    """The format of that number, if there is one."""
    known = FORMATS[type_] if type_ < len(FORMATS) else ()
    return known[version] if version < len(known) else None


# The same facts for the hot path, by encode-version: a subscript instead of three look-ups.

HASH_PLAIN: Final = tuple([one.plain for one in FORMATS[HASH]])
HASH_TIMED: Final = tuple([one.timed for one in FORMATS[HASH]])
SET_TIERED: Final = tuple([one.tiered for one in FORMATS[SET]])
ZSET_TIERED: Final = tuple([one.tiered for one in FORMATS[ZSET]])
ZSET_REMOTE: Final = tuple([one.remote for one in FORMATS[ZSET]])
ZSET_INDEXED: Final = tuple([INDEX in one.stored for one in FORMATS[ZSET]])
"""Whether Redis knows members by their index (see rows.index_of), not by their names."""
