"""RQ: jobs put into a queue here, worked off by the `rq` command in another process."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest
import redis
from rq import Queue, Retry, Worker
from rq.job import Job, JobStatus
from rq.registry import FailedJobRegistry, FinishedJobRegistry
from rq.scheduler import RQScheduler

from tests.applications import rq_jobs
from tests.applications.workers import run_to_end

pytestmark = pytest.mark.application


@pytest.fixture
def queue(client: redis.Redis) -> Queue:
    return Queue("default", connection=client)


def work_off(url: str) -> None:
    """One worker over all queued jobs; it splits per job, as RQ does by default."""
    start = "from rq.cli import main; main()"
    run_to_end([sys.executable, "-c", start, "worker", "--burst", "--url", url], {})


def fresh(job: Job) -> None:
    """Read the job again as the worker left it."""
    job.refresh()  # type: ignore[no-untyped-call]


def test_a_job_returns_its_result(url: str, queue: Queue) -> None:
    jobs = [queue.enqueue(rq_jobs.multiply, number, 7) for number in range(3)]
    assert [job.get_status() for job in jobs] == [JobStatus.QUEUED] * 3
    work_off(url)
    assert [job.return_value(refresh=True) for job in jobs] == [0, 7, 14]
    assert [job.get_status() for job in jobs] == [JobStatus.FINISHED] * 3
    assert len(queue) == 0
    assert set(FinishedJobRegistry(queue=queue).get_job_ids()) == {job.id for job in jobs}
    assert Worker.all(connection=queue.connection) == []


def test_a_dependent_job_runs_after_the_one_it_waits_for(url: str, queue: Queue) -> None:
    first = queue.enqueue(rq_jobs.multiply, 6, 7)
    second = queue.enqueue(rq_jobs.multiply, 2, 3, depends_on=first)
    assert second.get_status() is JobStatus.DEFERRED
    work_off(url)
    assert second.return_value(refresh=True) == 6
    fresh(first)
    fresh(second)
    assert first.ended_at is not None
    assert second.started_at is not None
    assert first.ended_at < second.started_at


def test_a_failing_job_is_kept_with_its_traceback(url: str, queue: Queue) -> None:
    job = queue.enqueue(rq_jobs.fail, "out of luck")
    work_off(url)
    assert job.get_status() is JobStatus.FAILED
    result = job.latest_result()
    assert result is not None
    assert "ValueError: out of luck" in str(result.exc_string)
    assert FailedJobRegistry(queue=queue).get_job_ids() == [job.id]


def test_a_failing_job_is_tried_again(url: str, queue: Queue) -> None:
    job = queue.enqueue(rq_jobs.fail, "every time", retry=Retry(max=2))
    work_off(url)
    assert job.get_status() is JobStatus.FAILED
    fresh(job)
    assert job.retries_left == 0


def test_a_scheduled_job_is_queued_when_its_time_has_come(url: str, queue: Queue) -> None:
    due = queue.enqueue_in(timedelta(seconds=-1), rq_jobs.multiply, 5, 5)
    later = queue.enqueue_in(timedelta(hours=1), rq_jobs.multiply, 6, 6)
    scheduler = RQScheduler([queue], connection=queue.connection)
    scheduler.acquire_locks()  # type: ignore[no-untyped-call]
    scheduler.prepare_registries()
    scheduler.enqueue_scheduled_jobs()  # type: ignore[no-untyped-call]
    assert queue.job_ids == [due.id]
    work_off(url)
    assert due.return_value(refresh=True) == 25
    assert later.get_status() is JobStatus.SCHEDULED
