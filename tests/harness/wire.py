"""A raw RESP client for tests: every reply as its exact bytes and as a typed frame.

A frame keeps the type byte of the protocol, so that `+1`, `:1`, `$1\\r\\n1` and `,1` stay four
different things, and so do the three nulls (`$-1`, `*-1`, `_`).
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, Self

from tests.harness.waiting import HANG_S

Arg = bytes | str | int | float

KINDS = {
    "+": "status",
    "-": "error",
    ":": "integer",
    "$": "bulk",
    "*": "array",
    "_": "null",
    ",": "double",
    "#": "boolean",
    "(": "big number",
    "!": "bulk error",
    "=": "verbatim",
    "%": "map",
    "~": "set",
    ">": "push",
}
_LINES = "+-:_,#("
_BLOBS = "$!="
_AGGREGATES = "*~>%"


class Frame(NamedTuple):
    """One RESP value. `data` is None in aggregates and nulls, `items` is None in all but non-null
    aggregates.

    A map's items are its keys and values in turn, as on the wire.
    """

    kind: str
    data: bytes | None
    items: tuple[Frame, ...] | None

    @property
    def is_error(self) -> bool:
        return self.kind in "-!"

    @property
    def is_null(self) -> bool:
        return self.kind == "_" or (self.data is None and self.items is None)

    @property
    def elements(self) -> tuple[Frame, ...]:
        """The items of an aggregate; none for a null, as for an empty one."""
        return self.items or ()

    @property
    def number(self) -> int | None:
        """The value of an integer frame, None for every other kind."""
        return int(self.data) if self.kind == ":" and self.data is not None else None

    def pairs(self) -> list[tuple[Frame, Frame]]:
        """Items two by two: a map, or the flat array that RESP2 sends instead."""
        items = self.items or ()
        return list(zip(items[::2], items[1::2], strict=True))

    def blobs(self) -> list[bytes]:
        """The data of the items, for a flat aggregate of strings."""
        return [item.data or b"" for item in self.items or ()]

    def __str__(self) -> str:
        name = KINDS[self.kind]
        if self.is_null:
            return "null" if self.kind == "_" else f"null {name}"
        if self.items is not None:
            return f"{name} [{', '.join(map(str, self.items))}]"
        return f"{name} {quoted(self.data or b'')}"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as it came (`raw`) and as it reads (`frame`)."""

    raw: bytes
    frame: Frame

    def __str__(self) -> str:
        return str(self.frame)


def quoted(arg: bytes) -> str:
    """The argument as redis-cli reads it: bare when that is safe, else in double quotes with \\x
    escapes.
    """
    text = "".join(_escaped(byte) for byte in arg)
    bare = arg and text.isascii() and all(c.isalnum() or c in "-+_.:,#*/()[]<>=%@" for c in text)
    return text if bare else f'"{text}"'


def _escaped(byte: int) -> str:
    char = chr(byte)
    if char in '"\\':
        return "\\" + char
    return char if 32 <= byte < 127 else f"\\x{byte:02x}"


def encode(*args: Arg) -> bytes:
    """A request: an array of bulk strings."""
    parts = [arg if isinstance(arg, bytes) else str(arg).encode() for arg in args]
    body = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
    return b"*%d\r\n%b" % (len(parts), body)


@dataclass(slots=True)
class WireClient:
    """One connection. Push frames met while a reply is awaited are kept in `pushes`."""

    port: int
    protocol: int = 2
    host: str = "127.0.0.1"
    timeout_s: float = HANG_S
    pushes: list[Reply] = field(default_factory=list)
    _sock: socket.socket = field(init=False)
    _file: BinaryIO = field(init=False)

    def __post_init__(self) -> None:
        self._sock = socket.create_connection((self.host, self.port), timeout=self.timeout_s)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._sock.makefile("rb")
        if self.protocol != 2:
            greeting = self.send("HELLO", self.protocol)
            assert not greeting.frame.is_error, f"HELLO {self.protocol}: {greeting}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def socket(self) -> socket.socket:
        """The connection itself, for what goes wrong on it."""
        return self._sock

    def close(self) -> None:
        self._file.close()
        self._sock.close()

    def send(self, *args: Arg) -> Reply:
        """Send one command and wait for its reply."""
        self.write(encode(*args))
        return self.read()

    def send_raw(self, data: bytes, replies: int = 1) -> list[Reply]:
        """Send bytes as they are and wait for that many replies."""
        self.write(data)
        return [self.read() for _ in range(replies)]

    def pipeline(self, commands: Iterable[Iterable[Arg]]) -> list[Reply]:
        """Send all commands in one write, then read all replies."""
        requests = [encode(*command) for command in commands]
        return self.send_raw(b"".join(requests), len(requests))

    def settle(self) -> None:
        """When this returns, what other clients of this process wrote before has been read.

        A server reads every socket that has something before it looks again: the second reply
        comes of a look that began when all of it was there.
        """
        for _ in range(2):
            self.send("PING")

    def write(self, data: bytes) -> None:
        self._sock.sendall(data)

    def read(self) -> Reply:
        """The next reply that is not a push."""
        while (reply := self.read_any()).frame.kind == ">":
            self.pushes.append(reply)
        return reply

    def read_any(self) -> Reply:
        """The next frame, a push included. Raises ConnectionError when the server closed the
        connection.
        """
        raw = bytearray()
        frame = self._frame(raw)
        return Reply(bytes(raw), frame)

    def read_to_end(self) -> bytes:
        """Everything until the server closes the connection."""
        return self._file.read()

    def _frame(self, raw: bytearray) -> Frame:
        line = self._take_line(raw)
        kind, rest = chr(line[0]), line[1:]
        if kind in _LINES:
            return Frame(kind, None if kind == "_" else rest, None)
        if kind in _BLOBS:
            return Frame(kind, self._blob(raw, int(rest)), None)
        if kind in _AGGREGATES:
            return Frame(kind, None, self._items(raw, kind, int(rest)))
        raise ValueError(f"not a RESP frame: {line!r} after {bytes(raw)!r}")

    def _blob(self, raw: bytearray, size: int) -> bytes | None:
        if size < 0:
            return None
        data = self._take(raw, size)
        end = self._take(raw, 2)
        if end != b"\r\n":
            raise ValueError(f"a blob of {size} bytes ends in {end!r}: {bytes(raw)!r}")
        return data

    def _items(self, raw: bytearray, kind: str, size: int) -> tuple[Frame, ...] | None:
        if size < 0:
            return None
        return tuple(self._frame(raw) for _ in range(size * 2 if kind == "%" else size))

    def _take_line(self, raw: bytearray) -> bytes:
        line: bytes = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError(f"connection closed after {bytes(raw) + line!r}")
        raw += line
        return line[:-2]

    def _take(self, raw: bytearray, size: int) -> bytes:
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise ConnectionError(f"connection closed after {bytes(raw[:200]) + data[:200]!r}")
        raw += data
        return data


def frames(replies: Iterable[Reply]) -> Iterator[Frame]:
    return (reply.frame for reply in replies)
