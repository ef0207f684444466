"""The item indexes: rankings by category, what is known of single items, and market totals."""

from __future__ import annotations

from examples.shop_index.keys import ALL, PERIODS, Key, key, pack
from examples.shop_index.shardredis import ShardPipeline
from examples.shop_index.snapshot import Snapshot, group
from examples.shop_index.writing import keep_top, put_hash, put_ranking

TOP = 1000


def index_category(pipe: ShardPipeline, snap: Snapshot, cate1: str, cates: set[str]) -> None:
    """itemindex_* of a first-level category and everything below it, by sales."""
    for monorday in PERIODS:
        rows = [row for row in snap.periods[monorday].now if row[0].cate1 == cate1]
        rankings = []
        leaves = group(rows, lambda item: item.cate2)
        for cate2 in sorted(cates & leaves.keys()):
            ranking = _ranking(snap.date, cate1, cate2, monorday)
            put_ranking(pipe, ranking, {item.id: sales for item, _, sales in leaves[cate2]})
            keep_top(pipe, ranking, TOP)
            rankings.append(ranking.name)
        # An item is in one category only: the best of all are among the best of each.
        whole = _ranking(snap.date, cate1, ALL, monorday)
        pipe.zunionstore(whole.name, rankings, skey=whole.skey)
        keep_top(pipe, whole, TOP)


def index_item(pipe: ShardPipeline, snap: Snapshot, itemid: str) -> None:
    """iteminfo_* of one item that was seen on the day."""
    item, seen = snap.raw.items[itemid], snap.raw.seen[snap.day][itemid]
    info: dict[str, str | float] = {
        "name": item.name,
        "image": item.image,
        "shopid": item.shopid,
        "brand": item.brand,
    }
    for monorday in PERIODS:
        info[f"sales_{monorday}"] = seen.sales(monorday)
        info[f"deals_{monorday}"] = seen.deals(monorday)
    put_hash(pipe, key("iteminfo", date=snap.date, itemid=itemid), info)


def index_market(pipe: ShardPipeline, snap: Snapshot) -> None:
    """Number and month's sales of the items in every category, the first levels included."""
    counts: dict[bytes, int] = {}
    sums: dict[bytes, float] = {}
    for item, _, sales in snap.periods["mon"].now:
        for category in item.levels:
            field = pack(*category)
            counts[field] = counts.get(field, 0) + 1
            sums[field] = round(sums.get(field, 0) + sales, 2)
    put_hash(pipe, key("itemcatescount", date=snap.date), counts)
    put_hash(pipe, key("itemcatessales", date=snap.date), sums)


def _ranking(date: str, cate1: str, cate2: str, monorday: str) -> Key:
    parts = {"cate1": cate1, "cate2": cate2, "field": "sales", "monorday": monorday}
    return key("itemindex", date=date, **parts)
