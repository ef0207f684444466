"""Users in files: what Redis loads and saves, what it refuses, and that nothing changes then."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.access.pairs import Pair, comparable
from tests.access.test_running import is_cut
from tests.harness.servers import STRATAKV, StrataServer, environment
from tests.harness.waiting import HANG_S

USERS = """user alice on >alice ~* &* +@all
user bob on nopass ~set* -@all +@set +acl (%R~x +get) ( ~y +set )

  user carol off \r
user default on nopass ~* &* +@all
"""


class Files:
    """Two servers with a file of users each."""

    def __init__(self, directory: Path) -> None:
        self.paths = [directory / name / "users.acl" for name in ("redis", "strata")]
        for path in self.paths:
            path.parent.mkdir()
        self.write(USERS)
        flags = ("--aclfile", "users.acl")
        self.pair = Pair.start(directory, redis=flags, strata=flags)

    def write(self, text: str) -> None:
        for path in self.paths:
            path.write_text(text)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    started = Files(tmp_path)
    yield started
    started.pair.stop()


def test_users_are_those_of_the_file(files: Files) -> None:
    with files.pair.clients() as two:
        two.same("ACL", "USERS")
        redis, strata = two.shown("ACL", "LIST")
        assert strata == redis
        two.same_lines("AUTH bob x\nSADD set1 a\nSET k v\nSET y v\nGET x\nAUTH carol x")
        two.same("AUTH", "alice", "alice")


def test_a_load_cuts_all_but_the_default_user(files: Files) -> None:
    with files.pair.clients() as admin, files.pair.clients() as alice, files.pair.clients() as bob:
        alice.same("AUTH", "alice", "alice")
        bob.same("AUTH", "bob", "x")
        alice.same("ACL", "SETUSER", "eve", "on", ">eve", "+get", "allkeys")
        alice.same("ACL", "SAVE")
        assert alice.same("ACL", "LOAD") == b"+OK\r\n"
        assert [is_cut(wire) for wire in (*alice, *bob)] == [True] * 4
        assert [is_cut(wire) for wire in admin] == [False, False]
        redis, strata = admin.shown("ACL", "LIST")
        assert strata == redis
        assert b"eve" in admin.same("ACL", "USERS")


def test_what_is_saved_survives_kill_9(files: Files) -> None:
    server = files.pair.strata
    assert isinstance(server, StrataServer)
    with server.client() as wire:
        wire.send("ACL", "SETUSER", "eve", "on", ">eve", "+get", "%R~a*", "(+set ~b)")
        wire.send("ACL", "SETUSER", "default", "-flushall")
        assert wire.send("ACL", "SAVE").raw == b"+OK\r\n"
        before = wire.send("ACL", "LIST").raw
    server.kill9()
    server.restart()
    with server.client() as wire:
        assert wire.send("ACL", "LIST").raw == before
        assert wire.send("FLUSHALL").raw.startswith(b"-NOPERM")
    assert [path.name for path in files.paths[1].parent.glob("*.new")] == []


@pytest.mark.parametrize(
    "text",
    [
        "user alice on\nuser alice off",
        "user default on\nuser default off",
        "alice on",
        "user",
        "# a remark",
        "user a +nosuch",
        "user a +nosuch -@nosuch\n\nuser b junk more ~*  ~a",
        "user a on ~* ~b\nuser b +get|x|y",
        "user a >p #12",
        "user  a on",
        "user a\tb on",
    ],
)
def test_a_bad_file_changes_nothing(text: str, files: Files) -> None:
    with files.pair.clients() as two:
        before = [reply.raw for reply in two.send("ACL", "LIST")]
        files.write(USERS + text)
        two.same("ACL", "LOAD")
        assert [reply.raw for reply in two.send("ACL", "LIST")] == before
        two.same("PING")


def test_a_parenthesis_that_stays_open_is_told(files: Files) -> None:
    """Redis 7.0 ends here."""
    with files.pair.strata.client() as wire:
        before = wire.send("ACL", "LIST").raw
        files.paths[1].write_text("user a on (~b +get")
        assert b"users.acl:1: Unmatched parenthesis" in wire.send("ACL", "LOAD").raw
        assert wire.send("ACL", "LIST").raw == before


def test_a_file_that_is_gone_changes_nothing(files: Files) -> None:
    with files.pair.clients() as two:
        for path in files.paths:
            path.unlink()
        two.same("ACL", "LOAD")
        redis, strata = two.shown("ACL", "LIST")
        assert strata == redis
        two.same("ACL", "SAVE")
        two.same("ACL", "LOAD")


def test_what_cannot_be_saved_is_told(files: Files) -> None:
    with files.pair.strata.client() as wire:
        path = files.paths[1]
        path.unlink()
        path.mkdir()
        (path / "x").touch()
        assert wire.send("ACL", "SAVE").raw.startswith(b"-ERR There was an error trying to save")


def test_an_aclfile_without_a_default_user_has_one_who_may_do_everything(files: Files) -> None:
    files.write("user alice on >alice +@all ~*")
    with files.pair.clients() as two:
        two.same("ACL", "SETUSER", "default", "-get", "resetchannels")
        two.same("ACL", "LOAD")
        redis, strata = two.shown("ACL", "LIST")
        assert strata == redis


def refused(directory: Path, *flags: str) -> str:
    """What a server says that does not start."""
    places = ("--port", "0", "--http-port", "0", "--dir", str(directory / "data"))
    ended = subprocess.run(
        (*STRATAKV, "serve", *places, *flags),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        env=environment(),
    )
    assert ended.returncode == 1, ended.stderr
    return ended.stderr


def test_a_server_does_not_start_with_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "users.acl"
    path.write_text("user alice on\nuser bob +nosuch\n")
    said = refused(tmp_path, "--aclfile", str(path))
    assert f"{path}:2: Error in applying operation '+nosuch'" in said
    assert not (tmp_path / "data").exists()
    assert "No such file" in refused(tmp_path, "--aclfile", str(tmp_path / "nosuch"))


CONFIGURED = """port = 0
user = [
    "default on nopass ~* &* +@all -flushdb",
    # the shop
    "alice on >alice (~a +get)",
]
timeout = 0
[[policy]]
match = "x*"
"""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('["alice on", "alice off"]', "Duplicate user 'alice'"),
        ('["alice junk"]', "user 1: Syntax error"),
        ('["a on", "b +nosuch"]', "user 2: Error in applying operation '+nosuch'"),
        ('["b (~a"]', "Unmatched parenthesis"),
        ('"alice on"', "must be a list"),
        ("[1]", "must be a list"),
    ],
)
def test_a_server_does_not_start_with_bad_lines(lines: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "strata.toml"
    path.write_text(f"user = {lines}\n")
    assert said in refused(tmp_path, "--config", str(path))


def test_users_stand_in_one_place(tmp_path: Path) -> None:
    path = tmp_path / "strata.toml"
    path.write_text(CONFIGURED)
    assert "not both" in refused(tmp_path, "--config", str(path), "--aclfile", "x")


def test_users_of_the_configuration_are_written_back(tmp_path: Path) -> None:
    path = tmp_path / "strata.toml"
    path.write_text(CONFIGURED)
    server = StrataServer(tmp_path / "data", flags=("--config", str(path))).start()
    try:
        with server.client() as wire:
            assert wire.send("FLUSHDB").raw.startswith(b"-NOPERM")
            assert wire.send("CONFIG", "REWRITE").raw == b"+OK\r\n"
            assert path.read_text() == CONFIGURED
            wire.send("ACL", "SETUSER", "bob", "on", ">b\u00e9", "~b:*", "+get", "(+set ~x)")
            wire.send("ACL", "SETUSER", "default", "-keys")
            assert wire.send("CONFIG", "REWRITE").raw == b"+OK\r\n"
            before = comparable(wire.send("ACL", "LIST").frame)
        server.restart()
        with server.client() as wire:
            assert comparable(wire.send("ACL", "LIST").frame) == before
            assert wire.send("KEYS", "*").raw.startswith(b"-NOPERM")
            assert wire.send("AUTH", "bob", "b\u00e9").raw == b"+OK\r\n"
    finally:
        server.stop()
