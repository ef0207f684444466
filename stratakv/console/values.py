"""A value, a page of it at a time: no command reads more of a collection than is shown."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stratakv.console.client import Client
from stratakv.console.replies import Word
from stratakv.console.walks import SIZES, escape_glob

PAGE: Final = 100
"""Elements of a page."""
CHUNK: Final = 16 << 10
"""Bytes of a string that are shown at a time."""
WHOLE: Final = 256 << 10
"""The largest string that is shown whole, so that what it means can be told."""


@dataclass(frozen=True, slots=True)
class Place:
    """A key, and where in its value the page begins: a cursor, an index or an id."""

    db: int
    key: bytes
    at: bytes = b""
    match: bytes = b""


@dataclass(slots=True)
class Part:
    """A page of a value. An element is one name (member, index, id) and what stands there."""

    heads: tuple[str, ...]
    elements: Sequence[tuple[bytes, ...]]
    next: bytes = b""
    """Where the next page begins; empty at the end."""
    start: int = 0
    """The index of the first element, where there are indexes."""


async def length(client: Client, place: Place, kind: str) -> int:
    """Elements, or bytes of a string."""
    return int(await client.call(SIZES[kind.encode()], place.key, db=place.db))


async def string(client: Client, place: Place, total: int) -> tuple[int, bytes]:
    """Where the part begins, and its bytes."""
    start = min(_index(place.at), max(0, total - 1))
    end = WHOLE if total <= WHOLE else CHUNK
    return start, await client.call("GETRANGE", place.key, start, start + end - 1, db=place.db)


async def beginning(client: Client, place: Place, size: int) -> bytes:
    """A string's first bytes."""
    found = await client.call("GETRANGE", place.key, 0, size - 1, db=place.db)
    return found if isinstance(found, bytes) else b""


async def part(client: Client, place: Place, kind: str) -> Part:
    """A page of a collection; raises ValueError for a place that is none."""
    return await _READERS[kind](client, place)


async def _hash(client: Client, place: Place) -> Part:
    cursor, found = await _scan(client, "HSCAN", place)
    pairs = list(zip(found[::2], found[1::2], strict=True))
    return Part(("Field", "Value"), pairs, cursor)


async def _set(client: Client, place: Place) -> Part:
    cursor, found = await _scan(client, "SSCAN", place)
    return Part(("Member",), [(member,) for member in found], cursor)


async def _zset(client: Client, place: Place) -> Part:
    if place.match:
        cursor, found = await _scan(client, "ZSCAN", place)
        return Part(("Member", "Score"), list(zip(found[::2], found[1::2], strict=True)), cursor)
    start = _index(place.at)
    found = await client.call("ZRANGE", place.key, start, start + PAGE, "WITHSCORES", db=place.db)
    pairs = list(zip(found[::2], found[1::2], strict=True))
    return Part(("Member", "Score"), pairs[:PAGE], _after(start, pairs), start)


async def _list(client: Client, place: Place) -> Part:
    start = _index(place.at)
    found = await client.call("LRANGE", place.key, start, start + PAGE, db=place.db)
    rows = [(b"%d" % (start + number), one) for number, one in enumerate(found)]
    return Part(("Index", "Element"), rows[:PAGE], _after(start, rows), start)


async def _stream(client: Client, place: Place) -> Part:
    start = place.at or b"-"
    found = await client.call("XRANGE", place.key, start, "+", "COUNT", PAGE + 1, db=place.db)
    rows = [(name, *(pairs or [])) for name, pairs in found]
    return Part(("Id", "Fields"), rows[:PAGE], rows[PAGE][0] if len(rows) > PAGE else b"")


async def _scan(client: Client, command: str, place: Place) -> tuple[bytes, list[bytes]]:
    """Some elements, and the cursor behind them; a pattern is looked for some rounds long."""
    cursor, found = place.at or b"0", []
    _index(cursor)
    pattern: list[Word] = ["MATCH", place.match] if place.match else []
    for _ in range(20):
        cursor, more = await client.call(
            command, place.key, cursor, *pattern, "COUNT", PAGE, db=place.db
        )
        found += more
        if cursor == b"0" or found:
            break
    return b"" if cursor == b"0" else cursor, found


async def element(client: Client, place: Place, kind: str, name: bytes) -> bytes | None:
    """What stands at one name, whole."""
    if kind == "hash":
        found: Any = await client.call("HGET", place.key, name, db=place.db)
    elif kind == "list":
        found = await client.call("LINDEX", place.key, _index(name), db=place.db)
    else:
        found = await client.call("ZSCORE", place.key, name, db=place.db)
    return found if isinstance(found, bytes) else None


def looks_for(text: bytes) -> bytes:
    """A pattern out of what somebody typed: a part of the name, unless it is a pattern already."""
    if not text or any(mark in text for mark in b"*?["):
        return text
    return b"*" + escape_glob(text) + b"*"


def _index(text: bytes) -> int:
    if not text:
        return 0
    if not text.isdigit() or len(text) > 20:
        raise ValueError("a place in a value is a number")
    return int(text)


def _after(start: int, rows: list[Any]) -> bytes:
    return b"%d" % (start + PAGE) if len(rows) > PAGE else b""


_Reader = Callable[[Client, Place], Awaitable[Part]]
_READERS: Final[dict[str, _Reader]] = {
    "hash": _hash,
    "set": _set,
    "zset": _zset,
    "list": _list,
    "stream": _stream,
}
