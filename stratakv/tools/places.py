"""Where an import goes on after it was stopped.

What is kept is a place in the dump, and by which it is known again: its size and its first bytes.
Into a data directory it is kept in a row, in the same commit as the keys before it; into a server
in a file beside the dump, after the server has acknowledged them.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from stratakv.encodings.rdb.file_reader import Place

LIVE_KEY: Final = b"stratakv:import"
"""The key of a target that says how far it follows its source (see live.py)."""
_COMPARED_BYTES: Final = 1 << 16


def fingerprint(dump: Path, *words: str) -> str:
    """By which an import of the same dump, with the same words, is known again."""
    with dump.open("rb") as file:
        seen = hashlib.sha256(file.read(_COMPARED_BYTES))
    facts = (str(dump.stat().st_size), *words)
    seen.update("\0".join(facts).encode("utf-8", "surrogateescape"))
    return seen.hexdigest()[:32]


def encode(mark: str, place: Place) -> bytes:
    """A place as it is kept."""
    return json.dumps({"mark": mark, **place._asdict()}).encode()


def decode(mark: str, raw: bytes | None) -> Place | None:
    """The place that was kept; None if there is none, or one of another import."""
    try:
        kept: dict[str, Any] = json.loads(raw or b"{}")
        return (
            Place(**{name: int(kept[name]) for name in Place._fields})
            if (kept.get("mark") == mark)
            else None
        )
    except (ValueError, KeyError, TypeError):
        return None


class PlaceFile:
    """A place in a file beside the dump."""

    def __init__(self, dump: Path, mark: str) -> None:
        self.path = dump.with_name(dump.name + ".progress")
        self._mark = mark

    def load(self) -> Place | None:
        """Where to go on, if this import was begun before."""
        try:
            return decode(self._mark, self.path.read_bytes())
        except FileNotFoundError:
            return None

    def save(self, place: Place) -> None:
        """All before this place is done."""
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.write_bytes(encode(self._mark, place))
        fresh.replace(self.path)

    def remove(self) -> None:
        """All is done."""
        self.path.unlink(missing_ok=True)
