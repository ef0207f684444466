"""Shop rankings over several servers: build the index, ask it, add servers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date

import redis

from examples.arguments import number, redis_url
from examples.shop_index import queries, sample, settings, show
from examples.shop_index.build import NoSales, build, build_series
from examples.shop_index.keys import ALL, PERIODS
from examples.shop_index.moving import move_keys
from examples.shop_index.shardredis import ShardRedis


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 1 if there was nothing to show, or a server is away."""
    options = _parser().parse_args(argv)
    conn = ShardRedis(dict(options.server) if options.server else settings.AGGRE_URIS)
    try:
        text: str | None = options.run(conn, options)
    except (NoSales, redis.RedisError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    finally:
        conn.close()
    print(text or "not found")
    return 0 if text else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.shop_index", description=__doc__)
    parser.add_argument(
        "--server",
        action="append",
        type=_server,
        metavar="NAME=URL",
        help="a server of the ring, several times; settings.py if none is given",
    )
    day = {"type": _day, "default": sample.LAST_DAY, "metavar": "YYYY-MM-DD"}
    parser.add_argument("--date", help="the day of the index", **day)  # type: ignore[arg-type]
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_build(commands)
    _add_rank(commands)
    for name, find in _CARDS.items():
        card = commands.add_parser(name, help=f"the card of one {name}")
        card.add_argument("id")
        card.set_defaults(run=_card, find=find)
    move = commands.add_parser("move", help="bring keys to their owners after adding a server")
    move.set_defaults(run=_move)
    return parser


_CARDS = {"shop": queries.shop_card, "item": queries.item_card, "brand": queries.brand_card}


def _add_build(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = commands.add_parser("build", help="make sample sales; write the index and the series")
    made.add_argument("--seed", type=int, default=11, help="of the sample, %(default)s")
    for name, default in (("--shops", 40), ("--items", 400), ("--days", 32)):
        made.add_argument(name, type=number(int, 1, 10**6), default=default, help="%(default)s")
    made.set_defaults(run=_build)


def _add_rank(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rank = commands.add_parser("rank", help="a page of a shop ranking")
    rank.add_argument("cate1", help="a first-level category, such as 16")
    rank.add_argument("cate2", nargs="?", default=ALL, help="one below it, such as 50008563")
    fields = ("score", "sales", "deals", "active_index", "credit_score", "worth")
    rank.add_argument("--field", choices=fields, default="score", help="%(default)s")
    rank.add_argument("--period", choices=PERIODS, default="mon", help="%(default)s")
    rank.add_argument("--page", type=number(int, 1, 10**6), default=1, help="of twenty, from 1")
    rank.set_defaults(run=_rank)


def _server(text: str) -> tuple[str, str]:
    name, equals, uri = text.partition("=")
    if not (name and equals and uri):
        raise argparse.ArgumentTypeError(f"not NAME=URL: {text!r}")
    return name, redis_url(uri)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a day such as 2013-11-11: {text!r}") from None


def _build(conn: ShardRedis, options: argparse.Namespace) -> str:
    raw = sample.make(options.seed, options.shops, options.items, options.days)
    commands = build(conn, raw, options.date) + build_series(conn, raw)
    return f"{commands} commands for {len(raw.items)} items\n{show.servers(conn)}"


def _rank(conn: ShardRedis, options: argparse.Namespace) -> str | None:
    where = (options.date, options.cate1, options.cate2, options.field, options.period)
    page = queries.shop_ranking(conn, *where, page=options.page)
    return show.ranking(page) if page.entries else None


def _card(conn: ShardRedis, options: argparse.Namespace) -> str | None:
    found = options.find(conn, options.date, options.id)
    return show.card(found) if found else None


def _move(conn: ShardRedis, options: argparse.Namespace) -> str:
    return f"arrived: {move_keys(conn)}\n{show.servers(conn)}"


if __name__ == "__main__":
    sys.exit(main())
