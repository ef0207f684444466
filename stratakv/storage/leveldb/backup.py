"""A copy of a database that goes on being written: links to its tables, and the small rest.

Tables are never changed, only made and deleted, so a hard link is a copy. What they mean is in the
MANIFEST, and what is not in them yet in the logs, which are copied. A copy is one of a moment if
the MANIFEST was the same before the logs were copied and after: then these are the logs that it
asks for, and a log that is read while it is written to is a number of whole batches, and perhaps a
part of one, which LevelDB drops as after a crash. If the MANIFEST has changed, or a table of it is
gone, it is tried again; tables that were linked stay linked.

The links are made within the directory, and moved to their place when all is there: to another
file system by copying, at leisure. LevelDB ignores them meanwhile. Nothing waits for any of this,
so it can be done beside a server as well as by it.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from stratakv.errors import StoreUnavailable
from stratakv.storage.leveldb.formats import Broken, decode_manifest
from stratakv.storage.leveldb.survey import (
    is_own,
    log_path,
    logs_on_disk,
    manifest_of,
    refuse_damaged,
    table_path,
    whole_records,
)

TRIES: Final = 200
_STAGE: Final = "backup-{}.tmp"
_PARTIAL: Final = ".partial"


class BackUp(NamedTuple):
    """What a copy is made of."""

    tables: int
    size: int
    copied: int
    """Bytes that were copied instead of linked."""


def back_up(source: Path, target: Path) -> BackUp:
    """Make a copy of the database in `source` that holds all that is written by now.

    Raises `StoreUnavailable` if it cannot be made. Requires: one at a time in a process.
    """
    if not (source / "CURRENT").exists():
        raise StoreUnavailable(f"{source} is not a data directory")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StoreUnavailable(f"{target} exists, and is not an empty directory")
    try:
        with _stage(source) as stage:
            tables = _collect(source, stage)
            copied = _put_in_place(stage, target)
    except OSError as error:
        raise StoreUnavailable(f"no backup to {target}: {error.strerror or error}") from error
    size = sum(file.stat().st_size for file in target.iterdir())
    return BackUp(tables, size, copied)


def restore(backup: Path, target: Path) -> BackUp:
    """Make a data directory of a copy, which stays. Raises `StoreUnavailable`."""
    if not (backup / "CURRENT").exists():
        raise StoreUnavailable(f"{backup} is not a backup")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StoreUnavailable(f"{target} exists, and is not an empty directory")
    refuse_damaged(backup)
    partial = target.with_name(target.name + _PARTIAL)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700, parents=True)
        tables = copied = 0
        for file in sorted(backup.iterdir()):
            if is_own(file.name):
                is_table = file.suffix in (".ldb", ".sst")
                tables += is_table
                copied += _link_or_copy(file, partial / file.name, may_link=is_table)
        _move(partial, target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise StoreUnavailable(f"{target}: {error.strerror or error}") from error
    size = sum(file.stat().st_size for file in target.iterdir())
    return BackUp(tables, size, copied)


# the copy


@contextlib.contextmanager
def _stage(source: Path) -> Iterator[Path]:
    """A directory beside the files; those of processes that have died are taken away."""
    for left in source.glob(_STAGE.format("*")):
        if not _is_alive(left.name):
            shutil.rmtree(left, ignore_errors=True)
    stage = source / _STAGE.format(os.getpid())
    stage.mkdir(mode=0o700)
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _is_alive(name: str) -> bool:
    """Whether the process is there whose number is in a name."""
    number = name.split("-")[1].split(".")[0]
    return number.isdigit() and number != str(os.getpid()) and Path("/proc", number).exists()


def _collect(source: Path, stage: Path) -> int:
    """Put a copy of one moment into the stage; says how many tables it has."""
    for _ in range(TRIES):
        with contextlib.suppress(FileNotFoundError, Broken):
            name, manifest = manifest_of(source)
            version = decode_manifest(whole_records(manifest))
            logs = [
                number
                for number in logs_on_disk(source)
                if number >= version.log_number or number == version.previous_log
            ]
            for number in version.tables:
                _link_table(source, stage, number)
            copies = {log_path(source, number).name: number for number in logs}
            for log in copies:
                _copy(source / log, stage / log)
            if manifest_of(source) == (name, manifest):
                _write(stage / name, manifest)
                _write(stage / "CURRENT", name.encode() + b"\n")
                _tidy(stage, {name, "CURRENT", *copies}, set(version.tables))
                return len(version.tables)
        for left in stage.glob("*.log"):
            left.unlink()
    raise StoreUnavailable(f"the files of {source} change too fast to be copied")


def _link_table(source: Path, stage: Path, number: int) -> None:
    if not table_path(stage, number).exists():
        path = table_path(source, number)
        _link_or_copy(path, stage / path.name, may_link=True)


def _tidy(stage: Path, files: set[str], tables: set[int]) -> None:
    """Take away what an earlier try has linked and nobody asks for any more."""
    wanted = {table_path(stage, number).name for number in tables} | files
    for file in stage.iterdir():
        if file.name not in wanted:
            file.unlink()


def _put_in_place(stage: Path, target: Path) -> int:
    """Move the stage to its place, by copying if need be; says how many bytes that took."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _move(stage, target)
        return 0
    except OSError as error:
        # So it is also from one mount to another of the same file system.
        if error.errno != errno.EXDEV:
            raise
    partial = target.with_name(target.name + _PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    try:
        copied = sum(_copy(file, partial / file.name) for file in stage.iterdir())
        _move(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return copied


def _move(stage: Path, target: Path) -> None:
    """Give a directory its name, for good."""
    _sync(stage)
    if target.exists():
        target.rmdir()
    stage.replace(target)
    _sync(target.parent)


def _link_or_copy(source: Path, target: Path, *, may_link: bool) -> int:
    """Says how many bytes were copied."""
    if may_link:
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise
        except OSError:
            pass  # another file system, or one without links, or too many of them
        else:
            return 0
    return _copy(source, target)


def _copy(source: Path, target: Path) -> int:
    with source.open("rb") as reader:
        fresh = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fresh, "wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
            writer.flush()
            os.fsync(writer.fileno())
            return writer.tell()


def _write(target: Path, data: bytes) -> None:
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as writer:
        writer.write(data)
        writer.flush()
        os.fsync(writer.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
