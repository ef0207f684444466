"""The time by command, the slow log, and what the latency monitor has seen."""

import time
from typing import Any, Final

from aiohttp import web

from stratakv.console import forms
from stratakv.console.frame import card, form, page, session_of, table
from stratakv.console.gate import needs_writes
from stratakv.console.markup import Node, el
from stratakv.console.pages import command_times
from stratakv.console.pages.key_facts import may
from stratakv.console.replies import Failure

SHOWN: Final = 128
WORDS: Final = 12


async def show(request: web.Request) -> web.Response:
    """All of it, and by what it is bounded."""
    session = session_of(request)
    slow, events, bounds = await session.client.pipeline(
        [("SLOWLOG", "GET", SHOWN), ("LATENCY", "LATEST"), ("CONFIG", "GET", "*l*-*er-than")]
    )
    spikes, *times = await session.client.pipeline(
        [("CONFIG", "GET", "latency-monitor-threshold"), *command_times.ASKED]
    )
    over = "" if isinstance(bounds, Failure) else _bound(bounds, b"slowlog-log-slower-than")
    forget = await may(request, session, ("SLOWLOG", "RESET"))
    clear = form(session, "/slow/clear", el("button", "Empty the log")) if forget else None
    return page(
        request,
        "Slow and latency",
        command_times.show(*times),
        card("Slow log", _slow(slow, over), clear),
        card(
            "Latency monitor",
            _events(
                events,
                "" if isinstance(spikes, Failure) else _bound(spikes, b"latency-monitor-threshold"),
            ),
        ),
        await _histories(session.client, events),
    )


def _bound(reply: list[bytes], name: bytes) -> str:
    return dict(zip(reply[::2], reply[1::2], strict=True)).get(name, b"").decode()


def _slow(reply: Any, over: str) -> Node:
    if isinstance(reply, Failure):
        return el("p", str(reply), class_="empty")
    hint = (
        el(
            "p",
            f"Commands that took longer than {int(over):,} µs (slowlog-log-slower-than).",
            class_="hint",
        )
        if over.lstrip("-").isdigit()
        else None
    )
    if not reply:
        return [el("p", "No command was slow.", class_="empty"), hint]
    most = max(entry[2] for entry in reply) or 1
    rows: list[list[Node]] = [
        [
            _ago(entry[1]),
            f"{entry[2] / 1000:,.1f} ms",
            el(
                "svg",
                el("rect", width=f"{entry[2] / most * 100:.1f}", height=10, rx=2),
                viewBox="0 0 100 10",
                preserveAspectRatio="none",
                class_="bar-of",
            ),
            el(
                "code",
                " ".join(forms.short(word, 60) for word in entry[3][:WORDS]),
                " …" if len(entry[3]) > WORDS else "",
            ),
            forms.short(b" ".join(entry[4:6]), 60),
        ]
        for entry in reply
    ]
    return [table(["When", "Took", "", "Command", "Client"], rows, "slow stacked"), hint]


def _ago(when: int) -> Node:
    shown = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(when))
    return el(
        "time",
        f"{forms.duration(max(0, time.time() - when))} ago",
        title=f"{shown} UTC",
        datetime=shown,
    )


def _events(reply: Any, threshold: str) -> Node:
    if isinstance(reply, Failure):
        return el("p", str(reply), class_="empty")
    state = (
        "It is off: latency-monitor-threshold is 0."
        if threshold == "0"
        else f"Spikes of {threshold} ms and more."
        if threshold
        else None
    )
    hint = el("p", state, class_="hint") if state else None
    if not reply:
        return [el("p", "No spike was seen.", class_="empty"), hint]
    rows: list[list[Node]] = [
        [forms.short(event), _ago(when), f"{last:,} ms", f"{worst:,} ms"]
        for event, when, last, worst in reply
    ]
    return [table(["Event", "Last", "Took", "Worst"], rows, "stacked"), hint]


async def _histories(client: Any, events: Any) -> Node:
    """The spikes of each event, a bar each."""
    if isinstance(events, Failure) or not events:
        return None
    replies = await client.pipeline([("LATENCY", "HISTORY", event[0]) for event in events[:8]])
    drawn = []
    for event, samples in zip(events, replies, strict=False):
        if isinstance(samples, Failure) or not samples:
            continue
        most = max(took for _, took in samples) or 1
        bars = [
            el(
                "rect",
                x=n * 6,
                y=f"{60 - took / most * 56:.1f}",
                width=4,
                height=f"{took / most * 56:.1f}",
                rx=1,
            )
            for n, (_, took) in enumerate(samples)
        ]
        drawn.append(
            el(
                "figure",
                el("figcaption", el("b", forms.short(event[0])), f" worst {most} ms"),
                el("svg", bars, viewBox=f"0 0 {max(160, len(samples) * 6)} 60", class_="spikes"),
                class_="card chart",
            )
        )
    return el("div", drawn, class_="charts")


async def clear(request: web.Request) -> web.StreamResponse:
    """Empty the slow log."""
    session = session_of(request)
    await session.client.call("SLOWLOG", "RESET")
    session.notes.append(("good", "The slow log is empty."))
    return web.HTTPSeeOther("/slow")


ROUTES: Final = [web.get("/slow", show), web.post("/slow/clear", needs_writes(clear))]
