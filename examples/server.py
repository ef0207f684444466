"""Fresh servers for a demonstration: their own processes, free ports, empty directories."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import redis

PYTHON_VARIABLE = "STRATAKV_PYTHON"
"""May name another interpreter, whose StrataKV serves."""
START_DEADLINE_S = 20.0
STOP_DEADLINE_S = 20.0


class NotStarted(RuntimeError):
    """The server ended before it was ready; its own message is on the standard error."""


@contextmanager
def fresh_server(flags: Sequence[str] = ()) -> Iterator[str]:
    """Serve an empty store for the length of the block; yields its redis:// URL."""
    with tempfile.TemporaryDirectory(prefix="stratakv-example-") as directory:
        process = subprocess.Popen(
            _argv(directory, flags),
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={name: value for name, value in os.environ.items() if name != PYTHON_VARIABLE},
        )
        try:
            yield f"redis://127.0.0.1:{_port(process)}"
        finally:
            _stop(process)


@contextmanager
def fresh_redis() -> Iterator[str]:
    """Run an empty redis-server for the length of the block; yields its unix:// URL."""
    with tempfile.TemporaryDirectory(prefix="stratakv-example-") as directory:
        url = f"unix://{directory}/redis.sock"
        argv = ["redis-server", "--port", "0", "--unixsocket", f"{directory}/redis.sock"]
        try:
            process = subprocess.Popen(
                [*argv, "--save", "", "--dir", directory], stdout=subprocess.DEVNULL, text=True
            )
        except FileNotFoundError:
            raise NotStarted("redis-server is not installed") from None
        try:
            _wait_for_redis(process, url)
            yield url
        finally:
            _stop(process)


def _wait_for_redis(process: subprocess.Popen[str], url: str) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    with redis.Redis.from_url(url) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                client.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.01)
    raise NotStarted(f"redis-server is not ready (exit code {process.poll()})")


def _argv(directory: str, flags: Sequence[str]) -> list[str]:
    places = ["--bind", "127.0.0.1", "--port", "0", "--http-port", "0", "--dir", directory]
    python = os.environ.get(PYTHON_VARIABLE, sys.executable)
    return [python, "-P", "-m", "stratakv", "serve", *places, *flags]


def _port(process: subprocess.Popen[str]) -> int:
    """Read the ready line, which tells the port that was free."""
    assert process.stdout is not None
    ready = re.search(r"\bport=(\d+)", process.stdout.readline())
    if ready is None:
        raise NotStarted(f"stratakv is not ready (exit code {process.poll()})")
    return int(ready[1])


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
