"""A keyspace to try operations on, without a server: each runs as the dispatcher would run it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import Meta
from stratakv.encodings.types.strings.pieces import Pieces
from stratakv.storage.contract import EmbeddedEngine
from stratakv.storage.missing import TooLong
from stratakv.storage.store import Overlay, Store


class OfferingTxn(LongTxn):
    """Gives way whenever it may, however little time has passed."""

    def pause_if_due(self) -> None:
        self._pause()


class Bench:
    """Operations on database 0, committed one by one.

    With `patient` every operation runs over a LongTxn, else only those that are too long.
    `pauses` counts how often one offered to give way, whatever the machine's speed.
    """

    def __init__(self, engine: EmbeddedEngine, *, encoding: int = 0, patient: bool = False) -> None:
        self.clock = ManualClock()
        encodings = {metas.HASH: encoding, metas.SET: encoding}
        self.keyspace = Keyspace(Store(engine), self.clock, encodings=encodings)
        self.txn = Txn(self.keyspace, self.keyspace.databases[0])
        self.counted = encoding in (0, 2)
        self.pauses = 0
        self.long_runs = 0
        self.writes = 0
        self.largest_write = 0
        """Batches that long operations wrote before their end, and the bytes of the largest."""
        self.patient = patient

    def do(self, operation: Callable[..., Any], *args: Any) -> Any:
        """Run and commit; (length, elements) comes back as a list of that length."""
        if self.patient:
            return self._do_patiently(operation, args)
        self.txn.budget = ROW_BUDGET
        try:
            value = _listed(operation(self.txn, *args))
        except TooLong:
            self.txn.discard()
            return self._do_patiently(operation, args)
        except Exception:
            self.txn.discard()
            raise
        self.txn.apply()
        self.commit()
        return value

    def _do_patiently(self, operation: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        self.long_runs += 1
        snapshot = self.keyspace.store.engine.snapshot()
        txn = OfferingTxn(
            self.keyspace, self.keyspace.databases[0], snapshot, self._pause, self._write
        )
        try:
            value = operation(txn, *args)
            txn.apply()
            self.commit()
            return _listed(value)
        finally:
            snapshot.close()

    def _pause(self) -> None:
        self.pauses += 1

    def _write(self, rows: Overlay) -> None:
        self.writes += 1
        size = sum(len(value) for value in rows.values() if value)
        self.largest_write = max(self.largest_write, size)
        self.keyspace.store.engine.write(rows)

    def commit(self) -> None:
        """Write all that is pending."""
        self.keyspace.commit(_raise)

    def meta(self, key: bytes) -> Meta | None:
        """The meta of a live key."""
        return self.txn.find(key)

    def rows(self, key: bytes) -> dict[bytes, bytes]:
        """The rows of a live collection as stored: member -> value."""
        meta = self.txn.find(key)
        if meta is None:
            return {}
        found = self.keyspace.store.engine.scan(meta.sub, meta.sub + b"\xff" * 300)
        return {row[len(meta.sub) :]: value for row, value in found}


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error


def _listed(value: Any) -> Any:
    if isinstance(value, tuple) and isinstance(value[1], Iterable):
        items = list(value[1])
        assert len(items) == value[0]
        return items
    if isinstance(value, Pieces):
        return bytes(value)
    return list(value) if isinstance(value, Iterator) else value
