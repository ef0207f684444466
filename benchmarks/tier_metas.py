"""Would a cache of key-metas in Redis pay? What it would save, and what it would cost.

    python -m benchmarks.tier_metas [--keys 300000]

Metas of strings of 100 bytes that are not in the process's own cache: read from an embedded
LevelDB, and asked of a Redis on loopback, one at a time and fifty at once. Prints microseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from stratakv.clock import Clock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.keyspace.txn import ROW_BUDGET, Txn
from stratakv.errors import StoreUnavailable
from stratakv.storage.cache.address import parse_address
from stratakv.storage.cache.link import Link
from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions
from stratakv.storage.store import Store
from tests.harness.servers import RedisServer

READS = 20_000
AT_ONCE = 50
KEYS_PER_COMMIT = 2000


def fill(keyspace: Keyspace, keys: int) -> None:
    txn = Txn(keyspace, keyspace.databases[0])
    txn.clock.tick()
    for number in range(keys):
        txn.budget = ROW_BUDGET
        txn.assign(b"key:%d" % number, b"v" * 100)
        txn.apply()
        if not number % KEYS_PER_COMMIT:
            keyspace.commit(_succeeded)
            keyspace.databases[0].forget()
    keyspace.commit(_succeeded)
    keyspace.databases[0].forget()


def _succeeded(error: StoreUnavailable | None) -> None:
    assert error is None, error


def from_the_store(directory: Path, keys: int) -> None:
    engine = LevelEngine(directory, LevelOptions())
    keyspace = Keyspace(Store(engine, post=_now), Clock())
    fill(keyspace, keys)
    database = keyspace.databases[0]
    spent = []
    for key in {b"key:%d" % random.randrange(keys) for _ in range(READS)}:
        started = time.perf_counter()
        database.load(keyspace.store, key)
        spent.append((time.perf_counter() - started) * 1e6)
    show("from LevelDB", spent)
    keyspace.store.close()


def _now(work: Callable[[], None]) -> None:
    work()


async def from_redis(port: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    place = parse_address(f"redis://127.0.0.1:{port}")
    link = Link(loop, place, timeout_seconds=10.0, on_ready=ready.set)
    link.start()
    await ready.wait()

    async def ask(*words: bytes) -> None:
        future = loop.create_future()
        link.ask(words, future.set_result)
        assert isinstance(await future, bytes), "a bypass is no answer"

    await ask(b"SET", b"key", b"v" * 118)
    spent = []
    for _ in range(READS):
        started = time.perf_counter()
        await ask(b"GET", b"key")
        spent.append((time.perf_counter() - started) * 1e6)
    show("from Redis, one at a time", spent)
    spent = []
    for _ in range(READS // AT_ONCE):
        started = time.perf_counter()
        await asyncio.gather(*(ask(b"GET", b"key") for _ in range(AT_ONCE)))
        spent.append((time.perf_counter() - started) * 1e6)
    show(f"from Redis, {AT_ONCE} at once", spent)
    link.close()


def show(name: str, spent: list[float]) -> None:
    slow = sorted(spent)[len(spent) * 99 // 100]
    print(f"{name:28} median {statistics.median(spent):7.1f}   p99 {slow:7.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=300_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        from_the_store(Path(directory) / "data", chosen.keys)
        server = RedisServer(Path(directory) / "redis").start()
        try:
            uvloop.run(from_redis(server.port))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
