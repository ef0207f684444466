"""The brand indexes: shops, figures and shares by category, rankings, and what sells best."""

from __future__ import annotations

from examples.shop_index.keys import key, pack
from examples.shop_index.raw import Totals, total
from examples.shop_index.shardredis import ShardPipeline
from examples.shop_index.snapshot import Period, Snapshot, group, in_category, sales_by, totals_by
from examples.shop_index.writing import keep_top, put_hash, put_ranking, put_set

TOP = 1000


def index_category(pipe: ShardPipeline, snap: Snapshot, cate1: str, cates: set[str]) -> None:
    """brand_*, brandinfo_* and brandindex_* of a first-level category and everything below it."""
    for cate2 in sorted(cates):
        month = snap.periods["mon"].where(in_category(cate1, cate2))
        place = {"date": snap.date, "cate1": cate1, "cate2": cate2}
        _infos(pipe, month, place)
    pipe.execute()
    for cate2 in sorted(cates):
        month = snap.periods["mon"].where(in_category(cate1, cate2))
        place = {"date": snap.date, "cate1": cate1, "cate2": cate2}
        ranking = key("brandindex", field="sales", **place)
        put_ranking(pipe, ranking, sales_by(month.now, lambda item: item.brand))
        keep_top(pipe, ranking, TOP)


def index_brand(pipe: ShardPipeline, snap: Snapshot, brand: str) -> None:
    """The categories of one brand, and its best-selling items and shops in each."""
    month = [row for row in snap.periods["mon"].now if row[0].brand == brand]
    cates = {pack(item.cate1, item.cate2) for item, _, _ in month}
    put_set(pipe, key("brandcates", date=snap.date, brand=brand), cates)
    for cate2, rows in group(month, lambda item: item.cate2).items():
        place = {"date": snap.date, "brand": brand, "cate2": cate2}
        items = sales_by(rows, lambda item: item.id)
        put_ranking(pipe, key("brandhotitems", **place), items)
        put_ranking(pipe, key("brandhotshops", **place), sales_by(rows, lambda i: i.shopid))


def index_market(pipe: ShardPipeline, snap: Snapshot) -> None:
    """The set of all brands."""
    brands = {item.brand for item, _, _ in snap.periods["mon"].now}
    put_set(pipe, key("brands", date=snap.date), brands)


def _infos(pipe: ShardPipeline, month: Period, place: dict[str, str]) -> None:
    market = total(month.now).sales
    before = totals_by(month.before, lambda item: item.brand)
    for brand, rows in group(month.now, lambda item: item.brand).items():
        put_set(pipe, key("brand", brand=brand, **place), {item.shopid for item, _, _ in rows})
        info = _figures(total(rows), before.get(brand, Totals()), market)
        put_hash(pipe, key("brandinfo", brand=brand, **place), info)
        pipe.cut()


def _figures(now: Totals, before: Totals, market: float) -> dict[str, float]:
    return {
        "items": now.items,
        "deals": now.deals,
        "sales": now.sales,
        "delta_sales": round(now.sales - before.sales, 2),
        "share": now.sales / market if market else 0.0,
    }
