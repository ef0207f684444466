"""The regression guard: shares of Redis now against shares stored in `baseline.json`.

A case has regressed when its median share is below the stored median by more than the tolerance
and also below the lowest round of the stored run: noise that the baseline had itself is forgiven.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.results import Ratio, Results, ratio

BASELINE = Path(__file__).with_name("baseline.json")
TOLERANCE = 0.2


@dataclass(frozen=True, slots=True)
class Comparison:
    """A case now and in the baseline; `mark` is ok, better, regressed, new or gone."""

    case: str
    stored: Ratio | None
    now: Ratio | None
    mark: str


def shares(results: Results, server: str) -> dict[str, Ratio]:
    """Throughput shares by case id."""
    found = {id_: ratio(case, server) for id_, case in results.cases.items()}
    return {id_: share for id_, share in found.items() if share is not None}


def save(results: Results, server: str, path: Path = BASELINE) -> None:
    """Write the shares of a run as the baseline, with the machine it ran on."""
    stored = {id_: asdict(share) for id_, share in shares(results, server).items()}
    data = {"machine": results.machine, "settings": results.settings, "shares": stored}
    path.write_text(json.dumps(data, indent=1) + "\n")


def load(path: Path = BASELINE) -> dict[str, Ratio]:
    """The stored shares."""
    data = json.loads(path.read_text())
    return {id_: Ratio(**share) for id_, share in data["shares"].items()}


def compare(
    stored: dict[str, Ratio], now: dict[str, Ratio], tolerance: float = TOLERANCE
) -> list[Comparison]:
    """Every case of both runs, the baseline's order first."""
    ids = [*stored, *(id_ for id_ in now if id_ not in stored)]
    return [
        Comparison(
            id_, stored.get(id_), now.get(id_), _mark(stored.get(id_), now.get(id_), tolerance)
        )
        for id_ in ids
    ]


def _mark(stored: Ratio | None, now: Ratio | None, tolerance: float) -> str:
    if stored is None:
        return "new"
    if now is None:
        return "gone"
    if now.median < stored.median * (1 - tolerance) and now.median < stored.low:
        return "regressed"
    if now.median > stored.median * (1 + tolerance) and now.median > stored.high:
        return "better"
    return "ok"
