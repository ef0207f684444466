"""One connection to a server, in RESP2: requests are sent in order, and so come their replies."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import hiredis

Word = bytes | str | int
Failure = hiredis.ReplyError
"""A reply that is an error, where errors stand among other replies."""
REPLY_BYTES: Final = 64 << 20
"""No reply may be larger: a page is never shown that is."""


class Away(Exception):
    """The server cannot be spoken to; the text says why."""


class Refused(Exception):
    """The server's reply is an error; the text is the server's."""


def encode(words: Sequence[Word]) -> bytes:
    """A request."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    body = b"".join([b"$%d\r\n%b\r\n" % (len(part), part) for part in parts])
    return b"*%d\r\n%b" % (len(parts), body)


class Connection(asyncio.Protocol):
    """A protocol of asyncio's. `on_message` gets what nobody has asked for: published messages."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader(notEnoughData=...)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._transport: asyncio.Transport | None = None
        self._unfinished = 0
        self.reason = ""
        """Why the connection has ended, once it has."""
        self.database = 0
        self.on_message: Callable[[Any], None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not self.reason

    def send(self, commands: Sequence[Sequence[Word]]) -> list[asyncio.Future[Any]]:
        """Send some requests together; a future for each reply."""
        if not self.is_open or self._transport is None:
            raise Away(self.reason or "not connected")
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Any]] = [loop.create_future() for _ in commands]
        self._waiting.extend(futures)
        self._transport.write(b"".join([encode(words) for words in commands]))
        return futures

    def send_only(self, *words: Word) -> None:
        """Send a request whose replies come as messages."""
        if self._transport is None:
            raise Away(self.reason or "not connected")
        self._transport.write(encode(words))

    def end(self, reason: str) -> None:
        """Hang up; who waits for a reply is told."""
        if not self.reason:
            self.reason = reason
        if self._transport is not None:
            self._transport.abort()
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(Away(self.reason))
                future.exception()  # whoever does not wait for it any more need not be told

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The server has taken the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Give each reply to who asked."""
        self._unfinished += len(data)
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not ...:
                self._unfinished = 0
                self._give(reply)
        except hiredis.ProtocolError:
            self.end("what came is no reply of a Redis")
            return
        if self._unfinished > REPLY_BYTES:
            self.end(f"the reply is larger than {REPLY_BYTES >> 20} MB")

    def connection_lost(self, exc: Exception | None) -> None:
        """The server has hung up, or we have."""
        self.end(str(exc) if exc else "the server closed the connection")

    def _give(self, reply: Any) -> None:
        if self.on_message is not None:
            self.on_message(reply)
        elif self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(reply)
