"""What the nodes tell each other: messages, scripts and functions."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.nodes import StaticCluster, StaticNode
from tests.harness.certificates import make_certificates
from tests.harness.servers import free_port
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StaticCluster]:
    found = StaticCluster(tmp_path, flags=("--engine", "memory")).start()
    found.wait_until_linked()
    yield found
    found.stop()


def test_a_message_reaches_the_subscribers_of_all_nodes(cluster: StaticCluster) -> None:
    listeners = [node.client() for node in cluster.nodes]
    for listener in listeners:
        listener.send("SUBSCRIBE", "news")
        listener.send("PSUBSCRIBE", "n*")
    with cluster.nodes[1].client() as client:
        assert client.send("PUBLISH", "news", "one").raw == b":2\r\n"  # as Redis: those of the node
        client.send("EVAL", "redis.call('publish', 'news', 'two')", 0)
        client.send("MULTI")
        client.send("PUBLISH", "news", "three")
        client.send("EXEC")
    for listener in listeners:
        for message in (b"one", b"two", b"three"):
            assert listener.read().frame.blobs() == [b"message", b"news", message]
            assert listener.read().frame.blobs() == [b"pmessage", b"n*", b"news", message]
        listener.close()


def test_what_is_discarded_is_told_to_nobody(cluster: StaticCluster) -> None:
    with cluster.nodes[2].client() as listener, cluster.nodes[0].client() as client:
        listener.send("SUBSCRIBE", "news")
        client.send("MULTI")
        client.send("PUBLISH", "news", "no")
        client.send("DISCARD")
        client.send("PUBLISH", "news", "yes")
        assert listener.read().frame.blobs() == [b"message", b"news", b"yes"]


def test_keyspace_events_are_told_by_the_owner_alone(cluster: StaticCluster) -> None:
    listeners = [node.client() for node in cluster.nodes]
    for listener in listeners:
        listener.send("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener.send("PSUBSCRIBE", "__key*__:*")
        listener.send("SUBSCRIBE", "end")
    with cluster.nodes[0].client() as client:
        assert client.send("SET", "bar", 1).raw == b"+OK\r\n"
        client.send("PUBLISH", "end", "end")
    shown: list[list[list[bytes]]] = []
    for listener in listeners:
        shown.append([])
        while (found := listener.read().frame.blobs())[0] != b"message":
            shown[-1].append(found[2:])
        listener.close()
    assert shown == [[[b"__keyspace@0__:bar", b"set"], [b"__keyevent@0__:set", b"bar"]], [], []]


def test_a_script_is_known_to_all_and_to_who_comes_later(cluster: StaticCluster) -> None:
    with cluster.nodes[1].client() as client:
        digest = client.send("SCRIPT", "LOAD", "return 'known'").frame.data or b""
    for node in cluster.nodes:
        wait_until_known(node, digest)
    last = cluster.nodes[2]
    last.restart()
    cluster.owners = [cluster.nodes[0].id] * len(cluster.owners)
    cluster.tell()
    wait_until_known(last, digest)
    with cluster.nodes[0].client() as client:
        client.send("SCRIPT", "FLUSH")
    for node in cluster.nodes:
        wait_until_known(node, digest, 0)


def wait_until_known(node: StaticNode, digest: bytes, known: int = 1) -> None:
    with node.client() as client:
        wait_until(lambda: client.send("SCRIPT", "EXISTS", digest).raw == b"*1\r\n:%d\r\n" % known)


LIBRARY = "#!lua name=%s\nredis.register_function('%s', function() return '%s' end)"


def libraries(client: WireClient) -> set[bytes]:
    return {
        value.data or b""
        for one in client.send("FUNCTION", "LIST").frame.elements
        for name, value in one.pairs()
        if name.data == b"library_name"
    }


def wait_until_all_have(cluster: StaticCluster, names: set[bytes]) -> None:
    for node in cluster.nodes:
        with node.client() as client:
            wait_until(partial(_has, client, names), node.output)


def _has(client: WireClient, names: set[bytes]) -> bool:
    return libraries(client) == names


def wait_until_answered(cluster: StaticCluster, reply: bytes) -> None:
    """Until each node calls the function of that reply."""
    for node in cluster.nodes:
        with node.client() as client:
            wait_until(partial(_calls, client, reply), node.output)


def _calls(client: WireClient, reply: bytes) -> bool:
    return client.send("FCALL", "f", 0).frame.data == reply


@pytest.mark.parametrize("place", [0, 2])
def test_functions_are_known_to_all_wherever_they_are_loaded(
    place: int, cluster: StaticCluster
) -> None:
    with cluster.nodes[place].client() as client:
        load = ("FUNCTION", "LOAD", LIBRARY % ("one", "f", "1"))
        assert client.send(*load).raw == b"$3\r\none\r\n"
        assert client.send(*load).raw == b"-ERR Library 'one' already exists\r\n"
        wait_until_all_have(cluster, {b"one"})
        payload = client.send("FUNCTION", "DUMP").frame.data or b""
        assert client.send("FUNCTION", "DELETE", "one").raw == b"+OK\r\n"
        wait_until_all_have(cluster, set())
        assert client.send("FUNCTION", "DELETE", "one").raw == b"-ERR Library not found\r\n"
        assert client.send("FUNCTION", "RESTORE", payload).raw == b"+OK\r\n"
        wait_until_all_have(cluster, {b"one"})
        wait_until_answered(cluster, b"1")
        client.send("FUNCTION", "LOAD", "REPLACE", LIBRARY % ("one", "f", "2"))
        wait_until_answered(cluster, b"2")
        assert client.send("FUNCTION", "FLUSH").raw == b"+OK\r\n"
        wait_until_all_have(cluster, set())


def test_who_comes_later_has_the_functions(cluster: StaticCluster) -> None:
    with cluster.nodes[1].client() as client:
        client.send("FUNCTION", "LOAD", LIBRARY % ("one", "f", "1"))
    last = cluster.nodes[2]
    last.restart()
    cluster.owners = [cluster.nodes[0].id] * len(cluster.owners)
    cluster.tell()
    wait_until_all_have(cluster, {b"one"})


def test_functions_cannot_be_changed_while_their_keeper_is_away(cluster: StaticCluster) -> None:
    cluster.nodes[0].kill9()
    with cluster.nodes[1].client() as client:
        wait_until(lambda: len(client.send("CLUSTER", "LINKS").frame.elements) == 2)
        reply = client.send("FUNCTION", "LOAD", LIBRARY % ("one", "f", "1"))
        assert reply.raw.startswith(b"-TRYAGAIN")
        client.send("MULTI")
        client.send("FUNCTION", "FLUSH")
        assert b"kept by the node of slot 0" in client.send("EXEC").raw


def test_nobody_else_is_a_node(cluster: StaticCluster) -> None:
    with cluster.nodes[0].client() as client:
        refused = b"-ERR This is for the nodes of a cluster alone\r\n"
        for words in (
            ("STRATA", "PEER", cluster.nodes[1].id, "guessed"),
            ("STRATA", "RELAY", "channel", "message"),
            ("STRATA", "LIBRARIES"),
        ):
            assert client.send(*words).raw == refused
        assert b"secret" not in client.send("CLUSTER", "NODES").raw


def test_nodes_speak_to_each_other_whatever_clients_must_show(tmp_path: Path) -> None:
    flags = ("--engine", "memory", "--requirepass", "password")
    cluster = StaticCluster(tmp_path, flags=flags)
    try:
        cluster.start().wait_until_linked()
        with cluster.nodes[2].client() as listener, cluster.nodes[0].client() as client:
            listener.send("SUBSCRIBE", "news")
            client.send("PUBLISH", "news", "x")
            assert listener.read().frame.blobs() == [b"message", b"news", b"x"]
    finally:
        cluster.stop()


def test_nodes_and_clients_over_tls(tmp_path: Path) -> None:
    files = make_certificates(tmp_path)
    flags: tuple[str, ...] = ("--tls-cert-file", f"{files}/server.pem")
    flags += ("--tls-key-file", f"{files}/server.key")
    flags += ("--tls-ca-cert-file", f"{files}/ca.pem", "--engine", "memory")
    cluster = StaticCluster(tmp_path / "cluster", flags=flags)
    try:
        cluster.start().wait_until_linked()
        for node in cluster.nodes:
            secure = free_port()
            with node.client() as client:
                assert client.send("CONFIG", "SET", "tls-port", secure).raw == b"+OK\r\n"
            node.described |= {"tls_port": secure, "peer_port": secure, "port": 0}
        cluster.tell()
        cluster.wait_until_linked()
        with cluster.nodes[2].client() as listener:
            listener.send("SUBSCRIBE", "news")
            said = ask_over_tls(files, cluster.nodes[0], b"PUBLISH news x\r\nGET a\r\nQUIT\r\n")
            assert listener.read().frame.blobs() == [b"message", b"news", b"x"]
        moved = b"-MOVED 15495 127.0.0.1:%d\r\n" % cluster.nodes[2].described["tls_port"]
        assert said == b":0\r\n" + moved + b"+OK\r\n"
    finally:
        cluster.stop()


def ask_over_tls(files: Path, node: StaticNode, requests: bytes) -> bytes:
    context = ssl.create_default_context(cafile=str(files / "ca.pem"))
    context.load_cert_chain(files / "client.pem", files / "client.key")
    with (
        socket.create_connection(("127.0.0.1", node.described["tls_port"])) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        secure.sendall(requests)
        return b"".join(iter(lambda: secure.recv(4096), b""))
