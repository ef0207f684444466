"""`stratakv-redis-server` as a child process, as suites start a redis-server."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.harness.servers import SERVER_PYTHON, TESTED, Process, environment, free_port
from tests.harness.waiting import HANG_S, wait_until

LAUNCHER = (SERVER_PYTHON, "-P", "-m", "stratakv.redis_server")


@dataclass(slots=True, eq=False)
class Launched(Process):
    """A server that was given words, as a redis-server; `dir` is its directory."""

    words: Sequence[str] = ()
    _seen: int = field(init=False, default=0)

    def start(self) -> Self:
        self.port = self.port or free_port()
        self._seen = len(self.output())
        words = [*self.words, "--port", str(self.port), "--dir", str(self.dir)]
        self._spawn([*LAUNCHER, *words], {**TESTED, **environment()})
        wait_until(lambda: self.is_ready or not self.is_running)
        if not self.is_ready:
            raise self._fail("it is not ready")
        return self

    @property
    def is_ready(self) -> bool:
        """Whether it has said so since it was started."""
        return "Ready to accept connections" in self.output()[self._seen :]


def launch(
    *words: str, stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Start one that is to end by itself."""
    return subprocess.run(
        [*LAUNCHER, *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        cwd=cwd,
        env={**TESTED, **environment()},
    )
