"""A ledger over a cluster whose nodes are killed, put to sleep, stopped and joined at random, and
whose HBase loses one of two regionservers now and then.

Each writer has names of its own, three of a slot each time, to which it writes rising numbers with
one MSET. Readers read all three at once.

- Lost: a read that began after a number was acknowledged tells a lower one.
- Stale: a read tells less than one that had ended before it began, whoever was asked.
- Torn: the three are not the same.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check_table import check_table
from tests.harness.effort import rounds
from tests.harness.hbase import lacking
from tests.harness.hbase_cluster import HBaseCluster
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.hbase.conftest import start_hbase
from tests.hbase.nodes import BRISK_TIME, Nodes, Unknown, client_of, shown

pytestmark = [pytest.mark.hbase, pytest.mark.full, pytest.mark.effort]

WRITERS = 4
TAGS = 12
"""Of each writer: so each group of slots has some."""
WRITES_BETWEEN = 300
"""Before something happens again."""
TAKEOVERS = 60
TAKEOVERS_OVER_HDFS = 20
_tables = count()


class Register:
    """One number that rises, as all who write and read it know it."""

    def __init__(self, tag: str) -> None:
        self.names = [f"{{{tag}}}{part}".encode() for part in "abc"]
        self.tried = 0
        self.acknowledged = 0
        self.seen = 0

    @property
    def floor(self) -> int:
        """No read that begins now may tell less."""
        return max(self.acknowledged, self.seen)


class Ledger:
    """Writers and readers, each in a thread, and what they found wrong."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.wrong: list[str] = []
        self.writes = 0
        self.reads = 0
        self.unknown = 0
        self.longest_gap = 0.0
        self._stop = threading.Event()
        self._registers = [
            [Register(f"{writer}-{tag}") for tag in range(TAGS)] for writer in range(WRITERS)
        ]
        self._threads = [
            *(threading.Thread(target=self._write, args=(own,)) for own in self._registers),
            *(threading.Thread(target=self._read, args=(seed,)) for seed in range(2)),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def go_on(self) -> None:
        """Until so much more is written."""
        wanted = self.writes + WRITES_BETWEEN
        wait_until(lambda: self.writes > wanted, "nobody can write any more")

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, own: list[Register]) -> None:
        with client_of(self.nodes) as client:
            last = time.monotonic()
            while not self._stop.is_set():
                one = random.choice(own)
                one.tried += 1
                number = str(one.tried).encode()
                words = [word for name in one.names for word in (name, number)]
                try:
                    frame = client.send(one.names[0], b"MSET", *words)
                except Unknown:
                    self.unknown += 1
                    time.sleep(0.02)
                    continue
                assert frame.data == b"OK", frame
                one.acknowledged = one.tried
                self.writes += 1
                self.longest_gap = max(self.longest_gap, time.monotonic() - last)
                last = time.monotonic()

    def _read(self, seed: int) -> None:
        dice = random.Random(seed)
        with client_of(self.nodes) as client:
            while not self._stop.is_set():
                one = dice.choice(dice.choice(self._registers))
                try:
                    self.look(client, one)
                except Unknown:
                    time.sleep(0.02)

    def look(self, client, one: Register) -> None:  # type: ignore[no-untyped-def]
        """Read a register, and judge what is told."""
        floor = one.floor
        frame = client.send(one.names[0], b"MGET", *one.names)
        told = {int(item.data or 0) for item in frame.elements}
        self.reads += 1
        if len(told) != 1:
            self.wrong.append(f"torn: {one.names[0]!r} {told}")
        number = min(told)
        if number < floor:
            self.wrong.append(f"lost or stale: {one.names[0]!r} {number} after {floor}")
        one.seen = max(one.seen, number)

    def settle(self) -> None:
        """Everything is read once more."""
        with client_of(self.nodes) as client:
            for own in self._registers:
                for one in own:
                    wait_until(lambda one=one: self._looked(client, one))  # type: ignore[misc]

    def _looked(self, client, one: Register) -> bool:  # type: ignore[no-untyped-def]
        try:
            self.look(client, one)
        except Unknown:
            return False
        return True


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    hbase = start_hbase(tmp_path, BRISK_TIME)
    made = Nodes(hbase, f"ledger{next(_tables)}", tmp_path)
    yield made
    made.stop()
    hbase.stop()


@pytest.fixture
def hdfs_cluster(tmp_path: Path) -> Iterator[HBaseCluster]:
    if reason := lacking():
        pytest.skip(reason)
    cluster = HBaseCluster(tmp_path / "hbase")
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture
def nodes_on_hdfs(hdfs_cluster: HBaseCluster, tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(hdfs_cluster, f"ledger{next(_tables)}", tmp_path)
    yield made
    made.stop()


class Chaos:
    """What happens to nodes, and to regionservers where there are several."""

    def __init__(self, nodes: Nodes, dice: random.Random) -> None:
        self.nodes = nodes
        self.dice = dice
        self.done: list[str] = []

    def strike(self) -> None:
        events = [self.kill, self.kill, self.sleep, self.sleep, self.leave_and_join, self.visit]
        self._do(self.dice.choice(events))

    def strike_hbase(self, hbase: HBaseCluster) -> None:
        """A regionserver is killed, and a node too, as often as not."""

        def kill_regionserver() -> None:
            victim = self.dice.choice(hbase.regionservers)
            victim.kill9()
            if self.dice.random() < 0.5:
                self.kill()
            wait_until(self.is_all_open)
            victim.start()

        self._do(kill_regionserver)

    def is_all_open(self) -> bool:
        """Whether each group is served by one node."""
        found = [shown(one, state="open") for one in self.nodes.running()]
        return sum(map(len, found)) == self.nodes.groups

    def _do(self, event: Callable[[], None]) -> None:
        self.done.append(event.__name__)
        event()
        wait_until(self.is_all_open)

    def _victim(self) -> StrataServer:
        return self.dice.choice(self.nodes.running())

    def kill(self) -> None:
        victim = self._victim()
        victim.kill9()
        time.sleep(self.dice.uniform(0, 5))
        victim.start()

    def sleep(self) -> None:
        """For less than a session, or for more."""
        victim = self._victim()
        self.nodes.pause(victim)
        time.sleep(self.dice.uniform(0.5, 3) * self.nodes.timeout_ms / 1000)
        self.nodes.wake(victim)

    def leave_and_join(self) -> None:
        victim = self._victim()
        victim.terminate()
        victim.start()

    def visit(self) -> None:
        """One more comes, is given a share, and leaves."""
        guest = self.nodes.add()
        wait_until(lambda: shown(guest, state="open"))
        assert guest.terminate() == 0
        self.nodes.all.remove(guest)


def takeovers(nodes: Nodes) -> int:
    """Groups taken after the first time."""
    return nodes.epochs() - nodes.groups


def torture(nodes: Nodes, wanted: int, strike: Callable[[Chaos], None]) -> None:
    """Strike until groups have changed hands so often, and judge what clients saw of it."""
    seed = random.getrandbits(32)
    chaos = Chaos(nodes, random.Random(seed))
    for _ in range(3):
        nodes.add()
    nodes.settle()
    ledger = Ledger(nodes)
    ledger.start()
    try:
        while takeovers(nodes) < wanted or len(chaos.done) < wanted // 4:
            strike(chaos)
            ledger.go_on()
            assert not ledger.wrong, f"seed {seed}: {ledger.wrong[:5]}"
    finally:
        ledger.end()
    nodes.settle()
    ledger.settle()
    events = ", ".join(f"{count} {name}" for name, count in Counter(chaos.done).items())
    print(
        f"seed {seed}: {takeovers(nodes)} takeovers by {events}; "
        f"{ledger.writes} writes, {ledger.reads} reads, {ledger.unknown} unknown, "
        f"longest time without a reply {ledger.longest_gap:.1f} s"
    )
    assert not ledger.wrong, f"seed {seed}: {ledger.wrong[:5]}"
    assert min(ledger.writes, ledger.reads) > 100
    assert check_table(nodes.hbase.address, nodes.table) == 0


def test_nothing_is_lost_torn_or_stale_while_nodes_come_and_go(nodes: Nodes) -> None:
    torture(nodes, rounds(TAKEOVERS, least=4), Chaos.strike)


def test_nothing_is_lost_torn_or_stale_while_regionservers_are_killed(
    nodes_on_hdfs: Nodes, hdfs_cluster: HBaseCluster
) -> None:
    """And nodes in between."""
    turns = cycle([True, False])

    def strike(chaos: Chaos) -> None:
        if next(turns):
            chaos.strike_hbase(hdfs_cluster)
        else:
            chaos.strike()

    torture(nodes_on_hdfs, rounds(TAKEOVERS_OVER_HDFS, least=4), strike)
