"""A dump of Redis, key by key, from chunks as they arrive. See files.py for the format.

    for entry in file.entries():
        file.take(entry, lambda reader: ...)      whatever reads the object, or `file.skip(entry)`

Nothing is taken on trust: what does not fit raises `BadFile`, and so does a wrong CRC in the end,
so whoever loads a dump lets nobody see it before `entries` has ended.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.layout.numbers import parse_int
from stratakv.encodings.rdb import files, payloads, skipping
from stratakv.encodings.rdb.chunk_reader import ChunkReader, CutShort
from stratakv.encodings.rdb.files import BadFile
from stratakv.encodings.rdb.packed import Malformed
from stratakv.encodings.rdb.payloads import Pause

_FIRST_OPCODE: Final = files.SLOT

Value = TypeVar("Value")


class Entry(NamedTuple):
    """A key of a dump, whose object is next."""

    database: int
    key: bytes
    kind: int
    expire_ms: int


class Place(NamedTuple):
    """A place behind a key, from which a dump can be read on."""

    position: int
    crc: int
    version: int
    database: int
    keys: int
    expected: int


class FileReader:
    """The dump that some chunks make up."""

    def __init__(self, chunks: Iterator[bytes], limit: int, pause_if_due: Pause) -> None:
        self.reader = ChunkReader(chunks, limit, pause_if_due)
        self.version = 0
        self.facts: dict[bytes, bytes] = {}
        """What the dump tells of its server (AUX)."""
        self.libraries: list[bytes] = []
        """The code of each library of functions."""
        self.keys = 0
        """Keys read so far."""
        self.expected = 0
        """Keys that were announced so far."""
        self.database = 0
        self._expire_ms = NO_EXPIRY

    def entries(self, place: Place | None = None) -> Iterator[Entry]:
        """Every key, in order; its object has to be taken or skipped before the next is asked.

        With a place, only what comes behind it; the chunks begin there.
        """
        if place is None:
            self.version = self._guarded("no dump of Redis", self._header)
        else:
            self.version, self.database = place.version, place.database
            self.keys, self.expected = place.keys, place.expected
            self.reader.go_on_from(place.position, place.crc)
        while True:
            entry = self._guarded("a section is malformed", self._next)
            if entry is None:
                break
            self.keys += 1
            yield entry
        self._guarded("the end is malformed", self._check_crc)

    def place(self) -> Place:
        """Where to go on later. Requires: the object of the last key was taken."""
        position, crc = self.reader.position, self.reader.crc()
        return Place(position, crc, self.version, self.database, self.keys, self.expected)

    def take(self, entry: Entry, use: Callable[[ChunkReader], Value]) -> Value:
        """Let somebody read the object of an entry, all of it."""
        if entry.kind in (files.OLD_MODULE, files.MODULE):
            raise self._bad(f"key {_shown(entry.key)} is {self.module_of(entry)}, which is unknown")
        return self._guarded(
            f"the value of key {_shown(entry.key)} (type {entry.kind}) is malformed",
            lambda: use(self.reader),
        )

    def skip(self, entry: Entry) -> None:
        """Read past the object of an entry."""
        self.take(entry, lambda reader: skipping.skip_object(reader, entry.kind))

    def module_of(self, entry: Entry) -> str:
        """Whose value this is. Requires: one of a module; its object is read by this."""
        if entry.kind == files.OLD_MODULE:
            raise self._bad(f"key {_shown(entry.key)} is a module's value of before Redis 4.0")

        def name() -> str:
            found = files.module_name(self.reader.length())
            files.skip_module_parts(self.reader)
            return found

        return "a value of the module " + self._guarded("a module's value is malformed", name)

    # sections

    def _header(self) -> int:
        magic, digits = self.reader.take(len(files.MAGIC)), self.reader.take(4)
        version = parse_int(digits.lstrip(b"0")) if digits.isdigit() else None
        if magic != files.MAGIC or version is None:
            raise Malformed
        if not files.OLDEST <= version <= payloads.FIELD_TIMES_VERSION:
            raise self._bad(
                f"RDB version {version} is not known: {files.OLDEST} to "
                f"{payloads.FIELD_TIMES_VERSION} are"
            )
        return version

    def _next(self) -> Entry | None:
        """The next key, after all that comes before it; None at the end."""
        reader = self.reader
        while True:
            kind = reader.byte()
            if kind < _FIRST_OPCODE:
                entry = Entry(self.database, reader.string(), kind, self._expire_ms)
                self._expire_ms = NO_EXPIRY
                return entry
            if kind == files.END:
                return None
            self._section(kind)

    def _section(self, kind: int) -> None:
        reader = self.reader
        if kind == files.EXPIRE_MS:
            self._expire_ms = int.from_bytes(reader.take(8), "little", signed=True)
        elif kind == files.EXPIRE_S:
            self._expire_ms = int.from_bytes(reader.take(4), "little", signed=True) * 1000
        elif kind == files.IDLE:
            reader.length()
        elif kind == files.FREQUENCY:
            reader.byte()
        else:
            self._rare_section(kind)
        if self._expire_ms < NO_EXPIRY:
            raise Malformed

    def _rare_section(self, kind: int) -> None:
        reader = self.reader
        if kind == files.SELECT:
            self.database = reader.length()
        elif kind == files.SIZES:
            self.expected += reader.length()
            reader.length()
        elif kind == files.AUX:
            name = reader.string()
            self.facts[name] = reader.string()
        elif kind == files.LIBRARY:
            self.libraries.append(reader.string())
        elif kind == files.SLOT:
            skipping.skip_lengths(reader, 3)
        elif kind == files.MODULE_FACTS:
            reader.length()
            files.skip_module_parts(reader)
        else:
            raise self._bad("functions of a preview of Redis 7.0 are not known")

    def _check_crc(self) -> None:
        crc = self.reader.crc()
        stored = int.from_bytes(self.reader.take(files.CRC_BYTES), "little")
        if stored and stored != crc:
            raise self._bad("the CRC is wrong: the dump is damaged")

    # what goes wrong

    def _guarded(self, what: str, action: Callable[[], Value]) -> Value:
        """Do something; whatever is malformed is told with its place."""
        try:
            return action()
        except CutShort:
            raise self._bad("the dump ends before it is complete") from None
        except Malformed:
            raise self._bad(what) from None

    def _bad(self, why: str) -> BadFile:
        return BadFile(why, self.reader.position)


def _shown(key: bytes) -> str:
    return repr(key)[1:]
