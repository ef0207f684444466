"""The HTTP port: `/metrics` for Prometheus and `/healthz` for whoever restarts the server.

One small request per connection, then it is closed. Whoever is slow, large or does not speak HTTP
is cut.
"""

import asyncio
import contextlib
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stratakv.proxy.observe.exposition import Exposition
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

REQUEST_BYTES: Final = 8192
REQUEST_SECONDS: Final = 5.0
REPLY_SECONDS: Final = 10.0
LINGER_SECONDS: Final = 0.5
CONNECTIONS: Final = 32
PLAIN: Final = "text/plain; charset=utf-8"

Answer = tuple[HTTPStatus, str, bytes]


class BadRequest(Exception):
    """The request cannot be answered; `status` says why."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class MetricsServer:
    """Serves the two pages; `port` is known after `listen`, and 0 if HTTP is switched off."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._exposition: Exposition | None = None
        self._listener: asyncio.Server | None = None
        self._connections = 0
        self._at_work: set[asyncio.Task[None]] = set()
        self.port = 0

    async def listen(self) -> None:
        """Open the port; raises OSError with the address in its text."""
        options = self._server.options
        if not options.http:
            return
        host = options.bind[0]
        context = self._server.listeners.http_context
        try:
            self._listener = await asyncio.start_server(
                self._serve, host, options.http_port, limit=REQUEST_BYTES, ssl=context
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(f"cannot listen on {host}:{options.http_port}: {reason}") from None
        self.port = self._listener.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening, and whatever is being answered: it may ask the engine."""
        if self._listener is not None:
            self._listener.close()
        for task in self._at_work:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, whatever comes."""
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        self._connections += 1
        writer.transport.set_write_buffer_limits(0)  # so that drain() waits for the last byte
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
        except Exception:
            log.exception("an HTTP request failed")
        finally:
            self._at_work.discard(task)
            self._connections -= 1
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method = "GET"
        try:
            if self._connections > CONNECTIONS:
                raise BadRequest(HTTPStatus.SERVICE_UNAVAILABLE)
            method, path = await _read_request(reader)
            answer = await self._page(path)
        except BadRequest as error:
            answer = error.status, PLAIN, error.status.phrase.encode() + b"\n"
        writer.write(_format(answer, with_body=method != "HEAD"))
        await asyncio.wait_for(_finish(reader, writer), REPLY_SECONDS)

    async def _page(self, path: str) -> Answer:
        if path == "/metrics":
            return await self._metrics()
        if path == "/healthz":
            return self._health()
        raise BadRequest(HTTPStatus.NOT_FOUND)

    def _health(self) -> Answer:
        """Whether the server does its work, or the reason why not."""
        refusal = self._server.dispatcher.guards.refusal
        if self._server.stopping.is_set():
            return HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, b"draining\n"
        if refusal:
            text = f"the store refuses writes: {refusal}\n".encode()
            return HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, text
        if self._server.disk_limit.is_full:
            text = b"only deleting is possible: the data takes more than maxdisk-bytes\n"
            return HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, text
        lost = self._server.keyspace.tier.storage_refusal
        if lost:
            text = f"sorted sets v3 are refused, because of zset-store-url: {lost}\n".encode()
            return HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, text
        damages = self._server.stats.damages
        if damages:
            lines = [damage.text[4:] for damage in damages.values()]
            text = b"the store is damaged: %b\n" % b"; ".join(lines)
            return HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, text
        return HTTPStatus.OK, PLAIN, b"ok\n"

    async def _metrics(self) -> Answer:
        """The page; what makes it is imported when it is first asked for, in a thread."""
        if self._exposition is None:
            loop = asyncio.get_running_loop()
            load = await loop.run_in_executor(None, _load_exposition)
            self._exposition = self._exposition or load(self._server)
        return HTTPStatus.OK, self._exposition.content_type, await self._exposition.render()


def _load_exposition() -> "type[Exposition]":
    """It takes 45 ms to import: the start of the server does not wait for that."""
    from stratakv.proxy.observe.exposition import Exposition

    return Exposition


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str]:
    """(method, path) of a request; raises BadRequest for anything that is none."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_SECONDS)
    except asyncio.LimitOverrunError:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    except TimeoutError:
        raise BadRequest(HTTPStatus.REQUEST_TIMEOUT) from None
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            raise
        raise BadRequest(HTTPStatus.BAD_REQUEST) from None
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    if words[0] not in ("GET", "HEAD"):
        raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED)
    return words[0], words[1].partition("?")[0]


def _format(answer: Answer, *, with_body: bool) -> bytes:
    status, kind, body = answer
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n"
    )
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        head += "Allow: GET, HEAD\r\n"
    return head.encode() + b"\r\n" + (body if with_body else b"")


async def _finish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send the reply, then read on for a moment: closing on unread bytes would reset it away."""
    await writer.drain()
    writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await reader.read(REQUEST_BYTES):
                pass
