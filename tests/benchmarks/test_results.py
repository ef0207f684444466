"""Ratios, targets, the guard and the tables, from results made by hand."""

import fnmatch
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cli, guard, report, targets
from benchmarks.results import Ratio, Results, median, ratio

ROUNDS = {"stratakv": [50.0, 80.0, 60.0], "redis": [100.0, 100.0, 200.0]}


def results_of(case: str, rounds: dict[str, list[float]], metric: str = "throughput") -> Results:
    workload, _, name = case.partition("/")
    results = Results({"cores": "2"}, dict.fromkeys(rounds, "1.0"), {"rounds": 3})
    results.titles[workload] = "a title"
    for server, values in rounds.items():
        outcome = results.outcome(workload, name, server)
        outcome.samples.extend({metric: value} for value in values)
    return results


def marks(results: Results, wanted: dict[str, Any]) -> list[str]:
    return [verdict.mark for verdict in targets.judge(results, "stratakv", wanted)]


def test_rounds_are_paired_before_the_median_is_taken() -> None:
    case = results_of("p16/set", ROUNDS).cases["p16/set"]
    assert ratio(case, "stratakv") == Ratio(0.5, 0.3, 0.8)
    assert median(case.outcomes["stratakv"], "throughput") == 60


def test_there_is_no_ratio_without_the_reference_or_of_it() -> None:
    case = results_of("p16/set", {"stratakv": [1.0]}).cases["p16/set"]
    assert ratio(case, "stratakv") is None
    assert ratio(results_of("p16/set", ROUNDS).cases["p16/set"], "redis") is None


@pytest.mark.parametrize(
    ("share", "floor", "mark"), [(0.5, 0.1, "met"), (0.51, 0.5, "floor"), (0.6, 0.55, "missed")]
)
def test_a_share_is_met_reaches_the_floor_or_is_missed(
    share: float, floor: float, mark: str
) -> None:
    wanted = {"share": {"p16": {"set": share}}, "floor": {"p16": {"set": floor}}}
    assert marks(results_of("p16/set", ROUNDS), wanted) == [mark]


@pytest.mark.parametrize(("below", "mark"), [(61, "met"), (60, "missed")])
def test_a_limit_holds_for_the_median(below: float, mark: str) -> None:
    results = results_of("fairness/del", ROUNDS, "p99_ms")
    wanted = {"limit": [{"cases": "fairness/*", "metric": "p99_ms", "below": below}]}
    assert marks(results, wanted) == [mark]


def test_of_a_worst_limit_only_the_worst_case_is_judged() -> None:
    results = results_of("p1/get", {"stratakv": [100.0]}, "peak_rss_mb")
    results.outcome("p1", "set", "stratakv").samples.append({"peak_rss_mb": 300.0})
    results.outcome("p1", "ping", "stratakv").samples.append({"throughput": 900.0})
    limit = {"cases": "*", "metric": "peak_rss_mb", "below": 200, "worst": True}
    verdicts = targets.judge(results, "stratakv", {"limit": [limit]})
    assert [(v.case, v.mark) for v in verdicts] == [("p1/set", "missed")]


def test_a_limit_as_a_multiple_of_redis() -> None:
    results = results_of("p1/get", {"stratakv": [3.0], "redis": [1.0]}, "p99_ms")
    wanted = {"share_limit": [{"cases": "p1/*", "metric": "p99_ms", "below": 2.5}]}
    assert marks(results, wanted) == ["missed"]


def test_the_stored_targets_name_cases_that_exist() -> None:
    from benchmarks.workloads import Options, select

    wanted = targets.load()
    cases = {w.name: {c.name for c in w.cases} for w in select("full", [], Options(short=False))}
    for kind in ("share", "floor"):
        for workload, shares in wanted[kind].items():
            assert set(shares) <= cases[workload]
    for limit in [*wanted["limit"], *wanted["share_limit"]]:
        ids = [f"{workload}/{case}" for workload, names in cases.items() for case in names]
        assert fnmatch.filter(ids, limit["cases"])


@pytest.mark.parametrize(
    ("now", "mark"),
    [
        (Ratio(0.39, 0.3, 0.5), "ok"),
        (Ratio(0.34, 0.3, 0.5), "regressed"),
        (Ratio(0.70, 0.6, 0.8), "better"),
        (None, "gone"),
    ],
)
def test_the_guard_forgives_the_noise_of_the_baseline(now: Ratio | None, mark: str) -> None:
    stored = {"p16/set": Ratio(0.5, 0.35, 0.6)}
    compared = guard.compare(stored, {"p16/set": now} if now else {}, tolerance=0.2)
    assert [c.mark for c in compared] == [mark]


def test_check_fails_on_a_regression_and_passes_without(tmp_path: Path) -> None:
    before, after = tmp_path / "baseline.json", tmp_path / "results.json"
    guard.save(results_of("p16/set", ROUNDS), "stratakv", before)
    after.write_text(json.dumps(results_of("p16/set", ROUNDS).as_json()))
    arguments = ["check", "--results", str(after), "--baseline", str(before)]
    assert cli.main(arguments) == 0
    slow = results_of("p16/set", {"stratakv": [10.0], "redis": [100.0]})
    after.write_text(json.dumps(slow.as_json()))
    assert cli.main(arguments) == 1


def test_check_fails_when_a_case_no_longer_runs_but_not_when_it_was_not_asked_for(
    tmp_path: Path,
) -> None:
    before, after = tmp_path / "baseline.json", tmp_path / "results.json"
    guard.save(results_of("p16/set", ROUNDS), "stratakv", before)
    arguments = ["check", "--results", str(after), "--baseline", str(before)]
    after.write_text(json.dumps(results_of("p16/get", ROUNDS).as_json()))
    assert cli.main(arguments) == 1
    after.write_text(json.dumps(results_of("p1/set", ROUNDS).as_json()))
    assert cli.main(arguments) == 0


def test_check_without_a_baseline_says_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", "--baseline", str(tmp_path / "none.json")]) == 2
    assert "`python -m benchmarks baseline` makes it" in capsys.readouterr().err


def test_results_survive_the_json_file() -> None:
    results = results_of("p16/set", ROUNDS)
    results.outcome("p16", "lpush", "stratakv").unavailable = "ERR unknown command"
    assert Results.from_json(json.loads(json.dumps(results.as_json()))) == results


def test_a_command_the_server_lacks_is_not_a_number_and_has_its_reason() -> None:
    results = results_of("p16/set", ROUNDS)
    results.outcome("p16", "lpush", "stratakv").unavailable = "ERR unknown command"
    page = report.markdown(results, {}, [])
    assert "n/a: p16/lpush on stratakv: ERR unknown command" in page
    assert "0.50 [0.30-0.80]" in page


def test_an_unknown_workload_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--only", "nonsense"]) == 2
    assert "unknown workload 'nonsense'" in capsys.readouterr().err
