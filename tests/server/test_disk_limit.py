"""maxdisk-bytes: beyond it nothing may grow, and what is deleted makes room again."""

from __future__ import annotations

import random
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import StrataServer
from tests.harness.waiting import wait_until
from tests.harness.wire import WireClient

REFUSED = b"-OOM command not allowed when used disk > 'maxdisk-bytes'.\r\n"
VALUE_BYTES, KEYS = 4000, 2500
LIMIT = 6 << 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    flags = ("--write-buffer-bytes", "1mb", "--compression", "no")
    started = StrataServer(tmp_path / "data", flags=flags).start()
    yield started
    started.stop()


@pytest.fixture
def client(server: StrataServer) -> Iterator[WireClient]:
    with server.client() as connected:
        yield connected


def fill(client: WireClient) -> None:
    noise = random.Random(1)
    for start in range(0, KEYS, 100):
        client.pipeline(
            ("SET", f"k{n}", noise.randbytes(VALUE_BYTES)) for n in range(start, start + 100)
        )


def limit(client: WireClient, size: int) -> None:
    assert client.send("CONFIG", "SET", "maxdisk-bytes", size).raw == b"+OK\r\n"


def shown(client: WireClient, name: str) -> int:
    lines = client.send("INFO", "store").raw.decode().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split(":")[1])


def health(server: StrataServer) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/healthz") as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_what_may_grow_is_refused_and_the_rest_goes_on(
    server: StrataServer, client: WireClient
) -> None:
    fill(client)
    client.pipeline([("LPUSH", "list", "a", "b"), ("FUNCTION", "LOAD", LIBRARY)])
    limit(client, LIMIT)
    for call in ("SET k1 v", "APPEND k1 v", "LPUSH list c", "HSET h f v", "XADD s * f v"):
        assert client.send(*call.split()).raw == REFUSED, call
    for call in ("GET k1", "DEL k2", "LPOP list", "EXPIRE k3 100", "PING", "INFO", "GETDEL k4"):
        assert not client.send(*call.split()).frame.is_error, call
    assert health(server) == 503
    assert shown(client, "store_disk_full") == 1
    page = urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics").read()
    assert b"stratakv_disk_is_full 1.0\n" in page
    limit(client, 0)
    assert client.send("SET", "k1", "v").raw == b"+OK\r\n"
    assert health(server) == 200
    assert shown(client, "store_disk_full_times") == 1


def test_transactions_are_refused_as_a_whole(client: WireClient) -> None:
    fill(client)
    client.send("MULTI")
    client.send("SET", "k1", "queued before")
    with WireClient(client.port) as other:
        limit(other, LIMIT)
        reply = client.send("EXEC").raw
        assert reply == b"-EXECABORT Transaction discarded because of: " + REFUSED[1:]
        client.send("MULTI")
        assert client.send("SET", "k1", "v").raw == REFUSED
        assert client.send("EXEC").raw.startswith(b"-EXECABORT Transaction discarded because")
        client.send("MULTI")
        client.send("DEL", "k1")
        assert client.send("EXEC").raw == b"*1\r\n:1\r\n"


LIBRARY = (
    "#!lua name=lib\n"
    "redis.register_function('put', function(k) return redis.call('set', k[1], 1) end)\n"
    "redis.register_function{function_name='see', flags={'no-writes'},"
    " callback=function(k) return redis.call('get', k[1]) end}\n"
    "redis.register_function{function_name='grow', flags={'allow-oom'},"
    " callback=function(k) return redis.call('set', k[1], 1) end}\n"
)
SET = "return redis.call('set', KEYS[1], 1)"


def test_scripts_are_refused_as_with_maxmemory(client: WireClient) -> None:
    fill(client)
    client.send("FUNCTION", "LOAD", LIBRARY)
    limit(client, LIMIT)
    undeclared = b"-OOM allow-oom flag is not set on the script"
    assert client.send("EVAL", SET, 1, "k").raw.startswith(REFUSED[:20])
    assert client.send("EVAL", "return redis.call('del', KEYS[1])", 1, "k1").raw == b":1\r\n"
    deleted_first = "redis.call('del', KEYS[1]); return redis.call('set', KEYS[1], 1)"
    assert client.send("EVAL", deleted_first, 1, "k2").raw == b"+OK\r\n"
    assert client.send("EVAL", f"#!lua\n{SET}", 1, "k").raw.startswith(undeclared)
    assert client.send("EVAL", f"#!lua flags=allow-oom\n{SET}", 1, "k").raw == b"+OK\r\n"
    assert client.send("FCALL", "put", 1, "k").raw.startswith(undeclared)
    assert client.send("FCALL", "see", 1, "k").raw == b"$1\r\n1\r\n"
    assert client.send("FCALL", "grow", 1, "k").raw == b"+OK\r\n"


@pytest.mark.parametrize("how", ["DEL", "FLUSHALL", "half"])
def test_space_comes_back_and_writes_resume(client: WireClient, how: str) -> None:
    fill(client)
    limit(client, LIMIT)
    assert client.send("SET", "new", "v").raw == REFUSED
    if how == "FLUSHALL":
        client.send("FLUSHALL")
    else:
        last = KEYS if how == "DEL" else KEYS * 2 // 3
        client.pipeline(("DEL", f"k{n}") for n in range(last))
    wait_until(lambda: client.send("SET", "new", "v").raw == b"+OK\r\n", "never resumed")
    assert shown(client, "store_disk_used_bytes") <= LIMIT


def test_writes_stop_while_they_run_and_the_limit_holds_after_a_restart(
    server: StrataServer, client: WireClient
) -> None:
    def is_refused_after_more() -> bool:
        fill(client)
        return client.send("SET", "k1", "v").raw == REFUSED

    limit(client, LIMIT)
    wait_until(is_refused_after_more)
    server.stop()
    server.flags = (*server.flags, "--maxdisk-bytes", "6mb")
    server.start()
    with server.client() as again:
        wait_until(lambda: again.send("SET", "k1", "v").raw == REFUSED)
        assert again.send("CONFIG", "GET", "maxdisk-bytes").frame.blobs()[1] in (
            b"6291456",
            b"6mb",
        )
