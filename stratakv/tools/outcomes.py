"""What became of the keys of an import."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from stratakv.encodings.rdb import files, payloads
from stratakv.encodings.rdb.file_reader import Entry
from stratakv.errors import quote

_NAMED: Final = 20

_TYPES: Final = {
    "string": (payloads.STRING,),
    "list": (payloads.LIST, payloads.LIST_ZIPLIST, payloads.LIST_ZIPLISTS, payloads.LIST_NODES),
    "set": (payloads.SET, payloads.SET_INTSET, payloads.SET_LISTPACK),
    "zset": (
        *(payloads.ZSET_TEXT, payloads.ZSET),
        *(payloads.ZSET_ZIPLIST, payloads.ZSET_LISTPACK),
    ),
    "hash": (
        *(payloads.HASH, payloads.HASH_ZIPMAP, payloads.HASH_ZIPLIST, payloads.HASH_LISTPACK),
        *(payloads.HASH_TIMES, payloads.HASH_LISTPACK_TIMES),
    ),
    "stream": payloads.STREAMS,
    "module": (files.OLD_MODULE, files.MODULE),
}
_NAMES: Final = {kind: name for name, kinds in _TYPES.items() for kind in kinds}


class KeyExists(Exception):
    """A key is there already, and nothing was said of what to do with it."""

    def __init__(self, key: bytes) -> None:
        super().__init__(f"key {shown(key)} exists: say --replace or --skip")


class Outcome:
    """Counts, and the names of what was refused."""

    def __init__(self) -> None:
        self.imported: Counter[str] = Counter()
        self.databases: Counter[int] = Counter()
        self.existing = 0
        self.expired = 0
        self.unwanted = 0
        self.libraries = 0
        self.refused = 0
        self._named: list[str] = []

    def took(self, entry: Entry) -> None:
        """A key was imported."""
        self.imported[_NAMES.get(entry.kind, f"type {entry.kind}")] += 1
        self.databases[entry.database] += 1

    def refuse(self, entry: Entry, why: str) -> None:
        """A key cannot be imported."""
        self.refused += 1
        if len(self._named) < _NAMED:
            self._named.append(f"database {entry.database}, key {shown(entry.key)}: {why}")

    def lines(self, verb: str) -> Iterator[str]:
        """All of it, for people."""
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(self.imported.items()))
        total = sum(self.imported.values())
        yield f"{total} keys {verb}" + (f": {kinds}" if kinds else "")
        for database, count in sorted(self.databases.items()):
            yield f"  database {database}: {count} keys"
        for count, what in (
            (self.libraries, f"libraries of functions {verb}"),
            (self.existing, "keys were there already, and stay as they are"),
            (self.expired, "keys have expired"),
            (self.unwanted, "keys were not asked for"),
        ):
            if count:
                yield f"{count} {what}"
        if self.refused:
            yield f"{self.refused} keys cannot be imported:"
            yield from (f"  {line}" for line in self._named)
            if self.refused > len(self._named):
                yield f"  and {self.refused - len(self._named)} more"


def shown(key: bytes) -> str:
    """A key as redis-cli shows it."""
    return quote(key).decode("latin-1")
