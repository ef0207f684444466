"""The category indexes: figures, brands, the ranking of sub-categories, shops by credit."""

from __future__ import annotations

from collections import Counter

from examples.shop_index.keys import PERIODS, key
from examples.shop_index.shardredis import ShardPipeline
from examples.shop_index.snapshot import Period, Snapshot, in_category, sales_by
from examples.shop_index.writing import put_hash, put_ranking, put_set


def index_category(pipe: ShardPipeline, snap: Snapshot, cate1: str, cates: set[str]) -> None:
    """categoryinfo_*, -brands_*, -index_* and -credits_* of a first-level category."""
    for cate2 in sorted(cates):
        place = {"date": snap.date, "cate1": cate1, "cate2": cate2}
        for monorday in PERIODS:
            period = snap.periods[monorday].where(in_category(cate1, cate2))
            put_hash(pipe, key("categoryinfo", monorday=monorday, **place), _figures(period))
        month = snap.periods["mon"].where(in_category(cate1, cate2)).now
        put_set(pipe, key("categorybrands", **place), {item.brand for item, _, _ in month})
        shops = {item.shopid for item, _, _ in month}
        by_credit = Counter(snap.raw.shops[shopid].credit_score for shopid in shops)
        put_hash(pipe, key("categorycredits", **place), by_credit)
    for monorday in PERIODS:
        rows = [row for row in snap.periods[monorday].now if row[0].cate1 == cate1]
        parts = {"cate1": cate1, "field": "sales", "monorday": monorday}
        ranking = key("categoryindex", date=snap.date, **parts)
        put_ranking(pipe, ranking, sales_by(rows, lambda item: item.cate2))


def _figures(period: Period) -> dict[str, float]:
    now, before = period.totals()
    return {
        "sales": now.sales,
        "deals": now.deals,
        "delta_sales": round(now.sales - before.sales, 2),
        "items": now.items,
        "brands": len({item.brand for item, _, _ in period.now}),
        "shops": len({item.shopid for item, _, _ in period.now}),
    }
