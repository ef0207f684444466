"""Snapshots of a real HBase: what they show, how long they live, and that their end is told."""

from __future__ import annotations

import asyncio
import random

import pytest

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.errors import SnapshotGone
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.snapshots import Snapshot
from tests.harness.effort import rounds
from tests.harness.hbase import HBaseServer
from tests.hbase.admin import Admin
from tests.hbase.conftest import LEASE_SECONDS
from tests.hbase.owners import Owner

pytestmark = pytest.mark.hbase


async def region_of(client: HBase, group: Group) -> bytes:
    return (await client._calls.regions.find(group.fence)).name


async def everything(snapshot: Snapshot, *, reverse: bool = False) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    start, stop = snapshot.group.rows, snapshot.group.probe
    while start < stop:
        page = await snapshot.page(start, stop, reverse=reverse, limit=100)
        found |= {snapshot.group.engine_row(row): value for row, value in page.rows}
        start, stop = page.start, page.stop
    return found


async def test_a_snapshot_stays_as_it_was_whatever_happens(
    client: HBase, group: Group, hbase_server: HBaseServer
) -> None:
    owner = await Owner(client, group).take()
    old = {b"%04d" % number: b"old" for number in range(500)}
    await owner.write(old)
    admin, region = Admin(hbase_server, "strata"), await region_of(client, group)
    await admin.flush(region)
    snapshot = await client.snapshot(group)
    names = list(old)
    await owner.write(dict.fromkeys(names[:200], b"new"), names[200:400])
    await owner.write({b"later": b"new"})
    for change in (admin.flush, admin.compact):
        await change(region)
        assert await everything(snapshot) == old
        assert await everything(snapshot, reverse=True) == old
        found = await snapshot.get_many([group.row(row) for row in (*names, b"later")])
        assert found == [b"old"] * len(names) + [None]
    await snapshot.close()
    now = await owner.everything()
    assert now == dict.fromkeys(names[:200], b"new") | dict.fromkeys(names[400:], b"old") | {
        b"later": b"new"
    }


async def test_two_snapshots_show_two_moments(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1"})
    first = await client.snapshot(group)
    await owner.write({b"a": b"2"})
    second = await client.snapshot(group)
    await owner.write({}, [b"a"])
    assert await everything(first) == {b"a": b"1"}
    assert await everything(second) == {b"a": b"2"}
    await first.close()
    assert await everything(second) == {b"a": b"2"}
    await second.close()


async def test_a_snapshot_outlives_its_lease_by_renewals_alone(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1"})
    kept, left_alone = await client.snapshot(group), await client.snapshot(group)
    left_alone._keeping.cancel()
    await owner.write({b"a": b"2"})
    await asyncio.sleep(1.5 * LEASE_SECONDS)  # what must take time: HBase's own clock ends leases
    assert await everything(kept) == {b"a": b"1"}
    with pytest.raises(SnapshotGone, match=f"snapshot of group {group.number}"):
        await everything(left_alone)
    assert client.counters.snapshots_gone == 1
    for snapshot in (kept, left_alone):
        await snapshot.close()


async def test_a_region_that_was_closed_and_opened_ends_its_snapshots(
    client: HBase, group: Group, hbase_server: HBaseServer
) -> None:
    """It would answer with a read point of its former life, wrongly, if nobody looked."""
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1"})
    snapshot = await client.snapshot(group)
    await owner.write({b"a": b"2"})
    admin, region = Admin(hbase_server, "strata"), await region_of(client, group)
    await admin.close(region)
    await admin.open(region)
    assert await owner.read(b"a") == [b"2"]
    with pytest.raises(SnapshotGone):
        await everything(snapshot)
    with pytest.raises(SnapshotGone):
        await snapshot.get_many([group.row(b"a")])
    await snapshot.close()
    again = await client.snapshot(group)
    assert await everything(again) == {b"a": b"2"}
    await again.close()


async def test_a_closed_snapshot_is_not_read(client: HBase, group: Group) -> None:
    await Owner(client, group).take()
    snapshot = await client.snapshot(group)
    await snapshot.close()
    with pytest.raises(SnapshotGone, match="closed"):
        await everything(snapshot)
    await snapshot.close()


@pytest.mark.effort
async def test_random_ranges_of_snapshots_show_their_moment(
    client: HBase, group: Group, hbase_server: HBaseServer
) -> None:
    """Both ways, with limits, over files of many flushes: HBase has its own mistakes there."""
    chance = random.Random(3)
    owner = await Owner(client, group).take()
    admin, region = Admin(hbase_server, "strata"), await region_of(client, group)
    names = [b"%02d" % number for number in range(12)]
    model: dict[bytes, bytes] = {}
    open_ones: list[tuple[Snapshot, dict[bytes, bytes]]] = []
    for turn in range(rounds(1000)):
        changed = chance.sample(names, chance.randrange(1, 13))
        gone = changed[: chance.randrange(len(changed))]
        puts = {row: b"%d" % turn for row in changed if row not in gone}
        await owner.write(puts, gone)
        model = {row: value for row, value in (model | puts).items() if row not in gone}
        if turn % 3 == 0:
            await admin.flush(region)
        if turn % 5 == 0:
            open_ones.append((await client.snapshot(group), model))
        for snapshot, then in open_ones[-4:]:
            start, stop = sorted(chance.sample([b"", *names, b"x"], 2))
            limit, reverse = chance.choice([None, 1, 2, 3]), chance.random() < 0.7
            page = await snapshot.page(
                group.row(start), group.row(stop), reverse=reverse, limit=limit
            )
            inside = sorted(item for item in then.items() if start <= item[0] < stop)
            wanted = (inside[::-1] if reverse else inside)[:limit]
            found = [(group.engine_row(row), value) for row, value in page.rows]
            assert found == wanted, (turn, start, stop, reverse, limit)
    for snapshot, _ in open_ones:
        await snapshot.close()
