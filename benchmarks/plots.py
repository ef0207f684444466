"""Draws results as PNG and SVG. Needs matplotlib, from the extra `bench`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from benchmarks.results import REFERENCE, CaseResult, Results, median, ratio
from benchmarks.targets import share_target

INK, SOFT, GRID = "#22262e", "#7a8190", "#e4e7ec"
REFERENCE_COLOUR = "#9aa3b2"
COLOURS = ("#0f766e", "#b45309", "#6d28d9", "#be123c")
MISSED = "#dc2626"
RANGE = "#3f4754"
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "xtick.color": SOFT,
    "ytick.color": INK,
    "svg.hashsalt": "stratakv",
}
PERCENTILES = (("p50_ms", "o", "p50"), ("p99_ms", "D", "p99"), ("p999_ms", "|", "p99.9"))


def draw(results: Results, targets: dict[str, Any], out: Path) -> list[Path]:
    """Draw every plot the results have numbers for; the PNG files."""
    out.mkdir(parents=True, exist_ok=True)
    plots: dict[str, Callable[[], Figure | None]] = {
        "throughput": lambda: throughput(results, targets),
        "latency": lambda: latency(results),
        "fairness": lambda: fairness(results),
        "growth": lambda: growth(results),
        "sustained": lambda: sustained(results),
    }
    written = []
    with plt.rc_context(STYLE):
        for name, plot in plots.items():
            figure = plot()
            if figure is not None:
                for kind in ("png", "svg"):
                    figure.savefig(out / f"{name}.{kind}", dpi=140)
                plt.close(figure)
                written.append(out / f"{name}.png")
    return written


def throughput(results: Results, targets: dict[str, Any]) -> Figure | None:
    """Share of Redis by case: a bar with its range of rounds, and a tick where the target is."""
    panels = {
        title: [case for case in results.of_workload(name) if _shares(results, case)]
        for name, title in results.titles.items()
    }
    panels = {title: cases for title, cases in panels.items() if cases}
    servers = _others(results)
    if not panels or not servers:
        return None
    figure, axes = _stack([len(cases) * len(servers) for cases in panels.values()])
    for axis, (title, cases) in zip(axes, panels.items(), strict=True):
        axis.set_title(title, fontsize=10)
        _share_bars(axis, cases, results, targets)
    widest = max(axis.get_xlim()[1] for axis in axes)
    for axis in axes:
        axis.set_xlim(0, max(1.2, widest * 1.04))
    axes[-1].set_xlabel("throughput as a share of redis-server in the same run")
    ticks = [
        _tick(INK, "target, met"),
        _tick(MISSED, "target, missed"),
        Line2D([], [], color=RANGE, lw=1.3, label="lowest to highest round"),
    ]
    _legend(figure, [_patch(results, name) for name in servers] + ticks)
    return figure


def _share_bars(
    axis: Axes, cases: list[CaseResult], results: Results, targets: dict[str, Any]
) -> None:
    servers = _others(results)
    height = 0.74 / len(servers)
    for row, case in enumerate(cases):
        for n, server in enumerate(servers):
            y = row + (n - (len(servers) - 1) / 2) * height
            _share_bar(axis, case, server, y, height, _colour(results, server), targets)
    axis.axvline(1.0, color=REFERENCE_COLOUR, lw=1.5, zorder=0)
    axis.set_yticks(range(len(cases)), [case.id.partition("/")[2] for case in cases])
    axis.set_ylim(len(cases) - 0.4, -0.6)
    _tidy(axis)


def _share_bar(
    axis: Axes,
    case: CaseResult,
    server: str,
    y: float,
    height: float,
    colour: str,
    targets: dict[str, Any],
) -> None:
    share = ratio(case, server)
    if share is None:
        axis.text(0.01, y, "n/a", va="center", color=SOFT, fontsize=9)
        return
    axis.barh(y, share.median, height * 0.9, color=colour, zorder=2)
    axis.plot([share.low, share.high], [y, y], color="white", lw=2.6, zorder=3)
    axis.plot([share.low, share.high], [y, y], color=RANGE, lw=1.3, zorder=3)
    axis.text(
        max(share.high, share.median) + 0.015,
        y,
        f"{share.median:.2f}",
        va="center",
        fontsize=9,
        bbox=ON_WHITE,
    )
    wanted = share_target(targets, case.id)
    if wanted is not None:
        tick = INK if share.median >= wanted else MISSED
        axis.plot([wanted] * 2, [y - height / 2, y + height / 2], color=tick, lw=2.2, zorder=4)


def latency(results: Results) -> Figure | None:
    """p50, p99 and p99.9 without pipeline, a line per server, on a logarithmic axis."""
    names = [name for name in ("p1", "applications", "shapes", "zipf") if name in results.titles]
    cases = [
        case
        for name in names
        for case in results.of_workload(name)
        if name == "p1" or case.id.endswith("-p1")
    ]
    if not cases:
        return None
    figure, (axis,) = _stack([len(cases) * len(results.servers)])
    axis.set_title("Latency without pipeline, 50 clients", fontsize=10)
    for row, case in enumerate(cases):
        for n, server in enumerate(results.servers):
            y = row + (n - (len(results.servers) - 1) / 2) * 0.3
            _latency_line(axis, case, server, y, _colour(results, server))
    axis.set_xscale("log")
    axis.set_yticks(range(len(cases)), [_short(case) for case in cases])
    axis.set_ylim(len(cases) - 0.4, -0.6)
    axis.set_xlabel("milliseconds")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _tidy(axis)
    marks = [
        Line2D([], [], color=INK, marker=marker, lw=0, label=label)
        for _, marker, label in PERCENTILES
    ]
    _legend(figure, [_patch(results, name) for name in results.servers] + marks)
    return figure


def _latency_line(axis: Axes, case: CaseResult, server: str, y: float, colour: str) -> None:
    values = [median(case.outcomes.get(server), metric) for metric, _, _ in PERCENTILES]
    known = [value for value in values if value]
    if not known:
        return
    axis.plot([known[0], known[-1]], [y, y], color=colour, lw=2, alpha=0.45)
    for value, (_, marker, _) in zip(values, PERCENTILES, strict=True):
        if value:
            size = 10 if marker == "|" else 5
            axis.plot(value, y, marker, color=colour, ms=size, mew=2 if marker == "|" else 1)


def fairness(results: Results) -> Figure | None:
    """What a PING takes while another client works on a million elements."""
    cases = results.of_workload("fairness")
    if not cases:
        return None
    figure, (axis,) = _stack([len(cases) * len(results.servers)])
    axis.set_title(results.titles["fairness"], fontsize=10)
    for row, case in enumerate(cases):
        for n, server in enumerate(results.servers):
            y = row + (n - (len(results.servers) - 1) / 2) * 0.34
            _fairness_bar(axis, case, server, y, _colour(results, server))
    axis.set_xscale("log")
    axis.set_xlim(0.05, axis.get_xlim()[1] * 1.8)
    axis.axvline(20, color=MISSED, lw=1.2, ls="--", zorder=0)
    axis.set_yticks(range(len(cases)), [_command(case) for case in cases])
    axis.set_ylim(len(cases) - 0.4, -0.6)
    axis.set_xlabel(
        "PING, milliseconds: bar to p99, line to the maximum; dashed: the target for p99"
    )
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _tidy(axis)
    _legend(figure, [_patch(results, name) for name in results.servers])
    return figure


def _command(case: CaseResult) -> str:
    name = case.id.partition("/")[2].rpartition("-")[0]
    return "nothing" if name == "idle" else name.upper()


def _fairness_bar(axis: Axes, case: CaseResult, server: str, y: float, colour: str) -> None:
    outcome = case.outcomes.get(server)
    p99, highest = median(outcome, "p99_ms"), median(outcome, "max_ms")
    if p99 is None or highest is None:
        axis.text(0.06, y, "n/a", va="center", color=SOFT, fontsize=9)
        return
    axis.barh(y, p99 - 0.05, 0.3, left=0.05, color=colour, zorder=2)
    axis.plot([p99, highest], [y, y], color=colour, lw=1.4, zorder=3)
    axis.plot(highest, y, "|", color=colour, ms=8, mew=2)
    label = f"{p99:.1f} / {highest:.0f}"
    axis.text(highest * 1.12, y, label, va="center", fontsize=8, color=SOFT, bbox=ON_WHITE)


def growth(results: Results) -> Figure | None:
    """Throughput and memory as the number of keys grows."""
    cases = results.of_workload("growth")
    if not cases:
        return None
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    panels = (("get", "throughput", "GET, ops/s"), ("set", "throughput", "SET, ops/s"))
    for axis, (test, metric, title) in zip(
        axes, (*panels, ("set", "rss_mb", "RSS, MB")), strict=True
    ):
        for server in results.servers:
            _growth_line(axis, cases, test, metric, server, _colour(results, server))
        axis.set_title(title, fontsize=10)
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("keys")
        axis.set_xticks(*_key_ticks(cases), minor=False)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.grid(axis="y", color=GRID)
    axes[0].legend(frameon=False, loc="lower left")
    return figure


def _key_ticks(cases: list[CaseResult]) -> tuple[list[int], list[str]]:
    names = {_count_of(name): name for name in (case.id.rpartition("-")[2] for case in cases)}
    return list(names), list(names.values())


def _count_of(name: str) -> int:
    """The inverse of a size in a case's name: 1m, 100k."""
    return int(name.rstrip("km")) * {"k": 1000, "m": 1_000_000}.get(name[-1], 1)


def _growth_line(
    axis: Axes, cases: list[CaseResult], test: str, metric: str, server: str, colour: str
) -> None:
    points = []
    for case in cases:
        name, _, count = case.id.partition("/")[2].rpartition("-")
        value = median(case.outcomes.get(server), metric)
        if name == test and value is not None:
            points.append((_count_of(count), value))
    if points:
        axis.plot(*zip(*points, strict=True), "o-", color=colour, label=server, lw=2, ms=5)


def sustained(results: Results) -> Figure | None:
    """Loop lag and memory over the time of a long write."""
    series = results.series.get("sustained", {})
    known = {name for points in series.values() for point in points for name in point}
    titles = {"lag_ms": "event-loop lag, ms (p99.9 of each quarter second)", "rss_mb": "RSS, MB"}
    panels = [metric for metric in titles if metric in known]
    if not panels:
        return None
    size = (10, 0.6 + 2.5 * len(panels))
    figure, grid = plt.subplots(
        len(panels), 1, figsize=size, sharex=True, squeeze=False, layout="constrained"
    )
    for axis, metric in zip(grid[:, 0], panels, strict=True):
        for server, points in series.items():
            _time_line(axis, points, metric, server, _colour(results, server))
        axis.set_title(titles[metric], fontsize=10)
        axis.set_ylim(bottom=0)
        axis.grid(axis="y", color=GRID)
        axis.legend(frameon=False)
    grid[-1, 0].set_xlabel("seconds of writing at full speed")
    return figure


def _time_line(
    axis: Axes, points: list[dict[str, float]], metric: str, server: str, colour: str
) -> None:
    line = [(point["t_s"], point[metric]) for point in points if metric in point]
    if line:
        axis.plot(*zip(*line, strict=True), color=colour, lw=1.4, label=server)


def _stack(rows: list[int]) -> tuple[Figure, list[Axes]]:
    """Panels below each other, each as high as its rows need."""
    heights = [0.45 + 0.24 * max(count, 2) for count in rows]
    figure, axes = plt.subplots(
        len(rows),
        1,
        figsize=(9.5, sum(heights) + 0.55 * len(rows) + 0.9),
        height_ratios=heights,
        squeeze=False,
        layout=ConstrainedLayoutEngine(hspace=0.03),
    )
    return figure, list(axes[:, 0])


def _tidy(axis: Axes) -> None:
    axis.grid(axis="x", color=GRID, zorder=0)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)


def _legend(figure: Figure, handles: list[Any]) -> None:
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False)


def _patch(results: Results, server: str) -> Line2D:
    return Line2D([], [], color=_colour(results, server), lw=7, label=server)


def _tick(colour: str, label: str) -> Line2D:
    return Line2D([], [], color=colour, marker="|", ms=11, mew=2.2, lw=0, label=label)


def _others(results: Results) -> list[str]:
    return [server for server in results.servers if server != REFERENCE]


def _shares(results: Results, case: CaseResult) -> bool:
    return any(ratio(case, server) for server in _others(results))


def _colour(results: Results, server: str) -> str:
    if server == REFERENCE:
        return REFERENCE_COLOUR
    return COLOURS[_others(results).index(server) % len(COLOURS)]


def _short(case: CaseResult) -> str:
    name = case.id.partition("/")[2]
    return name.removesuffix("-p1")
