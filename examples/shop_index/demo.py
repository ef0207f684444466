"""The whole example in one run: build over three servers, ask, add a fourth, ask again."""

from __future__ import annotations

from contextlib import ExitStack

from examples.server import fresh_redis, fresh_server
from examples.shop_index import sample, settings, show
from examples.shop_index.build import build, build_series
from examples.shop_index.keys import ALL, key
from examples.shop_index.moving import move_keys
from examples.shop_index.queries import brand_card, item_card, shop_card, shop_ranking
from examples.shop_index.shardredis import ShardRedis

CATEGORY = {"date": sample.LAST_DAY.isoformat(), "cate1": "16", "cate2": ALL}


def main() -> None:
    """Four servers with the policy, each with a database of one Redis as its cache tier."""
    with ExitStack() as stack:
        cache = stack.enter_context(fresh_redis())
        uris = {}
        for number in range(1, 5):
            flags = ["--config", str(settings.POLICY), "--cache-url", f"{cache}?db={number}"]
            uris[f"aggre{number}"] = stack.enter_context(fresh_server(flags))
        conn = ShardRedis({name: uri for name, uri in uris.items() if name != "aggre4"})
        stack.callback(conn.close)
        _build(conn)
        page = _ask(conn)
        grown = ShardRedis(uris)
        stack.callback(grown.close)
        _grow(grown)
        if _ask_again(grown) != page:
            raise AssertionError("the ranking changed with the servers")


def _build(conn: ShardRedis) -> None:
    raw = sample.make()
    commands = build(conn, raw, sample.LAST_DAY)
    print(f"index of {sample.LAST_DAY}: {commands} commands for {len(raw.items)} items")
    print(f"time series of {len(raw.days)} days: {build_series(conn, raw)} commands")
    print(show.servers(conn))
    for place in (
        key("shopindex", field="score", monorday="mon", **CATEGORY),
        key("itemindex", field="sales", monorday="mon", **CATEGORY),
        key("categoryinfo", monorday="mon", **CATEGORY),
    ):
        print(show.policy(conn, place))


def _ask(conn: ShardRedis) -> object:
    day = sample.LAST_DAY
    page = shop_ranking(conn, day, "16", ALL, per_page=5)
    print("\nshops of category 16 by score\n" + show.ranking(page))
    shop = shop_card(conn, day, page.entries[0]["id"])
    if shop is None:
        raise AssertionError("a ranked shop has no card")
    item = item_card(conn, day, shop["hot_items"][0]["id"])
    brand = brand_card(conn, day, next(iter(shop["brand_shares"])))
    print("\n".join(show.card(card) for card in (shop, item, brand)))
    return page


def _grow(conn: ShardRedis) -> None:
    arrived = move_keys(conn)
    print(f"\na fourth server: {sum(arrived.values())} keys moved, all of them to aggre4")
    if sum(arrived.values()) != arrived["aggre4"]:
        raise AssertionError(f"keys moved between old servers: {arrived}")
    print(show.servers(conn))


def _ask_again(conn: ShardRedis) -> object:
    return shop_ranking(conn, sample.LAST_DAY, "16", ALL, per_page=5)
