"""The shop indexes: rankings and figures by category, and the cards of single shops."""

from __future__ import annotations

from collections.abc import Mapping

from examples.shop_index.keys import ALL, PERIODS, Key, key, pack
from examples.shop_index.raw import Totals
from examples.shop_index.shardredis import ShardPipeline
from examples.shop_index.snapshot import Period, Row, Snapshot, group, in_category, totals_by
from examples.shop_index.writing import keep_top, put_hash, put_ranking, put_set

SUMMED = ("sales", "deals", "active_index")
CONSTANT = ("credit_score", "worth")
# The default order: turnover first, and among equals the busy and the trusted.
SCORE_WEIGHTS = {"sales": 0.01, "active_index": 1.0, "credit_score": 10.0}
HOT_ITEMS = 10


def index_category(pipe: ShardPipeline, snap: Snapshot, cate1: str, cates: set[str]) -> None:
    """shopindex_* and shopinfo_* of a first-level category and everything below it."""
    for monorday in PERIODS:
        for cate2 in sorted(cates):
            period = snap.periods[monorday].where(in_category(cate1, cate2))
            _infos(pipe, snap.date, (cate1, cate2), monorday, period)
    pipe.execute()
    for monorday in PERIODS:
        leaves = group(
            (row for row in snap.periods[monorday].now if row[0].cate1 == cate1),
            lambda item: item.cate2,
        )
        for cate2, rows in leaves.items():
            _rankings(pipe, snap, (cate1, cate2), monorday, rows)
        _add_up(pipe, snap.date, cate1, sorted(leaves), monorday)
        for cate2 in sorted(cates):
            _score(pipe, snap.date, (cate1, cate2), monorday)


def index_shop(pipe: ShardPipeline, snap: Snapshot, shopid: str) -> None:
    """The five keys of one shop."""
    own = {
        monorday: period.where(lambda item: item.shopid == shopid)
        for monorday, period in snap.periods.items()
    }
    month = own["mon"].now
    place = {"date": snap.date, "shopid": shopid}
    put_hash(pipe, key("shopbase", **place), _base(snap, shopid, own))
    put_set(pipe, key("shopcates", **place), {pack(i.cate1, i.cate2) for i, _, _ in month})
    hot = key("shophotitems", **place)
    put_ranking(pipe, hot, {item.id: sales for item, _, sales in month})
    keep_top(pipe, hot, HOT_ITEMS)
    counts = {cate2: len(rows) for cate2, rows in group(month, lambda i: i.cate2).items()}
    put_hash(pipe, key("shopcatescount", **place), counts)
    for monorday, period in own.items():
        brands = totals_by(period.now, lambda item: item.brand)
        for name in ("sales", "deals"):
            shares = key("shopbrandinfo", field=name, monorday=monorday, **place)
            put_hash(pipe, shares, {brand: getattr(sums, name) for brand, sums in brands.items()})


def _ranking(date: str, category: tuple[str, str], field: str, monorday: str) -> Key:
    cate1, cate2 = category
    return key("shopindex", date=date, cate1=cate1, cate2=cate2, field=field, monorday=monorday)


def _rankings(
    pipe: ShardPipeline, snap: Snapshot, category: tuple[str, str], monorday: str, rows: list[Row]
) -> None:
    totals = totals_by(rows, lambda item: item.shopid)
    for field in SUMMED:
        scores = {shopid: getattr(sums, field) for shopid, sums in totals.items()}
        put_ranking(pipe, _ranking(snap.date, category, field, monorday), scores)
    trust = {shopid: snap.raw.shops[shopid].credit_score for shopid in totals}
    put_ranking(pipe, _ranking(snap.date, category, "credit_score", monorday), trust)
    worths = {shopid: snap.worths[shopid] for shopid in totals}
    put_ranking(pipe, _ranking(snap.date, category, "worth", monorday), worths)


def _add_up(pipe: ShardPipeline, date: str, cate1: str, leaves: list[str], monorday: str) -> None:
    """The rankings of the whole first level, added up by the server that holds all of them."""
    for field in SUMMED + CONSTANT:
        whole = _ranking(date, (cate1, ALL), field, monorday)
        parts = [_ranking(date, (cate1, cate2), field, monorday).name for cate2 in leaves]
        how = "SUM" if field in SUMMED else "MAX"
        pipe.zunionstore(whole.name, parts, aggregate=how, skey=whole.skey)


def _score(pipe: ShardPipeline, date: str, category: tuple[str, str], monorday: str) -> None:
    score = _ranking(date, category, "score", monorday)
    weights = {
        _ranking(date, category, field, monorday).name: weight
        for field, weight in SCORE_WEIGHTS.items()
    }
    pipe.zunionstore(score.name, weights, skey=score.skey)


def _infos(
    pipe: ShardPipeline, date: str, category: tuple[str, str], monorday: str, period: Period
) -> None:
    before = totals_by(period.before, lambda item: item.shopid)
    for shopid, now in totals_by(period.now, lambda item: item.shopid).items():
        parts = {"cate1": category[0], "cate2": category[1], "monorday": monorday}
        info = key("shopinfo", date=date, shopid=shopid, **parts)
        put_hash(pipe, info, _figures(now, before.get(shopid, Totals())))
        pipe.cut()


def _figures(now: Totals, before: Totals) -> dict[str, float]:
    return {
        "sales": now.sales,
        "deals": now.deals,
        "active_index": now.active_index,
        "delta_sales": round(now.sales - before.sales, 2),
        "delta_active_index": now.active_index - before.active_index,
    }


def _base(snap: Snapshot, shopid: str, own: Mapping[str, Period]) -> dict[str, str | float]:
    shop = snap.raw.shops[shopid]
    base: dict[str, str | float] = {
        "name": shop.name,
        "logo": shop.logo,
        "credit_score": shop.credit_score,
        "worth": snap.worths[shopid],
    }
    for monorday, period in own.items():
        now, _ = period.totals()
        base |= {f"{field}_{monorday}": getattr(now, field) for field in SUMMED}
    return base
