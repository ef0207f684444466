"""Clients of a Redis Cluster as users have them: redis-py, sync and asyncio, and redis-cli."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException

from stratakv.slots import group_of, slot_of
from tests.cluster.nodes import GROUPS, StaticCluster
from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S, wait_until

KEYS = [f"key:{number}" for number in range(300)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StaticCluster]:
    found = StaticCluster(tmp_path, flags=("--engine", "memory"), apart=False).start()
    found.wait_until_linked()
    yield found
    found.stop()


def connect(cluster: StaticCluster, protocol: int = 2) -> Any:
    first = cluster.nodes[1]
    return RedisCluster(host="127.0.0.1", port=first.port, protocol=protocol)


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(cluster: StaticCluster, protocol: int) -> None:
    client = connect(cluster, protocol)
    assert len(client.get_primaries()) == 3
    for number, key in enumerate(KEYS):
        client.set(key, number)
    assert [int(client.get(key) or -1) for key in KEYS] == list(range(300))
    assert client.mget_nonatomic(KEYS) == [b"%d" % number for number in range(300)]
    assert client.dbsize(target_nodes="primaries") == 300
    with pytest.raises(RedisClusterException):
        client.mget(KEYS)
    client.mset({"{tag}1": 1, "{tag}2": 2})
    assert client.mget("{tag}1", "{tag}2") == [b"1", b"2"]
    with client.pipeline() as pipeline:
        for key in KEYS:
            pipeline.incr(key)
        assert pipeline.execute() == list(range(1, 301))
    assert set(client.scan_iter("key:*", count=100)) == {key.encode() for key in KEYS}
    script = client.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
    assert script(keys=["{tag}1"], args=[5]) == 6
    client.flushall(target_nodes="primaries")
    assert client.dbsize(target_nodes="primaries") == 0
    client.close()


def test_transactions_of_redis_py(cluster: StaticCluster) -> None:
    client = connect(cluster)
    client.set("{user}:money", 5)
    with client.pipeline(transaction=True) as pipeline:
        pipeline.watch("{user}:money")
        pipeline.multi()
        pipeline.incrby("{user}:money", 5)
        pipeline.rpush("{user}:log", "got 5")
        assert pipeline.execute() == [10, 1]
    client.close()


def test_redis_py_follows_groups_that_move(cluster: StaticCluster) -> None:
    """Under way: each move is a MOVED, and nothing else."""
    client = connect(cluster)
    over = threading.Event()
    failures: list[Exception] = []

    def work() -> None:
        count = 0
        while not over.is_set():
            try:
                client.set(f"key:{count % 300}", count)
                client.get(f"key:{count % 300}")
            except Exception as failure:  # whatever it is, it is told
                failures.append(failure)
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(12):
            cluster.give(number % GROUPS, cluster.nodes[(number * 7 + 1) % 3])
    finally:
        over.set()
        thread.join()
        client.close()
    assert not failures


def test_messages_through_redis_py(cluster: StaticCluster) -> None:
    client = connect(cluster)
    listener = client.pubsub()
    listener.subscribe("news")
    sharded = client.pubsub()
    sharded.ssubscribe("shard")
    wait_until(lambda: (listener.get_message(timeout=1) or {}).get("type") == "subscribe")
    wait_until(lambda: (sharded.get_sharded_message(timeout=1) or {}).get("type") == "ssubscribe")
    for node in client.get_primaries():
        client.publish("news", f"from {node.port}", target_nodes=node)
    found = {listener.get_message(timeout=HANG_S)["data"] for _ in range(3)}
    assert found == {b"from %d" % node.port for node in cluster.nodes}
    assert client.spublish("shard", "x") == 1
    assert wait_until(lambda: sharded.get_sharded_message(timeout=1))["data"] == b"x"
    listener.close()
    sharded.close()
    client.close()


async def test_redis_py_asyncio(cluster: StaticCluster) -> None:
    node = cluster.nodes[2]
    async with redis.asyncio.RedisCluster(host="127.0.0.1", port=node.port) as client:
        for key in KEYS:
            await client.set(key, key)
        some = KEYS[:30]
        found = await asyncio.gather(*(client.get(key) for key in some))
        assert found == [key.encode() for key in some]
        cluster.give(0, cluster.nodes[2])
        async with client.pipeline() as pipeline:
            for key in KEYS:
                pipeline.get(key)
            found = await pipeline.execute()
        lost = [key for key, value in zip(KEYS, found, strict=True) if value != key.encode()]
        assert all(group_of(slot_of(key.encode()), GROUPS) == 0 for key in lost)


@pytest.mark.skipif(shutil.which("redis-cli") is None, reason="there is no redis-cli")
def test_redis_cli_follows_redirections(cluster: StaticCluster) -> None:
    port = str(cluster.nodes[0].port)
    lines = "".join(f"SET {key} {key}\nGET {key}\n" for key in KEYS[:30])
    done = subprocess.run(
        ["redis-cli", "-c", "-p", port], input=lines, capture_output=True, text=True, check=True
    )
    said = [line for line in done.stdout.split() if line.startswith(("OK", "key:"))]
    assert said == [word for key in KEYS[:30] for word in ("OK", key)]


@pytest.mark.skipif(shutil.which("redis-cli") is None, reason="there is no redis-cli")
def test_redis_cli_finds_the_cluster_in_order(cluster: StaticCluster) -> None:
    def check() -> subprocess.CompletedProcess[str]:
        where = f"127.0.0.1:{cluster.nodes[0].port}"
        words = ["redis-cli", "--cluster", "check", where]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    done = check()
    assert done.returncode == 0, done.stdout
    assert "All nodes agree about slots configuration" in done.stdout
    assert "All 16384 slots covered" in done.stdout
    cluster.owners[0] = ""
    cluster.tell()
    done = check()
    assert done.returncode == 1
    assert "Not all 16384 slots are covered by nodes" in done.stdout


@pytest.mark.skipif(shutil.which("redis-benchmark") is None, reason="there is no redis-benchmark")
def test_redis_benchmark_of_a_cluster(cluster: StaticCluster) -> None:
    words = ["redis-benchmark", "--cluster", "-p", str(cluster.nodes[0].port)]
    words += [
        "-t",
        "set,get,incr,lpush,hset,spop,mset",
        "-n",
        "3000",
        "-P",
        "8",
        "-r",
        "1000",
        "-q",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.count("requests per second") == 7, done.stdout
    assert "rror" not in done.stdout + done.stderr


def test_a_node_alone_is_a_cluster_to_clients(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "alone", flags=("--cluster-enabled", "yes")).start()
    try:
        with RedisCluster(host="127.0.0.1", port=server.port) as client:
            for key in KEYS:
                client.set(key, key)
            assert client.dbsize() == 300
        server.kill9()
        server.restart()
        with RedisCluster(host="127.0.0.1", port=server.port) as client:
            assert client.get("key:7") == b"key:7"
            assert client.cluster_countkeysinslot(slot_of(b"key:7")) == 1
        server.stop()
        plain = StrataServer(tmp_path / "alone").start()
        with plain.client() as wire:
            wire.send("SELECT", 3)
            wire.send("SET", "a", 1)
        plain.stop()
        with pytest.raises(AssertionError, match="there are keys in database 3"):
            server.start()
    finally:
        server.stop()
