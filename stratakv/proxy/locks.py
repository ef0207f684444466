"""Locks on keys, held by commands that take longer than a turn.

A long writer locks its keys against other writers; readers go on and see the state before it. When
nothing long runs the table is empty, and the dispatcher does not even look at it.
"""

from collections import deque
from collections.abc import Callable, Iterable

Start = Callable[[], None]


class KeyLocks:
    """Exclusive locks on key names, taken all at once, granted in order of arrival.

    A name is locked in all databases: rarely more than needed, and right for commands that use two.
    A writer that names no keys may write any: it waits for all others, and they wait for it.
    """

    def __init__(self) -> None:
        self._held: set[bytes] = set()
        self._queue: deque[tuple[frozenset[bytes], Start]] = deque()
        self._everything = False

    def __bool__(self) -> bool:
        return bool(self._held) or bool(self._queue) or self._everything

    def blocks(self, keys: Iterable[bytes]) -> bool:
        """Whether a writer of these keys has to wait."""
        wanted = set(keys)
        if not wanted or self._everything:
            return bool(self)
        return not wanted.isdisjoint(self._held) or any(
            not queued or not wanted.isdisjoint(queued) for queued, _ in self._queue
        )

    def acquire(self, keys: Iterable[bytes], start: Start) -> None:
        """Call `start` once all keys are ours: now if they are free."""
        wanted = frozenset(keys)
        if self.blocks(wanted):
            self._queue.append((wanted, start))
            return
        self._held |= wanted
        self._everything = not wanted
        start()

    def release(self, keys: Iterable[bytes]) -> None:
        """Give the keys back and start those that waited for them, in order."""
        freed = set(keys)
        self._held -= freed
        self._everything = self._everything and bool(freed)
        waiting, self._queue = self._queue, deque()
        for wanted, start in waiting:
            self.acquire(wanted, start)
