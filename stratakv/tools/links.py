"""A connection to a Redis or a StrataKV that waits for its replies: for tools alone."""

import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import hiredis

from stratakv.storage.cache.address import parse_address

CONNECT_SECONDS: Final = 10.0
RECEIVED_AT_ONCE: Final = 1 << 16

Word = bytes | str | int
Failure = hiredis.ReplyError
"""A reply that is an error; its text is the server's."""


class LinkError(OSError):
    """A server cannot be spoken to, or refuses; the text names it."""


class Link:
    """One connection, to the database of its address at first."""

    def __init__(self, url: str) -> None:
        try:
            self.address = parse_address(url)
        except ValueError:
            raise LinkError("an address has the form redis://host:port/database") from None
        self._socket = self._connect()
        self._reader = hiredis.Reader(notEnoughData=...)
        self._greet()

    def __str__(self) -> str:
        return str(self.address)

    def _connect(self) -> socket.socket:
        place = self.address
        try:
            if place.path:
                made = socket.socket(socket.AF_UNIX)
                made.settimeout(CONNECT_SECONDS)
                made.connect(place.path)
            else:
                made = socket.create_connection((place.host, place.port), CONNECT_SECONDS)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            context = place.tls_context()
            if context is not None:
                made = context.wrap_socket(made, server_hostname=place.host)
        except OSError as error:
            raise LinkError(f"{place}: {error.strerror or error}") from None
        made.settimeout(None)
        return made

    def _greet(self) -> None:
        if self.address.password:
            names = [self.address.user] if self.address.user else []
            self.call("AUTH", *names, self.address.password)
        self.call("SELECT", self.address.database)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def call(self, *words: Word) -> Any:
        """The reply to one command; raises `LinkError` if it is an error."""
        (reply,) = self.pipeline([words])
        if isinstance(reply, Failure):
            raise LinkError(f"{self}: {words[0]!s}: {reply}")
        return reply

    def pipeline(self, commands: Iterable[Sequence[Word]]) -> list[Any]:
        """The replies to some commands, which are sent together; errors are among them."""
        packed = [encode(words) for words in commands]
        self.send(b"".join(packed))
        return [self.read() for _ in packed]

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise LinkError(f"{self}: {error}") from None

    def read(self) -> Any:
        """The next reply."""
        while (reply := self._reader.gets()) is ...:
            self._reader.feed(self.receive())
        return reply

    def receive(self) -> bytes:
        """Some bytes as they come; raises `LinkError` at the end of the connection."""
        try:
            data = self._socket.recv(RECEIVED_AT_ONCE)
        except OSError as error:
            raise LinkError(f"{self}: {error}") from None
        if not data:
            raise LinkError(f"{self}: the connection was closed")
        return data


def encode(words: Sequence[Word]) -> bytes:
    """A request."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    body = b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in parts])
    return b"*%d\r\n%b" % (len(parts), body)


def is_address(text: str) -> bool:
    """Whether a word of the command line names a server, not a file."""
    return text.startswith(("redis://", "rediss://", "unix://"))


def scan(link: Link, match: bytes | None = None, count: int = 500) -> Iterator[list[bytes]]:
    """The keys of the selected database, some at a time."""
    cursor: bytes = b"0"
    pattern = [b"MATCH", match] if match is not None else []
    while True:
        cursor, keys = link.call("SCAN", cursor, *pattern, "COUNT", count)
        if keys:
            yield keys
        if cursor == b"0":
            return


def sizes(link: Link) -> dict[int, int]:
    """How many keys each database has that has any."""
    found: dict[int, int] = {}
    for line in link.call("INFO", "keyspace").decode().splitlines():
        name, _, rest = line.partition(":keys=")
        if rest and name.startswith("db"):
            found[int(name[2:])] = int(rest.partition(",")[0])
    return found
