"""A full disk: writes are refused with the reason, reads go on, writes resume when there is room.

The disk is a limit on the size of the server's files (harness/disks.py), and in the end a disk of
its own.
"""

from __future__ import annotations

import random
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check_directory
from tests.harness.disks import NO_LIMIT, limit_files
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient

LIMIT = 300_000
VALUE = "x" * 10_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data", flags=["--log-level", "error"]).start()
    yield started
    started.stop()


def fill(client: WireClient, prefix: str) -> list[str]:
    """Write until refused; the keys that were acknowledged."""
    written: list[str] = []
    for number in range(1000):
        key = f"{prefix}{number}"
        reply = client.send("SET", key, VALUE)
        if reply.frame.is_error:
            assert reply.raw.startswith(b"-MISCONF "), reply
            return written
        written.append(key)
    raise AssertionError("the disk never became full")


def wait_until_written(client: WireClient) -> None:
    wait_until(
        lambda: not client.send("SET", "resumed", "1").frame.is_error, "writes did not resume"
    )


def health(server: StrataServer) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/healthz") as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def assert_all_there(client: WireClient, keys: list[str]) -> None:
    replies = client.pipeline([("STRLEN", key) for key in keys])
    assert [reply.frame.number for reply in replies] == [len(VALUE)] * len(keys)
    assert client.send("EXISTS", *keys).frame.number == len(keys)


def test_writes_stop_reads_go_on_and_writes_resume(server: StrataServer) -> None:
    with server.client() as client:
        limit_files(server, LIMIT)
        written = fill(client, "first")
        assert written
        assert client.send("SET", "k", "v").raw.startswith(b"-MISCONF ")
        assert client.send("DEL", written[0]).raw.startswith(b"-MISCONF ")
        assert client.send("PING").raw == b"+PONG\r\n"
        assert_all_there(client, written)
        code, text = health(server)
        assert code == 503
        assert "refuses writes" in text
        time.sleep(2.5)  # the server tries to mend its store meanwhile, in vain
        assert_all_there(client, written)
        limit_files(server, NO_LIMIT)
        wait_until_written(client)
        assert health(server) == (200, "ok\n")
        assert_all_there(client, written)
        client.send("SET", "later", VALUE)
    server.kill9()
    assert check_directory(server.dir) == 0
    server.start()
    with server.client() as client:
        assert_all_there(client, [*written, "later"])
        assert client.send("DBSIZE").frame.number == len(written) + 2
    assert "Traceback" not in server.output()


def test_a_pipeline_that_meets_the_end_of_the_disk_knows_what_was_written(
    server: StrataServer,
) -> None:
    with server.client() as client:
        limit_files(server, LIMIT)
        commands = [("SET", f"key{number}", VALUE) for number in range(100)]
        replies = client.pipeline(commands)
        written = [
            f"key{number}" for number, reply in enumerate(replies) if reply.raw == b"+OK\r\n"
        ]
        refused = [reply for reply in replies if reply.raw.startswith(b"-MISCONF ")]
        assert len(written) + len(refused) == 100
        assert refused
        limit_files(server, NO_LIMIT)
        wait_until_written(client)
        if written:
            assert_all_there(client, written)
    server.kill9()
    assert check_directory(server.dir) == 0


def test_a_long_command_that_meets_the_end_of_the_disk_changes_nothing(
    server: StrataServer,
) -> None:
    with server.client() as client:
        members = [f"{number}-{'m' * 100}" for number in range(3000)]
        for start in range(0, 3000, 500):
            client.send("SADD", "big", *members[start : start + 500])
        limit_files(server, 600_000)
        reply = client.send("SUNIONSTORE", "copy", "big")
        assert reply.raw.startswith(b"-MISCONF "), reply
        assert client.send("EXISTS", "copy").frame.number == 0
        assert client.send("SCARD", "big").frame.number == 3000
        limit_files(server, NO_LIMIT)
        wait_until_written(client)
        assert client.send("SUNIONSTORE", "copy", "big").frame.number == 3000
    server.kill9()
    assert check_directory(server.dir) == 0


# a disk of its own, which is really full


DISK_MB = 96
RESERVE = ("--disk-reserve-bytes", "16mb", "--write-buffer-bytes", "512kb", "--log-level", "error")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system in memory; only those who may mount can have one."""
    place = tmp_path / "disk"
    place.mkdir()
    options = f"size={DISK_MB}m"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("mounting is not permitted")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def small(disk: Path) -> Iterator[StrataServer]:
    started = StrataServer(disk / "data", flags=RESERVE)
    started.log = disk.parent / "server.log"
    started.start()
    yield started
    started.kill9()


def fill_to_the_brim(
    server: StrataServer, client: WireClient, chance: random.Random, first: int = 0
) -> list[str]:
    """Write what cannot be compressed until refused; the keys that were acknowledged."""
    written: list[str] = []
    while True:
        key = f"key{first + len(written)}"
        reply = client.send("SET", key, chance.randbytes(10_000))
        if reply.frame.is_error:
            assert reply.raw.startswith(b"-MISCONF "), reply
            wait_until(lambda: deletes(client), server.output)
            if not (server.dir / "RESERVE").exists():
                return written
        else:
            written.append(key)


def succeeds(client: WireClient, *command: str) -> bool:
    """Whether a command is accepted; it may be refused while the store is mended."""
    reply = client.send(*command)
    assert not reply.frame.is_error or reply.raw.startswith(b"-MISCONF "), reply
    return not reply.frame.is_error


def deletes(client: WireClient) -> bool:
    """Whether the store is mended, if only for what makes room."""
    return succeeds(client, "DEL", "nothing")


def test_deleting_makes_room_on_a_full_disk(small: StrataServer) -> None:
    assert (small.dir / "RESERVE").stat().st_blocks * 512 >= 16 << 20
    chance = random.Random(7)
    with small.client() as client:
        written = fill_to_the_brim(small, client, chance)
        assert len(written) > 3000
        refused = client.send("SET", "k", "v").raw
        assert refused.startswith(b"-MISCONF ")
        assert b"full" in refused
        assert client.send("LPUSH", "l", "v").raw.startswith(b"-MISCONF ")
        assert client.send(
            "EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "k"
        ).frame.is_error
        assert (
            client.send("EVAL", "return redis.call('DEL', KEYS[1])", "1", written[0]).raw
            == b":1\r\n"
        )
        assert health(small)[0] == 503
        deleted, kept = written[1 : len(written) // 2], written[len(written) // 2 :]
        for start in range(0, len(deleted), 50):
            wait_until(lambda: succeeds(client, "UNLINK", *deleted[start : start + 50]))  # noqa: B023
        small.kill9()
    small.start()
    with small.client() as client:
        assert client.send("EXISTS", *deleted).frame.number == 0
        assert client.send("EXISTS", *kept).frame.number == len(kept)
        wait_until(lambda: succeeds(client, "FLUSHALL"), small.output)
        wait_until(lambda: succeeds(client, "SET", "again", "v"), small.output)
        wait_until(lambda: (small.dir / "RESERVE").exists(), small.output)
        wait_until(lambda: health(small) == (200, "ok\n"))
        again: list[str] = []
        while len(again) <= len(written) // 2:  # a compaction may need what has just come back
            wait_until(lambda: succeeds(client, "SET", "again", "v"), small.output)
            again += fill_to_the_brim(small, client, chance, len(again))
        assert client.send("EXISTS", *again).frame.number == len(again)
        wait_until(lambda: succeeds(client, "FLUSHALL"), small.output)
        wait_until(lambda: succeeds(client, "SET", "again", "v"), small.output)
    assert small.terminate() == 0
    assert check_directory(small.dir) == 0
    assert "Traceback" not in small.output()


def test_no_reserve_is_kept_where_none_is_wanted(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--disk-reserve-bytes", "1mb"]).start()
    assert (server.dir / "RESERVE").stat().st_size == 1 << 20
    assert server.terminate() == 0
    server.flags = ["--disk-reserve-bytes", "0"]
    server.start()
    assert not (server.dir / "RESERVE").exists()
    assert server.terminate() == 0
