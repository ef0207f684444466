"""A load generator in a process of its own: many connections, pipelines, a latency histogram.

`run` starts `python -m benchmarks.loadgen JSON`, which prints one JSON object.
A latency runs from the write of a batch to the arrival of each of its replies. Bytes are built
before the clock starts unless the spec is lazy, so that the client costs as little as it can.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import cast

import hiredis

from benchmarks.histogram import Histogram
from benchmarks.lanes import Lane, Spec, lanes
from benchmarks.sample import Sample, Unavailable
from benchmarks.shapes import batches

TIMEOUT_S = 1800.0


class Tally:
    """What all connections of a run saw together."""

    def __init__(self, connections: int) -> None:
        self.histogram = Histogram()
        self.first_error: str | None = None
        self.running = connections
        self.finished = asyncio.Event()

    def connection_ended(self, error: str | None = None) -> None:
        """Count a connection as done; the run is over when the last one is."""
        self.first_error = self.first_error or error
        self.running -= 1
        if self.running == 0 or error:
            self.finished.set()


class Connection(asyncio.Protocol):
    """Sends a lane's batches one after the other, each when the one before is answered."""

    def __init__(self, stream: Iterator[tuple[bytes, int]], tally: Tally) -> None:
        self._stream = stream
        self._tally = tally
        self._reader = hiredis.Reader(notEnoughData=Ellipsis)
        self._expected = 0
        self._sent_ns = 0
        self._done = False

    def begin(self) -> None:
        """Send the first batch."""
        self._send_next()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        count = 0
        while (reply := self._reader.gets()) is not Ellipsis:
            count += 1
            if isinstance(reply, hiredis.ReplyError):
                self._end(str(reply))
        if count:
            self._answered(count)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("the server closed the connection")

    def _answered(self, count: int) -> None:
        latency_us = (time.perf_counter_ns() - self._sent_ns) // 1000
        self._tally.histogram.record(latency_us, count)
        self._expected -= count
        if self._expected == 0 and not self._done:
            self._send_next()

    def _send_next(self) -> None:
        batch = next(self._stream, None)
        if batch is None:
            self._end()
            return
        data, self._expected = batch
        self._sent_ns = time.perf_counter_ns()
        self._transport.write(data)

    def _end(self, error: str | None = None) -> None:
        if not self._done:
            self._done = True
            self._tally.connection_ended(error)
            self._transport.close()


def run(host: str, port: int, spec: Spec, timeout_s: float = TIMEOUT_S) -> Sample:
    """Send a spec from a new process and return its Sample; Unavailable on any error reply."""
    with start(host, port, spec) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Unavailable(f"did not end within {timeout_s:.0f} s") from error
            raise
    return parse_result(out, err)


def start(host: str, port: int, spec: Spec) -> "subprocess.Popen[str]":
    """Start the generator's process; `parse_result` reads what it printed."""
    order = json.dumps({"host": host, "port": port, "spec": asdict(spec)})
    argv = [sys.executable, "-m", "benchmarks.loadgen", order]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def parse_result(out: str, err: str) -> Sample:
    """The Sample a generator process printed; Unavailable with its error text otherwise."""
    if not out.strip():
        raise Unavailable((err.strip().splitlines() or ["load generator failed"])[-1][:120])
    result = json.loads(out)
    if "error" in result:
        raise Unavailable(result["error"][:120])
    return cast(Sample, result)


async def drive(host: str, port: int, spec: Spec) -> dict[str, float | str]:
    """Open the connections, send everything, and return the Sample or `{"error": text}`."""
    tally = Tally(spec.connections)
    loop = asyncio.get_running_loop()
    connections = []
    for lane in lanes(spec):
        _, connection = await loop.create_connection(_factory(lane, tally), host, port)
        connections.append(connection)
    began = time.perf_counter()
    for connection in connections:
        connection.begin()
    await tally.finished.wait()
    elapsed_s = time.perf_counter() - began
    if tally.first_error:
        return {"error": tally.first_error}
    done = tally.histogram.total
    return {"throughput": done / elapsed_s, "requests": done, **tally.histogram.summary_ms()}


def _factory(lane: Lane, tally: Tally) -> "type[Connection]":
    stream = batches(lane) if lane.spec.lazy else iter(list(batches(lane)))
    return cast("type[Connection]", lambda: Connection(stream, tally))


def main() -> None:
    """Run the order given as JSON on the command line."""
    order = json.loads(sys.argv[1])
    job = drive(order["host"], order["port"], Spec(**order["spec"]))
    try:
        import uvloop
    except ImportError:
        print(json.dumps(asyncio.run(job)))
        return
    print(json.dumps(uvloop.run(job)))


if __name__ == "__main__":
    main()
