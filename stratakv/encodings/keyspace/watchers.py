"""Signals: who wants to know that a key has changed.

WATCH and the blocking commands listen to keys; a Txn emits the keys that it changed when it is
applied. While nobody listens, that costs one truth test per command.
"""

from collections.abc import Callable, Iterable

Listener = Callable[[int, bytes], None]


class KeyWatchers:
    """Listeners by (database index, key)."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: dict[tuple[int, bytes], list[Listener]] = {}

    def listen(self, database: int, key: bytes, listener: Listener) -> None:
        """Call `listener(database, key)` after each change of the key."""
        self.listeners.setdefault((database, key), []).append(listener)

    def ignore(self, database: int, key: bytes, listener: Listener) -> None:
        """Stop listening. Requires: the listener listens to the key."""
        found = self.listeners[database, key]
        found.remove(listener)
        if not found:
            del self.listeners[database, key]

    def emit(self, database: int, keys: Iterable[bytes]) -> None:
        """These keys of a database have changed."""
        for key in keys:
            for listener in tuple(self.listeners.get((database, key), ())):
                listener(database, key)

    def keys_of(self, database: int) -> list[bytes]:
        """The keys of a database that somebody listens to."""
        return [key for index, key in self.listeners if index == database]
