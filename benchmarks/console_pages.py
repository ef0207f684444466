"""How fast the console's pages are over a large store, and what another client feels meanwhile.

    python -m benchmarks.console_pages [--keys N] [--fields N] [--seconds N]

A server with so many keys, a tenth of which expire within the hour, and a hash of so many fields, a
console, a visitor who clicks through all pages, and PINGs every five milliseconds by somebody else:
without the clicks, with them, and while a survey runs beside them. Where the server's thread has
waited long for a processor, others use the machine, and PING tells of them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from statistics import median
from urllib.parse import urlencode

from benchmarks import procfs
from benchmarks.pinger import Pinger
from benchmarks.servers import Server, running, stratakv

BATCH = 1000
PING_MS = 5.0
PAGE_SECONDS = 1.0
PING_LIMIT_MS = 20.0
PAGES = {
    "overview": "/",
    "its samples": "/api/overview",
    "keys": "/keys",
    "more keys": "/keys?more=1",
    "keys by pattern": "/keys?match=key:12345*",
    "a string": "/key?key=key:12345",
    "the hash": "/key?key=hash",
    "a page of it": "/key?key=hash&find=field:777777",
    "layout": "/rows?key=hash",
    "large and hot": "/large",
    "slow": "/slow",
    "clients": "/clients",
    "channels": "/channels",
    "settings": "/settings",
    "prompt": "/prompt",
    "commands": "/api/commands",
}


def fill(server: Server, keys: int, fields: int) -> None:
    """Strings of 100 bytes, some of which expire, and the fields of one hash."""
    with server.client() as client:
        for start in range(0, keys, BATCH):
            names = range(start, min(keys, start + BATCH))
            client.call("MSET", *[word for n in names for word in (f"key:{n}", "x" * 100)])
            for number in range(start, min(keys, start + BATCH), 10):
                client.call("EXPIRE", f"key:{number}", 600 + number % 3000)
        for start in range(0, fields, BATCH):
            names = range(start, min(fields, start + BATCH))
            pairs = [word for n in names for word in (f"field:{n}", f"value {n}")]
            client.call("HSET", "hash", *pairs)


class Visitor:
    """Somebody who is logged in."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._cookie = ""
        self.token = ""

    def log_in(self) -> None:
        """As the default user."""
        _, headers, _ = self._send("POST", "/login", urlencode({"user": "", "password": ""}))
        self._cookie = headers["set-cookie"].partition(";")[0]
        found = re.search(r'data-token="([^"]+)"', self._send("GET", "/keys")[2])
        assert found is not None
        self.token = found[1]

    def start_survey(self) -> None:
        """The walk over all keys, which goes on beside the clicks."""
        self._send("POST", "/large/start", urlencode({"token": self.token, "db": "0"}))

    def survey(self) -> tuple[str, bool]:
        """How far that walk is, and whether it goes on."""
        body = self._send("GET", "/large")[2]
        found = re.search(r'<p[^>]*class="survey"[^>]*>([^<]*)', body)
        assert found is not None
        return found[1], "data-refresh" in body

    def get(self, path: str) -> float:
        """The seconds until the page is there."""
        started = time.perf_counter()
        status, _, body = self._send("GET", path)
        assert status == 200, (path, status, body[:200])
        return time.perf_counter() - started

    def _send(self, method: str, path: str, body: str = "") -> tuple[int, dict[str, str], str]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=120)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        origin = {"Origin": f"http://127.0.0.1:{self._port}"}
        cookie = {"Cookie": self._cookie} if self._cookie else {}
        try:
            connection.request(method, path, body or None, {**headers, **origin, **cookie})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, told, answer.read().decode()
        finally:
            connection.close()


@contextmanager
def console(server: Server) -> Iterator[int]:
    """A console over a server: its port."""
    url = f"redis://127.0.0.1:{server.port}"
    argv = [sys.executable, "-m", "stratakv", "console", "--port", "0", "--url", url]
    with tempfile.TemporaryFile() as errors:
        started = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert started.stdout is not None
            line = started.stdout.readline()
            yield int(line.rstrip().rstrip("/").rpartition(":")[2])
        finally:
            started.terminate()
            started.wait(30)


def click(visitor: Visitor, seconds: float) -> dict[str, list[float]]:
    """The seconds of each page, one page after the other without a rest."""
    took: dict[str, list[float]] = {name: [] for name in PAGES}
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for name, path in PAGES.items():
            took[name].append(visitor.get(path))
    return took


@dataclass(slots=True)
class Felt:
    """What another client has felt."""

    text: str = ""
    p99_ms: float = 0.0


@contextmanager
def felt(server: Server, name: str) -> Iterator[Felt]:
    """PINGs while something goes on."""
    found = Felt()
    ran, waited = procfs.turns_s(server.pid)
    with Pinger("127.0.0.1", server.port, PING_MS) as pinger:
        yield found
    now_ran, now_waited = procfs.turns_s(server.pid)
    told = ", ".join(f"{key} {value:g}" for key, value in pinger.result.items())
    found.p99_ms = pinger.result["p99_ms"]
    found.text = (
        f"PING, {name:12} {told}; the server ran for {now_ran - ran:.1f} s,"
        f" and waited {now_waited - waited:.1f} s for a processor"
    )


def main() -> int:
    """Print the times; 1 if a page usually takes over a second, or PING at p99 over 20 ms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--fields", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    with running([stratakv()]) as (server,):
        fill(server, chosen.keys, chosen.fields)
        print(f"{chosen.keys:,} keys, a hash of {chosen.fields:,} fields", flush=True)
        with console(server) as port:
            visitor = Visitor(port)
            visitor.log_in()
            with felt(server, "nobody") as quiet:
                time.sleep(chosen.seconds)
            with felt(server, "clicks") as clicked:
                took = click(visitor, chosen.seconds)
            visitor.start_survey()
            with felt(server, "and a survey") as surveyed:
                click(visitor, chosen.seconds)
            surveyed_so_far, is_surveying = visitor.survey()
    for name, seconds in took.items():
        shown = f"median {median(seconds) * 1000:7.1f} ms, worst {max(seconds) * 1000:7.1f} ms"
        print(f"{name:16} {shown}")
    for told in (quiet, clicked, surveyed):
        print(told.text)
    print(f"survey: {surveyed_so_far}; {'it goes on' if is_surveying else 'it was over'}")
    slowest = max(median(seconds) for seconds in took.values())
    worst = max(clicked.p99_ms, surveyed.p99_ms)
    return int(slowest > PAGE_SECONDS or worst > PING_LIMIT_MS or not is_surveying)


if __name__ == "__main__":
    sys.exit(main())
