"""Who is connected; and a way to disconnect somebody."""

from typing import Final

from aiohttp import web

from stratakv.console import forms
from stratakv.console.frame import card, finder, form, hidden, page, session_of, table
from stratakv.console.gate import needs_writes
from stratakv.console.markup import Node, el
from stratakv.console.pages.key_facts import may
from stratakv.console.sessions import Session

SHOWN: Final = 500


async def show(request: web.Request) -> web.Response:
    """All clients, or those whose line holds a word."""
    session, looked_for = session_of(request), request.query.get("find", "")
    listed = await session.client.call("CLIENT", "LIST")
    lines = [
        line
        for line in listed.decode("utf-8", "surrogateescape").splitlines()
        if looked_for in line
    ]
    can_kill = await may(request, session, ("CLIENT", "KILL", "ID", "1"))
    mine = await session.client.call("CLIENT", "ID")
    found = sorted(
        (facts_of(line) for line in lines[:SHOWN]), key=lambda one: int(one.get("id", 0))
    )
    rows = [_row(session, one, can_kill=can_kill and one.get("id") != str(mine)) for one in found]
    heads = [
        "Id",
        "Address",
        "Name",
        "User",
        "Database",
        "Age",
        "Idle",
        "Last command",
        "Memory",
        "",
    ]
    narrow = finder("/clients", looked_for, "a part of the line: user=, cmd=, an address")
    more = (
        el("p", f"and {len(lines) - SHOWN:,} more", class_="hint") if len(lines) > SHOWN else None
    )
    return page(
        request,
        "Clients",
        card(f"{len(lines):,} clients", narrow, table(heads, rows, "clients stacked"), more),
    )


def facts_of(line: str) -> dict[str, str]:
    """CLIENT LIST's `name=value` words."""
    return dict(word.partition("=")[::2] for word in line.split(" "))


def _row(session: Session, one: dict[str, str], *, can_kill: bool) -> list[Node]:
    number = one.get("id", "")
    kill = form(
        session,
        "/clients/kill",
        hidden(id=number, addr=one.get("addr", "")),
        el("button", "disconnect", class_="link"),
        class_="inline",
    )
    return [
        number,
        el("code", one.get("addr", "")),
        _shown(one.get("name", "")),
        _shown(one.get("user", "")),
        one.get("db", ""),
        forms.duration(float(one.get("age", 0) or 0)),
        forms.duration(float(one.get("idle", 0) or 0)),
        el("code", one.get("cmd", "").replace("|", " ")),
        forms.size(float(one.get("tot-mem", 0) or 0)),
        kill if can_kill else None,
    ]


def _shown(text: str) -> str:
    return forms.short(text.encode("utf-8", "surrogateescape"), 60)


async def kill(request: web.Request) -> web.StreamResponse:
    """Disconnect a client, after asking."""
    session, sent = session_of(request), await request.post()
    number, place = str(sent.get("id", "")), str(sent.get("addr", ""))
    if sent.get("sure") != "yes":
        question = [
            el("p", "Disconnect this client?"),
            el("p", el("code", f"id {number}, {place}")),
            el(
                "div",
                form(
                    session,
                    "/clients/kill",
                    hidden(id=number, addr=place, sure="yes"),
                    el("button", "Yes", class_="danger primary"),
                ),
                el("a", "No", href="/clients", class_="button"),
                class_="actions",
            ),
        ]
        return page(request, "Are you sure?", card("", question, class_="confirm"))
    count = await session.client.call("CLIENT", "KILL", "ID", number)
    session.notes.append(("good", "Disconnected." if count else "It was gone already."))
    return web.HTTPSeeOther("/clients")


ROUTES: Final = [web.get("/clients", show), web.post("/clients/kill", needs_writes(kill))]
