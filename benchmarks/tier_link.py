"""Our link to Redis against redis-py's asyncio client: 50 concurrent callers, one Redis.

    python -m benchmarks.tier_link [--seconds 3] [--callers 50]

Starts a redis-server of its own on loopback. Each caller sends GET and waits for the reply, again
and again. Runs alternate, so that all see the same machine. Writes benchmarks/results/tier_link.md
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import redis.asyncio
import uvloop

from benchmarks import machine
from stratakv.storage.cache.address import parse_address
from stratakv.storage.cache.link import Link
from tests.harness.servers import RedisServer

ROUNDS = 3
PATIENCE_SECONDS = 10.0
OUT = Path(__file__).parent / "results" / "tier_link.md"
Get = Callable[[], Awaitable[object]]
Results = dict[str, list[tuple[float, list[float]]]]
"""By the way to ask: requests per second and latencies of each run."""


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
        reply = await future
        assert isinstance(reply, bytes), "a bypass is fast, and no answer"
        return reply

    return get


async def run(port: int, callers: int, seconds: float) -> list[str]:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    place = parse_address(f"redis://127.0.0.1:{port}")
    link = Link(loop, place, timeout_seconds=PATIENCE_SECONDS, on_ready=ready.set)
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
    results: Results = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, get in ways.items():
            results[name].append(await measure(get, callers, seconds))
    link.close()
    await pool.aclose()
    await single.aclose()
    return list(table(results, callers))


def table(results: Results, callers: int) -> Iterator[str]:
    """The medians as Markdown."""
    facts = ", ".join(f"{name} {value}" for name, value in machine.describe().items())
    yield f"# Ways to ask a Redis\n\n{facts}.\n\nGET of 100 bytes, {callers} concurrent callers.\n"
    yield "| | requests/s | p50 | p99 |"
    yield "|---|---|---|---|"
    for name, runs in results.items():
        rate = statistics.median(rate for rate, _ in runs)
        merged = sorted(latency for _, latencies in runs for latency in latencies)
        p50, p99 = merged[len(merged) // 2], merged[len(merged) * 99 // 100]
        yield f"| {name} | {rate:,.0f} | {p50 / 1000:.2f} ms | {p99 / 1000:.2f} ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--callers", type=int, default=50)
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory) / "redis").start()
        try:
            lines = uvloop.run(run(server.port, chosen.callers, chosen.seconds))
        finally:
            server.stop()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text("\n".join(lines) + "\n")
    print(chosen.out.read_text())


if __name__ == "__main__":
    main()
