"""FAILOVER: a master hands its place to a replica, and nothing is lost.

Writes are held back until the replica has everything; then this server follows it, and tells it so
with its PSYNC, upon which it becomes the master and goes on from there.
"""

import logging
import math
from typing import TYPE_CHECKING, Final

from stratakv.errors import CommandError
from stratakv.proxy.replication.replicas import ONLINE, Replica
from stratakv.proxy.run.guards import FOR_FAILOVER

if TYPE_CHECKING:
    from stratakv.proxy.replication.replication import Replication
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

NONE: Final = "no-failover"
SYNCING: Final = "waiting-for-sync"
TAKING: Final = "failover-in-progress"


class Failover:
    """The fail-over that is under way, if one is. Its states have Redis's names."""

    def __init__(self, server: "Server", replication: "Replication") -> None:
        self._server = server
        self._replication = replication
        self.state = NONE
        self._target: Replica | None = None
        """The replica that is to be the master; None for whichever is first."""
        self._is_forced = False
        self._deadline = 0.0

    def begin(
        self, place: tuple[str, int] | None, *, timeout_seconds: float, is_forced: bool
    ) -> None:
        """Hold writes back, and wait for a replica to have everything."""
        self._target = self._find(place)
        self._is_forced = is_forced
        now = self._server.loop.time()
        self._deadline = now + timeout_seconds if timeout_seconds else 0.0
        self.state = SYNCING
        log.warning("a fail-over begins")
        self._server.dispatcher.guards.pause(FOR_FAILOVER, math.inf, writes_only=True)
        self._server.turns.begin_background()
        self._replication.replicas.ask()
        self.look()

    def _find(self, place: tuple[str, int] | None) -> Replica | None:
        replicas = self._replication.replicas
        if place is None:
            return None
        found = [one for one in replicas.all() if (one.address, one.port) == place]
        if not found:
            raise CommandError(b"ERR FAILOVER target HOST and PORT is not a replica.")
        if found[0].state != ONLINE:
            raise CommandError(b"ERR FAILOVER target replica is not online.")
        return found[0]

    def abort(self, reason: str) -> None:
        """Be the master as before."""
        if self.state == NONE:
            return
        log.warning("the fail-over is given up: %s", reason)
        was_taking, self.state = self.state == TAKING, NONE
        if was_taking:
            self._replication.lead()
        self._server.dispatcher.guards.unpause(FOR_FAILOVER)

    def look(self) -> None:
        """Something has changed: go on if the replica is in step, or end when the time is over."""
        if self.state != SYNCING:
            return
        offset = self._replication.feed.position.offset
        candidates = self._replication.replicas.online()
        if self._target is not None:
            candidates = [one for one in candidates if one is self._target]
        is_writing = self._server.dispatcher.guards.are_locked
        ready = [one for one in candidates if one.acknowledged >= offset]
        if ready and not is_writing:
            self._hand_over(ready[0])
        elif self._deadline and self._server.loop.time() > self._deadline:
            if is_writing:
                self.abort("a long command was still writing")
            elif self._is_forced and self._target is not None:
                log.warning("FAILOVER to %s time out exceeded, failing over.", self._target.name)
                self._hand_over(self._target)
            else:
                self.abort("no replica was in step in time")

    def _hand_over(self, replica: Replica) -> None:
        self.state = TAKING
        self._replication.follow(f"{replica.address} {replica.port}", takes_over=True)

    def ended(self) -> None:
        """The replica is the master now, and this server follows it."""
        if self.state == TAKING:
            self.state = NONE
            log.warning("the fail-over is done")
            self._server.dispatcher.guards.unpause(FOR_FAILOVER)
