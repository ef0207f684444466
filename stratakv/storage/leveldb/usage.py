"""What a data directory takes on its disk, and what LevelDB tells of its levels."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from stratakv.storage.leveldb import reserve

MEGABYTE = 1 << 20
LEAST_PAUSE_SECONDS = 1.0


class DiskUse(NamedTuple):
    """Files and bytes of the directory; size and free bytes of the file system it is on."""

    files: int = 0
    bytes: int = 0
    size: int = 0
    free: int = 0
    used: int = 0
    """Bytes of the directory without the room that is kept for a full disk."""


class DiskWatch:
    """Looks at a directory now and then, in a thread; `latest` is what it last saw."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._due = 0.0
        self.latest = DiskUse()
        self.look()

    def look_if_due(self) -> None:
        """Measure once a second, and more seldom if that takes long: a hundredth of the time."""
        if time.monotonic() >= self._due:
            self.look()

    def look(self) -> None:
        """Measure now. For any thread; files that go meanwhile are left out."""
        if self._directory is None:
            return
        started = time.monotonic()
        self.latest = _measure(self._directory)
        ended = time.monotonic()
        self._due = ended + max(LEAST_PAUSE_SECONDS, 100 * (ended - started))


def _measure(directory: Path) -> DiskUse:
    files = total = kept = 0
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    size = entry.stat(follow_symlinks=False).st_size
                    total += size
                    kept += size if entry.name == reserve.NAME else 0
                except FileNotFoundError:
                    continue
                files += 1
        disk = os.statvfs(directory)
    except OSError:  # the directory is gone, or cannot be read any more
        return DiskUse(files, total, used=total - kept)
    size, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    return DiskUse(files, total, size, free, total - kept)


class Level(NamedTuple):
    """A level of LevelDB; its compactions since the start. Bytes are known to the megabyte."""

    number: int
    files: int
    bytes: int
    compaction_seconds: float
    compaction_read_bytes: int
    compaction_written_bytes: int


def parse_levels(stats: str | None) -> list[Level]:
    """The levels out of LevelDB's property `stats`: those that have files, or had compactions."""
    levels: list[Level] = []
    for line in (stats or "").splitlines():
        words = line.split()
        if len(words) != 6 or not words[0].isdigit():
            continue
        files, size, seconds, read, written = (float(word) for word in words[1:])
        levels.append(
            Level(
                int(words[0]),
                int(files),
                int(size * MEGABYTE),
                seconds,
                int(read * MEGABYTE),
                int(written * MEGABYTE),
            )
        )
    return levels
