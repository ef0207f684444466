"""Starting: where the server listens, and the one line it says when it cannot."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from stratakv.clock import ManualClock
from stratakv.encodings.keyspace.keyspace import Keyspace
from stratakv.encodings.layout import rows
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.store import Store
from tests.harness.servers import STRATAKV, StrataServer, environment, last_words
from tests.harness.waiting import HANG_S
from tests.harness.wire import WireClient


def refused(
    directory: Path, *flags: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Start a server that should not start; flags given later win over the free ports."""
    places = ["--port", "0", "--http-port", "0", "--dir", str(directory)]
    return subprocess.run(
        [*STRATAKV, "serve", *places, *flags],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        env={**environment(), **(env or {})},
    )


def assert_one_clear_line(ended: subprocess.CompletedProcess[str], *words: str) -> None:
    assert ended.returncode not in (0, None)
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    for word in words:
        assert word in ended.stderr


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use(tmp_path: Path, taken_port: int) -> None:
    ended = refused(tmp_path / "data", "--port", str(taken_port))
    assert_one_clear_line(ended, f"127.0.0.1:{taken_port}", "address already in use")


def test_an_http_port_in_use(tmp_path: Path, taken_port: int) -> None:
    ended = refused(tmp_path / "data", "--http-port", str(taken_port))
    assert_one_clear_line(ended, f"127.0.0.1:{taken_port}", "address already in use")


def test_an_address_that_is_not_ours(tmp_path: Path) -> None:
    ended = refused(tmp_path / "data", "--bind", "192.0.2.1")
    assert_one_clear_line(ended, "192.0.2.1")


def test_a_directory_in_use(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    ended = refused(server.dir)
    server.stop()
    assert_one_clear_line(ended, str(server.dir), "is in use by another process")


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert_one_clear_line(refused(tmp_path / "data"), "is not a directory")
    assert_one_clear_line(refused(tmp_path / "data" / "below"), "is not a directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_is_not_writable(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert_one_clear_line(refused(tmp_path / "data"), "is not writable")


def test_a_store_of_a_newer_format(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path)
    Keyspace(Store(engine), ManualClock())
    engine.write({rows.FORMAT_ROW: rows.U32.pack(rows.LAYOUT + 1)})
    engine.close()
    assert_one_clear_line(refused(tmp_path), f"format {rows.LAYOUT + 1}")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--port", "99999"], ["port", "99999", "from 0 to 65535"]),
        (["--durability", "hope"], ["durability", "hope", "os, everysec, always"]),
        (["--config", "/nonexistent.toml"], ["/nonexistent.toml", "cannot be read"]),
        (["--unixsocketperm", "rwx"], ["unixsocketperm", "rwx"]),
        (["--bind", "no such host"], ["no"]),
    ],
)
def test_a_bad_value(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    assert_one_clear_line(refused(tmp_path / "data", *flags), *words)


def test_a_bad_value_in_the_environment(tmp_path: Path) -> None:
    ended = refused(tmp_path / "data", env={"STRATAKV_MAXCLIENTS": "many"})
    assert_one_clear_line(ended, "maxclients", "many", "STRATAKV_MAXCLIENTS")


@pytest.mark.parametrize("flags", [["--prot", "7"], ["--maxcl=7"], ["--http-p", "0"]], ids=repr)
def test_an_abbreviated_flag_is_refused(tmp_path: Path, flags: list[str]) -> None:
    ended = refused(tmp_path / "data", *flags)
    assert ended.returncode == 2
    assert f"unrecognized arguments: {flags[0]}\n" in ended.stderr  # the value is a file's name
    assert not (tmp_path / "data").exists()
    tool = [*STRATAKV, "inspect", str(tmp_path), "k", "--lim", "1"]
    abbreviated = subprocess.run(tool, capture_output=True, text=True, timeout=60, check=False)
    assert "unrecognized arguments: --lim 1" in abbreviated.stderr


def test_a_misspelt_variable_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    ended = refused(tmp_path / "data", env={"STRATAKV_REQUIREPAS": "sesame"})
    assert_one_clear_line(ended, "STRATAKV_REQUIREPAS", "did you mean STRATAKV_REQUIREPASS?")
    assert "sesame" not in ended.stderr


def test_an_unknown_variable_is_warned_about(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", env={"STRATAKV_FOO": "sesame"}).start()
    server.stop()
    assert "WARNING the variable STRATAKV_FOO is not an option: it has no effect" in server.output()
    assert "sesame" not in server.output()


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_bytes("port = 6380\nrequirepass = 'Gr\u00fc\u00dfe'\n".encode("latin-1"))
    ended = refused(tmp_path / "data", "--config", str(file))
    assert_one_clear_line(ended, str(file), "is not UTF-8: byte 0xfc in line 2")


@pytest.mark.parametrize("name", ["cache-url", "zset-store-url"])
def test_no_password_of_an_address_is_shown(tmp_path: Path, name: str) -> None:
    ended = refused(tmp_path / "data", f"--{name}", "redis://me:sesame@host:port/0")
    assert_one_clear_line(ended, name, "redis://me:(redacted)@host:port/0")
    assert "sesame" not in ended.stderr


def test_what_leveldb_says_is_text(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "CURRENT").write_text("nonsense")
    ended = refused(tmp_path / "data")
    assert_one_clear_line(ended, str(tmp_path / "data"))
    assert "b'" not in ended.stderr
    assert 'b"' not in ended.stderr


def test_two_addresses_and_a_unix_socket_at_once(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    flags = ["--bind", "127.0.0.1", "127.0.0.2", "--unixsocket", str(path)]
    server = StrataServer(tmp_path / "data", flags=[*flags, "--unixsocketperm", "700"]).start()
    for host in ("127.0.0.1", "127.0.0.2"):
        with WireClient(server.port, host=host) as client:
            assert client.send("PING").raw == b"+PONG\r\n"
    with socket.socket(socket.AF_UNIX) as client_socket:
        client_socket.connect(str(path))
        client_socket.sendall(b"PING\r\n")
        assert client_socket.recv(100) == b"+PONG\r\n"
    assert path.stat().st_mode & 0o777 == 0o700
    assert server.terminate() == 0
    assert not path.exists()


def test_port_zero_takes_a_free_one_and_says_which(tmp_path: Path) -> None:
    servers = [StrataServer(tmp_path / name / "data").start() for name in "ab"]
    ports = [port for server in servers for port in (server.port, server.http_port)]
    assert len(set(ports)) == 4
    assert all(ports)
    for server in servers:
        assert server.terminate() == 0


def test_the_running_server_obeys_flags_then_environment_then_file(tmp_path: Path) -> None:
    file = tmp_path / "stratakv.toml"
    file.write_text('databases = 3\nrequirepass = "file"\nmaxclients = 7\n')
    server = StrataServer(
        tmp_path / "data",
        flags=["--config", str(file), "--databases", "5"],
        env={"STRATAKV_REQUIREPASS": "environment", "STRATAKV_DATABASES": "4"},
    ).start()
    with server.client() as client:
        assert client.send("PING").frame.is_error
        assert client.send("AUTH", "environment").raw == b"+OK\r\n"
        assert client.send("SELECT", 4).raw == b"+OK\r\n"
        assert client.send("SELECT", 5).frame.is_error
    server.stop()


def test_http_can_be_switched_off(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--http", "no"]).start()
    assert server.http_port == 0
    server.stop()


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_ends_it_with_exit_code_zero(tmp_path: Path, number: str) -> None:
    server = StrataServer(tmp_path / "data").start()
    assert server.process is not None
    server.process.send_signal(getattr(signal, number))
    assert server.process.wait(HANG_S) == 0
    assert "Traceback" not in server.output()


def test_a_crash_says_where(tmp_path: Path) -> None:
    """The log does, and so does a failing test."""
    server = StrataServer(tmp_path / "data").start()
    assert server.process is not None
    server.process.send_signal(signal.SIGABRT)
    assert server.process.wait(HANG_S) == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in server.output()
    assert "Fatal Python error: Aborted" in last_words()[str(server.dir)]
