"""Turns of a server whose rows are elsewhere: nobody hears what may no longer be true.

Whoever is served from memory hears what is so as long as nobody else has written, and the store
says until when that is sure (`RemoteStore.is_entitled`). A process that was stopped for a while
finds out afterwards. So the time is looked at when the replies of a turn are to leave: past it they
wait for a commit, of nothing if need be, which succeeds only if the rows are still ours. If it is
refused, those who were to hear it are cut off instead.
"""

from typing import Final

from stratakv.errors import StoreUnavailable
from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.turns import Held, Turns
from stratakv.storage.remote_store import RemoteStore

MOST_WAITING_BYTES: Final = 16 << 20
"""With so much submitted and not written, writers are no longer read: an HBase may be away for a
minute and more, and batches are cut to what it takes, so it is not rows that tell."""


class LeasedTurns(Turns):
    """As `Turns`, over a store that may lose the right to its rows."""

    def end(self) -> None:
        """Commit what was written, and let the replies go that are sure to be true."""
        store = self._store
        assert isinstance(store, RemoteStore)
        if not self.keyspace.dirty and not store.pending:
            self.keyspace.unwritten_bytes = 0
        if not store.is_entitled and store.closed is None:
            self._hold_readers()
        super().end()
        if store.waiting_bytes > MOST_WAITING_BYTES:
            for session, _, _ in self._held:
                session.connection.pause_for_commit()

    def _hold_readers(self) -> None:
        """Let those who were told of keys wait for the next commit, and see that there is one."""
        for session in list(self._active.values()):
            if session.needs_commit:
                self._hold(session)
        if self._held and not self._underway:
            self._commit()

    def _commit(self) -> None:
        self.keyspace.unwritten_bytes = 0
        super()._commit()

    def _release(self, held: Held) -> None:
        store = self._store
        assert isinstance(store, RemoteStore)
        if store.is_entitled:
            super()._release(held)
            return
        for session, _, _ in held:
            session.held -= 1
            session.connection.abort()

    def _fail(self, failure: StoreUnavailable) -> None:
        """A batch was refused, or the rows are lost: who was told of keys in this turn is cut."""
        lost: list[Session] = [one for one in self._active.values() if one.needs_commit]
        super()._fail(failure)
        for session in lost:
            session.out.clear()
            session.marks.clear()
            session.connection.abort()
