"""The names of all keys, and the shard key of each: the only place that builds or reads a name.

Four kinds of shard key keep together what is computed or read together: everything of a top-level
category, of a shop, of an item, of a brand. Keys over everything stand alone.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgpack

ALL = "all"  # the second-level category that stands for the whole of the first level
PERIODS = ("day", "mon")

# name: (template, the part that is the shard key; None: the whole key)
TEMPLATES: dict[str, tuple[str, str | None]] = {
    "shopindex": ("shopindex_{date}_{cate1}_{cate2}_{field}_{monorday}", "cate1"),
    "shopinfo": ("shopinfo_{date}_{cate1}_{cate2}_{monorday}_{shopid}", "cate1"),
    "shopcates": ("shopcates_{date}_{shopid}", "shopid"),
    "shopbase": ("shopbase_{date}_{shopid}", "shopid"),
    "shophotitems": ("shophotitems_{date}_{shopid}", "shopid"),
    "shopcatescount": ("shopcatescount_{date}_{shopid}", "shopid"),
    "shopbrandinfo": ("shopbrandinfo_{date}_{shopid}_{field}_{monorday}", "shopid"),
    "itemindex": ("itemindex_{date}_{cate1}_{cate2}_{field}_{monorday}", "cate1"),
    "iteminfo": ("iteminfo_{date}_{itemid}", "itemid"),
    "itemcatescount": ("itemcatescount_{date}", None),
    "itemcatessales": ("itemcatessales_{date}", None),
    "brand": ("brand_{date}_{brand}_{cate1}_{cate2}", "cate1"),
    "brandinfo": ("brandinfo_{date}_{brand}_{cate1}_{cate2}", "cate1"),
    "brandcates": ("brandcates_{date}_{brand}", "brand"),
    "brands": ("brands_{date}", None),
    "brandindex": ("brandindex_{date}_{cate1}_{cate2}_{field}", "cate1"),
    "brandhotitems": ("brandhotitems_{date}_{brand}_{cate2}", "brand"),
    "brandhotshops": ("brandhotshops_{date}_{brand}_{cate2}", "brand"),
    "categoryinfo": ("categoryinfo_{date}_{cate1}_{cate2}_{monorday}", "cate1"),
    "categorybrands": ("categorybrands_{date}_{cate1}_{cate2}", "cate1"),
    "categoryindex": ("categoryindex_{date}_{cate1}_{field}_{monorday}", "cate1"),
    "categorycredits": ("categorycredits_{date}_{cate1}_{cate2}", "cate1"),
    "item_by_date": ("item_by_date_{itemid}", "itemid"),
    "shop_by_date": ("shop_by_date_{shopid}", "shopid"),
    "brand_by_date": ("brand_by_date_{brand}", "brand"),
}
# How a part looks in a name; a brand or a field may hold underscores, the others never do.
_SHAPES = {"date": r"\d{4}-\d\d-\d\d", "brand": ".+", "field": ".+"}


class Key(NamedTuple):
    """A key's name and the shard key under which it lives."""

    name: str
    skey: str


def key(kind: str, **parts: str) -> Key:
    """Build a key of one of TEMPLATES; `parts` are the words in its braces."""
    template, shard_part = TEMPLATES[kind]
    name = template.format(**parts)
    return Key(name, parts[shard_part] if shard_part else name)


def parse(name: str) -> Key:
    """The same key from its name; ValueError if the name is none of this index."""
    for pattern, shard_part in _PATTERNS:
        found = pattern.fullmatch(name)
        if found is not None:
            return Key(name, found[shard_part] if shard_part else name)
    raise ValueError(f"not a key of the index: {name!r}")


def pack(cate1: str, cate2: str) -> bytes:
    """A category as a member of a set or a field of a hash."""
    packed: bytes = msgpack.packb((cate1, cate2))
    return packed


def unpack(member: bytes) -> tuple[str, str]:
    """The category that `pack` packed."""
    cate1, cate2 = msgpack.unpackb(member)
    return cate1, cate2


def _pattern(template: str) -> re.Pattern[str]:
    def part(word: re.Match[str]) -> str:
        return f"(?P<{word[1]}>{_SHAPES.get(word[1], '[^_]+')})"

    return re.compile(re.sub(r"\{(\w+)\}", part, template), re.DOTALL)


_PATTERNS: list[tuple[re.Pattern[str], Any]] = [
    (_pattern(template), shard_part) for template, shard_part in TEMPLATES.values()
]
