"""Our link to Redis against redis-py's asyncio client: 50 concurrent callers, one Redis.

    python -m benchmarks.tier_link [--seconds 3] [--callers 50]

Starts a redis-server of its own on loopback. Each caller sends GET and waits for the reply, again
and again. Prints requests per second and latencies; runs alternate, so that both see the same
machine.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import redis.asyncio
import uvloop

from stratakv.storage.cache.address import parse_address
from stratakv.storage.cache.link import Link
from tests.harness.servers import RedisServer

ROUNDS = 3
Get = Callable[[], Awaitable[object]]


async def measure(get: Get, callers: int, seconds: float) -> tuple[float, list[float]]:
    """Requests per second, and every latency in microseconds."""
    end = time.perf_counter() + seconds
    latencies: list[float] = []

    async def caller() -> None:
        while (started := time.perf_counter()) < end:
            await get()
            latencies.append((time.perf_counter() - started) * 1e6)

    await asyncio.gather(*(caller() for _ in range(callers)))
    return len(latencies) / seconds, sorted(latencies)


def through_link(link: Link) -> Get:
    loop = asyncio.get_running_loop()

    async def get() -> object:
        future = loop.create_future()
        link.ask((b"GET", b"key"), future.set_result)
        return await future

    return get


async def run(port: int, callers: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    link = Link(loop, parse_address(f"redis://127.0.0.1:{port}"), on_ready=ready.set)
    link.start()
    await ready.wait()
    pool = redis.asyncio.Redis(port=port, max_connections=callers)
    single = redis.asyncio.Redis(port=port, single_connection_client=True)
    ways: dict[str, Get] = {
        "stratakv link, one connection": through_link(link),
        "redis-py asyncio, pool": lambda: pool.get("key"),
        "redis-py asyncio, one connection": lambda: single.get("key"),
    }
    await pool.set("key", "x" * 100)
    results: dict[str, list[tuple[float, list[float]]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, get in ways.items():
            results[name].append(await measure(get, callers, seconds))
    for name, runs in results.items():
        rate = statistics.median(rate for rate, _ in runs)
        merged = sorted(latency for _, latencies in runs for latency in latencies)
        p50, p99 = merged[len(merged) // 2], merged[len(merged) * 99 // 100]
        print(f"{name:34} {rate:9.0f} requests/s   p50 {p50:7.0f} us   p99 {p99:7.0f} us")
    link.close()
    await pool.aclose()
    await single.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--callers", type=int, default=50)
    chosen = parser.parse_args()
    server = RedisServer(Path(tempfile.mkdtemp()) / "redis").start()
    try:
        uvloop.run(run(server.port, chosen.callers, chosen.seconds))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
