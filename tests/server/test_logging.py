"""The log: what each level tells, changed while running, and never a password."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.harness.servers import RedisServer, StartError, StrataServer
from tests.harness.waiting import wait_until


def test_info_tells_the_life_of_a_server(tmp_path: Path) -> None:
    flags = ["--log-level", "info", "--maxclients", "3", "--requirepass", "sesame"]
    server = StrataServer(tmp_path / "data", flags=flags).start()
    clients = [server.client() for _ in range(4)]
    assert clients[3].read_to_end() == b"-ERR max number of clients reached\r\n"
    clients[0].send("AUTH", "sesame")
    clients[0].send("CONFIG", "SET", "timeout", "77", "requirepass", "open", "maxclients", "9")
    for client in clients:
        client.close()
    assert server.terminate() == 0
    told = server.output()
    for line in (
        "requirepass='(redacted)' maxclients='3'",
        f"listening on 127.0.0.1:{server.port}",
        "refused: ERR max number of clients reached",
        "sets timeout to 77",
        "sets requirepass to (redacted)",
        "INFO stopping",
        "INFO stopped",
    ):
        assert line in told
    assert "sesame" not in told
    assert "DEBUG" not in told


def test_the_default_says_nothing_of_all_that(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        client.send("CONFIG", "SET", "timeout", "77")
    assert server.terminate() == 0
    assert len(server.output().splitlines()) == 1


def test_the_level_is_changed_while_running(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        client.send("CONFIG", "SET", "timeout", "1001")
        for change in (("loglevel", "verbose"), ("log-level", "debug")):
            assert client.send("CONFIG", "SET", *change).raw == b"+OK\r\n"
        assert client.send("CONFIG", "GET", "loglevel").frame.blobs()[1] == b"debug"
        server.client().close()
        client.send("CONFIG", "SET", "timeout", "1002")
        client.send("CONFIG", "SET", "loglevel", "notice")
        assert client.send("CONFIG", "GET", "log-level").frame.blobs()[1] == b"warning"
        client.send("CONFIG", "SET", "timeout", "1003")
    server.stop()
    told = server.output()
    assert "sets timeout to 1002" in told
    assert "DEBUG client 2 connected from 127.0.0.1" in told
    assert "timeout to 1001" not in told
    assert "timeout to 1003" not in told


def test_reclaiming_and_compactions_are_told(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--log-level", "info"]).start()
    with server.client() as client:
        for part in range(20):
            fields = [word for n in range(1000) for word in (f"{part}-{n}", "x" * 50)]
            client.send("HSET", "big", *fields)
        client.send("DEL", "big")
    wait_until(lambda: "INFO reclaimed " in server.output())
    wait_until(lambda: "INFO compacted in " in server.output())
    server.stop()


def test_the_state_of_the_tier_is_told_without_its_password(tmp_path: Path) -> None:
    redis = RedisServer(tmp_path / "redis").start()
    server = StrataServer(
        tmp_path / "data", flags=["--log-level", "info", "--log-format", "json"]
    ).start()
    with redis.client() as admin, server.client() as client:
        admin.send("CONFIG", "SET", "requirepass", "sesame")
        url = f"redis://:sesame@127.0.0.1:{redis.port}/0"
        assert client.send("CONFIG", "SET", "cache-url", url).raw == b"+OK\r\n"
        wait_until(lambda: "the cache is in use" in server.output())
    redis.stop()
    wait_until(lambda: "is bypassed" in server.output())
    server.stop()
    told = server.output()
    assert "sesame" not in told
    messages = [json.loads(line)["message"] for line in told.splitlines() if line[0] == "{"]
    shown = f"redis://:(redacted)@127.0.0.1:{redis.port}/0"
    assert f"cache-url: {shown}" in messages
    assert any(one.endswith(f"sets cache-url to {shown}") for one in messages)
    assert f"redis://127.0.0.1:{redis.port}/0 is connected" in messages


def hang_up(server: StrataServer) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)


def test_a_log_file_that_was_moved_away_is_opened_anew(tmp_path: Path) -> None:
    file, old = tmp_path / "stratakv.log", tmp_path / "stratakv.log.1"
    flags = ["--log-file", str(file), "--log-level", "info"]
    server = StrataServer(tmp_path / "data", flags=flags).start()
    with server.client() as client:
        assert client.send("CONFIG", "GET", "logfile").frame.blobs()[1] == str(file).encode()
        assert client.send("CONFIG", "SET", "logfile", "x").frame.is_error
        client.send("CONFIG", "SET", "timeout", "1001")
        file.rename(old)
        client.send("CONFIG", "SET", "timeout", "1002")
        hang_up(server)
        wait_until(file.exists, "no new file")
        client.send("CONFIG", "SET", "timeout", "1003")
        assert "sets timeout to 1002" in old.read_text()
        assert "1003" not in old.read_text()
        assert "sets timeout to 1003" in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
        file.unlink()
        file.mkdir()
        hang_up(server)
        file.rmdir()
        hang_up(server)
        wait_until(file.exists, "a file that could not be opened is never tried again")
    assert server.terminate() == 0
    assert len(server.output().splitlines()) == 1, "the line that says ready, and nothing else"
    assert "stopped" in file.read_text()


def test_a_log_file_that_cannot_be_is_refused(tmp_path: Path) -> None:
    flags = ["--log-file", str(tmp_path / "nowhere" / "log")]
    with pytest.raises(StartError, match=r"log-file = .*cannot be written: No such file"):
        StrataServer(tmp_path / "data", flags=flags).start()


def test_slow_calls_are_told_to_the_log_as_well(tmp_path: Path) -> None:
    flags = ["--slowlog-log-slower-than", "0", "--requirepass", "sesame"]
    server = StrataServer(tmp_path / "data", flags=flags).start()
    with server.client() as client:
        client.send("AUTH", "sesame")
        client.send("SET", "quiet", "1")
        client.send("CONFIG", "SET", "slowlog-to-log", "yes")
        client.send("CLIENT", "SETNAME", "shop")
        client.send("SET", b"k\n\xff", '"' * 3)
        client.send("AUTH", "sesame")
    server.stop()
    told = server.output()
    assert re.search(r'WARNING slow: \d+\.\d{3} ms for 127.0.0.1:\d+ "shop": "SET" ', told)
    assert r'"SET" "k\n\xff" "\"\"\""' in told
    assert '"AUTH" "(redacted)"' in told
    assert "quiet" not in told
    assert "sesame" not in told
