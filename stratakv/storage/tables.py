"""Tables of an HBase for the offline tools, which read what servers may be writing meanwhile.

A group is copied to look through it: a look-up in HBase takes a thousand times as long as in a
directory, and what is read is of one moment.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import Engine, Reader

if TYPE_CHECKING:
    from stratakv.storage.hbase.looking import TableView

FIRST: Final = b""
LAST: Final = b"\xff" * 8
"""Behind every row."""
BATCH_ROWS: Final = 1000
TRIES: Final = 5
"""To read a group as it is at one moment: a region that moves ends each."""


def open_table(zookeeper: str, table: str) -> "TableView":
    """A table that is there; raises `StoreUnavailable`."""
    if not zookeeper:
        raise StoreUnavailable("engine hbase needs --hbase-zookeeper, host:port of its ZooKeeper")
    try:
        from stratakv.storage.hbase.looking import TableView
    except ImportError as error:
        raise StoreUnavailable(
            f"engine hbase needs {error.name}: pip install 'stratakv[hbase]'"
        ) from error
    try:
        return TableView(zookeeper, table)
    except ValueError as error:
        raise StoreUnavailable(f"hbase-zookeeper: {error}") from error


@contextmanager
def copy_of_group(table: "TableView", number: int) -> Iterator[Engine]:
    """A group as it is at one moment, in a directory that goes afterwards."""
    from stratakv.storage.leveldb.engine import LevelEngine

    with TemporaryDirectory(prefix="stratakv-") as place:
        for attempt in range(TRIES):
            target = Path(place) / str(attempt)
            target.mkdir()
            with closing(LevelEngine(target)) as engine:
                if not _copy(table, number, engine, is_last=attempt == TRIES - 1):
                    continue
                yield engine
                return


def _copy(table: "TableView", number: int, engine: Engine, *, is_last: bool) -> bool:
    """Copy all rows; False if the region has moved meanwhile, an error the last time."""
    from stratakv.storage.hbase.errors import SnapshotGone

    try:
        with closing(table.view(number)) as view:
            found = view.scan(FIRST, LAST)
            while rows := dict(islice(found, BATCH_ROWS)):
                engine.write(rows)
    except SnapshotGone:
        if is_last:
            raise
        return False
    return True


def is_empty(reader: Reader) -> bool:
    """Whether there is no row at all."""
    return next(iter(reader.scan_keys(FIRST, LAST)), None) is None
