"""Keyspace notifications: what happened to keys, published as messages.

The events are raised by the operations (`Txn.event`), and come here when their unit of work is
applied, in order. Client-side caching hears of them too (tracking.py).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from stratakv.options import Effects

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.keyspace import Keyspace
    from stratakv.proxy.clients.realms import Realms

_CHANNELS = frozenset("KE")
"""Two of the letters say how events are published, the others which."""


class Notifications:
    """The events of one server: which are wanted, and their way to the subscribers."""

    def __init__(self, keyspace: "Keyspace", realms: "Realms") -> None:
        self._keyspace = keyspace
        self._realms = realms
        self._letters: frozenset[str] = frozenset()
        self._published: frozenset[str] = frozenset()
        """The classes of events that are published."""
        self._tell: Callable[[int, str, bytes], None] | None = None
        self._told: frozenset[str] = frozenset()
        """The classes of events that those hear of who have copies of keys."""
        keyspace.on_event = self._happened

    @property
    def effects(self) -> Effects:
        """What setting its option does."""
        return {"notify-keyspace-events": self.choose}

    def choose(self, letters: frozenset[str]) -> None:
        """Publish the events of these classes from now on (notify-keyspace-events)."""
        self._letters = letters
        self._published = letters - _CHANNELS if letters & _CHANNELS else frozenset()
        self._keyspace.choose_events(self._published | self._told)

    def tell_trackers(
        self, tell: Callable[[int, str, bytes], None] | None, kinds: frozenset[str]
    ) -> None:
        """Call `tell` with the database, name and key of each event of these classes; or nobody."""
        self._tell, self._told = tell, kinds if tell is not None else frozenset()
        self._keyspace.choose_events(self._published | self._told)

    def _happened(self, database: int, kind: str, event: str, key: bytes) -> None:
        if self._tell is not None and kind in self._told:
            self._tell(database, event, key)
        if kind in self._published:
            self._publish(database, event, key)

    def _publish(self, database: int, event: str, key: bytes) -> None:
        """Tell the subscribers of its realm what happened to a key."""
        realm = self._realms.of_database(database)
        if realm is None or not realm.pubsub.has_listeners:
            return
        name, number = event.encode(), self._keyspace.shown_number(database)
        if "K" in self._letters:
            realm.pubsub.publish(b"__keyspace@%d__:%b" % (number, key), name)
        if "E" in self._letters:
            realm.pubsub.publish(b"__keyevent@%d__:%b" % (number, name), key)
