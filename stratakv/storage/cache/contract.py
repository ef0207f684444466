"""What the encodings may ask of a cache: words go out, replies come back, in order.

A cache is allowed to be slow, broken, emptied or away at any moment. It then answers `BYPASS`,
which is never an error: whoever asked goes to the store. Three implementations: `NoCache`, `Link`,
which speaks to a Redis, and `Cluster`, which has a link to each master of a Redis Cluster.

Promises
1. Requests about one name reach the Redis in the order in which they were made. The replies of a
   link come in that order too; those of a cluster need not.
2. `on_loss` is called whenever a request may have been lost, before any later request is sent.
3. A request is answered exactly once, after at most about the time-out.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol


class Bypass:
    """The reply of a cache that cannot help."""

    def __repr__(self) -> str:
        return "BYPASS"


BYPASS: Final = Bypass()

Word = bytes | int | float
Then = Callable[[Any], None]


class Traffic:
    """What a cache has done, for INFO and the metrics."""

    __slots__ = ("buckets", "connects", "errors", "losses", "requests", "seconds", "timeouts")

    def __init__(self) -> None:
        self.requests = 0
        self.errors = 0
        self.timeouts = 0
        self.losses = 0
        self.connects = 0
        self.seconds = 0.0
        self.buckets = [0] * 40
        """Requests by latency: bucket n holds those below 2**n microseconds."""


class Cache(Protocol):
    """Where to ask. `state` is closed (in use), half-open (being tried) or open (bypassed)."""

    traffic: Traffic

    @property
    def ready(self) -> bool:
        """Whether asking makes sense now."""

    @property
    def state(self) -> str:
        """The state of the circuit breaker."""

    def ask(self, words: tuple[Word, ...], then: Then) -> None:
        """Send a request; `then` gets the reply, an error reply as an exception, or `BYPASS`."""

    def tell(self, words: tuple[Word, ...], then: Then | None = None) -> None:
        """Send a change: as `ask`, for those who rarely want to know."""

    def transact(self, requests: Sequence[tuple[Word, ...]], then: Then) -> None:
        """Send changes that are done together or not at all; `then` gets an error if one failed.

        Of several slots of a cluster, those of each slot are.
        """

    def together(self, one: bytes, other: bytes) -> bool:
        """Whether a script may use both names."""

    def nodes(self) -> "Iterable[Cache]":
        """The single servers."""

    def close(self) -> None:
        """Answer what is open with `BYPASS`, and go away."""


class NoCache:
    """No tier: everything is bypassed."""

    def __init__(self) -> None:
        self.traffic = Traffic()

    ready = False
    state = "none"

    def ask(self, words: tuple[Word, ...], then: Then) -> None:
        """There is nobody to ask."""
        then(BYPASS)

    def tell(self, words: tuple[Word, ...], then: Then | None = None) -> None:
        """There is nobody to tell."""
        if then is not None:
            then(BYPASS)

    def transact(self, requests: Sequence[tuple[Word, ...]], then: Then) -> None:
        """There is nobody to tell."""
        then(BYPASS)

    def together(self, one: bytes, other: bytes) -> bool:
        """Nothing stands in the way."""
        return True

    def nodes(self) -> "Iterable[Cache]":
        """None."""
        return ()

    def close(self) -> None:
        """Nothing to do."""
