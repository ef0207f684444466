"""Sample data: a market with a few large shops and a long tail, the same for the same seed."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from examples.shop_index.keys import ALL
from examples.shop_index.raw import DAYS_PER_MONTH, Item, Observation, RawSales, Shop

LAST_DAY = date(2013, 11, 11)
CATEGORIES: dict[str, list[str]] = {
    "16": ["50008563", "50008564", "50008565"],  # women's wear: wool, dresses, coats
    "50011740": ["50011743", "50011744"],  # shoes: boots, trainers
    "50012082": [ALL],  # gifts: no second level
    "1801": ["50010788", "50010789", "50010790"],  # care: face, hair, scents
}
BRANDS = [
    f"{first}{last}" for first in ("北山", "Linden ", "Mori_") for last in ("木", "Co", "52°")
]
_WORDS = ("plain", "striped", "warm", "light", "classic", "small", "large", "festive")


def make(seed: int = 11, shops: int = 40, items: int = 400, days: int = 32) -> RawSales:
    """Observations of every item on each of the `days` days up to LAST_DAY."""
    random = Random(seed)
    raw = RawSales(shops={shop.id: shop for shop in (_shop(random, n) for n in range(shops))})
    shopids = list(raw.shops)
    for number in range(items):
        item = _item(random, number, shopids)
        raw.items[item.id] = item
        _observe(random, raw, item, days)
    return raw


def _shop(random: Random, number: int) -> Shop:
    shopid = str(57_300_000 + number * 37)
    name = f"Shop {number + 1}"
    return Shop(shopid, name, f"http://logo.example/{shopid}.png", random.randint(1, 20))


def _item(random: Random, number: int, shopids: list[str]) -> Item:
    # The square puts most items into few shops and brands, as markets do.
    itemid = str(1_234_000 + number)
    shopid = shopids[int(random.random() ** 2 * len(shopids))]
    brand = BRANDS[int(random.random() ** 2 * len(BRANDS))]
    cate1 = random.choice(list(CATEGORIES))
    cate2 = random.choice(CATEGORIES[cate1])
    name = f"{brand} {random.choice(_WORDS)} {number}"
    return Item(itemid, name, f"http://img.example/{itemid}.jpg", shopid, brand, cate1, cate2)


def _observe(random: Random, raw: RawSales, item: Item, days: int) -> None:
    price = round(random.lognormvariate(4, 0.8), 2)
    sold = random.lognormvariate(4.5, 1.2)
    for age in reversed(range(days)):
        sold *= random.uniform(0.93, 1.09)
        if random.random() < 1 / DAYS_PER_MONTH:
            price = round(price * random.uniform(0.8, 1.2), 2)
        seen = Observation(price, int(sold))
        raw.seen.setdefault(LAST_DAY - timedelta(days=age), {})[item.id] = seen
