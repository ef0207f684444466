"""Keyspace notifications: what commands do to keys, published as messages.

While they are on, the handlers in the command table are wrapped: a wrapper looks at the keys of a
command before and after it, and tells the events from that, the arguments and the reply. While they
are off, no command pays anything. `events.py` has the table of commands and events.
"""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from stratakv.encodings.keyspace.txn import Txn
from stratakv.options import Effects
from stratakv.proxy.events.event_calls import Call, Rule
from stratakv.proxy.events.events import PREPARED, rule_of
from stratakv.proxy.run.blocking import WouldBlock
from stratakv.proxy.table.registry import Command, Handler, every_command

if TYPE_CHECKING:
    from stratakv.encodings.keyspace.keyspace import Database, Keyspace
    from stratakv.proxy.clients.pubsub import PubSub

_plain: dict[Command, Handler] = {}
"""The handlers as they are without notifications, while they are wrapped."""
_users: dict["Notifications", frozenset[str]] = {}
"""The servers of this process that want events, and their classes; there is one command table."""


class Notifications:
    """The events of one server: which are wanted, and their way to the subscribers."""

    def __init__(self, keyspace: "Keyspace", pubsub: "PubSub") -> None:
        self._keyspace = keyspace
        self._pubsub = pubsub
        self._classes: frozenset[str] = frozenset()

    @property
    def effects(self) -> Effects:
        """What setting its option does."""
        return {"notify-keyspace-events": self.choose}

    def choose(self, letters: frozenset[str]) -> None:
        """Publish the events of these classes from now on (notify-keyspace-events)."""
        self._classes = letters
        is_on = bool(letters & {"K", "E"}) and bool(letters - {"K", "E"})
        self._keyspace.on_event = self.publish if is_on else None
        _want(self, letters if is_on else frozenset())

    def publish(self, database: int, kind: str, event: str, key: bytes) -> None:
        """Tell the subscribers what happened to a key."""
        if kind not in self._classes or not self._pubsub.has_listeners:
            return
        name = event.encode()
        if "K" in self._classes:
            self._pubsub.publish(b"__keyspace@%d__:%b" % (database, key), name)
        if "E" in self._classes:
            self._pubsub.publish(b"__keyevent@%d__:%b" % (database, name), key)

    def expired(self, database: "Database", key: bytes) -> None:
        """The reclaimer has dropped a key whose time was over."""
        self.publish(database.index, "x", "expired", key)


def _want(user: Notifications, classes: frozenset[str]) -> None:
    """Wrap the handlers that anybody wants wrapped: readers tell nothing but key misses."""
    _users.pop(user, None)
    if classes:
        _users[user] = classes
    for entry, handler in _plain.items():
        entry.handler = handler
    _plain.clear()
    if _users:
        for entry, rule in _watched(readers=any("m" in wanted for wanted in _users.values())):
            _plain[entry] = entry.handler
            entry.handler = _announcing(entry, rule)


def _watched(*, readers: bool) -> Iterator[tuple[Command, Rule]]:
    for entry in every_command():
        rule = rule_of(entry)
        if rule is not None and not entry.takes_session and (entry.is_write or readers):
            yield entry, rule


def _announcing(entry: Command, rule: Rule) -> Handler:
    """The handler of a command, with its events told after it."""
    handler = entry.handler

    @wraps(handler)
    def run(txn: Txn, *arguments: bytes) -> Any:
        if txn.keyspace.on_event is None:
            return handler(txn, *arguments)
        return _tell(entry, rule, txn, arguments, partial(handler, txn, *arguments))

    return run


def _tell(
    entry: Command, rule: Rule, txn: Txn, arguments: tuple[bytes, ...], run: Callable[[], Any]
) -> Any:
    """Run a command, and tell its events; a client that has to wait tells them when served."""
    call = Call(txn, entry, arguments, PREPARED.get(entry.name))
    try:
        reply = run()
    except WouldBlock as reason:
        serve = reason.serve
        if serve is not None:
            reason.serve = lambda txn, key: _tell(
                entry, rule, txn, arguments, partial(serve, txn, key)
            )
        raise
    call.end(reply, rule)
    return reply
