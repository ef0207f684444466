"""A full disk: writes are refused with the reason, reads go on, writes resume when there is room.

The disk is a limit on the size of the server's files, which the test can raise again: LevelDB's
log meets it as it would meet a full disk.
"""

from __future__ import annotations

import resource
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.check import check_directory
from tests.harness.servers import StrataServer
from tests.harness.wire import WireClient

LIMIT = 300_000
VALUE = "x" * 10_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data", flags=["--log-level", "error"]).start()
    yield started
    started.stop()


def limit_files(server: StrataServer, size: int) -> None:
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))


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
    deadline = time.monotonic() + 20
    while client.send("SET", "resumed", "1").frame.is_error:
        assert time.monotonic() < deadline, "writes did not resume"
        time.sleep(0.05)


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
        limit_files(server, resource.RLIM_INFINITY)
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
        limit_files(server, resource.RLIM_INFINITY)
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
        limit_files(server, resource.RLIM_INFINITY)
        wait_until_written(client)
        assert client.send("SUNIONSTORE", "copy", "big").frame.number == 3000
    server.kill9()
    assert check_directory(server.dir) == 0
