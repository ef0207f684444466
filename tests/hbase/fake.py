"""A server on a real socket that says whatever a test wants it to say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self

from google.protobuf.message import Message

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.wire import varint


class Asked:
    """One call, and a way to answer it."""

    def __init__(self, header: pb.RequestHeader, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.id = header.call_id
        self.method = header.method_name
        self.body = body
        self.writer = writer

    def answer(self, message: Message) -> None:
        self.writer.write(frame(pb.ResponseHeader(call_id=self.id), message))

    def refuse(self, name: str, text: str = "") -> None:
        told = pb.ExceptionResponse(exception_class_name=name, stack_trace=f"{name}: {text}")
        self.writer.write(frame(pb.ResponseHeader(call_id=self.id, exception=told)))


Behave = Callable[[Asked], Awaitable[None]]


class FakeServer:
    """Understands calls; `behave` says what happens then."""

    def __init__(self, behave: Behave) -> None:
        self._behave = behave
        self._server: asyncio.Server | None = None
        self.connections = 0
        self.hello = b""

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            self.hello = await reader.readexactly(6) + await _frame_of(reader)
            while True:
                await self._behave(_asked(await _frame_of(reader), writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def _frame_of(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def _asked(data: bytes, writer: asyncio.StreamWriter) -> Asked:
    header, rest = _message(data)
    return Asked(pb.RequestHeader.FromString(header), _message(rest)[0], writer)


def _message(data: bytes) -> tuple[bytes, bytes]:
    length = place = 0
    while True:
        length |= (data[place] & 0x7F) << (7 * place)
        place += 1
        if data[place - 1] < 0x80:
            return data[place : place + length], data[place + length :]


def frame(*messages: Message) -> bytes:
    """As HBase sends it."""
    body = b"".join(
        varint(len(text)) + text for text in (one.SerializeToString() for one in messages)
    )
    return len(body).to_bytes(4, "big") + body
