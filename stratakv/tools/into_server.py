"""Keys into a running server, by RESTORE, some hundred at a time."""

from typing import Any, Final

from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.rdb.file_reader import Entry
from stratakv.tools.links import Failure, Link, LinkError, Word
from stratakv.tools.outcomes import KeyExists, Outcome

KEYS_AT_ONCE: Final = 200
BYTES_AT_ONCE: Final = 4 << 20
_OWN_FAULTS: Final = ("Bad data format", "DUMP payload version or checksum")
"""Errors that are the key's, not the server's."""


class Target:
    """A server that takes keys, and what became of them."""

    def __init__(self, link: Link, existing: str, outcome: Outcome) -> None:
        self._link = link
        self._existing = existing
        self._outcome = outcome
        self._waiting: list[tuple[Entry, bytes]] = []
        self._size = 0
        self._database = -1

    @property
    def is_full(self) -> bool:
        """Whether it is time for a `flush`."""
        return len(self._waiting) >= KEYS_AT_ONCE or self._size >= BYTES_AT_ONCE

    def add(self, entry: Entry, payload: bytes) -> None:
        """A key joins those that are sent next."""
        self._waiting.append((entry, payload))
        self._size += len(payload)

    def flush(self) -> None:
        """Send what waits; it is acknowledged when this returns."""
        commands: list[tuple[Word, ...]] = []
        asked: list[Entry | None] = []
        for entry, payload in self._waiting:
            if entry.database != self._database:
                self._database = entry.database
                commands.append(("SELECT", entry.database))
                asked.append(None)
            commands.append(self._restore(entry, payload))
            asked.append(entry)
        self._waiting, self._size = [], 0
        for one, reply in zip(asked, self._link.pipeline(commands), strict=True):
            self._judge(one, reply)

    def _restore(self, entry: Entry, payload: bytes) -> tuple[Word, ...]:
        time = ("0",) if entry.expire_ms == NO_EXPIRY else (str(entry.expire_ms),)
        words = [b"REPLACE"] if self._existing == "replace" else []
        if entry.expire_ms != NO_EXPIRY:
            words.append(b"ABSTTL")
        return ("RESTORE", entry.key, *time, payload, *words)

    def _judge(self, entry: Entry | None, reply: Any) -> None:
        if not isinstance(reply, Failure):
            if entry is not None:
                self._outcome.took(entry)
            return
        text = str(reply)
        if entry is None:
            raise LinkError(f"{self._link}: SELECT: {text}")
        if text.startswith("BUSYKEY"):
            if self._existing != "skip":
                raise KeyExists(entry.key)
            self._outcome.existing += 1
        elif any(words in text for words in _OWN_FAULTS):
            self._outcome.refuse(entry, text)
        else:
            raise LinkError(f"{self._link}: RESTORE: {text}")

    def restore_libraries(self, payload: bytes) -> None:
        """Take functions over, in place of those of the same names."""
        self._link.call("FUNCTION", "RESTORE", payload, "REPLACE")
