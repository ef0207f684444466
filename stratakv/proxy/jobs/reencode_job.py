"""Work on many keys in the background: each key is locked, changed and committed by itself."""

import logging
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.keyspace import Database
from stratakv.encodings.keyspace.locks import Lock, claim
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.globs import Matcher
from stratakv.encodings.upkeep.reencoding import reencode
from stratakv.errors import CommandError, StoreUnavailable, quote
from stratakv.proxy.run.long_work import LongWork

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

KEYS_AT_ONCE: Final = 100


class Reencoding:
    """One `STRATA REENCODE`, from its first key to its last."""

    def __init__(
        self, server: "Server", database: Database, pattern: bytes, matches: Matcher, version: int
    ) -> None:
        self._server = server
        self._database = database
        self._matches = matches
        self.pattern = pattern
        self.version = version
        self.seen = self.changed = self.failed = 0
        self.running = True
        self.lock: Lock | None = None
        """What it has locked at this moment."""

    def start(self) -> None:
        """Work in slices from the next turn on."""
        self._server.slices.start(self._run)

    def progress(self) -> dict[bytes, object]:
        """How far it is, for STRATA PROGRESS."""
        return {
            b"running": int(self.running),
            b"pattern": self.pattern,
            b"version": self.version,
            b"keys-seen": self.seen,
            b"keys-changed": self.changed,
            b"keys-failed": self.failed,
        }

    def _run(self) -> None:
        try:
            for key in self._keys():
                self.seen += 1
                self._change(key)
        except Exception:
            log.exception("re-encoding %s ended early", _shown(self.pattern))
        finally:
            self.running = False

    def _keys(self) -> Iterator[bytes]:
        """Matching keys, a few at a time, in the order of SCAN."""
        ns = self._database.ns
        at, stop = rows.META + ns, rows.end_of(rows.META + ns)
        while True:
            self._server.keyspace.settle()
            found = list(islice(self._server.store.scan_keys(at, stop), KEYS_AT_ONCE))
            keys = (rows.key_of_meta_row(ns, row) for row in found)
            yield from (key for key in keys if self._matches(key))
            if len(found) < KEYS_AT_ONCE:
                return
            at = found[-1] + b"\0"
            self._server.slices.pause()

    def _change(self, key: bytes) -> None:
        dispatcher = self._server.dispatcher

        def acquire(resume: Callable[[], None]) -> None:
            def start(lock: Lock) -> None:
                self.lock = lock
                resume()

            dispatcher.lock_waits.locks.acquire(claim([key]), start)

        self._wait(acquire)
        try:
            self._wait(self._server.turns.flush_now)
            self.changed += self._reencode(key)
        except (CommandError, StoreUnavailable) as error:
            self.failed += 1
            log.warning("%s was not re-encoded: %s", _shown(key), error)
        finally:
            lock, self.lock = self.lock, None
            assert lock is not None
            lock.release()

    def _reencode(self, key: bytes) -> bool:
        server = self._server
        work = LongWork(server.slices, server.dispatcher.guards, server.keyspace, self._database)
        try:
            if not reencode(work.txn, key, self.version):
                return False
            work.publish()
        except BaseException:
            work.txn.discard()
            raise
        finally:
            work.close()
        return True

    def _wait(self, subscribe: Callable[[Callable[[], None]], None]) -> None:
        self._server.slices.wait(subscribe)


def _shown(raw: bytes) -> str:
    return quote(raw).decode("latin-1")
