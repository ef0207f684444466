"""What the options ask for, as far as operations look at it.

The server replaces the object as a whole when an option changes, so a command sees one state of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PIECE_BYTES: Final = 64 << 10
"""Longer strings are kept in pieces of this size; part of the stored format."""

COMPACT_LIMITS: Final = {
    "hash-max-listpack-entries": 512,
    "hash-max-listpack-value": 64,
    "set-max-intset-entries": 512,
    "zset-max-listpack-entries": 128,
    "zset-max-listpack-value": 64,
    "hll-sparse-max-bytes": 3000,
}
"""Up to where Redis keeps values in compact forms, by the names of its settings."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how many things may be."""

    string_bytes: int = 512 << 20
    """The longest string, `proto-max-bulk-len`."""
    piece_bytes: int = PIECE_BYTES
    """Only tests have another."""
    stream_node_entries: int = 100
    """Rough trimming takes away so many entries at a time (stream-node-max-entries)."""
    rdb_version: int = 10
    """Dumps are of that version, unless what they hold needs a later one."""
    compact: Mapping[str, int] = field(default_factory=lambda: dict(COMPACT_LIMITS))
    """Up to where Redis would keep a value in a compact form."""
