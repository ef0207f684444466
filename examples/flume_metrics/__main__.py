"""Log metrics of many machines: load sample traffic, report live, ask, serve the page."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import redis
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException

from examples.arguments import DEFAULT_URL, number, redis_url
from examples.flume_metrics import load, sample
from examples.flume_metrics.params import BadRequest
from examples.flume_metrics.server import MetricsServer, query
from examples.flume_metrics.store import MetricsStore


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command until it ends or is interrupted. 1: no server; 2: wrong usage."""
    options = _parser().parse_args(argv)
    kind = RedisCluster if options.cluster else redis.Redis
    client: Any = None
    try:
        client = kind.from_url(options.url)
        with contextlib.suppress(KeyboardInterrupt):
            options.run(MetricsStore(client), options)
    except BadRequest as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    except (redis.RedisError, RedisClusterException, OSError) as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        return 1
    finally:
        if client is not None:
            client.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.flume_metrics", description=__doc__)
    url = os.environ.get("STRATAKV_URL", DEFAULT_URL)
    named = "the server (STRATAKV_URL), %(default)s"
    parser.add_argument("--url", type=redis_url, default=url, help=named)
    parser.add_argument("--cluster", action="store_true", help="it is a node of a cluster")
    parser.add_argument("--seed", type=int, default=7, help="of the sample traffic")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    loaded = commands.add_parser("load", help="write a history of sample traffic")
    week = number(int, 1, 7 * 24 * 60)
    loaded.add_argument("--minutes", type=week, default=70, help="how many, %(default)s")
    loaded.add_argument("--until", type=_until, default=sample.LAST, help='"now" or 20151111 14:09')
    loaded.set_defaults(run=_load)
    agent = commands.add_parser("agent", help="report every five seconds until interrupted")
    agent.set_defaults(run=lambda store, options: load.report_forever(store, options.seed))
    served = commands.add_parser("serve", help="the query API and the page")
    served.add_argument("--bind", default="127.0.0.1")
    port = number(int, 0, 65535)
    served.add_argument("--port", type=port, default=8080, help="%(default)s; 0 takes a free one")
    served.set_defaults(run=_serve)
    _add_query(commands)
    return parser


def _add_query(commands: Any) -> None:
    asked = commands.add_parser("query", help="ask as the API would be asked, and print the JSON")
    asked.add_argument("_client_", choices=("machine_to_logids", "logid_to_machines"))
    asked.add_argument("id", help="the machine, as MD5@port or hostname:port, or the logid")
    asked.add_argument("ts", help='such as "20151111", "20151111 14", "20151111 14:09"')
    asked.add_argument("--table", default="5s", help="5s or 1m")
    asked.set_defaults(run=_query)


def _until(text: str) -> datetime:
    if text == "now":
        return sample.last_mark(datetime.now())
    try:
        return sample.last_mark(datetime.strptime(text, "%Y%m%d %H:%M"))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'not "now" or a time such as 20151111 14:09: {text!r}'
        ) from None


def _load(store: MetricsStore, options: argparse.Namespace) -> None:
    count = load.load(store, options.minutes, options.until, options.seed)
    print(f"{count} reports of {len(sample.AGENTS)} machines up to {options.until}")


def _serve(store: MetricsStore, options: argparse.Namespace) -> None:
    with MetricsServer(store, options.bind, options.port) as server:
        print(f"{server.url}/", flush=True)
        server.serve_forever()


def _query(store: MetricsStore, options: argparse.Namespace) -> None:
    by_name = {known.name: known.machine for known in store.machines()}
    of_machine = options._client_ == "machine_to_logids"
    asked = (
        {"machine": by_name.get(options.id, options.id)} if of_machine else {"logid": options.id}
    )
    given = {"_client_": options._client_, **asked, "ts": options.ts, "table": options.table}
    print(json.dumps(query(store, given), indent=2))


if __name__ == "__main__":
    sys.exit(main())
