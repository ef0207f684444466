"""`stratakv import`: a dump, or the keys of a server, into a data directory or a server."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from stratakv.encodings.rdb import files, payloads
from stratakv.encodings.rdb.file_reader import Entry, FileReader, Place
from stratakv.encodings.rdb.files import BadFile
from stratakv.tools import places, selection, server_keys
from stratakv.tools.into_directory import Directory, DirectoryImport
from stratakv.tools.into_server import Target
from stratakv.tools.links import Link, is_address
from stratakv.tools.live import Live
from stratakv.tools.outcomes import KeyExists, Outcome
from stratakv.tools.payload_copies import library_payload, object_payload
from stratakv.tools.progress import Bar, bar
from stratakv.tools.selection import Selection
from stratakv.tools.stopping import obey_sigterm

READ_AT_ONCE: Final = 1 << 18
LONGEST_STRING: Final = 512 << 20


def declare(commands: Any) -> None:
    """The subcommand and its options."""
    parser = commands.add_parser(
        "import",
        help="take keys over from a dump or a server",
        description="Take keys over from a dump of Redis, or from a running server, into a data"
        " directory that no server uses, or into a running server. The same command goes on after"
        " it was stopped.",
    )
    parser.add_argument("source", metavar="DUMP|URL", help="dump.rdb, or redis://host:port")
    parser.add_argument("target", metavar="DIR|URL", help="a data directory, or redis://host:port")
    selection.declare(parser)
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--replace", action="store_true", help="replace keys that are there")
    existing.add_argument("--skip", action="store_true", help="leave keys as they are that exist")
    parser.add_argument(
        "--dry-run", action="store_true", help="count, and name what cannot be imported"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="copy a server, then follow it as a replica until interrupted; tells when in step",
    )
    parser.add_argument(
        "--until-in-step", action="store_true", help="with --live: end as soon as it is in step"
    )
    parser.add_argument(
        "--databases", type=int, default=16, metavar="N", help="of a new directory (default: 16)"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """0 if everything was imported; 1 if keys were refused, or it ended early."""
    obey_sigterm()
    outcome = Outcome()
    verb = "can be imported" if parsed.dry_run else "imported"
    if parsed.live and not is_address(parsed.source):
        raise OSError("--live follows a server: redis://host:port")
    try:
        if is_address(parsed.source):
            _from_server(parsed, outcome)
        else:
            _from_dump(parsed, outcome)
    except (BadFile, KeyExists) as error:
        raise OSError(f"{parsed.source}: {error}") from None
    except KeyboardInterrupt:
        print("stopped: the same command goes on")
        return 130
    for line in outcome.lines(verb):
        print(line)
    return 1 if outcome.refused else 0


def _existing(parsed: argparse.Namespace) -> str:
    return "replace" if parsed.replace else "skip" if parsed.skip else ""


# from a dump


def _from_dump(parsed: argparse.Namespace, outcome: Outcome) -> None:
    dump = Path(parsed.source)
    chosen = selection.chosen(parsed)
    with dump.open("rb") as source, bar("importing", dump.stat().st_size) as shown:
        if parsed.dry_run:
            _count(source, chosen, parsed.databases, outcome, shown)
        elif is_address(parsed.target):
            _dump_into_server(parsed, source, outcome, shown)
        else:
            _dump_into_directory(parsed, source, outcome, shown)


def _opened(source: BinaryIO, place: Place | None) -> FileReader:
    source.seek(0 if place is None else place.position)
    return FileReader(_chunks(source), LONGEST_STRING, _no_pause)


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(READ_AT_ONCE):
        yield chunk


def _no_pause() -> None:
    """Nobody waits."""


def _mark(parsed: argparse.Namespace) -> str:
    words = (str(parsed.match), str(parsed.db), parsed.target)
    return places.fingerprint(Path(parsed.source), *words)


def _count(
    source: BinaryIO, chosen: Selection, databases: int, outcome: Outcome, shown: Bar
) -> None:
    file = _opened(source, None)
    for entry in file.entries():
        if entry.kind in (files.OLD_MODULE, files.MODULE):
            outcome.refuse(entry, file.module_of(entry))
            continue
        file.skip(entry)
        if not chosen(entry.database, entry.key):
            outcome.unwanted += 1
        elif entry.database >= databases:
            outcome.refuse(entry, f"there are {databases} databases")
        else:
            outcome.took(entry)
        shown.move(file.reader.position, file.keys)
    outcome.libraries = len(file.libraries)


def _dump_into_directory(
    parsed: argparse.Namespace, source: BinaryIO, outcome: Outcome, shown: Bar
) -> None:
    directory = Directory(Path(parsed.target), parsed.databases)
    try:
        mark = _mark(parsed)
        place = directory.place(mark)
        _say_where(place)
        file = _opened(source, place)
        work = DirectoryImport(directory, mark, selection.chosen(parsed), _existing(parsed))
        work.outcome = outcome
        work.run(file, place, lambda: shown.move(file.reader.position, file.keys))
    finally:
        directory.close()


def _dump_into_server(
    parsed: argparse.Namespace, source: BinaryIO, outcome: Outcome, shown: Bar
) -> None:
    link = Link(parsed.target)
    target = Target(link, _existing(parsed), outcome)
    kept = places.PlaceFile(Path(parsed.source), _mark(parsed))
    chosen = selection.chosen(parsed)
    place = kept.load()
    _say_where(place)
    file = _opened(source, place)
    try:
        for entry in file.entries(place):
            _offer(file, entry, chosen, target, outcome)
            if target.is_full:
                target.flush()
                kept.save(file.place())
                shown.move(file.reader.position, file.keys)
        target.flush()
        if chosen.is_everything and file.libraries:
            target.restore_libraries(library_payload(file.libraries))
            outcome.libraries = len(file.libraries)
    finally:
        link.close()
    kept.remove()


def _say_where(place: Place | None) -> None:
    if place is not None:
        print(f"going on behind {place.keys} keys")


def _offer(
    file: FileReader, entry: Entry, chosen: Selection, target: Target, outcome: Outcome
) -> None:
    if entry.kind in (files.OLD_MODULE, files.MODULE):
        outcome.refuse(entry, file.module_of(entry))
    elif not chosen(entry.database, entry.key):
        outcome.unwanted += 1
        file.skip(entry)
    else:
        target.add(entry, file.take(entry, lambda reader: object_payload(reader, entry.kind)))


# from a server


def _judge(entry: Entry, outcome: Outcome) -> None:
    """Count a key that is not taken over yet, or name it."""
    if entry.kind in (files.OLD_MODULE, files.MODULE):
        outcome.refuse(entry, "a value of a module")
    else:
        outcome.took(entry)


def _follow(parsed: argparse.Namespace, outcome: Outcome) -> None:
    chosen = selection.chosen(parsed)
    if not chosen.is_everything or parsed.dry_run or parsed.replace or parsed.skip:
        raise OSError("--live takes everything over: it goes with no other option")
    Live(parsed.source, parsed.target, outcome).run(until_in_step=parsed.until_in_step)


def _from_server(parsed: argparse.Namespace, outcome: Outcome) -> None:
    if not is_address(parsed.target):
        raise OSError(
            f"{os.fspath(parsed.target)}: keys of a server are imported into a server;"
            " for a directory, export a dump first"
        )
    if parsed.live:
        _follow(parsed, outcome)
        return
    chosen = selection.chosen(parsed)
    source, link = Link(parsed.source), Link(parsed.target)
    target = Target(link, _existing(parsed), outcome)
    done = 0
    with bar("importing", server_keys.count(source, chosen), "keys") as shown:
        for found in server_keys.each(source, chosen):
            entry = Entry(found.database, found.key, found.kind, found.expire_ms)
            done += 1
            if parsed.dry_run:
                _judge(entry, outcome)
                shown.move(done, done)
                continue
            target.add(entry, payloads.sealed(found.kind, found.body))
            if target.is_full:
                target.flush()
                shown.move(done, done)
        target.flush()
    functions = server_keys.libraries(source) if chosen.is_everything else b""
    if functions and not parsed.dry_run:
        target.restore_libraries(functions)
    source.close()
    link.close()
