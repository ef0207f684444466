"""Table files that LevelDB deletes while it holds the lock that every read takes.

A table's deletion takes milliseconds, as the system frees its blocks and its pages, and after a
compaction a dozen are deleted in a row. A file that is still open somewhere only loses its name,
which takes microseconds. So the tables are kept open here, and closed once their names are gone.
"""

import os
import threading
from pathlib import Path
from typing import Final

SUFFIX: Final = ".ldb"


class OpenTables:
    """Descriptors of the newest tables of a directory."""

    def __init__(self, directory: Path, most: int) -> None:
        self._directory = directory
        self._most = most
        self._descriptors: dict[str, int] = {}
        self._lock = threading.Lock()
        self._closed = False

    def refresh(self) -> None:
        """Open the tables that are new, and close those that were deleted. For any thread."""
        with self._lock:
            if not self._closed:
                self._refresh()

    def _refresh(self) -> None:
        names = [name for name in os.listdir(self._directory) if name.endswith(SUFFIX)]
        wanted = set(sorted(names, key=_by_number)[-self._most :])
        for name in self._descriptors.keys() - wanted:
            os.close(self._descriptors.pop(name))
        for name in wanted - self._descriptors.keys():
            try:
                self._descriptors[name] = os.open(self._directory / name, os.O_RDONLY)
            except FileNotFoundError:
                continue  # deleted since
            except OSError:
                break  # no descriptor to spare

    def close(self) -> None:
        """Close all, for good."""
        with self._lock:
            self._closed = True
            while self._descriptors:
                os.close(self._descriptors.popitem()[1])

    def __len__(self) -> int:
        return len(self._descriptors)


def _by_number(name: str) -> tuple[int, str]:
    """Tables are numbered as they are made, in six digits or more."""
    return len(name), name
