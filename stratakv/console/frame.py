"""What is around each page: the head, the way to the other pages, and what was just done."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from stratakv.console.client import place_of
from stratakv.console.forms import parse_escaped
from stratakv.console.markup import Markup, Node, el
from stratakv.console.recorder import Recorder
from stratakv.console.sessions import Session, Sessions, Tries
from stratakv.console.settings import Settings


@dataclass(frozen=True, slots=True)
class Console:
    """What all requests share."""

    settings: Settings
    sessions: Sessions
    tries: Tries
    recorder: Recorder


CONSOLE: Final = web.AppKey("console", Console)
SESSION: Final = "session"
PAGES: Final = (
    ("/", "Overview", "M3 13h4l3-8 4 14 3-6h4"),
    ("/keys", "Keys", "M4 6h16M4 12h16M4 18h10"),
    ("/large", "Large and hot", "M4 4h9v9H4zM15 4h5v5h-5zM15 11h5v9h-5zM4 15h9v5H4z"),
    ("/slow", "Slow and latency", "M12 7v5l3 3M12 3a9 9 0 1 0 .01 0"),
    (
        "/clients",
        "Clients",
        "M8 11a3 3 0 1 0-.01 0M3 19c0-3 2-5 5-5s5 2 5 5"
        "M16 12a2.5 2.5 0 1 0-.01 0M16 14c3 0 5 2 5 4",
    ),
    (
        "/channels",
        "Pub/sub",
        "M12 13a1 1 0 1 0-.01 0M8 16a5.5 5.5 0 0 1 0-8M16 8a5.5 5.5 0 0 1 0 8"
        "M5 19a10 10 0 0 1 0-14M19 5a10 10 0 0 1 0 14",
    ),
    ("/settings", "Configuration", "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4"),
    ("/prompt", "Prompt", "M5 7l5 5-5 5M12 18h7"),
)
"""Each page with the lines of its sign."""
NEEDS: Final = {
    "/": ("INFO",),
    "/slow": ("SLOWLOG", "GET"),
    "/clients": ("CLIENT", "LIST"),
    "/settings": ("CONFIG", "GET", "*"),
}
"""Pages that show nothing to who may not run a command."""
SERVERS_OWN: Final = ("/settings",)
"""Pages that are not for users of a namespace, who cannot ask what they may."""
NEXT_THEME: Final = {"": "dark", "dark": "light", "light": ""}
THEMES: Final = {"": "as the system", "dark": "dark", "light": "light"}


def session_of(request: web.Request) -> Session:
    """Who asks."""
    session = request[SESSION]
    assert isinstance(session, Session)
    return session


def page(request: web.Request, title: str, *content: Node, status: int = 200) -> web.Response:
    """A whole page; its title is in the language of people."""
    session = request.get(SESSION)
    theme = session.theme if session is not None else ""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("title", f"{title} · StrataKV console"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("link", rel="icon", href="/static/mark.svg", type="image/svg+xml"),
        el("link", rel="stylesheet", href="/static/console.css"),
        el("script", src="/static/charts.js", defer=True),
        el("script", src="/static/console.js", defer=True),
    )
    if session is None:
        body = el("body", el("main", content, id="main", class_="alone"))
    else:
        body = el("body", _inside(request, session, title, content), data_token=session.token)
    html = el("html", head, body, lang="en", data_theme=theme or None)
    return web.Response(text=f"<!DOCTYPE html>\n{html}", content_type="text/html", status=status)


def _inside(request: web.Request, session: Session, title: str, content: Node) -> Node:
    notes, session.notes = session.notes, []
    return [
        el("a", "To the content", href="#main", class_="skip"),
        _bar(request, session),
        el(
            "main",
            el("h1", title),
            [el("p", text, class_=f"note {kind}", role="status") for kind, text in notes],
            content,
            id="main",
            tabindex=-1,
        ),
    ]


def _bar(request: web.Request, session: Session) -> Markup:
    settings = request.app[CONSOLE].settings
    here = request.path
    links = [
        el(
            "a",
            sign(path),
            el("span", name),
            href=place,
            aria_current="page" if _is_at(here, place) else None,
        )
        for place, name, path in PAGES
        if place not in session.left_out
    ]
    brand = el(
        "a",
        el("img", src="/static/mark.svg", alt="", width=26, height=26),
        el("span", el("b", "Strata"), "KV console"),
        href="/",
        class_="brand",
    )
    theme = form(
        session,
        "/theme",
        el("input", type="hidden", name="theme", value=NEXT_THEME[session.theme]),
        el(
            "input",
            type="hidden",
            name="next",
            value=str(request.rel_url) if request.method == "GET" else "/",
        ),
        el(
            "button",
            sign("M12 3a9 9 0 1 0 0 18zM12 3v18"),
            el("span", f"Colours: {THEMES[session.theme]}"),
            class_="quiet",
        ),
    )
    leave = form(
        session,
        "/logout",
        el(
            "button",
            sign("M10 4H5v16h5M14 8l4 4-4 4M18 12H9"),
            el("span", "Log out"),
            class_="quiet",
        ),
    )
    who = el(
        "p",
        el("b", session.user, title="the user at the server"),
        el("span", session.peer.version),
        el("span", place_of(settings.server)),
        el("span", "with --write" if settings.writes else "reads only", class_="mode"),
        class_="who",
    )
    return el(
        "header",
        brand,
        el("nav", links, aria_label="Pages"),
        who,
        el("div", theme, leave, class_="quiet-row"),
        class_="bar",
    )


def _is_at(here: str, place: str) -> bool:
    if place == "/keys" and (here == "/rows" or here.startswith("/key")):
        return True
    return here == place if place == "/" else here.startswith(place)


def sign(path: str) -> Markup:
    """A small drawing out of lines."""
    return el("svg", el("path", d=path), viewBox="0 0 24 24", class_="sign", aria_hidden="true")


def form(session: Session, action: str, *content: Node, class_: str | None = None) -> Markup:
    """A form that is sent with the token of the session."""
    token = el("input", type="hidden", name="token", value=session.token)
    return el("form", token, content, method="post", action=action, class_=class_)


def hidden(**values: str | int) -> list[Markup]:
    """Fields that nobody sees."""
    return [el("input", type="hidden", name=name, value=value) for name, value in values.items()]


def field(label: str, *control: Node) -> Markup:
    """A control with its name."""
    return el("label", el("span", label), control, class_="field")


def finder(action: str, looked_for: str, hint: str) -> Markup:
    """A form that narrows a page down to what holds a word."""
    control = el("input", name="find", value=looked_for, placeholder=hint, spellcheck="false")
    button = el("button", "Find")
    return el("form", field("Find", control), button, method="get", action=action, class_="finder")


def choices(name: str, options: dict[str, str], chosen: str) -> Markup:
    """One of some values."""
    return el(
        "select",
        [
            el("option", text, value=value, selected=value == chosen)
            for value, text in options.items()
        ],
        name=name,
    )


def card(title: Node, *content: Node, class_: str = "") -> Markup:
    """A part of a page."""
    heading = el("h2", title) if title else None
    return el("section", heading, content, class_=f"card {class_}".strip())


def table(heads: list[str], rows: list[list[Node]], class_: str = "") -> Markup:
    """Rows under their heads; as wide as it must be, and scrolled where that is too much."""
    return el(
        "div",
        el(
            "table",
            el("thead", el("tr", [el("th", head, scope="col") for head in heads])),
            el(
                "tbody",
                [
                    el(
                        "tr",
                        [
                            el("td", cell, data_head=head)
                            for head, cell in zip(heads, row, strict=True)
                        ],
                    )
                    for row in rows
                ],
            ),
            class_=class_ or None,
        ),
        class_="wide",
    )


def facts(pairs: list[tuple[str, Node]]) -> Markup:
    """Names and values."""
    return el(
        "dl", [el("div", el("dt", name), el("dd", value)) for name, value in pairs], class_="facts"
    )


def type_badge(name: str) -> Markup:
    """The type of a key."""
    return el("span", name, class_=f"badge type-{name if name.isalpha() else 'other'}")


def meter(share: float, label: str = "") -> Markup:
    """A bar that is filled to a share."""
    width = max(0.0, min(1.0, share)) * 100
    bar = [
        el("rect", width=100, height=6, class_="rest"),
        el("rect", width=f"{width:.2f}", height=6, class_="done"),
    ]
    return el(
        "svg",
        bar,
        viewBox="0 0 100 6",
        preserveAspectRatio="none",
        class_="meter",
        role="img",
        aria_label=label or f"{width:.0f} %",
    )


def address(path: str, **parameters: str | int | None) -> str:
    """A path with its parameters; those that say nothing are left out."""
    chosen = {
        name.rstrip("_"): value for name, value in parameters.items() if value not in (None, "")
    }
    return f"{path}?{urlencode(chosen)}" if chosen else path


def local(path: str) -> str:
    """A path of this site; anything else is the first page."""
    is_path = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_path and "\n" not in path and "\r" not in path else "/"


def number(request: web.Request, name: str, usual: int = 0, most: int = 2**63 - 1) -> int:
    """A parameter that is a number; raises ValueError for what is none."""
    text = request.query.get(name, "")
    if not text:
        return usual
    if not text.isdecimal() or int(text) > most:
        raise ValueError(f"{name}: {text!r} is not a number from 0 to {most}")
    return int(text)


def raw(request: web.Request, name: str) -> bytes:
    """A parameter that stands for bytes."""
    return parse_escaped(request.query.get(name, ""))
