"""Worker processes of job queues: started by a test, ended by their pid, output kept in a file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S


def run_to_end(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """The output of a program that has to succeed."""
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def running(argv: Sequence[str], env: Mapping[str, str], log: Path) -> Iterator[int]:
    """A worker for the length of the block. SIGTERM ends it, and it has to go in good order."""
    with log.open("wb") as sink:
        worker = subprocess.Popen(
            argv, cwd=ROOT, env={**os.environ, **env}, stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        yield worker.pid
        worker.terminate()
        assert worker.wait(HANG_S) == 0, log.read_text(errors="replace")
    finally:
        worker.kill()
        worker.wait()
