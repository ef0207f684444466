"""`stratakv import --live`: copy a server, then follow it until the clients have moved.

How far the copy is stands in the target itself, under a key of its own, and is written in the same
transaction as the commands it counts: whoever goes on has every command once.

    stratakv:import  ->  "copying"                    the copy is not complete
                         id | " " | offset | " " | database     all before that is done
"""

import time
from contextlib import closing
from typing import Final, NamedTuple

from stratakv.encodings.rdb import files
from stratakv.encodings.rdb.file_reader import Entry, FileReader
from stratakv.tools.into_server import Target
from stratakv.tools.links import Failure, Link, LinkError, Word, encode, sizes
from stratakv.tools.outcomes import Outcome
from stratakv.tools.payload_copies import library_payload, object_payload
from stratakv.tools.places import LIVE_KEY as KEY
from stratakv.tools.progress import Bar, bar
from stratakv.tools.replica_link import ReplicaLink

COPYING: Final = b"copying"
LOOK_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0
LONGEST_STRING: Final = 512 << 20
_SILENT: Final = (b"PING", b"REPLCONF", b"MULTI", b"EXEC")
"""Words of the stream that change nothing by themselves."""


class Position(NamedTuple):
    """How much of the source is done, and which database its next command is for."""

    id: str
    offset: int
    database: int


class Live:
    """One source, one target, and how far they are apart."""

    def __init__(self, source: str, target: str, outcome: Outcome) -> None:
        self._source = source
        self._target = Link(target)
        self._outcome = outcome
        self._position: Position | None = None
        self._applied = 0

    def run(self, *, until_in_step: bool) -> None:
        """Copy, follow, and follow again after the connection was lost; until it is interrupted."""
        self._load_position()
        while True:
            try:
                self._follow(until_in_step=until_in_step)
                return
            except LinkError as error:
                if str(self._target) in str(error) or self._position is None:
                    raise
                print(f"{error}; trying again")
                time.sleep(RETRY_SECONDS)

    def _load_position(self) -> None:
        """Go on where it was; a target that is not empty, and not ours, is left alone."""
        self._target.call("SELECT", 0)
        kept = self._target.call("GET", KEY)
        if kept is None:
            if sizes(self._target):
                raise LinkError(f"{self._target} is not empty, and no copy that was begun here")
            self._target.call("SET", KEY, COPYING)
        elif kept != COPYING:
            name, offset, database = kept.decode().split()
            self._position = Position(name, int(offset), int(database))

    def _follow(self, *, until_in_step: bool) -> None:
        known = self._position
        with closing(ReplicaLink(self._source)) as link:
            if link.follow(known.id if known else "", known.offset if known else 0):
                self._copy(link)
            else:
                assert known is not None
                self._position = known._replace(id=link.id)
                print(f"going on behind offset {known.offset}")
            self._apply_until(link, until_in_step=until_in_step)

    # the copy

    def _copy(self, link: ReplicaLink) -> None:
        """Take the dump over, in place of what an earlier try has left."""
        self._target.call("FLUSHALL")
        self._target.call("SET", KEY, COPYING)
        self._position = None
        target = Target(self._target, "replace", self._outcome)
        file = FileReader(link.dump(), LONGEST_STRING, _no_pause)
        with bar("copying", self._keys_there(), "keys") as shown:
            for entry in file.entries():
                self._offer(file, entry, target)
                if target.is_full:
                    target.flush()
                    shown.move(file.keys, file.keys)
            target.flush()
        if file.libraries:
            target.restore_libraries(library_payload(file.libraries))
        link.begin_stream(file.reader.rest())
        database = int(file.facts.get(b"repl-stream-db", b"0"))
        self._position = Position(link.id, link.offset, database)
        self._target.call("SELECT", 0)
        self._target.call("SET", KEY, _shown(self._position))
        print(f"copied {file.keys} keys; following")

    def _keys_there(self) -> int:
        """How many keys the source has, about."""
        with closing(Link(self._source)) as link:
            return sum(sizes(link).values())

    def _offer(self, file: FileReader, entry: Entry, target: Target) -> None:
        if entry.kind in (files.OLD_MODULE, files.MODULE):
            self._outcome.refuse(entry, file.module_of(entry))
            return
        target.add(entry, file.take(entry, lambda reader: object_payload(reader, entry.kind)))

    # the commands

    def _apply_until(self, link: ReplicaLink, *, until_in_step: bool) -> None:
        """Do what the source does; tells when nothing is left to do."""
        told = -1
        """How much was done when it was in step, and that was said."""
        looked = 0.0
        with bar("following", None, "commands") as shown:
            while True:
                commands = link.commands(LOOK_SECONDS)
                while not _is_complete(commands):
                    commands += link.commands(LOOK_SECONDS)
                self._apply(commands, shown)
                if time.monotonic() - looked < LOOK_SECONDS:
                    continue
                looked = time.monotonic()
                assert self._position is not None
                link.acknowledge(self._position.offset)
                if self._lag() > 0:
                    continue
                # a source that is written to all the time is told of once, then when it is silent
                if told < 0 or (not commands and told != self._applied):
                    told = self._applied
                    self._tell()
                if until_in_step:
                    return

    def _lag(self) -> int:
        """How many bytes of commands the source has that are not done."""
        assert self._position is not None
        with closing(Link(self._source)) as link:
            for line in link.call("INFO", "replication").decode().splitlines():
                if line.startswith("master_repl_offset:"):
                    return int(line.partition(":")[2]) - self._position.offset
        return 0

    def _tell(self) -> None:
        assert self._position is not None
        print(f"in step at offset {self._position.offset}: nothing is left to do", flush=True)

    def _apply(self, commands: list[list[bytes]], shown: Bar) -> None:
        if not commands:
            return
        assert self._position is not None
        name, offset, database = self._position
        unit: list[tuple[Word, ...]] = [("SELECT", database)]
        for words in commands:
            offset += len(encode(words))
            head = words[0].upper()
            if head == b"SELECT":
                database = int(words[1])
            if head not in _SILENT:
                unit.append(tuple(words))
                self._applied += 1
            if head == b"SWAPDB":  # the place of this import is no part of what was exchanged
                for number in words[1:3]:
                    unit += [("SELECT", number), ("DEL", KEY)]
                unit.append(("SELECT", database))
        position = Position(name, offset, database)
        self._commit([*unit, ("SELECT", 0), ("SET", KEY, _shown(position))])
        self._position = position
        shown.move(self._applied, self._applied)

    def _commit(self, unit: list[tuple[Word, ...]]) -> None:
        """Do some commands at once, with how far that is."""
        replies = self._target.pipeline([("MULTI",), *unit, ("EXEC",)])
        done = replies[-1]
        answers = replies[1:-1] if isinstance(done, Failure) else done
        for words, reply in zip(unit, answers, strict=True):
            if isinstance(reply, Failure):
                raise LinkError(f"{self._target}: {words[0]!r}: {reply}")
        if isinstance(done, Failure):
            raise LinkError(f"{self._target}: EXEC: {done}")


def _is_complete(commands: list[list[bytes]]) -> bool:
    """Whether every MULTI has its EXEC: a transaction is not done by halves."""
    for words in reversed(commands):
        head = words[0].upper()
        if head == b"EXEC":
            return True
        if head == b"MULTI":
            return False
    return True


def _shown(position: Position) -> bytes:
    return f"{position.id} {position.offset} {position.database}".encode()


def _no_pause() -> None:
    """Nobody waits."""
