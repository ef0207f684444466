"""What a command that misses a row will miss next, told by what it was asked for.

A row that is far away costs a round trip. A command finds out one after the other what it needs:
so with the first row that is missing, all are asked for that can be told ahead. Too many cost
little, too few a round trip each.

1. Metas: of all keys that the command names, or those of the transaction, and the requests that
   wait behind it.
2. Members: of the keys whose metas are at hand, all that those requests name; a line of Redis
   syntax says where they stand.
3. Who walks over a range, or over members that are known, and looks each up in another key, looks
   up the following ones too.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout.formats import HASH_TIMED
from stratakv.encodings.layout.metas import HASH, SET, ZSET, Meta
from stratakv.encodings.layout.rows import SUB, SUB_PREFIXES, meta_row, path_of
from stratakv.errors import CommandError
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import TABLE, Command
from stratakv.proxy.wire.requests import Request
from stratakv.storage.missing import Answers
from stratakv.storage.row_cache import UNKNOWN

MOST_REQUESTS: Final = 100
MOST_ROWS: Final = 1000
LONGEST_NAME: Final = 512
"""Longer ones are asked for when they are missed: some are not what they are taken for."""

_WORDS: Final = ("member", "field")
_REPEATED: Final = re.compile(r"\[([^\[\]]+) \.\.\.\]*$")
_WITH_MEMBERS: Final = frozenset((HASH, SET, ZSET))


class Places:
    """Where a command's requests name members: the first, and each `step` further; 0 for none."""

    __slots__ = ("first", "from_end", "step", "stop")

    def __init__(self, syntax: str) -> None:
        words = syntax.split(" [")[0].split(" <")[0].split()
        named = [at for at, word in enumerate(words) if word.startswith(_WORDS)]
        self.first, self.stop = (named[0], named[-1] + 1) if named else (0, 0)
        self.step = 1 if named else 0
        self.from_end = 0
        repeated = _REPEATED.search(syntax)
        group = repeated[1].split() if repeated else []
        if inner := [at for at, word in enumerate(group) if word in _WORDS]:
            self.step = len(group)
            self.from_end = len(group) - inner[0]

    def of(self, request: Sequence[bytes]) -> Sequence[bytes]:
        """The members that a request names; with options before them, maybe some words more."""
        if self.from_end:
            return request[len(request) - self.from_end : 1 : -self.step][::-1]
        return request[self.first : self.stop]


_places: dict[str, Places] = {}


def places_of(entry: Command) -> Places:
    """Where the members stand in its requests."""
    found = _places.get(entry.name)
    if found is None:
        found = _places[entry.name] = Places(entry.syntax)
    return found


def foreseen(
    session: Session, entry: Command, request: Request, answers: Answers, missed: Sequence[bytes]
) -> list[bytes]:
    """Rows that are probably needed next by who misses these."""
    rows = _named(session, entry, request)
    if missed and missed[0][:2] in SUB_PREFIXES:
        rows += islice(_beside(session, entry, request, answers, missed[0]), MOST_ROWS)
    return rows


def expected(session: Session, entry: Command, request: Request) -> list[bytes]:
    """All rows that a command reads of what it names, as far as that can be told."""
    txn = session.txn
    rows: list[bytes] = []
    for one, words in _own(session, entry, request):
        places = places_of(one)
        for key in one.find_keys(words):
            rows.append(meta_row(txn.db.ns, key))
            meta = txn.db.cache.get(key)
            if meta is not None and places.step and meta.type in _WITH_MEMBERS:
                rows += [meta.sub + name for name in places.of(words)]
    return rows


def _named(session: Session, entry: Command, request: Request) -> list[bytes]:
    txn = session.txn
    rows: list[bytes] = []
    for one, words in _ahead(session, entry, request):
        places = places_of(one)
        for key in one.find_keys(words):
            meta = _meta_at_hand(txn, key)
            if meta is None:
                rows.append(meta_row(txn.db.ns, key))
            elif places.step and meta.type in _WITH_MEMBERS and meta.members is None:
                names = [name for name in places.of(words) if len(name) <= LONGEST_NAME]
                rows += [meta.sub + name for name in names]
                if meta.type == HASH and HASH_TIMED[meta.encoding]:
                    rows += [meta.index + name for name in names]
        if len(rows) >= MOST_ROWS:
            return rows[:MOST_ROWS]
    return rows


def _meta_at_hand(txn: Txn, key: bytes) -> Meta | None:
    """The meta of a key, if nothing has to be fetched for it."""
    meta = txn.db.cache.get(key)
    if meta is None and txn.store.peek(meta_row(txn.db.ns, key)) is not UNKNOWN:
        with suppress(CommandError):  # one that is damaged is reported to whoever uses it
            meta = txn.db.load(txn.store, key)
    return meta


def _ahead(session: Session, entry: Command, request: Request) -> Iterator[tuple[Command, Request]]:
    """The command, those of its transaction, and those that wait behind it."""
    yield from islice(_own(session, entry, request), MOST_ROWS)
    for words in islice(session.backlog, MOST_REQUESTS):
        found = TABLE.get(words[0].lower()) if words else None
        if found is not None and found.min_args <= len(words) <= found.max_args:
            yield found, words


def _own(session: Session, entry: Command, request: Request) -> Iterator[tuple[Command, Request]]:
    """The command, and those of its transaction."""
    yield entry, request
    if session.transaction is not None and "unit" in entry.traits:
        yield from session.transaction.queue


def _beside(
    session: Session, entry: Command, request: Request, answers: Answers, missed: bytes
) -> Iterator[bytes]:
    """The members that follow the missed one where the command has it from, of the same key."""
    database = session.txn.db
    path = path_of(missed, len(database.ns))
    own = missed[:2] + path
    member = missed[len(own) :]
    for span in answers.spans:
        start = span.wanted.start
        if start[:2] != SUB or start.startswith(path, 2):
            continue
        source = SUB + path_of(start, len(database.ns))
        names = span.names
        at = bisect_left(names, source + member)
        if at < len(names) and names[at] == source + member:
            yield from (own + name[len(source) :] for name in names[at:] if name.startswith(source))
    for key in entry.find_keys(request):
        meta = database.cache.get(key)
        if meta is not None and meta.members is not None and member in meta.members:
            for name in meta.members:
                yield own + name
