"""Ends what a test run has started, should the run itself be killed.

`mind(pid)` tells a process of its own, which outlives ours by a moment: when the pipe to it is
closed, since we have ended in whatever way, it ends all that is left. It holds descriptors of the
processes, so that it never meets another that has got the same number.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from threading import Lock

_lock = Lock()
_watchdogs: dict[int, subprocess.Popen[bytes]] = {}
"""By the process that has it: a fork has none yet."""


def mind(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """A child of ours is to get that signal when we are gone."""
    with _lock:
        watchdog = _watchdogs.get(os.getpid()) or _start()
        assert watchdog.stdin is not None
        watchdog.stdin.write(b"%d %d\n" % (pid, number))
        watchdog.stdin.flush()


def _start() -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-S", __file__]
    # In a session of its own: who interrupts the run from a terminal does not meet it.
    started = subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True)
    _watchdogs[os.getpid()] = started
    return started


def watch() -> None:
    """Until standard input ends: keep in mind who is named there; then end them."""
    watched: dict[int, int] = {}  # descriptor of a process -> signal
    poll = select.poll()
    poll.register(0, select.POLLIN)
    rest = b""
    while True:
        for ready, _ in poll.poll():
            if ready:  # it has ended by itself
                poll.unregister(ready)
                del watched[ready]
                os.close(ready)
                continue
            heard = os.read(0, 65536)
            if not heard:
                _end(watched)
                return
            *lines, rest = (rest + heard).split(b"\n")
            for line in lines:
                pid, number = map(int, line.split())
                with contextlib.suppress(ProcessLookupError):
                    watched[descriptor := os.pidfd_open(pid)] = number
                    poll.register(descriptor, select.POLLIN)


def _end(watched: dict[int, int]) -> None:
    for descriptor, number in watched.items():
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)


if __name__ == "__main__":
    watch()
