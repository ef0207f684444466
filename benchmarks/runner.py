"""Runs workloads: fresh servers for each, rounds that alternate between the servers."""

import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import procfs
from benchmarks.progress import Progress
from benchmarks.results import Results
from benchmarks.sample import Sample, Unavailable
from benchmarks.servers import Server, running, settle
from benchmarks.workloads.model import Case, Workload, flush

LIMIT_S = 600.0
Fleet = Callable[[], list[Server]]


def step_count(workloads: list[Workload], rounds: int, servers: int) -> int:
    """How many steps the progress of a run has: preparations and measurements."""
    return sum(servers * (1 + len(w.cases) * (w.rounds or rounds)) for w in workloads)


def run_workload(
    workload: Workload,
    fleet: Fleet,
    rounds: int,
    results: Results,
    progress: Progress,
    limit_s: float = LIMIT_S,
) -> None:
    """Run one workload on fresh servers and add its samples to the results.

    The first round runs whatever it takes; no other one begins when `limit_s` have passed.
    """
    results.titles[workload.name] = workload.title
    deadline = time.monotonic() + limit_s
    with running(fleet()) as servers:
        run = _Run(workload, servers, results)
        for server in servers:
            if server.argv is None:
                flush(server)
            progress.step(f"{workload.name}: prepare {server.name}")
            run.attempt(server, workload.cases, partial(workload.prepare, server))
        is_over = False
        for round_, case, server in _order(workload, servers, workload.rounds or rounds):
            if server is servers[0] and (workload.case_major or case is workload.cases[0]):
                is_over = round_ > 0 and time.monotonic() > deadline
            progress.step(f"{workload.name}/{case.name} round {round_ + 1} on {server.name}")
            if not is_over:
                run.one(round_, case, server)
    if workload.series:
        results.series[workload.name] = workload.series


def _order(
    workload: Workload, servers: list[Server], rounds: int
) -> Iterator[tuple[int, Case, Server]]:
    """Servers alternate innermost: both meet a case within the same few seconds."""
    if workload.case_major:
        yield from ((r, c, s) for c in workload.cases for r in range(rounds) for s in servers)
    else:
        yield from ((r, c, s) for r in range(rounds) for c in workload.cases for s in servers)


class _Run:
    """The state of one workload's run: which cases are prepared, which are given up."""

    def __init__(self, workload: Workload, servers: list[Server], results: Results) -> None:
        self._workload = workload
        self._servers = servers
        self._results = results
        self._reset_done: set[tuple[int, str]] = set()

    def one(self, round_: int, case: Case, server: Server) -> None:
        """Measure a case once, unless the server cannot run it."""
        outcome = self._results.outcome(self._workload.name, case.name, server.name)
        if outcome.unavailable:
            return
        if (round_, server.name) not in self._reset_done and not self._workload.case_major:
            self._reset_done.add((round_, server.name))
            self.attempt(server, self._workload.cases, lambda: self._workload.reset(server))
        if round_ == 0:
            self.attempt(server, [case], lambda: case.prepare(server))
        if not outcome.unavailable:
            settle(self._servers)
            self.attempt(server, [case], lambda: outcome.samples.append(self._sample(case, server)))

    def attempt(self, server: Server, cases: list[Case], act: Callable[[], None]) -> None:
        """Do something; when it cannot be done, give up the cases it was for."""
        try:
            server.check_alive()
            act()
        except (Unavailable, OSError, RuntimeError) as error:
            for case in cases:
                outcome = self._results.outcome(self._workload.name, case.name, server.name)
                outcome.unavailable = str(error) or type(error).__name__

    def _sample(self, case: Case, server: Server) -> Sample:
        """Measure, with the CPU the server used until it was quiet again and its memory."""
        procfs.reset_peak(server.pid)
        before = procfs.cpu_s(server.pid)
        first_pid = server.pid
        sample = case.measure(server)
        settle([server])
        after = procfs.cpu_s(server.pid)
        if before is not None and after is not None and server.pid == first_pid:
            sample["cpu_s"] = after - before
            sample["cpu_us_per_op"] = sample["cpu_s"] * 1e6 / max(sample["requests"], 1)
        return sample | procfs.memory_mb(server.pid)
