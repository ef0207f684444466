"""Compares results with `targets.toml`."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.results import CaseResult, Results, median, ratio
from benchmarks.sample import METRICS, format_metric

TARGETS = Path(__file__).with_name("targets.toml")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target and what was measured; `mark` is met, floor (only the lower bar) or missed."""

    case: str
    metric: str
    wanted: str
    measured: str
    mark: str


def load(path: Path = TARGETS) -> dict[str, Any]:
    """The targets as plain data."""
    return tomllib.loads(path.read_text())


def judge(results: Results, server: str, targets: dict[str, Any]) -> list[Verdict]:
    """A verdict for every target that the results have a number for, in the order of the cases."""
    verdicts = []
    limits = targets.get("limit", [])
    for case in results.cases.values():
        verdicts += _share(case, server, targets)
        for limit in limits:
            verdicts += [] if limit.get("worst") else _limit(case, server, limit)
        verdicts += _share_limits(case, server, targets.get("share_limit", []))
    for limit in limits:
        verdicts += _worst(results, server, limit) if limit.get("worst") else []
    return verdicts


def share_target(targets: dict[str, Any], case_id: str, kind: str = "share") -> float | None:
    """The wanted share of a case; None when it has none."""
    workload, _, name = case_id.partition("/")
    wanted: float | None = targets.get(kind, {}).get(workload, {}).get(name)
    return wanted


def _share(case: CaseResult, server: str, targets: dict[str, Any]) -> list[Verdict]:
    wanted, measured = share_target(targets, case.id), ratio(case, server)
    if wanted is None or measured is None:
        return []
    floor = share_target(targets, case.id, "floor")
    mark = "met" if measured.median >= wanted else "missed"
    if mark == "missed" and floor is not None and measured.median >= floor:
        mark = "floor"
    return [Verdict(case.id, "share of Redis", f"≥ {wanted:.2f}", str(measured), mark)]


def _limit(case: CaseResult, server: str, limit: dict[str, Any]) -> list[Verdict]:
    value = median(case.outcomes.get(server), limit["metric"])
    if value is None or not fnmatch(case.id, limit["cases"]):
        return []
    mark = "met" if value < limit["below"] else "missed"
    shown = format_metric(limit["metric"], value)
    title = METRICS[limit["metric"]].title
    return [Verdict(case.id, title, f"< {limit['below']}", shown, mark)]


def _worst(results: Results, server: str, limit: dict[str, Any]) -> list[Verdict]:
    """The verdict of the matching case with the highest value."""

    def value(case: CaseResult) -> float:
        known = median(case.outcomes.get(server), limit["metric"])
        return -1.0 if known is None or not fnmatch(case.id, limit["cases"]) else known

    worst = max(results.cases.values(), key=value, default=None)
    return [] if worst is None else _limit(worst, server, limit)


def _share_limits(case: CaseResult, server: str, limits: list[dict[str, Any]]) -> list[Verdict]:
    verdicts = []
    for limit in limits:
        measured = ratio(case, server, limit["metric"])
        if measured is None or not fnmatch(case.id, limit["cases"]):
            continue
        mark = "met" if measured.median <= limit["below"] else "missed"
        title = f"{METRICS[limit['metric']].title} / Redis"
        verdicts.append(Verdict(case.id, title, f"≤ {limit['below']}", str(measured), mark))
    return verdicts
