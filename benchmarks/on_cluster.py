"""One, two and three nodes over one HBase, as a Redis Cluster; and how soon a killed one is gone.

    python -m benchmarks.on_cluster [--nodes 1 2 3] [--keys 4] [--share 1.0]
    python -m benchmarks.on_cluster --kills 8 [--timeout-ms 5000] [--tick-ms 1000]

Starts an HBase in one process, as the tests do, and nodes on a new table. Fifty clients are
`redis-benchmark --cluster`, which sends each node keys of one of its slots; one client is
redis-py's RedisCluster, timed command by command, the median. CPU is in us an operation: of all
nodes, of HBase and of redis-benchmark. Where the three together are near the number of cores, the
machine is what is full. The build is that of STRATAKV_PYTHON, as in the tests, with what the extra
hbase installs (`make .venv/.hbase`). Each number of nodes takes some two minutes.

With kills, nodes of three are killed one by one, and the time is told until each of its groups has
taken a write.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.cluster import RedisCluster

from benchmarks import procfs
from benchmarks.over_hbase import NO_CACHE, PIPELINES, VALUE, Rate, Work, run_benchmark
from tests.harness.hbase import HBaseServer
from tests.harness.waiting import wait_until
from tests.hbase.nodes import Nodes, Unknown, client_of, group_keys, shown

GROUPS = 12
TIMED = 500
"""Commands of one client, to take the median."""
FILLS = 6
"""Writes for each key, so that nearly all of them are there."""
KILL_GROUPS = 12


_STRING, _HASH = "key:{tag}:__rand_int__", "hash:{tag}:__rand_int__"
WORKS = (
    Work("GET, in memory", ("GET", _STRING), (60_000, 300_000)),
    Work("HGET, in memory", ("HGET", _HASH, "field"), (60_000, 300_000)),
    Work("SET", ("SET", _STRING, VALUE), (20_000, 100_000)),
    Work("HSET", ("HSET", _HASH, "field", VALUE), (20_000, 100_000)),
    Work("GET, from HBase", ("GET", _STRING), (10_000, 20_000), is_cold=True),
    Work("HGET, from HBase", ("HGET", _HASH, "field"), (5_000, 10_000), is_cold=True),
)


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds until now."""

    nodes: float
    hbase: float
    load: float

    def since(self, before: Spent) -> Spent:
        return Spent(self.nodes - before.nodes, self.hbase - before.hbase, self.load - before.load)


class Stand:
    """An HBase, and nodes that can be started anew with other caches."""

    def __init__(self, directory: Path, hbase: HBaseServer, count: int, keys: int) -> None:
        self.keys = keys
        self._directory = directory
        self._hbase = hbase
        self._count = count
        self.nodes = self._start()

    def _start(self, *flags: str) -> Nodes:
        table = f"nodes{self._count}"
        made = Nodes(self._hbase, table, self._directory / table, groups=GROUPS, flags=flags)
        for _ in range(self._count):
            made.add()
        made.settle()
        return made

    def restart(self, *flags: str) -> None:
        """The same rows, with nothing in memory."""
        self.nodes.stop()
        self.nodes = self._start(*flags)

    def fill(self) -> None:
        """Nearly all keys, as redis-benchmark names them: 16,384 times `keys`."""
        for work in WORKS:
            if "SET" in work.words[0]:
                self._load(work, 16, FILLS * 16384 * self.keys)

    def warm(self) -> None:
        """Everything is in memory."""
        for work in WORKS:
            if "GET" in work.words[0] and not work.is_cold:
                self._load(work, 16, FILLS * 16384 * self.keys)

    def rate(self, work: Work, pipeline: int, requests: int) -> str:
        """What redis-benchmark says, and what it cost."""
        before, started = self._spent(), time.monotonic()
        rate = self._load(work, pipeline, requests)
        seconds, spent = time.monotonic() - started, self._spent().since(before)
        nodes, hbase, load = (
            1e6 * part / requests for part in (spent.nodes, spent.hbase, spent.load)
        )
        cores = (spent.nodes + spent.hbase + spent.load) / seconds
        return f"{rate} | {nodes:.1f} + {hbase:.1f} + {load:.1f} us, {cores:.1f} cores"

    def _load(self, work: Work, pipeline: int, requests: int) -> Rate:
        words, count = work.words, len(self.nodes.all)
        if count > 1:
            words = ("--cluster", *words)
        else:  # which redis-benchmark does not take for a cluster
            words = tuple(word.replace("{tag}:", "") for word in words)
        return run_benchmark(
            self.nodes.all[0].port, pipeline, requests, 16384 * self.keys // count, words
        )

    def _spent(self) -> Spent:
        load = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Spent(
            sum(procfs.cpu_s(node.pid) or 0.0 for node in self.nodes.all),
            procfs.cpu_s(self._hbase.pid) or 0.0,
            load.ru_utime + load.ru_stime,
        )

    def timed(self, work: Work) -> str:
        """Milliseconds of one cluster client, the median."""
        client: Any = RedisCluster(host="127.0.0.1", port=self.nodes.all[0].port)
        names = {"key": _names(client, "key:*"), "hash": _names(client, "hash:*")}
        kind = names[work.words[1].partition(":")[0]]
        found = []
        for number in range(TIMED):
            words = [work.words[0], kind[number * 7919 % len(kind)], *work.words[2:]]
            started = time.perf_counter()
            client.execute_command(*words)
            found.append(1000 * (time.perf_counter() - started))
        client.close()
        return f"{statistics.median(found):.2f} ms"


def _names(client: Any, pattern: str) -> list[bytes]:
    found: list[bytes] = []
    for name in client.scan_iter(pattern, count=1000):
        found.append(name)
        if len(found) == 10 * TIMED:
            break
    return found


def table(stand: Stand, share: float) -> Iterator[str]:
    """A line for each command; those from memory first."""
    stand.fill()
    stand.warm()
    is_cold = False
    for work in WORKS:
        if work.is_cold != is_cold:
            is_cold = work.is_cold
            stand.restart(*NO_CACHE)
        cells = [work.name, stand.timed(work)]
        for pipeline, requests in zip(PIPELINES, work.requests, strict=True):
            cells.append(stand.rate(work, pipeline, max(1000, int(requests * share))))
        yield f"| {len(stand.nodes.all)} | {' | '.join(cells)} |"


def kills(nodes: Nodes, count: int) -> Iterator[str]:
    """How long after a kill -9 each of the node's groups takes a write again."""
    for _ in range(3):
        nodes.add()
    nodes.settle()
    keys = group_keys(nodes.groups)
    for number in range(count):
        victim = nodes.all[number % len(nodes.all)]
        lost = sorted(shown(victim, state="open"))
        killed = time.monotonic()
        victim.kill9()
        served = {group: _seconds_until(_writes(nodes, keys[group]), killed) for group in lost}
        times = sorted(served.values())
        yield f"{len(times)} groups again after {times[0]:.2f} to {times[-1]:.2f} s"
        victim.start()
        nodes.settle()


def _writes(nodes: Nodes, key: bytes) -> Callable[[], bool]:
    def wrote() -> bool:
        with client_of(nodes) as client:
            try:
                return client.send(key, b"SET", key, b"value").data == b"OK"
            except Unknown:
                return False

    return wrote


def _seconds_until(holds: Callable[[], bool], began: float) -> float:
    wait_until(holds)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--keys", type=int, default=4, help="for each slot")
    parser.add_argument("--share", type=float, default=1.0, help="of the requests")
    parser.add_argument("--kills", type=int, default=0, help="measure these instead")
    parser.add_argument("--timeout-ms", type=int, default=5000, help="the lease, with kills")
    parser.add_argument("--tick-ms", type=int, default=1000, help="ZooKeeper's, with kills")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        settings = {"hbase.zookeeper.property.tickTime": str(chosen.tick_ms)}
        hbase = HBaseServer(directory / "hbase", settings=settings).start()
        stack.callback(hbase.stop)
        if chosen.kills:
            nodes = Nodes(hbase, "kills", directory, KILL_GROUPS, chosen.timeout_ms)
            stack.callback(nodes.stop)
            for line in kills(nodes, chosen.kills):
                print(line, flush=True)
            return
        print("| nodes | | one client | P1 | CPU | P16 | CPU |")
        print("|---" * 7 + "|")
        for count in chosen.nodes:
            stand = Stand(directory, hbase, count, chosen.keys)
            try:
                for line in table(stand, chosen.share):
                    print(line, flush=True)
            finally:
                stand.nodes.stop()


if __name__ == "__main__":
    main()
