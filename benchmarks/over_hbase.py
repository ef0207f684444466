"""What the benchmarks of servers on an HBase share: commands, and runs of redis-benchmark."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

CLIENTS = 50
PIPELINES = (1, 16)
VALUE = "x" * 64
NO_CACHE = ("--meta-cache-bytes", "64kb", "--row-cache-bytes", "64kb")


@dataclass(frozen=True, slots=True)
class Work:
    """A command as redis-benchmark takes it, and how often it is sent at each pipeline depth."""

    name: str
    words: tuple[str, ...]
    requests: tuple[int, int]
    is_cold: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """What redis-benchmark says of a run."""

    per_second: float
    p99_ms: float

    def __str__(self) -> str:
        return f"{self.per_second:,.0f}/s, p99 {self.p99_ms:.1f} ms"


def run_benchmark(port: int, pipeline: int, requests: int, keys: int, words: Sequence[str]) -> Rate:
    """Run redis-benchmark with a command; options of its own may stand before it."""
    argv = ["redis-benchmark", "-p", str(port), "-r", str(keys), "-c", str(CLIENTS)]
    argv += ["-n", str(requests), "-P", str(pipeline), "--csv", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    fields = [one.strip('"') for one in done.stdout.strip().splitlines()[-1].split('","')]
    return Rate(float(fields[1]), float(fields[6]))
