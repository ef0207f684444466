"""Two installations on one server, watched by a late monitor: `python -m examples.run momentry`."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import redis
from rich.console import Console

from examples.momentry.board import Board, describe
from examples.momentry.keys import Keys
from examples.momentry.model import Kind, Message, Status
from examples.momentry.monitor import Monitor, show_once
from examples.momentry.store import JobStore, connect
from examples.momentry.worker import Worker, sample_videos, uuid_of
from examples.server import fresh_server


def main() -> None:
    """Process videos while a monitor watches, and show that the other prefix sees nothing."""
    console = Console(width=140)
    with fresh_server() as url, connect(url) as client:
        production = JobStore(client, Keys("momentry:"))
        development = JobStore(client, Keys("momentry_dev:"))
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(_work, production, sample_videos(4, seed=3))
            board = Board(production)
            board.load()
            Monitor(board, heard=_print_milestone).run(until_idle_s=0.5)
            work.result()
        show_once(board, console)
        _work(development, ["/videos/test.mp4"])
        console.print("\na monitor that starts late, in development:")
        show_once(Board(development), console)
        _check(client, production)


def _work(store: JobStore, videos: list[str]) -> None:
    for number, video in enumerate(videos):
        Worker(store, random.Random(number), fail_rate=1.0 if number == 2 else 0.0).process(video)


def _print_milestone(uuid: str, message: Message) -> None:
    if message.kind is not Kind.PROGRESS:
        print(describe(uuid, message))


def _check(client: redis.Redis, production: JobStore) -> None:
    completed = production.uuids(Status.COMPLETED)
    uuid = uuid_of(sample_videos(4, seed=3)[0])
    keys = [production.keys.job(uuid), production.keys.metrics(uuid, "cpu")]
    ttls = ", ".join(f"{key} {client.ttl(key)} s" for key in keys)
    print(f"production: {len(completed)} completed; time to live: {ttls}")
    if production.summary().active or uuid not in completed:
        raise AssertionError("a job is not where it belongs")
