"""Plans: evenly spread, the same for whoever computes them, and with few moves."""

from __future__ import annotations

import random
from collections import Counter

from stratakv.proxy.cluster.topology import Node
from stratakv.proxy.groups.plans import NOBODY, spread
from stratakv.proxy.groups.records import (
    Malformed,
    Member,
    Plan,
    candidates,
    decode_member,
    decode_plan,
    eldest,
    topology_of,
)

A, B, C = ("a" * 40, "b" * 40, "c" * 40)


def test_the_first_node_has_everything() -> None:
    assert spread([NOBODY] * 5, [A]) == [A] * 5


def test_nobody_has_anything_where_nobody_is() -> None:
    assert spread([A, B], []) == [NOBODY, NOBODY]


def test_groups_are_spread_evenly_and_as_few_as_possible_move() -> None:
    dice = random.Random(7)
    for _ in range(500):
        groups, nodes = dice.randint(1, 40), [f"node{n}" for n in range(dice.randint(1, 9))]
        before = [dice.choice([*nodes, "gone", NOBODY]) for _ in range(groups)]
        after = spread(before, nodes)
        counts = Counter(after)
        assert set(counts) <= set(nodes)
        assert max(counts.values()) - min(counts.get(node, 0) for node in nodes) <= 1
        moved = sum(was != now for was, now in zip(before, after, strict=True))
        had = Counter(node for node in before if node in nodes)
        least, more = divmod(groups, len(nodes))
        kept = sum(sorted(min(had[node], least) for node in nodes))
        kept += min(more, sum(had[node] > least for node in nodes))
        assert moved == groups - kept
        assert spread(before, list(reversed(nodes))) == after
        assert spread(after, nodes) == after


def node(name: str) -> Node:
    return Node(name, "127.0.0.1", 6379)


def test_a_member_reads_as_it_was_written() -> None:
    told = Member(node(A), {0: 7, 3: 1}, {3: B}, is_leaving=True)
    read = decode_member(told.encode(), 5, 9)
    assert (read.node, read.groups, read.heirs, read.is_leaving) == (
        told.node,
        told.groups,
        told.heirs,
        True,
    )
    assert (read.made_by, read.changed_by) == (5, 9)


def test_what_others_wrote_is_told_apart() -> None:
    for value in (b"", b"[]", b"{}", b'{"node": {"id": "a"}}', b"\xff", b'{"node": 1}'):
        for decode in (decode_member, decode_plan):
            try:
                decode(value, 1, 1)
            except Malformed:
                continue
            raise AssertionError(value)


def test_whose_a_group_is() -> None:
    members = {
        A: Member(node(A), {0: 1, 1: 1}, {1: B}, made_by=2),
        B: Member(node(B), {2: 5}, made_by=1),
        C: Member(node(C), is_leaving=True, made_by=3),
    }
    plan = Plan((A, B), (A, B, B, A))
    topology = topology_of(members, plan, 4, 8)
    assert topology is not None
    assert [tuple(group) for group in topology.groups] == [(A, ""), (A, B), (B, ""), (A, "")]
    assert eldest(members) == B
    assert list(candidates(members)) == [A, B]


def test_of_two_who_say_that_they_have_a_group_it_is_the_later() -> None:
    members = {A: Member(node(A), {0: 4}), B: Member(node(B), {0: 5})}
    topology = topology_of(members, Plan((A, B), (A,)), 1, 8)
    assert topology is not None
    assert topology.groups[0].owner == B


def test_nothing_is_known_while_it_is_not_decided_who_is_to_have_a_group() -> None:
    members = {A: Member(node(A), {0: 4})}
    assert topology_of(members, Plan((A, B), (A, B)), 2, 8) is None
