"""What a run of the tests has started ends with it, also if the run is killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from tests.harness.servers import ROOT
from tests.harness.waiting import HANG_S

RUN = """
import signal, subprocess, sys, time
from tests.harness.watchdog import mind
signal.signal(signal.SIGINT, signal.SIG_DFL)  # what runs in the background ignores it
left = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
for one in left:
    mind(one.pid)
left[0].kill()
left[0].wait()
print(left[1].pid, left[2].pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_end_with_a_run_that_is_killed(number: signal.Signals) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", RUN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    assert run.stdout is not None
    children = [os.pidfd_open(int(pid)) for pid in run.stdout.readline().split()]
    try:
        assert not select.select(children, [], [], 0)[0]
        run.send_signal(number)
        run.wait(HANG_S)
        for child in children:
            assert select.select([child], [], [], HANG_S)[0], "it goes on"
    finally:
        run.stdout.close()
        for child in children:
            os.close(child)
