"""Long work on keys: a LongTxn over a snapshot, and the waits for the store that it needs.

Who uses it runs in slices (see slices.py) and holds the locks; long commands do, and so does the
moving of keys to another encode-version.
"""

from collections.abc import Callable, Sequence

from stratakv.clock import Clock
from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.measured_txn import written_by
from stratakv.errors import StoreUnavailable
from stratakv.proxy.clients.session import Session
from stratakv.proxy.run.guards import Guards
from stratakv.proxy.run.slices import Slices
from stratakv.storage.store import Done, Overlay


class LongWork:
    """One unit of work over `txn`. Requires: everything earlier has reached the engine.

    Until `publish` nobody sees anything of it; `close` has to be called in any case.
    """

    def __init__(
        self,
        slices: Slices,
        guards: Guards,
        keyspace: Keyspace,
        database: Database,
        *,
        author: Session | None = None,
        follows: Clock | None = None,
    ) -> None:
        self._slices = slices
        self._guards = guards
        self._keyspace = keyspace
        self._author = author
        """The client that it is done for."""
        self._follows = follows
        """The clock of what comes from a master."""
        self._has_parts = False
        """Whether parts of it are committed, and the last is not."""
        self._open(database)

    def _open(self, database: Database) -> None:
        keyspace = self._keyspace
        mark, ranked = keyspace.tier.committed, keyspace.recollections.ranks.committed
        self._snapshot = keyspace.store.snapshot()  # which may have more, if that takes a while
        self.txn = LongTxn(keyspace, database, self._snapshot, self._slices.pause, self._write_rows)
        self.txn.mark, self.txn.ranked = mark, ranked
        if self._follows is not None:
            self.txn.follow(self._follows)

    def expect(self, rows: Callable[[], Sequence[bytes]]) -> None:
        """These rows will be read, about in that order."""
        self._keyspace.store.expect(self._snapshot, rows)

    def publish(self) -> None:
        """Commit the writes by themselves, and wait until they are in the engine and the tier.

        Raises `StoreUnavailable` if they were refused.
        """
        keyspace, txn = self._keyspace, self.txn
        txn.conclude()
        if keyspace.measures:
            keyspace.store.check_unit(written_by(txn))

        def submit(done: Done) -> None:
            keyspace.commit(_ignore)
            if self._has_parts:
                self._has_parts = False
                keyspace.on_parts("ended")
            with self._guards.authored(self._author):
                txn.apply()
            keyspace.commit(done)

        self._wait_for_store(submit)
        txn.confirm()

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to publish; between its parts databases change as a whole."""
        return self._has_parts or self.txn.changed

    def renew(self) -> LongTxn:
        """Publish what is written so far, and go on over what there is then, in another Txn.

        Replicas are told of the unit when it has come to its end.
        """
        told, self.txn.effects = self.txn.effects, None
        if not self._has_parts:
            self._keyspace.on_parts("begun")
        self._has_parts = False
        try:
            if self.txn.changed:
                self.txn.follows = False
                self.publish()
        except StoreUnavailable:
            raise  # whoever tells of units reads the store again then
        except BaseException:
            self._has_parts = True
            raise
        self._has_parts = True
        database = self.txn.db
        self._let_go()
        self._open(database)
        self.txn.effects = told
        return self.txn

    def close(self) -> None:
        """Let go of what it read; Requires: `publish` has returned, or the Txn is discarded."""
        if self._has_parts:
            self._has_parts = False
            self._keyspace.on_parts("spoilt")
        self._author = None  # else its client would wait for the collector: the Txn knows this
        self._let_go()

    def _let_go(self) -> None:
        self.txn.close()
        self._snapshot.close()

    def _write_rows(self, rows: Overlay) -> None:
        """Write rows that nobody can see yet, and wait for it; they need room."""
        self._guards.check_room()
        store = self._keyspace.store
        store.check_unit(rows)
        self._wait_for_store(lambda done: store.submit(rows, done))

    def _wait_for_store(self, submit: Callable[[Done], None]) -> None:
        wait_for_store(self._slices, submit)


def wait_for_store(slices: Slices, submit: Callable[[Done], None]) -> None:
    """From within work: sleep until a batch is written; raises what it was refused with."""
    outcome: list[StoreUnavailable | None] = []

    def subscribe(resume: Callable[[], None]) -> None:
        def done(error: StoreUnavailable | None) -> None:
            outcome.append(error)
            resume()

        submit(done)

    slices.wait(subscribe)
    if outcome[0] is not None:
        raise outcome[0]


def _ignore(error: StoreUnavailable | None) -> None:
    """The outcome is somebody else's concern."""
