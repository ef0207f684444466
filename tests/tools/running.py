"""A command line of StrataKV, run to its end."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.harness.servers import ROOT, STRATAKV, Process, environment
from tests.harness.waiting import HANG_S


class Ended(NamedTuple):
    code: int
    output: str


def stratakv(*words: str | Path) -> Ended:
    done = subprocess.run(
        [*STRATAKV, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
        env=environment(),
        timeout=HANG_S,
    )
    return Ended(done.returncode, done.stdout.decode())


def succeeded(*words: str | Path) -> str:
    """The output of a command that has to succeed."""
    code, output = stratakv(*words)
    assert code == 0, output
    return output


def url(server: Process, database: int = 0) -> str:
    return f"redis://127.0.0.1:{server.port}/{database}"
