"""Workloads about memory, long writes and start-up."""

import time

from benchmarks import loadgen, metrics, procfs
from benchmarks.lanes import Spec
from benchmarks.metrics import LagMeter
from benchmarks.pinger import Pinger
from benchmarks.sample import Sample, Unavailable
from benchmarks.servers import Server
from benchmarks.workloads.model import Case, Options, Workload, load, size_name
from benchmarks.workloads.shaped import fill_spec, filled

SAMPLE_EVERY_S = 0.25
KEYS_OF_SUSTAINED = 1_000_000


def memory(options: Options) -> Workload:
    """Peak memory of a fresh server while a million keys of 1 KB are written, then read."""
    keys = options.elements
    read = Spec("read_strings", keys, keys, connections=8, pipeline=64, lazy=True)

    def measure(write: bool, server: Server) -> Sample:
        sample = load(server, fill_spec(0, keys, 1024) if write else read)
        return sample | {"disk_mb": server.disk_mb()}

    return Workload(
        "memory",
        f"{keys:,} keys of 1 KB written, then read, default settings",
        [
            Case(f"write-{size_name(keys)}", lambda s: measure(True, s)),
            Case(f"read-{size_name(keys)}", lambda s: measure(False, s)),
        ],
        rounds=1,
    )


def startup(options: Options) -> Workload:
    """Time from starting the process to its first PING, on a store that has keys."""
    keys = 100_000 if options.short else options.keys

    def measure(server: Server) -> Sample:
        if not server.keeps_data:
            raise Unavailable("keeps nothing on disk in this setting")
        server.stop()
        return {"startup_ms": server.start() * 1000, "requests": 1.0}

    title = f"start-up to the first PING, {keys:,} keys"
    return Workload("startup", title, [Case(size_name(keys), measure)], prepare=filled(keys, 16))


def sustained(options: Options) -> Workload:
    """Writes at full speed up to a bound in bytes, with the loop's lag and memory over time."""
    series: dict[str, list[dict[str, float]]] = {}

    def measure(server: Server) -> Sample:
        return write_until(server, options, series.setdefault(server.name, []))

    return Workload(
        "sustained",
        f"SET of 1 KB at full speed, {options.sustained_bytes / 2**30:.1f} GiB",
        [Case("write", measure)],
        rounds=1,
        series=series,
    )


def write_until(server: Server, options: Options, points: list[dict[str, float]]) -> Sample:
    """Write the bytes, note a point every quarter second, and sum up."""
    spec = Spec(
        "overwrite_strings",
        steps=options.sustained_bytes // 1024,
        keys=KEYS_OF_SUSTAINED,
        value_bytes=1024,
        connections=50,
        pipeline=16,
        lazy=True,
    )
    lag = LagMeter(lambda: metrics.page(server), options.lag_metric)
    with (
        Pinger(server.host, server.port, interval_ms=5) as pinger,
        loadgen.start(server.host, server.port, spec) as process,
    ):
        began = time.monotonic()
        while process.poll() is None:
            points.append({"t_s": time.monotonic() - began, **_point(server, lag)})
            time.sleep(SAMPLE_EVERY_S)
        out, err = process.communicate()
    sample = loadgen.parse_result(out, err)
    pings = {f"ping_{name}": value for name, value in pinger.result.items()}
    p999_ms = lag.p999_ms()
    return sample | pings | ({} if p999_ms is None else {"lag_p999_ms": p999_ms})


def _point(server: Server, lag: LagMeter) -> dict[str, float]:
    point = {"rss_mb": procfs.memory_mb(server.pid).get("rss_mb", 0.0)}
    lag_ms = lag.sample_ms()
    return point | ({} if lag_ms is None else {"lag_ms": lag_ms})
