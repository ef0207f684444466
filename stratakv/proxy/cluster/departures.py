"""What becomes of clients when slots go to another node: nobody waits for what will not come.

Blocked clients are sent to the new owner, shard subscribers are told that they are none any more,
and a transaction does not run if a key that it watches may have changed meanwhile.
"""

from typing import TYPE_CHECKING

from stratakv import errors
from stratakv.errors import Redirected
from stratakv.proxy.cluster.cluster import Cluster
from stratakv.proxy.cluster.topology import Topology
from stratakv.proxy.wire.replies import Push
from stratakv.slots import slot_of

if TYPE_CHECKING:
    from stratakv.proxy.run.blocking import Blocked
    from stratakv.proxy.server import Server


class Departures:
    """Looks after those who are concerned, at each change."""

    def __init__(self, server: "Server", cluster: Cluster) -> None:
        self._server = server
        self._cluster = cluster
        cluster.on_change(self._changed)

    def _changed(self, before: Topology, after: Topology) -> None:
        mine = self._cluster.myself.id
        gone = before.groups_of(mine) - after.groups_of(mine)
        if gone:
            self._break_watches(after, gone)
            self._end_subscriptions()
        self._redirect_blocked()

    def _redirect_blocked(self) -> None:
        blocked = self._server.dispatcher.blocked
        for one in blocked.all():
            if not one.places:
                continue
            failure = self._failure(one)
            if failure is not None:
                self._server.stats.count_error(failure)
                blocked.release(one, failure)

    def _failure(self, one: "Blocked") -> Redirected | None:
        """Why it may wait in vain: what it waits for is written elsewhere now, or nowhere."""
        if self._cluster.is_down:
            return Redirected(errors.CLUSTER_DOWN)
        return self._cluster.redirection(one.session, slot_of(one.places[0][1]))

    def _end_subscriptions(self) -> None:
        for realm in self._server.realms.all():
            topics = realm.pubsub.shard_channels
            for name in list(topics.sessions):
                if self._cluster.has_slot(slot_of(name)):
                    continue
                for session in topics.listening(name):
                    realm.pubsub.unsubscribe(topics, session, name)
                    session.push(Push([b"sunsubscribe", name, topics.count_of(session)]))

    def _break_watches(self, after: Topology, gone: frozenset[int]) -> None:
        for session in self._server.sessions.values():
            session.watches.break_if(lambda key: after.group_of(slot_of(key)) in gone)
