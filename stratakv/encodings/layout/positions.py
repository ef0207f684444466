"""Where the stream of replication stands: the value of the row "!replication".

    id | " " | offset | " " | second id | " " | second offset | " " | database

A history of writes has an id, and the offset counts its bytes. The row is written in the batch of
the effects that it counts, so it always tells what the store has. The second id is that of the
history that this one continues, and it is the same up to before the second offset. The database is
the one that the last command of the stream was for.
"""

from typing import NamedTuple

from stratakv.errors import Corrupt

NO_ID = b"0" * 40


class Position(NamedTuple):
    """A place in a history of writes."""

    id: bytes
    offset: int
    second_id: bytes = NO_ID
    second_offset: int = -1
    database: int = -1


def encode_position(position: Position) -> bytes:
    """The value of the row."""
    return b"%b %d %b %d %d" % position


def decode_position(raw: bytes) -> Position:
    """The position that the row tells."""
    words = raw.split(b" ")
    try:
        offset, second_offset, database = int(words[1]), int(words[3]), int(words[4])
    except (ValueError, IndexError):
        raise Corrupt(b"!replication", "it is no position") from None
    return Position(words[0], offset, words[2], second_offset, database)
