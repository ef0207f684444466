"""The embedded engine: a LevelDB directory, through plyvel."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import plyvel

from stratakv.errors import StoreUnavailable
from stratakv.storage.engine import Rows
from stratakv.storage.mapping import TABLE_BYTES, map_at_most
from stratakv.storage.tables import OpenTables

LEVEL0_STOP = 12
"""LevelDB's own trigger: it stops writers at 12 level-0 files (and delays them from 8 on)."""

Get = Callable[[bytes], bytes | None]


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """How the database is opened; sizes in bytes."""

    block_cache: int = 64 << 20
    write_buffer: int = 16 << 20
    bloom_bits: int = 10
    max_open_files: int = 1000
    mapped: int = 200 << 20
    compression: bool = True


class LevelSnapshot:
    """A plyvel snapshot with our scan methods."""

    __slots__ = ("_snapshot", "get")

    def __init__(self, snapshot: Any) -> None:
        self._snapshot = snapshot
        self.get = snapshot.get

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop)."""
        rows: Iterator[tuple[bytes, bytes]] = self._snapshot.iterator(
            start=start, stop=stop, reverse=reverse, fill_cache=False
        )
        return _with_first(rows, self.get, start, stop) if reverse else rows

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Row keys of [start, stop)."""
        keys: Iterator[bytes] = self._snapshot.iterator(
            start=start, stop=stop, reverse=reverse, include_value=False, fill_cache=False
        )
        return _with_first_key(keys, self.get, start, stop) if reverse else keys

    def close(self) -> None:
        """Let go of the view."""
        self._snapshot.close()


class LevelEngine:
    """Rows in a LevelDB directory; one process at a time."""

    name = "leveldb"

    def __init__(self, directory: Path, options: LevelOptions | None = None) -> None:
        self.directory = directory
        self.options = options or LevelOptions()
        self._broken = ""
        """Why a write failed. LevelDB itself would go on after a torn log record, and drop at the
        next start whatever it logged behind it."""
        self._tables = OpenTables(directory, self.options.max_open_files)
        self._open()

    def _open(self) -> None:
        map_at_most(self.options.mapped // TABLE_BYTES)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._db = plyvel.DB(
                str(self.directory),
                create_if_missing=True,
                write_buffer_size=self.options.write_buffer,
                lru_cache_size=self.options.block_cache,
                bloom_filter_bits=self.options.bloom_bits,
                max_open_files=self.options.max_open_files,
                compression="snappy" if self.options.compression else None,
            )
        except (plyvel.Error, OSError) as error:
            raise StoreUnavailable(_explain(self.directory, error)) from error
        self._broken = ""
        self.get = self._db.get

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop)."""
        rows: Iterator[tuple[bytes, bytes]] = self._db.iterator(
            start=start, stop=stop, reverse=reverse
        )
        return _with_first(rows, self.get, start, stop) if reverse else rows

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Row keys of [start, stop)."""
        keys: Iterator[bytes] = self._db.iterator(
            start=start, stop=stop, reverse=reverse, include_value=False
        )
        return _with_first_key(keys, self.get, start, stop) if reverse else keys

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        """Write all rows or none, as one WriteBatch."""
        return self.prepare(rows, sync=sync)()

    def prepare(self, rows: Rows, *, sync: bool = False) -> Callable[[], int]:
        """Build the WriteBatch; the result writes it."""
        batch = self._db.write_batch(sync=sync)
        put, delete = batch.put, batch.delete
        for row, value in rows.items():
            if value is None:
                delete(row)
            else:
                put(row, value)
        return partial(self._write_batch, batch)

    def _write_batch(self, batch: Any) -> int:
        if self._broken:
            raise StoreUnavailable(self._broken)
        try:
            batch.write()
        except plyvel.Error as error:
            self._broken = str(error)
            raise StoreUnavailable(self._broken) from error
        return int(batch.approximate_size())

    def snapshot(self) -> LevelSnapshot:
        """A frozen view."""
        return LevelSnapshot(self._db.snapshot())

    def sync(self) -> None:
        """fsync every log file: LevelDB closes a rotated log without syncing it."""
        for log in self.directory.glob("*.log"):
            with contextlib.suppress(FileNotFoundError):
                descriptor = os.open(log, os.O_RDONLY)
                try:
                    os.fdatasync(descriptor)
                finally:
                    os.close(descriptor)

    def tidy(self) -> None:
        """Keep the tables open, so that their deletion stops no reader."""
        self._tables.refresh()

    def compact(self, start: bytes, stop: bytes) -> None:
        """Rewrite the tables of a range, dropping what was deleted."""
        self._db.compact_range(start=start, stop=stop)

    def size(self, start: bytes, stop: bytes) -> int:
        """LevelDB's estimate of a range's bytes in table files."""
        return int(self._db.approximate_size(start, stop))

    def pressure(self) -> int:
        """Level-0 files as a share of the number at which LevelDB stops writers."""
        files = int(self._db.get_property(b"leveldb.num-files-at-level0") or 0)
        return min(100, files * 100 // LEVEL0_STOP)

    def property(self, name: str) -> str | None:
        """A `leveldb.*` property."""
        value = self._db.get_property(b"leveldb." + name.encode())
        return None if value is None else value.decode("utf-8", "replace")

    def reopen(self) -> None:
        """Close and open again, once there is room for what LevelDB writes when it opens."""
        self._reserve(2 * self.options.write_buffer)
        self._db.close()
        self._open()

    def _reserve(self, size: int) -> None:
        """See whether the disk has room: a database that is closed and cannot open is of no use."""
        probe = self.directory / "room.tmp"
        try:
            with probe.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise StoreUnavailable(f"no room in {self.directory}: {error.strerror}") from error
        finally:
            probe.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the database; later calls raise."""
        self._db.close()
        self._tables.close()


def _with_first(
    found: Iterator[tuple[bytes, bytes]], get: Get, start: bytes, stop: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """A reverse scan made whole: plyvel 1.5.1 finds nothing if `start` is the only row there is."""
    last = next(found, None)
    if last is not None:
        return chain((last,), found)
    value = get(start) if start < stop else None
    return iter(() if value is None else ((start, value),))


def _with_first_key(found: Iterator[bytes], get: Get, start: bytes, stop: bytes) -> Iterator[bytes]:
    """As `_with_first`, without the values."""
    last = next(found, None)
    if last is not None:
        return chain((last,), found)
    return iter((start,) if start < stop and get(start) is not None else ())


def _explain(directory: Path, error: Exception) -> str:
    """One line for the operator."""
    text = str(error)
    if ("lock" in text.lower() and "already held" in text) or "Resource temporarily" in text:
        return f"data directory {directory} is in use by another process"
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return f"data directory {directory} is not writable"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"data directory {directory} is not a directory"
    return f"cannot open data directory {directory}: {text}"
