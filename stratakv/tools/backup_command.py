"""`stratakv backup` and `stratakv restore`: copies of a data directory, of a running server too."""

import argparse
import re
import shutil
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from stratakv.options import parse_seconds
from stratakv.storage.leveldb.backup import back_up, restore
from stratakv.tools.links import Link, is_address

_FORM: Final = "stratakv-%Y%m%d-%H%M%S"
_NAME: Final = re.compile(r"stratakv-\d{8}-\d{6}")
_PARTIAL: Final = re.compile(rf"{_NAME.pattern}\.partial")


def declare(commands: Any) -> None:
    """Both subcommands and their options."""
    backup = commands.add_parser(
        "backup",
        help="copy a data directory, while a server uses it too",
        description="Make a copy of a data directory in PLACE/stratakv-<time>: hard links to its"
        " tables, and copies of the small rest; copies of all on another file system. A server may"
        " use the directory; with the address of one, it makes the copy itself, on its machine.",
    )
    backup.add_argument("source", metavar="DIR|URL")
    backup.add_argument("place", metavar="PLACE", help="the directory of all backups")
    backup.add_argument("--keep", type=int, metavar="N", help="delete all but the last N there")
    backup.add_argument(
        "--max-age", metavar="AGE", help="delete those that are older, e.g. 36h or 14d"
    )
    backup.set_defaults(run=run_backup)
    again = commands.add_parser(
        "restore", help="make a data directory of a backup", description="The backup stays."
    )
    again.add_argument("backup", metavar="BACKUP")
    again.add_argument("dir", metavar="DIR", help="must not exist, or be empty")
    again.set_defaults(run=run_restore)


def run_backup(parsed: argparse.Namespace) -> int:
    """0 when the copy is there, and old ones are gone."""
    if parsed.keep is not None and parsed.keep < 1:
        raise OSError("--keep: at least one backup stays")
    longest_s = None if parsed.max_age is None else _age(parsed.max_age)
    place = Path(parsed.place).absolute()
    made = place / datetime.now(UTC).strftime(_FORM)
    if is_address(parsed.source):
        with closing(Link(parsed.source)) as link:
            link.call("STRATA", "BACKUP", str(made))
        print(f"{made}: made by {link}")
    else:
        facts = back_up(Path(parsed.source), made)
        shown = f"{facts.tables} tables, {facts.size / 1e6:.1f} MB"
        print(f"{made}: {shown}, {facts.copied / 1e6:.1f} MB of them copied to another file system"
              if facts.copied else f"{made}: {shown}")  # fmt: skip
    for old in prune(place, parsed.keep, longest_s, made.name):
        print(f"{old}: deleted")
    return 0


def _age(text: str) -> int:
    try:
        return parse_seconds(text)
    except (ValueError, KeyError):
        raise OSError(f"--max-age {text}: a duration such as 90s, 5m, 12h or 7d") from None


def prune(place: Path, keep: int | None, longest_s: int | None, newest: str) -> list[Path]:
    """Delete backups beyond a number or an age, and what was left unfinished; never the newest."""
    names = sorted(one.name for one in place.iterdir()) if place.is_dir() else []
    backups = [name for name in names if _NAME.fullmatch(name) and name != newest]
    gone = {name for name in names if _PARTIAL.fullmatch(name)}
    if keep is not None:
        gone.update(backups[: max(0, len(backups) + 1 - keep)])
    if longest_s is not None:
        oldest = time.time() - longest_s
        gone.update(name for name in backups if _made_at(name) < oldest)
    for name in gone:
        shutil.rmtree(place / name)
    return [place / name for name in sorted(gone)]


def _made_at(name: str) -> float:
    return datetime.strptime(name, _FORM).replace(tzinfo=UTC).timestamp()


def run_restore(parsed: argparse.Namespace) -> int:
    """0 when the directory is there."""
    facts = restore(Path(parsed.backup), Path(parsed.dir))
    print(f"{parsed.dir}: restored, {facts.tables} tables, {facts.size / 1e6:.1f} MB")
    return 0
