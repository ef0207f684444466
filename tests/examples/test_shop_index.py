"""The shop-ranking index on real servers, checked against sums made here from the raw sales."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from fnmatch import fnmatchcase

import msgpack
import pytest
import redis

from examples.shop_index import __main__ as command_line
from examples.shop_index import keys, queries, sample, settings, show
from examples.shop_index.build import build, build_series
from examples.shop_index.keys import ALL, key
from examples.shop_index.moving import move_keys
from examples.shop_index.raw import Item, Observation, RawSales, Shop
from examples.shop_index.ring import Ring
from examples.shop_index.shardredis import ShardRedis
from tests.harness.servers import RedisServer, StrataServer
from tests.tier.servers import wait_until_used

DAY = sample.LAST_DAY
DATE = DAY.isoformat()
FIRST_DB = 2  # of the Redis; the databases before it belong to the other examples
only_with_policy = pytest.mark.parametrize("uris", ["policy"], indirect=True)


@pytest.fixture(scope="module", params=["exact", "policy"])
def uris(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Four servers; the index lives on the first three until it grows.

    Once with the defaults, and once with the policy and the Redis that it wants.
    """
    home = tmp_path_factory.mktemp("shops")
    servers = [StrataServer(home / f"aggre{number}") for number in range(1, 5)]
    if request.param == "policy":
        tier = request.getfixturevalue("tier")
        for database, server in enumerate(servers, FIRST_DB):
            cache = f"redis://127.0.0.1:{tier.port}/{database}"
            server.flags = ("--config", str(settings.POLICY), "--cache-url", cache)
    for server in servers:
        server.start()
        if request.param == "policy":
            wait_until_used(server)
    yield {server.dir.name: f"redis://127.0.0.1:{server.port}" for server in servers}
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def raw() -> RawSales:
    return sample.make(shops=20, items=160, days=32)


@pytest.fixture(scope="module")
def conn(uris: dict[str, str], raw: RawSales) -> Iterator[ShardRedis]:
    """The index of the last day and the series of all days, on three servers."""
    three = ShardRedis({name: uri for name, uri in uris.items() if name != "aggre4"})
    build(three, raw, DAY)
    build_series(three, raw)
    yield three
    three.close()


def month_rows(raw: RawSales, day: date = DAY) -> list[tuple[Item, int, float]]:
    """Item, deals and sales of the month that ends on a day, by the document's formulas."""
    return [
        (raw.items[itemid], seen.num_sold30, seen.price * seen.num_sold30)
        for itemid, seen in raw.seen[day].items()
    ]


def day_rows(raw: RawSales, day: date = DAY) -> list[tuple[Item, int, float]]:
    return [
        (raw.items[itemid], seen.num_sold30 // 30, seen.price * (seen.num_sold30 // 30))
        for itemid, seen in raw.seen[day].items()
    ]


def sums(rows: list[tuple[Item, int, float]], by: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for item, _, sales in rows:
        found[getattr(item, by)] = found.get(getattr(item, by), 0) + sales
    return found


def scores(conn: ShardRedis, kind: str, **parts: str) -> dict[str, float]:
    ranking = key(kind, date=DATE, **parts)
    found = conn.zrange(ranking.name, 0, -1, withscores=True, skey=ranking.skey)
    return {member.decode(): score for member, score in found}


def fields(conn: ShardRedis, kind: str, **parts: str) -> dict[str, str]:
    place = key(kind, **parts)
    found = conn.hgetall(place.name, skey=place.skey)
    return {name.decode(): value.decode() for name, value in found.items()}


# ---- sharding


def test_a_key_goes_to_its_own_server_and_a_shard_key_overrides_it(uris: dict[str, str]) -> None:
    conn = ShardRedis(uris)
    conn.set("test", "by key")
    elsewhere = next(
        skey for skey in map(str, range(99)) if conn.server(skey) is not conn.server("test")
    )
    conn.set("test", "by shard key", skey=elsewhere)
    assert conn.server("test").get("test") == b"by key"
    assert conn.server(elsewhere).get("test") == b"by shard key"
    assert conn.delete("test", skey="test") == conn.delete("test", skey=elsewhere) == 1
    conn.close()


def test_commands_without_a_place_are_refused(conn: ShardRedis) -> None:
    with pytest.raises(TypeError, match="skey="):
        conn.mget("a", "b")
    with pytest.raises(AttributeError, match="flushall cannot be sharded"):
        conn.flushall()


def test_a_pipeline_answers_in_the_order_of_the_calls(conn: ShardRedis) -> None:
    pipe = conn.pipeline()
    for number in range(30):
        pipe.set(f"order{number}", number)
    assert len(pipe) == 30
    assert pipe.execute() == [True] * 30
    for number in range(30):
        pipe.get(f"order{number}")
    assert pipe.execute() == [str(number).encode() for number in range(30)]
    for number in range(30):
        conn.delete(f"order{number}", skey=f"order{number}")


@pytest.mark.parametrize("before", [1, 2, 3, 5, 9])
def test_adding_a_server_moves_about_one_nth_of_the_shard_keys_and_only_to_it(before: int) -> None:
    names = [f"aggre{number}" for number in range(1, before + 2)]
    old, new = Ring(names[:-1]), Ring(names)
    shard_keys = [str(number) for number in range(20_000)]
    moved = [skey for skey in shard_keys if old.owner(skey) != new.owner(skey)]
    assert {new.owner(skey) for skey in moved} == {names[-1]}
    assert len(moved) / len(shard_keys) == pytest.approx(1 / (before + 1), rel=0.15)


def test_a_ring_depends_on_names_not_on_their_order() -> None:
    one, other = Ring(["a", "b", "c"]), Ring(["c", "a", "b", "a"])
    assert all(one.owner(str(n)) == other.owner(str(n)) for n in range(500))
    with pytest.raises(ValueError, match="at least one server"):
        Ring([])


def test_all_keys_of_a_category_are_on_one_server(conn: ShardRedis) -> None:
    homes: dict[str, set[str]] = {cate1: set() for cate1 in sample.CATEGORIES}
    found = 0
    for name, server in conn.servers.items():
        for raw_key in server.scan_iter():
            place = keys.parse(raw_key.decode())
            assert conn.ring.owner(place.skey) == name
            if place.skey in homes:
                homes[place.skey].add(name)
                found += 1
    assert all(len(names) == 1 for names in homes.values()), homes
    assert found > 500


# ---- names and packing


@pytest.mark.parametrize("kind", list(keys.TEMPLATES))
def test_a_name_tells_its_shard_key_again(kind: str) -> None:
    parts = {"date": DATE, "cate1": "16", "cate2": ALL, "field": "active_index"}
    parts |= {"monorday": "mon", "shopid": "573", "itemid": "1234", "brand": "by_date 北_木"}
    built = key(kind, **parts)
    assert keys.parse(built.name) == built


def test_a_foreign_name_is_not_parsed() -> None:
    with pytest.raises(ValueError, match="not a key of the index"):
        keys.parse("shopindex_yesterday_16_all_sales_mon")


def test_names_and_packed_members_are_those_of_the_document(conn: ShardRedis) -> None:
    ranking = key(
        "shopindex", date=DATE, cate1="16", cate2="50008563", field="sales", monorday="mon"
    )
    assert ranking.name == "shopindex_2013-11-11_16_50008563_sales_mon"
    assert conn.type(ranking.name, skey="16") == b"zset"
    counts = conn.hgetall("itemcatescount_2013-11-11")
    assert msgpack.packb(["16", "50008563"]) in counts


# ---- the four groups


@pytest.mark.parametrize(("monorday", "rows_of"), [("mon", month_rows), ("day", day_rows)])
@pytest.mark.parametrize("cate1", ["16", "50012082"])
def test_shop_rankings_hold_the_sums_of_the_raw_sales(
    conn: ShardRedis, raw: RawSales, cate1: str, monorday: str, rows_of: object
) -> None:
    rows = [row for row in rows_of(raw) if row[0].cate1 == cate1]  # type: ignore[operator]
    for cate2 in {row[0].cate2 for row in rows} | {ALL}:
        some = [row for row in rows if cate2 in (row[0].cate2, ALL)]
        place = {"cate1": cate1, "cate2": cate2, "monorday": monorday}
        found = scores(conn, "shopindex", field="sales", **place)
        assert found == pytest.approx(sums(some, "shopid"), abs=0.1)
        deals = Counter[str]()
        for item, count, _ in some:
            deals[item.shopid] += count
        assert scores(conn, "shopindex", field="deals", **place) == deals
        credit = {shopid: raw.shops[shopid].credit_score for shopid in found}
        assert scores(conn, "shopindex", field="credit_score", **place) == credit
        assert scores(conn, "shopindex", field="score", **place).keys() == found.keys()


def test_worth_is_the_same_in_every_category(conn: ShardRedis, raw: RawSales) -> None:
    for shopid in raw.shops:
        base = fields(conn, "shopbase", date=DATE, shopid=shopid)
        for cate1, cates in sample.CATEGORIES.items():
            for cate2 in {*cates, ALL}:
                place = {"cate1": cate1, "cate2": cate2, "monorday": "mon"}
                worth = scores(conn, "shopindex", field="worth", **place).get(shopid)
                assert worth in (None, float(base["worth"]))


@pytest.mark.parametrize(("monorday", "back"), [("mon", 30), ("day", 1)])
def test_deltas_are_this_period_minus_the_one_before(
    conn: ShardRedis, raw: RawSales, monorday: str, back: int
) -> None:
    rows_of = month_rows if monorday == "mon" else day_rows
    now, before = (
        sums([row for row in rows_of(raw, day) if row[0].cate1 == "16"], "shopid")
        for day in (DAY, DAY - timedelta(days=back))
    )
    for shopid, sales in now.items():
        place = {"cate1": "16", "cate2": ALL, "monorday": monorday, "shopid": shopid}
        info = fields(conn, "shopinfo", date=DATE, **place)
        assert float(info["sales"]) == pytest.approx(sales, abs=0.1)
        assert float(info["delta_sales"]) == pytest.approx(sales - before[shopid], abs=0.2)
    category = fields(conn, "categoryinfo", date=DATE, cate1="16", cate2=ALL, monorday=monorday)
    change = sum(now.values()) - sum(before.values())
    assert float(category["delta_sales"]) == pytest.approx(change, abs=1)


def test_brand_shares_of_a_category_add_up_to_one(conn: ShardRedis, raw: RawSales) -> None:
    rows = [row for row in month_rows(raw) if row[0].cate1 == "1801"]
    market = sum(sales for _, _, sales in rows)
    shares = 0.0
    for brand, sales in sums(rows, "brand").items():
        place = {"brand": brand, "cate1": "1801", "cate2": ALL}
        info = fields(conn, "brandinfo", date=DATE, **place)
        assert float(info["share"]) == pytest.approx(sales / market, rel=1e-4)
        shops = key("brand", date=DATE, **place)
        expected = {item.shopid.encode() for item, _, _ in rows if item.brand == brand}
        assert conn.smembers(shops.name, skey=shops.skey) == expected
        shares += float(info["share"])
    assert shares == pytest.approx(1)


def test_a_category_knows_its_brands_shops_and_parts(conn: ShardRedis, raw: RawSales) -> None:
    rows = [row for row in month_rows(raw) if row[0].cate1 == "16"]
    card = queries.category_card(conn, DAY, "16", ALL)
    assert card is not None
    shops = {item.shopid for item, _, _ in rows}
    assert (card["items"], card["shops"]) == (len(rows), len(shops))
    assert card["brand_names"] == sorted({item.brand for item, _, _ in rows})
    assert card["shops_by_credit"] == Counter(raw.shops[shopid].credit_score for shopid in shops)
    assert card["sales_by_category"] == pytest.approx(sums(rows, "cate2"), abs=0.1)
    assert queries.category_card(conn, DAY, "404", ALL) is None


def test_rankings_end_at_1000_and_hot_items_at_10(uris: dict[str, str]) -> None:
    raw = RawSales(shops={"1": Shop("1", "one", "logo", 5)}, seen={DAY: {}})
    for number in range(1200):
        item = Item(f"i{number}", "", "", "1", f"b{number}", "77", f"c{number % 2}")
        raw.items[item.id] = item
        raw.seen[DAY][item.id] = Observation(1.0, 100 + number)
    only = ShardRedis({"aggre4": uris["aggre4"]})
    build(only, raw, DAY)
    best = {f"i{number}": 100.0 + number for number in range(200, 1200)}
    place = {"cate1": "77", "cate2": ALL, "field": "sales"}
    assert scores(only, "itemindex", monorday="mon", **place) == best
    assert len(scores(only, "itemindex", monorday="mon", **{**place, "cate2": "c0"})) == 600
    assert scores(only, "brandindex", **place).keys() == {f"b{n}" for n in range(200, 1200)}
    assert scores(only, "shophotitems", shopid="1") == {
        f"i{number}": 100.0 + number for number in range(1190, 1200)
    }
    only.servers["aggre4"].flushall()
    only.close()


def test_building_again_changes_nothing_and_leaves_nothing(conn: ShardRedis, raw: RawSales) -> None:
    ranking = key("shopindex", date=DATE, cate1="16", cate2=ALL, field="sales", monorday="mon")
    conn.zadd(ranking.name, {"stale": 1e12}, skey=ranking.skey)
    before = {name: server.dbsize() for name, server in conn.servers.items()}
    build(conn, raw, DAY)
    assert {name: server.dbsize() for name, server in conn.servers.items()} == before
    assert conn.zscore(ranking.name, "stale", skey=ranking.skey) is None


# ---- time series


def test_item_series_follow_the_formulas_of_the_document(conn: ShardRedis, raw: RawSales) -> None:
    itemid = next(iter(raw.items))
    card = queries.item_card(conn, DAY, itemid)
    assert card is not None
    assert len(card["series"]) == 30
    for point in card["series"]:
        seen = raw.seen[date.fromisoformat(point["date"])][itemid]
        deals = seen.num_sold30 // 30
        expected = {"price": seen.price, "deals": deals, "sales": round(seen.price * deals, 2)}
        assert point == {"date": point["date"], **expected}


def test_the_rank_of_a_shops_series_is_its_place_in_the_index(conn: ShardRedis) -> None:
    page = queries.shop_ranking(conn, DAY, "16", ALL, "sales", "day", per_page=100)
    assert page.total == len(page.entries) > 10
    for rank, entry in enumerate(page.entries, 1):
        stored = msgpack.unpackb(conn.hget(f"shop_by_date_{entry['id']}", DATE, skey=entry["id"]))
        assert json.loads(stored["rank"])["16"] == rank


def test_brand_series_hold_share_and_shops_of_every_day(conn: ShardRedis, raw: RawSales) -> None:
    brand = sample.BRANDS[0]
    card = queries.brand_card(conn, DAY, brand)
    assert card is not None
    for point in card["series"]:
        rows = day_rows(raw, date.fromisoformat(point["date"]))
        own = [row for row in rows if row[0].brand == brand]
        share = sum(row[2] for row in own) / sum(row[2] for row in rows)
        assert point["share"] == pytest.approx(share, rel=1e-4)
        assert point["shops"] == len({row[0].shopid for row in own})


# ---- queries


def test_pages_of_a_ranking_continue_each_other(conn: ShardRedis) -> None:
    whole = queries.shop_ranking(conn, DAY, "16", ALL, "sales", per_page=100)
    first, second = (
        queries.shop_ranking(conn, DAY, "16", ALL, "sales", page=page, per_page=4)
        for page in (1, 2)
    )
    assert first.entries + second.entries == whole.entries[:8]
    assert (second.first_rank, second.total) == (5, whole.total)
    best = first.entries[0]
    assert best["name"].startswith("Shop ")
    assert best["sales"] == pytest.approx(best["score"])
    assert queries.shop_ranking(conn, DAY, "16", ALL, page=99).entries == []
    with pytest.raises(ValueError, match="numbered from 1"):
        queries.shop_ranking(conn, DAY, "16", ALL, page=0)


def test_item_and_brand_rankings_carry_their_cards(conn: ShardRedis, raw: RawSales) -> None:
    items = queries.item_ranking(conn, DAY, "50011740", ALL).entries
    assert [entry["score"] for entry in items] == [entry["sales_mon"] for entry in items]
    assert items == sorted(items, key=lambda entry: -entry["score"])
    assert items[0]["name"] == raw.items[items[0]["id"]].name
    brands = queries.brand_ranking(conn, DAY, "50011740", ALL).entries
    assert brands[0]["share"] == max(entry["share"] for entry in brands)


def test_a_shop_card_shows_categories_items_and_brand_shares(
    conn: ShardRedis, raw: RawSales
) -> None:
    shopid = next(iter(raw.shops))
    rows = [row for row in month_rows(raw) if row[0].shopid == shopid]
    card = queries.shop_card(conn, DAY, shopid)
    assert card is not None
    assert card["categories"] == sorted({(item.cate1, item.cate2) for item, _, _ in rows})
    assert card["items_by_category"] == Counter(item.cate2 for item, _, _ in rows)
    best = sorted((sales for _, _, sales in rows), reverse=True)[:10]
    assert [entry["score"] for entry in card["hot_items"]] == pytest.approx(best)
    assert sum(card["brand_shares"].values()) == pytest.approx(1)
    assert card["sales_mon"] == pytest.approx(sum(sales for _, _, sales in rows), abs=0.1)


def test_cards_of_the_unknown_are_none(conn: ShardRedis) -> None:
    assert queries.shop_card(conn, DAY, "404") is None
    assert queries.item_card(conn, DAY, "404") is None
    assert queries.brand_card(conn, DAY, "no such brand") is None


# ---- growing, the command line, the policy


def test_a_fourth_server_takes_its_share_and_every_answer_stays(
    conn: ShardRedis, uris: dict[str, str]
) -> None:
    before = queries.shop_ranking(conn, DAY, "16", ALL), queries.brand_card(conn, DAY, "Mori_Co")
    keys_before = sum(server.dbsize() for server in conn.servers.values())
    grown = ShardRedis(uris)
    arrived = move_keys(grown)
    assert arrived["aggre4"] == sum(arrived.values()) > 0
    assert sum(server.dbsize() for server in grown.servers.values()) == keys_before
    after = queries.shop_ranking(grown, DAY, "16", ALL), queries.brand_card(grown, DAY, "Mori_Co")
    assert after == before
    assert sum(move_keys(grown).values()) == 0
    assert sum(move_keys(conn).values()) == 0
    move_back = ShardRedis({**uris})
    move_back.ring = conn.ring
    assert sum(move_keys(move_back).values()) == arrived["aggre4"]
    grown.close()
    move_back.close()


def test_the_command_line_builds_and_asks(
    uris: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server = ["--server", f"aggre4={uris['aggre4']}"]
    small = ["--shops", "4", "--items", "20", "--days", "2"]
    assert command_line.main([*server, "build", *small]) == 0
    assert "commands for 20 items" in capsys.readouterr().out
    assert command_line.main([*server, "rank", "16", "--field", "sales"]) == 0
    assert "Shop" in capsys.readouterr().out
    assert command_line.main([*server, "item", "1234000"]) == 0
    assert "sales by day" in capsys.readouterr().out
    assert command_line.main([*server, "shop", "404"]) == 1
    assert capsys.readouterr().out == "not found\n"
    ShardRedis({"aggre4": uris["aggre4"]}).servers["aggre4"].flushall()


@only_with_policy
@pytest.mark.parametrize(
    ("kind", "match", "stored"),
    [
        ("shopindex", "shopindex_*", "zset v1"),
        ("itemindex", "itemindex_*", "zset v0"),
        ("categoryindex", "categoryindex_*", "zset v0"),
        ("categoryinfo", "*info_*", "hash v1"),
        ("brandinfo", "*info_*", "hash v1"),
        ("brand_by_date", "*_by_date_*", "hash v1"),
        ("categorycredits", "*", "hash v0"),
        ("categorybrands", "*", "set v0"),
    ],
)
def test_the_servers_apply_the_policy(conn: ShardRedis, kind: str, match: str, stored: str) -> None:
    parts = {"date": DATE, "cate1": "16", "cate2": ALL, "field": "sales", "monorday": "mon"}
    told = show.explain(conn, key(kind, brand=sample.BRANDS[0], **parts))
    assert told["rule"].startswith(f"match {match!r} in any db (")
    assert told["stored-as"] == stored


@only_with_policy
def test_a_page_of_a_shop_ranking_comes_from_the_redis(conn: ShardRedis, tier: RedisServer) -> None:
    ranking = key("shopindex", date=DATE, cate1="16", cate2=ALL, field="worth", monorday="day")
    queries.shop_ranking(conn, DAY, "16", ALL, "worth", "day")
    database = FIRST_DB + list(conn.servers).index(conn.ring.owner(ranking.skey))
    with redis.Redis(port=tier.port, db=database) as client:
        held = [name for name in client.scan_iter() if ranking.name.encode() in name]
        assert [client.type(name) for name in held] == [b"zset"]


def test_every_kind_of_key_has_a_rule_and_every_rule_a_kind() -> None:
    rules = [rule["match"] for rule in tomllib.loads(settings.POLICY.read_text())["policy"]]
    names = [template for template, _ in keys.TEMPLATES.values()]
    used = [next(rule for rule in rules if fnmatchcase(name, rule)) for name in names]
    assert set(used) == set(rules)
