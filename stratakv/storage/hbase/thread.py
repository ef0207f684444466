"""A loop in a thread of its own, on which the client of HBase lives.

Threads and tools wait for what it does; the server's loop has it call back.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from stratakv.errors import StoreUnavailable

CLOSED: Final = "the store is closed"
T = TypeVar("T")

Outcome = Callable[[Any, Exception | None], None]
"""Called with a result, or with why there is none; in the thread."""


class LoopThread:
    """Runs coroutines for other threads."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, waited for. Not to be called in the thread itself."""
        if self._loop.is_closed():
            work.close()
            raise StoreUnavailable(CLOSED)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def start(self, work: Coroutine[Any, Any, Any], then: Outcome) -> None:
        """Begin a coroutine, and tell of its end."""
        if self._loop.is_closed():
            work.close()
            then(None, StoreUnavailable(CLOSED))
            return
        self._loop.call_soon_threadsafe(self._begin, work, then)

    def _begin(self, work: Coroutine[Any, Any, Any], then: Outcome) -> None:
        def ended(task: asyncio.Task[Any]) -> None:
            if task.cancelled():
                then(None, StoreUnavailable(CLOSED))
            elif (failure := task.exception()) is not None:
                then(None, failure)  # type: ignore[arg-type]  # nothing here raises others
            else:
                then(task.result(), None)

        self._loop.create_task(work).add_done_callback(ended)

    def call(self, action: Callable[[], None]) -> None:
        """Do something there."""
        self._loop.call_soon_threadsafe(action)

    def close(self) -> None:
        """End what runs, and the thread."""
        self.run(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
