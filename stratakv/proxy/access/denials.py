"""What ACL LOG shows: requests and passwords that were refused, the latest first.

Of the same thing again within a minute, only the number is counted up.
"""

import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

from stratakv.proxy.access.checking import AUTH, CHANNEL, COMMAND, KEY, TENANT

TOP_LEVEL: Final = b"toplevel"
MULTI: Final = b"multi"
LUA: Final = b"lua"

_REASONS: Final = {
    COMMAND: b"command",
    KEY: b"key",
    CHANNEL: b"channel",
    AUTH: b"auth",
    TENANT: b"command",
}
_SAME_SECONDS: Final = 60.0
_LOOKED_AT: Final = 10
"""Entries among which the same thing is looked for."""
_LONGEST: Final = 1024
"""Bytes of a key's name that are kept."""


class Entry:
    """Something that was refused, once or several times."""

    __slots__ = ("client", "context", "count", "object", "reason", "seen", "user")

    def __init__(self, reason: int, context: bytes, what: bytes, user: bytes) -> None:
        self.reason = _REASONS[reason]
        self.context = context
        self.object = what[:_LONGEST]
        self.user = user
        self.count = 0
        self.seen = 0.0
        self.client = b""

    @property
    def nature(self) -> tuple[bytes, bytes, bytes, bytes]:
        """What makes two of them the same thing."""
        return self.reason, self.context, self.object, self.user


class AclLog:
    """The latest refusals."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        """How many are kept (acllog-max-len)."""
        self._now = now
        self.entries: deque[Entry] = deque()

    def add(self, entry: Entry, client: bytes) -> None:
        """Note a refusal, with the client that it was."""
        now = self._now()
        same = self._find(entry, now)
        if same is not None:
            self.entries.remove(same)
            entry = same
        entry.count += 1
        entry.seen = now
        entry.client = client
        self.entries.appendleft(entry)
        while same is None and len(self.entries) > self.most:
            self.entries.pop()

    def _find(self, entry: Entry, now: float) -> Entry | None:
        for known in islice(self.entries, _LOOKED_AT):
            if known.nature == entry.nature and now - known.seen <= _SAME_SECONDS:
                return known
        return None

    def age(self, entry: Entry) -> float:
        """Seconds since it happened last, to the millisecond."""
        return round(self._now() - entry.seen, 3)

    def clear(self) -> None:
        """ACL LOG RESET."""
        self.entries.clear()
