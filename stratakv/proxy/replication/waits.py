"""WAIT: clients that wait until replicas have what they wrote."""

from typing import TYPE_CHECKING

from stratakv.proxy.replication.feed import Feed
from stratakv.proxy.replication.replicas import Replicas
from stratakv.proxy.run.blocking import WouldBlock

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.server import Server


class Copies:
    """The reply of WAIT, as it is when it is sent: how many replicas have it by then."""

    def __init__(self, replicas: Replicas, wanted: int, offset: int) -> None:
        self._replicas = replicas
        self._wanted = wanted
        self.offset = offset

    def __call__(self) -> int:
        """How many have it now."""
        return self._replicas.have(self.offset)

    @property
    def are_enough(self) -> bool:
        """Whether as many replicas have it as are wanted."""
        return self() >= self._wanted


class Waits:
    """Who waits for replicas."""

    def __init__(self, server: "Server", feed: Feed, replicas: Replicas) -> None:
        self._server = server
        self._feed = feed
        self._replicas = replicas

    def wait(self, session: "Session", wanted: int, seconds: float) -> int:
        """How many replicas have what a client wrote; raises WouldBlock while they are too few."""
        offset = self._feed.position.offset if session.has_written else 0
        copies = Copies(self._replicas, wanted, offset)
        if copies.are_enough or session.unit is not None:
            return copies()
        self._replicas.ask()
        raise WouldBlock([], seconds, copies)

    def look(self) -> None:
        """A replica has come, gone or acknowledged: answer those for whom there are enough."""
        blocked = self._server.dispatcher.blocked
        for one in blocked.all():
            if isinstance(one.nothing, Copies) and one.nothing.are_enough:
                blocked.release(one, one.nothing())
