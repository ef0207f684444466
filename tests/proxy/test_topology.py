"""Slots, groups and topologies."""

import pytest

from stratakv.proxy.cluster.topology import Group, Node, SlotRange, Topology, alone
from stratakv.slots import SLOTS, group_of, slot_of, slots_of

ONE, TWO = (Node(digit * 40, "127.0.0.1", port) for digit, port in (("1", 7001), ("2", 7002)))
BOTH = {ONE.id: ONE, TWO.id: TWO}


@pytest.mark.parametrize(
    ("key", "slot"),
    [
        # as a redis-server 7.0 answers to CLUSTER KEYSLOT
        (b"", 0),
        (b"123456789", 12739),
        (b"{user}:1", slot_of(b"user")),
        (b"a{b}{c}", slot_of(b"b")),
        (b"{}a", slot_of(b"{}a")),
        (b"{{a}}", slot_of(b"{a")),
        (b"{a", slot_of(b"{a")),
        (b"a}{b}", slot_of(b"b")),
    ],
)
def test_the_slot_of_a_key_is_that_of_its_first_tag(key: bytes, slot: int) -> None:
    assert slot_of(key) == slot


@pytest.mark.parametrize("groups", [1, 2, 3, 7, 64, 1000, SLOTS])
def test_groups_share_the_slots_in_order_and_evenly(groups: int) -> None:
    shares = [slots_of(group, groups) for group in range(groups)]
    assert [slot for share in shares for slot in share] == list(range(SLOTS))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert all(group_of(slot, groups) == n for n, share in enumerate(shares) for slot in share)


def test_a_topology_tells_who_has_which_slots() -> None:
    topology = Topology(5, BOTH, (Group(ONE.id), Group(ONE.id, TWO.id), Group(), Group(TWO.id)))
    assert topology.ranges() == [SlotRange(0, 8191, ONE.id), SlotRange(12288, 16383, TWO.id)]
    assert topology.owner_of(8191) is ONE
    assert topology.owner_of(8192) is None
    assert topology.groups_of(ONE.id) == {0, 1}
    assert not topology.is_covered


def test_who_is_alone_has_all_slots() -> None:
    topology = alone(ONE)
    assert topology.ranges() == [SlotRange(0, SLOTS - 1, ONE.id)]
    assert topology.is_covered
