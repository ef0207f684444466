"""Servers under test: those started here, and peers that already run.

A started server lives in a temporary directory of its own and is stopped by its pid, whatever
happens to the run. A peer is never stopped, and never flushed unless it was empty at the start.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import procfs
from benchmarks.resp import Client
from benchmarks.sample import Unavailable

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
LOCALHOST = "127.0.0.1"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""With it every start compiles the whole program; it stands in containers, not at users'."""


@dataclass(slots=True)
class Server:
    """One RESP server. `argv` is None for a peer; `port` is 0 until a started server is ready."""

    name: str
    host: str = LOCALHOST
    port: int = 0
    argv: Callable[[Path], list[str]] | None = None
    keeps_data: bool = False
    http_port: int | None = None
    directory: Path | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int | None:
        """The process id of a started server."""
        return self.process.pid if self.process else None

    def client(self, timeout_s: float = 120.0) -> Client:
        """A new blocking connection."""
        return Client(self.host, self.port, timeout_s)

    def start(self) -> float:
        """Start the server and return the seconds until it answered its first PING."""
        assert self.argv is not None, "a peer is not ours to start"
        if self.directory is None:
            self.directory = Path(tempfile.mkdtemp(prefix=f"bench-{self.name}-"))
        argv = self.argv(self.directory)
        log = self.directory / "server.log"
        began = time.perf_counter()
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                argv, stdout=out, stderr=subprocess.STDOUT, env=_environment()
            )
        self._wait_until_ready(log, _port_in(argv))
        return time.perf_counter() - began

    def _wait_until_ready(self, log: Path, fixed_port: int) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            self.check_alive()
            self.port = fixed_port or _announced(log, "port") or 0
            if self.port and _answers(self.host, self.port):
                self.http_port = _announced(log, r"http[-_]?port")
                return
            time.sleep(0.002)
        raise Unavailable(f"{self.name} was not ready within {READY_TIMEOUT_S:.0f} s")

    def check_alive(self) -> None:
        """Raise Unavailable with the end of the log when a started server has gone."""
        if self.process is None or self.process.poll() is None:
            return
        assert self.directory is not None
        lines = (self.directory / "server.log").read_text(errors="replace").splitlines()
        last = lines[-1] if lines else "no output"
        raise Unavailable(f"{self.name} ended with {self.process.returncode}: {last}")

    def stop(self) -> None:
        """Stop a started server: SIGTERM, and SIGKILL when that is not heard. Keeps its data."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def remove(self) -> None:
        """Stop the server and remove its directory."""
        self.stop()
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    def restart_cold(self) -> float:
        """Restart with empty caches, the operating system's included; seconds to the first PING.

        Requires: the server keeps its data.
        """
        assert self.keeps_data
        assert self.directory is not None
        self.stop()
        drop_page_cache(self.directory)
        return self.start()

    def disk_mb(self) -> float:
        """Bytes in the server's directory, in MB."""
        if self.directory is None:
            return 0.0
        return sum(p.stat().st_size for p in self.directory.rglob("*") if p.is_file()) / 2**20


def stratakv() -> Server:
    """A StrataKV with default settings on free ports; STRATAKV_PYTHON may name another one's."""
    python = os.environ.get("STRATAKV_PYTHON", sys.executable)

    def argv(directory: Path) -> list[str]:
        flags = ["--bind", LOCALHOST, "--port", "0", "--http-port", "0"]
        data = str(directory / "data")
        return [python, "-P", "-m", "stratakv", "serve", *flags, "--dir", data]

    return Server("stratakv", argv=argv, keeps_data=True)


def redis_server(name: str = "redis") -> Server:
    """A redis-server that writes nothing to disk."""

    def argv(directory: Path) -> list[str]:
        quiet = ["--save", "", "--appendonly", "no", "--dir", str(directory)]
        return ["redis-server", "--bind", LOCALHOST, "--port", str(free_port()), *quiet]

    return Server(name, argv=argv)


def peer(spec: str) -> Server:
    """A server that runs already, from `name=host:port`."""
    match = re.fullmatch(r"([\w.-]+)=([^=]+):(\d+)", spec)
    if not match:
        raise ValueError(f"--peer wants name=host:port, got {spec!r}")
    return Server(match[1], host=match[2], port=int(match[3]))


@contextmanager
def running(servers: list[Server]) -> Iterator[list[Server]]:
    """Start the servers, and remove every one of them at the end."""
    with ExitStack() as stack:
        for server in servers:
            if server.argv is not None:
                stack.callback(server.remove)
                server.start()
        yield servers


def free_port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOCALHOST, 0))
        port: int = probe.getsockname()[1]
        return port


def settle(servers: list[Server], limit_s: float = 1.0) -> None:
    """Wait until no started server uses CPU, so that the next measurement has the machine.

    Background work (reclaiming, compaction) of one server would otherwise slow the other.
    """
    pids = [server.pid for server in servers if server.pid]
    deadline = time.monotonic() + limit_s
    before = sum(procfs.cpu_s(pid) or 0.0 for pid in pids)
    while time.monotonic() < deadline:
        time.sleep(0.05)
        after = sum(procfs.cpu_s(pid) or 0.0 for pid in pids)
        if after - before <= 0.01:
            return
        before = after


def drop_page_cache(directory: Path) -> None:
    """Ask the kernel to forget the cached pages of all files below a directory."""
    os.sync()
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _answers(host: str, port: int) -> bool:
    try:
        with Client(host, port, timeout_s=5.0) as client:
            return bool(client.call("PING") == b"PONG")
    except OSError:
        return False


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != NO_BYTECODE}


def _port_in(argv: list[str]) -> int:
    return int(argv[argv.index("--port") + 1])


def _announced(log: Path, name: str) -> int | None:
    text = log.read_text(errors="replace")
    match = re.search(rf"ready.*?\b{name}=(\d+)", text)
    return int(match[1]) or None if match else None
