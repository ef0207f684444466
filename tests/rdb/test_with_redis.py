"""Dumps of a real Redis are loaded, and a real Redis loads ours: what it makes of both is equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check
from stratakv.storage.leveldb.engine import LevelEngine
from tests.harness.servers import RedisServer
from tests.rdb import contents, dumps

Start = Callable[..., RedisServer]

PACKED = ("--hash-max-listpack-entries", "100000", "--zset-max-listpack-entries", "100000")
UNPACKED = (
    "--hash-max-listpack-entries", "0", "--zset-max-listpack-entries", "0",
    "--set-max-intset-entries", "0", "--list-max-listpack-size", "1",
)  # fmt: skip


@pytest.fixture
def start(tmp_path: Path, redis_server: RedisServer) -> Iterator[Start]:
    """Redis servers that load `dump.rdb` of their directory when they start."""
    started: list[RedisServer] = []

    def begin(name: str, *flags: str, dump: bytes | None = None) -> RedisServer:
        server = RedisServer(tmp_path / name, flags=flags)
        if dump is not None:
            (server.dir / "dump.rdb").write_bytes(dump)
        started.append(server.start())
        return server

    yield begin
    for server in started:
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [(), PACKED, UNPACKED, ("--rdbcompression", "no"), ("--rdbchecksum", "no")],
    ids=["usual", "packed", "unpacked", "uncompressed", "unchecked"],
)
def test_a_dump_of_redis_comes_back_as_one_that_redis_loads(
    tmp_path: Path, start: Start, flags: tuple[str, ...]
) -> None:
    first = start("first", *flags)
    with first.client() as client:
        contents.fill(client)
        assert client.send("SAVE").raw == b"+OK\r\n"
        digest, times = contents.digest(client), contents.times(client)
        functions = client.send("FUNCTION", "LIST", "WITHCODE").raw
    with closing(LevelEngine(tmp_path / "store")) as engine:
        keyspace = dumps.opened(engine)
        data = (first.dir / "dump.rdb").read_bytes()
        load = dumps.load(keyspace, dumps.cut(data, 1 << 16))
        assert load.file is not None
        assert load.file.keys == load.file.expected == len(times)
        assert load.file.facts[b"redis-bits"] == b"64"
        assert load.rest == b""
        assert not list(check(engine))
        dump = b"".join(dumps.written(keyspace))
    second = start("second", dump=dump)
    with second.client() as client:
        assert contents.digest(client) == digest
        assert contents.times(client) == times
        assert client.send("FUNCTION", "LIST", "WITHCODE").raw == functions


def test_redis_reads_an_empty_dump(tmp_path: Path, start: Start) -> None:
    with closing(LevelEngine(tmp_path / "store")) as engine:
        dump = b"".join(dumps.written(dumps.opened(engine)))
    with start("empty", dump=dump).client() as client:
        assert client.send("DBSIZE").raw == b":0\r\n"
