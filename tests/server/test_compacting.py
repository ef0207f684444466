"""STRATA COMPACT: the space of what was deleted comes back, and nobody is held up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.layout import rows
from tests.harness.disks import NO_LIMIT, limit_files
from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import Arg, WireClient

STARTED = b"+Background compaction started\r\n"
RUNNING = b"-ERR a STRATA COMPACT is still running; see INFO store\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    flags = ["--write-buffer-bytes", "1mb", "--compression", "no", "--log-level", "info"]
    started = StrataServer(tmp_path / "data", flags=flags).start()
    yield started
    started.stop()


def told(client: WireClient) -> dict[str, str]:
    lines = (client.send("INFO", "store").frame.data or b"").decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def compact(client: WireClient, *words: Arg) -> dict[str, str]:
    """Compact, and wait for the end; what INFO tells then."""
    assert client.send("STRATA", "COMPACT", *words).raw == STARTED
    wait_until(lambda: told(client)["store_compaction_in_progress"] == "0", "it never ends")
    shown = told(client)
    assert shown["store_compaction_last_error"] == ""
    assert shown["store_compaction_pieces"] == shown["store_compaction_pieces_done"] != "0"
    assert float(shown["store_compaction_last_seconds"]) >= 0
    return shown


def size(server: StrataServer) -> int:
    """Bytes in tables."""
    return sum(file.stat().st_size for file in server.dir.glob("*.ldb"))


def overwrite(client: WireClient, rounds: int) -> None:
    chance = random.Random(1)
    for _ in range(rounds):
        for number in range(300):
            client.send("SET", f"k{number}", chance.randbytes(10_000))


@pytest.mark.slow
def test_space_comes_back_and_others_are_served(server: StrataServer) -> None:
    with server.client() as client, server.client() as other:
        assert told(client)["store_compaction_last_seconds"] == "-1.000"
        overwrite(client, 3)
        before = size(server)
        both = client.pipeline([("STRATA", "COMPACT"), ("STRATA", "COMPACT", "DB", 0)])
        assert [reply.raw for reply in both] == [STARTED, RUNNING]
        while told(client)["store_compaction_in_progress"] == "1":
            assert other.send("SET", "k0", "new").raw == b"+OK\r\n"
        wait_until(lambda: size(server) < 0.6 * before, "no space came back")
        other.send("SET", "k0", "new")
        assert other.send("GET", "k0").raw == b"$3\r\nnew\r\n"
        assert other.send("STRLEN", "k299").frame.number == 10_000
    assert "STRATA COMPACT is done" in server.output()


def test_a_database_or_a_key_is_enough(server: StrataServer) -> None:
    with server.client() as client:
        client.send("RPUSH", "list", *range(1000))
        client.send("LTRIM", "list", -1, -1)
        compact(client, "KEY", "list")
        compact(client, "key", b"none\xff\x00")
        compact(client, "DB", 15)
        assert client.send("LRANGE", "list", 0, -1).frame.blobs() == [b"999"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("DB",), b"-ERR syntax error\r\n"),
        (("DB", 1, "KEY", "k"), b"-ERR syntax error\r\n"),
        (("TABLE", 1), b"-ERR syntax error\r\n"),
        (("DB", "x"), b"-ERR value is not an integer or out of range\r\n"),
        (("DB", 16), b"-ERR DB index is out of range\r\n"),
        (("DB", -1), b"-ERR DB index is out of range\r\n"),
    ],
)
def test_what_it_does_not_understand(
    server: StrataServer, words: tuple[Arg, ...], error: bytes
) -> None:
    with server.client() as client:
        assert client.send("STRATA", "COMPACT", *words).raw == error
        client.send("MULTI")
        assert client.send("STRATA", "COMPACT").frame.is_error
        client.send("DISCARD")
        assert told(client)["store_compaction_in_progress"] == "0"


def test_a_full_disk_is_not_made_fuller(server: StrataServer) -> None:
    with server.client() as client:
        limit_files(server, 1)
        assert client.send("SET", "k", "v").raw.startswith(b"-MISCONF ")
        assert client.send("STRATA", "COMPACT").raw.startswith(b"-MISCONF ")
        limit_files(server, NO_LIMIT)
        wait_until(lambda: not client.send("SET", "k", "v").frame.is_error, "no writes again")
        compact(client)


def test_a_server_that_stops_does_not_wait_for_the_rest(server: StrataServer) -> None:
    with server.client() as client:
        overwrite(client, 1)
        assert client.send("STRATA", "COMPACT").raw == STARTED
    assert server.terminate() == 0
    server.start()
    with server.client() as client:
        assert client.send("STRLEN", "k299").frame.number == 10_000


def test_the_ranges_of_a_key_hold_its_rows_and_no_others() -> None:
    ns = b"0.a1:"
    ranges = rows.ranges_of_key(ns, b"key")

    def is_within(row: bytes) -> bool:
        return any(start <= row < stop for start, stop in ranges)

    for key in (b"key", b"ke", b"key\x00", b"kez"):
        meta = rows.meta_row(ns, key)
        sub = rows.sub_prefix(meta, len(ns), (1 << 63) + 5)
        for row in (meta, sub, sub + b"\xff" * 40, b"k#" + sub[2:], b"i#" + sub[2:]):
            assert is_within(row) == (key == b"key"), row
            namespace = rows.ranges_of_namespace(ns)
            assert any(start <= row < stop for start, stop in namespace)
            assert not any(start <= row < stop for start, stop in rows.ranges_of_namespace(b"0.a:"))
