"""Disk space: that of deleted rows comes back while the server runs, also when nobody writes."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")

KEYS, VALUE_BYTES, PIPELINE = 40_000, 1000, 500


def held_bytes(server: StrataServer) -> int:
    """What the data directory takes on disk, files included that have lost their names."""
    total = 0
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        try:
            if os.readlink(link).endswith(".ldb (deleted)"):
                total += link.stat().st_size
        except FileNotFoundError:
            continue
    for file in server.dir.iterdir():
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total


@pytest.mark.full
def test_the_space_of_an_emptied_store_comes_back(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    noise = random.Random(1)
    try:
        with server.client() as client:
            for start in range(0, KEYS, PIPELINE):
                numbers = range(start, start + PIPELINE)
                replies = client.pipeline(
                    ("SET", f"key:{number}", noise.randbytes(VALUE_BYTES)) for number in numbers
                )
                assert [reply.raw for reply in replies] == [b"+OK\r\n"] * PIPELINE
            full = held_bytes(server)
            assert full > KEYS * VALUE_BYTES // 2
            assert client.send("FLUSHALL").raw == b"+OK\r\n"
        wait_until(lambda: held_bytes(server) <= full // 4, "the space is still taken")
    finally:
        server.stop()
