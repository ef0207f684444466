"""Which engines there are: the one place that knows them all by name.

A further engine is a module of its own that keeps the contract, and a line in `ENGINES`. Each is
imported when it is opened: who only wants to know their names needs no LevelDB.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import EmbeddedEngine, Engine
from stratakv.storage.remote_store import RemoteStore
from stratakv.storage.store import Post, Store

if TYPE_CHECKING:
    from stratakv.options import Options
    from stratakv.storage.group_table import GroupTable
    from stratakv.storage.hbase.engine import HBaseEngine


T = TypeVar("T")


def open_store(
    options: "Options", *, post: Post, row_cache_bytes: int, kept: tuple[bytes, ...]
) -> Store:
    """The engine that the options ask for, behind a pipeline that suits it.

    `kept` are the beginnings of rows that are needed without delay. Raises `StoreUnavailable`.
    """
    if options.engine == HBASE and options.hbase_groups > 1:
        from stratakv.storage.memory import MemoryEngine

        return Store(MemoryEngine(), post=post)  # rows are in the groups
    if options.engine == HBASE:
        engine = _open_hbase(options)
        return RemoteStore(engine, post=post, kept=kept, row_cache_bytes=row_cache_bytes)
    return Store(
        open_engine(options),
        post=post,
        sync=options.durability == "always",
        row_cache_bytes=row_cache_bytes,
    )


def open_groups(options: "Options") -> "GroupTable | None":
    """The table of many groups that the options ask for, if they do; raises `StoreUnavailable`."""
    if options.engine != HBASE or options.hbase_groups == 1:
        return None
    _check_hbase(options)
    from stratakv.storage.group_table import GroupTable

    return _opened(options, lambda: GroupTable(options, owner_name()))


def open_engine(options: "Options") -> EmbeddedEngine:
    """The embedded engine that the options ask for; raises `StoreUnavailable`."""
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
        options.store_directory,
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


def _check_hbase(options: "Options") -> None:
    """Raises `StoreUnavailable` if something is missing."""
    if not options.hbase_zookeeper:
        raise StoreUnavailable("engine hbase needs hbase-zookeeper, host:port of its ZooKeeper")
    if options.replicaof:
        raise StoreUnavailable("engine hbase cannot follow a master: replicaof has to go")
    try:
        import stratakv.storage.hbase.engine  # noqa: F401  # whether there is all that it needs
    except ImportError as error:
        raise StoreUnavailable(
            f"engine hbase needs {error.name}: pip install 'stratakv[hbase]'"
        ) from error


def owner_name() -> bytes:
    """What this process is called in a table."""
    return f"{socket.gethostname()}:{os.getpid()}".encode()


def _open_hbase(options: "Options") -> "HBaseEngine":
    _check_hbase(options)
    from stratakv.storage.hbase.engine import HBaseEngine
    from stratakv.storage.hbase.limits import patient_for
    from stratakv.storage.hbase.requests import DURABILITIES

    return _opened(
        options,
        lambda: HBaseEngine(
            options.hbase_zookeeper,
            options.hbase_table,
            owner=owner_name(),
            durability=DURABILITIES[options.durability],
            limits=patient_for(options.hbase_patience),
        ),
    )


def _opened(options: "Options", open_: Callable[[], T]) -> T:
    try:
        Path(options.dir).mkdir(parents=True, exist_ok=True)  # for dumps
        return open_()
    except OSError as error:
        raise StoreUnavailable(f"dir: {error}") from error
    except ValueError as error:
        raise StoreUnavailable(f"hbase-zookeeper: {error}") from error


HBASE: Final = "hbase"
"""The engine that is elsewhere."""
ENGINES: Final[dict[str, Callable[["Options"], EmbeddedEngine]]] = {
    "leveldb": _open_leveldb,
    "memory": _open_memory,
}
