"""A StrataKV with a Redis as its tier, and the ways to spoil the tier while it works."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.hbase import IS_ON_HBASE, new_table_flags
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until

VERSIONS = {
    "hash-2": ("--hash-encoding", "2"),
    "hash-3": ("--hash-encoding", "3"),
    "set-2": ("--set-encoding", "2"),
    "set-3": ("--set-encoding", "3"),
    "zset-1": ("--zset-encoding", "1"),
    "zset-2": ("--zset-encoding", "2"),
    "zset-3": ("--zset-encoding", "3"),
}


PATIENT = ("--cache-timeout", "60000", "--zset-store-timeout", "60000")
"""For tests that count what the tier did: a busy machine must not look like a silent Redis."""


def start_strata(directory: Path, tier: RedisServer, *flags: str) -> StrataServer:
    """A server whose cache is in use when this returns; its rows may be in an HBase."""
    url = f"redis://127.0.0.1:{tier.port}/0"
    tiers = ("--cache-url", url, "--zset-store-url", f"{url[:-1]}1")
    engine = new_table_flags() if IS_ON_HBASE else []
    server = StrataServer(directory, flags=(*tiers, *engine, *flags)).start()
    wait_until_used(server)
    return server


def wait_until_used(server: StrataServer) -> None:
    """Until the server asks its cache."""
    with server.client() as client:
        wait_until(lambda: b"tier_usable:1" in client.send("INFO", "cache").raw, server.output)


@contextmanager
def flushing(tier: RedisServer, seed: int) -> Iterator[None]:
    """Empty the cache at random moments while the block runs."""
    chance = random.Random(seed)
    over = threading.Event()

    def work() -> None:
        with tier.client() as client:
            while not over.wait(chance.uniform(0.0, 0.01)):
                client.send("FLUSHDB")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
