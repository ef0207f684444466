"""Namespaces as administrators see them: made, dropped, renamed, with quotas, and kept."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.access.tenants import OK, bind, client, facts, quota
from tests.harness.servers import STRATAKV, Process, StrataServer, environment
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient
from tests.proxy.test_metrics import get


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "strata").start()
    yield started
    started.stop()


@pytest.fixture
def admin(server: Process) -> Iterator[WireClient]:
    with server.client() as wire:
        bind(wire, "shop")
        yield wire


def names(admin: WireClient) -> list[bytes]:
    found = admin.send("STRATA", "NAMESPACES").frame.elements
    return [one.pairs()[0][1].data or b"" for one in found]


def namespace(admin: WireClient, *words: str) -> bytes:
    return admin.send("STRATA", "NAMESPACE", *words).raw


def closing_check(server: StrataServer) -> str:
    """What `stratakv check` says of a server's directory."""
    server.terminate()
    command = [*STRATAKV, "check", str(server.dir)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_S, env=environment(), check=False
    )
    return done.stdout + done.stderr


# made and dropped


def test_a_namespace_is_made_with_its_user_or_before(admin: WireClient) -> None:
    assert names(admin) == [b"shop"]
    assert namespace(admin, "CREATE", "new", "KEYS", "5", "OPS", "7") == OK
    assert names(admin) == [b"new", b"shop"]
    assert namespace(admin, "CREATE", "like", "LIKE", "new", "KEYS", "6") == OK
    told = facts(admin, "STRATA", "NAMESPACE", "QUOTA", "like")
    assert told == {
        b"keys": "integer 6",
        b"bytes": "integer 0",
        b"ops": "integer 7",
        b"clients": "integer 0",
    }
    assert b"exists already" in namespace(admin, "CREATE", "new")
    assert b" namespace=shop " in admin.send("ACL", "LIST").raw
    shown = admin.send("ACL", "GETUSER", "shop").frame.pairs()
    assert shown[-1][0].data == b"namespace"
    assert shown[-1][1].data == b"shop"


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a/b", "x" * 65, "\0", "a\n", "ä", "a,b", "*"])
def test_names_are_looked_at(admin: WireClient, name: str) -> None:
    assert namespace(admin, "CREATE", name).startswith(b"-ERR a namespace has")
    assert namespace(admin, "RENAME", "shop", name).startswith(b"-ERR a namespace has")
    if name:
        reply = admin.send("ACL", "SETUSER", "bad", f"namespace={name}").raw
        assert b"A namespace has 1 to 64" in reply
    assert names(admin) == [b"shop"]


@pytest.mark.parametrize(
    "words",
    ["CREATE", "DROP", "RENAME shop", "QUOTA", "QUOTA nobody", "DROP nobody", "RENAME a b",
     "QUOTA shop KEYS", "QUOTA shop KEYS -1", "QUOTA shop KEYS x", "QUOTA shop APPLES 1",
     "QUOTA shop LIKE nobody", "CREATE z ID 7", "FLY shop", "DROP shop now",
     "QUOTA shop KEYS 99999999999999999999", "RENAME shop shop"],
)  # fmt: skip
def test_what_cannot_be_is_refused(admin: WireClient, words: str) -> None:
    assert namespace(admin, *words.split()).startswith(b"-ERR")
    assert names(admin) == [b"shop"]


def test_the_default_user_and_oneself_are_not_bound(server: Process, admin: WireClient) -> None:
    assert b"cannot be bound" in admin.send("ACL", "SETUSER", "default", "namespace=shop").raw
    admin.send("ACL", "SETUSER", "root", "on", ">secret", "+@all", "~*", "&*")
    with client(server, "root") as root:
        assert b"they themselves" in root.send("ACL", "SETUSER", "root", "namespace=shop").raw
        assert root.send("PING").raw == b"+PONG\r\n"


def test_a_user_who_is_bound_elsewhere_has_to_come_again(
    server: Process, admin: WireClient
) -> None:
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v")
        admin.send("ACL", "SETUSER", "shop", "namespace=else")
        assert shop.read_to_end() == b""
    with client(server, "shop") as again:
        assert again.send("DBSIZE").raw == b":0\r\n"


def test_a_drop_takes_all_and_gives_nothing_back(server: StrataServer, admin: WireClient) -> None:
    with client(server, "shop") as shop:
        shop.pipeline([("SET", f"k{at}", at) for at in range(500)])
        shop.send("SELECT", 4)
        shop.send("RPUSH", "l", "1")
        shop.send("FUNCTION", "LOAD", "#!lua name=a\nredis.register_function('f', function() end)")
        assert b"users are bound" in namespace(admin, "DROP", "shop")
        admin.send("ACL", "DELUSER", "shop")
        assert shop.read_to_end() == b""
    assert namespace(admin, "DROP", "shop") == OK
    assert names(admin) == []
    bind(admin, "shop")
    with client(server, "shop") as shop:
        assert shop.send("DBSIZE").raw == b":0\r\n"
        assert shop.send("FUNCTION", "LIST").frame.elements == ()
        wait_until(lambda: b"gc_backlog:0" in admin.send("INFO", "gc").raw)
    assert "no problem" in closing_check(server)


def test_a_renamed_namespace_keeps_everything(server: Process, admin: WireClient) -> None:
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v")
        assert namespace(admin, "RENAME", "shop", "store") == OK
        assert shop.send("GET", "k").raw == b"$1\r\nv\r\n"
    assert names(admin) == [b"store"]
    assert b" namespace=store " in admin.send("ACL", "LIST").raw
    with client(server, "shop") as shop:
        assert shop.send("GET", "k").raw == b"$1\r\nv\r\n"


# kept


def test_a_kill_loses_nothing_that_was_answered(server: StrataServer, admin: WireClient) -> None:
    quota(admin, "KEYS", 100, "BYTES", 1 << 30)
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v")
        shop.send("SELECT", 9)
        shop.send("HSET", "h", "f", "v")
        shop.send("SWAPDB", 9, 2)
        shop.send(
            "FUNCTION",
            "LOAD",
            "#!lua name=a\nredis.register_function('f', function() return 7 end)",
        )
        shop.send("SELECT", 3)
        shop.send("SET", "gone", "1")
        shop.send("FLUSHDB")
    server.kill9()
    server.restart()
    with server.client() as again:
        assert names(again) == [b"shop"]
        assert facts(again, "STRATA", "NAMESPACE", "QUOTA", "shop")[b"keys"] == "integer 100"
        assert b"NOAUTH" not in again.send("PING").raw
        bind(again, "shop")
        with client(server, "shop") as shop:
            assert shop.send("GET", "k").raw == b"$1\r\nv\r\n"
            assert shop.send("FCALL", "f", 0).raw == b":7\r\n"
            shop.send("SELECT", 2)
            assert shop.send("HGET", "h", "f").raw == b"$1\r\nv\r\n"
            shop.send("SELECT", 3)
            assert shop.send("DBSIZE").raw == b":0\r\n"
    assert "no problem" in closing_check(server)


def test_keys_of_a_namespace_expire_by_themselves(server: StrataServer, admin: WireClient) -> None:
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v", "PX", 1)
        wait_until(lambda: shop.send("DBSIZE").raw == b":0\r\n")
        shop.send("SET", "k", "v", "PX", 1)
    server.restart()
    with server.client() as again:
        wait_until(lambda: b"name" in again.send("STRATA", "NAMESPACES").raw)
        bind(again, "shop")
        with client(server, "shop") as shop:
            wait_until(lambda: shop.send("DBSIZE").raw == b":0\r\n")


def test_users_of_a_file_are_bound(tmp_path: Path) -> None:
    directory = tmp_path / "strata"
    directory.mkdir()
    (directory / "users.acl").write_text("user shop on >secret namespace=shop ~* &* +@all\n")
    server = StrataServer(directory, flags=("--aclfile", "users.acl")).start()
    try:
        with server.client() as admin, client(server, "shop") as shop:
            wait_until(lambda: names(admin) == [b"shop"])
            assert shop.send("SET", "k", "v").raw == OK
            assert admin.send("DBSIZE").raw == b":0\r\n"
            assert admin.send("ACL", "SAVE").raw == OK
        assert "namespace=shop" in (directory / "users.acl").read_text()
    finally:
        server.stop()


def test_a_key_is_inspected_within_its_namespace(server: StrataServer, admin: WireClient) -> None:
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v")
    server.terminate()
    command = [*STRATAKV, "inspect", str(server.dir), "k"]
    for flags, status in (((), 1), (("--namespace", "shop"), 0), (("--namespace", "no"), 1)):
        done = subprocess.run(
            [*command, *flags], capture_output=True, text=True, env=environment(), check=False
        )
        assert (done.returncode != 0) == (status != 0), done.stderr


# quotas


def test_the_quota_of_keys_stops_new_ones_alone(server: Process, admin: WireClient) -> None:
    quota(admin, "KEYS", 3)
    with client(server, "shop") as shop:
        assert shop.send("MSET", "a", 1, "b", 2, "c", 3).raw == OK
        refused = shop.send("SET", "d", 4).raw
        assert refused == b"-QUOTA the namespace 'shop' may have no more than 3 keys\r\n"
        assert shop.send("SET", "a", 9).raw == OK
        assert shop.send("GET", "a").raw == b"$1\r\n9\r\n"
        for request in (
            ("MSET", "a", 1, "e", 2),
            ("RPUSH", "l", 1),
            ("COPY", "a", "e"),
            ("COPY", "a", "a", "DB", 5),
            ("EVAL", "return redis.call('SET', 'e', 1)", 1, "e"),
            ("PFADD", "p", 1),
            ("XADD", "x", "*", "f", "v"),
        ):
            assert b"QUOTA" in shop.send(*request).raw, request
        shop.send("MULTI")
        assert b"QUOTA" in shop.send("SET", "e", 1).raw
        assert shop.send("EXEC").raw.startswith(b"-EXECABORT")
        assert shop.send("RENAME", "a", "z").raw == OK
        assert shop.send("DBSIZE").raw == b":3\r\n"
        assert shop.send("DEL", "z").raw == b":1\r\n"
        assert shop.send("SET", "d", 4).raw == OK
        replies = shop.pipeline([("SET", f"p{at}", at) for at in range(50)])
        assert all(reply.raw.startswith(b"-QUOTA") for reply in replies)
        quota(admin, "KEYS", 0)
        assert shop.send("SET", "e", 1).raw == OK
    told = admin.send("STRATA", "NAMESPACES").frame.elements[0].pairs()
    assert int({name.data: value.number or 0 for name, value in told}[b"refused"]) >= 58


def test_a_unit_counts_the_keys_that_it_makes(server: Process, admin: WireClient) -> None:
    quota(admin, "KEYS", 2)
    with client(server, "shop") as shop:
        shop.send("MULTI")
        for name in ("a", "b", "c"):
            shop.send("SET", name, 1)
        replies = shop.send("EXEC").frame.elements
        assert [reply.is_error for reply in replies] == [False, False, True]
        assert shop.send("DBSIZE").raw == b":2\r\n"


def test_the_quota_of_operations_lets_reads_and_deletes_go_on(
    server: Process, admin: WireClient
) -> None:
    quota(admin, "OPS", 50)
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v")

        def is_over() -> bool:
            replies = shop.pipeline([("SET", "k", at) for at in range(200)])
            return any(reply.raw.startswith(b"-QUOTA") for reply in replies)

        wait_until(is_over)
        assert shop.send("GET", "k").frame.kind == "$"
        assert shop.send("DEL", "k").raw in (b":1\r\n", b":0\r\n")
        wait_until(lambda: shop.send("SET", "k", "v").raw == OK)


def test_the_quota_of_bytes_is_what_the_files_take(server: Process, admin: WireClient) -> None:
    quota(admin, "BYTES", 1 << 20)
    with client(server, "shop") as shop:
        noise, number = random.Random(1), iter(range(10**6))

        def is_over() -> bool:
            reply = shop.send("SET", f"n{next(number)}", noise.randbytes(100_000)).raw
            return reply.startswith(b"-QUOTA the namespace 'shop' may have no more than 1048576 b")

        def is_really_over() -> bool:
            told = admin.send("STRATA", "NAMESPACES").frame.elements[0].pairs()
            used = {name.data: value.number or 0 for name, value in told}[b"bytes"]
            return is_over() and used >= 1 << 20

        wait_until(is_really_over)
        assert shop.send("GET", "n0").frame.kind == "$"
        assert shop.send("FLUSHALL").raw == OK
        wait_until(lambda: shop.send("SET", "k", "v").raw == OK)


def test_the_quota_of_clients_stops_the_next_one(server: Process, admin: WireClient) -> None:
    quota(admin, "CLIENTS", 1)
    with client(server, "shop") as first, server.client() as second:
        reply = second.send("AUTH", "shop", "secret").raw
        assert reply == b"-QUOTA the namespace 'shop' may have no more than 1 clients\r\n"
        assert second.send("ACL", "WHOAMI").raw == b"$7\r\ndefault\r\n"
        assert first.send("AUTH", "shop", "secret").raw == OK
    with server.client() as third:
        wait_until(lambda: third.send("AUTH", "shop", "secret").raw == OK)


def test_metrics_and_info_tell_of_each_namespace(server: StrataServer, admin: WireClient) -> None:
    with client(server, "shop") as shop:
        shop.send("SET", "k", "v")
        line = admin.send("INFO", "namespaces").raw
        assert b"namespace_shop:keys=1,bytes=" in line
        assert b"namespace_shop" not in admin.send("INFO").raw
        page = get(server)
    assert 'stratakv_namespace_keys{namespace="shop"} 1.0' in page
    assert 'stratakv_namespace_clients{namespace="shop"} 1.0' in page
