"""What is published: channels and their subscribers, and the tail of one as events of a stream."""

import asyncio
import json
import time
from typing import Any, Final

from aiohttp import web

from stratakv.console import forms
from stratakv.console.client import connect
from stratakv.console.frame import address, card, choices, field, form, page, raw, session_of, table
from stratakv.console.gate import needs_writes
from stratakv.console.markup import Node, el
from stratakv.console.pages.key_facts import may
from stratakv.console.replies import Connection, Failure, Refused
from stratakv.console.sessions import TAILS, Session

SHOWN: Final = 200
WAITING: Final = 500
"""Messages that wait for a slow browser; what comes beyond is counted, and left out."""
MESSAGE_BYTES: Final = 4096
BEAT_SECONDS: Final = 10.0


async def show(request: web.Request) -> web.Response:
    """The page; a script shows what comes."""
    session = session_of(request)
    chosen = raw(request, "channel")
    reply, patterns = await session.client.pipeline([("PUBSUB", "CHANNELS"), ("PUBSUB", "NUMPAT")])
    return page(
        request,
        "Pub/sub",
        _tail(request, chosen),
        await _publisher(request, session, chosen),
        await _channels(session, reply, patterns),
    )


def _tail(request: web.Request, chosen: bytes) -> Node:
    kind = "pattern" if request.query.get("kind") == "pattern" else "channel"
    wanted = el(
        "form",
        field(
            "Channel",
            el(
                "input",
                name="channel",
                value=forms.escaped(chosen),
                required=True,
                spellcheck="false",
                placeholder="news, or a pattern: news.*",
            ),
        ),
        field("Read as", choices("kind", {"channel": "a channel", "pattern": "a pattern"}, kind)),
        el("button", "Watch", class_="primary"),
        method="get",
        action="/channels",
        class_="finder",
    )
    if not chosen:
        return card("Watch a channel", wanted)
    source = address("/api/channel", channel=forms.escaped(chosen), kind=kind)
    state = el("p", "connecting…", class_="hint", id="tail-state", role="status")
    return card(
        "Watch a channel",
        wanted,
        state,
        el("ol", id="tail", data_source=source, class_="tail", aria_live="polite"),
    )


async def _publisher(request: web.Request, session: Session, chosen: bytes) -> Node:
    if not await may(request, session, ("PUBLISH", chosen or "x", "x")):
        return None
    inputs = [
        field(
            "Channel",
            el(
                "input",
                name="channel",
                value=forms.escaped(chosen),
                required=True,
                spellcheck="false",
            ),
        ),
        field("Message", el("input", name="message", spellcheck="false")),
        el("button", "Publish"),
    ]
    return card("Publish", form(session, "/channels/publish", inputs, class_="finder"))


async def _channels(session: Session, reply: Any, patterns: Any) -> Node:
    if isinstance(reply, Failure):
        return card("Channels", el("p", str(reply), class_="empty"))
    names = sorted(reply)[:SHOWN]
    told: list[Any] = []
    if names:
        told = await session.client.call("PUBSUB", "NUMSUB", *names)
    rows: list[list[Node]] = [
        [
            el(
                "a",
                forms.short(name, 120),
                href=address("/channels", channel=forms.escaped(name)),
                class_="key",
            ),
            f"{count:,}",
        ]
        for name, count in zip(told[::2], told[1::2], strict=True)
    ]
    content = (
        table(["Channel", "Subscribers"], rows)
        if rows
        else el("p", "Nobody is subscribed to a channel.", class_="empty")
    )
    count = 0 if isinstance(patterns, Failure) else patterns
    return card(
        f"{len(reply):,} channels",
        content,
        el("p", f"{count:,} patterns are subscribed to.", class_="hint"),
    )


async def stream(request: web.Request) -> web.StreamResponse:
    """Messages as they come, until the browser leaves."""
    session, channel = session_of(request), raw(request, "channel")
    command = "PSUBSCRIBE" if request.query.get("kind") == "pattern" else "SUBSCRIBE"
    if session.tails >= TAILS:
        raise Refused(f"a session watches up to {TAILS} channels")
    session.tails += 1
    connection = None
    try:
        connection = await connect(session.client.address, session.client.login)
        return await _send(request, connection, command, channel)
    finally:
        session.tails -= 1
        if connection is not None:
            connection.end("left")


async def _send(
    request: web.Request, connection: Connection, command: str, channel: bytes
) -> web.StreamResponse:
    waiting: asyncio.Queue[Any] = asyncio.Queue(WAITING)
    lost = 0

    def take(message: Any) -> None:
        nonlocal lost
        if waiting.full():
            lost += 1
        else:
            waiting.put_nowait(message)

    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    connection.on_message = take
    connection.send_only(command, channel)
    while connection.is_open:
        try:
            async with asyncio.timeout(BEAT_SECONDS):
                event = event_of(await waiting.get())
        except TimeoutError:
            event = {"kind": "beat"}
        try:
            await answer.write(b"data: %b\n\n" % json.dumps({**event, "lost": lost}).encode())
        except ConnectionError:
            break  # the browser has left
        if event["kind"] == "refused":
            break
    return answer


def event_of(message: Any) -> dict[str, Any]:
    """A message for the browser: text, whatever it holds."""
    if isinstance(message, Failure):
        return {"kind": "refused", "text": str(message)}
    kind = message[0]
    if kind in (b"message", b"pmessage"):
        return {
            "kind": "message",
            "channel": forms.short(message[-2]),
            "text": forms.as_json(message[-1][:MESSAGE_BYTES])
            or forms.short(message[-1], MESSAGE_BYTES),
            "time": time.strftime("%H:%M:%S"),
        }
    return {"kind": "subscribed"}


async def publish(request: web.Request) -> web.StreamResponse:
    """A message of ours."""
    session, sent = session_of(request), await request.post()
    channel = forms.parse_escaped(str(sent.get("channel", "")))
    count = await session.client.call("PUBLISH", channel, str(sent.get("message", "")))
    session.notes.append(("good", f"Published to {count} subscribers."))
    return web.HTTPSeeOther(address("/channels", channel=forms.escaped(channel)))


ROUTES: Final = [
    web.get("/channels", show),
    web.get("/api/channel", stream),
    web.post("/channels/publish", needs_writes(publish)),
]
