"""Dumps without a server: a keyspace written to bytes, and bytes loaded into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.rdb.file_writer import FileWriter
from stratakv.encodings.rdb.loading import Load
from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import EmbeddedEngine
from stratakv.storage.store import Overlay, Store

TOLD = {"redis-ver": "7.0.15", "repl-id": "a" * 40, "repl-offset": "123"}


def opened(engine: EmbeddedEngine) -> Keyspace:
    return Keyspace(Store(engine), ManualClock())


def raise_it(error: StoreUnavailable | None) -> None:
    if error is not None:
        raise error


def commit(keyspace: Keyspace) -> None:
    keyspace.commit(raise_it)


def nothing() -> None:
    """No pause."""


def written(keyspace: Keyspace) -> Iterator[bytes]:
    """A dump of what the keyspace has."""
    commit(keyspace)
    snapshot = keyspace.store.snapshot()
    try:
        yield from FileWriter(keyspace, snapshot, nothing, told=TOLD).chunks()
    finally:
        snapshot.close()


def begun(keyspace: Keyspace) -> Load:
    def write(rows: Overlay) -> None:
        keyspace.store.submit(rows, raise_it)

    return Load(keyspace, write, nothing)


def load(keyspace: Keyspace, chunks: Iterable[bytes], extra: Overlay | None = None) -> Load:
    """Put a dump in place of all that the keyspace has."""
    load = begun(keyspace)
    load.run(iter(chunks))
    load.put_in_place(extra or {})
    commit(keyspace)
    return load


def cut(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]
