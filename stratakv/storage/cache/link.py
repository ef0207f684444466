"""One connection to a Redis, shared by everybody: what all ask in one turn leaves in one write.

hiredis packs and parses. A request that is not answered in time costs the connection: replies come
in order, so everything behind it is late too, and whether it was done is unknown. The connection is
also the circuit breaker: while there is none (open) everything is bypassed at once, a new one is
tried after a pause that grows with every failure (half-open until it has introduced itself), and
only one that has worked for a while makes the pause short again.
"""

import asyncio
import logging
import random
import re
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, Final, cast

import hiredis

from stratakv.storage.cache.address import Address
from stratakv.storage.cache.contract import BYPASS, Then, Traffic, Word

log = logging.getLogger("stratakv")

CONNECT_SECONDS: Final = 1.0
FIRST_PAUSE_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 2.0
HEALTHY_SECONDS: Final = 5.0
"""A connection that lasted so long ends the series of failures."""
SECOND_LOOK_SECONDS: Final = 0.002
"""A loop that was late itself finds replies unread: they get a moment before they count as lost."""
UNSENT_BYTES: Final = 32 << 20
"""With so much unsent or unanswered, more requests are bypassed."""

_CLIENT_INFO = re.compile(rb"id=(\d+) addr=(\S+)")


class Link(asyncio.Protocol):
    """A connection that keeps itself alive until it is closed."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: Address,
        *,
        timeout_seconds: float = 0.05,
        on_loss: Callable[[], None] = lambda: None,
        on_ready: Callable[[], None] = lambda: None,
        on_cluster: Callable[[], None] | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self._loop = loop
        self.address = address
        self.timeout_seconds = timeout_seconds
        self.traffic = traffic or Traffic()
        self._on_loss = on_loss
        self._on_ready = on_ready
        self._on_cluster = on_cluster
        """Called instead of `on_ready` if the server is a node of a Redis Cluster."""
        self._transport: asyncio.Transport | None = None
        self._reader = hiredis.Reader()
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._waiting: deque[tuple[Then | None, float]] = deque()
        self._watching = False
        self._failures = 0
        self._former_self: tuple[bytes, ...] = ()
        """The last connection, as CLIENT KILL is told."""
        self._ready_since = 0.0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.ready = False
        self._closed = False
        self.reason = "not connected yet"
        """Why it is not ready."""

    # connecting

    def start(self) -> None:
        """Connect now, and again whenever the connection is lost."""
        self._task = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._open()
        except (OSError, TimeoutError, ssl.SSLError) as error:
            self._failed(str(error) or type(error).__name__)

    async def _open(self) -> None:
        place = self.address
        if place.path:
            await self._loop.create_unix_connection(lambda: self, place.path)
            return
        await self._loop.create_connection(
            lambda: self, place.host, place.port, ssl=place.tls_context()
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Introduce ourselves: nothing else is sent until that has worked."""
        if self._closed:
            cast("asyncio.Transport", transport).abort()
            return
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass
        self._reader = hiredis.Reader()
        self.traffic.connects += 1
        for words in self._introduction():
            self._send(words, self._accept)
        if self._former_self:
            self._send((b"CLIENT", b"KILL", *self._former_self), _ignore)
        self._send((b"CLIENT", b"INFO"), self._remember)
        if self._on_cluster is not None:
            self._send((b"INFO", b"cluster"), self._look_for_cluster)
        self._send((b"PING",), self._introduced)

    def _remember(self, reply: Any) -> None:
        """Note how Redis calls this connection: the next one has to end it.

        A Redis that was stopped still finds what a connection sent before it was given up. Done
        after what a new connection sends, it would undo newer writes.
        """
        found = _CLIENT_INFO.search(reply) if isinstance(reply, bytes) else None
        if found:  # else this connection never carried a change, and an older one is still to end
            self._former_self = (b"ID", found[1], b"ADDR", found[2])

    def _look_for_cluster(self, reply: Any) -> None:
        if self._on_cluster and isinstance(reply, bytes) and b"cluster_enabled:1" in reply:
            self._on_cluster()

    def _introduction(self) -> list[tuple[Word, ...]]:
        place = self.address
        words: list[tuple[Word, ...]] = []
        if place.password:
            names = (place.user.encode(),) if place.user else ()
            words.append((b"AUTH", *names, place.password.encode()))
        if place.database:
            words.append((b"SELECT", place.database))
        return words

    def _accept(self, reply: Any) -> None:
        if isinstance(reply, Exception):
            self.lose(f"refused: {reply}")

    def _introduced(self, reply: Any) -> None:
        if self._transport is None or reply is BYPASS:
            return
        if isinstance(reply, Exception):
            self.lose(f"refused: {reply}")
            return
        self.ready = True
        self.reason = ""
        self._ready_since = self._loop.time()
        log.info("%s is connected", self.address)
        self._on_ready()

    @property
    def state(self) -> str:
        """The state of the circuit breaker."""
        if self.ready:
            return "closed"
        return "open" if self._transport is None else "half-open"

    # requests

    def ask(self, words: tuple[Word, ...], then: Then) -> None:
        """Send a request; see the contract."""
        if not self.ready or self._buffered > UNSENT_BYTES:
            then(BYPASS)
            return
        self._send(words, then)

    def tell(self, words: tuple[Word, ...], then: Then | None = None) -> None:
        """Send a change; one that cannot be sent, or is refused, counts as lost."""
        if self.ready and self._buffered > UNSENT_BYTES:
            self.lose("it does not keep up")
        if self.ready:
            self._send(words, self._obeyed if then is None else then)
            return
        self._on_loss()
        if then is not None:
            then(BYPASS)

    def transact(self, requests: Sequence[tuple[Word, ...]], then: Then) -> None:
        """Send changes that are done together or not at all."""
        if len(requests) == 1 or not self.ready or self._buffered > UNSENT_BYTES:
            self.ask(requests[0], then)
            return
        replies: list[Any] = []

        def collect(reply: Any) -> None:
            replies.append(reply)
            if len(replies) == len(requests) + 2:
                then(_outcome(replies))

        for words in ((b"MULTI",), *requests, (b"EXEC",)):
            self._send(words, collect)

    def together(self, one: bytes, other: bytes) -> bool:
        """One server has them all."""
        return True

    def nodes(self) -> "Iterable[Link]":
        """Itself."""
        return (self,)

    def _obeyed(self, reply: Any) -> None:
        """A change that was refused may leave something old behind: nothing there counts now."""
        if isinstance(reply, hiredis.HiredisError):
            self.lose(f"refused a change: {reply}")

    def _send(self, words: tuple[Word, ...], then: Then | None) -> None:
        self.traffic.requests += 1
        packed = hiredis.pack_command(words)  # type: ignore[arg-type]  # its stub takes one word
        if not self._buffer:
            self._loop.call_soon(self._flush)
        self._buffer.append(packed)
        self._buffered += len(packed)
        self._waiting.append((then, perf_counter()))
        if not self._watching:
            self._watch(self.timeout_seconds)

    def _flush(self) -> None:
        """The end of the turn: everything in one write."""
        if self._transport is not None and self._buffer:
            self._transport.write(b"".join(self._buffer))
            self._buffered = self._transport.get_write_buffer_size()
        self._buffer.clear()

    def data_received(self, data: bytes) -> None:
        """Hand the replies out, in the order of the requests."""
        reader, traffic = self._reader, self.traffic
        try:
            reader.feed(data)
            now = perf_counter()
            while self._waiting and (reply := reader.gets()) is not False:
                then, sent = self._waiting.popleft()
                spent = now - sent
                traffic.seconds += spent
                traffic.buckets[int(spent * 1e6).bit_length()] += 1
                if isinstance(reply, hiredis.HiredisError):
                    traffic.errors += 1
                if then is not None:
                    then(reply)
        except hiredis.ProtocolError as error:
            self.lose(f"not a Redis: {error}")

    # time

    def _watch(self, seconds: float) -> None:
        self._watching = True
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self, *, again: bool = False) -> None:
        """See whether the oldest request is overdue."""
        self._watching = False
        if not self._waiting:
            return
        left = self._waiting[0][1] + self.timeout_seconds - perf_counter()
        if left > 0:
            self._watch(left)
        elif again:
            self.traffic.timeouts += 1
            self.lose("no reply in time")
        else:
            self._watching = True
            self._timer = self._loop.call_later(SECOND_LOOK_SECONDS, lambda: self._look(again=True))

    # losing

    def connection_lost(self, error: Exception | None) -> None:
        """The other side went away."""
        if self._transport is not None:
            self.lose(str(error) if error else "it closed the connection")

    def lose(self, reason: str) -> None:
        """Give the connection up: what is under way counts as lost, and a new one is tried."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        transport.abort()
        if self.ready and self._loop.time() - self._ready_since > HEALTHY_SECONDS:
            self._failures = 0
        self.ready = False
        self.traffic.losses += 1
        self._buffer.clear()
        self._buffered = 0
        self._on_loss()
        waiting, self._waiting = self._waiting, deque()
        for then, _ in waiting:
            if then is not None:
                then(BYPASS)
        self._failed(reason)

    def _failed(self, reason: str) -> None:
        if self._closed:
            return
        if not self._failures:
            log.warning("%s is bypassed: %s", self.address, reason)
        self.reason = reason
        pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10))
        self._failures += 1
        self._loop.call_later(pause * random.uniform(0.5, 1.0), self._reconnect)

    def _reconnect(self) -> None:
        if not self._closed:
            self.start()

    def close(self) -> None:
        """Answer what is open with `BYPASS`, and go away."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        self.lose("closed")


def _outcome(replies: list[Any]) -> Any:
    """Of a transaction: what went wrong first, or the replies to its requests."""
    done = replies[-1] if isinstance(replies[-1], list) else []
    for reply in (*replies, *done):
        if reply is BYPASS or isinstance(reply, Exception):
            return reply
    return done


def _ignore(reply: Any) -> None:
    """Most of the time it is gone already."""
