"""Real servers as child processes: each on free ports, in its own directory, with its output kept
in a file.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.harness.wire import WireClient

ROOT = Path(__file__).resolve().parents[2]
SERVER_PYTHON = os.environ.get("STRATAKV_PYTHON", sys.executable)
"""Whose StrataKV is tested: `make test-compiled` names an interpreter with the compiled one."""
START_DEADLINE_S = 20.0
STOP_DEADLINE_S = 20.0
_POLL_S = 0.01


class StartError(AssertionError):
    """A server ended or stayed silent before it was ready; the message carries its output."""


def free_port() -> int:
    """A TCP port that was free a moment ago. Another process may take it first: callers retry."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Process:
    """A child process whose stdout and stderr go to `log`."""

    dir: Path
    log: Path = field(init=False)
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    port: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.dir.mkdir(parents=True, exist_ok=True)
        self.log = self.dir.parent / f"{self.dir.name}.log"

    @property
    def pid(self) -> int:
        assert self.process is not None, "the server was not started"
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def output(self) -> str:
        """What the process printed so far, for assertion messages."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def client(self, protocol: int = 2) -> WireClient:
        return WireClient(self.port, protocol)

    def kill9(self) -> None:
        """SIGKILL: no drain, no flush; what was acknowledged must survive on its own."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOP_DEADLINE_S)

    def terminate(self, deadline_s: float = STOP_DEADLINE_S) -> int:
        """SIGTERM, then the exit code. A server that does not end in time is killed."""
        assert self.process is not None, "the server was not started"
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(deadline_s)
        except subprocess.TimeoutExpired as late:
            self.kill9()
            raise AssertionError(
                f"no exit {deadline_s} s after SIGTERM:\n{self.output()}"
            ) from late

    def stop(self) -> None:
        """End the process however it is; for fixtures that do not judge the exit."""
        if self.is_running:
            self.terminate()

    def _spawn(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(
                argv,
                stdout=sink,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                env=env,
            )

    def _fail(self, what: str) -> StartError:
        code = self.process.poll() if self.process is not None else None
        self.kill9()
        return StartError(f"{what} (exit code {code}), output:\n{self.output()}")


@dataclass(slots=True)
class RedisServer(Process):
    """redis-server without persistence: the oracle."""

    flags: Sequence[str] = ()

    def start(self) -> Self:
        for _ in range(5):
            self.port = free_port()
            self._spawn(self._argv(), {**os.environ, "LC_ALL": "C"})
            if self._answers():
                return self
        raise self._fail("redis-server does not answer")

    def _argv(self) -> list[str]:
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.dir)]
        options += ["--save", "", "--appendonly", "no", "--enable-debug-command", "yes"]
        return ["redis-server", *options, *self.flags]

    def _answers(self) -> bool:
        deadline = time.monotonic() + START_DEADLINE_S
        while self.is_running and time.monotonic() < deadline:
            try:
                with self.client() as client:
                    return client.send("PING").raw == b"+PONG\r\n"
            except OSError:
                time.sleep(_POLL_S)
        return False


@dataclass(slots=True)
class StrataServer(Process):
    """`stratakv serve` on a directory that outlives the process."""

    flags: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    http_port: int = field(init=False, default=0)

    def start(self) -> Self:
        seen = len(self.output())
        self._spawn(self._argv(), {**os.environ, **self.env})
        ready = self._ready_line(seen)
        self.port = self._number("port", ready)
        self.http_port = self._number("http_port", ready)
        return self

    def restart(self) -> Self:
        """Start again on the same directory, after kill9, terminate or an exit of its own."""
        self.stop()
        return self.start()

    def _argv(self) -> list[str]:
        places = ["--bind", "127.0.0.1", "--port", "0", "--http-port", "0", "--dir", str(self.dir)]
        return [SERVER_PYTHON, "-P", "-m", "stratakv", "serve", *places, *self.flags]

    def _ready_line(self, seen: int) -> str:
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline:
            for line in self.output()[seen:].splitlines(keepends=True):
                if "ready" in line and line.endswith("\n"):
                    return line
            if not self.is_running:
                raise self._fail("stratakv ended before it was ready")
            time.sleep(_POLL_S)
        raise self._fail(f"stratakv was not ready after {START_DEADLINE_S} s")

    def _number(self, name: str, line: str) -> int:
        found = re.search(rf"\b{name}\D{{1,3}}(\d+)", line)
        if found is None:
            raise self._fail(f"no {name}= in the ready line {line!r}")
        return int(found[1])
