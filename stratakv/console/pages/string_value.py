"""A string: whole, or some of its bytes, in the way that tells most."""

from typing import Final

from aiohttp import web

from stratakv.console import forms, saves, values
from stratakv.console.frame import (
    card,
    choices,
    field,
    form,
    hidden,
)
from stratakv.console.markup import Markup, Node, el
from stratakv.console.pages.key_facts import Key, may
from stratakv.console.pages.keys import key_address
from stratakv.console.sessions import Session

VIEWS: Final = ("text", "JSON", "msgpack", "hex")
EDITED: Final = 64 << 10
"""The largest string that can be edited in a form."""


async def show_string(request: web.Request, session: Session, key: Key) -> Markup:
    """The value of a string."""
    start, part = await values.string(session.client, key.place, key.count)
    is_whole = len(part) == key.count
    view, shown = _as_view(request.query.get("as", ""), part, start, is_whole)
    views = el(
        "nav",
        [
            el(
                "a",
                one,
                href=key_address(key.place.db, key.place.key, as_=one, at=start or None),
                aria_current="true" if one == view else None,
            )
            for one in VIEWS
        ],
        class_="tabs small",
        aria_label="Shown as",
    )
    class_ = "value hex" if view == "hex" else "value"
    content: list[Node] = [views, el("pre", shown, class_=class_, tabindex=0)]
    if not is_whole:
        content.append(_pages_of_string(key, start, len(part)))
    elif await may(request, session, ("SET", key.place.key, "x")) and len(part) <= EDITED:
        content.append(_string_editor(session, key, part))
    return card("Value", content)


def _as_view(wanted: str, part: bytes, start: int, is_whole: bool) -> tuple[str, str]:
    """A way to show bytes and what it shows: the wanted one if it can be, or the most telling."""
    usual = ("JSON", "msgpack", "text") if forms.is_texty(part) else ("JSON", "msgpack", "hex")
    if wanted in VIEWS:
        return wanted, _view(wanted, part, start, is_whole) or f"This is not {wanted}."
    for name in usual:
        shown = _view(name, part, start, is_whole)
        if shown is not None:
            return name, shown
    return "hex", ""


def _view(name: str, part: bytes, start: int, is_whole: bool) -> str | None:
    """Bytes in one way, None if they are not of the kind."""
    if name == "hex":
        return forms.hexadecimal(part, start)
    if name == "text":
        return part.decode() if forms.is_plain(part) else forms.escaped(part)
    if not is_whole:
        return None
    return forms.as_json(part) if name == "JSON" else forms.as_msgpack(part)


def _pages_of_string(key: Key, start: int, size: int) -> Markup:
    def link(text: str, at: int, is_there: bool) -> Markup:
        place = key_address(key.place.db, key.place.key, at=at)
        return el("a", text, href=place, class_="button") if is_there else el("span")

    return el(
        "nav",
        link("← Before", max(0, start - values.CHUNK), start > 0),
        el("span", f"bytes {start:,} to {start + size:,} of {key.count:,}"),
        link("Next →", start + size, start + size < key.count),
        class_="pages",
        aria_label="Parts of the value",
    )


def _string_editor(session: Session, key: Key, part: bytes) -> Markup:
    return el(
        "details",
        el("summary", "Edit"),
        form(
            session,
            "/key/set",
            key.fields,
            hidden(**{saves.FIELD: saves.digest(part)}),
            value_field(part),
            el("button", "Save", class_="primary"),
        ),
        class_="editor",
    )


def value_field(old: bytes | None, label: str = "Value") -> list[Markup]:
    """A text for a value; one that is no plain text is written with escapes."""
    is_plain = old is None or forms.is_plain(old)
    text = "" if old is None else old.decode() if is_plain else forms.escaped(old)
    rows = min(20, max(2, text.count("\n") + 1 + len(text) // 100))
    # HTML drops a newline at the beginning.
    area = el("textarea", "\n" + text, name="value", rows=rows, spellcheck="false")
    ways = choices(
        "form",
        {"text": "as it stands", "escaped": r"with escapes: \x00, \n, \\"},
        "text" if is_plain else "escaped",
    )
    return [field(label, area), field("Written", ways)]
