"""A monitor of video jobs: workers, the live view, and what an operator needs."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import redis
from rich.console import Console

from examples.arguments import DEFAULT_URL, number, redis_url
from examples.momentry import monitor
from examples.momentry.board import Board
from examples.momentry.keys import PREFIX_VARIABLE, Keys, prefix_from_environment
from examples.momentry.model import PROCESSORS, Kind, Message, Status
from examples.momentry.store import JobStore, Refused, connect
from examples.momentry.worker import Worker, sample_videos


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: refused, or no server; 2: wrong usage."""
    args = _parser().parse_args(argv)
    try:
        with connect(args.url, **_credentials()) as client:
            args.run(JobStore(client, Keys(args.prefix)), args)
    except (Refused, redis.RedisError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def _work(store: JobStore, args: argparse.Namespace) -> None:
    """Each video has its own random numbers: how they are shared out changes nothing."""
    videos = args.videos or sample_videos(args.jobs, args.seed)

    def process(video: str) -> None:
        rng = random.Random(f"{args.seed} {video}")
        worker = Worker(store, rng, args.fail_rate, lambda: time.sleep(args.step_ms / 1000))
        job = worker.process(video)
        print(f"{job.uuid} {job.status} {video} {job.last_error}".rstrip(), flush=True)

    with ThreadPoolExecutor(args.parallel) as pool:
        list(pool.map(process, videos))


def _monitor(store: JobStore, args: argparse.Namespace) -> None:
    console = Console(width=args.width)
    if args.once:
        monitor.show_once(Board(store), console)
    else:
        monitor.show_live(Board(store), console, args.until_idle)


def _fail(store: JobStore, args: argparse.Namespace) -> None:
    """Give up a job whose worker is gone."""
    state, now = store.state(args.uuid), int(time.time())
    if state.job is None or state.job.status is not Status.RUNNING:
        raise Refused(f"no running job {args.uuid}")
    job = state.job.failed(args.reason, now)
    message = Message(Kind.ERROR, job.current_processor, now, args.reason, 0, 0)
    known = state.processors.get(job.current_processor)
    store.end(job, replace(known, status=Status.FAILED) if known else None, message, {})
    print(f"{job.uuid} {job.status} {args.reason}")


def _sweep(store: JobStore, args: argparse.Namespace) -> None:
    print(f"{store.sweep()} jobs forgotten")


def _credentials() -> dict[str, str | int]:
    """REDIS_PASSWORD and REDIS_DB, where they are set."""
    found: dict[str, str | int] = {}
    if password := os.environ.get("REDIS_PASSWORD"):
        found["password"] = password
    if database := os.environ.get("REDIS_DB"):
        if not database.isdecimal():
            raise Refused(f"REDIS_DB is not a number: {database}")
        found["db"] = int(database)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.momentry", description=__doc__)
    url = os.environ.get("REDIS_URL", DEFAULT_URL)
    parser.add_argument(
        "--url", type=redis_url, default=url, help="the server (REDIS_URL), %(default)s"
    )
    prefix = prefix_from_environment()
    named = f"of every key ({PREFIX_VARIABLE}), %(default)s"
    parser.add_argument("--prefix", default=prefix, help=named)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    work = commands.add_parser("work", help=f"process videos: {', '.join(PROCESSORS)}, simulated")
    work.add_argument("videos", nargs="*", metavar="VIDEO", help="paths; a sample if none is given")
    work.add_argument("--jobs", type=number(int, 1, 10000), default=3, help="size of the sample")
    work.add_argument("--seed", type=int, default=1, help="of the sample and of what fails")
    work.add_argument("--parallel", type=number(int, 1, 64), default=2, help="videos at once")
    work.add_argument(
        "--step-ms", type=number(float, 0.0, 60000.0), default=100.0, help="pause, %(default)s"
    )
    work.add_argument("--fail-rate", type=number(float, 0.0, 1.0), default=0.2, help="%(default)s")
    work.set_defaults(run=_work)

    watch = commands.add_parser("monitor", help="show jobs as they move")
    watch.add_argument("--once", action="store_true", help="print the state and end")
    idle = number(float, 0.0, 86400.0)
    watch.add_argument("--until-idle", type=idle, metavar="S", help="end after S quiet seconds")
    watch.add_argument("--width", type=number(int, 40, 1000), help="columns")
    watch.set_defaults(run=_monitor)

    fail = commands.add_parser("fail", help="give up a running job whose worker is gone")
    fail.add_argument("uuid")
    fail.add_argument("reason", nargs="?", default="given up")
    fail.set_defaults(run=_fail)

    commands.add_parser("sweep", help="forget ended jobs that expired").set_defaults(run=_sweep)
    return parser
