"""Namespaces when something goes wrong, or something else is there: full disks, damaged rows, the
Redis tier, dumps."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stratakv.encodings.layout import rows
from stratakv.encodings.upkeep.check import check_directory
from stratakv.storage.leveldb.engine import LevelEngine
from tests.access.tenants import OK, bind, client
from tests.harness.disks import NO_LIMIT, limit_files
from tests.harness.servers import STRATAKV, Process, RedisServer, StrataServer, environment
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient
from tests.tier.servers import PATIENT, start_strata

TENANTS = ("shop", "other")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "strata").start()
    yield started
    started.stop()


def names(admin: WireClient) -> list[bytes]:
    found = admin.send("STRATA", "NAMESPACES").frame.elements
    return [one.pairs()[0][1].data or b"" for one in found]


# a full disk


def refuse_commits(server: StrataServer) -> None:
    """From now on the log may not grow by a byte."""
    logs = [file.stat().st_size for file in server.dir.glob("*.log")]
    limit_files(server, max(logs))


def accept_commits(server: StrataServer, admin: WireClient) -> None:
    limit_files(server, NO_LIMIT)
    wait_until(lambda: admin.send("SET", "resumed", 1).raw == OK, "writes did not resume")


def test_a_namespace_whose_commit_is_refused_was_never_there(server: StrataServer) -> None:
    with server.client() as admin:
        bind(admin, "shop")
        with client(server, "shop") as shop:
            assert shop.send("SET", "k", "v").raw == OK
        refuse_commits(server)
        made = admin.send("STRATA", "NAMESPACE", "CREATE", "late").raw
        assert made.startswith(b"-MISCONF ")
        assert names(admin) == [b"shop"]
        accept_commits(server, admin)
        assert names(admin) == [b"shop"]
        assert admin.send("STRATA", "NAMESPACE", "CREATE", "late").raw == OK
        bind(admin, "shop")
        with client(server, "shop") as shop:
            assert shop.send("GET", "k").raw == b"$1\r\nv\r\n"
    server.kill9()
    assert check_directory(server.dir) == 0


def test_a_user_whose_namespace_was_refused_comes_in_when_it_is_made(server: StrataServer) -> None:
    with server.client() as admin:
        admin.send("SET", "k", "admin's")
        refuse_commits(server)
        words = ("on", ">secret", "~*", "&*", "+@all", "namespace=late")
        assert admin.send("ACL", "SETUSER", "late", *words).raw.startswith(b"-MISCONF ")
        assert names(admin) == []
        with server.client() as wire:
            greeted = wire.send("AUTH", "late", "secret").raw
            if greeted == OK:  # then it is nowhere, not among the administrator's keys
                assert wire.send("GET", "k").raw.startswith(b"-NONAMESPACE")
        accept_commits(server, admin)
        bind(admin, "late")
        with client(server, "late") as wire:
            assert wire.send("GET", "k").raw == b"$-1\r\n"
            assert wire.send("SET", "k", "own").raw == OK
        assert admin.send("GET", "k").frame.data == b"admin's"


def test_a_drop_and_a_quota_that_are_refused_have_not_happened(server: StrataServer) -> None:
    with server.client() as admin:
        admin.send("STRATA", "NAMESPACE", "CREATE", "empty")
        bind(admin, "shop")
        with client(server, "shop") as shop:
            assert shop.send("SET", "k", "v").raw == OK
        for words in (("DROP", "empty"), ("QUOTA", "shop", "KEYS", "1"), ("RENAME", "empty", "e")):
            refuse_commits(server)
            refused = admin.send("STRATA", "NAMESPACE", *words).raw
            assert refused.startswith(b"-MISCONF "), words
            accept_commits(server, admin)
            assert names(admin) == [b"empty", b"shop"], words
        with client(server, "shop") as shop:
            assert shop.send("SET", "k2", "v").raw == OK
            assert shop.send("DBSIZE").raw == b":2\r\n"


# repair


def filled(server: StrataServer) -> None:
    """Two namespaces and the databases of everybody else, each with keys in two databases."""
    with server.client() as admin:
        for name in TENANTS:
            bind(admin, name)
            with client(server, name) as wire:
                fill(wire, name)
        fill(admin, "admin")


def fill(wire: WireClient, owner: str) -> None:
    for index in (0, 5):
        wire.send("SELECT", index)
        wire.pipeline([("SET", f"k{at}", f"{owner}-{index}-{at}") for at in range(50)])
        wire.send("HSET", "hash", "f", owner)
        wire.send("ZADD", "zset", 1, owner, 2, "b")


def assert_filled(wire: WireClient, owner: str) -> None:
    for index in (0, 5):
        wire.send("SELECT", index)
        assert wire.send("DBSIZE").raw == b":52\r\n", (owner, index)
        assert wire.send("GET", "k7").frame.data == f"{owner}-{index}-7".encode()
        assert wire.send("HGET", "hash", "f").frame.data == owner.encode()
        assert wire.send("ZRANGE", "zset", 0, 0).frame.blobs() == [owner.encode()]


def repaired(source: Path, target: Path) -> str:
    command = [*STRATAKV, "repair", str(source), str(target)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_S, env=environment(), check=True
    )
    assert check_directory(target) == 0
    return done.stdout


def test_a_repair_keeps_the_namespaces(server: StrataServer, tmp_path: Path) -> None:
    filled(server)
    server.terminate()
    repaired(server.dir, tmp_path / "new")
    again = StrataServer(tmp_path / "new").start()
    with again.client() as admin:
        assert names(admin) == [b"other", b"shop"]
        assert_filled(admin, "admin")
        for name in TENANTS:
            bind(admin, name)
            with client(again, name) as wire:
                assert_filled(wire, name)
    again.stop()


def spoil_row_of(directory: Path, name: bytes) -> None:
    """Make the row that says which tenant has a namespace unreadable."""
    with closing(LevelEngine(directory)) as engine:
        found = [row for row, _ in engine.scan(rows.TENANT, rows.end_of(rows.TENANT))]
        assert rows.TENANT + name in found
        engine.write({rows.TENANT + name: b"?"})


def test_a_repair_makes_a_namespace_anew_whose_row_is_lost(
    server: StrataServer, tmp_path: Path
) -> None:
    filled(server)
    server.terminate()
    spoil_row_of(server.dir, b"shop")
    assert check_directory(server.dir) == 1
    assert "given to namespace shop, as database 5" in repaired(server.dir, tmp_path / "new")
    again = StrataServer(tmp_path / "new").start()
    with again.client() as admin:
        assert names(admin) == [b"other", b"shop"]
        assert_filled(admin, "admin")
        for name in TENANTS:
            bind(admin, name)
            with client(again, name) as wire:
                assert_filled(wire, name)
        admin.send("STRATA", "NAMESPACE", "CREATE", "third")
        bind(admin, "third")
        with client(again, "third") as wire:
            assert wire.send("DBSIZE").raw == b":0\r\n"
    again.stop()


def test_of_two_that_are_lost_neither_is_shown_to_the_other(
    server: StrataServer, tmp_path: Path
) -> None:
    filled(server)
    with server.client() as admin, client(server, "shop") as shop:
        shop.send("SELECT", 3)
        shop.send("SET", "k", "v")
        shop.send("FLUSHDB")
        shop.send("SET", "later", "v")
        assert admin.send("DBSIZE").raw == b":52\r\n"
    server.terminate()
    for name in TENANTS:
        spoil_row_of(server.dir, name.encode())
    repaired(server.dir, tmp_path / "new")
    again = StrataServer(tmp_path / "new").start()
    with again.client() as admin:
        assert names(admin) == [b"recovered-1", b"recovered-2"]
        assert_filled(admin, "admin")
        for name, owner in (("recovered-1", "shop"), ("recovered-2", "other")):
            bind(admin, name)
            with client(again, name) as wire:
                assert_filled(wire, owner)
        with client(again, "recovered-1") as wire:
            wire.send("SELECT", 3)
            assert wire.send("KEYS", "*").frame.blobs() == [b"later"]
    again.stop()


# dumps


def test_a_dump_says_how_many_keys_it_leaves_out(server: StrataServer) -> None:
    with server.client() as admin:
        shown = b"rdb_last_save_left_out_keys:%d\r\n"
        admin.send("SET", "k", "v")
        assert admin.send("SAVE").raw == OK
        assert shown % 0 in admin.send("INFO", "persistence").raw
        bind(admin, "shop")
        with client(server, "shop") as wire:
            fill(wire, "shop")
        assert admin.send("SAVE").raw == OK
        assert shown % 104 in admin.send("INFO", "persistence").raw
    assert "104 keys of namespaces of users are not in the dump" in server.output()


# the tier


@pytest.fixture(scope="module")
def tiered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StrataServer, RedisServer]]:
    directory = tmp_path_factory.mktemp("tiered")
    tier = RedisServer(directory / "tier").start()
    flags = ("--hash-encoding", "2", "--set-encoding", "2", "--zset-encoding", "3")
    server = start_strata(directory / "strata", tier, *flags, *PATIENT)
    yield server, tier
    server.stop()
    tier.stop()


def write_collections(wire: WireClient, owner: str) -> None:
    wire.send("HSET", "h", "f", owner, "g", "x")
    wire.send("SADD", "s", owner, "a-member-of-more-than-15-bytes")
    wire.send("ZADD", "z", 1, owner, 2, "a-member-of-more-than-15-bytes")


def read_collections(wire: WireClient) -> list[list[bytes]]:
    calls = (("HVALS", "h"), ("SMEMBERS", "s"), ("ZRANGE", "z", 0, -1))
    return [sorted(wire.send(*call).frame.blobs()) for call in calls]


def expected(owner: str) -> list[list[bytes]]:
    both = sorted([owner.encode(), b"a-member-of-more-than-15-bytes"])
    return [sorted([owner.encode(), b"x"]), both, both]


def test_the_tier_keeps_namespaces_apart(tiered: tuple[StrataServer, RedisServer]) -> None:
    server, tier = tiered
    with server.client() as admin:
        for name in TENANTS:
            bind(admin, name)
        with client(server, "shop") as shop, client(server, "other") as other:
            everybody = {"admin": admin, "shop": shop, "other": other}
            for owner, wire in everybody.items():
                write_collections(wire, owner)
            for _ in range(3):  # from the store, then from the tier
                for owner, wire in everybody.items():
                    assert read_collections(wire) == expected(owner)
            with tier.client() as redis:
                assert (redis.send("DBSIZE").frame.number or 0) > 0
            shop.send("FLUSHALL")
            assert read_collections(shop) == [[], [], []]
            write_collections(shop, "again")
            assert read_collections(shop) == expected("again")
            for owner, wire in (("admin", admin), ("other", other)):
                assert read_collections(wire) == expected(owner)


def test_the_tier_forgets_a_namespace_that_was_dropped(
    tiered: tuple[StrataServer, RedisServer],
) -> None:
    server, tier = tiered
    with server.client() as admin:
        bind(admin, "shop")
        with client(server, "shop") as shop:
            shop.send("FLUSHALL")
            write_collections(shop, "before")
            assert read_collections(shop) == expected("before")
        admin.send("ACL", "DELUSER", "shop")
        assert admin.send("STRATA", "NAMESPACE", "DROP", "shop").raw == OK
        bind(admin, "shop")
        with client(server, "shop") as shop:
            assert read_collections(shop) == [[], [], []]
            write_collections(shop, "after")
            assert read_collections(shop) == expected("after")
            with tier.client() as redis:
                redis.send("FLUSHDB")
            assert read_collections(shop) == expected("after")


def test_a_namespace_with_a_tier_survives_a_kill(tmp_path: Path) -> None:
    tier: Process = RedisServer(tmp_path / "tier")
    assert isinstance(tier, RedisServer)
    tier.start()
    flags = ("--hash-encoding", "2", "--set-encoding", "2", "--zset-encoding", "1")
    server = start_strata(tmp_path / "strata", tier, *flags, *PATIENT)
    with server.client() as admin:
        bind(admin, "shop")
        with client(server, "shop") as shop:
            write_collections(shop, "shop")
    server.kill9()
    server.restart()
    with server.client() as admin:
        bind(admin, "shop")
        with client(server, "shop") as shop:
            assert read_collections(shop) == expected("shop")
    server.stop()
    tier.stop()
