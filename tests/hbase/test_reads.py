"""Gets and scans of a real HBase, over many regions, compared with a sorted dictionary."""

from __future__ import annotations

import random

import pytest

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import Limits
from tests.harness.effort import rounds
from tests.harness.hbase import HBaseServer
from tests.hbase.conftest import GROUPS as ALL_GROUPS
from tests.hbase.owners import Owner

pytestmark = pytest.mark.hbase

GROUPS = 6
NAMES = [b"", b"\x00", b"\x00\xff", b",", b",,", b"a", b"a\x00", b"ab", b"\x7f", b"\x80", b"\xff"]


async def filled(client: HBase) -> dict[bytes, bytes]:
    """Rows in every group but one; those of the whole table by name, in order."""
    rows: dict[bytes, bytes] = {}
    for number in (0, 1, 2, 4, 5):
        owner = await Owner(client, Group(number)).take()
        puts = {name: b"%d:" % number + name for name in NAMES}
        puts |= {b"many%04d" % turn: b"%d" % turn for turn in range(300)}
        await owner.write(puts)
        rows |= {owner.group.row(row): value for row, value in puts.items()}
    return dict(sorted(rows.items()))


async def opened(server: HBaseServer, table: str, limits: Limits | None = None) -> HBase:
    return await HBase(server.address, table, groups=GROUPS, limits=limits).open()


async def test_values_come_in_the_order_in_which_they_were_asked_for(
    client: HBase, group: Group
) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1", b"empty": b"", b"\x00\xff": bytes(range(256))})
    found = await owner.read(b"missing", b"\x00\xff", b"a", b"empty", b"a")
    assert found == [None, bytes(range(256)), b"1", b"", b"1"]
    assert await client.get_many([]) == []


async def test_rows_of_many_groups_take_one_call_to_each_server(
    client: HBase, group: Group
) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"here": b"1"})
    wanted = [Group(number).row(b"here") for number in range(ALL_GROUPS)]
    before = client.counters.calls
    found = await client.get_many(wanted)
    assert found[group.number] == b"1"
    assert client.counters.calls == before + 1


async def test_more_rows_than_one_call_takes_are_cut(hbase_server: HBaseServer) -> None:
    client = await opened(hbase_server, "cut", Limits(gets=7))
    owner = await Owner(client, Group(3)).take()
    await owner.write({b"%d" % number: b"v%d" % number for number in range(40)})
    before = client.counters.calls
    found = await owner.read(*(b"%d" % number for number in range(40)))
    assert found == [b"v%d" % number for number in range(40)]
    assert client.counters.calls == before + 6
    await client.close()


async def test_scans_go_both_ways_over_all_regions_with_any_limit(
    hbase_server: HBaseServer,
) -> None:
    client = await opened(hbase_server, "ranges", Limits(page_rows=100))
    rows = await filled(client)
    chance = random.Random(1)
    names = [*rows, *(Group(number).prefix for number in range(GROUPS + 1)), b"", b"\xff"]
    ranges: list[tuple[bytes, bytes, int | None]] = [
        (b"", b"\xff", None),
        (Group(2).rows, Group(4).rows, None),
    ]
    for _ in range(rounds(300, least=20)):
        start, stop = sorted(chance.sample(names, 2))
        ranges.append((start, stop, chance.choice([None, 1, 2, 50, 100, 101, 400])))
    for start, stop, limit in ranges:
        inside = [item for item in rows.items() if start <= item[0] < stop]
        found = [row async for row in client.scan(start, stop, limit=limit)]
        assert found == inside[:limit], (start, stop, limit)
        found = [row async for row in client.scan(start, stop, limit=limit, reverse=True)]
        assert found == inside[::-1][:limit], (start, stop, limit, "reverse")
    await client.close()


async def test_a_scan_of_keys_has_no_values(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1", b"b": bytes(5000)})
    page = await client.page(group.rows, group.probe, keys_only=True)
    assert page.rows == [(group.row(b"a"), b""), (group.row(b"b"), b"")]
    assert page.is_last


async def test_a_page_ends_when_it_is_large_and_the_next_goes_on(
    hbase_server: HBaseServer,
) -> None:
    client = await opened(hbase_server, "large", Limits(page_bytes=300_000))
    owner = await Owner(client, Group(1)).take()
    values = {b"%02d" % number: bytes([number]) * 100_000 for number in range(20)}
    await owner.write(values)
    for reverse in (False, True):
        start, stop, sizes = Group(0).prefix, Group(GROUPS).prefix, []
        seen: list[tuple[bytes, bytes]] = []
        while start < stop:
            page = await client.page(start, stop, reverse=reverse)
            seen += page.rows
            sizes.append(page.size)
            start, stop = page.start, page.stop
        expected = [(Group(1).row(row), value) for row, value in sorted(values.items())]
        assert seen == (expected[::-1] if reverse else expected)
        assert max(sizes) < 700_000, "a page, and what the server adds to it"
    await client.close()


async def test_a_range_that_is_empty_has_no_rows(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1"})
    for start, stop in ((b"b", b"a"), (b"a", b"a"), (b"b", b"c")):
        page = await client.page(group.row(start), group.row(stop))
        assert (page.rows, page.is_last) == ([], True)


async def test_many_deleted_rows_hide_none_that_live(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    names = [b"%05d" % number for number in range(5_000)]
    await owner.write(dict.fromkeys(names, b"v"))
    await owner.write({b"x": b"last"}, names[1:])
    assert await owner.everything() == {names[0]: b"v", b"x": b"last"}
    page = await client.page(group.rows, group.probe, reverse=True, limit=2)
    assert [value for _, value in page.rows] == [b"last", b"v"]
