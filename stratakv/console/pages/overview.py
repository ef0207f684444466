"""The charts: what the server does now, and did for minutes and hours."""

from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from stratakv.console import forms
from stratakv.console.frame import CONSOLE, address, card, page, session_of
from stratakv.console.markup import Markup, Node, el
from stratakv.console.pages.tiles import tiles, tiles_of_namespace
from stratakv.console.peer import NAMESPACE, namespace_of, parse_info
from stratakv.console.recorder import RANGES
from stratakv.console.samples import FAMILIES, Look
from stratakv.console.sessions import Session

RANGE_NAMES: Final = {"10m": "10 minutes", "2h": "2 hours", "1d": "1 day"}


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its series by name and label, and the unit that the script knows."""

    title: str
    unit: str
    series: tuple[tuple[str, str], ...]
    is_stacked: bool = False
    strata_only: bool = False
    hint: str = ""
    is_wide: bool = False
    is_optional: bool = False
    """Whether it is left out while there is nothing to show in it."""


CHARTS: Final = (
    Chart(
        "Operations a second",
        "rate",
        tuple(
            (f"ops.{family}", family.replace("sortedset", "sorted set"))
            for family in (*FAMILIES, "other")
        ),
        is_stacked=True,
        is_wide=True,
    ),
    Chart(
        "Command latency",
        "ms",
        (("latency.p50", "p50"), ("latency.p99", "p99"), ("latency.p999", "p99.9")),
        hint="The time of a command in the server, without the network and the wait before it.",
    ),
    Chart(
        "Event-loop lag",
        "ms",
        (("lag.p50", "p50"), ("lag.p99", "p99"), ("lag.p999", "p99.9")),
        strata_only=True,
        hint="How late a timer of the server fires: nobody is served meanwhile.",
    ),
    Chart("Network", "bytes/s", (("net.in", "received"), ("net.out", "sent"))),
    Chart("Clients", "count", (("clients", "connected"), ("blocked", "blocked"))),
    Chart(
        "Memory",
        "bytes",
        (("memory", "own"), ("memory.rss", "resident")),
        hint="Resident are mapped files as well, which the system takes back when it needs them.",
    ),
    Chart(
        "Caches",
        "bytes",
        (
            ("memory.metas", "metas"),
            ("memory.metas.limit", "their bound"),
            ("memory.rows", "rows"),
            ("memory.rows.limit", "their bound"),
        ),
        strata_only=True,
        hint="A meta is the row that stands for a key (stratakv_meta_cache_entries).",
    ),
    Chart("Commits a second", "rate", (("commits", "commits"),), strata_only=True),
    Chart(
        "Commit time",
        "ms",
        (("commit.p50", "p50"), ("commit.p99", "p99"), ("commit.p999", "p99.9")),
        strata_only=True,
    ),
    Chart(
        "Rows in a commit",
        "count",
        (("commit.size", "rows"),),
        strata_only=True,
        hint="All that clients wrote in one turn of the event loop is one commit.",
    ),
    Chart(
        "Rows a second",
        "rate",
        (("commit.rows", "written or deleted"), ("gc.rows", "reclaimed")),
        strata_only=True,
    ),
    Chart("Data directory", "bytes", (("disk", "size"),), strata_only=True),
    Chart("Free on its disk", "bytes", (("disk.free", "free"),), strata_only=True),
    Chart(
        "Compaction",
        "bytes/s",
        (("compaction.written", "written"), ("compaction.read", "read")),
        strata_only=True,
        hint="LevelDB merges its tables in the background.",
    ),
    Chart(
        "gc backlog",
        "count",
        (("gc.backlog", "collections"),),
        strata_only=True,
        hint="Deleted collections whose rows are still to be removed (stratakv_gc_backlog).",
    ),
    Chart(
        "Stalls a second",
        "rate",
        (("stalls", "stalls"),),
        strata_only=True,
        hint="A stall is a commit that LevelDB held up for 5 ms or more: it is behind with"
        " compaction, or the disk or the processor is busy (stratakv_store_stalls_total).",
    ),
    Chart(
        "Pressure",
        "%",
        (("pressure", "pressure"),),
        strata_only=True,
        hint="How far LevelDB is behind with compaction; at 100 % it holds up all writes.",
    ),
    Chart("Look-ups", "rate", (("hits", "found"), ("misses", "not there"))),
    Chart("Keys gone a second", "rate", (("expired", "expired"), ("evicted", "evicted"))),
    Chart(
        "Keys that expire soon",
        "count",
        (("expiring.minute", "within a minute"), ("expiring.hour", "within an hour")),
        strata_only=True,
        hint="Counted twice a minute, up to 100,000 of a database.",
        is_optional=True,
    ),
    Chart(
        "Cache tier",
        "rate",
        (("tier.hits", "hits"), ("tier.misses", "misses"), ("tier.errors", "errors")),
        strata_only=True,
        is_optional=True,
    ),
    Chart(
        "Circuit breaker of the tier",
        "count",
        (("tier.breaker", "state"),),
        strata_only=True,
        hint="0 closed: the tier is used; 1 half-open; 2 open: it is bypassed.",
        is_optional=True,
    ),
    Chart(
        "Replication lag",
        "s",
        (("replication.lag", "slowest replica"), ("replication.silence", "master not heard")),
        hint="Seconds since the last word from the other side.",
        is_optional=True,
    ),
    Chart(
        "Replication backlog",
        "bytes",
        (("replication.behind", "slowest replica is behind"),),
        is_optional=True,
    ),
)


async def show(request: web.Request) -> web.Response:
    """The page; a script fills it."""
    session, chosen = session_of(request), request.query.get("range", "10m")
    if chosen not in RANGES:
        raise ValueError(f"range: one of {', '.join(RANGES)}")
    if namespace_of(await _told_of_namespace(session)):
        return _of_namespace(request)
    ranges = el(
        "nav",
        [
            el(
                "a",
                name,
                href=address("/", range=key),
                aria_current="true" if key == chosen else None,
            )
            for key, name in RANGE_NAMES.items()
        ],
        class_="tabs",
        aria_label="Range",
    )
    charts = [_figure(chart) for chart in CHARTS if session.peer.is_strata or not chart.strata_only]
    return page(
        request,
        "Overview",
        el("p", class_="note bad", id="problem", role="alert", hidden=True),
        el("div", id="tiles", class_="tiles"),
        ranges,
        el("div", charts, class_="charts", id="charts", data_range=chosen),
        el("div", id="levels"),
    )


async def _told_of_namespace(session: Session) -> Any:
    """Raises `Refused` for who may not read INFO."""
    return await session.client.call("INFO", NAMESPACE)


def _of_namespace(request: web.Request) -> web.Response:
    """The same for a user who is told of a namespace alone: there is nothing to draw."""
    return page(
        request,
        "Overview",
        el("p", class_="note bad", id="problem", role="alert", hidden=True),
        el("div", id="tiles", class_="tiles"),
        el("div", id="charts", data_range="10m"),
        el("div", id="levels"),
        el("p", "Charts are for users who may be told of the server as a whole.", class_="hint"),
    )


def _figure(chart: Chart) -> Markup:
    return el(
        "figure",
        el(
            "figcaption",
            el("b", chart.title),
            el("output"),
            el("small", chart.hint) if chart.hint else None,
        ),
        class_="card chart wide-chart" if chart.is_wide else "card chart",
        data_unit=chart.unit,
        data_series=",".join(name for name, _ in chart.series),
        data_labels=",".join(label for _, label in chart.series),
        data_stacked=chart.is_stacked,
        data_optional=chart.is_optional,
        hidden=chart.is_optional,
        tabindex=0,
        aria_label=f"{chart.title}, a chart; the arrow keys move through it",
    )


async def data(request: web.Request) -> web.Response:
    """The samples of a range, those after a time, and how the server is now."""
    session, recorder = session_of(request), request.app[CONSOLE].recorder
    chosen, after = request.query.get("range", "10m"), request.query.get("after", "0")
    if namespace_of(await _told_of_namespace(session)):
        # What is recorded is the whole server's.
        mine = tiles_of_namespace(parse_info(await session.client.call("INFO")))
        return web.json_response(
            {"t": [], "series": {}, "problem": "", "tiles": mine, "levels": ""}
        )
    (may_time,) = await session.peer.allows(session.client, ("LATENCY", "HISTOGRAM"))
    if chosen not in RANGES:
        raise ValueError(f"range: one of {', '.join(RANGES)}")
    columns = recorder.rings[chosen].columns(float(after))
    if not may_time:
        columns["series"] = {
            name: one for name, one in columns["series"].items() if not name.startswith("latency.")
        }
    return web.json_response(
        {
            **columns,
            "problem": recorder.problem,
            "tiles": tiles(recorder, session.peer.is_strata),
            "levels": str(_levels(recorder.last)),
        }
    )


def _levels(look: Look | None) -> Node:
    """LevelDB's levels, each with its bar."""
    if look is None or not look.levels:
        return Markup()
    most = max((one.get("bytes", 0) for one in look.levels.values()), default=0) or 1
    bars = [
        el(
            "tr",
            el("th", f"L{name}", scope="row"),
            el(
                "td",
                el(
                    "svg",
                    el("rect", width=f"{one.get('bytes', 0) / most * 100:.1f}", height=10, rx=2),
                    viewBox="0 0 100 10",
                    preserveAspectRatio="none",
                    class_="bar-of",
                ),
            ),
            el("td", f"{one.get('files', 0):.0f} tables"),
            el("td", forms.size(one.get("bytes", 0))),
            el("td", f"compacted for {one.get('compaction_seconds', 0):.0f} s"),
        )
        for name, one in sorted(look.levels.items())
    ]
    return card(
        "Levels of LevelDB",
        el("div", el("table", el("tbody", bars), class_="levels"), class_="wide"),
    )


ROUTES: Final = [web.get("/", show), web.get("/api/overview", data)]
