"""Long commands: a greenlet that works in slices between the turns of the event loop.

All that pause share one slice a turn, so however many run, others wait two milliseconds at most.
Those that begin or were waiting (for a reply of Redis, say) are mostly short: in a turn as many of
them run as fit into a millisecond, so that what they ask leaves together.

Invariants, between two turns
1. Work that is not ended either has its place in one of the two queues, once, or waits for a
   callback that puts it there.
2. While a queue has work, a step is on its way.
3. Work runs in the loop's thread, and in nobody's middle: it is switched to from the loop alone.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from greenlet import GreenletExit, getcurrent, greenlet

AWAKE_SECONDS: Final = 0.001

Job = Callable[[], None]


class Slices:
    """Runs plain functions that may pause and wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[greenlet] = deque()
        self._awake: deque[greenlet] = deque()
        self._scheduled = False
        self._stopped = False
        self._works: set[greenlet] = set()

    @property
    def running(self) -> int:
        """How many have begun, or will with the next turn, and not ended."""
        return len(self._works)

    def start(self, work: Job) -> None:
        """Run `work` from the next turn on. It must not raise."""
        if self._stopped:
            return
        begun = greenlet(lambda: self._run(work))
        self._works.add(begun)
        self._resume_later(begun, self._awake)

    def _run(self, work: Job) -> None:
        try:
            work()
        finally:
            self._works.discard(getcurrent())

    def stop(self) -> None:
        """The server ends: what still runs is ended where it stands, and lets go of what it holds.

        Job that waits or pauses raises GreenletExit there, and again wherever it tries to.
        """
        self._stopped = True
        self._ready.clear()
        self._awake.clear()
        for work in tuple(self._works):
            work.parent = getcurrent()
            work.throw(GreenletExit)
            self._works.discard(work)  # it had not begun

    def pause(self) -> None:
        """From within work: let the loop have a turn."""
        self._resume_later(getcurrent(), self._ready)
        self._leave()

    def wait(self, subscribe: Callable[[Callable[[], None]], Any]) -> None:
        """From within work: sleep until the callback given to `subscribe` is called."""
        current = getcurrent()
        subscribe(lambda: self._resume_later(current, self._awake))
        self._leave()

    def _leave(self) -> None:
        if self._stopped:
            raise GreenletExit
        parent = getcurrent().parent
        assert parent is not None, "only work started by Slices may wait"
        parent.switch()

    def _resume_later(self, work: greenlet, queue: deque[greenlet]) -> None:
        if self._stopped:
            return
        queue.append(work)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        """Those that woke up, as far as time allows, and one slice for the longest pause."""
        paused = self._ready.popleft() if self._ready else None
        deadline = perf_counter() + AWAKE_SECONDS
        try:
            while self._awake and perf_counter() < deadline:
                self._switch(self._awake.popleft())
            if paused is not None:
                self._switch(paused)
        finally:
            self._scheduled = bool(self._ready or self._awake)
            if self._scheduled:
                self._loop.call_soon(self._step)

    def check_invariants(self) -> None:
        """Raise AssertionError for a broken one."""
        queued = [*self._ready, *self._awake]
        assert len(queued) == len(set(queued)), "slices 1: work is queued twice"
        assert self._works.issuperset(queued), "slices 1: work is queued that has ended"
        assert self._scheduled or not queued, "slices 2: work is queued, and no step will come"

    def _switch(self, work: greenlet) -> None:
        work.parent = getcurrent()
        work.switch()
