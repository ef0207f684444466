"""MULTI's side of a session: queued commands, and the keys that WATCH looks after."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.locks import EVERYTHING, MOST_KEYS, Claim, claim
from stratakv.encodings.keyspace.txn import Txn
from stratakv.errors import CommandError
from stratakv.proxy.wire.requests import Request

if TYPE_CHECKING:
    from stratakv.proxy.server import Server
    from stratakv.proxy.table.registry import Command

WATCH_BYTES: Final = 250
"""What a watched key takes of memory besides its name (measured)."""
EXEC_ABORT: Final = b"EXECABORT Transaction discarded because of previous errors."


class Transaction:
    """The commands between MULTI and EXEC."""

    __slots__ = ("failed", "queue", "size")

    def __init__(self) -> None:
        self.queue: list[tuple[Command, Request]] = []
        self.size = 0
        """Bytes of the queued commands' arguments."""
        self.failed = False
        """A command was refused while queueing: EXEC will abort."""

    def add(self, entry: "Command", request: Request) -> None:
        """Queue a command."""
        self.queue.append((entry, request))
        self.size += sum(map(len, request))

    def claim(self) -> Claim:
        """All that the queued commands touch."""
        if len(self.queue) > MOST_KEYS:
            return EVERYTHING
        keys: set[bytes] = set()
        for entry, request in self.queue:
            touched = entry.claim(request)
            if touched.everything:
                return EVERYTHING
            keys |= touched.keys
        return claim(keys)

    def check(self) -> None:
        """Raise EXECABORT if a command was refused."""
        if self.failed:
            raise CommandError(EXEC_ABORT)


class Watches:
    """The keys that a client WATCHes, and whether one of them has changed."""

    __slots__ = ("_places", "_server", "_touched", "bytes")

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._places: dict[tuple[int, bytes], bool] = {}
        """(database, key) -> whether the key was live when it was watched."""
        self._touched = False
        self.bytes = 0
        """What they take of memory."""

    def add(self, txn: Txn, key: bytes) -> None:
        """Look after a key from now on."""
        place = (txn.db.index, key)
        if place not in self._places:
            self._places[place] = txn.find(key) is not None
            self.bytes += len(key) + WATCH_BYTES
            txn.keyspace.watchers.listen(*place, self._touch)

    def _touch(self, database: int, key: bytes) -> None:
        self._touched = True

    @property
    def broken(self) -> bool:
        """Whether a watched key was changed, or has expired.

        It is asked past the Txns: their budgets are those of other commands.
        """
        keyspace = self._server.keyspace
        return self._touched or any(
            was_live and not keyspace.is_live(database, key)
            for (database, key), was_live in self._places.items()
        )

    def break_if(self, is_lost: Callable[[bytes], bool]) -> None:
        """Some keys may change from now on without a sign here: if one is watched, it has."""
        if any(is_lost(key) for _, key in self._places):
            self._touched = True

    def clear(self) -> None:
        """UNWATCH."""
        watchers = self._server.keyspace.watchers
        for place in self._places:
            watchers.ignore(*place, self._touch)
        self._places.clear()
        self.bytes = 0
        self._touched = False
