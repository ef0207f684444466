"""`python -m examples.shop_index`: build the index, ask it, add servers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date

from examples.shop_index import queries, sample, settings, show
from examples.shop_index.build import build, build_series
from examples.shop_index.keys import ALL, PERIODS
from examples.shop_index.moving import move_keys
from examples.shop_index.shardredis import ShardRedis


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 1 if there was nothing to show."""
    options = _parser().parse_args(argv)
    conn = ShardRedis(dict(options.server) if options.server else settings.AGGRE_URIS)
    try:
        text: str | None = options.run(conn, options)
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
    day = {"type": date.fromisoformat, "default": sample.LAST_DAY, "metavar": "YYYY-MM-DD"}
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
    made.add_argument("--seed", type=int, default=11)
    made.add_argument("--shops", type=int, default=40)
    made.add_argument("--items", type=int, default=400)
    made.add_argument("--days", type=int, default=32)
    made.set_defaults(run=_build)


def _add_rank(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rank = commands.add_parser("rank", help="a page of a shop ranking")
    rank.add_argument("cate1")
    rank.add_argument("cate2", nargs="?", default=ALL)
    fields = ("score", "sales", "deals", "active_index", "credit_score", "worth")
    rank.add_argument("--field", choices=fields, default="score")
    rank.add_argument("--period", choices=PERIODS, default="mon")
    rank.add_argument("--page", type=int, default=1)
    rank.set_defaults(run=_rank)


def _server(text: str) -> tuple[str, str]:
    name, equals, uri = text.partition("=")
    if not (name and equals and uri):
        raise argparse.ArgumentTypeError(f"not NAME=URL: {text!r}")
    return name, uri


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
