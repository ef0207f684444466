"""Keyspace notifications: what happened to keys, published as messages.

The events are raised by the operations (`Txn.event`), and come here when their unit of work is
applied, in order.
"""

from typing import TYPE_CHECKING

from stratakv.options import Effects

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.keyspace import Keyspace
    from stratakv.proxy.clients.pubsub import PubSub

_CHANNELS = frozenset("KE")
"""Two of the letters say how events are published, the others which."""


class Notifications:
    """The events of one server: which are wanted, and their way to the subscribers."""

    def __init__(self, keyspace: "Keyspace", pubsub: "PubSub") -> None:
        self._keyspace = keyspace
        self._pubsub = pubsub
        self._letters: frozenset[str] = frozenset()
        keyspace.on_event = self._publish

    @property
    def effects(self) -> Effects:
        """What setting its option does."""
        return {"notify-keyspace-events": self.choose}

    def choose(self, letters: frozenset[str]) -> None:
        """Publish the events of these classes from now on (notify-keyspace-events)."""
        self._letters = letters
        self._keyspace.notifies = letters - _CHANNELS if letters & _CHANNELS else frozenset()

    def _publish(self, database: int, event: str, key: bytes) -> None:
        """Tell the subscribers what happened to a key."""
        if not self._pubsub.has_listeners:
            return
        name = event.encode()
        if "K" in self._letters:
            self._pubsub.publish(b"__keyspace@%d__:%b" % (database, key), name)
        if "E" in self._letters:
            self._pubsub.publish(b"__keyevent@%d__:%b" % (database, name), key)
