"""What a write costs a master with and without replicas, in turn with a redis-server's.

All servers run at once and are measured one after the other, round by round, so that what else the
machine does falls on all of them. Before the next one is measured, replicas have caught up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from benchmarks import procfs, redisbench
from benchmarks.redisbench import Plan
from benchmarks.servers import Server, redis_server, running, stratakv

POLL_S = 0.02
PATIENCE_S = 900.0
ROUNDS = 5
RANDOM_KEYS = 100_000
COMMANDS = {
    "set": 200_000,
    "incr": 200_000,
    "lpush": 200_000,
    "hset": 200_000,
    "zadd": 100_000,
    "mset": 40_000,
}
"""How often each is called in a round."""


def info(server: Server, section: str) -> dict[str, str]:
    """The fields of a section of INFO."""
    with server.client() as client:
        text = client.call("INFO", section).decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def wait_for(holds: Callable[[], bool]) -> float:
    """Seconds until it is so."""
    began = time.perf_counter()
    while not holds():
        assert time.perf_counter() < began + PATIENCE_S, "it never was"
        time.sleep(POLL_S)
    return time.perf_counter() - began


def follow(replica: Server, master: Server) -> float:
    """Seconds until the replica is in step."""
    with replica.client() as client:
        client.call("REPLICAOF", master.host, master.port)
    return wait_for(lambda: info(replica, "replication").get("master_link_status") == "up")


@dataclass(slots=True)
class Setup:
    """A master with its replicas, and what was measured of it: CPU us a call, by command."""

    name: str
    master: Server
    replicas: list[Server] = field(default_factory=list)
    costs: dict[str, list[float]] = field(default_factory=dict)
    behind_s: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, plan: Plan) -> None:
        """Run a plan on the master, and wait until its replicas have all of it."""
        before = procfs.cpu_s(self.master.pid) or 0.0
        redisbench.measure(self.master, plan)
        spent = (procfs.cpu_s(self.master.pid) or 0.0) - before
        self.costs.setdefault(plan.test, []).append(spent / plan.requests * 1e6)
        self.behind_s.setdefault(plan.test, []).append(wait_for(self._is_in_step))

    def _is_in_step(self) -> bool:
        told = info(self.master, "replication").get("master_repl_offset", "0")
        shown = [info(one, "replication").get("slave_repl_offset", "0") for one in self.replicas]
        return all(int(one) >= int(told) for one in shown)

    def row(self) -> str:
        """The medians as a line of a table; the first round was to warm up."""
        shown = [f"{median(found[1:]):.2f}" for found in self.costs.values()]
        behind = max((median(found[1:]) for found in self.behind_s.values()), default=0.0)
        return f"| {self.name} | {' | '.join(shown)} | {behind * 1000:.0f} ms |"


def setups() -> list[Setup]:
    """StrataKV with 0, 1 and 2 replicas, redis-server with 0 and 1."""
    return [
        Setup("stratakv, 0 replicas", stratakv()),
        Setup("stratakv, 1 replica", stratakv(), [stratakv()]),
        Setup("stratakv, 2 replicas", stratakv(), [stratakv(), stratakv()]),
        Setup("redis, 0 replicas", redis_server()),
        Setup("redis, 1 replica", redis_server(), [redis_server()]),
    ]


def table(chosen: list[Setup], rounds: int = ROUNDS, share: float = 1.0) -> Iterator[str]:
    """The costs as Markdown. `share` is the part of the calls to make."""
    with ExitStack() as stack:
        for setup in chosen:
            stack.enter_context(running([setup.master, *setup.replicas]))
            for replica in setup.replicas:
                follow(replica, setup.master)
        for name, calls in COMMANDS.items():
            plan = Plan(name, max(1, int(calls * share)), 16, random_keys=RANDOM_KEYS)
            for _ in range(1 + rounds):
                for setup in chosen:
                    setup.measure(plan)
    heads = " | ".join(name.upper() for name in COMMANDS)
    yield f"| master's CPU us a call | {heads} | caught up after, at most |"
    yield "|---|" + "---|" * (len(COMMANDS) + 1)
    for setup in chosen:
        yield setup.row()
