"""The names of rows in the table: the one place that builds and reads them.

    group          := u16 big-endian                the table is split before each of them
    fence row      := group 00
    row            := group 01 row of the engine
    probe row      := group 02                      never there but for a moment at the start
    lease row      := group 03                      u32 milliseconds, while there is an owner

    column d:v of a row     -> its value
    column d:f of the fence -> epoch u64, turn u64, big-endian
    column d:o of the fence -> a token of 16 bytes, new with each epoch, and the owner's name

1. All rows of a group are in one region, so one call can write them together.
2. The timestamp of a cell is `epoch << 40 | turn` of the commit that wrote it.
"""

from dataclasses import dataclass
from typing import Final

FAMILY: Final = b"d"
VALUE: Final = b"v"
FENCE: Final = b"f"
OWNER: Final = b"o"

MOST_GROUPS: Final = 1 << 14
"""As many as there are slots."""
TURN_BITS: Final = 40
MOST_TURN: Final = (1 << TURN_BITS) - 1
"""A thousand commits a second for 34 years."""
MOST_EPOCH: Final = (1 << (63 - TURN_BITS)) - 1
"""Timestamps of HBase are signed."""


@dataclass(frozen=True, slots=True)
class Group:
    """A part of the table that is written by one owner at a time."""

    number: int

    @property
    def prefix(self) -> bytes:
        """What all its names begin with."""
        return self.number.to_bytes(2, "big")

    @property
    def fence(self) -> bytes:
        """The row that says who may write."""
        return self.prefix + b"\x00"

    @property
    def probe(self) -> bytes:
        """The row that is never written if conditions are obeyed."""
        return self.prefix + b"\x02"

    @property
    def lease(self) -> bytes:
        """The row that says how long an owner may answer without asking."""
        return self.prefix + b"\x03"

    @property
    def rows(self) -> bytes:
        """What the names of its rows begin with."""
        return self.prefix + b"\x01"

    def row(self, row: bytes) -> bytes:
        """The name in the table of an engine's row."""
        return self.rows + row

    def engine_row(self, row: bytes) -> bytes:
        """The engine's row of a name in the table."""
        return row[3:]

    def __str__(self) -> str:
        return f"group {self.number}"


def split_keys(groups: int) -> list[bytes]:
    """Where the table is split: before each group but the first."""
    return [Group(number).prefix for number in range(1, groups)]


def timestamp(epoch: int, turn: int) -> int:
    """Of the cells of a commit.

    Requires: both within their bounds.
    """
    assert 0 <= epoch <= MOST_EPOCH, epoch
    assert 0 <= turn <= MOST_TURN, turn
    return epoch << TURN_BITS | turn
