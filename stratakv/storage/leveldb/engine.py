"""The embedded engine: a LevelDB directory, through plyvel."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import plyvel

from stratakv.errors import Damaged, StoreDamaged, StoreUnavailable
from stratakv.storage.contract import Rows
from stratakv.storage.leveldb.backup import back_up
from stratakv.storage.leveldb.batches import fill
from stratakv.storage.leveldb.deleted_tables import OpenTables
from stratakv.storage.leveldb.reserve import Reserve, allocate
from stratakv.storage.leveldb.survey import (
    Damage,
    find_damage,
    is_database,
    orphans,
    parse_tables,
    refuse_damaged,
    table_path,
)

LEVEL0_STOP = 12
"""LevelDB's own trigger: it stops writers at 12 level-0 files (and delays them from 8 on)."""

FULL = os.strerror(errno.ENOSPC)
SLACK_BYTES = 1 << 20
"""What LevelDB writes when it opens, besides the rows of its log."""
PIECE_BYTES = 32 << 20
"""Bytes of tables that are compacted in one go: a second, or less."""
HALVINGS = 40
"""How often a range is halved at the most: one large row cannot be cut."""

Get = Callable[[bytes], bytes | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A read that failed between two rows, and which row, or first row, was wanted."""

    wanted: bytes
    low: bytes
    high: bytes
    error: Exception
    backwards: bool = False


Blame = Callable[[Failure], Damaged]


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """How the database is opened; sizes in bytes."""

    block_cache: int = 64 << 20
    write_buffer: int = 16 << 20
    bloom_bits: int = 10
    max_open_files: int = 1000
    compression: bool = True
    reserve: int = 0


class LevelReads:
    """Reads of a database or of a snapshot of it, each block verified as it is read from disk.

    Where a block is damaged, LevelDB's iterators leap to the next one and remember it. plyvel asks
    for that with each row, but not where the database ends: hence the look back at the end of a
    scan, at any row at all (2 us).
    """

    def __init__(self, source: Any, blame: Blame, *, fill_cache: bool) -> None:
        self._source = source
        self._blame = blame
        self._fill_cache = fill_cache
        self.get = _verified_get(source.get, blame)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Rows of [start, stop)."""
        if reverse:
            return self._backwards(start, stop, include_value=True)
        return self._forwards(start, stop, include_value=True)

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        """Row keys of [start, stop)."""
        if reverse:
            return self._backwards(start, stop, include_value=False)
        return self._forwards(start, stop, include_value=False)

    def _forwards(self, start: bytes, stop: bytes, *, include_value: bool) -> Iterator[Any]:
        found = self._source.iterator(
            stop=stop,
            include_value=include_value,
            verify_checksums=True,
            fill_cache=self._fill_cache,
        )
        return self._to_the_end(found, start, stop)

    def _to_the_end(self, found: Any, start: bytes, stop: bytes) -> Iterator[Any]:
        item: Any = start
        try:
            found.seek(start)
            for item in found:
                yield item
            found.seek(b"")
        except plyvel.Error as error:
            raise self._blame(Failure(start, _row_of(item), stop, error)) from error

    def _backwards(self, start: bytes, stop: bytes, *, include_value: bool) -> Iterator[Any]:
        found = self._source.iterator(
            start=start,
            stop=stop,
            reverse=True,
            include_value=include_value,
            verify_checksums=True,
            fill_cache=self._fill_cache,
        )
        return self._to_the_start(found, start, stop, include_value)

    def _to_the_start(
        self, found: Any, start: bytes, stop: bytes, include_value: bool
    ) -> Iterator[Any]:
        item: Any = stop
        try:
            for item in found:
                yield item
            if item is stop:
                yield from self._first_alone(start, stop, include_value)
        except plyvel.Error as error:
            failure = Failure(start, start, _row_of(item), error, backwards=True)
            raise self._blame(failure) from error

    def _first_alone(self, start: bytes, stop: bytes, include_value: bool) -> Iterator[Any]:
        """A reverse scan made whole: plyvel 1.5.1 finds nothing if `start` is the only row there
        is, and does not say if it finds nothing for a damaged block."""
        with self._source.raw_iterator(verify_checksums=True) as first:
            first.seek(start)
            if first.valid() and (row := first.key()) < stop:
                yield (row, first.value()) if include_value else row


def _row_of(item: Any) -> bytes:
    row: bytes = item[0] if type(item) is tuple else item
    return row


def _verified_get(get: Any, blame: Blame) -> Get:
    """A closure, since each get goes through it: it adds 0.15 us, a partial 0.4."""

    def verified(row: bytes) -> bytes | None:
        try:
            value: bytes | None = get(row, verify_checksums=True)
            return value
        except plyvel.Error as error:
            raise blame(Failure(row, row, row, error)) from error

    return verified


class LevelSnapshot(LevelReads):
    """A plyvel snapshot with our scan methods."""

    def __init__(self, snapshot: Any, blame: Blame) -> None:
        super().__init__(snapshot, blame, fill_cache=False)

    def close(self) -> None:
        """Let go of the view."""
        self._source.close()


class LevelEngine(LevelReads):
    """Rows in a LevelDB directory; one process at a time."""

    name = "leveldb"

    def __init__(self, directory: Path, options: LevelOptions | None = None) -> None:
        self.directory = directory
        self.options = options or LevelOptions()
        self._broken = ""
        """Why a write failed. LevelDB itself would go on after a torn log record, and drop at the
        next start whatever it logged behind it."""
        self._refusal: type[StoreUnavailable] = StoreUnavailable
        self._damages: list[Damage] = []
        """Damaged places that reads have met."""
        self._tables = OpenTables(directory, self.options.max_open_files)
        self._prepare()
        self._room = Reserve(directory, self.options.reserve)
        try:
            self._open()
        except StoreUnavailable as error:
            if FULL not in str(error) or not self._room.give_back():
                raise
            self._open()
        self._room.make(0)

    def _prepare(self) -> None:
        """See that there is a directory, and that what is in it can be opened whole."""
        try:
            _make_private(self.directory)
            if is_database(self.directory):
                refuse_damaged(self.directory)
        except OSError as error:
            raise StoreUnavailable(_explain(self.directory, error)) from error

    def _open(self) -> None:
        try:
            self._db = plyvel.DB(
                str(self.directory),
                create_if_missing=True,
                paranoid_checks=True,
                write_buffer_size=self.options.write_buffer,
                lru_cache_size=self.options.block_cache,
                bloom_filter_bits=self.options.bloom_bits,
                max_open_files=self.options.max_open_files,
                compression="snappy" if self.options.compression else None,
            )
        except (plyvel.Error, OSError) as error:
            raise StoreUnavailable(_explain(self.directory, error)) from error
        self._broken = ""
        super().__init__(self._db, self._blame_damage, fill_cache=True)

    def _blame_damage(self, failure: Failure) -> Damaged:
        """What to tell of a read that failed: which block of which table it met."""
        low, high = failure.low, failure.high
        found = next((known for known in self._damages if known.concerns(low, high)), None)
        if found is None:
            tables = parse_tables(self.property("sstables") or "")
            found = find_damage(self.directory, tables, low, high, backwards=failure.backwards)
            if found is not None:
                self._damages.append(found)
        place = str(found) if found is not None else _words(failure.error)
        return Damaged(failure.wanted, place)

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        """Write all rows or none, as one WriteBatch."""
        return self.prepare(rows, sync=sync)()

    def prepare(self, rows: Rows, *, sync: bool = False) -> Callable[[], int]:
        """Build the WriteBatch; the result writes it."""
        batch = self._db.write_batch(sync=sync)
        fill(batch, rows)
        return partial(self._write_batch, batch)

    def _write_batch(self, batch: Any) -> int:
        if self._broken:
            raise self._refusal(self._broken)
        try:
            batch.write()
        except plyvel.CorruptionError as error:
            self._broken, self._refusal = _words(error), StoreDamaged
            raise StoreDamaged(self._broken) from error
        except plyvel.Error as error:
            self._broken, self._refusal = _words(error), StoreUnavailable
            raise StoreUnavailable(self._broken) from error
        return int(batch.approximate_size())

    def snapshot(self) -> LevelSnapshot:
        """A frozen view."""
        return LevelSnapshot(self._db.snapshot(), self._blame_damage)

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

    def pieces(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """A range halved until no part has many bytes in tables: LevelDB gives no way to stop."""
        pieces: list[tuple[bytes, bytes]] = []
        parts = [(start, stop, HALVINGS)]
        while parts:
            first, last, halvings = parts.pop()
            middle = middle_of(first, last)
            if halvings and first < middle < last and self.size(first, last) > PIECE_BYTES:
                parts += [(middle, last, halvings - 1), (first, middle, halvings - 1)]
            else:
                pieces.append((first, last))
        return pieces

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

    def report(self) -> str:
        """LevelDB's table of its levels."""
        return self.property("stats") or ""

    def property(self, name: str) -> str | None:
        """A `leveldb.*` property."""
        value = self._db.get_property(b"leveldb." + name.encode())
        return None if value is None else value.decode("utf-8", "replace")

    def reopen(self) -> None:
        """Close and open again, once there is room for what LevelDB writes when it opens."""
        self._tables.refresh()  # deleted tables that are still open take room
        needed = SLACK_BYTES + self._log_bytes()
        if FULL in self._broken or not self._has_room(needed):
            self._room.give_back()
        if not self._has_room(needed):
            self._remove_orphans()
        if not self._has_room(needed):
            raise StoreUnavailable(f"no room in {self.directory}: {FULL}")
        self._db.close()
        self._open()

    def _log_bytes(self) -> int:
        """What LevelDB's logs take; one that it deletes meanwhile takes nothing."""
        total = 0
        for log in self.directory.glob("*.log"):
            with contextlib.suppress(FileNotFoundError):
                total += log.stat().st_size
        return total

    def _remove_orphans(self) -> None:
        """Delete what compactions left that failed for want of room.

        LevelDB does so when it opens, but that takes room first. A table goes only if neither the
        MANIFEST nor LevelDB knows it. Requires: an error has ended LevelDB's own work on its files.
        """
        if not self._broken:
            return
        listed = {table.number for table in parse_tables(self.property("sstables") or "")}
        for number in orphans(self.directory):
            if number not in listed:
                table_path(self.directory, number).unlink(missing_ok=True)

    def _has_room(self, size: int) -> bool:
        """See whether the disk has room: a database that is closed and cannot open is of no use."""
        probe = self.directory / "room.tmp"
        if not allocate(probe, size):
            return False
        probe.unlink()
        return True

    def lacks_room(self) -> str:
        """Why rows should only be deleted for now; nothing if there is room."""
        if not self._room.is_missing:
            return ""
        return f"the disk of {self.directory} is full; what is deleted makes room"

    def regain_room(self) -> bool:
        """Keep room for deleting again, if there is enough for writing too; says whether."""
        self._tables.refresh()
        return self._room.make(2 * self.options.write_buffer)

    def back_up(self, target: Path) -> None:
        """Link the tables, copy the rest."""
        back_up(self.directory, target)

    def close(self) -> None:
        """Close the database, and with it what is left of iterators and snapshots."""
        self._db.close()
        self._tables.close()


def open_existing(directory: Path) -> LevelEngine:
    """Open a database that is there; raises `StoreUnavailable` where LevelDB would make one."""
    if not (directory / "CURRENT").exists():
        raise StoreUnavailable(f"{directory} is not a data directory")
    return LevelEngine(directory)


def _make_private(directory: Path) -> None:
    """Make the directory, if there is none, and close it to others: it holds everybody's data."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):  # another's directory that we may write into
        directory.chmod(0o700)


def middle_of(first: bytes, last: bytes) -> bytes:
    """A row halfway between two others, both read as numbers behind a point."""
    width = max(len(first), len(last)) + 1
    low, high = (int.from_bytes(row.ljust(width, b"\0"), "big") for row in (first, last))
    return ((low + high) // 2).to_bytes(width, "big")


def _words(error: Exception) -> str:
    """What an error says: LevelDB's own come as bytes."""
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(error)


def _explain(directory: Path, error: Exception) -> str:
    """One line for the operator."""
    text = _words(error)
    if ("lock" in text.lower() and "already held" in text) or "Resource temporarily" in text:
        return f"data directory {directory} is in use by another process"
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return f"data directory {directory} is not writable"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"data directory {directory} is not a directory"
    return f"cannot open data directory {directory}: {text}"
