"""Addresses that guess passwords: after too many wrong ones in a minute they have to wait.

Off by default (acl-max-failures is 0): Redis lets everybody guess on.
"""

import ipaddress
import time
from collections import deque
from collections.abc import Callable
from typing import Final

_WINDOW_SECONDS: Final = 60.0
_MOST_PLACES: Final = 10_000
"""Addresses that are remembered; the one that failed longest ago is forgotten first."""
_NETWORK_BITS: Final = 64
"""Of an IPv6 address: whoever has one has all that begin with these."""


class Failures:
    """Who gave wrong passwords lately."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        """Wrong passwords in a minute after which an address waits; 0 for any number."""
        self._now = now
        self._moments: dict[str, deque[float]] = {}

    def wait_of(self, address: str) -> float:
        """Seconds until an address may try again; 0 if it may now."""
        moments = self._moments.get(_place(address)) if self.most else None
        if not moments or len(moments) < self.most:
            return 0.0
        return max(0.0, moments[-self.most] + _WINDOW_SECONDS - self._now())

    def count(self, address: str) -> None:
        """An address has given a wrong password."""
        if not self.most:
            self._moments.clear()
            return
        place = _place(address)
        moments = self._moments.pop(place, None)
        if moments is None or moments.maxlen != self.most:
            moments = deque(moments or (), maxlen=self.most)
        moments.append(self._now())
        self._moments[place] = moments
        if len(self._moments) > _MOST_PLACES:
            del self._moments[next(iter(self._moments))]

    def forgive(self, address: str) -> None:
        """An address has given a right password."""
        self._moments.pop(_place(address), None)


def _place(address: str) -> str:
    """Who is behind `host:port`, whatever the port is."""
    host = address.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        known = ipaddress.ip_address(host)
    except ValueError:
        return host  # a unix socket
    if isinstance(known, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((known, _NETWORK_BITS), strict=False))
    return host
