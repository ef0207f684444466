"""What other clients feel while one client works on a million elements."""

import time

from benchmarks.pinger import Pinger
from benchmarks.resp import encode
from benchmarks.sample import Sample
from benchmarks.servers import Server
from benchmarks.workloads.model import Case, Options, Workload, load, size_name
from benchmarks.workloads.shaped import collection_spec, fill_spec

MARK = b"end-of-heavy-command"
WATCH_S = 3.0
Heavy = tuple[str | int, ...]
HEAVY_COMMANDS: list[tuple[str, Heavy | None, bool]] = [
    ("idle", None, False),
    ("hgetall", ("HGETALL", "hash"), False),
    ("zrange", ("ZRANGE", "zset", 0, -1), False),
    ("keys", ("KEYS", "*"), False),
    ("del", ("DEL", "hash"), True),
    ("flushall", ("FLUSHALL",), True),
]


def fairness(options: Options) -> Workload:
    """PING latency while another client runs a heavy command; destructive commands come last."""
    elements = options.elements

    def fill(server: Server) -> None:
        load(server, collection_spec("fill_hash", elements, "hash"))
        load(server, collection_spec("fill_zset", elements, "zset"))
        load(server, fill_spec(0, elements, 16))

    return Workload(
        "fairness",
        f"PING of another client during heavy commands on {elements:,} elements",
        [_case(name, heavy, once, elements) for name, heavy, once in HEAVY_COMMANDS],
        prepare=fill,
        rounds=1,
    )


def _case(name: str, heavy: Heavy | None, once: bool, elements: int) -> Case:
    return Case(f"{name}-{size_name(elements)}", lambda server: ping_during(server, heavy, once))


def ping_during(server: Server, heavy: Heavy | None, once: bool = False) -> Sample:
    """PING every millisecond for at least three seconds while the command runs.

    A command that leaves its work for later runs once, and the PINGs go on while that is done.
    """
    durations_s: list[float] = []
    with Pinger(server.host, server.port) as pinger:
        end = time.monotonic() + WATCH_S
        while heavy and time.monotonic() < end:
            durations_s.append(run_heavy(server, heavy))
            if once:
                break
        time.sleep(max(0.0, end - time.monotonic()))
    sample = pinger.result | {"requests": pinger.result["pings"]}
    return sample | ({"command_ms": 1000 * max(durations_s)} if durations_s else {})


def run_heavy(server: Server, heavy: Heavy) -> float:
    """Send a command and throw its reply away unparsed; the seconds until its end.

    The client must stay cheap, or on a small machine it would take the CPU from the server; so
    the end is known by the reply of an ECHO sent behind the command.
    """
    began = time.perf_counter()
    with server.client() as client:
        tail = client.drain(encode(*heavy) + encode("ECHO", MARK), MARK + b"\r\n")
    if tail.startswith(b"-"):
        raise RuntimeError(tail.decode(errors="replace"))
    return time.perf_counter() - began
