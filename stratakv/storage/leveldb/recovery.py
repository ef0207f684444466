"""New files in the place of damaged ones, which are kept beside them.

A recovery may be interrupted at any point and is then finished by the next:

1.  `recovered.tmp` is being filled, and thrown away if it was left there.
2.  `recovered` is whole. The old files move to `damaged-<time>`, CURRENT first.
3.  `recovered-in` is whole and the old files are gone. The new ones move in, CURRENT last.
"""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from stratakv.storage.leveldb.survey import RECOVERED, is_own

UNFINISHED = "recovered.tmp"


def empty_place(directory: Path) -> Path:
    """Where to write the new files."""
    place = directory / UNFINISHED
    shutil.rmtree(place, ignore_errors=True)
    return place


def is_interrupted(directory: Path) -> bool:
    """Whether an earlier recovery has its new files ready."""
    return any((directory / name).exists() for name in RECOVERED)


def declare_whole(directory: Path) -> None:
    """The new files are written and closed."""
    os.sync()
    (directory / UNFINISHED).rename(directory / RECOVERED[0])


def put_in_place(directory: Path) -> Path | None:
    """Exchange old files and new ones; returns where the old ones are, if this call moved them."""
    whole, moving = (directory / name for name in RECOVERED)
    kept: Path | None = None
    if whole.exists():
        kept = directory / time.strftime("damaged-%Y%m%dT%H%M%S", time.gmtime())
        kept.mkdir(mode=0o700, exist_ok=True)
        for file in _current_first(directory):
            file.rename(kept / file.name)
        whole.rename(moving)
    for file in reversed(list(_current_first(moving))):
        file.rename(directory / file.name)
    shutil.rmtree(moving)
    os.sync()
    return kept


def _current_first(directory: Path) -> Iterator[Path]:
    names = sorted(filter(is_own, os.listdir(directory)))
    return (directory / name for name in names)
