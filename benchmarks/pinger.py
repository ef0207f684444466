"""PINGs at a fixed rate in a process of its own: what another client feels.

The schedule is fixed in advance and a latency runs from the planned moment, so a stall of 200 ms
counts for every PING that was due in it and not for one alone.
`python -m benchmarks.pinger HOST PORT INTERVAL_MS` pings until its standard input closes, then
prints one JSON object.
"""

import json
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

from benchmarks.histogram import Histogram
from benchmarks.resp import Client
from benchmarks.sample import Sample


class Pinger:
    """A context in which PINGs run; `result` is there when it has been left."""

    def __init__(self, host: str, port: int, interval_ms: float = 1.0) -> None:
        argv = [sys.executable, "-m", "benchmarks.pinger", host, str(port), str(interval_ms)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)
        self.result: Sample = {}

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        out, _ = self._process.communicate(timeout=120)
        if kind is None:
            self.result = json.loads(out)


def ping_until_closed(client: Client, interval_s: float) -> Histogram:
    """PING on schedule until standard input closes."""
    histogram = Histogram()
    due = time.perf_counter()
    while True:
        wait_s = max(0.0, due - time.perf_counter())
        if select.select([sys.stdin], [], [], wait_s)[0]:
            return histogram
        client.call("PING")
        histogram.record(int((time.perf_counter() - due) * 1e6))
        due += interval_s


def main() -> None:
    """Ping the server named on the command line."""
    host, port, interval_ms = sys.argv[1:]
    with Client(host, int(port)) as client:
        client.call("PING")
        print("started", flush=True)
        histogram = ping_until_closed(client, float(interval_ms) / 1000)
    print(json.dumps({"pings": histogram.total, **histogram.summary_ms()}))


if __name__ == "__main__":
    main()
