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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from weakref import WeakSet

from tests.harness.waiting import HANG_S, wait_until
from tests.harness.watchdog import mind
from tests.harness.wire import WireClient

ROOT = Path(__file__).resolve().parents[2]
SERVER_PYTHON = os.environ.get("STRATAKV_PYTHON", sys.executable)
"""Whose StrataKV is tested: `make test` names the build that users get; else it is the sources."""
MODULE = ("-P", "-m", "stratakv")
STRATAKV = (SERVER_PYTHON, *MODULE)
"""Its command line, to be followed by a subcommand."""
OURS = {"STRATAKV_PYTHON", "STRATAKV_COMPILE"}
"""What is said to make and to the tests; a server would warn that these are no options."""
TESTED = {"STRATAKV_DISK_RESERVE_BYTES": "1mb", "STRATAKV_DEBUG_INVARIANTS": "yes"}
"""Hundreds of data directories lie about after a run: each with a small reserve. A server that
breaks an invariant ends at once, and says which."""
WITH_DEBUG = {"STRATAKV_ENABLE_DEBUG_COMMAND": "yes"}


SHOWN_CHARS = 4000
"""Of the last words of a server that ended by itself."""
_started: WeakSet[Process] = WeakSet()


def last_words() -> dict[str, str]:
    """What the servers printed last that have ended unasked, by their directories."""
    return {
        str(server.dir): f"exit code {server.process.returncode}\n{server.output()[-SHOWN_CHARS:]}"
        for server in _started
        if server.process is not None and server.ended_unasked
    }


def environment() -> dict[str, str]:
    """The variables that a server is started with."""
    return {name: value for name, value in os.environ.items() if name not in OURS}


class StartError(AssertionError):
    """A server ended or stayed silent before it was ready; the message carries its output."""


def free_port() -> int:
    """A TCP port that was free a moment ago. Another process may take it first: callers retry."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True, weakref_slot=True, eq=False)
class Process:
    """A child process whose stdout and stderr go to `log`."""

    dir: Path
    log: Path = field(init=False)
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    port: int = field(init=False, default=0)
    is_killed: bool = field(init=False, default=False)

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

    @property
    def ended_unasked(self) -> bool:
        """Whether it has ended otherwise than by `terminate` or `kill9`, or badly."""
        code = self.process.poll() if self.process is not None else None
        return code not in (None, 0) and not (self.is_killed and code == -signal.SIGKILL)

    def output(self) -> str:
        """What the process printed so far, for assertion messages."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def client(self, protocol: int = 2) -> WireClient:
        return WireClient(self.port, protocol)

    def wait_until_blocked(self, count: int = 1) -> None:
        """Until the server says that so many clients wait."""
        shown = b"blocked_clients:%d\r\n" % count
        with self.client() as client:
            wait_until(
                lambda: shown in client.send("INFO", "clients").raw, f"never {count} blocked"
            )

    def wait_until_asked(self, command: str, calls: int = 1) -> None:
        """Until so many clients have this as their last command."""
        shown = f" cmd={command} ".encode()
        with self.client() as client:
            wait_until(lambda: client.send("CLIENT", "LIST").raw.count(shown) >= calls, command)

    def kill9(self) -> None:
        """SIGKILL: no drain, no flush; what was acknowledged must survive on its own."""
        if self.process is not None:
            self.is_killed = True
            self.process.kill()
            self.process.wait(HANG_S)

    def terminate(self) -> int:
        """SIGTERM, then the exit code. A server that does not end is killed."""
        assert self.process is not None, "the server was not started"
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(HANG_S)
        except subprocess.TimeoutExpired as late:
            self.kill9()
            raise AssertionError(f"no exit {HANG_S} s after SIGTERM:\n{self.output()}") from late

    def stop(self) -> None:
        """End the process however it is; for fixtures that do not judge the exit."""
        if self.is_running:
            self.terminate()

    def _spawn(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.is_killed = False
        with self.log.open("ab") as sink:
            self.process = subprocess.Popen(
                argv,
                stdout=sink,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                env=env,
            )
        mind(self.process.pid)
        _started.add(self)

    def _fail(self, what: str) -> StartError:
        code = self.process.poll() if self.process is not None else None
        self.kill9()
        return StartError(f"{what} (exit code {code}), output:\n{self.output()}")


@dataclass(slots=True, eq=False)
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
        """Whether it does, once it does or has ended."""
        return wait_until(lambda: self.is_ready() or not self.is_running) and self.is_running

    def is_ready(self) -> bool:
        """Whether it answers now."""
        try:
            with self.client() as client:
                return client.send("PING").raw == b"+PONG\r\n"
        except OSError:
            return False


@dataclass(slots=True, eq=False)
class StrataServer(Process):
    """`stratakv serve` on a directory that outlives the process."""

    flags: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    python: str = SERVER_PYTHON
    http_port: int = field(init=False, default=0)

    def start(self) -> Self:
        seen = len(self.output())
        self._spawn(self._argv(), {**TESTED, **WITH_DEBUG, **environment(), **self.env})
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
        return [self.python, *MODULE, "serve", *places, *self.flags]

    def _ready_line(self, seen: int) -> str:
        def found() -> str:
            is_running = self.is_running  # looked at first: its last words come before its end
            for line in self.output()[seen:].splitlines(keepends=True):
                if "ready" in line and line.endswith("\n"):
                    return line
            if not is_running:
                raise self._fail("stratakv ended before it was ready")
            return ""

        return wait_until(found, lambda: self._fail("stratakv is not ready"))

    def _number(self, name: str, line: str) -> int:
        found = re.search(rf"\b{name}\D{{1,3}}(\d+)", line)
        if found is None:
            raise self._fail(f"no {name}= in the ready line {line!r}")
        return int(found[1])
