"""`stratakv-redis-server`: what suites and service files expect of a redis-server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient
from tests.server.redis_launcher import LAUNCHER, Launched, launch


def test_versions_and_help() -> None:
    for word in ("-v", "--version"):
        ended = launch(word)
        assert ended.returncode == 0
        assert re.match(r"Redis server v=7\.0\.\d+ sha=\S+ malloc=\S+ bits=64 build=", ended.stdout)
    assert launch("--help").returncode == 1
    assert "Usage:" in launch("-h").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port"], "'port'\nwrong number of arguments"),
        (["--port", "6380", "--loglevel"], "'loglevel'\nwrong number of arguments"),
        (["--port", "6379", "6380"], '\'port "6379" "6380"\'\nwrong number of arguments'),
        (["--port", "--loglevel", "verbose"], '\'port "--loglevel" "verbose"\'\nwrong number'),
        (["--port", "--bla", "--timeout", "1"], "'port \"--bla\"'\nargument couldn't be parsed"),
        (["--nosuch", "1"], "Bad directive"),
        (["--user", "a", "--user", "a"], "Duplicate user"),
        (["--sentinel"], "no Sentinel"),
        (["/nowhere.conf"], "cannot be read"),
    ],
)
def test_bad_words_end_it_with_the_reason(words: list[str], said: str) -> None:
    ended = launch(*words)
    assert ended.returncode == 1
    assert said in ended.stderr


def test_the_lines_that_suites_wait_for(tmp_path: Path) -> None:
    own = Launched(tmp_path / "data", words=["--loglevel", "verbose"]).start()
    log = own.output()
    assert re.search(rf"^{own.pid}:M \d\d \w+ \d{{4}} [\d:.]+ \* .* PID: {own.pid}$", log, re.M)
    with own.client() as client:
        client.write(b"SHUTDOWN NOSAVE\r\n")
        assert client.read_to_end() == b""
    assert own.process is not None
    assert own.process.wait(60) == 0
    assert "ready to exit, bye bye" in own.output()


def test_a_port_in_use_is_told_as_suites_look_for_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = launch("--port", port, "--bind", "127.0.0.1", "--dir", str(tmp_path))
    assert ended.returncode == 1
    assert f"Failed listening on port {port}" in ended.stdout


def test_the_file_then_the_standard_input_then_the_words(tmp_path: Path) -> None:
    file = tmp_path / "redis.conf"
    file.write_text("port 1\ntimeout 1\nmaxclients 1\n")
    ended = launch(str(file), "--timeout", "x", "-", stdin="maxclients 2\nport nonsense\n")
    assert "the standard input, at line 2" in ended.stderr
    ended = launch(str(file), "--timeout", "x", "-", stdin="port 3\n")
    assert "the command line, at line 1" in ended.stderr
    ended = launch("-", stdin="timeout x\n")
    assert "the standard input, at line 1" in ended.stderr


def test_words_win_and_lists_may_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "redis.conf"
    file.write_text("timeout 1\nmaxclients 50\nsave 1 1\n")
    words = [str(file), "--save", "--timeout 3", "--proto-max-bulk-len", "2mb"]
    own = Launched(tmp_path / "data", words=words).start()
    with own.client() as client:
        for name, value in (("timeout", b"3"), ("maxclients", b"50"), ("save", b"")):
            assert client.send("CONFIG", "GET", name).frame.blobs()[1:] == [value]
    own.stop()


def test_debug_is_for_those_whom_the_configuration_allows(
    tmp_path: Path, redis_wire: WireClient
) -> None:
    redis = RedisServer(tmp_path / "redis", flags=["--enable-debug-command", "no"]).start()
    own = Launched(tmp_path / "data").start()
    with redis.client() as theirs, own.client() as ours:
        assert ours.send("DEBUG", "SLEEP", "0").raw == theirs.send("DEBUG", "SLEEP", "0").raw
    redis.stop()
    own.stop()
    own.words = ["--enable-debug-command", "local"]
    with own.start().client() as ours:
        assert ours.send("DEBUG", "SLEEP", "0").raw == b"+OK\r\n"
    own.stop()


def test_a_unix_socket_alone(tmp_path: Path) -> None:
    words = [*LAUNCHER, "--port", "0", "--unixsocket", "sock", "--dir", str(tmp_path)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    wait_until(lambda: "now ready to accept" in (tmp_path / "log").read_text())
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "sock"))
        client.sendall(b"CONFIG GET port\r\n")
        assert b"$1\r\n0\r\n" in client.recv(100)
    assert "Ready to accept" not in (tmp_path / "log").read_text()
    process.terminate()
    assert process.wait(60) == 0


def test_a_daemon_has_a_pidfile_and_a_logfile(tmp_path: Path) -> None:
    words = ["--daemonize", "yes", "--pidfile", "pid", "--logfile", "log", "--port", "0"]
    ended = launch(*words, "--unixsocket", "sock", "--dir", str(tmp_path))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    wait_until(
        lambda: (
            "now ready" in (tmp_path / "log").read_text() if (tmp_path / "log").exists() else False
        )
    )
    pid = int((tmp_path / "pid").read_text())
    assert os.getsid(pid) == pid
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not (tmp_path / "pid").exists())


def test_systemd_hears_that_it_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        words = ["--supervised", "auto", "--daemonize", "yes"]
        own = Launched(tmp_path / "data", words=words).start()
        assert systemd.recv(100) == b"READY=1"
        assert own.is_running  # whoever is supervised stays in the foreground
        own.stop()


# what a Redis has left


def left_by_redis(directory: Path, *flags: str) -> None:
    redis = RedisServer(directory, flags=flags).start()
    with redis.client() as client:
        client.pipeline([("SET", f"k{number}", number) for number in range(2000)])
        client.send("HSET", "h", "f", "v")
        client.send("SELECT", 3)
        client.send("RPUSH", "l", "a", "b")
        client.send("SAVE")
    redis.stop()


def test_the_dump_of_a_redis_is_loaded_at_the_first_start_only(tmp_path: Path) -> None:
    left_by_redis(tmp_path / "data")
    own = Launched(tmp_path / "data").start()
    assert "DB loaded from disk: 2002 keys" in own.output()
    with own.client() as client:
        assert client.send("DBSIZE").frame.number == 2001
        assert client.send("HGET", "h", "f").raw == b"$1\r\nv\r\n"
        client.send("FLUSHALL")
        client.send("SET", "mine", "1")
    own.stop()
    with own.start().client() as client:
        assert client.send("KEYS", "*").frame.blobs() == [b"mine"]
    own.stop()


def test_a_start_that_was_killed_while_it_loaded_goes_on(tmp_path: Path) -> None:
    left_by_redis(tmp_path / "data")
    own = Launched(tmp_path / "data").start()
    own.kill9()
    (tmp_path / "data" / "stratakv-loading").touch()  # as if the kill had come before the end
    with own.start().client() as client:
        assert client.send("DBSIZE").frame.number == 2001
        assert client.send("SELECT", 3).raw == b"+OK\r\n"
        assert client.send("LRANGE", "l", 0, -1).frame.blobs() == [b"a", b"b"]
    assert not (tmp_path / "data" / "stratakv-loading").exists()
    own.stop()


def test_an_append_only_file_is_not_passed_over(tmp_path: Path) -> None:
    left_by_redis(tmp_path / "data", "--appendonly", "yes")
    ended = launch("--appendonly", "yes", "--dir", str(tmp_path / "data"), "--port", "0")
    assert ended.returncode == 1
    assert "would be missing" in ended.stderr
    assert not (tmp_path / "data" / "stratakv").exists()


def test_a_damaged_dump_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(b"REDIS0009\xfe\x00\x00")
    ended = launch("--dir", str(tmp_path), "--port", "0", "--unixsocket", "s")
    assert ended.returncode == 1
    assert "cannot be loaded" in ended.stderr
