"""SAVE and BGSAVE: a dump that Redis loads, written in slices beside everything else.

The dump is that of a snapshot. It goes into a file beside the last one, which it replaces when it
is complete and on stable storage; if anything goes wrong, the last one stays. The file is written
by threads, since a disk that has much to do lets a writer wait.

Invariants
1. One dump is written at a time.
2. Whoever waits for a dump hears of its end once, whatever the end is.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from stratakv.encodings.rdb.file_writer import FileWriter, facts
from stratakv.errors import StoreUnavailable
from stratakv.options import Effects
from stratakv.proxy.observe.memory import measure
from stratakv.proxy.table.registry import TABLE

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

WRITTEN_AT_ONCE: Final = 1 << 20
SYNCED_AT_ONCE: Final = 32 << 20
"""So many bytes are put on stable storage at a time: the commits of others wait behind them."""

RETRY_SECONDS: Final = 5.0
"""After a dump that failed, until a save point is looked at again."""

Done = Callable[[str], None]
"""Hears why there is no dump; nothing if there is one."""
T = TypeVar("T")


class Saving:
    """The dumps of a server: the one that is being written, and what became of the last."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._waiting: list[Done] = []
        self._started = 0.0
        self._is_stopped = False
        self.is_running = False
        self.failure = ""
        """Why the last one failed; empty if it did not."""
        self.last_save = int(time.time())
        """When the last one was complete, or the server started."""
        self.last_seconds = -1
        self.saves = 0
        self.left_out = 0
        """How many keys of namespaces of users are not in the last one."""
        self._written = _writes()
        self._points: list[tuple[int, int]] = []
        """After so many seconds with at least so many changes a dump is due."""
        self._choose_points(server.options.save)

    @property
    def effects(self) -> Effects:
        """What setting its option does."""
        return {"save": self._choose_points}

    def _choose_points(self, text: str) -> None:
        numbers = [int(word) for word in text.split()]
        self._points = list(zip(numbers[::2], numbers[1::2], strict=True))

    @property
    def has_points(self) -> bool:
        """Whether dumps are written by themselves."""
        return bool(self._points)

    def save_if_due(self) -> None:
        """Write a dump if a save point asks for one; after a failure not before some seconds."""
        if not self._points or self.is_running or self._is_stopped:
            return
        passed, now = time.time() - self.last_save, time.monotonic()
        if self.failure and now < self._started + RETRY_SECONDS:
            return
        changes = self.changes
        for seconds, least in self._points:
            if passed > seconds and changes >= max(1, least):
                log.info("%d changes in %d seconds: a dump is written", changes, passed)
                self.start(_tell_nobody)
                return

    @property
    def path(self) -> Path:
        """Where the dump is."""
        options = self._server.options
        return Path(options.dir) / options.dbfilename

    @property
    def current_seconds(self) -> int:
        """How long the running one has taken so far; -1 if there is none."""
        return int(time.monotonic() - self._started) if self.is_running else -1

    @property
    def changes(self) -> int:
        """Writing commands since the last dump began."""
        return _writes() - self._written

    def start(self, done: Done) -> None:
        """Write a dump of what is decided so far. Requires: none is being written."""
        assert not self.is_running, "saving 1: two dumps at once"
        self.is_running = True
        self._started = time.monotonic()
        self._waiting.append(done)
        self._server.turns.flush_now(lambda: self._server.slices.start(self._run))

    def when_ended(self, done: Done) -> None:
        """Hear of the end of the running one."""
        self._waiting.append(done)

    def stop(self) -> None:
        """The server ends: what is being written is given up."""
        self._is_stopped = True

    def _run(self) -> None:
        began = _writes()
        failure = "it was stopped"
        try:
            keys = self._save()
            failure = ""
            self._succeed(keys, began)
        except (OSError, StoreUnavailable) as error:
            failure = str(error)
            log.error("no dump was written to %s: %s", self.path, error)
        except Exception as error:
            failure = repr(error)
            log.exception("no dump was written to %s", self.path)
        finally:
            self.failure = failure
            self.last_seconds = int(time.monotonic() - self._started)
            self.is_running = False
            waiting, self._waiting = self._waiting, []
            for done in waiting:
                done(failure)

    def _succeed(self, keys: int, began: int) -> None:
        self.saves += 1
        self.left_out = self._keys_of_tenants()
        if self.left_out:
            log.warning(
                "%d keys of namespaces of users are not in the dump: no Redis could tell them from"
                " its own; a backup has them",
                self.left_out,
            )
        self.last_save = int(time.time())
        self._written = began
        seconds = time.monotonic() - self._started
        log.info("a dump of %d keys is in %s, after %.1f s", keys, self.path, seconds)

    def _keys_of_tenants(self) -> int:
        tenancy = self._server.tenancy
        return sum(tenancy.keys_of(realm) for realm in self._server.realms)

    def _save(self) -> int:
        """Write the dump; says how many keys are in it."""
        server, target = self._server, self.path
        lack = "keys are in groups of slots in HBase" if server.table else server.store.lacks_room()
        if lack:
            raise OSError(lack)
        self._in_thread(server.store.make_durable)
        temporary = target.with_name(f"temp-{os.getpid()}.rdb")
        snapshot = server.store.snapshot()
        try:
            told = facts(server.clock.now_ms, measure().own)
            writer = FileWriter(server.keyspace, snapshot, server.slices.pause, told=told)
            with self._in_thread(partial(_create, temporary)) as file:
                self._write(file, writer.chunks())
                self._in_thread(partial(_finish, file, temporary, target))
        finally:
            snapshot.close()
            temporary.unlink(missing_ok=True)
        return writer.keys

    def _write(self, file: BinaryIO, chunks: Iterator[bytes]) -> None:
        gathered: list[bytes] = []
        size = unsynced = 0
        for chunk in chunks:
            if self._is_stopped:
                raise OSError("the server ends")
            gathered.append(chunk)
            size += len(chunk)
            if size >= WRITTEN_AT_ONCE:
                unsynced += size
                is_due = unsynced >= SYNCED_AT_ONCE
                self._in_thread(partial(_append, file, gathered, synced=is_due))
                gathered, size, unsynced = [], 0, 0 if is_due else unsynced
        self._in_thread(partial(_append, file, gathered, synced=False))

    def _in_thread(self, work: Callable[[], T]) -> T:
        """Let a thread do something, and others have their turns meanwhile."""
        server = self._server
        job: Future[T] = server.store.threads.submit(work)

        def subscribe(resume: Callable[[], None]) -> None:
            job.add_done_callback(lambda _: server.loop.call_soon_threadsafe(resume))

        server.slices.wait(subscribe)
        return job.result()


def _tell_nobody(failure: str) -> None:
    """The log and INFO tell."""


def _create(path: Path) -> BinaryIO:
    for leftover in path.parent.glob("temp-*.rdb"):  # of one who was killed
        with suppress(FileNotFoundError):
            leftover.unlink()
    return path.open("xb", buffering=0)


def _append(file: BinaryIO, chunks: list[bytes], *, synced: bool) -> None:
    left = memoryview(b"".join(chunks))
    while left:
        left = left[file.write(left) :]
    if synced:
        os.fdatasync(file.fileno())


def _finish(file: BinaryIO, temporary: Path, target: Path) -> None:
    """Put the dump in the place of the last one, for good."""
    os.fsync(file.fileno())
    temporary.replace(target)
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _writes() -> int:
    """How many commands that write were called since the start."""
    calls = 0
    for entry in TABLE.values():
        for one in (entry, *entry.subcommands.values()):
            calls += one.calls if "write" in one.flags else 0
    return calls
