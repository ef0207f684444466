"""BullMQ, a job queue for Node.js made of Lua scripts, streams and blocking sorted sets."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.applications.workers import run_to_end
from tests.harness.waiting import HANG_S

pytestmark = pytest.mark.application

PACKAGES = ("bullmq@6.7.0", "ioredis@5.11.1")
SCRIPT = Path(__file__).with_name("bullmq_queue.js")


@pytest.fixture(scope="module")
def modules(request: pytest.FixtureRequest) -> Path:
    """A folder with the packages, kept from run to run in pytest's cache."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("BullMQ needs node and npm")
    place = request.config.cache.mkdir("-".join(PACKAGES).replace("@", "-"))
    if not (place / "complete").exists():
        install(place)
        (place / "complete").touch()
    return place / "node_modules"


def install(place: Path) -> None:
    (place / "package.json").write_text('{"private": true}')
    argv = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    try:
        subprocess.run(argv, cwd=place, check=True, capture_output=True, text=True, timeout=HANG_S)
    except subprocess.SubprocessError as failed:
        pytest.skip(f"npm could not install {' '.join(PACKAGES)}: {failed}")


@pytest.fixture(scope="module")
def seen(url: str, modules: Path) -> dict[str, Any]:
    """What the script saw, from the first job to the removal of the queue."""
    argv = ["node", str(SCRIPT), str(urlsplit(url).port)]
    output = run_to_end(argv, {"NODE_PATH": str(modules)})
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def test_jobs_return_their_results(seen: dict[str, Any]) -> None:
    assert seen["doubled"] == [2, 4, 6]


def test_a_job_id_is_taken_once(seen: dict[str, Any]) -> None:
    assert seen["onlyOnce"] == 8


def test_a_delayed_job_waits(seen: dict[str, Any]) -> None:
    assert seen["delayedState"] == "delayed"
    assert seen["delayed"] == 20
    assert seen["delayedMs"] >= 300


def test_a_failing_job_is_tried_again(seen: dict[str, Any]) -> None:
    assert (seen["flaky"], seen["flakyAttempts"]) == (42, 3)


def test_a_hopeless_job_fails_at_once(seen: dict[str, Any]) -> None:
    assert (seen["hopeless"], seen["hopelessState"]) == ("out of luck", "failed")


def test_jobs_run_by_priority(seen: dict[str, Any]) -> None:
    assert seen["byPriority"] == ["high", "middle", "low"]


def test_a_parent_waits_for_its_children(seen: dict[str, Any]) -> None:
    assert seen["flow"] == [2, 4]


def test_a_scheduled_job_repeats(seen: dict[str, Any]) -> None:
    assert seen["repeated"] is True


def test_every_event_is_heard(seen: dict[str, Any]) -> None:
    assert seen["counts"] == {"active": 0, "completed": 14, "failed": 1, "waiting": 0}
    assert seen["events"]["completed"] == 14
    assert seen["events"]["failed"] == 1
    assert seen["events"]["progress"] == 13
