"""Pub/Sub: who listens to which channels and patterns, and the messages that they get.

Nothing of it is stored. A message leaves in the turn in which it is published; what a unit of work
publishes leaves when the unit has ended.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from stratakv.encodings.layout.globs import compile_glob
from stratakv.proxy.wire.encoding import Encoding
from stratakv.proxy.wire.replies import Push

if TYPE_CHECKING:
    from stratakv.proxy.clients.session import Session

SUBSCRIBED: Final = 64
"""The guard of a client that has subscriptions: in RESP2 it may do little else."""

SUBSCRIPTION_BYTES: Final = 270
"""What a subscription takes of memory besides its name (measured)."""

MESSAGE: Final = b"message"
PATTERN_MESSAGE: Final = b"pmessage"
SHARD_MESSAGE: Final = b"smessage"


class Topics:
    """Subscriptions of one kind: names, and the sessions that listen to each, in order."""

    __slots__ = ("_bytes", "_names", "sessions")

    def __init__(self) -> None:
        self.sessions: dict[bytes, dict[int, Session]] = {}
        self._names: dict[int, dict[bytes, None]] = {}
        self._bytes: dict[int, int] = {}

    def add(self, session: "Session", name: bytes) -> None:
        """Let a session listen to a name."""
        names = self._names.setdefault(session.id, {})
        if name not in names:
            names[name] = None
            self.sessions.setdefault(name, {})[session.id] = session
            self._bytes[session.id] = self.bytes_of(session) + len(name) + SUBSCRIPTION_BYTES

    def remove(self, session: "Session", name: bytes) -> None:
        """Let a session no longer listen to a name, if it did."""
        names = self._names.get(session.id)
        if names is None or name not in names:
            return
        del names[name]
        self._bytes[session.id] -= len(name) + SUBSCRIPTION_BYTES
        if not names:
            del self._names[session.id], self._bytes[session.id]
        listening = self.sessions[name]
        del listening[session.id]
        if not listening:
            del self.sessions[name]

    def names_of(self, session: "Session") -> list[bytes]:
        """What a session listens to."""
        return list(self._names.get(session.id, ()))

    def count_of(self, session: "Session") -> int:
        """To how many names a session listens."""
        return len(self._names.get(session.id, ()))

    def bytes_of(self, session: "Session") -> int:
        """What the subscriptions of a session take of memory."""
        return self._bytes.get(session.id, 0)

    def listening(self, name: bytes) -> list["Session"]:
        """The sessions that listen to a name."""
        return list(self.sessions.get(name, {}).values())


class PubSub:
    """All subscriptions within a realm."""

    def __init__(self) -> None:
        self.channels = Topics()
        self.patterns = Topics()
        self.shard_channels = Topics()
        self._matches: dict[bytes, Callable[[bytes], bool]] = {}

    def subscribe(self, topics: Topics, session: "Session", name: bytes) -> None:
        """Add a subscription of one of the three kinds."""
        topics.add(session, name)
        session.guards |= SUBSCRIBED
        if topics is self.patterns and name not in self._matches:
            self._matches[name] = compile_glob(name)

    def unsubscribe(self, topics: Topics, session: "Session", name: bytes) -> None:
        """Take a subscription away, if there is one."""
        topics.remove(session, name)
        if topics is self.patterns and name not in topics.sessions:
            self._matches.pop(name, None)
        if not any(kind.count_of(session) for kind in self._kinds):
            session.guards &= ~SUBSCRIBED

    def forget(self, session: "Session") -> None:
        """Take all subscriptions of a session away."""
        for topics in self._kinds:
            for name in topics.names_of(session):
                self.unsubscribe(topics, session, name)

    def bytes_of(self, session: "Session") -> int:
        """What all subscriptions of a session take of memory."""
        return sum(kind.bytes_of(session) for kind in self._kinds)

    @property
    def _kinds(self) -> tuple[Topics, Topics, Topics]:
        return self.channels, self.patterns, self.shard_channels

    @property
    def has_listeners(self) -> bool:
        """Whether a message could reach anybody."""
        return bool(self.channels.sessions or self.patterns.sessions)

    def count_receivers(self, channel: bytes) -> int:
        """How many messages a PUBLISH would send."""
        found = len(self.channels.sessions.get(channel, ()))
        return found + sum(
            len(self.patterns.sessions[pattern])
            for pattern, matches in self._matches.items()
            if matches(channel)
        )

    def publish(self, channel: bytes, message: bytes) -> None:
        """Send a message to a channel's listeners, then to those of patterns that match."""
        if listening := self.channels.sessions.get(channel):
            _send(listening.values(), [MESSAGE, channel, message])
        for pattern, matches in self._matches.items():
            if matches(channel):
                listening = self.patterns.sessions[pattern]
                _send(listening.values(), [PATTERN_MESSAGE, pattern, channel, message])

    def publish_shard(self, channel: bytes, message: bytes) -> None:
        """Send a message to the listeners of a shard channel."""
        _send(self.shard_channels.listening(channel), [SHARD_MESSAGE, channel, message])


def _send(sessions: Iterable["Session"], words: list[bytes]) -> None:
    """Push a message; it is encoded once for each protocol."""
    frames: dict[Encoding, bytes] = {}
    for session in sessions:
        frame = frames.get(session.encoding)
        if frame is None:
            frame = frames[session.encoding] = session.encoding.encode(Push(words))
        session.interject(frame)
