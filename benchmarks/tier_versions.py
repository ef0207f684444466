"""What each encode-version is good for: reads with the tier hot and cold, and bytes in Redis.

    python -m benchmarks.tier_versions [--members 1000000] [--requests 10000] [--versions 0 1 2 3]

Starts a redis-server and, for each version, a StrataKV on loopback. One client is timed command by
command (the median of some), fifty are redis-benchmark. Cold means that the cache was emptied just
before the command; a sorted set v1 or v2 is then rebuilt, and of a v3 only the long names are read
again. Writes benchmarks/results/tier_versions.md. A million members take five to eight minutes.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import machine
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.wire import WireClient, encode
from tests.tier.servers import start_strata

CLIENTS = 50
FIELDS = 100
HOT, COLD = 50, 5
"""How often one client sends a command, to take the median."""
RESULTS = Path(__file__).parent / "results" / "tier_versions.md"
Cells = dict[str, str]


@dataclass(slots=True)
class Table:
    """Rows of measurements, a column for each version."""

    title: str
    columns: dict[str, Cells] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield f"### {self.title}\n"
        yield f"| | {' | '.join(self.columns)} |"
        yield "|---" * (len(self.columns) + 1) + "|"
        names = dict.fromkeys(name for cells in self.columns.values() for name in cells)
        for name in names:
            shown = (cells.get(name, "") for cells in self.columns.values())
            yield f"| {name} | {' | '.join(shown)} |"
        yield ""


@dataclass(slots=True)
class Stand:
    """A StrataKV with its tier, and a client that is timed."""

    strata: StrataServer
    client: WireClient
    redis: WireClient

    def timed(self, words: tuple[str, ...], times: int, *, cold: bool = False) -> float:
        """Milliseconds of one command, the median of some."""
        found = []
        for _ in range(times):
            if cold:
                self.redis.send("FLUSHDB")
            started = time.perf_counter()
            reply = self.client.send(*words)
            found.append((time.perf_counter() - started) * 1000)
            assert not reply.frame.is_error, reply
        return statistics.median(found)

    def rate(self, words: tuple[str, ...], requests: int) -> str:
        """Requests per second of many clients, and the slowest in a hundred."""
        clients = min(CLIENTS, requests)
        load = ("-c", str(clients), "-n", str(requests), "--csv")
        argv = ["redis-benchmark", "-p", str(self.strata.port), *load, *words]
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        fields = [one.strip('"') for one in out.strip().splitlines()[-1].split('","')]
        return f"{float(fields[1]):,.0f}/s, p99 {float(fields[6]):.1f} ms"

    def measure(self, words: tuple[str, ...], requests: int, *, slow: bool = False) -> Cells:
        """One command, cold and hot."""
        name = words[0]
        cold = self.timed(words, 1 if slow else COLD, cold=True)
        hot = self.timed(words, 3 if slow else HOT)
        rate = self.rate(words, 10 if slow and hot > 20 else requests)
        return {
            f"{name} cold": f"{cold:,.2f} ms",
            f"{name} hot": f"{hot:.2f} ms",
            f"{name} hot, {CLIENTS} clients": rate,
        }


@contextmanager
def stand(tier: RedisServer, *flags: str) -> Iterator[Stand]:
    """A fresh server over an empty Redis."""
    with tempfile.TemporaryDirectory() as directory, tier.client() as redis:
        redis.send("FLUSHALL")
        slow_ones = ("--cache-timeout", "2000", "--zset-store-timeout", "10000")
        strata = start_strata(Path(directory) / "data", tier, *flags, *slow_ones)
        try:
            with strata.client() as client:
                client._sock.settimeout(300)
                yield Stand(strata, client, redis)
        finally:
            strata.stop()


def name_of(number: int, width: int) -> bytes:
    return b"member:%07d:" % number + b"x" * (width - 15)


def load_zset(client: WireClient, members: int, width: int) -> None:
    """Names of `width` bytes, scores without ties."""
    step = 500
    for at in range(0, members, step):
        words: list[bytes] = [b"ZADD", b"zset"]
        for number in range(at, min(at + step, members)):
            words += (b"%d" % (number * 7919 % 1_000_003), name_of(number, width))
        client.write(encode(*words))
        assert client.read().frame.number is not None


def bytes_in(redis: WireClient) -> int:
    found = re.search(rb"used_memory:(\d+)", redis.send("INFO", "memory").frame.data or b"")
    return int(found[1]) if found else 0


def measure_zset(tier: RedisServer, version: int, members: int, requests: int, width: int) -> Cells:
    with stand(tier, "--zset-encoding", str(version)) as stood:
        empty = bytes_in(stood.redis)
        started = time.perf_counter()
        load_zset(stood.client, members, width)
        cells = {"loading": f"{time.perf_counter() - started:.0f} s"}
        rank = ("ZRANK", "zset", name_of(members // 2, width).decode())
        deep = ("ZRANGE", "zset", str(members // 2), str(members // 2 + 99))
        stood.client.send(*rank)
        cells["MB in Redis"] = f"{max(0, bytes_in(stood.redis) - empty) / 1e6:.1f}"
        for words in (rank, deep):
            cells |= stood.measure(words, requests, slow=True)
        return cells


def measure_small(tier: RedisServer, version: int, requests: int) -> Cells:
    cells: Cells = {}
    flags = ("--hash-encoding", str(version), "--set-encoding", str(version))
    with stand(tier, *flags) as stood:
        pairs = [word for n in range(FIELDS) for word in (f"field-{n}", "v" * 50)]
        stood.client.send("HSET", "hash", *pairs)
        stood.client.send("SADD", "set", *(f"member-{n}" for n in range(FIELDS)))
        for words in (("HGET", "hash", "field-7"), ("HGETALL", "hash"), ("SMEMBERS", "set")):
            cells |= stood.measure(words, requests)
    return cells


def write(tables: list[Table], out: Path) -> None:
    """The tables so far: a run that is stopped leaves what it has."""
    facts = ", ".join(f"{name} {value}" for name, value in machine.describe().items())
    lines = ["# Versions that use the Redis tier", "", facts + ".", ""]
    lines += ["Embedded LevelDB, one redis-server, all on this machine.", ""]
    for table in tables:
        lines += table.lines()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=24, help="bytes of a member")
    parser.add_argument("--versions", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    small = Table(f"Hashes and sets of {FIELDS} members")
    large = Table(
        f"A sorted set of {chosen.members:,} members of {chosen.width} bytes, in its middle"
    )
    tables = [small, large]
    with tempfile.TemporaryDirectory() as directory:
        tier = RedisServer(Path(directory) / "redis").start()
        try:
            for version in chosen.versions:
                small.columns[f"v{version}"] = measure_small(tier, version, chosen.requests)
                write(tables, chosen.out)
            for version in chosen.versions:
                large.columns[f"v{version}"] = measure_zset(
                    tier, version, chosen.members, chosen.requests, chosen.width
                )
                write(tables, chosen.out)
        finally:
            tier.stop()
    print(chosen.out.read_text())


if __name__ == "__main__":
    main()
