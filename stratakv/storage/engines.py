"""Which engines there are: the one place that knows them all by name.

A further engine is a module of its own that keeps the contract, and a line in `ENGINES`. Each is
imported when it is opened: who only wants to know their names needs no LevelDB.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stratakv.storage.contract import EmbeddedEngine, Engine

if TYPE_CHECKING:
    from stratakv.options import Options


def open_engine(options: "Options") -> EmbeddedEngine:
    """The engine that the options ask for; raises `StoreUnavailable`."""
    return ENGINES[options.engine](options)


def open_directory(directory: Path) -> Engine:
    """The engine whose files are in a directory, for the tools: nothing is made there.

    Raises `StoreUnavailable`, also if there is no store.
    """
    from stratakv.storage.leveldb.engine import open_existing

    return open_existing(directory)


def _open_leveldb(options: "Options") -> EmbeddedEngine:
    from stratakv.cache_sizes import cache_sizes
    from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions

    return LevelEngine(
        Path(options.dir),
        LevelOptions(
            block_cache=cache_sizes(options).blocks,
            write_buffer=options.write_buffer_bytes,
            bloom_bits=options.bloom_bits,
            max_open_files=options.max_open_files,
            compression=options.compression,
            reserve=options.disk_reserve_bytes,
        ),
    )


def _open_memory(options: "Options") -> EmbeddedEngine:
    from stratakv.storage.memory import MemoryEngine

    return MemoryEngine()


ENGINES: Final[dict[str, Callable[["Options"], EmbeddedEngine]]] = {
    "leveldb": _open_leveldb,
    "memory": _open_memory,
}
