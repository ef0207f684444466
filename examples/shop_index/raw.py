"""What a crawler sees: shops, items, and for each item and day its price and the deals of 30 days.

Everything in the index is computed from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from examples.shop_index.keys import ALL

DAYS_PER_MONTH = 30


@dataclass(frozen=True, slots=True)
class Shop:
    """A shop and its credit, from 1 to 20."""

    id: str
    name: str
    logo: str
    credit_score: int


@dataclass(frozen=True, slots=True)
class Item:
    """An item of one shop, brand and category; `cate2` is "all" where there is no second level."""

    id: str
    name: str
    image: str
    shopid: str
    brand: str
    cate1: str
    cate2: str

    @property
    def levels(self) -> set[tuple[str, str]]:
        """The categories it counts in: its own, and the whole first level."""
        return {(self.cate1, self.cate2), (self.cate1, ALL)}


@dataclass(frozen=True, slots=True)
class Observation:
    """An item on one day."""

    price: float
    num_sold30: int

    def deals(self, monorday: str) -> int:
        """Deals in the period; of a day there is only the average of the last thirty."""
        return self.num_sold30 if monorday == "mon" else self.num_sold30 // DAYS_PER_MONTH

    def sales(self, monorday: str) -> float:
        """Turnover in the period."""
        return round(self.price * self.deals(monorday), 2)


@dataclass(slots=True)
class RawSales:
    """All that was seen, by item and by day."""

    shops: dict[str, Shop] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    seen: dict[date, dict[str, Observation]] = field(default_factory=dict)

    @property
    def days(self) -> list[date]:
        """The days with observations, oldest first."""
        return sorted(self.seen)

    def on(self, day: date, monorday: str) -> Iterator[tuple[Item, int, float]]:
        """Each item seen on a day, with its deals and sales of the period that ends on it."""
        for itemid, seen in self.seen.get(day, {}).items():
            yield self.items[itemid], seen.deals(monorday), seen.sales(monorday)


def period_before(day: date, monorday: str) -> date:
    """The end of the period before the one that ends on `day`."""
    return day - timedelta(days=DAYS_PER_MONTH if monorday == "mon" else 1)


@dataclass(slots=True)
class Totals:
    """Sums over items: of a shop, a brand or a category, in one period."""

    sales: float = 0.0
    deals: int = 0
    items: int = 0
    active_items: int = 0

    def add(self, deals: int, sales: float) -> None:
        """Count one more item."""
        self.sales = round(self.sales + sales, 2)
        self.deals += deals
        self.items += 1
        self.active_items += deals > 0

    @property
    def active_index(self) -> int:
        """How busy: a deal counts one, an item that sold at all counts five."""
        return self.deals + 5 * self.active_items


def total(rows: Iterable[tuple[Item, int, float]]) -> Totals:
    """The totals of some rows of RawSales.on."""
    totals = Totals()
    for _, deals, sales in rows:
        totals.add(deals, sales)
    return totals
