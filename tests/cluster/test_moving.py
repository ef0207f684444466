"""Slots that move: who is blocked, subscribed, watching or waiting hears of it as from Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.slots import group_of, slot_of
from tests.cluster.nodes import GROUPS, StaticCluster, StaticNode
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode

KEY = b"bar"
NEAR = b"k2"
"""Of another group of the same node."""
GROUP = group_of(slot_of(KEY), GROUPS)
"""It is the first node's to begin with."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StaticCluster]:
    found = StaticCluster(tmp_path, flags=("--engine", "memory")).start()
    assert found.owners[GROUP] == found.nodes[0].id
    yield found
    found.stop()


def moved(node: StaticNode, key: bytes = KEY) -> bytes:
    return b"-MOVED %d 127.0.0.1:%d\r\n" % (slot_of(key), node.port)


def test_a_request_is_sent_to_the_new_owner(cluster: StaticCluster) -> None:
    first, second, _ = cluster.nodes
    with first.client() as client, second.client() as other:
        assert client.send("SET", KEY, 1).raw == b"+OK\r\n"
        assert other.send("SET", KEY, 1).raw == moved(first)
        cluster.give(GROUP, second)
        assert client.send("SET", KEY, 1).raw == moved(second)
        assert other.send("SET", KEY, 1).raw == b"+OK\r\n"


def test_a_pipeline_of_one_command_over_several_groups(cluster: StaticCluster) -> None:
    first = cluster.nodes[0]
    keys = [b"key:%d" % number for number in range(2000)]
    with first.client() as client:
        for words in (("SET", 1), ("INCR",), ("GET",), ("RPUSH", "x")):
            for key in keys:
                client.write(encode(words[0], key, *words[1:]))
            for key in keys:
                reply = client.read().raw
                owner = cluster.owners[group_of(slot_of(key), GROUPS)]
                if owner != first.id:
                    other = next(node for node in cluster.nodes if node.id == owner)
                    assert reply == moved(other, key)
                elif words[0] != "RPUSH":
                    assert not reply.startswith(b"-MOVED"), reply
                else:
                    assert reply.startswith(b"-WRONGTYPE"), reply
        mine = [k for k in keys if cluster.owners[group_of(slot_of(k), GROUPS)] == first.id]
        counted = sum(
            client.send("CLUSTER", "COUNTKEYSINSLOT", slot).frame.number or 0
            for slot in {slot_of(key) for key in mine}
        )
        assert counted == len(mine)


def test_a_blocked_client_is_sent_to_the_new_owner(cluster: StaticCluster) -> None:
    first, second, _ = cluster.nodes
    with first.client() as client, first.client() as other:
        client.write(encode("BLPOP", KEY, 0))
        other.write(encode("BLPOP", NEAR, 0))
        first.wait_until_blocked(2)
        cluster.give(GROUP, second)
        assert client.read().raw == moved(second)
        first.wait_until_blocked(1)
        cluster.owners[-1] = ""
        cluster.tell()
        assert other.read().raw == b"-CLUSTERDOWN The cluster is down\r\n"


def test_a_shard_subscriber_is_told_that_it_is_none_any_more(cluster: StaticCluster) -> None:
    first, second, _ = cluster.nodes
    with first.client() as client:
        for channel in (KEY, NEAR):
            assert b"ssubscribe" in client.send("SSUBSCRIBE", channel).raw
        cluster.give(GROUP, second)
        assert client.read().raw == b"*3\r\n$12\r\nsunsubscribe\r\n$3\r\nbar\r\n:1\r\n"
        with first.client() as other:
            assert other.send("SPUBLISH", KEY, "x").raw == moved(second)
            assert other.send("SPUBLISH", NEAR, "x").raw == b":1\r\n"
        assert b"smessage" in client.read().raw


def test_a_transaction_whose_watched_key_was_away_does_not_run(cluster: StaticCluster) -> None:
    first, second, _ = cluster.nodes
    with first.client() as client:
        client.send("WATCH", KEY)
        client.send("MULTI")
        client.send("SET", b"{%b}2" % KEY, 1)
        cluster.give(GROUP, second)
        cluster.give(GROUP, first)
        assert client.send("EXEC").raw == b"*-1\r\n"


def test_what_is_queued_when_the_slot_goes_is_sent_to_the_new_owner(
    cluster: StaticCluster,
) -> None:
    first, second, _ = cluster.nodes
    with first.client() as client:
        client.send("MULTI")
        client.send("SET", KEY, 1)
        cluster.give(GROUP, second)
        assert client.send("EXEC").raw == moved(second)
        assert client.send("EXEC").raw == b"-ERR EXEC without MULTI\r\n"


def held(node: StaticNode, client: WireClient, count: int = 1) -> None:
    """Until so many clients wait."""
    wait_until(lambda: client.send("CLIENT", "LIST").raw.count(b" flags=b ") >= count, node.output)


def test_requests_wait_while_a_group_is_handed_over(cluster: StaticCluster) -> None:
    first, second, _ = cluster.nodes
    with first.client() as waiting, first.client() as leaving, first.client() as other:
        cluster.tell(held=(GROUP,))
        waiting.write(encode("SET", KEY, 1))
        waiting.write(encode("PING"))
        leaving.write(encode("GET", KEY))
        held(first, other, 2)
        assert other.send("SET", NEAR, 1).raw == b"+OK\r\n"
        assert other.send("MULTI").raw == b"+OK\r\n"
        assert other.send("GET", KEY).raw == b"+QUEUED\r\n"
        assert other.send("DISCARD").raw == b"+OK\r\n"
        leaving.close()
        cluster.give(GROUP, second)
        assert waiting.read().raw == moved(second)
        assert waiting.read().raw == b"+PONG\r\n"


def test_requests_go_on_if_the_group_stays(cluster: StaticCluster) -> None:
    first = cluster.nodes[0]
    with first.client() as waiting, first.client() as other:
        cluster.tell(held=(GROUP,))
        for words in (("SET", KEY, 1), ("INCR", KEY), ("PING",)):
            waiting.write(encode(*words))
        held(first, other)
        cluster.tell()
        assert [waiting.read().raw for _ in range(3)] == [b"+OK\r\n", b":2\r\n", b"+PONG\r\n"]


def test_a_server_stops_while_clients_wait_for_a_group(cluster: StaticCluster) -> None:
    first = cluster.nodes[0]
    with first.client() as waiting, first.client() as other:
        cluster.tell(held=(GROUP,))
        waiting.write(encode("SET", KEY, 1))
        held(first, other)
        assert first.terminate() == 0


def test_nothing_is_served_while_a_slot_has_no_node(cluster: StaticCluster) -> None:
    first, _, third = cluster.nodes
    with first.client() as client:
        cluster.owners[-1] = ""
        cluster.tell()
        down = b"-CLUSTERDOWN The cluster is down\r\n"
        assert client.send("SET", KEY, 1).raw == down
        assert client.send("GET", KEY).raw == down
        assert client.send("EVAL", "return redis.pcall('get','bar')", 0).raw.startswith(
            b"-ERR Script attempted to execute a command while the cluster is down"
        )
        assert client.send("SPUBLISH", KEY, 1).raw == b":0\r\n"
        assert client.send("PING").raw == b"+PONG\r\n"
        assert b"cluster_state:fail" in client.send("CLUSTER", "INFO").raw
        client.send("CONFIG", "SET", "cluster-allow-reads-when-down", "yes")
        assert client.send("GET", KEY).raw == b"$-1\r\n"
        assert client.send("SET", KEY, 1).raw == (
            b"-CLUSTERDOWN The cluster is down and only accepts read commands\r\n"
        )
        assert client.send("EVAL", "return redis.pcall('set','bar',1)", 0).raw.startswith(
            b"-ERR Script attempted to execute a write command while the cluster is down"
        )
        client.send("CONFIG", "SET", "cluster-allow-pubsubshard-when-down", "no")
        assert client.send("SPUBLISH", KEY, 1).raw == down
        client.send("CONFIG", "SET", "cluster-require-full-coverage", "no")
        assert client.send("SET", KEY, 1).raw == b"+OK\r\n"
        assert client.send("SET", "a", 1).raw == b"-CLUSTERDOWN Hash slot not served\r\n"
        cluster.owners[-1] = third.id
        cluster.tell()
        assert client.send("SET", "a", 1).raw == moved(third, b"a")


def test_clients_are_told_names_or_to_stay(cluster: StaticCluster) -> None:
    first, _, third = cluster.nodes
    slot = slot_of(b"a")
    with first.client() as client:
        client.send("CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
        assert client.send("GET", "a").raw == b"-MOVED %d ?:%d\r\n" % (slot, third.port)
        third.described["hostname"] = "node.three"
        cluster.tell()
        assert client.send("GET", "a").raw == b"-MOVED %d node.three:%d\r\n" % (slot, third.port)
        shown = client.send("CLUSTER", "SLOTS").frame.elements[-1].elements[2]
        assert shown.elements[0].data == b"node.three"
        assert shown.elements[3].blobs() == [b"ip", b"127.0.0.1"]
        client.send("CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint")
        assert client.send("GET", "a").raw == b"-MOVED %d :%d\r\n" % (slot, third.port)
        shown = client.send("CLUSTER", "SLOTS").frame.elements[-1].elements[2]
        assert shown.elements[0].is_null
        assert b",node.three master" in client.send("CLUSTER", "NODES").raw
