"""Redis 6.2 reads no dumps of 7.0: `rdb-version 9` gives it what it reads."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.rdb import payloads
from tests.harness.servers import RedisServer, StrataServer

LIBRARY_CODE = "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
STREAM = (
    ("XADD", "stream", "1-1", "field", "value"),
    ("XADD", "stream", "1-2", "field", "value", "other", "x" * 5000),
    ("XADD", "stream", "7-0", "field", "value"),
    ("XDEL", "stream", "1-2"),
    ("XGROUP", "CREATE", "stream", "group", "0"),
    ("XREADGROUP", "GROUP", "group", "one", "COUNT", "1", "STREAMS", "stream", ">"),
    ("XGROUP", "CREATECONSUMER", "stream", "group", "other"),
)
QUESTIONS = (
    ("DBSIZE",),
    ("HGETALL", "hash"),
    ("XRANGE", "stream", "-", "+"),
    ("XPENDING", "stream", "group"),
)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[StrataServer]:
    """A server for replicas that know dumps of version 9 at most."""
    server = StrataServer(tmp_path / "old", flags=["--rdb-version", "9"]).start()
    yield server
    server.stop()


def version(payload: bytes) -> int:
    return int.from_bytes(payload[-payloads.FOOTER_BYTES :][:2], "little")


def payload_of(server: StrataServer, key: str) -> bytes:
    with server.client() as client:
        dumped = client.send("DUMP", key).frame.data
        assert isinstance(dumped, bytes)
        return dumped


def test_a_full_sync_has_nothing_that_redis_6_2_does_not_read(
    old: StrataServer, tmp_path: Path
) -> None:
    with old.client() as client:
        client.send("FUNCTION", "LOAD", LIBRARY_CODE)
        client.send("HSET", "hash", "f", "v")
        client.pipeline(list(STREAM))
    file = tmp_path / "dump.rdb"
    words = ["redis-cli", "-p", str(old.port), "--rdb", str(file)]
    assert subprocess.run(words, capture_output=True, timeout=120).returncode == 0
    dump = file.read_bytes()
    assert dump.startswith(b"REDIS0009")
    assert bytes((payloads.STREAM_OLD,)) + b"\x06stream" in dump
    assert LIBRARY_CODE.encode() not in dump
    oracle = RedisServer(tmp_path, flags=["--dbfilename", "dump.rdb"]).start()
    with oracle.client() as redis, old.client() as ours:
        for question in QUESTIONS:
            assert redis.send(*question).raw == ours.send(*question).raw
    oracle.stop()


def test_payloads_have_the_version_that_is_set(old: StrataServer) -> None:
    with old.client() as client:
        client.send("SET", "string", "v")
        client.pipeline(list(STREAM))
    assert version(payload_of(old, "string")) == 9
    stream = payload_of(old, "stream")
    assert (stream[0], version(stream)) == (payloads.STREAM_OLD, 9)
    with old.client() as client:
        before = client.send("XRANGE", "stream", "-", "+").raw
        client.send("RESTORE", "stream", "0", stream, "REPLACE")
        assert client.send("XRANGE", "stream", "-", "+").raw == before
        client.send("CONFIG", "SET", "rdb-version", "10")
    assert version(payload_of(old, "string")) == 10
    assert payload_of(old, "stream")[0] == payloads.STREAM


def test_times_of_fields_are_not_left_out(old: StrataServer) -> None:
    with old.client() as client:
        client.pipeline(
            [("HSET", "h", "f", "v"), ("HPEXPIRE", "h", "99999999", "FIELDS", "1", "f")]
        )
    assert version(payload_of(old, "h")) == payloads.FIELD_TIMES_VERSION


@pytest.mark.parametrize("wrong", ["8", "11", "new"])
def test_other_versions_are_refused(old: StrataServer, wrong: str) -> None:
    with old.client() as client:
        assert client.send("CONFIG", "SET", "rdb-version", wrong).frame.is_error
