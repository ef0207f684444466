"""The Celery application of test_celery.py; the worker process imports it by name."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, Task

ADDRESS = os.environ.get("CELERY_TEST_URL", "redis://127.0.0.1:1/0")

app = Celery("celery_app", broker=ADDRESS, backend=ADDRESS)
app.conf.update(broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)


@app.task  # type: ignore[untyped-decorator]
def multiply(left: int, right: int) -> int:
    return left * right


@app.task  # type: ignore[untyped-decorator]
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task  # type: ignore[untyped-decorator]
def fail(reason: str) -> None:
    raise ValueError(reason)


@app.task(bind=True, max_retries=3)  # type: ignore[untyped-decorator]
def succeed_on_third_try(self: Task[Any, Any]) -> int:
    """The number of retries that were needed: they go back through the broker, with a delay."""
    if self.request.retries < 2:
        raise self.retry(countdown=0.05)
    return int(self.request.retries)
