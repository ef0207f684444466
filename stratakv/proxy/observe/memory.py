"""The memory of the process: its own, and the pages of files that the system lends it."""

import os
import resource
from typing import Final, NamedTuple

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class MemoryUse(NamedTuple):
    """Bytes of a moment. `own` is anonymous memory, `mapped` the resident pages of files.

    The system takes mapped pages back when it needs them; own memory it cannot.
    """

    own: int
    mapped: int

    @property
    def resident(self) -> int:
        """All that the process occupies."""
        return self.own + self.mapped


def measure() -> MemoryUse:
    """What the process occupies now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            words = file.read().split()
    except OSError:  # not on Linux: the most that it ever occupied
        return MemoryUse(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, 0)
    resident, shared = int(words[1]) * _PAGE, int(words[2]) * _PAGE
    return MemoryUse(max(resident - shared, _PAGE), shared)


class MemoryWatch:
    """What the process occupied when it was ready, and the most of its own since."""

    def __init__(self) -> None:
        self.startup = measure().own
        self.peak = self.startup

    def start(self) -> None:
        """The server is ready: whatever comes from now on is due to its clients."""
        self.startup = self.look().own

    def look(self) -> MemoryUse:
        """Measure, and remember the most; called ten times a second."""
        now = measure()
        self.peak = max(self.peak, now.own)
        return now
