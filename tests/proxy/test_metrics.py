"""The HTTP port: what /metrics shows, what /healthz says, and who is turned away."""

from __future__ import annotations

import asyncio
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stratakv.proxy.jobs.housekeeping import Lag
from stratakv.proxy.observe.collectors import MICROSECOND, KeyspaceCollector, cumulate
from stratakv.proxy.observe.metrics import REQUEST_BYTES
from tests.harness.servers import StrataServer
from tests.harness.waiting import HANG_S, loop_until, wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path_factory.mktemp("metrics") / "data").start()
    yield started
    started.stop()


def exchange(server: StrataServer, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=HANG_S) as client:
        client.sendall(data)
        return b"".join(iter(lambda: client.recv(65536), b""))


def get(server: StrataServer, path: str = "/metrics") -> str:
    url = f"http://127.0.0.1:{server.http_port}{path}"
    with urllib.request.urlopen(url, timeout=HANG_S) as reply:
        text: str = reply.read().decode()
        return text


def samples(server: StrataServer) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The page, read by prometheus-client's own parser."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(get(server))
        for sample in family.samples
    }


@pytest.mark.slow
def test_disk_memory_and_levels_are_told(tmp_path: Path) -> None:
    flags = ["--write-buffer-bytes", "1mb", "--compression", "no"]
    server = StrataServer(tmp_path / "data", flags=flags).start()
    with server.client() as client:
        for number in range(300):
            client.send("SET", f"k{number}", "x" * 10_000)
    wait_until(lambda: samples(server)["stratakv_disk_bytes", ()] > 3_000_000)
    found = samples(server)
    server.stop()
    assert found["stratakv_disk_files", ()] > 4
    assert found["stratakv_disk_size_bytes", ()] > found["stratakv_disk_free_bytes", ()] > 0
    assert found["stratakv_memory_own_bytes", ()] <= found["stratakv_memory_peak_bytes", ()]
    assert found["stratakv_memory_mapped_bytes", ()] > 0
    levels = [value for (name, _), value in found.items() if name == "stratakv_leveldb_files"]
    assert sum(levels) > 0
    names = {name for name, _ in found}
    for rest in ("seconds", "read_bytes", "written_bytes"):
        assert f"stratakv_leveldb_compaction_{rest}_total" in names


def test_commands_show_up_by_name_with_their_durations(server: StrataServer) -> None:
    before = samples(server)
    with server.client() as client:
        client.pipeline([("SET", f"key{number}", "v") for number in range(50)])
        client.send("INCR", "key1")
        client.send("GET")
        client.send("NOSUCHCOMMAND")
    after = samples(server)

    def grown(name: str, **labels: str) -> float:
        key = (f"stratakv_{name}", tuple(sorted(labels.items())))
        return after.get(key, 0) - before.get(key, 0)

    assert grown("command_duration_seconds_count", command="set") == 50
    assert grown("command_duration_seconds_bucket", command="set", le="+Inf") == 50
    assert 0 < grown("command_duration_seconds_sum", command="set") < 5
    assert grown("commands_failed_total", command="incr") == 1
    assert grown("commands_rejected_total", command="get") == 1
    assert grown("errors_total", code="ERR") == 3
    assert grown("keys", db="0") == 50
    assert grown("connections_total") == 1
    assert grown("received_bytes_total") > 1000
    assert grown("sent_bytes_total") > 250
    assert grown("store_written_rows_total") >= 50
    assert grown("store_written_bytes_total") > 1000
    assert grown("commit_rows_count") >= 1
    assert grown("commit_duration_seconds_count") >= 1
    assert grown("meta_cache_misses_total") == 50


def test_everything_that_is_promised_is_on_the_page(server: StrataServer) -> None:
    names = {name for name, _ in samples(server)}
    promised = """
        stratakv_clients stratakv_gc_backlog stratakv_store_reads_total stratakv_store_stalls_total
        stratakv_event_loop_lag_seconds_bucket stratakv_meta_cache_hits_total
        stratakv_meta_cache_evictions_total stratakv_meta_cache_bytes stratakv_long_commands_total
        stratakv_expired_keys_total stratakv_info process_resident_memory_bytes
        process_cpu_seconds_total
    """
    assert set(promised.split()) <= names


def test_histograms_are_cumulative_and_every_family_has_one_head(server: StrataServer) -> None:
    page = get(server)
    heads = [line for line in page.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert "# TYPE stratakv_command_duration_seconds histogram" in heads
    counts = [
        float(line.rsplit(" ", 1)[1])
        for line in page.splitlines()
        if line.startswith("stratakv_event_loop_lag_seconds_bucket")
    ]
    assert counts == sorted(counts)
    assert counts[-1] > 0


def test_a_long_pause_of_the_loop_is_seen(server: StrataServer) -> None:
    """The probe comes every 10 ms: what it measures is about time, not about ticks."""
    key = ("stratakv_event_loop_lag_seconds_count", ())
    before = samples(server)[key]
    wait_until(lambda: samples(server)[key] - before > 5)


def test_health_is_ok(server: StrataServer) -> None:
    assert get(server, "/healthz") == "ok\n"
    assert get(server, "/healthz?verbose=1") == "ok\n"


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /metrics HTTP/1.1", b"200 OK"),
        (b"GET /metrics HTTP/1.0", b"200 OK"),
        (b"GET / HTTP/1.1", b"404 Not Found"),
        (b"GET /metrics/ HTTP/1.1", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1", b"405 Method Not Allowed"),
        (b"DELETE /healthz HTTP/1.1", b"405 Method Not Allowed"),
        (b"GET /metrics", b"400 Bad Request"),
        (b"GET http://x/metrics HTTP/1.1", b"400 Bad Request"),
        (b"GET /metrics HTTP/2", b"400 Bad Request"),
        (b"*1\r\n$4\r\nPING", b"400 Bad Request"),
        (b"\xff\xfe\x00", b"400 Bad Request"),
    ],
)
def test_the_status_of_requests(server: StrataServer, request_line: bytes, status: bytes) -> None:
    reply = exchange(server, request_line + b"\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 " + status + b"\r\n")
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(body) in head
    assert (b"Allow: GET, HEAD" in head) is status.startswith(b"405")


def test_head_has_no_body(server: StrataServer) -> None:
    reply = exchange(server, b"HEAD /metrics HTTP/1.1\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200 OK")
    assert reply.endswith(b"\r\n\r\n")


def test_a_large_request_is_turned_away(server: StrataServer) -> None:
    reply = exchange(server, b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 5 * REQUEST_BYTES)
    assert reply.startswith(b"HTTP/1.1 431")


def test_half_a_request_is_turned_away_and_nothing_at_all_is_let_go(server: StrataServer) -> None:
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=HANG_S) as client:
        client.sendall(b"GET /met")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100).startswith(b"HTTP/1.1 400")
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=HANG_S) as client:
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""


@pytest.mark.slow
def test_slow_requests_neither_stay_nor_keep_others_out(server: StrataServer) -> None:
    address = ("127.0.0.1", server.http_port)
    slow = [socket.create_connection(address, timeout=HANG_S) for _ in range(5)]
    for client in slow:
        client.sendall(b"GET /metrics HTTP/1.1\r\n")
    assert get(server, "/healthz") == "ok\n"
    for client in slow:
        assert client.recv(100).startswith(b"HTTP/1.1 408")
        client.close()


def test_many_at_once_are_turned_away(server: StrataServer) -> None:
    crowd = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(40)]
    ask = b"GET /healthz HTTP/1.1\r\n\r\n"
    wait_until(lambda: exchange(server, ask).startswith(b"HTTP/1.1 503"))
    for client in crowd:
        client.close()
    wait_until(lambda: exchange(server, ask).startswith(b"HTTP/1.1 200"))
    assert get(server, "/healthz") == "ok\n"


@pytest.mark.slow
def test_while_it_drains_it_is_not_healthy(tmp_path: Path) -> None:
    """A long command keeps the drain going for long enough to ask."""
    server = StrataServer(tmp_path / "data").start()
    with server.client() as client:
        for start in range(0, 100_000, 1000):
            client.send("SADD", "big", *range(start, start + 1000))
        client.write(b"SUNIONSTORE copy big\r\n")
        server.wait_until_asked("sunionstore")
        assert server.process is not None
        server.process.terminate()
        replies = set()
        while server.is_running:
            try:
                replies.add(exchange(server, b"GET /healthz HTTP/1.1\r\n\r\n")[:100])
            except OSError:
                break
            time.sleep(0.005)
    assert server.process.wait(HANG_S) == 0
    assert any(reply.startswith(b"HTTP/1.1 503") for reply in replies)


# the parts


def test_buckets_add_up() -> None:
    buckets = [1, 0, 2, 3, 0, 4]
    assert cumulate(buckets, range(1, 4), 1) == [("2", 1), ("4", 3), ("8", 6), ("+Inf", 10)]
    assert cumulate([5] * 5, range(4, 5), MICROSECOND)[0] == (repr(16e-06), 25)


def test_hits_are_key_commands_that_loaded_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        SimpleNamespace(calls=0, touches_keys=True),
        SimpleNamespace(calls=9, touches_keys=False),
    ]
    monkeypatch.setattr("stratakv.proxy.observe.collectors.every_command", lambda: entries)
    server: Any = SimpleNamespace()
    collector = KeyspaceCollector(server)
    seen = []
    for calls, loads in ((10, 4), (20, 4), (21, 50), (30, 50), (5, 50)):
        entries[0].calls = calls
        seen.append(collector._count_hits(loads))
    assert seen == [6, 16, 16, 25, 30], "never falls, and CONFIG RESETSTAT starts anew"


async def test_lag_is_what_a_blocked_loop_costs() -> None:
    lag = Lag(asyncio.get_running_loop())
    lag.start()
    await loop_until(lambda: sum(lag.buckets) >= 3)
    time.sleep(0.08)
    await loop_until(lambda: lag.max_seconds > 0.06)
    lag.stopped = True
    assert sum(lag.buckets[17:]) >= 1, "a lag of more than 65 ms"
