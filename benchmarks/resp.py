"""A small blocking RESP client for preparing and asking servers; not for generating load."""

import socket
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import hiredis

from benchmarks.sample import Unavailable

Command = tuple[str | int | float | bytes, ...]


def encode(*args: str | int | float | bytes) -> bytes:
    """One command as RESP."""
    packed: bytes = hiredis.pack_command(args)  # type: ignore[arg-type]
    return packed


class Client:
    """One connection. `pipeline` returns error replies, `call` raises them."""

    def __init__(self, host: str, port: int, timeout_s: float = 60.0) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader(notEnoughData=Ellipsis)

    def call(self, *args: str | int | float | bytes) -> Any:
        """Send one command and return its reply; an error reply is raised as Unavailable."""
        reply = self.pipeline([args])[0]
        if isinstance(reply, hiredis.ReplyError):
            raise Unavailable(str(reply))
        return reply

    def pipeline(self, commands: Iterable[Command]) -> list[Any]:
        """Send commands in one write and return all replies."""
        packed = [encode(*command) for command in commands]
        self._socket.sendall(b"".join(packed))
        return [self.receive() for _ in packed]

    def drain(self, data: bytes, mark: bytes) -> bytes:
        """Send bytes and throw replies away until one ends with `mark`; the last bytes read."""
        self._socket.sendall(data)
        tail = b""
        while not tail.endswith(mark):
            chunk = self._socket.recv(1 << 18)
            if not chunk:
                raise ConnectionError("the server closed the connection")
            tail = (tail + chunk)[-1024:] if len(chunk) < 1024 else chunk
        return tail

    def receive(self) -> Any:
        """Wait for the next reply or message."""
        while (reply := self._reader.gets()) is Ellipsis:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._reader.feed(data)
        return reply

    def shutdown(self) -> None:
        """End the connection under a thread that receives: it gets a ConnectionError."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
