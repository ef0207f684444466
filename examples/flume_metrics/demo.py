"""The whole example in one run: load traffic, ask the API over HTTP, check the sums."""

from __future__ import annotations

import json
import threading
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import redis

from examples.flume_metrics import sample
from examples.flume_metrics.load import load
from examples.flume_metrics.server import MetricsServer
from examples.flume_metrics.shapes import COUNT
from examples.flume_metrics.store import MetricsStore
from examples.server import fresh_server


def main() -> None:
    """Load four minutes of traffic and serve them while they are asked for."""
    with fresh_server() as url, redis.Redis.from_url(url) as client:
        store = MetricsStore(client)
        print(f"{load(store, minutes=4)} reports of {len(sample.AGENTS)} machines, 4 rows each")
        with MetricsServer(store) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                _ask(server.url)
            finally:
                server.shutdown()


def _ask(base: str) -> None:
    agent = sample.AGENTS[0]
    question = {"_client_": "machine_to_logids", "machine": agent.machine}
    second = _get(base, "/query", **question, ts="20151111 14:09:40")
    print("one machine at 14:09:40\n" + json.dumps(second, indent=2))
    minute = {"ts": "20151111 14:08"}
    rows = _get(base, "/query", **question, **minute)[agent.machine]
    sums = _get(base, "/query", **question, **minute, table="1m")[agent.machine]
    for logid, times in rows.items():
        seconds = sum(int(row[0][COUNT]) for row in times.values())
        if str(seconds) != sums[logid][minute["ts"]][0][COUNT]:
            raise AssertionError(f"the minute of log {logid} is not the sum of its rows")
        print(f"log {logid} at 14:08: {len(times)} rows, {seconds} lines, as in the minute's row")
    log = _get(base, "/query", _client_="logid_to_machines", logid="0000000007", ts="20151111 14")
    print(f"log 0000000007 in the hour from 14: {len(log['0000000007'])} machines")
    _refused(base)


def _refused(base: str) -> None:
    try:
        _get(base, "/query", _client_="machine_to_logids", machine="web-01", ts="20151111")
    except HTTPError as refused:
        print(f"{refused.code}: {json.load(refused)['error']}")
    else:
        raise AssertionError("a bad machine was not refused")


def _get(
    base: str, path: str, **params: str
) -> dict[str, dict[str, dict[str, list[dict[str, str]]]]]:
    with urlopen(f"{base}{path}?{urlencode(params)}", timeout=30) as answer:
        found: dict[str, dict[str, dict[str, list[dict[str, str]]]]] = json.load(answer)
        return found
