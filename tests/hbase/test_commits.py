"""Commits to a real HBase: whole or not at all, once, in order, and by the owner alone."""

from __future__ import annotations

import asyncio

import pytest

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.errors import Fenced, HBaseError, TooLarge
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import MAX_ROW_BYTES
from stratakv.storage.hbase.mutations import mutate
from stratakv.storage.hbase.requests import DURABILITIES, Durability
from tests.harness.hbase import HBaseServer
from tests.hbase.conftest import GROUPS
from tests.hbase.owners import Owner

pytestmark = pytest.mark.hbase


async def test_a_commit_puts_and_deletes_together(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1", b"b": b"2"})
    await owner.write({b"b": b"3", b"c": b""}, [b"a", b"never"])
    assert await owner.everything() == {b"b": b"3", b"c": b""}
    fence = await client.fence(group)
    assert (fence.epoch, fence.turn, fence.owner) == (owner.epoch, 2, b"owner")


async def test_a_row_that_was_deleted_can_be_written_again(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    for turn in range(5):
        await owner.write({b"a": b"%d" % turn})
        assert await owner.read(b"a") == [b"%d" % turn]
        await owner.write({}, [b"a"])
        assert await owner.read(b"a") == [None]


async def test_a_group_that_never_had_an_owner_has_epoch_0(client: HBase, group: Group) -> None:
    assert (await client.fence(group)).epoch == 0
    with pytest.raises(Fenced):
        await client.commit(group, 1, 1, {group.row(b"a"): b"1"})
    assert await client.get_many([group.row(b"a")]) == [None]


async def test_turns_are_done_in_order_and_once(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1"})
    for turn in (1, 3):
        with pytest.raises(Fenced, match=f"turn {turn} does not follow turn 1"):
            await client.commit(group, owner.epoch, turn, {group.row(b"a"): b"wrong"})
    assert await owner.read(b"a") == [b"1"]


async def test_a_late_copy_of_a_commit_brings_nothing_back(client: HBase, group: Group) -> None:
    """As HBase may find it in a queue, after the same commit was done by a second try."""
    owner = await Owner(client, group).take()
    await owner.write({b"a": b"1"})
    await owner.write({}, [b"a"])
    with pytest.raises(Fenced):
        await client.commit(group, owner.epoch, 1, {group.row(b"a"): b"1"})
    assert await owner.everything() == {}


async def test_a_former_owner_is_refused(client: HBase, group: Group) -> None:
    old = await Owner(client, group, b"old").take()
    await old.write({b"a": b"old"})
    new = await Owner(client, group, b"new").take()
    assert new.epoch == old.epoch + 1
    with pytest.raises(Fenced, match=r"belongs to b'new'") as caught:
        await old.write({b"a": b"zombie", b"b": b"zombie"})
    assert not caught.value.is_in_doubt
    await new.write({b"c": b"new"})
    assert await new.everything() == {b"a": b"old", b"c": b"new"}


async def test_of_many_who_take_a_group_at_once_each_epoch_has_one_owner(
    client: HBase, group: Group
) -> None:
    taken = await asyncio.gather(
        *(client.raise_fence(group, b"%d" % number) for number in range(8)), return_exceptions=True
    )
    epochs = [fence.epoch for fence in taken if not isinstance(fence, BaseException)]
    assert len(epochs) == len(set(epochs)) >= 1
    assert all(isinstance(one, Fenced) for one in taken if isinstance(one, BaseException))
    assert (await client.fence(group)).epoch == max(epochs)


async def test_a_group_is_taken_from_an_owner_who_never_stops_writing(
    client: HBase, group: Group
) -> None:
    """The epoch rises from the epoch, not from a turn that is past before one looks."""
    old = await Owner(client, group, b"old").take()

    async def write_on() -> None:
        while True:
            await old.write({b"turn": b"%d" % (old.turn + 1)})

    writing = asyncio.create_task(write_on())
    await asyncio.sleep(0.2)
    new = await Owner(client, group, b"new").take()
    with pytest.raises(Fenced):
        await writing
    assert await new.read(b"turn") == [b"%d" % old.turn], "what was acknowledged, and no more"


async def test_rows_of_two_groups_are_refused_as_a_whole(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    other = Group((group.number + 1) % GROUPS)
    with pytest.raises(HBaseError, match="out of range"):
        await client.commit(
            group, owner.epoch, 1, {group.row(b"a"): b"torn", other.row(b"a"): b"torn"}
        )
    assert await client.get_many([group.row(b"a"), other.row(b"a")]) == [None, None]
    await owner.write({b"a": b"1"})


async def test_what_is_at_the_limits_is_kept(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    largest = bytes(range(250)) * (client.limits.value_bytes // 250)
    longest = b"n" * (MAX_ROW_BYTES - len(group.rows))
    await owner.write({b"large": largest, longest: b"long"})
    assert await owner.read(b"large", longest) == [largest, b"long"]
    assert await owner.everything() == {b"large": largest, longest: b"long"}


async def test_what_is_beyond_the_limits_is_refused_before_it_is_sent(
    client: HBase, group: Group
) -> None:
    owner = await Owner(client, group).take()
    before = client.counters.calls
    half = bytes(client.limits.commit_bytes // 2)
    with pytest.raises(TooLarge, match="a value of 10000001 bytes"):
        await owner.write({b"a": bytes(client.limits.value_bytes + 1)})
    with pytest.raises(TooLarge, match="a row name of 32768 bytes"):
        await owner.write({}, [bytes(MAX_ROW_BYTES - len(group.rows) + 1)])
    with pytest.raises(TooLarge, match="in one commit"):
        await owner.write({b"a": half, b"b": half})
    assert client.counters.calls == before
    await owner.write({b"a": b"1"})
    assert await owner.everything() == {b"a": b"1"}


async def test_many_rows_are_one_commit(client: HBase, group: Group) -> None:
    owner = await Owner(client, group).take()
    rows = {b"%06d" % number: b"%d" % number for number in range(20_000)}
    before = client.counters.calls
    await owner.write(rows)
    assert client.counters.calls == before + 1
    assert await owner.everything() == rows


async def test_groups_commit_beside_each_other(client: HBase, hbase_server: HBaseServer) -> None:
    other = await HBase(hbase_server.address, "beside", groups=8).open()
    owners = [await Owner(other, Group(number)).take() for number in range(8)]

    async def write_ten(owner: Owner) -> None:
        for turn in range(10):
            await owner.write({b"a": b"%d" % turn})

    await asyncio.gather(*(write_ten(owner) for owner in owners))
    assert [await owner.read(b"a") for owner in owners] == [[b"9"]] * 8
    await other.close()


@pytest.mark.parametrize("name", ["os", "everysec", "always"])
async def test_every_durability_is_asked_for_with_each_row(
    hbase_server: HBaseServer, group: Group, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def listen(calls: Calls, row: bytes, request: bytes) -> bool:
        asked.extend(one.durability for one in pb.MutateRowsRequest.FromString(request).mutations)
        return await mutate(calls, row, request)

    monkeypatch.setattr("stratakv.storage.hbase.commits.mutate", listen)
    client = HBase(hbase_server.address, "strata", groups=GROUPS)
    await client.open()
    client.choose_durability(DURABILITIES[name])
    owner = await Owner(client, group).take()
    await owner.write({b"b": b"gone"})
    await owner.write({b"a": name.encode()}, [b"b"])
    assert asked == [Durability.SYNCED if name == "always" else Durability.LOGGED] * 5
    assert await owner.read(b"a", b"b") == [name.encode(), None]
    await client.close()
