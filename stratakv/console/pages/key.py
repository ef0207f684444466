"""A key: its value a page at a time, and what may be done with it."""

from typing import Final

from aiohttp import web

from stratakv.console import forms, saves, values
from stratakv.console.client import Client
from stratakv.console.frame import (
    CONSOLE,
    address,
    card,
    choices,
    field,
    form,
    hidden,
    number,
    page,
    raw,
    session_of,
)
from stratakv.console.gate import needs_writes
from stratakv.console.markup import Node, el
from stratakv.console.pages.collection_value import show_collection
from stratakv.console.pages.key_facts import Key, find, gone, head, place_of
from stratakv.console.pages.keys import key_address
from stratakv.console.pages.string_value import show_string, value_field
from stratakv.console.sessions import Session
from stratakv.console.values import Place
from stratakv.console.walks import SIZES, TYPES


async def show(request: web.Request) -> web.Response:
    """The page."""
    session, place = session_of(request), place_of(request)
    key = await find(session, place)
    if key is None:
        return gone(request, place)
    if key.type == "string":
        value = await show_string(request, session, key)
    elif key.type.encode() in SIZES:
        value = await show_collection(request, session, key)
    else:
        value = card("Value", el("p", f"A value of type {key.type} is not shown.", class_="empty"))
    return page(
        request,
        "Key",
        head(request, key, "/key", session),
        value,
        await _actions(request, session, key),
    )


async def _actions(request: web.Request, session: Session, key: Key) -> Node:
    """What the console and the user's rights allow to do with the key as a whole."""
    if not request.app[CONSOLE].settings.writes:
        return None
    name = key.place.key
    rename, expire, persist, delete = await session.peer.allows(
        session.client,
        ("RENAMENX", name, name),
        ("PEXPIRE", name, 1),
        ("PERSIST", name),
        ("UNLINK", name),
    )
    content: list[Node] = []
    if rename:
        content.append(
            form(
                session,
                "/key/rename",
                key.fields,
                field(
                    "New name",
                    el(
                        "input",
                        name="to",
                        value=forms.escaped(name),
                        required=True,
                        spellcheck="false",
                    ),
                ),
                el("button", "Rename"),
            )
        )
    if expire:
        content.append(
            form(
                session,
                "/key/expire",
                key.fields,
                field(
                    "Seconds to live",
                    el("input", name="seconds", inputmode="numeric", required=True),
                ),
                el("button", "Expire"),
            )
        )
    if persist and key.ttl_ms not in (None, -1):
        content.append(form(session, "/key/persist", key.fields, el("button", "Keep for ever")))
    if delete:
        content.append(
            form(session, "/key/delete", key.fields, el("button", "Delete…", class_="danger"))
        )
    if not content:
        return el("p", "You may not change this key.", class_="hint")
    return card("Change", el("div", content, class_="actions"))


async def element_form(request: web.Request) -> web.Response:
    """One element, whole, to be edited."""
    session, place, name = session_of(request), place_of(request), raw(request, "name")
    key = await find(session, place)
    if key is None or key.type not in ("hash", "list", "zset"):
        return gone(request, place)
    old = await values.element(session.client, place, key.type, name)
    what, label = {
        "hash": ("Field", "Value"),
        "list": ("Index", "Element"),
        "zset": ("Member", "Score"),
    }[key.type]
    content = card(
        [f"{what} ", el("code", forms.short(name))],
        form(
            session,
            "/key/put",
            key.fields,
            hidden(name=forms.escaped(name), **{saves.FIELD: saves.digest(old)}),
            value_field(old, label),
            el(
                "div",
                el("button", "Save", class_="primary"),
                el("a", "Cancel", href=key_address(place.db, place.key), class_="button"),
                class_="actions",
            ),
            class_="stack",
        ),
    )
    return page(request, "Element", head(request, key, "", session), content)


async def new_form(request: web.Request) -> web.Response:
    """A key that is not there yet, with its first element."""
    types = {name: name for name in TYPES}
    content = form(
        session_of(request),
        "/key/new",
        hidden(db=number(request, "db")),
        field(
            "Key",
            el(
                "input",
                name="key",
                value=forms.escaped(raw(request, "key")),
                required=True,
                autofocus=True,
                spellcheck="false",
            ),
        ),
        field("Type", choices("type", types, "string")),
        field(
            "Field or member, of a hash, a sorted set or a stream",
            el("input", name="name", spellcheck="false"),
        ),
        value_field(None, "Value; of a sorted set, the score"),
        el("button", "Make it", class_="primary"),
        class_="stack",
    )
    return page(request, "New key", card("", content))


async def place_after(client: Client, place: Place) -> str:
    """Where to go when a key was changed: to it, or to the keys if it is gone."""
    if await client.call("EXISTS", place.key, db=place.db):
        return key_address(place.db, place.key)
    return address("/keys", db=place.db or None)


ROUTES: Final = [
    web.get("/key", show),
    web.get("/key/element", element_form),
    web.get("/key/new", needs_writes(new_form)),
]
