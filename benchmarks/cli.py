"""Measure StrataKV next to redis-server: run workloads, guard against regressions, report."""

import argparse
import json
import signal
import sys
from pathlib import Path
from types import FrameType

from benchmarks import guard, machine, report, targets
from benchmarks.progress import progress
from benchmarks.results import REFERENCE, Results
from benchmarks.runner import LIMIT_S, Fleet, run_workload, step_count
from benchmarks.sample import Unavailable
from benchmarks.servers import Server, peer, redis_server, running, stratakv
from benchmarks.workloads import CATALOGUE, SUITES, Options, select

GUARDED = ["p1", "p16", "random-100k-64"]


def main(argv: list[str] | None = None) -> int:
    """Run the program; the exit code."""
    arguments = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _leave)
    try:
        return int(arguments.action(arguments))
    except (ValueError, FileNotFoundError, Unavailable) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """All commands and options; `run` is the default."""
    top = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    _add_run_options(top)
    top.set_defaults(action=run)
    commands = top.add_subparsers(metavar="check | baseline | report")
    for name, action, text in (
        ("check", check, "compare shares of Redis with the stored baseline"),
        ("baseline", baseline, "store the shares of Redis of a run as the baseline"),
        ("report", again, "write the report of a stored results.json again"),
    ):
        command = commands.add_parser(name, help=text)
        command.set_defaults(action=action)
        _add_run_options(command)
        command.add_argument("--results", type=Path, help="a stored results.json instead of a run")
        command.add_argument("--baseline", type=Path, default=guard.BASELINE)
        command.add_argument("--tolerance", type=float, default=guard.TOLERANCE)
    return top


def _add_run_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--suite", choices=SUITES, default="short", help="which workloads, and how large")
    add("--only", default="", help=f"workloads, with commas: {', '.join(CATALOGUE)}")
    add("--rounds", type=_at_least_one, default=5, help="of each case, %(default)s")
    minutes = LIMIT_S / 60
    add("--minutes", type=float, default=minutes, help="no new round of a workload after so many")
    add("--out", type=Path, default=Path("benchmarks/results"), help="directory, %(default)s")
    add("--peer", action="append", default=[], metavar="NAME=HOST:PORT")
    add("--no-stratakv", action="store_true", help="measure the peers and redis-server alone")
    add("--control", action="store_true", help="a second redis-server: its share is the noise")
    add("--seed", type=int, default=1)
    add("--bytes", type=int, default=3 * 2**30, help="bound of the sustained workload")
    add("--elements", type=int, default=1_000_000, help="size of fairness and memory")
    add("--keys", type=int, default=5_000_000, help="keys of the start-up workload, suite full")
    add("--lag-metric", default=Options.__dataclass_fields__["lag_metric"].default)


def _at_least_one(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and write the report."""
    results = measure(arguments, arguments.out)
    write_report(results, arguments.out)
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Print the comparison with the baseline; 1 when a case has regressed or no longer runs."""
    if not arguments.baseline.exists():
        raise ValueError(f"no {arguments.baseline} yet: `python -m benchmarks baseline` makes it")
    results = stored_or_measured(arguments)
    known = guard.load(arguments.baseline)
    stored = {id_: share for id_, share in known.items() if id_.partition("/")[0] in results.titles}
    compared = guard.compare(stored, guard.shares(results, "stratakv"), arguments.tolerance)
    print(report.guard_table(compared))
    return int(any(c.mark in ("regressed", "gone") for c in compared))


def baseline(arguments: argparse.Namespace) -> int:
    """Write the baseline."""
    guard.save(stored_or_measured(arguments), "stratakv", arguments.baseline)
    print(f"wrote {arguments.baseline}")
    return 0


def again(arguments: argparse.Namespace) -> int:
    """Write the report of stored results."""
    if arguments.results is None:
        raise ValueError("report wants --results FILE")
    write_report(stored_or_measured(arguments), arguments.out)
    return 0


def stored_or_measured(arguments: argparse.Namespace) -> Results:
    """The results of the file that was named, or of a run of the guarded workloads."""
    if arguments.results is not None:
        return Results.from_json(json.loads(arguments.results.read_text()))
    arguments.only = arguments.only or ",".join(GUARDED)
    return measure(arguments)


def measure(arguments: argparse.Namespace, out: Path | None = None) -> Results:
    """Run the chosen workloads and return their results.

    A long run that is cut short keeps what it has measured below `out`.
    """
    options = Options(
        short=arguments.suite == "short",
        rounds=arguments.rounds,
        seed=arguments.seed,
        sustained_bytes=arguments.bytes,
        elements=arguments.elements,
        keys=arguments.keys,
        lag_metric=arguments.lag_metric,
    )
    only = [name for name in arguments.only.split(",") if name]
    workloads = select(arguments.suite, only, options)
    fleet = fleet_of(arguments)
    settings = {"suite": arguments.suite, "rounds": arguments.rounds, "seed": arguments.seed}
    results = Results(machine.describe(), versions(fleet), settings)
    steps = step_count(workloads, arguments.rounds, len(results.servers))
    with progress(steps) as shown:
        for workload in workloads:
            limit_s = arguments.minutes * 60
            run_workload(workload, fleet, arguments.rounds, results, shown, limit_s)
            if out is not None:
                report.write_json(results, out)
    return results


def fleet_of(arguments: argparse.Namespace) -> Fleet:
    """A function that makes the servers of a run, not yet started."""
    peers = [peer(spec) for spec in arguments.peer]

    def fleet() -> list[Server]:
        mine = [] if arguments.no_stratakv else [stratakv()]
        control = [redis_server("redis-again")] if arguments.control else []
        return [*mine, redis_server(REFERENCE), *control, *peers]

    return fleet


def versions(fleet: Fleet) -> dict[str, str]:
    """Start every server once and ask who it is; a peer that holds data is refused."""
    with running(fleet()) as servers:
        for server in servers:
            with server.client() as client:
                if server.argv is None and client.pipeline([("DBSIZE",)]) != [0]:
                    raise ValueError(f"peer {server.name} holds data and would lose it")
        return {server.name: machine.version_of(server) for server in servers}


def write_report(results: Results, out: Path) -> None:
    """Write JSON, Markdown and, where matplotlib is installed, plots; print the targets."""
    wanted = targets.load()
    try:
        from benchmarks import plots

        drawn = plots.draw(results, wanted, out)
    except ImportError:
        print("benchmarks: no plots without matplotlib (extra `bench`)", file=sys.stderr)
        drawn = []
    report.write(results, wanted, out, drawn)
    verdicts = targets.judge(results, "stratakv", wanted)
    print(report.verdict_table(verdicts) if verdicts else "no target applies to this run")
    print(f"\nwrote {out / 'results.md'}")


def _leave(number: int, frame: FrameType | None) -> None:
    """End as an exception does, so that every started server is stopped."""
    sys.exit(128 + number)
