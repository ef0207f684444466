"""Moving in, following and backing up: how fast, in how much memory, and what others feel of it.

    python -m benchmarks.moving [--keys 1000000] [--value-bytes 100] [--backup-keys 1000000]
                                [--part imports|syncs|costs|backups] [--rounds 5]

Imports a dump of redis-server, has servers follow each other, writes with and without replicas, and
backs up a store while PINGs run. Every server is started here, on loopback and in directories of
its own, and is stopped at the end. Writes benchmarks/results/moving.md
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import loadgen, machine, procfs, replica_costs
from benchmarks.pinger import Pinger
from benchmarks.replica_costs import PATIENCE_S, follow
from benchmarks.servers import Server, redis_server, running, settle, stratakv
from benchmarks.workloads.shaped import fill_spec

OUT = Path(__file__).parent / "results" / "moving.md"
PYTHON = os.environ.get("STRATAKV_PYTHON", sys.executable)
BACKUP_VALUE_BYTES = 5000


def filled(server: Server, keys: int, value_bytes: int) -> Server:
    """A server with that many strings."""
    loadgen.run(server.host, server.port, fill_spec(0, keys, value_bytes))
    return server


# moving in


def imports(keys: int, value_bytes: int, scratch: Path) -> Iterator[str]:
    """A dump of redis-server into a directory, and into a running server."""
    with running([redis_server()]) as (source,):
        filled(source, keys, value_bytes)
        with source.client(PATIENCE_S) as client:
            client.call("SAVE")
        assert source.directory is not None
        dump = scratch / "dump.rdb"
        dump.write_bytes((source.directory / "dump.rdb").read_bytes())
    megabytes = dump.stat().st_size / 2**20
    yield "| import | keys/s | MB of dump/s | peak memory MB |"
    yield "|---|---|---|---|"
    yield _imported("into a directory", dump, str(scratch / "data"), keys, megabytes)
    with running([stratakv()]) as (target,):
        url = f"redis://{target.host}:{target.port}"
        yield _imported("into a running server", dump, url, keys, megabytes)


def _imported(name: str, dump: Path, target: str, keys: int, megabytes: float) -> str:
    began = time.perf_counter()
    argv = [PYTHON, "-m", "stratakv", "import", str(dump), target]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    assert status == 0, f"the import ended with {status}"
    peak = usage.ru_maxrss / 1024
    return f"| {name} | {keys / seconds:,.0f} | {megabytes / seconds:.1f} | {peak:,.0f} |"


# following


def full_syncs(keys: int, value_bytes: int) -> Iterator[str]:
    """Each kind of server as a master and as a replica of the other."""
    yield "| full sync | keys/s | seconds | replica's own memory MB | PING p99 of the master's |"
    yield "|---|---|---|---|---|"
    pairs = [(redis_server, stratakv), (stratakv, redis_server), (stratakv, stratakv)]
    for make_master, make_replica in pairs:
        with running([make_master(), make_replica()]) as (master, replica):
            filled(master, keys, value_bytes)
            if master.name == "redis":
                with master.client() as client:  # it would wait for more replicas for 5 seconds
                    client.call("CONFIG", "SET", "repl-diskless-sync-delay", 0)
            settle([master, replica], 10)
            with Pinger(master.host, master.port) as pinger:
                seconds = follow(replica, master)
            with replica.client() as client:
                assert client.call("DBSIZE") == keys, "not all keys have come"
            memory = procfs.memory_mb(replica.pid).get("anon_mb", 0.0)
            name = f"{master.name} to {replica.name}"
            p99 = pinger.result["p99_ms"]
            rate = keys / seconds
            yield f"| {name} | {rate:,.0f} | {seconds:.1f} | {memory:,.0f} | {p99:.1f} ms |"


# backing up


def backups(keys: int, scratch: Path) -> Iterator[str]:
    """A backup of a large store while others are served."""
    with running([stratakv()]) as (server,):
        filled(server, keys, BACKUP_VALUE_BYTES)
        settle([server], 30)
        yield "| backup of | seconds | PING p99 | PING at most |"
        yield "|---|---|---|---|"
        with Pinger(server.host, server.port) as pinger, server.client(PATIENCE_S) as client:
            began = time.perf_counter()
            client.call("STRATA", "BACKUP", str(scratch / "backup"))
            seconds = time.perf_counter() - began
        result = pinger.result
        files = [path for path in (scratch / "backup").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 2**30
        pings = f"{result['p99_ms']:.1f} ms | {result['max_ms']:.1f} ms"
        yield f"| {size:.1f} GB | {seconds:.2f} | {pings} |"


def report(chosen: argparse.Namespace, scratch: Path) -> Iterator[str]:
    """What was asked for as Markdown."""
    facts = ", ".join(f"{name} {value}" for name, value in machine.describe().items())
    yield f"# Moving in, following, backing up\n\n{facts}.\n"
    for part in chosen.part or PARTS:
        yield from PARTS[part](chosen, scratch)
        yield ""


def _report_imports(chosen: argparse.Namespace, scratch: Path) -> Iterator[str]:
    yield f"{chosen.keys:,} strings of {chosen.value_bytes} bytes:\n"
    yield from imports(chosen.keys, chosen.value_bytes, scratch)


def _report_syncs(chosen: argparse.Namespace, scratch: Path) -> Iterator[str]:
    yield f"{chosen.keys:,} strings of {chosen.value_bytes} bytes:\n"
    yield from full_syncs(chosen.keys, chosen.value_bytes)


def _report_costs(chosen: argparse.Namespace, scratch: Path) -> Iterator[str]:
    yield f"{replica_costs.RANDOM_KEYS:,} random keys, 3 bytes each, pipeline 16, 50 clients:\n"
    yield from replica_costs.table(replica_costs.setups(), chosen.rounds)


def _report_backups(chosen: argparse.Namespace, scratch: Path) -> Iterator[str]:
    yield f"A store of {chosen.backup_keys:,} strings of {BACKUP_VALUE_BYTES:,} bytes:\n"
    yield from backups(chosen.backup_keys, scratch)


PARTS = {
    "imports": _report_imports,
    "syncs": _report_syncs,
    "costs": _report_costs,
    "backups": _report_backups,
}


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--backup-keys", type=int, default=1_000_000)
    parser.add_argument("--part", choices=PARTS, action="append", help="nothing but this")
    parser.add_argument("--rounds", type=int, default=replica_costs.ROUNDS)
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-moving-")))
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        with chosen.out.open("w") as out:
            for line in report(chosen, scratch):
                print(line, flush=True)
                print(line, file=out, flush=True)  # what there is stays, should a later part fail


if __name__ == "__main__":
    main()
