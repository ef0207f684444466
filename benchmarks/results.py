"""The results of a run: samples by case and server, and what is computed from them.

The JSON file is `Results.as_json()`; everything printed or drawn is computed from it alone, so a
stored file can be reported again.
"""

import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.sample import METRICS, Sample

REFERENCE = "redis"


@dataclass(slots=True)
class Outcome:
    """What one server did in one case: a sample per round, or the reason why there is none."""

    samples: list[Sample] = field(default_factory=list)
    unavailable: str | None = None


@dataclass(slots=True)
class CaseResult:
    """One line of the tables; `id` is workload/case."""

    id: str
    workload: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)


@dataclass(slots=True)
class Results:
    """A whole run."""

    machine: dict[str, str]
    servers: dict[str, str]
    settings: dict[str, Any]
    titles: dict[str, str] = field(default_factory=dict)
    cases: dict[str, CaseResult] = field(default_factory=dict)
    series: dict[str, dict[str, list[dict[str, float]]]] = field(default_factory=dict)

    def outcome(self, workload: str, case: str, server: str) -> Outcome:
        """The outcome of a server in a case, made when it is not there yet."""
        id_ = f"{workload}/{case}"
        result = self.cases.setdefault(id_, CaseResult(id_, workload))
        return result.outcomes.setdefault(server, Outcome())

    def of_workload(self, workload: str) -> list[CaseResult]:
        """The cases of a workload in the order they ran."""
        return [case for case in self.cases.values() if case.workload == workload]

    def as_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Results":
        """The inverse of `as_json`."""
        cases = {
            id_: CaseResult(
                id_,
                case["workload"],
                {name: Outcome(**outcome) for name, outcome in case["outcomes"].items()},
            )
            for id_, case in data["cases"].items()
        }
        return cls(**{**data, "cases": cases})


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share of the reference: the median over rounds, with the lowest and highest round."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.low:.2f}-{self.high:.2f}]"


def median(outcome: Outcome | None, metric: str) -> float | None:
    """The median of a metric over the rounds that have it."""
    values = [s[metric] for s in outcome.samples if metric in s] if outcome else []
    return statistics.median(values) if values else None


def ratio(case: CaseResult, server: str, metric: str = "throughput") -> Ratio | None:
    """A server's share of the reference, round by round; None where one of them has no number.

    Rounds are paired because both servers of a round met the same state of the machine.
    """
    mine, theirs = case.outcomes.get(server), case.outcomes.get(REFERENCE)
    if not mine or not theirs or server == REFERENCE:
        return None
    shares = [
        a[metric] / b[metric]
        for a, b in zip(mine.samples, theirs.samples, strict=False)
        if a.get(metric) and b.get(metric)
    ]
    return Ratio(statistics.median(shares), min(shares), max(shares)) if shares else None


def metrics_of(cases: list[CaseResult]) -> list[str]:
    """The known metrics that any of the cases has, in the order of METRICS."""
    seen = {
        name
        for case in cases
        for outcome in case.outcomes.values()
        for sample in outcome.samples
        for name in sample
    }
    return [name for name in METRICS if name in seen]
