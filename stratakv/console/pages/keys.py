"""The keys of a database: by prefix as folders, or in a list; with a pattern and of a type."""

from typing import Final

from aiohttp import web

from stratakv.console import forms, walks
from stratakv.console.frame import (
    CONSOLE,
    address,
    card,
    choices,
    field,
    hidden,
    number,
    page,
    raw,
    session_of,
    sign,
    table,
    type_badge,
)
from stratakv.console.markup import Markup, Node, el
from stratakv.console.peer import parse_info
from stratakv.console.replies import Failure
from stratakv.console.sessions import WALKS, Session
from stratakv.console.walks import Entry, Walk

DATABASES: Final = 16


async def show(request: web.Request) -> web.Response:
    """What was found so far; with `more`, after looking at more."""
    session, db = session_of(request), number(request, "db", most=2**31 - 1)
    walk = _walk(request, session, db)
    if "more" in request.query or not walk.scanned:
        await walk.go_on(session.client)
    entries = await walks.look_at(session.client, db, list(walk.keys)[: walks.KEYS * 5])
    sizes = await _databases(session)
    return page(
        request,
        "Keys",
        await _search(request, session, walk, sizes),
        _way(walk),
        _folders(walk),
        _list(walk, entries),
        _state(walk, sizes.get(db)),
    )


def _walk(request: web.Request, session: Session, db: int) -> Walk:
    """The walk that was begun, or a new one; the session keeps a few."""
    query = request.query
    kind = query.get("type", "")
    if kind and kind not in walks.TYPES:
        raise ValueError(f"type: one of {', '.join(walks.TYPES)}")
    as_list = query.get("view") == "list"
    wanted = (db, raw(request, "match"), kind, raw(request, "prefix"), as_list)
    if "more" in query and wanted in session.walks:
        session.walks.move_to_end(wanted)
        return session.walks[wanted]
    walk = Walk(*wanted)
    session.walks[wanted] = walk
    while len(session.walks) > WALKS:
        session.walks.popitem(last=False)
    return walk


async def _databases(session: Session) -> dict[int, int]:
    """How many keys each database has that has any, as far as the user may know."""
    (reply,) = await session.client.pipeline([("INFO", "keyspace")])
    if isinstance(reply, Failure):
        return {}
    return {
        int(name[2:]): int(value.partition("keys=")[2].partition(",")[0])
        for name, value in parse_info(reply).items()
        if name.startswith("db")
    }


def here(walk: Walk, **changed: str | int | None) -> str:
    """The address of a walk, with something else."""
    given: dict[str, str | int | None] = {
        "db": walk.db or None,
        "match": forms.escaped(walk.pattern),
        "type": walk.type,
        "prefix": forms.escaped(walk.prefix),
        "view": "list" if walk.as_list else None,
    }
    return address("/keys", **(given | changed))


def key_address(db: int, key: bytes, path: str = "/key", **more: str | int | None) -> str:
    """The page of a key."""
    return address(path, db=db or None, key=forms.escaped(key), **more)


async def _search(
    request: web.Request, session: Session, walk: Walk, sizes: dict[int, int]
) -> Markup:
    known = sorted({*range(DATABASES), *sizes, walk.db})
    databases = {str(n): f"{n} · {sizes[n]:,} keys" if n in sizes else str(n) for n in known}
    views = {"": "folders", "list": "list"}
    new = address("/key/new", db=walk.db or None, key=forms.escaped(walk.prefix))
    (is_allowed,) = await session.peer.allows(session.client, ("SET", walk.prefix + b"x", "x"))
    may_make = is_allowed and request.app[CONSOLE].settings.writes
    return el(
        "form",
        field("Database", choices("db", databases, str(walk.db))),
        field(
            "Pattern",
            el(
                "input",
                name="match",
                value=forms.escaped(walk.pattern),
                placeholder="*",
                spellcheck="false",
                accesskey="f",
            ),
        ),
        field("Type", choices("type", {"": "any", **{one: one for one in walks.TYPES}}, walk.type)),
        field("View", choices("view", views, "list" if walk.as_list else "")),
        el("button", "Look", class_="primary"),
        el("a", "Open a key…", href=address("/key/open", db=walk.db), class_="button"),
        el("a", "New key…", href=new, class_="button") if may_make else None,
        method="get",
        action="/keys",
        class_="card search",
    )


def _way(walk: Walk) -> Node:
    """The prefixes above, each a link."""
    if not walk.prefix:
        return None
    parts = walk.prefix.split(walks.SEPARATOR)[:-1]
    links: list[Node] = [el("a", "all keys", href=here(walk, prefix=None))]
    for at, part in enumerate(parts):
        above = walks.SEPARATOR.join(parts[: at + 1]) + walks.SEPARATOR
        links.append(el("a", forms.short(part) + ":", href=here(walk, prefix=forms.escaped(above))))
    return el("nav", links, class_="way", aria_label="Prefixes")


def _folders(walk: Walk) -> Node:
    if not walk.folders:
        return None
    most = max(walk.folders.values())
    items = [
        el(
            "li",
            el(
                "a",
                sign("M3 6h6l2 2h10v11H3z"),
                el("span", forms.short(folder[len(walk.prefix) :], 80), class_="name"),
                el("span", f"{count:,}{'' if walk.is_done else '+'}", class_="count"),
                el(
                    "svg",
                    el("rect", width=f"{count / most * 100:.1f}", height=2),
                    viewBox="0 0 100 2",
                    preserveAspectRatio="none",
                    class_="bar-of",
                ),
                href=here(walk, prefix=forms.escaped(folder)),
            ),
        )
        for folder, count in walk.folders.most_common(200)
    ]
    more = len(walk.folders) - len(items)
    rest = f"and {more:,} more prefixes" if more > 0 else None
    return card(
        f"{len(walk.folders):,} prefixes",
        el("ul", items, class_="folders"),
        el("p", rest, class_="hint") if rest else None,
    )


def _list(walk: Walk, entries: list[Entry]) -> Node:
    if not entries:
        if walk.folders or not walk.is_done:
            return None
        return card("", el("p", "There are no such keys.", class_="empty"))
    rows: list[list[Node]] = [
        [
            el(
                "a", forms.short(entry.key, 120), href=key_address(walk.db, entry.key), class_="key"
            ),
            type_badge(entry.type),
            size_of(entry),
            forms.lifetime(entry.ttl_ms),
        ]
        for entry in entries
    ]
    return card("Keys", table(["Key", "Type", "Size", "Time to live"], rows, "keys"))


def size_of(entry: Entry) -> str:
    """Elements, or the bytes of a string."""
    if entry.count is None:
        return "?"
    if entry.type == "string":
        return forms.size(entry.count)
    return f"{entry.count:,} {'element' if entry.count == 1 else 'elements'}"


def _state(walk: Walk, total: int | None) -> Markup:
    seen = f"{walk.scanned:,} keys found"
    if walk.pattern or walk.type or walk.prefix or total is None:
        told = seen
    else:
        told = f"{seen} of {total:,}"
    if walk.is_done:
        return el("p", told, ": that is all.", class_="state")
    return el(
        "p",
        told,
        " so far. ",
        el("a", "Look at more", href=here(walk, more=1), class_="button", accesskey="m"),
        class_="state",
    )


async def open_form(request: web.Request) -> web.Response:
    """A key by its name."""
    db = number(request, "db")
    return page(
        request,
        "Open a key",
        el(
            "form",
            hidden(db=db),
            field(
                "Key", el("input", name="key", required=True, autofocus=True, spellcheck="false")
            ),
            el("button", "Open", class_="primary"),
            el(
                "p",
                r"Bytes that are no text are written \x00 to \xff, a backslash \\.",
                class_="hint",
            ),
            method="get",
            action="/key",
            class_="card",
        ),
    )


ROUTES: Final = [web.get("/keys", show), web.get("/key/open", open_form)]
