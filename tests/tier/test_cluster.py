"""A Redis Cluster as cache and as store of scores: slots, redirections, and slots that move."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.slots import slot_of
from stratakv.storage.cache.slots import ranges_of, split
from tests.harness.servers import StartError, StrataServer
from tests.harness.waiting import wait_until
from tests.tier.cluster import RedisCluster
from tests.tier.ledger import Ledger
from tests.tier.servers import PATIENT, wait_until_used
from tests.tier.test_faults import SECONDS, _info

SHORT, LONG = b"short", b"a-member-of-more-than-15"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    server = RedisCluster(tmp_path_factory.mktemp("cluster")).start()
    yield server
    server.stop()


def start(directory: Path, cluster: RedisCluster, *flags: str) -> StrataServer:
    """A new store, on a cluster that has nothing of any other."""
    for node in cluster.nodes:
        with node.client() as client:
            client.send("FLUSHALL")
    urls = ("--cache-url", cluster.url, "--zset-store-url", cluster.url)
    versions = ("--hash-encoding", "2", "--set-encoding", "2")
    server = StrataServer(directory, flags=(*urls, *versions, *PATIENT, *flags)).start()
    wait_until_used(server)
    wait_for_store(server)
    return server


def wait_for_store(server: StrataServer) -> None:
    wait_until(lambda: _info(server)["zset_store_breaker"] == "closed", server.output)


def wait_for_losses(server: StrataServer, count: int) -> None:
    wait_until(lambda: int(_info(server)["tier_losses"]) >= count, server.output)


def test_slots_are_those_of_redis(cluster: RedisCluster) -> None:
    names = [b"", b"a", b"{a}b", b"x{a}b", b"{}a", b"a{}b", b"{a", b"}a{b}", b"{{a}}", b"{a}{b}"]
    names += [b"c#0:\0\0\0%c\0\0\0\1{k}" % byte for byte in range(256)]
    with cluster.nodes[0].client() as client:
        for name in names:
            assert client.send("CLUSTER", "KEYSLOT", name).frame.number == slot_of(name), name


def test_names_of_several_slots_are_split() -> None:
    together = (b"MGET", b"{a}1", b"{a}2")
    assert [part.words for part in split(together)] == [together]
    parts = split((b"UNLINK", b"{a}1", b"{b}1", b"{a}2"))
    assert [(part.words, part.places) for part in parts] == [
        ((b"UNLINK", b"{a}1", b"{a}2"), [0, 2]),
        ((b"UNLINK", b"{b}1"), [1]),
    ]
    assert split((b"EVAL", b"return 1", 1, b"{a}1", 5))[0].slot == slot_of(b"a")
    with pytest.raises(ValueError, match="nonsense"):
        ranges_of(b"nonsense")


@pytest.mark.parametrize("zset", ["1", "2", "3"])
def test_every_kind_of_entry_is_spread_over_the_nodes(
    zset: str, cluster: RedisCluster, tmp_path: Path
) -> None:
    strata = start(tmp_path / "strata", cluster, "--zset-encoding", zset)
    try:
        with strata.client() as client:
            for round_ in range(2):
                for number in range(30):
                    key = str(number)
                    client.send("HSET", "h" + key, "f", key, "g", "2")
                    client.send("SADD", "s" + key, key, "b")
                    client.send("ZADD", "z" + key, "1", SHORT, "2", LONG)
                    for _ in range(2):
                        assert client.send("HMGET", "h" + key, "f", "g").frame.blobs() == [
                            key.encode(),
                            b"2",
                        ]
                        assert len(client.send("HGETALL", "h" + key).frame.blobs()) == 4
                        assert len(client.send("SMEMBERS", "s" + key).frame.blobs()) == 2
                        found = client.send("ZRANGE", "z" + key, "0", "-1").frame.blobs()
                        assert found == [SHORT, LONG]
                        assert client.send("ZRANK", "z" + key, LONG).frame.number == 1
                if not round_:
                    client.send("FLUSHALL")
        info = _info(strata)
        assert (info["tier_losses"], info["zset_store_losses"]) == ("0", "0")
        for kind in ("hget", "hgetall", "smembers", *(["zset"] if zset != "3" else [])):
            assert "hits=0" not in info[f"cache_{kind}"], info
        for node in cluster.nodes:
            with node.client() as client:
                assert (client.send("DBSIZE").frame.number or 0) > 10
    finally:
        strata.stop()


@pytest.mark.parametrize("key", [b"", b"}x", b"{}", b"}{", b"a}b"], ids=repr)
def test_names_whose_entries_are_in_many_slots(
    key: bytes, cluster: RedisCluster, tmp_path: Path
) -> None:
    strata = start(tmp_path / "strata", cluster, "--zset-encoding", "1")
    fields = [b"f%d" % number for number in range(20)]
    pairs = [word for name in fields for word in (name, name)]
    try:
        with strata.client() as client:
            hash_, zset = key + b"", key + b"\0z"
            client.send("HSET", hash_, *pairs)
            for value in (b"old", b"new"):
                client.send("HSET", hash_, "f7", value)
                expected = [value if name == b"f7" else name for name in fields]
                for _ in range(2):
                    assert client.send("HMGET", hash_, *fields).frame.blobs() == expected
            for number in range(20):
                client.send("ZADD", zset, str(number), f"member-{number}")
                assert client.send("ZRANK", zset, f"member-{number}").frame.number == number
            client.send("DEL", hash_, zset)
            client.send("ZADD", hash_, "1", "a", "2", "b")
            assert client.send("ZRANGE", hash_, "0", "-1").frame.blobs() == [b"a", b"b"]
            assert client.send("ZREVRANK", hash_, "a").frame.number == 1
        assert _info(strata)["tier_losses"] == "0"
    finally:
        strata.stop()


@pytest.mark.effort
@pytest.mark.parametrize("zset", ["1", "2", "3"])
def test_slots_move_without_a_stale_read_a_lost_write_or_an_error(
    zset: str, cluster: RedisCluster, tmp_path: Path
) -> None:
    strata = start(tmp_path / "strata", cluster, "--zset-encoding", zset)
    moved = 0
    try:
        with Ledger(strata) as ledger:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and not ledger.over.is_set():
                for key in (b"hash", b"set", b"zset"):
                    cluster.move(slot_of(key), pause_seconds=0.02)
                    moved += 1
        assert moved >= 3
        cluster.wait_until_agreed()
        info = _info(strata)
        assert int(info["tier_errors" if zset != "3" else "zset_store_errors"]) > 0, (
            "no redirection"
        )
    finally:
        strata.stop()


def test_a_master_that_goes_and_comes_back(cluster: RedisCluster, tmp_path: Path) -> None:
    strata = start(tmp_path / "strata", cluster, "--zset-encoding", "1")
    victim = cluster.nodes[1]
    argv = victim._argv()
    try:
        with Ledger(strata):
            for losses in (1, 2):
                victim.kill9()
                wait_for_losses(strata, losses)
                victim._spawn(argv, {**os.environ})
                cluster.wait_until_agreed()
                wait_until_used(strata)
    finally:
        strata.stop()


@pytest.mark.full
def test_a_replica_takes_the_place_of_a_dead_master(tmp_path: Path) -> None:
    cluster = RedisCluster(tmp_path / "cluster").start()
    strata = None
    try:
        victim = cluster.owner_of(slot_of(b"hash"))
        if victim is cluster.nodes[0]:  # it is the address that the server was given
            cluster.move(slot_of(b"hash"))
            victim = cluster.owner_of(slot_of(b"hash"))
        replica = cluster.add_replica(victim)
        strata = start(tmp_path / "strata", cluster, "--zset-encoding", "1")
        with Ledger(strata):
            time.sleep(0.5)
            victim.kill9()
            cluster.wait_for_promotion(replica)
            wait_until_used(strata)
            time.sleep(0.5)
        wait_for_losses(strata, 1)
        with replica.client() as client:
            assert client.send("DBSIZE").frame.number, "the tier uses the new master"
    finally:
        if strata is not None:
            strata.stop()
        cluster.stop()


def test_a_cluster_with_a_node_that_evicts_is_no_store(
    cluster: RedisCluster, tmp_path: Path
) -> None:
    with cluster.nodes[2].client() as client:
        client.send("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        try:
            flags = ("--zset-store-url", cluster.url, "--zset-encoding", "3")
            with pytest.raises(StartError, match=r"(?s)zset-store-url.*allkeys-lru"):
                StrataServer(tmp_path / "strata", flags=flags).start()
        finally:
            client.send("CONFIG", "SET", "maxmemory-policy", "noeviction")
