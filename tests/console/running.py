"""A console as a process of its own, and somebody who visits it."""

from __future__ import annotations

import http.client
import re
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

from tests.harness.servers import MODULE, Process, RedisServer, StrataServer, environment
from tests.harness.waiting import HANG_S, wait_until

TOKEN = re.compile(r'data-token="([^"]+)"')
Server = RedisServer | StrataServer


class Page(NamedTuple):
    """An answer."""

    status: int
    headers: http.client.HTTPMessage
    body: str

    @property
    def text(self) -> str:
        """What a reader sees, roughly."""
        return unescape(re.sub(r"<[^>]*>", " ", self.body))


@dataclass(slots=True, eq=False)
class ConsoleProcess(Process):
    """`stratakv console`; its sources are those beside the tests."""

    url: str = ""
    flags: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> Self:
        seen = len(self.output())
        argv = [sys.executable, *MODULE, "console", "--port", "0", *self.flags]
        self._spawn([*argv, "--url", self.url] if self.url else argv, {**environment(), **self.env})
        line = wait_until(lambda: self._ready(seen), self.output)
        self.port = urlsplit(line.split()[1]).port or 0
        return self

    def _ready(self, seen: int) -> str:
        is_running = self.is_running
        for line in self.output()[seen:].splitlines(keepends=True):
            if line.startswith("ready ") and line.endswith("\n"):
                return line
        if not is_running:
            raise self._fail("the console ended before it was ready")
        return ""

    def visitor(self, context: ssl.SSLContext | None = None) -> Visitor:
        return Visitor(self.port, context)


class Visitor:
    """A browser without scripts: keeps the cookie and sends the token. `context` is for HTTPS."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._context = context
        self.host = f"127.0.0.1:{port}"
        self.cookie = ""
        self.token = ""

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: str | int) -> Page:
        given = {name.rstrip("_"): value for name, value in query.items()}
        wanted = f"{path}?{urlencode(given)}" if query else path
        return self.send("GET", wanted, None, headers or {})

    def post(
        self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> Page:
        """Send a form as its page would, with the token of the session."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        scheme = "https" if self._context else "http"
        mine = {"Origin": f"{scheme}://{self.host}", **kind, **(headers or {})}
        return self.send("POST", path, urlencode({"token": self.token, **fields}), mine)

    def follow(self, path: str, fields: Mapping[str, str]) -> Page:
        """Send a form, and look at the page it leads to."""
        page = self.post(path, fields)
        assert page.status == 303, page.text
        return self.get(page.headers["Location"])

    def log_in(self, user: str = "", password: str = "") -> Page:
        page = self.post("/login", {"user": user, "password": password})
        if page.status == 303:
            self.cookie = page.headers["Set-Cookie"].partition(";")[0]
            found = TOKEN.search(self.get("/keys").body) or TOKEN.search(self.get("/prompt").body)
            self.token = found[1] if found else ""
        return page

    def send(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Page:
        connection = self._connect()
        try:
            given = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {})}
            connection.request(method, path, body, {**given, **headers})
            answer = connection.getresponse()
            return Page(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=HANG_S, context=self._context
        )


def run(client: Any, *words: str | int) -> Any:
    """A command as it stands."""
    return client.execute_command(*words)


def names_of(client: Any) -> list[bytes]:
    """All keys of a database."""
    return list(client.scan_iter())


def url_of(server: Server) -> str:
    return f"redis://127.0.0.1:{server.port}"


def metrics_of(server: Server) -> list[str]:
    """The flags by which a console finds the metrics of a server on a port by chance."""
    if isinstance(server, StrataServer):
        return ["--metrics-url", f"http://127.0.0.1:{server.http_port}/metrics"]
    return []
