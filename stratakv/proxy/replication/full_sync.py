"""A full sync: a dump of a snapshot, made while it is sent.

No file is written and nothing is kept: the dump is read from the snapshot as fast as the replica
takes it. A replica that reads dumps of unknown length gets a mark behind it. For the few that
cannot (SYNC of very old ones) the dump is made twice, once to be counted: the same snapshot gives
the same bytes.
"""

import logging
import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace.database import Database
from stratakv.encodings.keyspace.long_txn import LongTxn
from stratakv.encodings.layout import rows
from stratakv.encodings.layout.positions import Position, decode_position
from stratakv.encodings.rdb.file_writer import FileWriter, facts, replication_facts
from stratakv.errors import CommandError, StoreUnavailable
from stratakv.proxy.replication.replicas import SENDING, Replica
from stratakv.storage.contract import Snapshot

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

log = logging.getLogger("stratakv")

ALIVE_SECONDS: Final = 1.0
"""While a dump is counted, an empty line so often shows that somebody is there."""
_NO_STREAM: Final = b"-NOMASTERLINK Can't SYNC while the store refuses writes\r\n"
"""What Redis too takes for a wish to be asked later."""


class SteadyWriter(FileWriter):
    """A dump that is the same whenever it is made: keys expire by the time of its beginning."""

    now_ms = 0

    def _open(self, database: Database) -> LongTxn:
        txn = super()._open(database)
        clock = ManualClock(self.now_ms * 1000)
        txn.follow(clock)
        return txn


class FullSync:
    """One dump on its way to one replica; `run` is work for slices."""

    def __init__(self, server: "Server", replica: Replica, *, greets: bool) -> None:
        self._server = server
        self._replica = replica
        self._greets = greets
        """Whether it has sent PSYNC, so that it is told the id and the offset."""
        self._now_ms = server.clock.now_ms
        """The same in both passes, as is the version."""
        self._version = server.keyspace.limits.rdb_version
        self._alive_at = time.monotonic()
        self.bytes = 0

    def run(self) -> None:
        """Send the dump, then what was written meanwhile. Requires: all earlier is committed."""
        started = time.monotonic()
        try:
            snapshot = self._snapshot()
        except OSError:
            return
        try:
            self._send_dump(snapshot)
        except (CommandError, OSError) as failure:
            log.error("the full sync of replica %s failed: %s", self._replica.name, failure)
            self._replica.session.connection.abort()
            return
        except StoreUnavailable as failure:
            log.error("replica %s is to come later: %s", self._replica.name, failure)
            self._replica.session.connection.close()
            return
        finally:
            snapshot.close()
        seconds = time.monotonic() - started
        log.warning(
            "replica %s was sent everything: %d bytes in %.1f s",
            self._replica.name,
            self.bytes,
            seconds,
        )

    def _send_dump(self, snapshot: Snapshot) -> None:
        replica = self._replica
        raw = snapshot.get(rows.REPLICATION_ROW)
        if raw is None:
            self._send(_NO_STREAM)
            raise StoreUnavailable("the store refuses what a stream begins with")
        position = decode_position(raw)
        replica.begin(position.offset)
        if self._greets:
            self._send(b"+FULLRESYNC %b %d\r\n" % (position.id, position.offset))
        replica.state = SENDING
        mark = secrets.token_hex(20).encode() if replica.takes_mark else b""
        if mark:
            self._send(b"$EOF:" + mark + b"\r\n")
        else:
            self._send(b"$%d\r\n" % self._count(snapshot, position))
        for chunk in self._dump(snapshot, position):
            self._send(chunk)
        self._end(mark)

    def _snapshot(self) -> Snapshot:
        """What the stream goes on from; not in the middle of a unit that is committed in parts."""
        feed = self._server.replication.feed
        while True:
            snapshot = self._server.store.snapshot()
            raw = snapshot.get(rows.REPLICATION_ROW)
            if raw is None or decode_position(raw).id == feed.position.id:
                return snapshot
            snapshot.close()
            self._check_presence()
            self._server.slices.pause()

    def _check_presence(self) -> None:
        if self._replica.session.closing:
            raise ConnectionAbortedError("it has gone")

    def _end(self, mark: bytes) -> None:
        """A replica looks for the mark at the end of what it has read, so nothing may follow until
        it says that it has found it."""
        if mark:
            self._send(mark)
        if self._replica.wants_dump_only:
            self._replica.session.connection.close()
        elif not mark:
            self._replica.go_online()

    def _count(self, snapshot: Snapshot, position: Position) -> int:
        return sum(map(len, self._counted(self._dump(snapshot, position))))

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            now = time.monotonic()
            if now > self._alive_at + ALIVE_SECONDS:
                self._alive_at = now
                self._send(b"\n")
            yield chunk

    def _dump(self, snapshot: Snapshot, position: Position) -> Iterator[bytes]:
        told = {
            **facts(self._now_ms, 0),
            **replication_facts(position.database, position.id.decode(), position.offset),
        }
        dump = SteadyWriter(
            self._server.keyspace,
            snapshot,
            self._server.slices.pause,
            told=told,
            with_keys=self._replica.wants_keys,
            with_functions=self._replica.wants_functions,
            with_tenants=self._replica.holds_tenants,
        )
        dump.now_ms, dump.version = self._now_ms, self._version
        return dump.chunks()

    def _send(self, data: bytes) -> None:
        """Send, and wait while the replica has much to read."""
        self._check_presence()
        connection = self._replica.session.connection
        connection.send([data])
        self.bytes += len(data)
        if connection.write_paused:
            self._server.slices.wait(connection.when_writable)
