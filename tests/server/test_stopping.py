"""Stopping: whatever is under way, nothing is in the engine when it closes, or touches it later."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stratakv.encodings.layout import rows
from stratakv.encodings.upkeep.check import check_directory
from stratakv.options import Options
from stratakv.proxy import server as server_module
from stratakv.proxy.observe.metrics import MetricsServer
from stratakv.proxy.server import Server
from stratakv.storage.engines import ENGINES
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.harness.effort import rounds
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import HANG_S, loop_until
from tests.harness.wire import WireClient
from tests.tier.servers import start_strata

STOPS = rounds(12, least=6)
"""How many servers are stopped at random moments; `STRATAKV_STOPS=100` for a long look."""
FIELDS = 12_000
"""More than reclaiming leaves to LevelDB's own compaction."""


class Watched(MemoryEngine):
    """An engine that notes who is in it when it closes, and who comes later.

    What threads do in it takes long, once `slow` is set.
    """

    __slots__ = ("closed", "entered", "faults", "inside", "loop_thread", "slow")

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.faults: list[str] = []
        self.entered = threading.Event()
        self.slow = False
        self.closed = False
        self.loop_thread = threading.get_ident()
        super().__init__()

    def _enter(self, what: str) -> None:
        if self.closed:
            self.faults.append(f"{what} after the close")
        if self.slow and threading.get_ident() != self.loop_thread:
            self.inside.append(what)
            self.entered.set()
            time.sleep(0.3)
            self.inside.remove(what)

    def get(self, row: bytes) -> bytes | None:
        self._enter("get")
        return super().get(row)

    def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
        self._enter("scan")
        return super().scan_keys(start, stop, reverse=reverse)

    def compact(self, start: bytes, stop: bytes) -> None:
        self._enter("compact")

    def sync(self) -> None:
        self._enter("sync")

    def tidy(self) -> None:
        self._enter("tidy")

    def pressure(self) -> int:
        self._enter("pressure")
        return 0

    def close(self) -> None:
        self.faults += [f"{what} during the close" for what in self.inside]
        self.closed = True


class Inside:
    """A server in this process, and clients that speak to it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.metrics = MetricsServer(server)
        self._unblocking: asyncio.Task[None] | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        await self.server.listen()
        await self.metrics.listen()
        self._unblocking = asyncio.create_task(self.server.run())

    async def send(self, *requests: bytes) -> asyncio.StreamReader:
        """Send requests, words between spaces; nobody reads but who wants to."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.listeners.port)
        self._writers.append(writer)
        for request in requests:
            words = request.split(b" ")
            bulks = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
            writer.write(b"*%d\r\n" % len(words) + b"".join(bulks))
        return reader

    async def ask(self, *requests: bytes) -> None:
        """As `send`, until all is done."""
        reader = await self.send(*requests, b"ECHO all-done")
        async with asyncio.timeout(HANG_S):
            await reader.readuntil(b"all-done\r\n")

    async def stop(self) -> None:
        assert self._unblocking is not None
        self.server.stopping.set()
        await self._unblocking
        self.metrics.close()
        self.server.close()
        for _ in range(20):  # whoever comes too late comes now
            await asyncio.sleep(0.01)


def options(tmp_path: Path, **others: Any) -> Options:
    return Options(port=0, http_port=0, dir=str(tmp_path / "data"), **others)


@contextlib.asynccontextmanager
async def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **others: Any) -> Any:
    engine = Watched()
    monkeypatch.setitem(ENGINES, "leveldb", lambda _: engine)
    inside = Inside(Server(options(tmp_path, **others), asyncio.get_running_loop()))
    assert inside.server.store.engine is engine
    await inside.start()
    yield inside, engine


LOAD = [
    b"HSET h" + b"".join(b" %d %d" % (field, field) for field in range(start, start + 500))
    for start in range(0, FIELDS, 500)
]


@pytest.mark.parametrize("what", ["compact", "scan", "sync", "tidy"])
async def test_no_thread_is_in_the_engine_when_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    async with watched(tmp_path, monkeypatch, durability="everysec") as (inside, engine):
        await inside.ask(*LOAD)
        engine.slow = True
        await inside.ask(b"FLUSHALL" if what == "scan" else b"DEL h")
        await loop_until(lambda: what in engine.inside)
        await inside.stop()
        assert engine.closed
        assert engine.faults == []


async def test_a_save_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(tmp_path, monkeypatch) as (inside, engine):
        engine.slow = True
        await inside.send(b"SAVE")
        await loop_until(lambda: "sync" in engine.inside)
        await inside.stop()
        assert engine.faults == []


@pytest.mark.full
async def test_long_work_that_does_not_end_lets_go_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients that do not read their long replies, scripts, and a re-encoding of many keys."""
    monkeypatch.setattr(server_module, "DRAIN_SECONDS", 0.05)
    monkeypatch.setattr(server_module, "SEND_SECONDS", 0.5)
    async with watched(tmp_path, monkeypatch) as (inside, engine):
        await inside.ask(*LOAD, *(b"COPY h h%d" % number for number in range(20)))
        unread = [await inside.send(*[b"HGETALL h"] * 20) for _ in range(3)]
        await inside.send(b"EVAL while\ttrue\tdo\tredis.call('INCR',KEYS[1])\tend 1 n")
        await inside.send(b"SUNIONSTORE d h", b"STRATA REENCODE * 1")
        await loop_until(lambda: inside.server.slices.running >= 4)
        await inside.stop()
        assert inside.server.slices.running == 0
        assert engine.faults == []
        assert rows.meta_row(b"0:", b"n") not in engine.scan_keys(b"m", b"n")
        assert unread


async def test_a_page_of_metrics_in_the_making_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(tmp_path, monkeypatch) as (inside, engine):
        for _ in range(2):
            _, writer = await asyncio.open_connection("127.0.0.1", inside.metrics.port)
            writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            await asyncio.sleep(0.05)
        await inside.stop()
        assert engine.faults == []


async def test_a_store_that_was_to_be_mended_stays_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratakv.proxy.jobs.housekeeping.MEND_SECONDS", 0.05)
    async with watched(tmp_path, monkeypatch) as (inside, engine):
        inside.server.housekeeper.mend_store()
        await inside.stop()
        await asyncio.sleep(0.2)
        assert engine.faults == []


async def test_no_file_and_no_thread_is_left(tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    inside = Inside(Server(options(tmp_path), asyncio.get_running_loop()))
    await inside.start()
    await inside.ask(*LOAD, b"COPY h copy", b"DEL h")
    store = inside.server.store
    assert isinstance(store.engine, LevelEngine)
    await loop_until(lambda: store.compacting)
    await inside.stop()
    links = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    ours = str(tmp_path / "data")
    assert [name for name in map(os.readlink, links) if name.startswith(ours)] == []
    left = {thread for thread in set(threading.enumerate()) - threads if thread.is_alive()}
    assert {thread.name for thread in left if not thread.name.startswith("asyncio")} == set()
    assert check_directory(tmp_path / "data") == 0


# real processes, at random moments


def values(start: int) -> list[str]:
    return [f"{'v' * 200}{number}" for number in range(start, start + 500)]


def load(client: WireClient) -> None:
    for start in range(0, FIELDS, 500):
        fields = [str(number) for number in range(start, start + 500)]
        client.send(
            "HSET",
            "h",
            *(word for pair in zip(fields, values(start), strict=True) for word in pair),
        )
        client.send("SADD", "s", *values(start))


def send_only(server: StrataServer, *requests: str | bytes) -> socket.socket:
    """Commands whose replies nobody reads: inline ones, or as they go over the wire."""
    client = socket.create_connection(("127.0.0.1", server.port))
    for request in requests:
        client.sendall(request if isinstance(request, bytes) else f"{request}\r\n".encode())
    return client


def restore(key: bytes, dump: bytes) -> bytes:
    head = b"*4\r\n$7\r\nRESTORE\r\n$%d\r\n%b\r\n$1\r\n0\r\n" % (len(key), key)
    return b"%b$%d\r\n%b\r\n" % (head, len(dump), dump)


WORK: dict[str, tuple[str, ...]] = {
    "reclaiming": ("DEL h", "UNLINK s"),
    "flushing": ("FLUSHALL",),
    "long replies": ("HGETALL h", "SMEMBERS s", "SORT s ALPHA"),
    "long writers": ("SUNIONSTORE d s", "COPY h h2", "SDIFFSTORE e s d", "DEL s d e"),
    "scripts": ("EVAL 'for i=1,1e9 do redis.call(\"SET\",KEYS[1],i) end' 1 n",),
    "copies": ("COPY h h2", "STRATA REENCODE * 1", "DEL h h2"),
}
"""What is under way when the signal comes; the last gets DUMP and RESTORE as well."""


def stop_at_a_moment(directory: Path, seed: int) -> tuple[int, str]:
    """The exit code of a server that is stopped at work, and what it printed."""
    chance = random.Random(seed)
    name = list(WORK)[seed % len(WORK)]
    server = StrataServer(directory / f"data{seed}", flags=["--write-buffer-bytes", "1mb"]).start()
    with server.client() as client:
        load(client)
        dump = client.send("DUMP", "s").frame.data if name == "copies" else b""
        sockets = [send_only(server, *WORK[name])]
        if dump:
            sockets.append(send_only(server, restore(b"r", dump), "DUMP r", "DUMP h2"))
        time.sleep(chance.uniform(0.0, 1.5))
        if name == "scripts":
            client.send("SCRIPT", "KILL")
        code = server.terminate()
        for unread in sockets:
            unread.close()
    assert check_directory(server.dir) == 0
    return code, server.output()


@pytest.mark.effort
def test_every_stop_ends_with_exit_code_zero(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        ends = list(pool.map(lambda seed: stop_at_a_moment(tmp_path, seed), range(STOPS)))
    for seed, (code, output) in enumerate(ends):
        assert code == 0, f"{list(WORK)[seed % len(WORK)]} (seed {seed}):\n{output}"
        assert "Traceback" not in output, output


@pytest.mark.effort
@pytest.mark.parametrize("seed", range(rounds(2)))
def test_a_stop_in_the_middle_of_tier_rebuilds(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tier = RedisServer(tmp_path / "redis").start()
    server = start_strata(tmp_path / "data", tier, "--zset-encoding", "1")
    with server.client() as client, tier.client() as cache:
        for start in range(0, FIELDS, 500):
            pairs = [word for n in range(start, start + 500) for word in (str(n), f"m{n}")]
            client.pipeline([("ZADD", f"z{number}", *pairs) for number in range(3)])
        cache.send("FLUSHALL")
        unread = send_only(server, *(f"ZRANK z{number} m500" for number in range(3)))
        time.sleep(chance.uniform(0.0, 0.3))
        assert server.terminate() == 0, server.output()
        unread.close()
    tier.stop()
    assert "Traceback" not in server.output()
    assert check_directory(server.dir) == 0


def test_a_terminal_that_hangs_up_does_not_stop_the_server(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    os.kill(server.pid, signal.SIGHUP)
    with server.client() as client:
        assert client.send("SET", "k", "v").raw == b"+OK\r\n"
        os.kill(server.pid, signal.SIGHUP)
        assert client.send("GET", "k").raw == b"$1\r\nv\r\n"
    assert server.terminate() == 0
