"""maxmemory: copies leave memory, data stay; maxmemory-clients: the largest clients are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient, encode

MB = 1 << 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data").start()
    yield started
    started.stop()


@pytest.fixture
def client(server: StrataServer) -> Iterator[WireClient]:
    with server.client() as connected:
        yield connected


def shown(client: WireClient, section: str, name: str) -> int:
    lines = client.send("INFO", section).raw.decode().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split(":")[1])


def configure(client: WireClient, *words: object) -> None:
    assert client.send("CONFIG", "SET", *map(str, words)).raw == b"+OK\r\n"


def fill(client: WireClient, keys: int) -> None:
    for start in range(0, keys, 100):
        client.pipeline(("SET", f"k{n}", b"v" * 1000) for n in range(start, start + 100))


# maxmemory


@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru", "volatile-ttl"])
def test_beyond_maxmemory_copies_go_and_no_key_does(client: WireClient, policy: str) -> None:
    configure(client, "maxmemory", MB, "maxmemory-policy", policy)
    fill(client, 12_000)
    limit = shown(client, "cache", "meta_cache_limit_bytes")
    assert limit < 8 * MB
    wait_until(
        lambda: shown(client, "cache", "meta_cache_bytes") <= limit, "nothing left the memory"
    )
    assert client.send("DBSIZE").raw == b":12000\r\n"
    assert client.send("GET", "k0").frame.data == b"v" * 1000
    assert client.send("MULTI").raw == b"+OK\r\n"
    assert client.send("SET", "k0", "new").raw == b"+QUEUED\r\n"
    assert client.send("EXEC").raw == b"*1\r\n+OK\r\n"
    assert shown(client, "memory", "maxmemory") == MB
    assert shown(client, "stats", "evicted_keys") == 0


def test_the_caches_shrink_at_once_and_grow_again(client: WireClient) -> None:
    fill(client, 12_000)
    before = shown(client, "cache", "meta_cache_limit_bytes")
    cached = shown(client, "cache", "meta_cache_bytes")
    configure(client, "maxmemory", MB)
    wait_until(
        lambda: shown(client, "cache", "meta_cache_bytes") < cached // 4, "nothing was dropped"
    )
    configure(client, "maxmemory", 0)
    assert shown(client, "cache", "meta_cache_limit_bytes") == before


def test_maxmemory_is_for_all_that_the_caches_may_take(tmp_path: Path) -> None:
    limits = []
    for size in ("256mb", "1gb"):
        flags = ("--maxmemory", size)
        server = StrataServer(tmp_path / size, flags=flags).start()
        with server.client() as client:
            limits.append(shown(client, "cache", "meta_cache_limit_bytes"))
        server.stop()
    assert limits[0] < 128 * MB < limits[1] < 896 * MB


# maxmemory-clients


def exists(client: WireClient, name: str) -> bool:
    return b"name=%b " % name.encode() in client.send("CLIENT", "LIST").raw


def memory_of(client: WireClient, name: str, field: str = "tot-mem") -> int:
    lines = client.send("CLIENT", "LIST").raw.splitlines()
    line = next(line for line in lines if b"name=%b " % name.encode() in line)
    return int(line.split(field.encode() + b"=")[1].split()[0])


def half_sent(server: StrataServer | RedisServer, name: str, size: int) -> WireClient:
    """A client that has sent an argument of that size, but for its end."""
    wire = server.client()
    wire.send("CLIENT", "SETNAME", name)
    wire.write(b"*2\r\n$%d\r\n" % size + b"v" * size)
    return wire


def test_the_largest_go_first_and_no_more_than_have_to(
    server: StrataServer, client: WireClient
) -> None:
    client.send("CLIENT", "NO-EVICT", "ON")
    client.send("CLIENT", "SETNAME", "control")
    sizes = {"small": MB // 4, "middle": MB, "large": 4 * MB}
    wires = [half_sent(server, name, size) for name, size in sizes.items()]
    for name, size in sizes.items():
        wait_until(lambda n=name, s=size: memory_of(client, n) >= s, "not all has arrived")  # type: ignore[misc]
        assert memory_of(client, name, "qbuf") == size
    configure(client, "maxmemory-clients", 3 * MB)
    assert [exists(client, name) for name in sizes] == [True, True, False]
    configure(client, "maxmemory-clients", MB // 2)
    assert [exists(client, name) for name in sizes] == [True, False, False]
    assert shown(client, "stats", "evicted_clients") == 2
    configure(client, "maxmemory-clients", 0)
    for wire in wires:
        wire.close()


def test_a_share_is_one_of_maxmemory(server: StrataServer, client: WireClient) -> None:
    client.send("CLIENT", "NO-EVICT", "ON")
    configure(client, "maxmemory", 20 * MB, "maxmemory-clients", "10%")
    with half_sent(server, "fits", MB), half_sent(server, "large", 3 * MB):
        wait_until(lambda: not exists(client, "large"), "nobody was cut")
        assert exists(client, "fits")
        configure(client, "maxmemory", 5 * MB)
        assert not exists(client, "fits")


def queue(wire: WireClient) -> None:
    wire.send("MULTI")
    for _ in range(5):
        wire.send("SET", "k", "v" * MB)


def leave_replies(wire: WireClient) -> None:
    for _ in range(400):
        wire.write(encode("GET", "large"))


def name_many(wire: WireClient, *words: str) -> None:
    for part in range(20):
        wire.write(encode(*words, *[f"name{part}-{number}" for number in range(1000)]))


def broadcast_many(wire: WireClient) -> None:
    """Each prefix is compared with all others, so there are fewer."""
    for part in range(10):
        words = [word for number in range(100) for word in ("PREFIX", f"{part:03}{number:03}:")]
        wire.write(encode("CLIENT", "TRACKING", "ON", "BCAST", *words))


WAYS: dict[str, Callable[[WireClient], None]] = {
    "transaction": queue,
    "replies": leave_replies,
    "channels": lambda wire: name_many(wire, "SUBSCRIBE"),
    "patterns": lambda wire: name_many(wire, "PSUBSCRIBE"),
    "watches": lambda wire: name_many(wire, "WATCH"),
    "prefixes": broadcast_many,
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_makes_a_client_large_counts(
    server: StrataServer, client: WireClient, way: str
) -> None:
    client.send("CLIENT", "NO-EVICT", "ON")
    client.send("SET", "large", b"v" * 100_000)
    configure(client, "maxmemory-clients", 300_000 if way == "prefixes" else 3 * MB)
    with server.client() as wire:
        wire.send("CLIENT", "SETNAME", "greedy")
        with suppress(ConnectionError, EOFError):
            WAYS[way](wire)
        wait_until(lambda: not exists(client, "greedy"), "it was not cut")
    assert shown(client, "stats", "evicted_clients") == 1


def test_who_asked_for_it_is_spared_until_it_no_longer_does(
    server: StrataServer, client: WireClient
) -> None:
    client.send("CLIENT", "NO-EVICT", "ON")
    configure(client, "maxmemory-clients", MB)
    wire = server.client()
    wire.send("CLIENT", "SETNAME", "spared")
    wire.send("CLIENT", "NO-EVICT", "ON")
    wire.send("MULTI")
    wire.send("SET", "k", "v" * 2 * MB)
    assert memory_of(client, "spared", "multi-mem") > 2 * MB
    wire.send("DISCARD")
    wire.send("CLIENT", "NO-EVICT", "OFF")
    wire.send("MULTI")
    with suppress(ConnectionError, EOFError):
        wire.send("SET", "k", "v" * 2 * MB)
    wait_until(lambda: not exists(client, "spared"), "it was not cut")


def test_what_a_client_has_sent_in_part_is_told_as_by_redis(
    server: StrataServer, client: WireClient, redis_server: RedisServer
) -> None:
    with redis_server.client() as redis:
        for one, admin in ((server, client), (redis_server, redis)):
            with half_sent(one, "half", MB):
                wait_until(
                    lambda a=admin: memory_of(a, "half", "qbuf") == MB,  # type: ignore[misc]
                    "another size is told",
                )
