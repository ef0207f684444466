"""Building the index of a day, and the time series, from raw sales."""

from __future__ import annotations

from datetime import date

from examples.shop_index import brands, categories, items, series, shops
from examples.shop_index.raw import RawSales
from examples.shop_index.shardredis import ShardRedis
from examples.shop_index.snapshot import Snapshot


class NoSales(ValueError):
    """Nothing was seen on the day; the message is for people."""


def build(conn: ShardRedis, raw: RawSales, day: date) -> int:
    """Write all four index groups of a day; the number of commands that it took.

    The rankings of a first-level category are replaced in one transaction of its server: a reader
    sees the old ones or the new ones, never a part.
    """
    if day not in raw.seen:
        raise NoSales(f"no sales were seen on {day}, only from {raw.days[0]} to {raw.days[-1]}")
    snap = Snapshot(raw, day)
    pipe = conn.pipeline()
    for cate1, cates in snap.categories().items():
        for group in (shops, brands, items, categories):
            group.index_category(pipe, snap, cate1, cates)
            pipe.execute()
    for shopid in snap.worths:
        shops.index_shop(pipe, snap, shopid)
        pipe.cut()
    for itemid in raw.seen[day]:
        items.index_item(pipe, snap, itemid)
        pipe.cut()
    for brand in {item.brand for item, _, _ in snap.periods["mon"].now}:
        brands.index_brand(pipe, snap, brand)
        pipe.cut()
    items.index_market(pipe, snap)
    brands.index_market(pipe, snap)
    pipe.execute()
    return pipe.sent


def build_series(conn: ShardRedis, raw: RawSales) -> int:
    """Write the time series of every day; the number of commands that it took."""
    pipe = conn.pipeline()
    for day in raw.days:
        series.record_day(pipe, raw, day)
        pipe.execute()
    return pipe.sent
