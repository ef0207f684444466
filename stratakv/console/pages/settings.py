"""The server's options: what they are, what they mean, and another value for those that take it."""

from typing import Final

from aiohttp import web

from stratakv import options
from stratakv.console import forms
from stratakv.console.frame import card, finder, form, hidden, page, session_of, table
from stratakv.console.gate import needs_writes
from stratakv.console.markup import Node, el
from stratakv.console.pages.key_facts import may
from stratakv.console.sessions import Session

SECRETS: Final = ("requirepass", "masterauth", "password", "pass")


async def show(request: web.Request) -> web.Response:
    """All of them, or those whose name holds a word."""
    session, looked_for = session_of(request), request.query.get("find", "")
    reply = await session.client.call("CONFIG", "GET", "*")
    told = {
        name.decode(): value
        for name, value in zip(reply[::2], reply[1::2], strict=True)
        if looked_for.lower().encode() in name
    }
    can_change = await may(request, session, ("CONFIG", "SET", "slowlog-max-len", "128"))
    known = options.declared() if session.peer.is_strata else {}
    own = {name: value for name, value in told.items() if name in known or not known}
    others = {name: value for name, value in told.items() if name not in own}

    def table_of(chosen: dict[str, bytes]) -> Node:
        rows = [
            _row(
                session,
                name,
                value,
                dict(known[name].metadata) if name in known else {},
                can_change=can_change,
            )
            for name, value in sorted(chosen.items())
        ]
        return table(["Option", "Value"], rows, "settings")

    narrow = finder("/settings", looked_for, "a part of the name")
    return page(
        request,
        "Configuration",
        card(f"{len(own):,} options", narrow, table_of(own) if own else None),
        _of_redis(table_of(others), len(others), is_open=bool(looked_for)) if others else None,
    )


def _of_redis(options_table: Node, count: int, *, is_open: bool) -> Node:
    """What StrataKV answers to that are no options of its own, behind a click."""
    hint = (
        "Tools that were written for Redis ask for these. Some are other names of options above,"
        " some are followed; the rest tune what is not here, and refuse what would not be true."
    )
    summary = el("summary", el("b", f"{count:,} names of Redis's configuration"))
    content = el("details", summary, el("p", hint, class_="hint"), options_table, open=is_open)
    return card("", content)


def _row(
    session: Session, name: str, value: bytes, meta: dict[str, object], *, can_change: bool
) -> list[Node]:
    doc, kind = meta.get("doc"), meta.get("kind")
    is_secret = bool(meta.get("secret")) or name.endswith(SECRETS)
    is_live = bool(meta.get("live", True))
    # A value that cannot be shown is never put into a form, which would write it back.
    shown = "(not shown)" if is_secret and value else forms.escaped(value)
    label = [el("b", name, class_="mono"), el("small", str(doc)) if doc else None]
    if not can_change or not is_live or is_secret:
        fixed = el("small", " set at the start") if not is_live else None
        return [label, [el("code", shown), fixed]]
    allowed = getattr(kind, "allowed", None)
    inputs = [
        el("input", name="value", value=shown, aria_label=name, title=allowed, spellcheck="false"),
        el("button", "Set"),
    ]
    return [label, form(session, "/settings/set", hidden(name=name), inputs, class_="set")]


async def change(request: web.Request) -> web.StreamResponse:
    """CONFIG SET; the server checks the value."""
    session, sent = session_of(request), await request.post()
    name = str(sent.get("name", ""))
    await session.client.call(
        "CONFIG", "SET", name, forms.parse_escaped(str(sent.get("value", "")))
    )
    session.notes.append(("good", f"{name} is changed."))
    return web.HTTPSeeOther("/settings")


ROUTES: Final = [web.get("/settings", show), web.post("/settings/set", needs_writes(change))]
