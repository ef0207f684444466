"""The time series: one hash per item, shop and brand, a packed value per day.

In memory they were too large and had to live in another database; on disk they stay here, next to
the index. A hash by day makes a write repeatable, and a range of days is one HMGET.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import msgpack

from examples.shop_index.keys import ALL, Key, key
from examples.shop_index.raw import Observation, RawSales, total
from examples.shop_index.shardredis import ShardPipeline, ShardRedis
from examples.shop_index.snapshot import Row, Snapshot, group, sales_by


def record_day(pipe: ShardPipeline, raw: RawSales, day: date) -> None:
    """Write one day of every item, shop and brand seen on it."""
    snap = Snapshot(raw, day)
    for itemid, seen in raw.seen[day].items():
        values = {"price": seen.price, "num_sold30": seen.num_sold30}
        _put(pipe, key("item_by_date", itemid=itemid), snap.date, values)
        pipe.cut()
    for shopid, values in _shops(snap):
        _put(pipe, key("shop_by_date", shopid=shopid), snap.date, values)
    for brand, values in _brands(snap):
        _put(pipe, key("brand_by_date", brand=brand), snap.date, values)


def item_series(conn: ShardRedis, itemid: str, first: date, last: date) -> list[dict[str, Any]]:
    """Price, deals and sales of an item per day."""
    series = []
    for row in _read(conn, key("item_by_date", itemid=itemid), first, last):
        seen = Observation(row["price"], row["num_sold30"])
        computed = {"deals": seen.deals("day"), "sales": seen.sales("day")}
        series.append({"date": row["date"], "price": seen.price, **computed})
    return series


def shop_series(conn: ShardRedis, shopid: str, first: date, last: date) -> list[dict[str, Any]]:
    """Rank by category, worth and sales of a shop per day."""
    rows = _read(conn, key("shop_by_date", shopid=shopid), first, last)
    return [{**row, "rank": json.loads(row["rank"])} for row in rows]


def brand_series(conn: ShardRedis, brand: str, first: date, last: date) -> list[dict[str, Any]]:
    """Sales, market share and number of shops of a brand per day."""
    return list(_read(conn, key("brand_by_date", brand=brand), first, last))


def _shops(snap: Snapshot) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = snap.periods["day"].now
    ranks: dict[str, dict[str, int]] = {}
    second = [row for row in rows if row[0].cate2 != ALL]
    first_level, second_level = group(rows, lambda i: i.cate1), group(second, lambda i: i.cate2)
    for cid, some in (first_level | second_level).items():
        for rank, shopid in enumerate(_ranked(some), 1):
            ranks.setdefault(shopid, {})[cid] = rank
    for shopid, sales in sales_by(rows, lambda item: item.shopid).items():
        by_category = json.dumps(ranks[shopid], sort_keys=True)
        yield shopid, {"rank": by_category, "worth": snap.worths[shopid], "sales": sales}


def _ranked(rows: list[Row]) -> list[str]:
    """Shops by sales, in the order of ZREVRANGE: among equals the greater name first."""
    sales = sales_by(rows, lambda item: item.shopid)
    return sorted(sales, key=lambda shopid: (sales[shopid], shopid), reverse=True)


def _brands(snap: Snapshot) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = snap.periods["day"].now
    market = total(rows).sales
    for brand, some in group(rows, lambda item: item.brand).items():
        sales = total(some).sales
        shops = len({item.shopid for item, _, _ in some})
        yield brand, {"sales": sales, "share": sales / market if market else 0.0, "shops": shops}


def _put(pipe: ShardPipeline, key: Key, day: str, values: dict[str, Any]) -> None:
    pipe.hset(key.name, day, msgpack.packb(values), skey=key.skey)


def _read(conn: ShardRedis, key: Key, first: date, last: date) -> Iterator[dict[str, Any]]:
    """The days that have a value, oldest first."""
    days = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    if not days:
        return
    for day, packed in zip(days, conn.hmget(key.name, days, skey=key.skey), strict=True):
        if packed is not None:
            yield {"date": day, **msgpack.unpackb(packed)}
