"""A StrataKV whose rows are in an HBase: reads from memory and from afar, and writes.

    python -m benchmarks.on_hbase [--keys 100000] [--share 1.0]

Starts an HBase in one process, as the tests do, and a StrataKV on a new table. One client is timed
command by command; fifty are redis-benchmark, without pipeline and with 16 commands in one. CPU is
of StrataKV and of HBase, in us an operation. The build is that of STRATAKV_PYTHON, as in the tests.
Prints a table; takes some three minutes, and 1 GB of memory.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import procfs
from benchmarks.over_hbase import NO_CACHE, PIPELINES, VALUE, Work, run_benchmark
from tests.harness.hbase import HBaseServer
from tests.harness.servers import StrataServer
from tests.harness.wire import WireClient

LOADED_AT_ONCE = 1000
TIMED = 200
"""Commands of one client, to take the median."""


WORKS = (
    Work("GET, in memory", ("GET", "key:__rand_int__"), (100_000, 400_000)),
    Work("HGET, in memory", ("HGET", "hash:__rand_int__", "field"), (100_000, 400_000)),
    Work("GET, from HBase", ("GET", "key:__rand_int__"), (20_000, 40_000), is_cold=True),
    Work("HGET, from HBase", ("HGET", "hash:__rand_int__", "field"), (10_000, 20_000), True),
    Work("SET", ("SET", "key:__rand_int__", VALUE), (20_000, 100_000)),
    Work("HSET", ("HSET", "hash:__rand_int__", "field", VALUE), (20_000, 100_000)),
    Work("INCR, one key", ("INCR", "counter"), (20_000, 100_000)),
)


class Stand:
    """An HBase, and a StrataKV that can be started with other caches."""

    def __init__(self, directory: Path, keys: int) -> None:
        self.keys = keys
        self.hbase = HBaseServer(directory / "hbase").start()
        self.strata = StrataServer(directory / "data", flags=self.hbase.flags("bench"))
        self.strata.start()

    def stop(self) -> None:
        self.strata.stop()
        self.hbase.stop()

    def load(self) -> None:
        """Keys as redis-benchmark names them."""
        with self.strata.client() as client:
            for at in range(0, self.keys, LOADED_AT_ONCE):
                numbers = range(at, min(at + LOADED_AT_ONCE, self.keys))
                client.pipeline([("SET", f"key:{number:012}", VALUE) for number in numbers])
                client.pipeline([("HSET", f"hash:{n:012}", "field", VALUE) for n in numbers])

    def restart(self, *flags: str) -> None:
        """The same rows, with nothing in memory."""
        self.strata.terminate()
        self.strata.flags = [*self.hbase.flags("bench"), *flags]
        self.strata.start()

    def warm(self) -> None:
        """Everything is in memory."""
        with self.strata.client() as client:
            for at in range(0, self.keys, LOADED_AT_ONCE):
                numbers = range(at, min(at + LOADED_AT_ONCE, self.keys))
                client.pipeline([("GET", f"key:{number:012}") for number in numbers])
                client.pipeline([("HGET", f"hash:{number:012}", "field") for number in numbers])

    def rate(self, work: Work, pipeline: int, requests: int) -> str:
        """What redis-benchmark says, and what it cost."""
        before = self._spent()
        rate = run_benchmark(self.strata.port, pipeline, requests, self.keys, work.words)
        strata, hbase, calls = (
            (after - was) / requests for was, after in zip(before, self._spent(), strict=True)
        )
        return f"{rate} | {strata * 1e6:.1f} + {hbase * 1e6:.1f} us, {calls:.2f} calls"

    def _spent(self) -> tuple[float, float, float]:
        """CPU seconds of both, and calls from one to the other."""
        with self.strata.client() as client:
            told = client.send("MEMORY", "MALLOC-STATS").frame.data or b""
        calls = re.search(rb"calls: (\d+)", told)
        assert calls is not None
        strata, hbase = procfs.cpu_s(self.strata.pid), procfs.cpu_s(self.hbase.pid)
        return strata or 0.0, hbase or 0.0, float(calls[1])

    def timed(self, work: Work) -> str:
        """Milliseconds of one client, the median."""
        found = []
        with self.strata.client() as client:
            for number in range(TIMED):
                name = f"{number * 7919 % self.keys:012}"
                words = [word.replace("__rand_int__", name) for word in work.words]
                found.append(_seconds(client, words) * 1000)
        return f"{statistics.median(found):.2f} ms"


def _seconds(client: WireClient, words: list[str]) -> float:
    started = time.perf_counter()
    reply = client.send(*words)
    assert not reply.frame.is_error, reply
    return time.perf_counter() - started


def table(stand: Stand, share: float) -> Iterator[str]:
    """A line for each command; those from memory first."""
    yield "| | one client | P1 | CPU, calls | P16 | CPU, calls |"
    yield "|---" * 6 + "|"
    stand.load()
    stand.restart()
    stand.warm()
    is_cold = False
    for work in WORKS:
        if work.is_cold != is_cold:
            is_cold = work.is_cold
            stand.restart(*(NO_CACHE if is_cold else ()))
            if not is_cold:
                stand.warm()
        cells = [work.name, stand.timed(work)]
        for pipeline, requests in zip(PIPELINES, work.requests, strict=True):
            cells.append(stand.rate(work, pipeline, max(1000, int(requests * share))))
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=1.0, help="of the requests")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        stand = Stand(Path(directory), chosen.keys)
        stack.callback(stand.stop)
        for line in table(stand, chosen.share):
            print(line, flush=True)


if __name__ == "__main__":
    main()
