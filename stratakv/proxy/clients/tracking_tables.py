"""What is known of copies within one namespace of users, or of the databases of all others."""

import random
from collections.abc import Iterable
from typing import Final

from stratakv.proxy.clients.session import Session

SPARE_NAMES: Final = 100


class Prefix:
    """Who wants to hear of the keys with a prefix, and those that changed in this turn."""

    __slots__ = ("changed", "sessions")

    def __init__(self) -> None:
        self.sessions: dict[int, Session] = {}
        self.changed: dict[bytes, Session | None] = {}
        """Each with the client that changed it last, if it was one."""


class Table:
    """The keys that somebody has read, with their readers, and the prefixes of interest."""

    __slots__ = ("_names", "items", "prefixes", "readers")

    def __init__(self) -> None:
        self.readers: dict[bytes, int | set[int]] = {}
        """The clients that have read a key: mostly it is one."""
        self._names: list[bytes] = []
        """The same keys, and some that are gone, to choose one at random."""
        self.prefixes: dict[bytes, Prefix] = {}
        self.items = 0
        """The sum of the readers of all keys."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not (self.readers or self.prefixes)

    def remember(self, number: int, keys: Iterable[bytes]) -> None:
        """A client has read these keys, or is about to."""
        for key in keys:
            known = self.readers.get(key)
            if known is None:
                self.readers[key] = number
                self._names.append(key)
                self.items += 1
            elif isinstance(known, set):
                self.items += number not in known
                known.add(number)
            elif known != number:
                self.readers[key] = {known, number}
                self.items += 1

    def take(self, key: bytes) -> list[int]:
        """The readers of a key, which are forgotten."""
        known = self.readers.pop(key, None)
        if known is None:
            return []
        numbers = sorted(known) if isinstance(known, set) else [known]
        self.items -= len(numbers)
        return numbers

    def any_key(self) -> bytes:
        """A key at random. Requires: there is one."""
        names = self._names
        if len(names) > 2 * len(self.readers) + SPARE_NAMES:
            names = self._names = list(self.readers)
        while True:
            at = random.randrange(len(names))
            names[at], names[-1] = names[-1], names[at]
            if (name := names.pop()) in self.readers:
                return name

    def forget_readers(self) -> dict[bytes, int | set[int]]:
        """Know of no reader any more; returns what was known, to be freed at leisure."""
        known, self.readers, self._names, self.items = self.readers, {}, [], 0
        return known
