"""Programs that this one starts, waits for and stops; a Ctrl-C reaches this one alone."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOOK_SECONDS = 0.05
SHOWN_CHARS = 2000


class Failed(Exception):
    """A program did not do what was expected; the text is for a person."""


class Program:
    """One of them, whose output goes to a file."""

    def __init__(
        self, name: str, words: Sequence[str], log: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self._log = log
        self._seen = log.stat().st_size if log.exists() else 0
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def output(self) -> str:
        """What it has printed since it was started."""
        with self._log.open("rb") as file:
            file.seek(self._seen)
            return file.read().decode("utf-8", "replace")

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        """Until it has printed that; raises `Failed` if it ends first, or never does."""
        deadline = time.monotonic() + seconds
        while True:
            is_running = self.is_running  # looked at first: its last words come before its end
            if found := re.search(pattern, self.output()):
                return found
            if not is_running:
                raise Failed(f"{self.name} has ended:\n{self.output()[-SHOWN_CHARS:]}")
            if time.monotonic() > deadline:
                raise Failed(f"{self.name} is not ready after {seconds:.0f} s: see {self._log}")
            time.sleep(LOOK_SECONDS)

    def ask_to_end(self) -> None:
        """SIGTERM."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)

    def end(self, seconds: float) -> bool:
        """Wait for its end, but no longer than that: then it is killed. Says whether it was not."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        return True
