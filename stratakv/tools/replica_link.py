"""A server followed as its replicas follow it: a dump, then every command that changes something.

    PSYNC id offset   ->  +FULLRESYNC id offset, then the dump as $length or $EOF:mark
                      or  +CONTINUE [id], and the commands from that offset on

An offset counts the bytes of the commands; each is an array of bulk strings, so that its size is
known from its words.
"""

import select
import ssl
from collections.abc import Iterator
from typing import Final

import hiredis

from stratakv.tools.links import Link, LinkError, encode

_AT_ONCE: Final = 500


class ReplicaLink(Link):
    """A connection on which a server sends what its replicas get."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._buffer = b""
        self._mark = b""
        self._stream = hiredis.Reader(notEnoughData=...)
        self.id = ""
        self.offset = 0
        """How much of the commands was read."""

    def follow(self, replication_id: str, offset: int) -> bool:
        """Go on behind an offset, if the server can; says whether a dump comes first."""
        self.call("REPLCONF", "capa", "eof", "capa", "psync2")
        place = ("?", "-1") if not replication_id else (replication_id, str(offset + 1))
        words = self._answer_to(place)
        if words[:1] == ["+CONTINUE"]:
            self.id = words[1] if len(words) > 1 else replication_id
            self.offset = offset
            self._end_of_lines()
            return False
        self._begin_dump(words)
        return True

    def ask_for_dump(self) -> None:
        """A dump, and no commands behind it if the server knows that wish."""
        self.call("REPLCONF", "capa", "eof")
        self.pipeline([("REPLCONF", "rdb-only", "1")])
        self._begin_dump(self._answer_to(("?", "-1")))

    def _answer_to(self, place: tuple[str, str]) -> list[str]:
        self.send(encode(("PSYNC", *place)))
        return self._line().decode("latin-1").split()

    def _begin_dump(self, words: list[str]) -> None:
        """What a server has said to PSYNC is the beginning of a dump, or an error."""
        if words[:1] != ["+FULLRESYNC"]:
            raise LinkError(f"{self}: PSYNC: {' '.join(words).lstrip('-')}")
        self.id, self.offset = words[1], int(words[2])
        size = self._line()
        if size.startswith(b"$EOF:"):
            self._mark = size[5:]
        elif not size.startswith(b"$"):
            raise LinkError(f"{self}: no dump came: {size.decode('latin-1').lstrip('-')}")

    def dump(self) -> Iterator[bytes]:
        """What comes next, the dump first; it is known by itself where that ends."""
        if self._buffer:
            yield self._buffer
            self._buffer = b""
        while True:
            yield self.receive()

    def begin_stream(self, rest: bytes) -> None:
        """The dump has ended, and something came behind it: the mark, if there is one, and more."""
        self._buffer = rest
        while len(self._buffer) < len(self._mark):
            self._buffer += self.receive()
        if not self._buffer.startswith(self._mark):
            raise LinkError(f"{self}: the dump ends without its mark")
        self._buffer = self._buffer[len(self._mark) :]
        self._end_of_lines()

    def _end_of_lines(self) -> None:
        self._stream.feed(self._buffer)
        self._buffer = b""

    def commands(self, seconds: float) -> list[list[bytes]]:
        """Commands that have come, some at a time; none if none comes for so long."""
        found = self._whole()
        if not found and self._has_come(seconds):
            self._stream.feed(self.receive())
            found = self._whole()
        return found

    def _has_come(self, seconds: float) -> bool:
        """Whether there is something to receive, within so many seconds."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], seconds)[0])

    def _whole(self) -> list[list[bytes]]:
        found: list[list[bytes]] = []
        while len(found) < _AT_ONCE and (words := self._stream.gets()) is not ...:
            if not isinstance(words, list):
                raise LinkError(f"{self}: what came is no command")
            found.append(words)
        return found

    def acknowledge(self, offset: int) -> None:
        """Tell the server how far its commands are done."""
        self.send(encode(("REPLCONF", "ACK", offset)))

    def _line(self) -> bytes:
        """The next line that is not empty: a server that is busy sends empty ones."""
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if not end:
                self._buffer += self.receive()
                continue
            self._buffer = rest
            if line.strip():
                return line.strip()
