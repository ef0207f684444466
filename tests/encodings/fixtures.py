"""A keyspace without a server: any engine, a clock that tests turn, operations applied at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import plyvel

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.upkeep.check import check
from stratakv.storage.contract import EmbeddedEngine
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from stratakv.storage.store import Store

ENDLESS = b"\xff" * 8


class Bench:
    """A keyspace over an engine. `open` again with the same engine is a restart."""

    def __init__(
        self,
        engine: EmbeddedEngine | None = None,
        *,
        clock: ManualClock | None = None,
        encodings: Mapping[int, int] | None = None,
    ) -> None:
        self.engine: EmbeddedEngine = engine or MemoryEngine()
        self.clock = clock or ManualClock()
        self.encodings = encodings
        self.open()

    def open(self) -> None:
        """Start, or start again after a crash: what was not committed is gone."""
        self.store = Store(self.engine)
        self.keyspace = Keyspace(self.store, self.clock, encodings=self.encodings)
        self.database = self.keyspace.databases[0]

    def txn(self, index: int = 0) -> Txn:
        return Txn(self.keyspace, self.keyspace.databases[index])

    def commit(self) -> None:
        self.keyspace.commit(lambda error: None)

    def rows(self) -> dict[bytes, bytes]:
        """What the engine holds."""
        return dict(self.engine.scan(b"", ENDLESS))

    def make_set(self, key: bytes, count: int, *, index: int = 0, expire_ms: int = -1) -> None:
        """A counted set, made by hand: these tests are about the keyspace, not about sets."""
        txn = self.txn(index)
        meta = txn.create(key, metas.SET, count, expire_ms)
        for number in range(count):
            txn.put(meta.sub + b"%d" % number, b"")
        txn.apply()

    def problems(self) -> list[str]:
        return [str(problem) for problem in check(self.engine)]


def commit_and_forget(txn: Txn) -> None:
    """What is in memory is what a server that has just started would read."""
    txn.apply()
    txn.keyspace.commit(lambda error: None)
    txn.db.forget()


def level_bench(directory: Path, encodings: Mapping[int, int] | None = None) -> Bench:
    return Bench(LevelEngine(directory), encodings=encodings)


def stored(directory: Path) -> dict[bytes, bytes]:
    """The rows of a closed store, read with plyvel alone."""
    database = plyvel.DB(str(directory), create_if_missing=False)
    try:
        return dict(database.iterator())
    finally:
        database.close()
