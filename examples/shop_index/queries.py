"""What a web page asks: a page of a ranking, and the cards of a shop, an item, a brand, a category.

Each is one or two rounds to the servers. A card of something unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from examples.shop_index import series
from examples.shop_index.keys import Key, key, unpack
from examples.shop_index.shardredis import ShardRedis

PER_PAGE = 20
SERIES_DAYS = 30
_TEXT = {"name", "logo", "image", "shopid", "brand"}

Card = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a ranking; `total` counts all pages' entries."""

    total: int
    first_rank: int
    entries: list[Card]


def shop_ranking(
    conn: ShardRedis,
    day: date,
    cate1: str,
    cate2: str,
    field: str = "score",
    monorday: str = "mon",
    page: int = 1,
    per_page: int = PER_PAGE,
) -> Page:
    """Shops of a category, best first, each with its name and its figures in the category."""
    where = {"date": day.isoformat(), "cate1": cate1, "cate2": cate2, "monorday": monorday}
    found = _ranked(conn, key("shopindex", field=field, **where), page, per_page)
    infos = [key("shopinfo", shopid=entry["id"], **where) for entry in found.entries]
    bases = [key("shopbase", date=where["date"], shopid=entry["id"]) for entry in found.entries]
    hashes = _hashes(conn, infos + bases)
    for place, entry in enumerate(found.entries):
        base = hashes[len(infos) + place]
        entry |= {"name": base.get("name"), "logo": base.get("logo"), **hashes[place]}
    return found


def item_ranking(
    conn: ShardRedis, day: date, cate1: str, cate2: str, monorday: str = "mon", page: int = 1
) -> Page:
    """Items of a category by sales, best first, each with all that is known of it."""
    where = {"date": day.isoformat(), "cate1": cate1, "cate2": cate2, "monorday": monorday}
    found = _ranked(conn, key("itemindex", field="sales", **where), page, PER_PAGE)
    _add_items(conn, where["date"], found.entries)
    return found


def brand_ranking(conn: ShardRedis, day: date, cate1: str, cate2: str, page: int = 1) -> Page:
    """Brands of a category by sales, best first, each with its figures in the category."""
    where = {"date": day.isoformat(), "cate1": cate1, "cate2": cate2}
    found = _ranked(conn, key("brandindex", field="sales", **where), page, PER_PAGE)
    infos = [key("brandinfo", brand=entry["id"], **where) for entry in found.entries]
    for entry, info in zip(found.entries, _hashes(conn, infos), strict=True):
        entry |= info
    return found


def shop_card(conn: ShardRedis, day: date, shopid: str) -> Card | None:
    """A shop: its figures, categories, hot items, brands with their shares, the last days."""
    place = {"date": day.isoformat(), "shopid": shopid}
    sales = key("shopbrandinfo", field="sales", monorday="mon", **place)
    pipe = conn.reading()
    pipe.hgetall(key("shopbase", **place).name, skey=shopid)
    pipe.smembers(key("shopcates", **place).name, skey=shopid)
    pipe.hgetall(key("shopcatescount", **place).name, skey=shopid)
    pipe.zrevrange(key("shophotitems", **place).name, 0, -1, withscores=True, skey=shopid)
    pipe.hgetall(sales.name, skey=shopid)
    base, cates, counts, hot, brands = pipe.execute()
    if not base:
        return None
    hot_items = [{"id": member.decode(), "score": score} for member, score in hot]
    _add_items(conn, place["date"], hot_items)
    first = day - timedelta(days=SERIES_DAYS - 1)
    return {
        "id": shopid,
        **_decode(base),
        "categories": sorted(unpack(member) for member in cates),
        "items_by_category": {name.decode(): int(count) for name, count in counts.items()},
        "hot_items": hot_items,
        "brand_shares": _shares(brands),
        "series": series.shop_series(conn, shopid, first, day),
    }


def item_card(conn: ShardRedis, day: date, itemid: str) -> Card | None:
    """An item: what is known of it, and price, deals and sales of the last days."""
    info = _hashes(conn, [key("iteminfo", date=day.isoformat(), itemid=itemid)])[0]
    if not info:
        return None
    first = day - timedelta(days=SERIES_DAYS - 1)
    return {"id": itemid, **info, "series": series.item_series(conn, itemid, first, day)}


def brand_card(conn: ShardRedis, day: date, brand: str) -> Card | None:
    """A brand: per category its figures, number of shops, best items and shops; the last days."""
    place = {"date": day.isoformat(), "brand": brand}
    members = conn.smembers(key("brandcates", **place).name, skey=brand)
    if not members:
        return None
    first = day - timedelta(days=SERIES_DAYS - 1)
    return {
        "id": brand,
        "categories": [
            _brand_in(conn, place, cate1, cate2) for cate1, cate2 in sorted(map(unpack, members))
        ],
        "series": series.brand_series(conn, brand, first, day),
    }


def category_card(
    conn: ShardRedis, day: date, cate1: str, cate2: str, monorday: str = "mon"
) -> Card | None:
    """A category: its figures, its brands, its sub-categories by sales, its shops by credit."""
    place = {"date": day.isoformat(), "cate1": cate1, "cate2": cate2}
    ranking = {"date": place["date"], "cate1": cate1, "field": "sales", "monorday": monorday}
    pipe = conn.reading()
    pipe.hgetall(key("categoryinfo", monorday=monorday, **place).name, skey=cate1)
    pipe.smembers(key("categorybrands", **place).name, skey=cate1)
    pipe.hgetall(key("categorycredits", **place).name, skey=cate1)
    pipe.zrevrange(key("categoryindex", **ranking).name, 0, -1, withscores=True, skey=cate1)
    info, brands, by_credit, parts = pipe.execute()
    if not info:
        return None
    return {
        "id": (cate1, cate2),
        **_decode(info),
        "brand_names": sorted(brand.decode() for brand in brands),
        "shops_by_credit": {int(credit): int(count) for credit, count in sorted(by_credit.items())},
        "sales_by_category": {member.decode(): sales for member, sales in parts},
    }


def _brand_in(conn: ShardRedis, place: dict[str, str], cate1: str, cate2: str) -> Card:
    category = {"cate1": cate1, "cate2": cate2}
    items, shops = (key(kind, cate2=cate2, **place) for kind in ("brandhotitems", "brandhotshops"))
    pipe = conn.reading()
    pipe.hgetall(key("brandinfo", **place, **category).name, skey=cate1)
    pipe.scard(key("brand", **place, **category).name, skey=cate1)
    pipe.zrevrange(items.name, 0, 9, withscores=True, skey=items.skey)
    pipe.zrevrange(shops.name, 0, 9, withscores=True, skey=shops.skey)
    info, count, hot_items, hot_shops = pipe.execute()
    return {
        **category,
        **_decode(info),
        "shops": count,
        "hot_items": [(member.decode(), sales) for member, sales in hot_items],
        "hot_shops": [(member.decode(), sales) for member, sales in hot_shops],
    }


def _ranked(conn: ShardRedis, ranking: Key, page: int, per_page: int) -> Page:
    if page < 1 or per_page < 1:
        raise ValueError("pages are numbered from 1 and have at least one entry")
    first = (page - 1) * per_page
    pipe = conn.reading()
    pipe.zcard(ranking.name, skey=ranking.skey)
    last = first + per_page - 1
    pipe.zrevrange(ranking.name, first, last, withscores=True, skey=ranking.skey)
    total, members = pipe.execute()
    entries = [{"id": member.decode(), "score": score} for member, score in members]
    return Page(total, first + 1, entries)


def _add_items(conn: ShardRedis, date: str, entries: list[Card]) -> None:
    infos = [key("iteminfo", date=date, itemid=entry["id"]) for entry in entries]
    for entry, info in zip(entries, _hashes(conn, infos), strict=True):
        entry |= info


def _hashes(conn: ShardRedis, keys: list[Key]) -> list[Card]:
    """Many hashes in one round to each server."""
    pipe = conn.reading()
    for name, skey in keys:
        pipe.hgetall(name, skey=skey)
    return [_decode(fields) for fields in pipe.execute()]


def _decode(fields: dict[bytes, bytes]) -> Card:
    texts = {name.decode(): value.decode() for name, value in fields.items()}
    return {name: text if name in _TEXT else float(text) for name, text in texts.items()}


def _shares(brands: dict[bytes, bytes]) -> dict[str, float]:
    sales = {brand.decode(): float(value) for brand, value in brands.items()}
    whole = sum(sales.values())
    largest_first = sorted(sales, key=lambda brand: -sales[brand])
    return {brand: sales[brand] / whole if whole else 0.0 for brand in largest_first}
