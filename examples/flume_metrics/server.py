"""The HTTP side: the query API, what the page needs, and the page itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis

from examples.flume_metrics import params, shapes
from examples.flume_metrics.params import BadRequest
from examples.flume_metrics.store import MetricsStore

STATIC = Path(__file__).with_name("static")
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
LONGEST_FORM = 65_536
FORM = "application/x-www-form-urlencoded"

Params = dict[str, str]


class MetricsServer(ThreadingHTTPServer):
    """Serves one store; port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, store: MetricsStore, bind: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((bind, port), Handler)
        self.store = store

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.server_address[0]!s}:{self.server_port}"


def query(store: MetricsStore, given: Params) -> Any:
    """/query: `_client_` names the question."""
    client = given.get("_client_")
    if client == "machine_to_logids":
        params.only(given, "_client_", "machine", "ts", "table")
        machine, ts, table = params.machine(given), params.ts(given), params.table(given)
        return shapes.machine_to_logids(machine, store.rows_of_machine(machine, ts, table))
    if client == "logid_to_machines":
        params.only(given, "_client_", "logid", "ts", "table")
        logid, ts, table = params.logid(given), params.ts(given), params.table(given)
        return shapes.logid_to_machines(logid, store.rows_of_log(logid, ts, table))
    if client is None:
        raise BadRequest("_client_ is missing")
    raise BadRequest(f"_client_ must be machine_to_logids or logid_to_machines, not {client!r}")


def host(store: MetricsStore, given: Params) -> Any:
    """/host: the structures host, log and time of a machine."""
    params.only(given, "machine", "ts", "table")
    machine, ts, table = params.machine(given), params.ts(given), params.table(given)
    names = {known.machine: known.name for known in store.machines()}
    return shapes.host(names.get(machine, machine), store.rows_of_machine(machine, ts, table))


def machines(store: MetricsStore, given: Params) -> Any:
    """/machines: every machine with its newest time."""
    params.only(given)
    return [asdict(machine) for machine in store.machines()]


ROUTES: dict[str, Callable[[MetricsStore, Params], Any]] = {
    "/query": query,
    "/host": host,
    "/machines": machines,
}


class Handler(BaseHTTPRequestHandler):
    """One request: a route answers with a JSON value, an error with its reason."""

    server: MetricsServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """A page, or a question in the query string."""
        path = urlsplit(self.path).path
        if path in PAGES:
            name, kind = PAGES[path]
            self._send(HTTPStatus.OK, (STATIC / name).read_bytes(), kind)
        else:
            self._answer("")

    def do_POST(self) -> None:
        """A question in a form, in the query string, or half in each."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        elif int(length) > LONGEST_FORM:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LONGEST_FORM} bytes")
        else:
            self._answer(self.rfile.read(int(length)).decode("latin-1"))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (http.server's name)
        """Requests are not logged."""

    def _answer(self, form: str) -> None:
        url = urlsplit(self.path)
        route = ROUTES.get(url.path)
        if route is None:
            self._fail(HTTPStatus.NOT_FOUND, f"nothing at {url.path}")
            return
        try:
            given = params.merge(
                params.parse(text).items() for text in (url.query, self._checked(form))
            )
            answer = route(self.server.store, given)
        except BadRequest as wrong:
            self._fail(HTTPStatus.BAD_REQUEST, str(wrong))
        except redis.RedisError as trouble:
            self._fail(HTTPStatus.SERVICE_UNAVAILABLE, f"the store does not answer: {trouble}")
        else:
            self._send(HTTPStatus.OK, json.dumps(answer, ensure_ascii=False).encode())

    def _checked(self, form: str) -> str:
        kind = self.headers.get_content_type()
        if form and kind != FORM:
            raise BadRequest(f"a form must be {FORM}, not {kind}")
        return form

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Fail without reading the body: the connection cannot be used again."""
        self.close_connection = True
        self._fail(status, reason)

    def _fail(self, status: HTTPStatus, reason: str) -> None:
        self._send(status, json.dumps({"error": reason}).encode())

    def _send(self, status: HTTPStatus, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
