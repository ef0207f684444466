"""An HBase that is away for too long, or has too much to do, and a server that waits for one."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.harness.hbase import HBaseServer, hbase_flags
from tests.harness.servers import STRATAKV, StrataServer, free_port
from tests.harness.waiting import HANG_S, wait_until
from tests.harness.wire import WireClient, encode
from tests.hbase.conftest import start_hbase

pytestmark = [pytest.mark.hbase]

Serve = Callable[..., StrataServer]
BUSY = {
    "hbase.hregion.memstore.flush.size": str(256 << 10),
    "hbase.hregion.memstore.block.multiplier": "1",
    "hbase.table.sanity.checks": "false",
}
"""Of a regionserver that refuses writes as soon as a few of them are not in files."""
FLOOD_BYTES = 512 << 20
"""More than any buffer on the way of what nobody reads."""


@pytest.fixture(scope="module")
def hbase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseServer]:
    """One of its own, which may be stopped and killed."""
    server = start_hbase(tmp_path_factory.mktemp("mortal"), BUSY)
    yield server
    server.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with these flags, which ends with the test."""
    started: list[StrataServer] = []

    def start(*flags: str) -> StrataServer:
        started.append(StrataServer(tmp_path / "data", flags=flags))
        return started[-1].start()

    yield start
    for server in started:
        server.stop()


def counter(client: WireClient, name: str) -> int:
    told = client.send("MEMORY", "MALLOC-STATS").frame.data or b""
    found = re.search(rb"%s: (\d+)" % name.encode(), told)
    assert found is not None
    return int(found[1])


def says(server: StrataServer, *words: str) -> str:
    """A reply, or nothing if the connection is cut."""
    with suppress(OSError), server.client() as client:
        return str(client.send(*words))
    return ""


def test_a_server_that_asks_for_less_gets_less_and_loses_nothing(
    hbase: HBaseServer, serve: Serve
) -> None:
    server = serve(*hbase.flags("busy"))
    replies: list[str] = []

    def write(number: int) -> None:
        with server.client() as client:
            for value in range(40):
                name, text = f"key{number}:{value}", str(value) * 20_000
                replies.append(str(client.send("SET", name, text)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with server.client() as client:
        assert counter(client, "too_busy") > 0, "nobody was refused"
        assert len(replies) == 160
        assert set(replies) == {"status OK"}
        assert client.send("DBSIZE").frame.number == 160


def test_an_hbase_that_is_silent_is_not_written_to_from_memory_without_end(
    hbase: HBaseServer, serve: Serve
) -> None:
    server = serve(*hbase.flags("silent"))
    flood = b"".join(encode("SET", f"key{number}", b"x" * 50_000) for number in range(20))
    sent = 0
    with server.client() as client:
        client.send("SET", "key", "value")
    os.kill(hbase.pid, signal.SIGSTOP)
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as writer:
            writer.settimeout(2.0)
            with suppress(TimeoutError):
                while sent < FLOOD_BYTES:
                    sent += writer.send(flood)
    finally:
        os.kill(hbase.pid, signal.SIGCONT)
    assert sent < FLOOD_BYTES, "all of it was read"
    wait_until(lambda: "integer" in says(server, "STRLEN", "key"))


def test_one_that_is_away_for_too_long_is_told_and_served_from_again(
    hbase: HBaseServer, serve: Serve
) -> None:
    server = serve(*hbase.flags("away"), "--hbase-patience", "2s")
    with server.client() as client:
        client.send("SET", "known", "value")
        hbase.kill9()
        with suppress(OSError):  # cut, since nobody knows what has become of it
            assert "MISCONF" in str(client.send("SET", "lost", "value"))
    wait_until(lambda: "MISCONF" in says(server, "SET", "key", "value"))
    wait_until(lambda: "MISCONF" in says(server, "GET", "known"))
    assert says(server, "PING") == "status PONG"
    hbase.start()
    wait_until(lambda: says(server, "SET", "key", "value") == "status OK")
    with server.client() as client:
        assert client.send("GET", "known").frame.data == b"value"
        assert client.send("GET", "lost").frame.data in (None, b"value")
    assert server.terminate() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_waits_for_an_hbase_can_be_stopped(tmp_path: Path, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        zookeeper = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [*STRATAKV, "serve", "--dir", str(tmp_path), "--port", "0", "--http", "no"]
        process = subprocess.Popen([*command, *hbase_flags(zookeeper, "table")])
        try:
            silent.settimeout(HANG_S)
            silent.accept()[0].close()  # by now it has begun
            time.sleep(0.1)
            process.send_signal(number)
            assert process.wait(HANG_S / 4) == 0
        finally:
            process.kill()
            process.wait()


def test_what_cannot_be_reached_is_named(tmp_path: Path) -> None:
    command = [*STRATAKV, "serve", "--dir", str(tmp_path), "--port", "0", "--hbase-patience", "1s"]
    flags = hbase_flags(f"127.0.0.1:{free_port()}", "table")
    done = subprocess.run(
        [*command, *flags], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 1
    assert "ZooKeeper" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_the_client_of_an_hbase_does_is_measured(hbase: HBaseServer, serve: Serve) -> None:
    server = serve(*hbase.flags("measured"))
    with server.client() as client:
        client.send("SET", "key", "value")
    with urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=HANG_S) as page:
        told = page.read().decode()
    found = dict(re.findall(r"^stratakv_(\w+) (\S+)$", told, re.MULTILINE))
    assert float(found["hbase_commits_total"]) > 0
    assert float(found["hbase_rows_written_total"]) > 0
    assert float(found["hbase_epoch"]) == 1
    assert float(found["hbase_waiting"]) >= 0
    assert float(found["hbase_call_duration_seconds_count"]) > 0
    assert float(found["store_waiting_bytes"]) == 0


@pytest.mark.parametrize(
    ("zookeeper", "reason"),
    [
        ("name:password@host:2181", "StrataKV works with an HBase without authentication only"),
        ("https://host:2181", "reached without TLS"),
        ("no host", "is not a ZooKeeper address"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(tmp_path: Path, zookeeper: str, reason: str) -> None:
    command = [*STRATAKV, "serve", "--dir", str(tmp_path), "--port", "0"]
    done = subprocess.run(
        [*command, *hbase_flags(zookeeper, "table")],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 1
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
