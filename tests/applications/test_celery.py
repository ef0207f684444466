"""Celery with StrataKV as its broker and its result backend, and a worker in another process."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from celery import Celery, chain, chord, group
from celery.exceptions import TaskRevokedError
from celery.result import AsyncResult

from tests.applications import celery_app
from tests.applications.workers import running
from tests.harness.waiting import HANG_S

pytestmark = pytest.mark.application


@pytest.fixture(scope="module")
def app(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Celery]:
    """The application with a running worker behind it."""
    celery_app.app.conf.update(broker_url=url, result_backend=url)
    log = tmp_path_factory.mktemp("celery") / "worker.log"
    argv = [sys.executable, "-m", "celery", "-A", "tests.applications.celery_app", "worker"]
    argv += ["--pool", "solo", "--concurrency", "1", "--loglevel", "INFO"]
    with running(argv, {"CELERY_TEST_URL": url}, log):
        yield celery_app.app
        celery_app.app.close()


def outcome(result: AsyncResult) -> object:
    return result.get(timeout=HANG_S)


def test_a_task_returns_its_result(app: Celery) -> None:
    result = celery_app.multiply.delay(6, 7)
    assert outcome(result) == 42
    assert result.state == "SUCCESS"


def test_a_failing_task_raises_at_the_caller(app: Celery) -> None:
    with pytest.raises(ValueError, match="out of luck"):
        outcome(celery_app.fail.delay("out of luck"))


def test_a_task_is_tried_again(app: Celery) -> None:
    assert outcome(celery_app.succeed_on_third_try.delay()) == 2


def test_a_group_gathers_its_results(app: Celery) -> None:
    tasks = group(celery_app.multiply.s(number, 2) for number in range(20))
    assert outcome(tasks()) == [2 * number for number in range(20)]


def test_a_chain_hands_results_on(app: Celery) -> None:
    assert outcome(chain(celery_app.multiply.s(2, 3), celery_app.multiply.s(7))()) == 42


def test_a_chord_counts_its_members_in_the_backend(app: Celery) -> None:
    members = [celery_app.multiply.s(number, number) for number in range(5)]
    assert outcome(chord(members)(celery_app.total.s())) == 30


def test_the_worker_answers_a_broadcast(app: Celery) -> None:
    [answer] = app.control.ping(timeout=HANG_S, limit=1)
    assert list(answer.values()) == [{"ok": "pong"}]


def test_delayed_tasks_wait_and_can_be_revoked(app: Celery) -> None:
    revoked = celery_app.multiply.apply_async((1, 1), countdown=2)
    revoked.revoke()
    assert outcome(celery_app.multiply.apply_async((3, 3), countdown=0.1)) == 9
    with pytest.raises(TaskRevokedError):
        outcome(revoked)
