"""The threads that work on an engine beside the loop: every one of them ends before it closes.

LevelDB is an object in C++: whoever is in it while it is closed reads memory that is gone, and the
process dies. So nobody starts a thread of his own for the engine; the store owns them all.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

MOST_THREADS: Final = 6
"""A compaction, a reader of dead rows, the sync, the files, and SAVE: none waits for another."""

P = ParamSpec("P")
T = TypeVar("T")


class EngineThreads(Executor):
    """Runs work on the engine in threads that are joined by `shutdown`."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST_THREADS, "engine")
        self._jobs: set[Future[Any]] = set()

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run `work` in a thread. Raises RuntimeError after `shutdown`."""
        job = self._pool.submit(work, *args, **kwargs)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return job

    @property
    def working(self) -> bool:
        """Whether a thread may be in the engine."""
        return any(not job.done() for job in tuple(self._jobs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Take no more work, drop what has not begun, and wait for what has."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
