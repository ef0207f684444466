"""Writes results as Markdown tables and JSON, and the comparison of the guard as text."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.guard import Comparison
from benchmarks.results import REFERENCE, CaseResult, Ratio, Results, median, metrics_of, ratio
from benchmarks.sample import METRICS, format_metric
from benchmarks.targets import Verdict, judge, share_target

MARKS = {"met": "✔ met", "floor": "◐ floor", "missed": "✘ missed"}


def write(results: Results, targets: dict[str, Any], out: Path, plots: Iterable[Path]) -> None:
    """Write `results.json` and `results.md` below a directory."""
    write_json(results, out)
    (out / "results.md").write_text(markdown(results, targets, [p.name for p in plots]))


def write_json(results: Results, out: Path) -> None:
    """Write `results.json` below a directory."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results.as_json(), indent=1) + "\n")


def markdown(results: Results, targets: dict[str, Any], plots: list[str]) -> str:
    """The whole page."""
    parts = ["# Benchmark results", _machine(results)]
    parts += [f"![{name}]({name})" for name in plots]
    for server in results.servers:
        if server != REFERENCE and (verdicts := judge(results, server, targets)):
            parts += [f"## Targets: {server}", verdict_table(verdicts)]
    for workload, title in results.titles.items():
        parts += [f"## {workload}: {title}", _workload_table(results, workload, targets)]
        parts += _reasons(results.of_workload(workload))
    return "\n\n".join(parts) + "\n"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, aligned so that it reads well as plain text too; numbers to the right."""
    widths = [max(len(row[n]) for row in [header, *rows]) for n in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [_line(header, widths), _line(rule, widths), *(_line(row, widths) for row in rows)]
    return "\n".join(lines)


def verdict_table(verdicts: list[Verdict]) -> str:
    """Targets with what was measured."""
    rows = [[v.case, v.metric, v.wanted, v.measured, MARKS[v.mark]] for v in verdicts]
    met = sum(v.mark == "met" for v in verdicts)
    summary = f"{met} of {len(verdicts)} targets met."
    return summary + "\n\n" + table(["case", "metric", "target", "measured", ""], rows)


def guard_table(comparisons: list[Comparison]) -> str:
    """Shares of Redis in the baseline and now."""
    rows = [[c.case, _share_text(c.stored), _share_text(c.now), c.mark] for c in comparisons]
    return table(["case", "baseline", "now", ""], rows)


def _line(cells: list[str], widths: list[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "| " + " | ".join([first, *rest]) + " |"


def _machine(results: Results) -> str:
    facts = {**results.machine, **{f"server {k}": v for k, v in results.servers.items()}}
    facts |= {key: str(value) for key, value in results.settings.items()}
    return "\n".join(f"- {key}: {value}" for key, value in facts.items())


def _workload_table(results: Results, workload: str, targets: dict[str, Any]) -> str:
    cases = results.of_workload(workload)
    columns = metrics_of(cases)
    rows = [_row(case, server, columns, targets) for case in cases for server in results.servers]
    titles = [METRICS[name].title for name in columns]
    return table(["case", "server", "share of Redis", "target", *titles], rows)


def _row(case: CaseResult, server: str, columns: list[str], targets: dict[str, Any]) -> list[str]:
    outcome = case.outcomes.get(server)
    name = case.id.partition("/")[2]
    if outcome is None or not outcome.samples:
        return [name, server, "n/a", "", *(format_metric(column, None) for column in columns)]
    wanted = share_target(targets, case.id) if server != REFERENCE else None
    return [
        name,
        server,
        _share_text(ratio(case, server)),
        "" if wanted is None else f"{wanted:.2f}",
        *(format_metric(column, median(outcome, column)) for column in columns),
    ]


def _share_text(share: Ratio | None) -> str:
    return "" if share is None else str(share)


def _reasons(cases: list[CaseResult]) -> list[str]:
    """A list of why a server has no number, when any has none."""
    lines = [
        f"- n/a: {case.id} on {server}: {outcome.unavailable}"
        for case in cases
        for server, outcome in case.outcomes.items()
        if outcome.unavailable
    ]
    return ["\n".join(lines)] if lines else []
