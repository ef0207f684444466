"""The first start where a Redis has left its data: its dump is loaded, as that Redis would."""

import logging
from pathlib import Path
from typing import Final

from stratakv.encodings.rdb.file_reader import FileReader
from stratakv.encodings.rdb.files import BadFile
from stratakv.options import BadOption, Options
from stratakv.tools import places
from stratakv.tools.import_command import LONGEST_STRING, READ_AT_ONCE
from stratakv.tools.into_directory import Directory, DirectoryImport
from stratakv.tools.outcomes import KeyExists, Outcome
from stratakv.tools.selection import Selection

log = logging.getLogger("stratakv")

_MARK: Final = "stratakv-loading"
"""A file that is there while a dump is loaded: whoever was killed meanwhile goes on."""
_LOGS: Final = ("appendonlydir", "appendonly.aof")


def take_over(options: Options) -> None:
    """Load the dump that lies in the directory of a store that is yet to be; raises `BadOption`."""
    directory, store = Path(options.dir), options.store_directory
    mark = directory / _MARK
    if (store / "CURRENT").exists() and not mark.exists():
        return
    if options.redis_settings.get("appendonly") == "yes":
        _refuse_log(directory)
    dump = directory / options.dbfilename
    if not dump.exists():
        return
    mark.touch()
    outcome = _load(dump, store, options.databases)
    if outcome.refused:
        raise BadOption("dbfilename", str(dump), "; ".join(outcome.lines("could be loaded")))
    mark.unlink()
    loaded = sum(outcome.imported.values())
    log.warning("DB loaded from disk: %d keys of %s are in the store from now on", loaded, dump)


def _refuse_log(directory: Path) -> None:
    for name in _LOGS:
        if (directory / name).exists():
            raise BadOption(
                "appendonly",
                "yes",
                f"the data in {directory / name} would be missing, since append only files are not"
                " read: have Redis write a dump (SAVE), and move that file away",
            )


def _load(dump: Path, directory: Path, databases: int) -> Outcome:
    target = Directory(directory, databases)
    try:
        mark = places.fingerprint(dump, "first start")
        place = target.place(mark)
        with dump.open("rb") as source:
            source.seek(0 if place is None else place.position)
            chunks = iter(lambda: source.read(READ_AT_ONCE), b"")
            work = DirectoryImport(target, mark, Selection(), "replace")
            work.run(FileReader(chunks, LONGEST_STRING, _nobody), place, _nobody)
        return work.outcome
    except (BadFile, KeyExists) as error:
        raise BadOption("dbfilename", str(dump), f"cannot be loaded: {error}") from None
    finally:
        target.close()


def _nobody() -> None:
    """Nobody waits, nobody is told."""
