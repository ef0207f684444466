"""Clients that keep a ledger: what was acknowledged must be read from then on, whatever happens.

One thread writes rising numbers into a hash, a set and a sorted set; others read them back in every
way that goes through the tier. A read must be at least what was acknowledged before it was sent,
and at most what was sent before its reply came. No command may fail.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import Reply, WireClient

STATIC = 40
"""Members that never change, besides the one that does."""
MOVER = b"the-member-that-moves-all-the-time"


@dataclass(slots=True)
class Entry:
    """A key's number: the last one sent, and the last one acknowledged."""

    sent: int = 0
    acknowledged: int = 0


@dataclass(slots=True)
class Ledger:
    """Writers and readers of one server, and what they saw."""

    server: StrataServer
    kinds: tuple[str, ...] = ("hash", "set", "zset")
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    reads: int = 0
    tolerates: bytes = b"\n"
    """Errors that begin so are no problem: a zset v3 says that its Redis is away."""
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Ledger:
        with self.server.client() as client:
            for number in range(STATIC):
                client.send("ZADD", "zset", "0.5", f"static-{number:02}")
            client.send("ZADD", "zset", "0.75", MOVER)
        for kind in self.kinds:
            self.entries[kind] = Entry()
            self._start(self._write, kind)
            self._start(self._read, kind)
            self._start(self._read, kind)
        return self

    def _start(self, work: Callable[[WireClient, str], None], kind: str) -> None:
        def run() -> None:
            try:
                with self.server.client() as client:
                    while not self.over.is_set():
                        work(client, kind)
            except Exception as failure:  # whatever it is, the test has to hear it
                self.problems.append(f"{kind}: {failure!r}")

        thread = threading.Thread(target=run)
        self.threads.append(thread)
        thread.start()

    def _write(self, client: WireClient, kind: str) -> None:
        entry = self.entries[kind]
        number = entry.sent = entry.sent + 1
        if self._send(client, *WRITES[kind](number)).frame.is_error:
            return
        entry.acknowledged = number
        if number > 200 and kind == "set":
            self._send(client, b"SREM", b"set", b"%d" % (number - 200))
        time.sleep(0.001)

    def _read(self, client: WireClient, kind: str) -> None:
        entry = self.entries[kind]
        for read in READS[kind]:
            least = entry.acknowledged
            found = read(self, client)
            most = entry.sent
            self.reads += 1
            if found is None and self.tolerates != b"\n":
                continue
            if least and not (found is not None and least <= found <= most):
                self.problems.append(f"{read.__name__}: {found}, not in {least}..{most}")
                self.over.set()
        time.sleep(0.0005)

    def send(self, client: WireClient, *words: bytes) -> list[bytes]:
        frame = self._send(client, *words).frame
        if frame.is_error:
            return []
        values = [frame.data] if frame.items is None else [item.data for item in frame.items]
        return [value for value in values if value is not None]

    def _send(self, client: WireClient, *words: bytes) -> Reply:
        reply = client.send(*words)
        if reply.frame.is_error and not reply.raw.startswith(self.tolerates):
            self.problems.append(f"{words!r}: {reply.raw!r}")
        return reply

    def has_seen_enough(self) -> bool:
        """Whether so much was read and written that the ledger says something."""
        written = (entry.acknowledged for entry in self.entries.values())
        return self.reads > 50 and min(written) > 10

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure is None:
            wait_until(lambda: self.problems or self.has_seen_enough(), self.server.output)
        self.over.set()
        for thread in self.threads:
            thread.join(HANG_S)
        assert not self.problems, self.problems[:5]
        with self.server.client() as client:
            for kind in self.kinds:
                self._check_the_end(client, kind)

    def _check_the_end(self, client: WireClient, kind: str) -> None:
        """Nobody else writes any more: all reads give the last write, whatever came before it.

        A write that was answered with an error may have been done, and Redis may still be away for
        as long as the pause between two attempts: so one more is written until it is acknowledged.
        """
        entry = self.entries[kind]

        def is_acknowledged() -> bool:
            self._write(client, kind)
            return entry.acknowledged == entry.sent

        wait_until(is_acknowledged, self.server.output)
        for read in READS[kind]:
            found = read(self, client)
            if self.tolerates != b"\n":
                found = wait_until(partial(read, self, client), read.__name__)
            assert found == entry.acknowledged, read.__name__
        assert not self.problems, self.problems[:5]


WRITES: dict[str, Callable[[int], tuple[bytes, ...]]] = {
    "hash": lambda number: (b"HSET", b"hash", b"f", b"%d" % number, b"g", b"%d" % number),
    "set": lambda number: (b"SADD", b"set", b"%d" % number),
    "zset": lambda number: (b"ZADD", b"zset", b"%d" % number, MOVER),
}


def hget(ledger: Ledger, client: WireClient) -> int | None:
    found = ledger.send(client, b"HGET", b"hash", b"f")
    return int(found[0]) if found else None


def hmget(ledger: Ledger, client: WireClient) -> int | None:
    found = ledger.send(client, b"HMGET", b"hash", b"f", b"g")
    if len(found) == 2 and found[0] != found[1]:
        ledger.problems.append(f"torn: {found}")
    return int(found[0]) if found else None


def hgetall(ledger: Ledger, client: WireClient) -> int | None:
    found = ledger.send(client, b"HGETALL", b"hash")
    if found and found[1] != found[3]:
        ledger.problems.append(f"torn: {found}")
    return int(found[1]) if found else None


def smembers(ledger: Ledger, client: WireClient) -> int | None:
    return max(map(int, ledger.send(client, b"SMEMBERS", b"set")), default=None)


def last_by_rank(ledger: Ledger, client: WireClient) -> int | None:
    found = ledger.send(client, b"ZRANGE", b"zset", b"-1", b"-1", b"WITHSCORES")
    return int(float(found[1])) if found and found[0] == MOVER else None


def by_score(ledger: Ledger, client: WireClient) -> int | None:
    found = ledger.send(client, b"ZRANGEBYSCORE", b"zset", b"1", b"+inf", b"WITHSCORES")
    return int(float(found[1])) if found and found[0] == MOVER else None


def everything(ledger: Ledger, client: WireClient) -> int | None:
    found = ledger.send(client, b"ZREVRANGE", b"zset", b"0", b"-1", b"WITHSCORES")
    if found and len(found) != 2 * (STATIC + 1):
        ledger.problems.append(f"{len(found) // 2} members")
    return int(float(found[1])) if found and found[0] == MOVER else None


READS = {
    "hash": (hget, hmget, hgetall),
    "set": (smembers,),
    "zset": (last_by_rank, by_score, everything),
}
