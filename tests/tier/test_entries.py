"""The entries in Redis have the names, types and contents of the layout, byte for byte."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

import pytest

from stratakv.encodings.keyspace.zset_marks import NAME
from tests.harness.servers import RedisServer, StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.tier.servers import PATIENT, start_strata, wait_until_used

SHORT, LONG = b"fourteen-bytes", b"fifteen-or-more"


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("tier") / "data").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def strata(tier: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    directory = tmp_path_factory.mktemp("strata")
    config = directory / "stratakv.toml"
    config.write_text(
        "".join(
            f'[[policy]]\nmatch = "{kind}{version}*"\n{kind} = {version}\n'
            for kind, versions in (("hash", (0, 2, 3)), ("set", (2, 3)), ("zset", (0, 1, 2, 3)))
            for version in versions
        )
        + '[[policy]]\nmatch = "off*"\nhash = 2\ncache = "off"\n'
        + '[[policy]]\nmatch = "brief*"\nhash = 2\ncache_ttl = "5m"\n'
    )
    server = start_strata(directory / "data", tier, "--config", str(config), *PATIENT)
    yield server
    server.stop()


@pytest.fixture
def wire(strata: StrataServer) -> Iterator[WireClient]:
    with strata.client() as client:
        client.send("FLUSHALL")
        yield client


@pytest.fixture
def cache(tier: RedisServer) -> Iterator[WireClient]:
    with tier.client() as client:
        client.send("SELECT", "1")
        for name in names(client):  # all but the mark
            client.send("DEL", name)
        client.send("SELECT", "0")
        client.send("FLUSHDB")
        yield client


def version_of(wire: WireClient, key: str) -> int:
    lines = [line.decode("latin-1") for line in wire.send("STRATA", "INSPECT", key).frame.blobs()]
    return int(next(line for line in lines if line.startswith("  version: ")).split()[1])


def generation_of(wire: WireClient) -> int:
    text = (wire.send("INFO", "cache").frame.data or b"").decode()
    return int(text.split("tier_generation:")[1].split()[0])


def namespace(wire: WireClient) -> bytes:
    line = wire.send("STRATA", "INSPECT", "ns-probe").frame
    assert line is not None
    wire.send("SET", "ns-probe", "1")
    shown = wire.send("STRATA", "INSPECT", "ns-probe").frame.blobs()[0]
    wire.send("DEL", "ns-probe")
    return shown.split(b"#", 1)[1].split(b":", 1)[0] + b":"


def entry(wire: WireClient, key: bytes, *, stored: bool = False) -> bytes:
    """The name by the layout's grammar."""
    generation = b"" if stored else struct.pack(">I", generation_of(wire))
    version = struct.pack(">Q", version_of(wire, key.decode()))
    length = struct.pack(">I", len(key))
    return b"c#" + namespace(wire) + generation + length + b"{" + key + b"}" + version


def names(cache: WireClient) -> set[bytes]:
    """All entries; the mark of the store is none."""
    return set(cache.send("KEYS", "*").frame.blobs()) - {NAME}


@pytest.mark.parametrize("key", [b"hash2", b"hash3"])
def test_a_hash_has_an_entry_per_field_and_one_for_all(
    key: bytes, wire: WireClient, cache: WireClient
) -> None:
    wire.send("HSET", key, "f", "1", "g", "2")
    assert names(cache) == set()
    wire.send("HGET", key, "f")
    name = entry(wire, key)
    wait_until(lambda: names(cache) == {name + b"f"})
    assert cache.send("GET", name + b"f").frame.data == b"1"
    wire.send("HGETALL", key)
    wait_until(lambda: names(cache) == {name, name + b"f"})
    assert cache.send("TYPE", name).frame.data == b"hash"
    assert sorted(cache.send("HGETALL", name).frame.blobs()) == [b"1", b"2", b"f", b"g"]
    wire.send("HSET", key, "f", "3")
    wait_until(lambda: names(cache) == set())  # a write takes what it changed out of the cache
    assert wire.send("HGET", key, "f").frame.data == b"3"


@pytest.mark.parametrize("key", [b"set2", b"set3"])
def test_a_set_has_one_entry(key: bytes, wire: WireClient, cache: WireClient) -> None:
    wire.send("SADD", key, "a", "b")
    wire.send("SMEMBERS", key)
    name = entry(wire, key)
    wait_until(lambda: names(cache) == {name})
    assert cache.send("TYPE", name).frame.data == b"set"
    assert sorted(cache.send("SMEMBERS", name).frame.blobs()) == [b"a", b"b"]


def test_a_sorted_set_v1_is_there_in_full(wire: WireClient, cache: WireClient) -> None:
    wire.send("ZADD", "zset1", "1", SHORT, "2", LONG)
    wire.send("ZRANK", "zset1", LONG)
    name = entry(wire, b"zset1")
    assert names(cache) == {name}
    shown = cache.send("ZRANGE", name, "0", "-1", "WITHSCORES").frame.blobs()
    assert shown == [SHORT, b"1", LONG, b"2"]
    wire.send("ZADD", "zset1", "0.5", LONG)
    followed = [LONG, b"0.5", SHORT, b"1"]
    ask = ("ZRANGE", name, "0", "-1", "WITHSCORES")
    wait_until(lambda: cache.send(*ask).frame.blobs() == followed)  # and not dropped


def test_a_sorted_set_v2_has_indexes_and_long_members(wire: WireClient, cache: WireClient) -> None:
    wire.send("ZADD", "zset2", "1", SHORT, "2", LONG)
    assert wire.send("ZRANGE", "zset2", "0", "-1").frame.blobs() == [SHORT, LONG]
    name = entry(wire, b"zset2")
    index = b"\x01" + hashlib.md5(LONG).digest()
    wait_until(lambda: names(cache) == {name, name + index})
    assert cache.send("ZRANGE", name, "0", "-1").frame.blobs() == [b"\x00" + SHORT, index]
    assert cache.send("GET", name + index).frame.data == LONG


def test_a_sorted_set_v3_has_its_scores_in_the_store_without_a_generation(
    wire: WireClient, cache: WireClient
) -> None:
    wire.send("ZADD", "zset3", "1", SHORT, "2", LONG)
    name = entry(wire, b"zset3", stored=True)
    index = b"\x01" + hashlib.md5(LONG).digest()
    cache.send("SELECT", "1")
    assert names(cache) == {name}
    shown = cache.send("ZRANGE", name, "0", "-1", "WITHSCORES").frame.blobs()
    assert shown == [b"\x00" + SHORT, b"1", index, b"2"]
    wire.send("DEL", "zset3")
    wait_until(lambda: names(cache) == set())  # reclaiming takes the scores away
    cache.send("SELECT", "0")


def test_version_0_has_no_entries(wire: WireClient, cache: WireClient) -> None:
    wire.send("HSET", "hash0", "f", "1")
    wire.send("HGETALL", "hash0")
    wire.send("ZADD", "zset0", "1", "a")
    wire.send("ZRANK", "zset0", "a")
    assert names(cache) == set()


def test_a_policy_turns_the_cache_off_or_shortens_its_life(
    wire: WireClient, cache: WireClient
) -> None:
    wire.send("HSET", "off1", "f", "1")
    assert wire.send("HGET", "off1", "f").frame.data == b"1"
    assert names(cache) == set()
    wire.send("HSET", "brief1", "f", "1")
    wire.send("HGET", "brief1", "f")
    name = entry(wire, b"brief1") + b"f"
    wait_until(lambda: names(cache) == {name})
    assert 0 < (cache.send("TTL", name).frame.number or 0) <= 300


def test_policies_are_explained(wire: WireClient) -> None:
    shown = wire.send("STRATA", "POLICY", "EXPLAIN", "zset2-x").frame
    found = {key.data: item for key, item in shown.pairs()}
    assert found[b"zset"].number == 2
    assert b"match 'zset2*' in any db" in (found[b"rule"].data or b"")
    assert b"line " in (found[b"rule"].data or b"")
    shown = wire.send("STRATA", "POLICY", "EXPLAIN", "other").frame
    assert b"no policy" in shown.blobs()[1]


@pytest.mark.parametrize("kind", ["hash", "set", "zset"])
def test_keys_move_between_versions_in_the_background(kind: str, wire: WireClient) -> None:
    fill = {"hash": "HSET k f 1 g 2", "set": "SADD k f g", "zset": f"ZADD k 1 f 2 {LONG.decode()}"}
    read = {"hash": "HGETALL k", "set": "SMEMBERS k", "zset": "ZRANGE k 0 -1 WITHSCORES"}
    wire.send(*fill[kind].split())
    wire.send("EXPIRE", "k", "1000")
    before = wire.send(*read[kind].split()).raw
    for version in (2, 1, 3, 0, 3, 2, 0):
        assert wire.send("STRATA", "REENCODE", "k*", str(version)).raw == b"+OK\r\n"
        progress = wait_for_reencoding(wire)
        assert (progress[b"keys-seen"], progress[b"keys-failed"]) == (1, 0)
        shown = wire.send("STRATA", "INSPECT", "k").frame.blobs()
        assert b"  encode-version: %d" % version in shown
        assert wire.send(*read[kind].split()).raw == before
        assert 0 < (wire.send("TTL", "k").frame.number or 0) <= 1000


def wait_for_reencoding(wire: WireClient) -> dict[bytes | None, int | None]:
    def progress() -> dict[bytes | None, int | None]:
        shown = wire.send("STRATA", "PROGRESS").frame
        return {key.data: item.number for key, item in shown.pairs()}

    wait_until(lambda: not progress()[b"running"])
    return progress()


def test_a_restart_leaves_all_entries_behind(
    strata: StrataServer, wire: WireClient, cache: WireClient
) -> None:
    wire.send("HSET", "hash2", "f", "1")
    wire.send("HGET", "hash2", "f")
    before = generation_of(wire)
    strata.kill9()
    strata.start()
    wait_until_used(strata)
    with strata.client() as again:
        assert generation_of(again) == before + 1
        assert again.send("HGET", "hash2", "f").frame.data == b"1"
        again.send("HGET", "hash2", "f")
        wait_until(lambda: len(names(cache)) == 2)  # the old one waits for its end, unread
