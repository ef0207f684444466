"""Nodes that come, go, die and sleep: each group of slots has one owner, and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.harness.hbase import HBaseServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.hbase.conftest import start_hbase
from tests.hbase.nodes import (
    BRISK_TIME,
    Client,
    Nodes,
    Unknown,
    client_of,
    group_keys,
    owners_seen,
    shown,
)

pytestmark = [pytest.mark.hbase]

_tables = count()


@pytest.fixture(scope="module")
def brisk_hbase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseServer]:
    """One whose ZooKeeper counts time finely, so that sessions end when they should."""
    server = start_hbase(tmp_path_factory.mktemp("hbase"), BRISK_TIME)
    yield server
    server.stop()


@pytest.fixture
def nodes(brisk_hbase: HBaseServer, tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(brisk_hbase, f"owned{next(_tables)}", tmp_path)
    yield made
    made.stop()


KEYS = [b"key%d" % number for number in range(200)]


def write(client: Client, text: bytes) -> None:
    for key in KEYS:
        wait_until(lambda key=key: try_(client, key, b"SET", key, text))  # type: ignore[misc]


def try_(client: Client, key: bytes, *words: bytes) -> bytes:
    try:
        return client.send(key, *words).data or b"nothing"
    except Unknown:
        return b""


def all_are(client: Client, text: bytes) -> bool:
    return all(
        wait_until(lambda key=key: try_(client, key, b"GET", key)) == text  # type: ignore[misc]
        for key in KEYS
    )


def test_one_node_has_all_and_those_that_join_get_their_share(nodes: Nodes) -> None:
    first = nodes.add()
    nodes.settle()
    with client_of(nodes) as client:
        write(client, b"1")
        assert not client.redirections
        second = nodes.add()
        nodes.settle()
        assert all_are(client, b"1")
        third = nodes.add()
        nodes.settle()
        assert all_are(client, b"1")
        write(client, b"2")
        assert all_are(client, b"2")
        assert client.redirections
    sizes = [dbsize(server) for server in (first, second, third)]
    assert sum(sizes) == len(KEYS)
    assert min(sizes) > 0
    found = {key for server in (first, second, third) for key in scanned(server)}
    assert found == set(KEYS)


def dbsize(server) -> int:  # type: ignore[no-untyped-def]
    with server.client() as client:
        return client.send("DBSIZE").frame.number or 0


def scanned(server) -> list[bytes]:  # type: ignore[no-untyped-def]
    """By SCAN and by KEYS, which have to agree."""
    found, cursor = [], b"0"
    with server.client() as client:
        while True:
            frame = client.send("SCAN", cursor, "COUNT", "7").frame
            cursor, page = frame.elements[0].data or b"0", frame.elements[1].blobs()
            found += page
            if cursor == b"0":
                break
        assert sorted(client.send("KEYS", "*").frame.blobs()) == sorted(set(found))
    return found


def test_a_planned_stop_hands_everything_over_first(nodes: Nodes) -> None:
    servers = [nodes.add() for _ in range(3)]
    nodes.settle()
    with client_of(nodes) as client:
        write(client, b"1")
        assert servers[0].terminate() == 0
        assert "session with ZooKeeper has ended" not in servers[0].output()
        owned = nodes.owners()
        assert len(owned) == nodes.groups, "somebody has each of them by then"
        assert all_are(client, b"1")


def test_what_a_killed_node_had_is_served_by_others(nodes: Nodes) -> None:
    servers = [nodes.add() for _ in range(3)]
    nodes.settle()
    with client_of(nodes) as client:
        write(client, b"1")
        servers[1].kill9()
        assert all_are(client, b"1")
        write(client, b"2")
        nodes.settle()
        servers[1].start()
        nodes.settle()
        assert all_are(client, b"2")


def test_a_node_that_sleeps_tells_nothing_of_before(nodes: Nodes) -> None:
    sleeper, other = nodes.add(), nodes.add()
    nodes.settle()
    with client_of(nodes) as client:
        write(client, b"1")
        assert all_are(client, b"1")
        owned = shown(sleeper, state="open")
        old = [WireClient(sleeper.port) for _ in KEYS]
        nodes.pause(sleeper)
        for key, link in zip(KEYS, old, strict=True):  # they wait in the sleeper's sockets
            link.socket.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%b\r\n" % (len(key), key))
        wait_until(lambda: len(shown(other, state="open")) == nodes.groups)
        for key in KEYS:
            wait_until(lambda key=key: try_(client, key, b"SET", key, b"2"))  # type: ignore[misc]
        nodes.wake(sleeper)
        told = [answer(link) for link in old]
        assert b"$1\r\n1\r\n" not in told, "it told what had been so before"
        assert owned
        nodes.settle()
        assert all_are(client, b"2")


def answer(link: WireClient) -> bytes:
    """What comes, or nothing if the connection is cut."""
    try:
        return link.read().raw
    except (OSError, EOFError, AssertionError):
        return b""


def test_a_blocked_client_is_sent_to_the_new_owner(nodes: Nodes) -> None:
    first = nodes.add()
    nodes.settle()
    links = {key: first.client() for key in (b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h")}
    for key, link in links.items():
        link.socket.sendall(b"*3\r\n$5\r\nBLPOP\r\n$1\r\n%b\r\n$1\r\n0\r\n" % key)
    first.wait_until_blocked(len(links))
    second = nodes.add()
    nodes.settle()
    gone = set(shown(second, state="open"))
    moved = [key for key in links if group_of_key(nodes, key) in gone]
    assert moved
    for key in moved:
        reply = links[key].read().frame
        assert reply.is_error
        assert (reply.data or b"").startswith(b"MOVED ")
        assert (reply.data or b"").endswith(b":%d" % second.port)
    with client_of(nodes) as client:
        for key in links.keys() - set(moved):
            client.send(key, b"LPUSH", key, b"x")
            assert links[key].read().frame.blobs() == [key, b"x"]


def group_of_key(nodes: Nodes, key: bytes) -> int:
    from stratakv.slots import group_of, slot_of

    return group_of(slot_of(key), nodes.groups)


def test_a_watched_key_that_moves_fails_the_transaction(nodes: Nodes) -> None:
    first = nodes.add()
    nodes.settle()
    with first.client() as link:
        link.send("SET", "a", "1")
        link.send("WATCH", "a")
        second = nodes.add()
        nodes.settle()
        group = group_of_key(nodes, b"a")
        if group not in shown(second, state="open"):
            name = next(iter(set(owners_seen(second).values()) - {owners_seen(first)[group]}))
            assert link.send("STRATA", "CLUSTER", "MOVE", str(group), name).raw == b"+OK\r\n"
            wait_until(lambda: group in shown(second, state="open"))
        assert not link.send("STRATA", "CLUSTER", "MOVE", str(group), my_id(first)).frame.is_error
        wait_until(lambda: group in shown(first, state="open"))
        link.send("MULTI")
        link.send("SET", "a", "2")
        assert link.send("EXEC").raw == b"*-1\r\n"


def my_id(server) -> str:  # type: ignore[no-untyped-def]
    with server.client() as client:
        return (client.send("CLUSTER", "MYID").frame.data or b"").decode()


def test_groups_are_moved_when_asked_for_and_shared_out_again(nodes: Nodes) -> None:
    first, second = nodes.add(), nodes.add()
    nodes.settle()
    with first.client() as link, client_of(nodes) as client:
        write(client, b"1")
        for group in range(nodes.groups):
            assert (
                link.send("STRATA", "CLUSTER", "MOVE", str(group), my_id(second)).raw == b"+OK\r\n"
            )
        wait_until(lambda: len(shown(second, state="open")) == nodes.groups)
        assert all_are(client, b"1")
        assert link.send("STRATA", "CLUSTER", "REBALANCE").raw == b"+OK\r\n"
        nodes.settle()
        assert all_are(client, b"1")


@pytest.mark.parametrize("word", ["FLUSHALL", "FLUSHDB"])
def test_a_flush_empties_what_a_node_has_for_good(nodes: Nodes, word: str) -> None:
    first, second = nodes.add(), nodes.add()
    nodes.settle()
    with client_of(nodes) as client:
        write(client, b"1")
        kept = next(key for key in KEYS if group_of_key(nodes, key) in shown(first, state="open"))
        with first.client() as link:
            link.send("GET", kept)  # the client is in that group then
            assert link.send(word).raw == b"+OK\r\n"
            assert link.send("DBSIZE").raw == b":0\r\n"
            assert link.send("SET", kept, "2").raw == b"+OK\r\n"
        assert scanned(first) == [kept]
        left = dbsize(second)
        assert left > 0
        assert len(scanned(second)) == left
        first.kill9()
        nodes.settle()
        assert set(scanned(second)) - {kept} == {
            key for key in KEYS if try_(client, key, b"GET", key) == b"1"
        }
        assert dbsize(second) == left + 1
        assert try_(client, kept, b"GET", kept) == b"2"


def test_a_table_keeps_its_number_of_groups(nodes: Nodes) -> None:
    nodes.add().stop()
    nodes.groups = 5
    with pytest.raises(AssertionError, match="was made for 6 groups, not 5"):
        nodes.add()


def test_functions_are_known_to_all_and_kept_with_the_first_group(nodes: Nodes) -> None:
    first, second = nodes.add(), nodes.add()
    nodes.settle()
    body = "function(keys) return redis.call('INCR', keys[1]) end"
    code = f"#!lua name=counts\nredis.register_function('up', {body})"
    with second.client() as link:
        assert not link.send("FUNCTION", "LOAD", code).frame.is_error
    with client_of(nodes) as client:
        for key in KEYS[:20]:
            assert client.send(key, b"FCALL", b"up", b"1", key).number == 1
        first.terminate()
        second.terminate()
        first.start()
        nodes.settle()
        for key in KEYS[:20]:
            assert client.send(key, b"FCALL", b"up", b"1", key).number == 2


def test_a_script_that_names_no_keys_runs_where_its_first_key_is(nodes: Nodes) -> None:
    node = nodes.add()
    nodes.settle()
    keys = list(group_keys(nodes.groups).values())
    put = "redis.call('PUBLISH', 'told', ARGV[1]) return redis.call('SET', ARGV[1], ARGV[1])"
    with node.client() as link, node.client() as listener:
        listener.send("SUBSCRIBE", "told")
        for key in keys:
            assert link.send("EVAL", put, "0", key).raw == b"+OK\r\n"
            assert listener.read().frame.elements[2].data == key
            link.send("MULTI")
            link.send("EVAL", "return redis.call('APPEND', ARGV[1], 'x')", "0", key)
            assert link.send("EXEC").frame.elements[0].number == len(key) + 1
        for key in keys:
            assert link.send("GET", key).frame.data == key + b"x"
        both = "redis.call('SET', ARGV[1], 1) return redis.call('SET', ARGV[2], 1)"
        assert b"do not hash to the same slot" in link.send("EVAL", both, "0", *keys[:2]).raw
        link.send("MULTI")
        for key in keys[:2]:
            link.send("EVAL", put, "0", key)
        first, second = link.send("EXEC").frame.elements
        assert first.data == b"OK"
        assert second.is_error
