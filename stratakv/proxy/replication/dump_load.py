"""A full sync from a master: its dump, loaded as it arrives, beside the data that is served.

When all of it is there, it takes the place of everything in one commit, together with where the
stream stands. Until then nothing has changed, whatever happens.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from stratakv.encodings.keyspace.locks import EVERYTHING, Lock
from stratakv.encodings.layout.positions import NO_ID, Position
from stratakv.encodings.rdb.files import BadFile
from stratakv.encodings.rdb.loading import Load
from stratakv.errors import CommandError, StoreUnavailable
from stratakv.proxy.replication.feed import Feed
from stratakv.proxy.replication.handshake import Answer, LinkFailed
from stratakv.proxy.run.long_work import wait_for_store
from stratakv.storage.store import Done, Overlay

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

READ_BYTES: Final = 1 << 16


class DumpLoad:
    """One dump on its way in. `length` is 0 for one that ends with a mark."""

    def __init__(
        self,
        server: "Server",
        feed: Feed,
        reader: asyncio.StreamReader,
        answer: Answer,
        length: int,
        mark: bytes,
    ) -> None:
        self._server = server
        self._feed = feed
        self._reader = reader
        self._answer = answer
        self.length = length
        self._mark = mark
        self._slices = server.slices
        self._read = 0
        self.began = time.time()
        self.last_io = time.monotonic()
        self.lock: Lock | None = None
        """What is locked while it is put in its place."""
        self.rest = b""
        """What came behind the dump: the beginning of the stream."""
        self._load = Load(server.keyspace, self._write, self._slices.pause)

    @property
    def read_bytes(self) -> int:
        """How much of the dump has arrived."""
        return self._read

    @property
    def share(self) -> float:
        """How much of it that is in percent, if its length is known."""
        return self._read / self.length * 100 if self.length else 0.0

    @property
    def keys(self) -> int:
        """How many keys are loaded."""
        return self._load.keys

    def progress(self) -> str:
        """How far it is, for the log."""
        of_all = f" of {self.length} ({self.share:.0f} %)" if self.length else ""
        seconds = time.time() - self.began
        return f"{self.keys} keys, {self._read} bytes{of_all} are loaded after {seconds:.0f} s"

    async def run(self) -> None:
        """Load the dump and put it in its place; raises `LinkFailed`."""
        ended: asyncio.Future[Exception | None] = self._server.loop.create_future()

        def work() -> None:
            failure: Exception | None = LinkFailed("the server is stopping")
            try:
                failure = self._work()
            finally:
                if not ended.done():
                    ended.set_result(failure)

        self._slices.start(work)
        failure = await ended
        if failure is not None:
            raise LinkFailed(f"the full sync failed: {failure}") from failure

    def _work(self) -> Exception | None:
        try:
            self._load.run(self._chunks())
            self._check_end()
            self._put_in_place()
        except (BadFile, LinkFailed, CommandError, StoreUnavailable, OSError) as failure:
            self._load.drop()
            return failure
        except BaseException:
            self._load.drop()
            raise
        return None

    def _chunks(self) -> Iterator[bytes]:
        while not self.length or self._read < self.length:
            most = min(READ_BYTES, self.length - self._read) if self.length else READ_BYTES
            yield self._receive(most)

    def _receive(self, most: int) -> bytes:
        """The next bytes of the master; others are served meanwhile."""
        outcome: list[asyncio.Task[bytes]] = []

        def subscribe(resume: Callable[[], None]) -> None:
            def read(task: asyncio.Task[bytes]) -> None:
                outcome.append(task)
                resume()

            reading = self._server.loop.create_task(self._read_some(most))
            reading.add_done_callback(read)

        self._slices.wait(subscribe)
        data = outcome[0].result()
        self._read += len(data)
        self.last_io = time.monotonic()
        return data

    async def _read_some(self, most: int) -> bytes:
        try:
            async with asyncio.timeout(self._server.options.repl_timeout):
                data = await self._reader.read(most)
        except TimeoutError:
            raise LinkFailed("the master was silent in the middle of its dump") from None
        if not data:
            self._server.dispatcher.guards.check_room()  # it is we who have hung up then
            raise LinkFailed("the master closed the connection in the middle of its dump")
        return data

    def _check_end(self) -> None:
        """The dump ends where the master has said."""
        if self.length:
            if self._load.position != self.length:
                raise LinkFailed(
                    f"the dump has {self._load.position} bytes, and the master said {self.length}"
                )
            return
        rest = self._load.rest
        while len(rest) < len(self._mark):
            rest += self._receive(READ_BYTES)
        if not rest.startswith(self._mark):
            raise LinkFailed("behind the dump there is not the mark that the master has named")
        self.rest = rest[len(self._mark) :]

    def _put_in_place(self) -> None:
        """Exchange everything in one commit; nobody works on keys then."""
        self._lock_everything()
        try:
            wait_for_store(self._slices, self._exchange)
        finally:
            lock, self.lock = self.lock, None
            assert lock is not None
            lock.release()

    def _lock_everything(self) -> None:
        def subscribe(resume: Callable[[], None]) -> None:
            def locked(lock: Lock) -> None:
                self.lock = lock
                resume()

            self._server.dispatcher.lock_waits.locks.acquire(EVERYTHING, locked)

        self._slices.wait(subscribe)

    def _exchange(self, done: Done) -> None:
        server, answer = self._server, self._answer
        assert self._load.file is not None
        told = self._load.file.facts.get(b"repl-stream-db", b"0")
        database = int(told) if told.isdigit() else 0
        server.turns.begin_background()
        server.housekeeper.reclaimer.reset()
        self._load.put_in_place({})
        self._server.tracking.all_changed(None)
        server.scripting.forget_libraries()
        server.tenancy.begin_anew()
        self._feed.move(Position(answer.id, answer.offset, NO_ID, -1, database))
        server.keyspace.commit(done)

    def _write(self, rows: Overlay) -> None:
        self._server.dispatcher.guards.check_room()
        store = self._server.store
        wait_for_store(self._slices, lambda done: store.submit(rows, done))
