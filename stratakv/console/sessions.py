"""Who is logged in, and how often one may try.

All of it is in memory alone: a browser has a random name of its session, and nothing else.
"""

import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from stratakv.console.client import Client
from stratakv.console.peer import Peer
from stratakv.console.survey import Survey
from stratakv.console.walks import Walk

IDLE_SECONDS: Final = 3600.0
LONGEST_SECONDS: Final = 12 * 3600.0
SESSIONS: Final = 64
WALKS: Final = 8
HISTORY: Final = 200
TAILS: Final = 4
"""Channels that a session may watch at the same time."""
TRIES: Final = 5
TRY_SECONDS: Final = 60.0
ADDRESSES: Final = 1024

Clock = Callable[[], float]


@dataclass(slots=True, eq=False)
class Session:
    """A user who is logged in, with connections and memory of its own."""

    client: Client
    prompt: Client
    """For what is typed: it may take long, and leave the connection in any state."""
    peer: Peer
    began: float
    seen: float
    name: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """What each form carries, to show that it is one of ours."""
    left_out: frozenset[str] = frozenset()
    """Pages that would show nothing to the user, as the rights were at the log-in."""
    theme: str = ""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """What the next page says of what was done: a kind and a text."""
    history: deque[str] = field(default_factory=lambda: deque(maxlen=HISTORY))
    walks: OrderedDict[tuple[object, ...], Walk] = field(default_factory=OrderedDict)
    survey: Survey | None = None
    tails: int = 0

    @property
    def user(self) -> str:
        """The name of the user at the server."""
        return self.peer.user

    def close(self) -> None:
        """Hang up, and forget the password."""
        if self.survey is not None:
            self.survey.stop()
        self.client.close()
        self.prompt.close()


class Sessions:
    """All of them, by name."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._all: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._all.values()))

    def find(self, name: str) -> Session | None:
        """The session of that name, if it has not ended."""
        self.sweep()
        session = self._all.get(name)
        if session is not None:
            session.seen = self._clock()
        return session

    def add(self, client: Client, prompt: Client, peer: Peer) -> Session:
        """A new one; the one that was idle longest ends if there are too many."""
        self.sweep()
        if len(self._all) >= SESSIONS:
            self.end(min(self._all.values(), key=lambda session: session.seen))
        now = self._clock()
        session = Session(client, prompt, peer, now, now)
        self._all[session.name] = session
        return session

    def end(self, session: Session) -> None:
        """Log out."""
        self._all.pop(session.name, None)
        session.close()

    def sweep(self) -> None:
        """End those that were idle for too long, or last too long."""
        now = self._clock()
        for session in list(self._all.values()):
            if now - session.seen > IDLE_SECONDS or now - session.began > LONGEST_SECONDS:
                self.end(session)

    def close(self) -> None:
        """End all."""
        for session in list(self._all.values()):
            self.end(session)


class Tries:
    """How often an address has failed to log in lately."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """The seconds until an address may try again; 0 if it may now."""
        failures = self._failures.get(address, deque())
        now = self._clock()
        while failures and now - failures[0] >= TRY_SECONDS:
            failures.popleft()
        return TRY_SECONDS - (now - failures[0]) if len(failures) >= TRIES else 0.0

    def begin(self, address: str) -> None:
        """Somebody there tries: it counts as a failure until it is taken back.

        So that who tries many at the same time has no more than who tries one after the other.
        """
        self._failures.setdefault(address, deque(maxlen=TRIES)).append(self._clock())
        self._failures.move_to_end(address)
        while len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)

    def take_back(self, address: str) -> None:
        """It was none. Failures before it stay: a right password does not make others cheaper."""
        if failures := self._failures.get(address):
            failures.pop()
