"""A fresh StrataKV for a demonstration: its own process, a free port, an empty directory."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

STOP_DEADLINE_S = 20.0


class NotStarted(RuntimeError):
    """The server ended before it was ready; its own message is on the standard error."""


@contextmanager
def fresh_server(flags: Sequence[str] = ()) -> Iterator[str]:
    """Serve an empty store for the length of the block; yields its redis:// URL."""
    with tempfile.TemporaryDirectory(prefix="stratakv-example-") as directory:
        process = subprocess.Popen(
            _argv(directory, flags), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        try:
            yield f"redis://127.0.0.1:{_port(process)}"
        finally:
            _stop(process)


def _argv(directory: str, flags: Sequence[str]) -> list[str]:
    places = ["--bind", "127.0.0.1", "--port", "0", "--http-port", "0", "--dir", directory]
    return [sys.executable, "-m", "stratakv", "serve", *places, *flags]


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
