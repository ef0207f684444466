"""The keys of a running server, as a dump has them: by SCAN and DUMP, which every server knows.

It is not the state of one moment: what is written meanwhile may be in it or not.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from stratakv.encodings.layout.metas import NO_EXPIRY
from stratakv.encodings.rdb.payloads import FOOTER_BYTES
from stratakv.tools.links import Failure, Link, LinkError, scan, sizes
from stratakv.tools.selection import Selection

KEYS_AT_ONCE: Final = 200


class ServerKey(NamedTuple):
    """A key with its payload, as DUMP gives it."""

    database: int
    key: bytes
    expire_ms: int
    payload: bytes

    @property
    def kind(self) -> int:
        """The type, as in a dump."""
        return self.payload[0]

    @property
    def version(self) -> int:
        """The RDB version of its server."""
        return int.from_bytes(self.payload[-FOOTER_BYTES:][:2], "little")

    @property
    def body(self) -> bytes:
        """The object, as in a dump."""
        return self.payload[1:-FOOTER_BYTES]


def count(link: Link, selection: Selection) -> int:
    """How many keys there are, about."""
    found = sizes(link)
    return sum(found.values()) if selection.database is None else found.get(selection.database, 0)


def each(link: Link, selection: Selection) -> Iterator[ServerKey]:
    """Every key that is meant."""
    for database in sizes(link):
        if selection.database not in (None, database):
            continue
        link.call("SELECT", database)
        for keys in scan(link, selection.pattern, KEYS_AT_ONCE):
            yield from _dumped(link, database, keys)


def _dumped(link: Link, database: int, keys: list[bytes]) -> Iterator[ServerKey]:
    now_s, micros = link.call("TIME")
    now_ms = int(now_s) * 1000 + int(micros) // 1000
    commands = [words for key in keys for words in (("PTTL", key), ("DUMP", key))]
    replies = link.pipeline(commands)
    for key, ttl, payload in zip(keys, replies[::2], replies[1::2], strict=True):
        if isinstance(payload, Failure):
            raise LinkError(f"{link}: DUMP: {payload}")
        if payload is not None and ttl != -2:
            yield ServerKey(database, key, NO_EXPIRY if ttl < 0 else now_ms + ttl, payload)


def libraries(link: Link) -> bytes:
    """The functions as a payload of FUNCTION DUMP; nothing where there are none."""
    (found,) = link.pipeline([("FUNCTION", "DUMP")])
    dumped: Any = found
    if isinstance(dumped, Failure) or len(dumped) <= FOOTER_BYTES:
        return b""
    payload: bytes = dumped
    return payload
