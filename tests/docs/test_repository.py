"""What the repository says of itself: workflows, hooks, pins and pages name what there is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.harness.servers import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DECISIONS = ROOT / "docs" / "decisions"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def targets() -> set[str]:
    """What can be asked of make."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", text, re.MULTILINE))


def asked_of_make(command: str) -> set[str]:
    """The targets in a line of shell."""
    calls = re.findall(r"^make ([a-z -]+)", command, re.MULTILINE)
    return {word for call in calls for word in call.split()}


def every_run(job: dict[str, Any]) -> Iterator[str]:
    """The lines that a job runs, one for each value of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    rows = [{name: value} for name, values in matrix.items() for value in values]
    rows = [row for row in rows if "include" not in row] + matrix.get("include", [])
    for command in (step["run"] for step in job["steps"] if "run" in step):
        named = re.search(r"\$\{\{ matrix\.(\w+) \}\}", command)
        if named is None:
            yield command
        else:
            yield from (command.replace(named[0], row[named[1]]) for row in rows if named[1] in row)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_runs_what_the_makefile_has(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    runs = [run for job in workflow["jobs"].values() for run in every_run(job)]
    asked = {target for run in runs for target in asked_of_make(run)}
    assert asked
    assert asked <= targets()
    assert not any("${{" in run for run in runs)
    scripts = {run for run in runs if run.startswith(".")}
    assert all((ROOT / script).exists() for script in scripts)


def test_ci_covers_every_python_compiled_and_plain_and_two_debians() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    matrix = jobs["python"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["build"] == ["compiled", "plain"]
    assert jobs["debian"]["strategy"]["matrix"]["release"] == ["12", "13"]


def test_the_hooks_run_what_the_makefile_has() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = [hook["entry"] for hook in hooks]
    assert all(asked_of_make(entry) and asked_of_make(entry) <= targets() for entry in entries)


def test_the_script_of_ci_and_the_pages_ask_only_for_what_the_makefile_has() -> None:
    pages = [ROOT / ".ci/run", *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        code = text if page.suffix != ".md" else "\n".join(re.findall(r"`(make [a-z-]+)", text))
        assert asked_of_make(code.replace("&&", "\n")) <= targets(), page


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.name)
def test_a_form_for_issues_is_one(file: Path) -> None:
    form = yaml.safe_load(file.read_text(encoding="utf-8"))
    if file.name != "config.yml":
        assert {"name", "description", "body"} <= form.keys()
        assert all("type" in part for part in form["body"])


def test_every_library_of_the_tests_is_pinned_to_what_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    pins = {canonicalize_name(name): version for name, version in pairs}
    for text in (*project["dependencies"], *extras["test"], *extras["examples"]):
        wanted = Requirement(text)
        version = pins[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), f"{text}, but {version} in constraints.txt"


def test_each_decision_has_a_number_of_its_own_and_all_are_in_the_index() -> None:
    """A number may be missing for a while: what is under way has one already."""
    files = sorted(DECISIONS.glob("0*.md"))
    numbers = [int(file.name[:4]) for file in files]
    assert numbers == sorted(set(numbers))
    listed = re.findall(r"\[(\d+)\]\((\S+)\) \| (.+?) \|", (DECISIONS / "README.md").read_text())
    titles = [file.read_text(encoding="utf-8").splitlines()[0] for file in files]
    assert [name for _, name, _ in listed] == [file.name for file in files]
    assert [f"# {number}. {title}" for number, _, title in listed] == titles
