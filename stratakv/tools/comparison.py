"""Two servers key by key: type, expire-time, and what the key holds, a large one in pages.

Each question is asked of both in the same words, so what differs in the answers differs in the key.
Members of large hashes and sets come in the first server's order and are looked up in the second.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from stratakv.tools.links import Failure, Link, Word

PAGE: Final = 1000
PAGE_BYTES: Final = 1 << 20
SMALL: Final = 200
"""Collections up to this size are asked for with many others at once."""
SMALL_BYTES: Final = 4096
TTL_SLACK_MS: Final = 2000
"""By which remaining times may differ that were asked one after the other."""

_OF_GROUPS: Final = (b"name", b"consumers", b"pending", b"last-delivered-id")
"""Not how many entries were read: Redis before 7.0 does not count them, and no Redis tells its
replicas when a consumer reads."""

Command = tuple[Word, ...]

_SIZES: Final = {
    b"string": "STRLEN",
    b"list": "LLEN",
    b"set": "SCARD",
    b"zset": "ZCARD",
    b"hash": "HLEN",
    b"stream": "XLEN",
}


class Pair:
    """The two servers, in the same database."""

    def __init__(self, first: Link, second: Link) -> None:
        self.first = first
        self.second = second

    def select(self, database: int) -> None:
        """Look at another database."""
        self.first.call("SELECT", database)
        self.second.call("SELECT", database)

    def ask(self, commands: Sequence[Command]) -> list[tuple[Any, Any]]:
        """What both answer."""
        replies = self.first.pipeline(commands), self.second.pipeline(commands)
        return list(zip(*replies, strict=True))

    def differing(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """How keys differ, of those that do."""
        found: dict[bytes, str] = {}
        same: list[tuple[bytes, bytes]] = []
        questions = [words for key in keys for words in (("TYPE", key), ("PTTL", key))]
        answers = self.ask(questions)
        for key, types, times in zip(keys, answers[::2], answers[1::2], strict=True):
            if types[0] != types[1]:
                found[key] = f"{_said(types[0])} here, {_said(types[1])} there"
            elif types[0] != b"none":
                if not _is_same_time(*times):
                    found[key] = f"expires in {times[0]} ms here, {times[1]} ms there"
                else:
                    same.append((key, types[0]))
        return found | self._differing_values(same)

    def _differing_values(self, keys: list[tuple[bytes, bytes]]) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        known = [(key, kind) for key, kind in keys if kind in _SIZES]
        found |= {key: f"of the unknown type {_said(kind)}" for key, kind in keys
                  if kind not in _SIZES}  # fmt: skip
        sizes = self.ask([(_SIZES[kind], key) for key, kind in known])
        small: list[tuple[bytes, bytes]] = []
        for (key, kind), (here, there) in zip(known, sizes, strict=True):
            limit = SMALL_BYTES if kind == b"string" else SMALL
            if here != there:
                found[key] = f"{_said(kind)} of {_said(here)} here, {_said(there)} there"
            elif here <= limit and kind in _WHOLE:
                small.append((key, kind))
            elif not self._is_same_large(key, kind, here):
                found[key] = f"{_said(kind)} of {here} with other contents"
        return found | self._differing_small(small)

    def _differing_small(self, keys: list[tuple[bytes, bytes]]) -> dict[bytes, str]:
        answers = self.ask([_WHOLE[kind](key) for key, kind in keys])
        return {
            key: f"{_said(kind)} with other contents"
            for (key, kind), (here, there) in zip(keys, answers, strict=True)
            if comparable(kind, here) != comparable(kind, there)
        }

    # large ones

    def _is_same_large(self, key: bytes, kind: bytes, size: int) -> bool:
        if kind == b"hash":
            return self._has_same_members(key, "HSCAN", _fields)
        if kind == b"set":
            return self._has_same_members(key, "SSCAN", _members)
        if kind == b"stream":
            return self._is_same_stream(key)
        page = PAGE_BYTES if kind == b"string" else PAGE
        for start in range(0, size, page):
            ((here, there),) = self.ask([_PAGES[kind](key, start, start + page - 1)])
            if comparable(kind, here) != comparable(kind, there):
                return False
        return True

    def _has_same_members(self, key: bytes, scan: str, question: "Question") -> bool:
        """Whether the second has all that the first has. Requires: both have as many."""
        cursor: bytes = b"0"
        while True:
            cursor, found = self.first.call(scan, key, cursor, "COUNT", PAGE)
            command, expected = question(key, found)
            if found and self.second.call(*command) != expected:
                return False
            if cursor == b"0":
                return True

    def _is_same_stream(self, key: bytes) -> bool:
        start = "-"
        while True:
            ((here, there),) = self.ask([("XRANGE", key, start, "+", "COUNT", PAGE)])
            if here != there:
                return False
            if len(here) < PAGE:
                break
            start = f"({here[-1][0].decode()}"
        ((here, there),) = self.ask([("XINFO", "GROUPS", key)])
        if isinstance(here, Failure) or isinstance(there, Failure):
            return False
        groups = _groups(here)
        if groups != _groups(there):
            return False
        names = [group[0] for group in groups]
        return all(here == there for here, there in self.ask([("XPENDING", key, n) for n in names]))


Question = Callable[[bytes, list[bytes]], tuple[Command, list[Any]]]


def _fields(key: bytes, found: list[bytes]) -> tuple[Command, list[Any]]:
    return ("HMGET", key, *found[::2]), found[1::2]


def _members(key: bytes, found: list[bytes]) -> tuple[Command, list[Any]]:
    return ("SMISMEMBER", key, *found), [1] * len(found)


_WHOLE: Final[dict[bytes, Callable[[bytes], Command]]] = {
    b"string": lambda key: ("GET", key),
    b"list": lambda key: ("LRANGE", key, 0, -1),
    b"set": lambda key: ("SMEMBERS", key),
    b"zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
    b"hash": lambda key: ("HGETALL", key),
}
_PAGES: Final[dict[bytes, Callable[[bytes, int, int], Command]]] = {
    b"string": lambda key, start, stop: ("GETRANGE", key, start, stop),
    b"list": lambda key, start, stop: ("LRANGE", key, start, stop),
    b"zset": lambda key, start, stop: ("ZRANGE", key, start, stop, "WITHSCORES"),
}


def comparable(kind: bytes, reply: Any) -> Any:
    """A reply with nothing in it that may differ for the same contents.

    Members come in any order, and a score in one spelling or another: 0.1 is 0.10000000000000001
    to a Redis before 7.2.
    """
    if isinstance(reply, Failure):
        return str(reply)
    if kind == b"set":
        return sorted(reply)
    if kind == b"hash":
        return sorted(zip(reply[::2], reply[1::2], strict=True))
    if kind == b"zset":
        return sorted(zip(reply[::2], map(float, reply[1::2]), strict=True))
    return reply


def _groups(reply: list[list[Any]]) -> list[tuple[Any, ...]]:
    """What is told of the groups of a stream; the name first."""
    found = [dict(zip(group[::2], group[1::2], strict=True)) for group in reply]
    return [tuple(group[name] for name in _OF_GROUPS) for group in found]


def _is_same_time(here: Any, there: Any) -> bool:
    if not (isinstance(here, int) and isinstance(there, int)):
        return False
    return here == there or (min(here, there) >= 0 and abs(here - there) <= TTL_SLACK_MS)


def _said(reply: Any) -> str:
    return reply.decode("latin-1") if isinstance(reply, bytes) else str(reply)
