"""Room on the disk that is kept for deleting.

Deleting needs room before it gives any: marks go to the log, and compactions write new tables
before the old ones go. So a file of some write buffers lies in the data directory; when the disk is
full it is given back, and made again when there is enough room for it and for writing.
"""

import os
from pathlib import Path
from typing import Final

NAME: Final = "RESERVE"
LARGEST_SHARE: Final = 5
"""On a small disk the reserve is no more than a fifth of it."""


class Reserve:
    """The file, in a directory that exists when it is asked for."""

    def __init__(self, directory: Path, size: int) -> None:
        self._directory = directory
        self._file = directory / NAME
        self._size = size

    @property
    def is_missing(self) -> bool:
        """Whether there should be a reserve, and is none."""
        return self._size > 0 and not self._file.exists()

    def make(self, spare: int) -> bool:
        """Have the reserve, if the disk has room for it and for `spare` bytes; says so.

        The room is looked at first: to take all there is, if only for a moment, would make the
        writes of others fail.
        """
        if not self._size:
            self.give_back()
            return True
        if self._file.exists():
            return True
        disk = os.statvfs(self._directory)
        size = min(self._size, disk.f_blocks * disk.f_frsize // LARGEST_SHARE)
        return disk.f_bavail * disk.f_frsize >= size + spare and allocate(self._file, size)

    def give_back(self) -> bool:
        """Let the others have the room; False if there was none."""
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True


def allocate(file: Path, size: int) -> bool:
    """Make a file of that size whose blocks are there; no file if that fails."""
    try:
        with file.open("wb") as made:
            os.posix_fallocate(made.fileno(), 0, size)
    except OSError:
        file.unlink(missing_ok=True)
        return False
    return True
