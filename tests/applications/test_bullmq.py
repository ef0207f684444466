"""BullMQ, a job queue for Node.js made of Lua scripts, streams and blocking sorted sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.applications.workers import run_to_end

pytestmark = pytest.mark.application

SCRIPT = Path(__file__).with_name("bullmq_queue.js")


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
