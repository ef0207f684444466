"""The raw sales of one day as the builders want them: this period and the one before, groupable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import TypeVar

from examples.shop_index.keys import ALL, PERIODS
from examples.shop_index.raw import Item, RawSales, Totals, period_before, total

K = TypeVar("K", bound=Hashable)
Row = tuple[Item, int, float]  # an item, its deals and its sales in the period


@dataclass(frozen=True, slots=True)
class Period:
    """The rows of a period and of the one before it."""

    now: list[Row]
    before: list[Row]

    def where(self, holds: Callable[[Item], bool]) -> Period:
        """The rows of some items only."""
        return Period(
            [row for row in self.now if holds(row[0])],
            [row for row in self.before if holds(row[0])],
        )

    def totals(self) -> tuple[Totals, Totals]:
        """The sums of now and before."""
        return total(self.now), total(self.before)


@dataclass(slots=True)
class Snapshot:
    """One day of the market: `periods["day"]` and `periods["mon"]` end on it."""

    raw: RawSales
    day: date
    date: str = field(init=False)
    periods: dict[str, Period] = field(init=False)
    worths: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.date = self.day.isoformat()
        self.periods = {monorday: self._period(monorday) for monorday in PERIODS}
        months = totals_by(self.periods["mon"].now, lambda item: item.shopid)
        self.worths = {shopid: self._worth(shopid, sums) for shopid, sums in months.items()}

    def categories(self) -> dict[str, set[str]]:
        """The second-level categories of each first-level one, "all" always among them."""
        found: dict[str, set[str]] = {}
        for item, _, _ in self.periods["mon"].now:
            found.setdefault(item.cate1, {ALL}).add(item.cate2)
        return found

    def _period(self, monorday: str) -> Period:
        before = period_before(self.day, monorday)
        return Period(list(self.raw.on(self.day, monorday)), list(self.raw.on(before, monorday)))

    def _worth(self, shopid: str, month: Totals) -> float:
        """A year of sales, trusted as far as the shop's credit goes."""
        return round(month.sales * 12 * self.raw.shops[shopid].credit_score / 20, 2)


def group(rows: Iterable[Row], by: Callable[[Item], K]) -> dict[K, list[Row]]:
    """The rows by a property of their items."""
    groups: dict[K, list[Row]] = {}
    for row in rows:
        groups.setdefault(by(row[0]), []).append(row)
    return groups


def totals_by(rows: Iterable[Row], by: Callable[[Item], K]) -> dict[K, Totals]:
    """The sums by a property of the items."""
    return {value: total(some) for value, some in group(rows, by).items()}


def sales_by(rows: Iterable[Row], by: Callable[[Item], K]) -> dict[K, float]:
    """The sales by a property of the items."""
    return {value: sums.sales for value, sums in totals_by(rows, by).items()}


def in_category(cate1: str, cate2: str) -> Callable[[Item], bool]:
    """Whether an item counts in a category; every item of `cate1` does in "all"."""
    return lambda item: (cate1, cate2) in item.levels
