"""The keys of a database by prefix, some at a time: SCAN goes on where the page stopped looking."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from stratakv.console.client import Client
from stratakv.console.replies import Failure

SEPARATOR: Final = b":"
STEP: Final = 400
"""Keys that the server looks at before others have their turn."""
SECONDS: Final = 0.25
FOLDERS: Final = 1000
KEYS: Final = 100
"""Keys that are shown at a time, each with its type, time to live and size."""
SIZES: Final = {
    b"string": "STRLEN",
    b"hash": "HLEN",
    b"list": "LLEN",
    b"set": "SCARD",
    b"zset": "ZCARD",
    b"stream": "XLEN",
}
TYPES: Final = tuple(name.decode() for name in SIZES)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key in a list."""

    key: bytes
    type: str
    ttl_ms: int | None
    """What PTTL says; None if the user may not ask."""
    count: int | None
    """Elements, or bytes of a string."""


@dataclass(slots=True)
class Walk:
    """What was found below a prefix so far. As a list, nothing is put into folders."""

    db: int
    pattern: bytes
    type: str
    prefix: bytes
    as_list: bool
    cursor: bytes = b"0"
    scanned: int = 0
    """Keys that were found so far, those of folders included."""
    is_done: bool = False
    folders: Counter[bytes] = field(default_factory=Counter)
    keys: dict[bytes, None] = field(default_factory=dict)
    """In the order in which they were met; those of one stretch only."""
    was_full: bool = False
    """There were more folders than are kept."""

    async def go_on(self, client: Client) -> None:
        """Look at more keys, until there is a page of them or the time is over."""
        self.keys = {}
        deadline = time.monotonic() + SECONDS
        while not self.is_done and len(self.keys) < KEYS and time.monotonic() < deadline:
            self.cursor, found = await client.call(
                "SCAN", self.cursor, *self._options(), db=self.db
            )
            self.is_done = self.cursor == b"0"
            for key in found:
                self._sort(key)

    def _options(self) -> list[bytes | str | int]:
        # One pattern at a time: with both, what is not below the prefix is left out here.
        match = self.pattern or escape_glob(self.prefix) + b"*"
        options: list[bytes | str | int] = ["COUNT", STEP]
        if match != b"*":
            options += ["MATCH", match]
        return [*options, "TYPE", self.type] if self.type else options

    def _sort(self, key: bytes) -> None:
        if not key.startswith(self.prefix):
            return
        self.scanned += 1
        head, mark, _ = key[len(self.prefix) :].partition(SEPARATOR)
        if self.as_list or not mark:
            self.keys[key] = None
            return
        folder = self.prefix + head + mark
        if folder in self.folders or len(self.folders) < FOLDERS:
            self.folders[folder] += 1
        else:
            self.was_full = True


async def look_at(client: Client, db: int, keys: Sequence[bytes]) -> list[Entry]:
    """Type, time to live and size of some keys; those that are gone are left out."""
    if not keys:
        return []
    asked = [(word, key) for key in keys for word in ("TYPE", "PTTL")]
    replies = await client.pipeline(asked, db=db)
    kinds = [one if isinstance(one, bytes) else b"" for one in replies[::2]]
    sizes = await client.pipeline(
        [(SIZES.get(kind, "EXISTS"), key) for kind, key in zip(kinds, keys, strict=True)], db=db
    )
    found = zip(keys, kinds, replies[1::2], sizes, strict=True)
    return [
        Entry(
            key,
            kind.decode() or "?",
            None if isinstance(ttl, Failure) else ttl,
            None if isinstance(count, Failure) else count,
        )
        for key, kind, ttl, count in found
        if kind != b"none"
    ]


def escape_glob(text: bytes) -> bytes:
    """A pattern that matches just this text."""
    return b"".join(
        b"\\" + bytes((byte,)) if byte in b"*?[]\\^-" else bytes((byte,)) for byte in text
    )
