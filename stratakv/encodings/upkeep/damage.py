"""What damaged files mean for clients: which keys the rows belong to that cannot be read."""

from pathlib import Path

from stratakv.encodings.layout import rows
from stratakv.errors import Damaged, quote
from stratakv.storage.leveldb.survey import Damage, neighbours

_KEY_BEHIND = {rows.META: 8, rows.EXPIRY: 8, rows.GARBAGE: 8, rows.FIELD_EXPIRY: 16}
"""How many bytes stand between the namespace and the key."""


def key_of(row: bytes) -> bytes | None:
    """The client's key that a row belongs to; None if it belongs to none, or is only a part."""
    prefix, (name, colon, rest) = row[:2], row[2:].partition(b":")
    if not colon:
        return None
    if prefix in rows.SUB_PREFIXES:
        place = rows.parse_path(name + colon, row)
        return None if place is None else place[0]
    skip = _KEY_BEHIND.get(prefix)
    return None if skip is None or len(rest) <= skip else rest[skip:]


def describe(row: bytes) -> bytes:
    """A row in words for a client or an operator."""
    key = key_of(row)
    return b"row " + quote(row) if key is None else b"key " + quote(key)


def explain(damaged: Damaged) -> Damaged:
    """The same error with the name of the client's key, where there is one."""
    return Damaged(damaged.row, damaged.place, describe(damaged.row))


def describe_damage(directory: Path, damage: Damage) -> str:
    """A damaged place, and the keys around it: its own rows are what cannot be read."""
    before, behind = neighbours(directory, damage)
    edges = [_edge(row) for row in (before, behind) if row is not None]
    if not edges:
        return str(damage)
    if len(edges) == 2 and edges[0] == edges[1]:
        return f"{damage}; rows of {edges[0]} are concerned"
    words = ("behind", "before") if before is not None else ("before", "")
    places = " and ".join(f"{word} {edge}" for word, edge in zip(words, edges, strict=False))
    return f"{damage}; rows {places} are concerned"


def _edge(row: bytes) -> str:
    return describe(row).decode("latin-1")
