"""Deleting the scores of dead sorted sets v3: they are in a Redis that may be away.

The rows that name them stay in the store until Redis has confirmed that they are gone. So whatever
happens, they are deleted some day, and a `g#` or `d#` row that waits for that costs nothing until
then.
"""

from collections.abc import Generator, Iterator
from typing import Any, Final

from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.zset_remote import (
    is_remote,
    is_remote_meta,
    sub_of_garbage,
    sub_of_meta,
)
from stratakv.encodings.layout import rows
from stratakv.storage.cache.contract import BYPASS

ROWS_AT_ONCE: Final = 100


class Removal:
    """The scores of one dead key, or of all keys of a dropped namespace."""

    __slots__ = ("complete", "failed", "open")

    def __init__(self) -> None:
        self.open = 0
        """Requests that Redis has not answered yet."""
        self.failed = False
        self.complete = False
        """Whether everything was asked for."""

    def answered(self, reply: Any) -> None:
        """Redis has deleted it, or cannot be asked."""
        self.open -= 1
        self.failed = self.failed or reply is BYPASS or isinstance(reply, Exception)


class Scores:
    """What is under way, by the row of the queue that asked for it."""

    def __init__(self, keyspace: Keyspace) -> None:
        self._keyspace = keyspace
        self._tier = keyspace.tier
        self._store = keyspace.store
        self._removals: dict[bytes, Removal] = {}
        self._stuck: set[bytes] = set()
        """Those that failed: not worth a walk through all keys while Redis is away."""
        self.waiting = False
        """Whether something could not be deleted yet."""

    def forget(self) -> None:
        """Begin again."""
        self._removals.clear()
        self._stuck.clear()
        self.waiting = False

    def may_go_on(self) -> bool:
        """Whether it makes sense to look at those again that wait."""
        if not self.waiting or not self._tier.storage_usable:
            return False
        self.waiting = False
        return True

    def are_gone(self, row: bytes, value: bytes, ns: bytes) -> bool:
        """Of a dead key; if they are not gone yet, it has to be asked again later."""
        if not is_remote(value):
            return True
        removal = self._begin(row)
        if removal is not None:
            self._remove(removal, ns, sub_of_garbage(ns, row))
            removal.complete = True
        return self._is_done(row)

    def of_namespace_are_gone(self, row: bytes, ns: bytes) -> Generator[bool, None, bool]:
        """As `are_gone`, in steps: there may be many keys to look at."""
        if not self._keyspace.has_remote:
            return True
        if row in self._stuck and not self._tier.storage_usable:
            return False
        removal = self._begin(row)
        if removal is not None:
            for number, sub in enumerate(self._dead(ns), 1):
                if sub:
                    self._remove(removal, ns, sub)
                    if removal.failed:
                        break
                if not number % ROWS_AT_ONCE:
                    yield False
            removal.complete = True
        return self._is_done(row)

    def _begin(self, row: bytes) -> Removal | None:
        """A new removal, unless there is one."""
        if row in self._removals:
            return None
        removal = self._removals[row] = Removal()
        return removal

    def _is_done(self, row: bytes) -> bool:
        removal = self._removals[row]
        if removal.open or not removal.complete:
            self.waiting = True
            return False
        del self._removals[row]
        if removal.failed:
            self.waiting = True
            self._stuck.add(row)
        else:
            self._stuck.discard(row)
        return not removal.failed

    def _dead(self, ns: bytes) -> Iterator[bytes]:
        """The sorted sets v3 of a dropped namespace, live and dead ones; empty for other keys."""
        prefix = rows.META + ns
        for row, raw in self._store.scan(prefix, rows.end_of(prefix)):
            yield sub_of_meta(ns, row, raw) if is_remote_meta(raw) else b""
        prefix = rows.GARBAGE + ns
        for row, raw in self._store.scan(prefix, rows.end_of(prefix)):
            yield sub_of_garbage(ns, row) if is_remote(raw) else b""

    def _remove(self, removal: Removal, ns: bytes, sub: bytes) -> None:
        tier = self._tier
        name = tier.store_name(sub, len(ns))
        removal.open += 1
        if tier.storage_usable and name not in tier.readers:
            tier.storage.ask((b"UNLINK", name), removal.answered)
        else:
            removal.answered(BYPASS)
