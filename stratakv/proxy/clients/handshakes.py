"""TLS ports: who connects there shakes hands first, and is no client before that.

Whoever does it takes milliseconds. Others may begin and never go on, so handshakes are bounded in
time and in number: when there are too many, the oldest ends, and whoever comes now has his turn.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

log = logging.getLogger("stratakv")

MOST: Final = 256
SECONDS: Final = 10.0
ACCEPTED_AT_ONCE: Final = 64
REST_SECONDS: Final = 1.0
"""Before it is tried again when the system has no descriptor left."""


class Handshakes:
    """Accepts at a listening socket, which is its own, and shakes hands."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        place: socket.socket,
        context: ssl.SSLContext,
        factory: Callable[[], asyncio.BaseProtocol],
    ) -> None:
        self._loop = loop
        self._place = place
        self._context = context
        self._factory = factory
        self._running: dict[asyncio.Task[None], None] = {}
        """The oldest first."""
        self._is_closed = False
        self._listen()

    def close(self) -> None:
        """Accept nobody any more; who is shaking hands comes in."""
        self._is_closed = True
        self._loop.remove_reader(self._place)
        self._place.close()

    def _listen(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._place, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                one, _address = self._place.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.error("cannot accept a connection: %s", error.strerror)
                self._loop.remove_reader(self._place)
                self._loop.call_later(REST_SECONDS, self._listen)
                return
            self._begin(one)

    def _begin(self, one: socket.socket) -> None:
        one.setblocking(False)
        with suppress(OSError):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._shake(one))
        self._running[task] = None
        task.add_done_callback(self._ended)
        if len(self._running) > MOST:
            next(iter(self._running)).cancel()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.pop(task, None)

    async def _shake(self, one: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._factory, one, ssl=self._context, ssl_handshake_timeout=SECONDS
            )
        except (OSError, asyncio.CancelledError) as reason:
            log.debug("a TLS handshake came to nothing: %s", reason or type(reason).__name__)
            one.close()
