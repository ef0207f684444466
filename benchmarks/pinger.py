"""PINGs at a fixed rate in a process of its own: what another client feels.

The schedule is fixed in advance and a latency runs from the planned moment, so a stall of 200 ms
counts for every PING that was due in it and not for one alone. No PING waits for the reply of the
one before: a server that answers each within 3 ms shows 3 ms, and not a queue that the pinger made.
`python -m benchmarks.pinger HOST PORT INTERVAL_MS` pings until its standard input closes, then
prints one JSON object.
"""

import json
import select
import socket
import subprocess
import sys
import time
from collections import deque
from types import TracebackType
from typing import Self

import hiredis

from benchmarks.histogram import Histogram
from benchmarks.resp import encode
from benchmarks.sample import Sample

PING = encode("PING")


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


def ping_until_closed(connection: socket.socket, interval_s: float) -> Histogram:
    """PING on schedule until standard input closes, and then until every reply is there."""
    histogram, reader = Histogram(), hiredis.Reader(notEnoughData=Ellipsis)
    unanswered: deque[float] = deque()
    due, is_open = time.perf_counter(), True
    while is_open or unanswered:
        while is_open and due <= time.perf_counter():
            connection.sendall(PING)
            unanswered.append(due)
            due += interval_s
        wait_s = max(0.0, due - time.perf_counter()) if is_open else None
        watched = [connection, sys.stdin] if is_open else [connection]
        ready, _, _ = select.select(watched, [], [], wait_s)
        if connection in ready:
            data = connection.recv(1 << 16)
            if not data:
                raise ConnectionError("the server closed the connection")
            reader.feed(data)
            now = time.perf_counter()
            while reader.gets() is not Ellipsis:
                histogram.record(int((now - unanswered.popleft()) * 1e6))
        is_open = is_open and sys.stdin not in ready
    return histogram


def main() -> None:
    """Ping the server named on the command line."""
    host, port, interval_ms = sys.argv[1:]
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print("started", flush=True)
        histogram = ping_until_closed(connection, float(interval_ms) / 1000)
    print(json.dumps({"pings": histogram.total, **histogram.summary_ms()}))


if __name__ == "__main__":
    main()
