"""Rankings and cards as text for the terminal."""

from __future__ import annotations

from typing import Any

from examples.shop_index.keys import Key
from examples.shop_index.queries import Card, Page
from examples.shop_index.shardredis import ShardRedis

_BARS = "▁▂▃▄▅▆▇█"


def ranking(page: Page) -> str:
    """One line per entry: its rank and name, what it is ranked by, its sales and their change."""
    lines = [f"{'':4}  {f'of {page.total}':<24} {'ranked by':>14}  {'sales':>14}  {'change':>14}"]
    for rank, entry in enumerate(page.entries, page.first_rank):
        delta = entry.get("delta_sales")
        change = "" if delta is None else f"  {delta:+14,.2f}"
        sales = entry.get("sales", entry.get("sales_mon", entry["score"]))
        name = entry.get("name") or entry["id"]
        lines.append(f"{rank:4}  {name:<24} {entry['score']:14,.2f}  {sales:14,.2f}{change}")
    return "\n".join(lines)


def card(found: Card | None) -> str:
    """A block of lines; the series as a small chart of the sales."""
    if found is None:
        return "not found"
    lines = [f"\n{found.get('name', found['id'])}"]
    for name, value in found.items():
        if name == "series":
            lines.append(f"  sales by day        {_chart([day['sales'] for day in value])}")
        elif name not in ("id", "name"):
            lines.append(f"  {name:<19} {_text(value)}")
    return "\n".join(lines)


def servers(conn: ShardRedis) -> str:
    """How many keys each server holds."""
    counts = {name: server.dbsize() for name, server in conn.servers.items()}
    return "keys: " + ", ".join(f"{name} {count}" for name, count in counts.items())


def policy(conn: ShardRedis, place: Key) -> str:
    """The rule that a key's server applies to it, and what the key is stored as."""
    told = explain(conn, place)
    return f"{place.name}: {told.get('stored-as', 'not there')}, by {told['rule']}"


def explain(conn: ShardRedis, place: Key) -> dict[str, str]:
    """What `STRATA POLICY EXPLAIN` says about a key."""
    server: Any = conn.server(place.skey)
    told = server.execute_command("STRATA POLICY EXPLAIN", place.name)
    pairs = told.items() if isinstance(told, dict) else zip(told[::2], told[1::2], strict=True)
    return {name.decode(): _word(value) for name, value in pairs}


def _word(value: bytes | int) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _chart(values: list[float]) -> str:
    if not values:
        return "none"
    low, high = min(values), max(values)
    step = (high - low) / (len(_BARS) - 1) or 1
    return "".join(_BARS[round((value - low) / step)] for value in values)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1 else f"{value:,.2f}".removesuffix(".00")
    if isinstance(value, dict) and "id" in value:
        return f"{value['name']} ({_text(value['score'])})"
    if isinstance(value, dict) and "cate2" in value:
        return f"{value['cate2']}: {_text(value['sales'])}, share {value['share']:.1%}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        shown = "; ".join(_text(part) for part in value[:3])
        return shown + (f"; … {len(value)} in all" if len(value) > 3 else "")
    if isinstance(value, tuple):
        return " / ".join(_text(part) for part in value)
    return str(value)
