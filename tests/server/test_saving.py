"""SAVE and BGSAVE: dumps that a real Redis loads, written while everybody else is served."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check_directory
from tests.harness.servers import RedisServer, StartError, StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient
from tests.rdb import contents


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data").start()
    yield started
    started.stop()


def persistence(client: WireClient) -> dict[str, str]:
    text = (client.send("INFO", "persistence").frame.data or b"").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def wait_until_saved(client: WireClient, saves: int) -> None:
    wait_until(lambda: persistence(client)["rdb_saves"] == str(saves), "no dump was written")


def loaded(tmp_path: Path, dump: Path) -> RedisServer:
    """A Redis that has loaded a dump."""
    redis = RedisServer(tmp_path / "redis")
    (redis.dir / "dump.rdb").write_bytes(dump.read_bytes())
    return redis.start()


def test_redis_loads_what_save_has_written(
    tmp_path: Path, server: StrataServer, redis_server: RedisServer
) -> None:
    with server.client() as client:
        contents.fill(client, large=500)
        assert client.send("SAVE").raw == b"+OK\r\n"
        times = contents.times(client)
        shown = persistence(client)
    assert shown["rdb_saves"] == "1"
    assert shown["rdb_changes_since_last_save"] == "0"
    assert shown["rdb_last_bgsave_status"] == "ok"
    redis = loaded(tmp_path, server.dir / "dump.rdb")
    original = RedisServer(tmp_path / "original").start()
    with redis.client() as copy, original.client() as expected:
        contents.fill(expected, large=500)
        assert contents.times(copy) == times == contents.times(expected)
        answers = [client.send("FCALL", "answer", 0).raw for client in (copy, expected)]
        assert answers == [b":42\r\n"] * 2
        for key in ("list:large", "hash:large", "zset:large", "set:large", "random"):
            dumps = [client.send("DEBUG", "DIGEST-VALUE", key).raw for client in (copy, expected)]
            assert dumps[0] == dumps[1], key
    redis.stop()
    original.stop()
    server.terminate()
    assert check_directory(server.dir) == 0


def test_the_words_of_redis(redis_wire: WireClient, server: StrataServer) -> None:
    with server.client() as client:
        assert client.send("BGSAVE").raw == b"+Background saving started\r\n"
        wait_until_saved(client, 1)
        assert client.send("BGSAVE", "schedule").raw == b"+Background saving started\r\n"
        wait_until_saved(client, 2)
        for one in (client, redis_wire):
            assert one.send("BGSAVE", "x").raw == b"-ERR syntax error\r\n"
        unit = client.pipeline([("MULTI",), ("SET", "k", "v"), ("BGSAVE",), ("EXEC",)])
        assert b"+Background saving scheduled\r\n" in unit[-1].raw
        wait_until_saved(client, 3)


@pytest.mark.slow
def test_others_are_served_meanwhile_and_a_second_one_is_refused(server: StrataServer) -> None:
    with server.client() as client, server.client() as other:
        for at in range(0, 200_000, 2000):
            client.send("RPUSH", "list", *range(at, at + 2000))
        before = client.send("LASTSAVE").frame.number or 0
        assert client.send("BGSAVE").raw == b"+Background saving started\r\n"
        for call in (("BGSAVE",), ("BGSAVE", "SCHEDULE"), ("SAVE",)):
            assert other.send(*call).raw == b"-ERR Background save already in progress\r\n"
        written = 0
        while persistence(other)["rdb_bgsave_in_progress"] == "1":
            assert int(persistence(other)["rdb_current_bgsave_time_sec"]) >= -1
            assert other.send("SET", f"k{written}", "v").raw == b"+OK\r\n"
            written += 1
        assert written > 10
        shown = persistence(client)
        assert int(shown["rdb_last_bgsave_time_sec"]) >= 0
        assert int(shown["rdb_changes_since_last_save"]) == written
        assert (client.send("LASTSAVE").frame.number or 0) >= before
        assert str(client.send("LASTSAVE").frame.number) == shown["rdb_last_save_time"]


def test_a_dump_is_named_by_dbfilename(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--dbfilename", "other.rdb"]).start()
    with server.client() as client:
        assert client.send("CONFIG", "GET", "dbfilename").frame.blobs() == [
            b"dbfilename",
            b"other.rdb",
        ]
        client.send("SAVE")
    assert (server.dir / "other.rdb").read_bytes().startswith(b"REDIS0010")
    server.stop()
    with pytest.raises(StartError, match=r"dbfilename = 'a/b'.*the name of a file"):
        StrataServer(tmp_path / "data", flags=["--dbfilename", "a/b"]).start()


def test_a_full_disk_is_named_and_the_old_dump_stays(server: StrataServer) -> None:
    with server.client() as client:
        client.send("SET", "k", "v")
        assert client.send("SAVE").raw == b"+OK\r\n"
        old = (server.dir / "dump.rdb").read_bytes()
        for number in range(100):
            client.send("SET", f"k{number}", "x" * 60_000)
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1_000_000, hard))
        assert client.send("SAVE").raw == b"-ERR\r\n"
        shown = persistence(client)
        assert shown["rdb_last_bgsave_status"] == "err"
        assert "File too large" in shown["rdb_last_bgsave_error"]
        assert shown["rdb_saves"] == "1"
        assert (server.dir / "dump.rdb").read_bytes() == old
        assert not list(server.dir.glob("temp-*"))
        assert "no dump was written to" in server.output()
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert client.send("SAVE").raw == b"+OK\r\n"
        assert persistence(client)["rdb_last_bgsave_status"] == "ok"
        assert len((server.dir / "dump.rdb").read_bytes()) > 6_000_000


def test_what_a_killed_server_has_left_is_taken_away(server: StrataServer) -> None:
    (server.dir / "temp-1.rdb").write_bytes(b"half a dump")
    with server.client() as client:
        assert client.send("SAVE").raw == b"+OK\r\n"
    assert not list(server.dir.glob("temp-*"))


def test_shutdown_save_leaves_a_dump_of_everything(server: StrataServer) -> None:
    with server.client() as client:
        client.send("SET", "k", "last words")
        client.send("BGSAVE")
        client.send("SET", "l", "and more")
        client.write(b"SHUTDOWN SAVE\r\n")
        assert client.read_to_end() == b""
    assert server.process is not None
    assert server.process.wait(60) == 0
    dump = (server.dir / "dump.rdb").read_bytes()
    assert b"last words" in dump
    assert b"and more" in dump


def test_shutdown_save_that_fails_is_no_shutdown(server: StrataServer) -> None:
    (server.dir / "dump.rdb").mkdir()
    with server.client() as client:
        assert client.send("SHUTDOWN", "SAVE").raw == (
            b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
        )
        assert client.send("PING").raw == b"+PONG\r\n"


def test_a_stop_does_not_wait_for_a_dump(server: StrataServer) -> None:
    with server.client() as client:
        for at in range(0, 100_000, 2000):
            client.send("RPUSH", "list", *range(at, at + 2000))
        client.send("BGSAVE")
    assert server.terminate() == 0
    assert not list(server.dir.glob("temp-*"))


# save points, and the end


def end_of(server: StrataServer) -> int:
    """The exit code of a server that ends by itself."""
    assert server.process is not None
    return server.process.wait(HANG_S)


def test_a_save_point_writes_a_dump_when_enough_has_changed(server: StrataServer) -> None:
    with server.client() as client:
        client.send("SET", "before", "v")
        assert client.send("CONFIG", "SET", "save", "1 3").raw == b"+OK\r\n"
        for number in range(3):
            client.send("SET", f"k{number}", "v")
        wait_until_saved(client, 1)
        assert (server.dir / "dump.rdb").exists()
        client.send("SET", "one", "more")
        wait_until(
            lambda: time.time() > 2 + int(persistence(client)["rdb_last_save_time"]), "time stands"
        )
        assert persistence(client)["rdb_saves"] == "1"


def test_a_dump_that_fails_is_tried_again_and_writes_go_on(server: StrataServer) -> None:
    target = server.dir / "dump.rdb"
    target.mkdir()
    with server.client() as client:
        client.send("CONFIG", "SET", "save", "1 1")
        client.send("SET", "k", "v")
        wait_until(
            lambda: persistence(client)["rdb_last_bgsave_status"] == "err", "it did not fail"
        )
        assert client.send("SET", "k", "w").raw == b"+OK\r\n"
        target.rmdir()
        wait_until_saved(client, 1)
        assert persistence(client)["rdb_last_bgsave_status"] == "ok"


ENDS = [
    ("", "default", False),
    ("900 5", "default", True),
    ("", "save", True),
    ("900 5", "nosave now", False),
]


@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(("points", "ending", "is_written"), ENDS)
def test_signals_end_it_as_the_options_say(
    server: StrataServer, signal_name: str, points: str, ending: str, *, is_written: bool
) -> None:
    with server.client() as client:
        name = f"shutdown-on-{signal_name.lower()}"
        client.send("CONFIG", "SET", name, ending, "save", points)
        client.send("SET", "k", "v")
    os.kill(server.pid, getattr(signal, signal_name))
    assert end_of(server) == 0
    assert (server.dir / "dump.rdb").exists() is is_written


def test_without_its_dump_the_end_waits_unless_it_is_forced(server: StrataServer) -> None:
    target = server.dir / "dump.rdb"
    target.mkdir()
    with server.client() as client:
        client.send("CONFIG", "SET", "shutdown-on-sigterm", "save")
        os.kill(server.pid, signal.SIGTERM)
        wait_until(
            lambda: persistence(client)["rdb_last_bgsave_status"] == "err", "it did not fail"
        )
        assert client.send("PING").raw == b"+PONG\r\n"
        assert b"Errors trying to SHUTDOWN" in client.send("SHUTDOWN", "SAVE").raw
        client.send("CONFIG", "SET", "shutdown-on-sigterm", "save force")
    os.kill(server.pid, signal.SIGTERM)
    assert end_of(server) == 0


def test_shutdown_without_a_word_writes_a_dump_if_there_are_save_points(
    server: StrataServer,
) -> None:
    with server.client() as client:
        client.send("CONFIG", "SET", "save", "900 5")
        client.send("SET", "k", "v")
        client.write(b"SHUTDOWN\r\n")
        assert end_of(server) == 0
    assert (server.dir / "dump.rdb").exists()
