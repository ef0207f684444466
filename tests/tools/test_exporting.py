"""A dump of a running server: of one moment, whole, and of what was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.servers import Process, RedisServer, StrataServer
from tests.rdb import contents
from tests.replication.chaos import listening, master
from tests.replication.test_kills import Writer
from tests.tools.running import stratakv, succeeded, url

pytestmark = pytest.mark.slow

KEYS = 3000
KINDS = {"strata": StrataServer, "redis": RedisServer}


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    server = KINDS[request.param](tmp_path / "source").start()
    with server.client() as client:
        client.send("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        contents.fill(client, large=1500)
    yield server
    server.stop()


def loaded(dump: Path, directory: Path) -> RedisServer:
    """A Redis that has loaded a dump."""
    server = RedisServer(directory)
    (server.dir / "dump.rdb").write_bytes(dump.read_bytes())
    return server.start()


def test_it_is_the_state_of_one_moment(source: Process, tmp_path: Path) -> None:
    with source.client() as client:
        client.pipeline([("SET", f"other:{number}", "x" * 500) for number in range(KEYS)])
    writer = Writer(source.port)
    for attempt in range(3):
        dump = tmp_path / f"{attempt}.rdb"
        succeeded("export", url(source), dump)
        server = loaded(dump, tmp_path / f"again{attempt}")
        with server.client() as client:
            count, length = client.send("GET", "s").frame.data, client.send("LLEN", "list").frame
            assert int(count or b"0") == length.number, "an INCR and the RPUSH of the same script"
            assert (client.send("DBSIZE").frame.number or 0) > KEYS
        server.stop()
    writer.stop()
    assert writer.acknowledged


def test_all_of_it_and_what_was_asked_for(source: Process, tmp_path: Path) -> None:
    succeeded("export", url(source), tmp_path / "all.rdb")
    server = loaded(tmp_path / "all.rdb", tmp_path / "again")
    assert succeeded("compare", url(server), url(source)) == "no difference\n"
    server.stop()
    said = succeeded("export", url(source), tmp_path / "part.rdb", "--match", "hash:*", "--db", "0")
    server = loaded(tmp_path / "part.rdb", tmp_path / "part")
    with server.client() as client, source.client() as asked:
        keys = sorted(asked.send("KEYS", "hash:*").frame.blobs())
        assert keys
        assert sorted(client.send("KEYS", "*").frame.blobs()) == keys
        assert said.startswith(f"{len(keys)} keys exported")
        assert client.send("DEBUG", "DIGEST-VALUE", *keys) == asked.send(
            "DEBUG", "DIGEST-VALUE", *keys
        )
    server.stop()


def test_who_may_not_replicate_gets_the_keys_one_by_one(source: Process, tmp_path: Path) -> None:
    with source.client() as client:
        client.send("ACL", "SETUSER", "reader", "on", ">word", "~*", "+@all", "-psync", "-sync")
    address = f"redis://reader:word@127.0.0.1:{source.port}"
    said = succeeded("export", address, tmp_path / "dump.rdb")
    assert "not all of the same moment" in said
    assert "psync" in said
    server = loaded(tmp_path / "dump.rdb", tmp_path / "again")
    assert succeeded("compare", url(server), url(source)) == "no difference\n"
    server.stop()


@pytest.mark.parametrize(
    "answer",
    [
        b"+FULLRESYNC " + b"a" * 40 + b" 7\r\n$100\r\nREDIS0010 and no more",
        b"+FULLRESYNC " + b"a" * 40 + b" 7\r\n$20\r\nREDIS0010\xff" + bytes(7) + b"\x01no",
    ],
)
def test_a_dump_that_is_not_whole_is_none(answer: bytes, tmp_path: Path) -> None:
    with listening(master(answer)) as port:
        code, said = stratakv("export", f"redis://127.0.0.1:{port}", tmp_path / "dump.rdb")
    assert code == 1, said
    assert "Traceback" not in said
    assert not list(tmp_path.glob("dump.rdb*"))
