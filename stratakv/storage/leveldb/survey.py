"""What is damaged in a directory of LevelDB's, found without opening it.

`survey` looks at what LevelDB needs to open the database whole: CURRENT, the MANIFEST it names, the
logs, and of each table the footer and the index. `inspect_tables` reads every block of every table.
Both read only, and hold nothing open.
"""

import fcntl
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stratakv.errors import StoreUnavailable
from stratakv.storage.leveldb.formats import (
    Batch,
    Block,
    Broken,
    Record,
    Table,
    TableFile,
    Version,
    decode_batch,
    decode_head,
    decode_manifest,
    read_records,
)
from stratakv.storage.leveldb.reserve import NAME as RESERVE

_MANIFEST = re.compile(r"MANIFEST-\d+")
_LOG = re.compile(r"(\d+)\.log")
_TABLE = re.compile(r"(\d+)\.(?:ldb|sst)")
_OWN = re.compile(r"CURRENT|MANIFEST-\d+|\d+\.(?:log|ldb|sst)")
"""Files without which there is no database, or not the same."""
HARMLESS: Final = re.compile(
    rf"lost\+found|LOCK|LOG(?:\.old)?|{RESERVE}|.*\.(?:db)?tmp|damaged-.*|.*\.acl"
)
"""What may lie in a directory that is taken for an empty one; users are there before any data."""
RECOVERED: Final = ("recovered", "recovered-in")
"""Where a recovery has what it could read: until the old files are gone, and from then on."""
NEAR_TABLES: Final = 24
NEAR_BLOCKS: Final = 64
"""How far a damaged block is looked for while clients wait: 50 ms at the most."""
_LISTED = re.compile(r"^ (\d+):(\d+)\['(.*)' @ \d+ : \d+ \.\. '(.*)' @ \d+ : \d+\]$", re.MULTILINE)
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_FIRST_MANIFEST: Final = "MANIFEST-000001"


@dataclass(frozen=True, slots=True)
class Damage:
    """A place that cannot be read. Rows behind `after` and up to `high` are concerned; None if it
    is not known which."""

    file: str
    offset: int | None
    reason: str
    after: bytes | None = None
    high: bytes | None = None
    is_filter: bool = False

    def __str__(self) -> str:
        place = self.file if self.offset is None else f"{self.file} at byte {self.offset}"
        return f"{place}: {self.reason}"

    @property
    def keeps_from_reading(self) -> bool:
        """Whether anything is lost by it: without a filter LevelDB only reads more."""
        return not self.is_filter

    def concerns(self, low: bytes, high: bytes) -> bool:
        """Whether rows from `low` up to `high` are among those that cannot be read."""
        return (
            self.after is not None
            and self.high is not None
            and low <= self.high
            and self.after <= high
        )


@dataclass(slots=True)
class Survey:
    """What a directory has, and what of it is damaged."""

    directory: Path
    damages: list[Damage] = field(default_factory=list)
    version: Version | None = None
    """None if there is no telling which tables are live."""
    logs: list[int] = field(default_factory=list)
    """The logs that are to be replayed, oldest first."""

    @property
    def tables(self) -> list[Table]:
        """The live tables."""
        return list(self.version.tables.values()) if self.version is not None else []

    def note(self, file: str, broken: Exception, offset: int | None = None) -> None:
        """Something is damaged."""
        self.damages.append(Damage(file, offset, str(broken)))


def is_database(directory: Path) -> bool:
    """Whether LevelDB has, or had, a database there. Raises for a directory of somebody else's."""
    names = sorted(os.listdir(directory)) if directory.is_dir() else []
    own = [name for name in names if _OWN.fullmatch(name)]
    if any(name in names for name in RECOVERED) or (own and own != [_FIRST_MANIFEST]):
        return True
    foreign = [name for name in names if not HARMLESS.fullmatch(name) and name not in own]
    if foreign:
        raise StoreUnavailable(
            f"{directory} is not a data directory of StrataKV, and not empty: it has {foreign[0]}"
        )
    return False


def is_own(name: str) -> bool:
    """Whether a file is one of the database's."""
    return _OWN.fullmatch(name) is not None


def table_path(directory: Path, number: int) -> Path:
    """The file of a table, whichever ending it has."""
    path = directory / f"{number:06d}.ldb"
    return path if path.exists() else directory / f"{number:06d}.sst"


def log_path(directory: Path, number: int) -> Path:
    """The file of a log."""
    return directory / f"{number:06d}.log"


def survey(directory: Path) -> Survey:
    """Look at everything that LevelDB needs to open a database whole."""
    found = Survey(directory)
    for name in RECOVERED:
        if (directory / name).exists():
            found.damages.append(Damage(name, None, "a recovery was interrupted"))
    found.version = _read_version(found)
    numbers = _numbers(directory, _LOG)
    if found.version is None:
        found.logs = numbers
    else:
        first, previous = found.version.log_number, found.version.previous_log
        found.logs = [number for number in numbers if number >= first or number == previous]
        if first and first not in numbers:
            found.note(f"{first:06d}.log", Broken("the log is missing"))
    _verify_logs(found)
    for table in found.tables:
        path = table_path(directory, table.number)
        if not path.exists():
            found.damages.append(
                Damage(path.name, None, "the table is missing", table.low, table.high)
            )
        elif (damage := _table_damage(path, table)) is not None:
            found.damages.append(damage)
    return found


def _numbers(directory: Path, pattern: re.Pattern[str]) -> list[int]:
    matches = (pattern.fullmatch(name) for name in os.listdir(directory))
    return sorted(int(match[1]) for match in matches if match)


def tables_on_disk(directory: Path) -> list[int]:
    """The numbers of all table files, live or not."""
    return _numbers(directory, _TABLE)


def orphans(directory: Path) -> list[int]:
    """Table files that the MANIFEST does not know; none if it cannot be read whole."""
    version = _read_version(Survey(directory))
    if version is None:
        return []
    return [number for number in tables_on_disk(directory) if number not in version.tables]


def logs_on_disk(directory: Path) -> list[int]:
    """The numbers of all logs, oldest first."""
    return _numbers(directory, _LOG)


def manifest_of(directory: Path) -> tuple[str, bytes]:
    """The name of the MANIFEST that CURRENT names, and its bytes."""
    name = _manifest_name(directory)
    return name, (directory / name).read_bytes()


def _manifest_name(directory: Path) -> str:
    raw = (directory / "CURRENT").read_bytes()
    name = raw.decode("latin-1").removesuffix("\n")
    if not raw.endswith(b"\n") or not _MANIFEST.fullmatch(name):
        raise Broken("it does not name a MANIFEST")
    return name


def whole_records(raw: bytes) -> Iterator[bytes]:
    """The records of a MANIFEST; raises `Broken` for what is none."""
    return _whole(read_records(raw))


def _read_version(found: Survey) -> Version | None:
    """What CURRENT and its MANIFEST say; None, and a damage, if they cannot be read."""
    name = ""
    try:
        name = _manifest_name(found.directory)
    except (OSError, Broken) as error:
        found.note("CURRENT", _without_path(error))
        return None
    try:
        return decode_manifest(whole_records((found.directory / name).read_bytes()))
    except (OSError, Broken) as error:
        offset = error.offset if isinstance(error, Broken) else None
        found.note(name, _without_path(error), offset)
        return None


def _whole(records: Iterable[Record | Broken]) -> Iterator[bytes]:
    for record in records:
        if isinstance(record, Broken):
            raise record
        yield record.data


def _without_path(error: Exception) -> Exception:
    return Broken(error.strerror or "") if isinstance(error, OSError) else error


def _verify_logs(found: Survey) -> None:
    """Every record of every log, and that none is missing between two.

    LevelDB begins a log when the one before has filled its memtable: only the newest may be empty.
    """
    expected: int | None = None
    blank: list[str] = []
    for number in found.logs:
        file = log_path(found.directory, number).name
        records = list(read_records((found.directory / file).read_bytes()))
        if not records:
            blank.append(file)
            continue
        for name in blank:
            found.note(name, Broken("all its records are missing"), 0)
        blank.clear()
        for record in records:
            if isinstance(record, Broken):
                found.note(file, record, record.offset)
                expected = None
                continue
            try:
                sequence, count = decode_head(record.data)
            except Broken as error:
                found.note(file, error, record.offset)
                continue
            if expected is not None and sequence != expected:
                found.note(file, Broken("records before this one are missing"), record.offset)
            expected = sequence + count


def read_log(path: Path) -> Iterator[Batch | Broken]:
    """The batches of a log, and what is broken between them."""
    for record in read_records(path.read_bytes()):
        if isinstance(record, Broken):
            yield record
            continue
        try:
            yield decode_batch(record.data)
        except Broken as error:
            yield Broken(str(error), record.offset)


def _table_damage(path: Path, table: Table) -> Damage | None:
    """What keeps LevelDB from opening a table."""
    try:
        with TableFile(path) as file:
            if file.size != table.size:
                raise Broken(f"it has {file.size} bytes instead of {table.size}", file.size)
            file.verify_index()
    except Broken as error:
        return Damage(path.name, error.offset, str(error), table.low, table.high)
    except OSError as error:
        return Damage(path.name, None, error.strerror or "", table.low, table.high)
    return None


def inspect_tables(directory: Path, tables: Iterable[Table]) -> Iterator[Damage]:
    """Read every block of these tables; those that are missing are left to `survey`."""
    for table in tables:
        path = table_path(directory, table.number)
        if path.exists():
            yield from inspect_table(path, table)


def inspect_table(path: Path, table: Table, *, data_only: bool = False) -> Iterator[Damage]:
    """Every damage of a table. One that cannot be opened has one: all of it."""
    damage = _table_damage(path, table)
    if damage is not None:
        yield damage
        return
    with TableFile(path) as file:
        for block in file.blocks():
            if (damage := block_damage(path, file, block)) is not None:
                yield damage
        try:
            if not data_only:
                file.verify_filter()
        except Broken as error:
            reason = f"{error} in the filter: no row is concerned"
            yield Damage(path.name, error.offset, reason, is_filter=True)


def block_damage(path: Path, file: TableFile, block: Block) -> Damage | None:
    """What is wrong with a data block."""
    try:
        file.verify(block)
    except Broken as error:
        return Damage(path.name, error.offset, str(error), block.after, block.high)
    except OSError as error:
        return Damage(path.name, block.offset, error.strerror or "", block.after, block.high)
    return None


def damages_of(directory: Path) -> Iterator[Damage]:
    """Every damage of a database: what keeps it from opening, then block by block."""
    found = survey(directory)
    yield from found.damages
    known = {damage.file for damage in found.damages}
    for damage in inspect_tables(directory, found.tables):
        if damage.file not in known:
            yield damage


def neighbours(directory: Path, damage: Damage) -> tuple[bytes | None, bytes | None]:
    """The last row before a damaged block and the first behind it, where these can be read."""
    if damage.high is None:
        return None, None
    try:
        with TableFile(directory / damage.file) as file:
            blocks = file.blocks()
            at = [block.offset for block in blocks].index(damage.offset or 0)
            before = _edge_row(file, blocks[at - 1], -1) if at else None
            behind = _edge_row(file, blocks[at + 1], 0) if at + 1 < len(blocks) else None
            return before, behind
    except (Broken, OSError, ValueError):
        return damage.after, damage.high


def _edge_row(file: TableFile, block: Block, at: int) -> bytes | None:
    try:
        return [row for row, _, _ in file.entries(block)][at]
    except (Broken, IndexError):
        return None


def find_damage(
    directory: Path, tables: Iterable[Table], low: bytes, high: bytes, *, backwards: bool = False
) -> Damage | None:
    """The first damaged block from `low` on, or from `high` on backwards, in these tables.

    Looks at the nearest tables and blocks only: a reader that met damage is not far from it.
    """
    near = [table for table in tables if table.low <= high and low <= table.high]
    if backwards:
        near.sort(key=lambda table: min(table.high, high), reverse=True)
    else:
        near.sort(key=lambda table: max(table.low, low))
    for table in near[:NEAR_TABLES]:
        damage = _damage_near(table_path(directory, table.number), table, low, high, backwards)
        if damage is not None:
            return damage
    return None


def _damage_near(
    path: Path, table: Table, low: bytes, high: bytes, backwards: bool
) -> Damage | None:
    try:
        with TableFile(path) as file:
            blocks = [block for block in file.blocks() if low <= block.high and block.after <= high]
            for block in (blocks[::-1] if backwards else blocks)[:NEAR_BLOCKS]:
                if (damage := block_damage(path, file, block)) is not None:
                    return damage
    except Broken as error:
        return Damage(path.name, error.offset, str(error), table.low, table.high)
    except OSError as error:
        return Damage(path.name, None, error.strerror or "", table.low, table.high)
    return None


def parse_tables(listed: str) -> Iterator[Table]:
    """LevelDB's list of its tables (the property `sstables`)."""
    for match in _LISTED.finditer(listed):
        number, size, low, high = match.groups()
        yield Table(0, int(number), int(size), _unescaped(low), _unescaped(high))


def _unescaped(text: str) -> bytes:
    raw = text.encode("utf-8", "replace")
    return _ESCAPED.sub(lambda match: bytes((int(match[1], 16),)), raw)


def refuse_damaged(directory: Path) -> None:
    """Raises `StoreUnavailable`, in one line, if the database there cannot be opened whole."""
    damages = survey(directory).damages
    if not damages:
        return
    if is_in_use(directory):
        raise StoreUnavailable(f"data directory {directory} is in use by another process")
    more = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
    raise StoreUnavailable(
        f"data directory {directory} is damaged: {damages[0]}{more}. Nothing was changed. "
        f"`stratakv check {directory}` lists what is lost; `stratakv serve --recover` goes on with "
        f"what can be read and keeps the damaged files"
    )


def is_in_use(directory: Path) -> bool:
    """Whether another process has the database open."""
    try:
        with (directory / "LOCK").open("rb") as file:
            wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            answer = fcntl.fcntl(file, fcntl.F_GETLK, wanted)
    except OSError:
        return False
    kind: int = struct.unpack("hhqqi4x", answer)[0]
    return kind != fcntl.F_UNLCK
