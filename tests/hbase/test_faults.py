"""Regions that go and come, servers that are killed, owners that take from each other: a ledger
says what was acknowledged, and nothing of it may be lost, torn or undone.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.errors import Fenced
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import Limits
from tests.harness.effort import rounds
from tests.harness.hbase import HBaseServer
from tests.harness.waiting import HANG_S, loop_until
from tests.hbase.admin import Admin
from tests.hbase.conftest import GROUPS, PATIENT, start_hbase
from tests.hbase.owners import Owner

pytestmark = [pytest.mark.hbase, pytest.mark.effort]

BRISK = Limits(call_seconds=10.0, patience_seconds=HANG_S)
"""A server that was killed is silent: the calls that it had are asked of the next one."""
LEDGERS = 4


class Ledger:
    """Writes its group turn by turn: each turn the same number into several rows."""

    ROWS = (b"a", b"b", b"c", b"d")

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.acknowledged = 0
        self._is_ending = False

    async def write_on(self) -> None:
        while not self._is_ending:
            number = self.acknowledged + 1
            text = b"%d" % number
            gone = [b"only%d" % (number - 1)]
            await self.owner.write({**dict.fromkeys(self.ROWS, text), b"only" + text: text}, gone)
            self.acknowledged = number

    def end(self) -> None:
        self._is_ending = True

    async def check(self) -> None:
        """All rows are of the last turn, or of one more if the end came before its answer."""
        found = await self.owner.everything()
        number = int(found[b"a"])
        assert number == self.acknowledged, "lost, or done twice"
        text = b"%d" % number
        assert found == {**dict.fromkeys(self.ROWS, text), b"only" + text: text}


@pytest.fixture
async def mortal(tmp_path: Path) -> AsyncIterator[HBaseServer]:
    """An HBase that may be killed."""
    server = start_hbase(tmp_path)
    yield server
    server.stop()


async def ledgers_on(client: HBase) -> tuple[list[Ledger], list[asyncio.Task[None]]]:
    owners = [await Owner(client, Group(number)).take() for number in range(LEDGERS)]
    ledgers = [Ledger(owner) for owner in owners]
    return ledgers, [asyncio.create_task(ledger.write_on()) for ledger in ledgers]


async def ended(ledgers: list[Ledger], tasks: list[asyncio.Task[None]]) -> None:
    for ledger in ledgers:
        ledger.end()
    await asyncio.gather(*tasks)


async def progress(ledgers: list[Ledger], turns: int) -> None:
    """Until each has written so many turns more."""
    wanted = [ledger.acknowledged + turns for ledger in ledgers]

    def is_there() -> bool:
        return all(
            ledger.acknowledged >= number for ledger, number in zip(ledgers, wanted, strict=True)
        )

    await loop_until(is_there, lambda: [ledger.acknowledged for ledger in ledgers])


async def test_nothing_acknowledged_is_lost_by_kills_of_hbase(mortal: HBaseServer) -> None:
    client = HBase(mortal.address, "ledger", groups=LEDGERS, limits=BRISK)
    await client.open()
    ledgers, tasks = await ledgers_on(client)
    for _ in range(rounds(10)):
        await progress(ledgers, 20)
        mortal.kill9()
        await asyncio.to_thread(mortal.start)
        await progress(ledgers, 5)
    await ended(ledgers, tasks)
    for ledger in ledgers:
        await ledger.check()
    assert client.counters.in_doubt, "no kill has met a commit"
    await client.close()


async def test_commits_and_reads_go_on_while_regions_go_and_come(
    hbase_server: HBaseServer,
) -> None:
    client = HBase(hbase_server.address, "wandering", groups=LEDGERS, limits=BRISK)
    await client.open()
    ledgers, tasks = await ledgers_on(client)
    await progress(ledgers, 3)
    admin, chance = Admin(hbase_server, "wandering"), random.Random(2)
    for _ in range(rounds(40)):
        group = chance.choice(ledgers).owner.group
        region = (await client._calls.regions.find(group.fence)).name
        await admin.close(region)
        reading = asyncio.create_task(client.get_many([group.row(b"a"), Group(0).row(b"a")]))
        await asyncio.sleep(0.1)
        await admin.open(region)
        assert None not in await reading
        await progress(ledgers, 3)
    await ended(ledgers, tasks)
    for ledger in ledgers:
        await ledger.check()
    assert client.counters.forgotten
    await client.close()


async def test_owners_that_take_a_group_from_each_other_lose_nothing(
    hbase_server: HBaseServer, group: Group
) -> None:
    """Each adds ones to what it has read: a lost or a stale write would leave a number out."""
    clients = [
        await HBase(hbase_server.address, "strata", groups=GROUPS, limits=PATIENT).open()
        for _ in range(3)
    ]
    added = 0

    async def add(client: HBase, name: bytes) -> None:
        nonlocal added
        for _ in range(rounds(100)):
            with contextlib.suppress(Fenced):
                owner = await Owner(client, group, name).take()
                (text,) = await owner.read(b"sum")
                for value in range(int(text or 0) + 1, int(text or 0) + 11):
                    await owner.write({b"sum": b"%d" % value})
                    added += 1

    await asyncio.gather(*(add(client, b"%d" % place) for place, client in enumerate(clients)))
    (text,) = await clients[0].get_many([group.row(b"sum")])
    assert int(text or 0) == added
    assert sum(client.counters.fenced for client in clients), "nobody was in another's way"
    for client in clients:
        await client.close()
