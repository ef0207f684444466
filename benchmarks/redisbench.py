"""redis-benchmark as a load generator: one test per run, its report as a Sample.

The full report is read and not `--csv`, because only the full one holds p99.9.
"""

import re
import subprocess
from dataclasses import dataclass

from benchmarks.sample import Sample, Unavailable
from benchmarks.servers import Server

TIMEOUT_S = 180.0
THROUGHPUT = re.compile(r"throughput summary: ([\d.]+) requests per second")
STEP = re.compile(r"^([\d.]+)% <= ([\d.]+) milliseconds", re.MULTILINE)
LATENCIES = re.compile(r"p50\s+p95\s+p99\s+max\s+([\d.\s]+)")


@dataclass(frozen=True, slots=True)
class Plan:
    """The arguments of one redis-benchmark run. `random_keys` 0 means one key for all."""

    test: str
    requests: int
    pipeline: int = 1
    clients: int = 50
    random_keys: int = 0
    value_bytes: int = 3

    def argv(self, host: str, port: int) -> list[str]:
        """The command line."""
        argv = ["redis-benchmark", "-h", host, "-p", str(port), "-t", self.test]
        argv += ["-n", str(self.requests), "-c", str(self.clients), "-P", str(self.pipeline)]
        argv += ["-d", str(self.value_bytes)]
        return argv + (["-r", str(self.random_keys)] if self.random_keys else [])


def measure(server: Server, plan: Plan) -> Sample:
    """Run the plan; Unavailable when the server refuses the command or does not end in time."""
    argv = plan.argv(server.host, server.port)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"did not end within {TIMEOUT_S:.0f} s") from error
    if done.returncode != 0:
        raise Unavailable(_reason(done.stderr) or f"redis-benchmark exit {done.returncode}")
    return parse_report(done.stdout) | {"requests": float(plan.requests)}


def parse_report(text: str) -> Sample:
    """Throughput and percentiles from a report; of several reports in it, the last one counts."""
    report = text[text.rfind("======", 0, text.rfind("Latency by percentile")) :]
    throughput = THROUGHPUT.search(report)
    latencies = LATENCIES.search(report)
    if not throughput or not latencies:
        raise Unavailable("redis-benchmark printed no summary")
    _, _, p50, _, p99, highest = map(float, latencies[1].split()[:6])
    return {
        "throughput": float(throughput[1]),
        "p50_ms": p50,
        "p99_ms": p99,
        "p999_ms": _at_percent(report, 99.9),
        "max_ms": highest,
    }


def _at_percent(report: str, percent: float) -> float:
    """The first latency of the percentile distribution at or above a percentage."""
    distribution = report[: report.find("Cumulative distribution")]
    for share, latency_ms in STEP.findall(distribution):
        if float(share) >= percent:
            return float(latency_ms)
    raise Unavailable("redis-benchmark printed no percentile distribution")


def _reason(stderr: str) -> str:
    match = re.search(r"Error from server: (.*)", stderr)
    return (match[1] if match else stderr).strip()[:120]
