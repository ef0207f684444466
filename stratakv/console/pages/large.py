"""What is large, and what is used most: a survey of a database, and a sampling of requests."""

import time
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from stratakv.console import forms, treemap
from stratakv.console.client import Client
from stratakv.console.frame import (
    address,
    card,
    choices,
    field,
    form,
    meter,
    page,
    raw,
    session_of,
    table,
    type_badge,
)
from stratakv.console.markup import Markup, Node, el
from stratakv.console.pages.keys import key_address
from stratakv.console.replies import Failure
from stratakv.console.sessions import Session
from stratakv.console.survey import OTHERS, Survey

WIDTH: Final = 1000.0
HEIGHT: Final = 420.0
TILES: Final = 40
HOT: Final = 20


async def show(request: web.Request) -> web.Response:
    """Both."""
    session = session_of(request)
    survey = session.survey
    parts: list[Node] = [_begin(session, survey)]
    if survey is not None and survey.seen:
        prefix = raw(request, "prefix")
        parts += [_map(survey, prefix), _largest(survey)]
    parts.append(await _hot(session))
    return page(request, "Large and hot", parts)


def _begin(session: Session, survey: Survey | None) -> Markup:
    databases = {str(n): str(n) for n in range(16)}
    chosen = str(survey.db) if survey else "0"
    if survey is not None and survey.is_running:
        button = form(session, "/large/stop", el("button", "Stop"))
    else:
        again = "Survey again" if survey else "Begin a survey"
        button = form(
            session,
            "/large/start",
            field("Database", choices("db", databases, chosen)),
            el("button", again, class_="primary"),
            class_="finder",
        )
    told: Node = el(
        "p",
        "A survey looks at every key of a database once, at an easy pace: its type, its count,"
        " and its size as the server estimates it. No collection is read.",
        class_="hint",
    )
    if survey is not None:
        told = [_state(survey), meter(survey.share, "how much was seen")]
    return card("Survey", told, button)


def _state(survey: Survey) -> Markup:
    until = survey.ended or time.time()
    took = forms.duration(until - survey.began)
    text = f"{survey.seen:,} of {survey.total:,} keys, {forms.size(survey.size)}, in {took}"
    if survey.problem:
        text += f"; it ended: {survey.problem}"
    return el("p", text, data_refresh="2" if survey.is_running else None, class_="survey")


@dataclass(frozen=True, slots=True)
class Area:
    """What is drawn as one tile."""

    name: str
    size: int
    keys: int
    prefix: bytes = b""
    """Where it leads to, if it leads anywhere."""


def areas(survey: Survey, prefix: bytes) -> list[Area]:
    """What is below a prefix, the largest first; together it is all that the prefix takes."""
    below = survey.below(prefix)
    found = [
        Area(forms.short(name, 60), survey.sizes[name], survey.counts[name], name)
        for name in below[:TILES]
    ]
    if not prefix:
        found.append(Area("(no prefix)", survey.sizes[b""], survey.counts[b""]))
    size = survey.sizes[prefix] if prefix else survey.size
    keys = survey.counts[prefix] if prefix else survey.seen
    # Of a prefix whose deeper ones are all known, what is left has none.
    is_all = len(below) <= TILES and OTHERS not in survey.sizes
    rest = "(no deeper prefix)" if prefix and is_all else "(others)"
    size -= sum(area.size for area in found)
    found.append(Area(rest, size, keys - sum(area.keys for area in found)))
    return sorted((area for area in found if area.size > 0), key=lambda area: -area.size)


def _map(survey: Survey, prefix: bytes) -> Markup:
    """Prefixes in the size of their bytes."""
    shown = areas(survey, prefix)
    whole = sum(area.size for area in shown) or 1
    placed = treemap.tiles([float(area.size) for area in shown], WIDTH, HEIGHT)
    drawn = [_tile(shown[tile.index], tile, whole, n) for n, tile in enumerate(placed)]
    way = (
        el(
            "p",
            el("a", "all prefixes", href="/large"),
            el("code", " " + forms.short(prefix)),
            " ",
            el(
                "a",
                "its keys",
                href=address("/keys", db=survey.db or None, prefix=forms.escaped(prefix)),
            ),
        )
        if prefix
        else None
    )
    svg = el(
        "svg",
        drawn,
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        class_="treemap",
        role="group",
        aria_label="Prefixes by size",
    )
    return card("By prefix", way, el("div", svg, class_="wide"))


def _tile(area: Area, tile: treemap.Tile, whole: int, order: int) -> Markup:
    size, room = forms.size(area.size), int(tile.width / 8.2)
    told = f"{area.name} {size}, {area.size / whole:.0%}, {area.keys:,} keys"
    texts: list[Node] = []
    if tile.height > 22 and room > 3:
        cut = area.name if len(area.name) <= room else area.name[: room - 1] + "…"
        texts.append(el("text", cut, x=f"{tile.x + 8:.1f}", y=f"{tile.y + 19:.1f}", class_="name"))
    if tile.height > 40 and room > 7:
        texts.append(el("text", size, x=f"{tile.x + 8:.1f}", y=f"{tile.y + 36:.1f}"))
    box = el(
        "rect",
        x=f"{tile.x + 1:.1f}",
        y=f"{tile.y + 1:.1f}",
        width=f"{max(0.5, tile.width - 2):.1f}",
        height=f"{max(0.5, tile.height - 2):.1f}",
        rx=5,
    )
    content, class_ = [el("title", told), box, texts], f"c{order % 8}"
    if not area.prefix:
        return el("g", content, class_=class_)
    href = address("/large", prefix=forms.escaped(area.prefix))
    return el("a", content, href=href, class_=class_)


def _largest(survey: Survey) -> Node:
    def rows(heap: list[tuple[int, bytes, str]], unit: bool) -> list[list[Node]]:
        return [
            [
                el("a", forms.short(key, 80), href=key_address(survey.db, key), class_="key"),
                type_badge(kind),
                forms.size(count) if unit else f"{count:,}",
            ]
            for count, key, kind in sorted(heap, reverse=True)[:20]
        ]

    left = card("Largest by bytes", table(["Key", "Type", "Bytes"], rows(survey.by_bytes, True)))
    right = card(
        "Largest by elements", table(["Key", "Type", "Elements"], rows(survey.by_elements, False))
    )
    return el("div", left, right, class_="two")


async def _hot(session: Session) -> Node:
    """The keys that requests name now, where the server can tell."""
    if not session.peer.is_strata:
        return None
    (reply,) = await session.client.pipeline([("STRATA", "HOTKEYS", HOT)])
    if isinstance(reply, Failure):
        return card("Most used", el("p", str(reply), class_="empty"))
    told: dict[bytes, Any] = dict(zip(reply[::2], reply[1::2], strict=True))
    seen = told[b"requests"]
    hint = (
        f"{seen:,} requests sampled in {forms.duration(told[b'seconds'])}."
        " The server samples for half a minute after each look."
    )
    rows: list[list[Node]] = [
        [
            el("a", forms.short(key, 80), href=key_address(db, key), class_="key"),
            db,
            f"{count:,}",
            meter(count / max(1, seen), f"{count / max(1, seen):.0%}"),
            f"{count / max(1, seen):.1%}",
        ]
        for db, key, count in told[b"keys"]
    ]
    body = (
        table(["Key", "Database", "Sampled", "", "Share"], rows, "hot")
        if rows
        else el("p", "No requests seen yet.", class_="empty")
    )
    return card("Most used", el("p", hint, class_="hint"), body, class_="hot-card")


async def start(request: web.Request) -> web.StreamResponse:
    """Begin a survey, over a connection of its own."""
    session, sent = session_of(request), await request.post()
    db = int(str(sent.get("db", "0")) or 0)
    if session.survey is not None:
        session.survey.stop()
    client = Client(session.client.address, session.client.login)
    session.survey = Survey(db, client)
    session.survey.start()
    return web.HTTPSeeOther("/large")


async def stop(request: web.Request) -> web.StreamResponse:
    """Leave it at what was found."""
    session = session_of(request)
    if session.survey is not None:
        session.survey.stop()
    return web.HTTPSeeOther("/large")


ROUTES: Final = [
    web.get("/large", show),
    web.post("/large/start", start),
    web.post("/large/stop", stop),
]
