"""Locks on keys, held by commands that take longer than a turn.

A long writer locks what it touches against other writers; readers go on and see the state before
it. When nothing long runs the table is empty, and the dispatcher does not even look at it.

Invariants
1. No two held locks overlap, and nobody overtakes a waiting lock that it overlaps with.
2. A lock is given back once, by its owner: nobody else has the object.
3. What names no keys is either NOTHING, which needs no lock, or EVERYTHING, which overlaps with any
   other lock. There is no third meaning.
4. What is held or waited for is counted by name, exactly: `blocks` looks at nothing else.

Nothing of it is stored: after a crash there are no locks, and what their owners wrote is either
published or invisible (see long_txn.py).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Claim:
    """What a command touches: keys by name, or everything.

    A name is claimed in all databases: rarely more than needed, and right for commands that use
    two.
    """

    keys: frozenset[bytes] = frozenset()
    everything: bool = False

    def __bool__(self) -> bool:
        return self.everything or bool(self.keys)

    def overlaps(self, other: "Claim") -> bool:
        """Whether one of the two has to wait for the other."""
        if self.everything or other.everything:
            return bool(self) and bool(other)
        return not self.keys.isdisjoint(other.keys)

    def covers(self, other: "Claim") -> bool:
        """Whether all that the other touches is in this one."""
        return self.everything or (not other.everything and other.keys <= self.keys)


NOTHING: Final = Claim()
EVERYTHING: Final = Claim(everything=True)


MOST_KEYS: Final = 4096
"""More of them are claimed as everything: to keep account of each would hold the loop."""


def claim(keys: Collection[bytes]) -> Claim:
    """A claim on keys by name."""
    return Claim(frozenset(keys)) if len(keys) <= MOST_KEYS else EVERYTHING


class Lock:
    """A claim that is held, or waits to be. Who asked for it has it, and gives it back."""

    __slots__ = ("_locks", "claim", "holds", "start")

    def __init__(self, locks: "KeyLocks", wanted: Claim, start: "Start", *, holds: bool) -> None:
        self._locks = locks
        self.claim = wanted
        self.start = start
        self.holds = holds
        """Whether it is held once it is granted; else it only waits until all of it is free."""

    def release(self) -> None:
        """Give it back, or stop waiting for it; those who waited for it start, in order."""
        self._locks.release(self)


Start = Callable[[Lock], None]


class KeyLocks:
    """Exclusive locks, each taken as a whole, granted in order of arrival.

    `later` runs a callback after this round of events. `on_change` hears whether there are any
    locks, whenever that may have changed.
    """

    def __init__(
        self,
        later: Callable[[Callable[[], None]], object],
        on_change: Callable[[bool], None] = lambda exist: None,
    ) -> None:
        self._later = later
        self._on_change = on_change
        self._held: dict[Lock, None] = {}
        self._waiting: dict[Lock, None] = {}
        self._all = _Union()
        """What is held or waited for."""

    def __bool__(self) -> bool:
        return bool(self._held or self._waiting)

    def blocks(self, wanted: Claim) -> bool:
        """Whether whoever wants this has to wait."""
        return self._all.overlaps(wanted)

    def acquire(self, wanted: Claim, start: Start) -> Lock:
        """Call `start` with the lock once all of it is ours: now if it is free."""
        lock = Lock(self, wanted, start, holds=True)
        if self.blocks(wanted):
            self._waiting[lock] = None
        else:
            self._held[lock] = None
        self._all.add(wanted)
        self._on_change(True)
        if lock in self._held:
            start(lock)
        return lock

    def wait(self, wanted: Claim, start: Start) -> Lock:
        """Call `start` once nobody has any of it, to try again; nothing is held then.

        Requires: `blocks(wanted)`.
        """
        lock = Lock(self, wanted, start, holds=False)
        self._waiting[lock] = None
        self._all.add(wanted)
        return lock

    def release(self, lock: Lock) -> None:
        """Give a lock back; raises KeyError if it is neither held nor waiting any more."""
        del (self._held if lock in self._held else self._waiting)[lock]
        self._all.remove(lock.claim)
        self._grant()

    def _grant(self) -> None:
        """Start those that wait and are free now, in order, in one walk over them."""
        waiting, self._waiting = self._waiting, {}
        taken, tried = _Union(), _Union()
        for lock in self._held:
            taken.add(lock.claim)
        started: list[Lock] = []
        for lock in waiting:
            if taken.overlaps(lock.claim) or (lock.holds and tried.overlaps(lock.claim)):
                self._waiting[lock] = None
                taken.add(lock.claim)
            else:
                started.append(lock)
                self._settle(lock, taken if lock.holds else tried)
        self._on_change(bool(self))
        for lock in started:
            lock.start(lock)
        if self._waiting and tried:  # those that were passed over for a try are next
            self._later(self._grant)

    def _settle(self, lock: Lock, union: "_Union") -> None:
        """A lock is granted: it is held from now on, or out of the table."""
        union.add(lock.claim)
        if lock.holds:
            self._held[lock] = None
        else:
            self._all.remove(lock.claim)

    @property
    def held(self) -> Collection["Lock"]:
        """The locks that somebody has."""
        return self._held.keys()

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        taken, counted = _Union(), _Union()
        for lock in self._held:
            assert not taken.overlaps(lock.claim), "locks 1: two held locks overlap"
            taken.add(lock.claim)
        for lock in (*self._held, *self._waiting):
            assert lock.claim, "locks 3: a lock on nothing"
            counted.add(lock.claim)
        assert counted == self._all, "locks 4: the count by name is wrong"

    def is_waiting(self, lock: Lock) -> bool:
        """Whether a lock is not granted yet."""
        return lock in self._waiting

    def behind(self, lock: Lock) -> list[Lock]:
        """Those that wait for this very lock."""
        return [other for other in self._waiting if other.claim.overlaps(lock.claim)]


class _Union:
    """Claims put together, and taken out again."""

    def __init__(self) -> None:
        self._names: dict[bytes, int] = {}
        self._everything = 0

    def __bool__(self) -> bool:
        return bool(self._names or self._everything)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Union):
            return NotImplemented
        return self._names == other._names and self._everything == other._everything

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add(self, added: Claim) -> None:
        """Put a claim in."""
        self._everything += added.everything
        for key in added.keys:
            self._names[key] = self._names.get(key, 0) + 1

    def remove(self, removed: Claim) -> None:
        """Take a claim out that was put in before."""
        self._everything -= removed.everything
        for key in removed.keys:
            left = self._names[key] - 1
            if left:
                self._names[key] = left
            else:
                del self._names[key]

    def overlaps(self, wanted: Claim) -> bool:
        """Whether any of the claims overlaps with this one."""
        if wanted.everything or self._everything:
            return bool(self) and bool(wanted)
        return not wanted.keys.isdisjoint(self._names)
