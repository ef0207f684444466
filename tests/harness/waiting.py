"""Waiting for what happens, on a machine however busy.

A test that waits says for what; how long that takes says nothing about the server. The limit is one
that only a hang exceeds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

HANG_S = 240.0
"""Longer than anything here takes when it works; shorter than pytest's own limit for a test."""
POLL_S = 0.01

T = TypeVar("T")


def wait_until(holds: Callable[[], T], what: str | Callable[[], object] = "") -> T:
    """Ask until the answer is true, and return it. `what` is told if it never is."""
    deadline = time.monotonic() + HANG_S
    while not (found := holds()):
        assert time.monotonic() < deadline, _never(holds, what)
        time.sleep(POLL_S)
    return found


async def loop_until(holds: Callable[[], T], what: str | Callable[[], object] = "") -> T:
    """The same for a test in an event loop, which goes on meanwhile."""
    deadline = time.monotonic() + HANG_S
    while not (found := holds()):
        assert time.monotonic() < deadline, _never(holds, what)
        await asyncio.sleep(POLL_S)
    return found


def _never(holds: Callable[[], object], what: str | Callable[[], object]) -> str:
    told = what() if callable(what) else what
    return f"not so after {HANG_S:.0f} s: {told or holds}"
