"""Every row that can still be read in a damaged directory, written into a new one.

The tables are read by LevelDB itself, under a MANIFEST of our own that names those that can be
opened; where a block is damaged its iterators leap to the next. The logs are read here. The damaged
directory is only read.

A row is left out, and told, if a damaged block may have held a newer state of it: what is there is
then an older value, or one that was deleted. Without the MANIFEST it is not known which tables are
newer, nor which were on their way out: all are taken, and rows that were deleted may be back.
"""

import contextlib
import os
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import plyvel

from stratakv.errors import StoreUnavailable
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.leveldb.formats import (
    Block,
    Broken,
    Table,
    TableFile,
    encode_manifest,
    rebuild_table,
)
from stratakv.storage.leveldb.survey import (
    Damage,
    inspect_tables,
    log_path,
    read_log,
    survey,
    table_path,
    tables_on_disk,
)
from stratakv.storage.store import Overlay, merge

BATCH_ROWS: Final = 1000
_SCRATCH: Final = "scratch.tmp"
_LAST_SEQUENCE: Final = (1 << 56) - 1
_LEVELS: Final = 7


class Salvage:
    """One directory's rows on their way into another; what is lost is known when it is made."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._survey = survey(source)
        self.damages = list(self._survey.damages)
        known = {damage.file for damage in self.damages}
        self._tables = self._survey.tables or self._tables_on_disk()
        self.damages += [
            damage for damage in inspect_tables(source, self._tables) if damage.file not in known
        ]
        self.doubtful: list[bytes] = []
        """Rows that were left out because a newer state of them may be lost."""
        self.rows = 0
        self._rebuilt: dict[int, Path] = {}
        """Tables that were given a new index."""
        self._lost: dict[str, list[Damage]] = {}
        for damage in self.damages:
            if damage.high is not None:
                self._lost.setdefault(damage.file, []).append(damage)

    @property
    def guesses(self) -> bool:
        """Whether the MANIFEST is lost, so that rows that were deleted may be back."""
        return self._survey.version is None

    def may_have_lost(self, low: bytes, high: bytes) -> bool:
        """Whether rows of a range may be among those that could not be read from the tables."""
        lost = (damage for damages in self._lost.values() for damage in damages)
        return any(damage.concerns(low, high) for damage in lost)

    def into(self, target: Path) -> None:
        """Write what can be read into a directory that is empty, or not there."""
        engine = LevelEngine(target)
        scratch = target / _SCRATCH
        try:
            with _opened(self._link_tables(scratch)) as database:
                self._copy(self._readable(database), engine)
        finally:
            engine.close()
            shutil.rmtree(scratch, ignore_errors=True)

    def _copy(self, found: Iterator[tuple[bytes, bytes]], engine: LevelEngine) -> None:
        merged = merge(found, self._logged())
        while batch := dict(islice(merged, BATCH_ROWS)):
            self.rows += len(batch)
            engine.write(batch)
        engine.sync()

    def _logged(self) -> Overlay:
        """What the logs write, as far as they can be read."""
        overlay: Overlay = {}
        for number in self._survey.logs:
            for batch in read_log(log_path(self._source, number)):
                if not isinstance(batch, Broken):
                    overlay.update(batch.entries)
        return overlay

    # tables

    def _tables_on_disk(self) -> list[Table]:
        """All tables, on levels where none overlaps another; on level 0 those that always do."""
        found: list[Table] = []
        ends: list[bytes | None] = [None] * _LEVELS
        for table in sorted(map(self._measured, tables_on_disk(self._source)), key=_by_low):
            free = (
                level
                for level in range(1, _LEVELS)
                if (end := ends[level]) is None or end < table.low
            )
            level = next(free, 0)
            ends[level] = table.high
            found.append(table._replace(level=level))
        return found

    def _measured(self, number: int) -> Table:
        """A table as the MANIFEST would know it; one that cannot be read spans everything."""
        path = table_path(self._source, number)
        low, high = b"", b"\xff" * 8
        with contextlib.suppress(Broken, OSError), TableFile(path) as file:
            blocks = file.blocks()
            high = blocks[-1].high
            low = next(file.entries(blocks[0]))[0]
        return Table(0, number, path.stat().st_size, low, high)

    def _link_tables(self, scratch: Path) -> Path:
        """A directory with links to the tables that can be opened, and a MANIFEST of them."""
        scratch.mkdir(mode=0o700)
        tables: list[Table] = []
        for table in self._tables:
            path = table_path(self._source, table.number).resolve()
            if not self._is_lost_whole(table):
                os.symlink(path, scratch / path.name)
                tables.append(table)
            elif path.exists() and self._rebuild(table, path, scratch / path.name):
                size = (scratch / path.name).stat().st_size
                tables.append(table._replace(size=size))
        name = f"MANIFEST-{max((table.number for table in tables), default=0) + 1:06d}"
        (scratch / name).write_bytes(encode_manifest(tables, _LAST_SEQUENCE))
        (scratch / "CURRENT").write_text(name + "\n")
        return scratch

    def _rebuild(self, table: Table, path: Path, place: Path) -> bool:
        """Give a table a new index; False if nothing is found in it."""
        rebuilt = rebuild_table(path.read_bytes())
        if rebuilt is None:
            return False
        place.write_bytes(rebuilt.content)
        self._rebuilt[table.number] = place
        self._lost[path.name] = [
            Damage(path.name, None, "beyond what was found", rebuilt.last, table.high)
        ]
        if rebuilt.last >= table.high or self.guesses:
            del self._lost[path.name]
        return True

    def _is_lost_whole(self, table: Table) -> bool:
        name = table_path(self._source, table.number).name
        return any(lost.after == table.low and lost.high == table.high for lost in self._of(name))

    def _of(self, file: str) -> list[Damage]:
        return self._lost.get(file, [])

    # rows

    def _readable(self, database: Any) -> Iterator[tuple[bytes, bytes]]:
        for row, value in _every_row(database):
            if self._is_sure(row):
                yield row, value
            else:
                self.doubtful.append(row)

    def _is_sure(self, row: bytes) -> bool:
        """Whether what was found is the newest state of a row."""
        if not self.may_have_lost(row, row):
            return True
        return not self.guesses and self._is_newest(row)

    def _is_newest(self, row: bytes) -> bool:
        """Look from the newest table to the oldest: a damaged block, or the row, comes first."""
        for table in sorted(self._tables, key=_by_age):
            if not table.low <= row <= table.high:
                continue
            path = table_path(self._source, table.number)
            if self._is_lost_whole(table) or any(
                _covers(lost, row) for lost in self._of(path.name)
            ):
                return False
            if row in _rows_near(self._rebuilt.get(table.number, path), row):
                return True
        return True


def _by_low(table: Table) -> bytes:
    return table.low


def _by_age(table: Table) -> tuple[int, int]:
    """Newest first: level 0 by falling numbers, then level by level."""
    return table.level, -table.number if not table.level else 0


def _covers(lost: Damage, row: bytes) -> bool:
    return lost.after is not None and lost.high is not None and lost.after < row <= lost.high


@lru_cache(maxsize=64)
def _blocks(path: Path) -> list[Block]:
    with TableFile(path) as file:
        return file.blocks()


def _rows_near(path: Path, row: bytes) -> frozenset[bytes]:
    """The rows of the block in which a table has a row, if it has it."""
    blocks = _blocks(path)
    at = bisect_left([block.high for block in blocks], row)
    return _rows_of(path, blocks[at]) if at < len(blocks) else frozenset()


@lru_cache(maxsize=256)
def _rows_of(path: Path, block: Block) -> frozenset[bytes]:
    with TableFile(path) as file:
        return frozenset(row for row, _, _ in file.entries(block))


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[Any]:
    try:
        database = plyvel.DB(str(directory), paranoid_checks=True)
    except plyvel.Error as error:
        raise StoreUnavailable(f"cannot read the tables: {error}") from error
    try:
        yield database
    finally:
        database.close()


def _every_row(database: Any) -> Iterator[tuple[bytes, bytes]]:
    """All rows that LevelDB finds; it goes on behind what is damaged, and repeats that it is."""
    with database.raw_iterator(verify_checksums=True, fill_cache=False) as found:
        _despite_damage(found.seek_to_first)
        while found.valid():
            yield found.key(), found.value()
            _despite_damage(found.next)


def _despite_damage(step: Callable[[], None]) -> None:
    with contextlib.suppress(plyvel.Error):
        step()
