"""A page of a hash, list, set, sorted set or stream."""

from typing import Final

from aiohttp import web

from stratakv.console import forms, saves, values
from stratakv.console.frame import (
    card,
    choices,
    field,
    form,
    hidden,
    table,
)
from stratakv.console.markup import Markup, Node, el
from stratakv.console.pages.key_facts import Key, may
from stratakv.console.pages.keys import key_address
from stratakv.console.pages.string_value import value_field
from stratakv.console.sessions import Session
from stratakv.console.values import Part, Place

BINARY: Final = 32
"""Bytes that are no text and are shown at a glance."""


async def show_collection(request: web.Request, session: Session, key: Key) -> Markup:
    """The elements from a place on."""
    looked_for = key.place.match
    place = Place(key.place.db, key.place.key, key.place.at, values.looks_for(looked_for))
    part = await values.part(session.client, place, key.type)
    may_edit = await may(request, session, *_edit_commands(key))
    rows = [_row(session, key, element, may_edit) for element in part.elements]
    heads = [*part.heads, *([""] if may_edit else [])]
    content: list[Node] = []
    if key.type in ("hash", "set", "zset"):
        content.append(_finder(key, looked_for))
    content.append(
        table(heads, rows, "elements") if rows else el("p", "Nothing here.", class_="empty")
    )
    content.append(_pages(key, part))
    if may_edit:
        content.append(_adder(session, key))
    return card("Value", content)


def _edit_commands(key: Key) -> list[tuple[bytes | str | int, ...]]:
    name = key.place.key
    return {
        "hash": [("HSET", name, "f", "v"), ("HDEL", name, "f")],
        "list": [("RPUSH", name, "v"), ("LSET", name, 0, "v"), ("LREM", name, 1, "v")],
        "set": [("SADD", name, "m"), ("SREM", name, "m")],
        "zset": [("ZADD", name, 1, "m"), ("ZREM", name, "m")],
        "stream": [("XADD", name, "*", "f", "v"), ("XDEL", name, "1-1")],
    }[key.type]  # type: ignore[return-value]


def _row(session: Session, key: Key, element: tuple[bytes, ...], may_edit: bool) -> list[Node]:
    cells: list[Node]
    if key.type == "stream":
        pairs = zip(element[1::2], element[2::2], strict=True)
        cells = [
            el("code", forms.short(element[0])),
            [
                el("span", el("b", forms.short(name)), " ", forms.short(value), class_="pair")
                for name, value in pairs
            ],
        ]
    elif key.type == "zset":
        cells = [_shown(element[0]), el("code", forms.short(element[1]))]
    else:
        cells = [_shown(one) for one in element]
    if may_edit:
        cells.append(_row_actions(session, key, element))
    return cells


def _shown(raw_value: bytes) -> Markup:
    """A value in a table: its beginning, and whole behind a click if it means something."""
    as_json = forms.as_json(raw_value)
    meaning = as_json or forms.as_msgpack(raw_value)
    is_text = forms.is_texty(raw_value)
    if meaning is None and len(raw_value) <= (forms.SHOWN if is_text else BINARY):
        return el("code", forms.escaped(raw_value))
    name = "JSON" if as_json else "msgpack" if meaning else forms.size(len(raw_value))
    part = raw_value[: values.CHUNK]
    if meaning is not None:
        rest = el("pre", meaning)
    elif is_text:
        rest = el("pre", part.decode() if forms.is_plain(part) else forms.escaped(part))
    else:
        rest = el("pre", forms.hexadecimal(part), class_="hex")
    beginning = forms.short(raw_value, 80 if is_text else BINARY // 2)
    summary = el("summary", el("code", beginning), el("small", f" {name}"))
    return el("details", summary, rest)


def _row_actions(session: Session, key: Key, element: tuple[bytes, ...]) -> Node:
    name = element[0]
    fields = [*key.fields, *hidden(name=forms.escaped(name))]
    if key.type == "list":  # at an index there may be another by then
        fields += hidden(**{saves.FIELD: saves.digest(element[1])})
    edit = el(
        "a",
        "edit",
        href=key_address(key.place.db, key.place.key, "/key/element", name=forms.escaped(name)),
    )
    drop = form(
        session, "/key/drop", fields, el("button", "remove", class_="link"), class_="inline"
    )
    can_edit = key.type in ("hash", "list", "zset")
    return [edit if can_edit else None, " ", drop]


def _finder(key: Key, looked_for: bytes) -> Markup:
    return el(
        "form",
        hidden(db=key.place.db, key=forms.escaped(key.place.key)),
        field(
            "Find",
            el(
                "input",
                name="find",
                value=forms.escaped(looked_for),
                placeholder="a part of the name, or a pattern",
            ),
        ),
        el("button", "Find"),
        method="get",
        action="/key",
        class_="inline finder",
    )


def _pages(key: Key, part: Part) -> Node:
    begins = (
        el(
            "a",
            "⇤ First",
            href=key_address(key.place.db, key.place.key, find=forms.escaped(key.place.match)),
            class_="button",
        )
        if key.place.at
        else el("span")
    )
    if part.heads[0] in ("Index",) or (key.type == "zset" and not key.place.match):
        told = f"{part.start:,} to {part.start + len(part.elements):,} of {key.count:,}"
    else:
        told = f"{len(part.elements):,} of {key.count:,}"
    next_ = (
        el(
            "a",
            "Next →",
            href=key_address(
                key.place.db,
                key.place.key,
                at=forms.escaped(part.next),
                find=forms.escaped(key.place.match),
            ),
            class_="button",
        )
        if part.next
        else el("span")
    )
    return el(
        "nav", begins, el("span", told), next_, class_="pages", aria_label="Pages of the value"
    )


def _adder(session: Session, key: Key) -> Markup:
    first = {"hash": "Field", "zset": "Member", "stream": "Field", "set": "Member"}.get(key.type)
    inputs: list[Node] = []
    if first and key.type != "set":
        inputs.append(field(first, el("input", name="name", spellcheck="false")))
    if key.type == "zset":
        inputs.append(field("Score", el("input", name="value", inputmode="decimal", required=True)))
    else:
        inputs += value_field(None, "Member" if key.type == "set" else "Value")
    if key.type == "list":
        inputs.append(
            field(
                "Where",
                choices("end", {"right": "at the end", "left": "at the beginning"}, "right"),
            )
        )
    return el(
        "details",
        el("summary", "Add"),
        form(session, "/key/add", key.fields, inputs, el("button", "Add", class_="primary")),
        class_="editor",
    )
