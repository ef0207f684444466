"""From Redis to StrataKV and back: what comes out is what went in, as a real Redis sees it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.rdb import files
from stratakv.encodings.upkeep.check import check_directory
from tests.harness.servers import ROOT, STRATAKV, RedisServer, StrataServer, environment
from tests.harness.waiting import HANG_S, wait_until
from tests.rdb import contents
from tests.rdb.test_files import entry, sealed, text
from tests.tools.running import stratakv, succeeded, url

pytestmark = pytest.mark.slow


@pytest.fixture
def redis(tmp_path: Path, redis_server: RedisServer) -> Iterator[RedisServer]:
    """A Redis of one's own, with keys of every kind, and a dump of them."""
    server = RedisServer(tmp_path / "redis").start()
    with server.client() as client:
        contents.fill(client, large=1500)
        client.send("SAVE")
    yield server
    server.stop()


@pytest.fixture
def empty_redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "empty").start()
    yield server
    server.stop()


@pytest.fixture
def strata(tmp_path: Path) -> Iterator[StrataServer]:
    server = StrataServer(tmp_path / "strata").start()
    yield server
    server.stop()


def digest(server: RedisServer) -> bytes:
    with server.client() as client:
        return contents.digest(client)


def test_into_a_directory_and_out_of_it(tmp_path: Path, redis: RedisServer) -> None:
    directory, dump = tmp_path / "data", tmp_path / "out.rdb"
    said = succeeded("import", redis.dir / "dump.rdb", directory)
    assert "keys imported: " in said
    assert "database 3: " in said
    assert "1 libraries of functions imported" in said
    assert check_directory(directory) == 0
    assert "keys exported" in succeeded("export", directory, dump)
    again = RedisServer(tmp_path / "again")
    (again.dir / "dump.rdb").write_bytes(dump.read_bytes())
    again.start()
    assert digest(again) == digest(redis)
    said = succeeded("compare", url(again), url(redis))
    assert said == "no difference\n"
    again.stop()


def test_into_a_server_and_out_of_it(
    tmp_path: Path, redis: RedisServer, strata: StrataServer, empty_redis: RedisServer
) -> None:
    succeeded("import", redis.dir / "dump.rdb", url(strata))
    assert succeeded("compare", url(strata), url(redis)) == "no difference\n"
    dump = tmp_path / "out.rdb"
    succeeded("export", url(strata), dump)
    succeeded("import", dump, url(empty_redis))
    assert digest(empty_redis) == digest(redis)


def test_from_server_to_server(redis: RedisServer, strata: StrataServer) -> None:
    said = succeeded("import", url(redis), url(strata), "--dry-run")
    assert "keys can be imported" in said
    with strata.client() as client:
        assert client.send("DBSIZE").frame.number == 0
    succeeded("import", url(redis), url(strata))
    assert succeeded("compare", url(redis), url(strata)) == "no difference\n"
    with strata.client() as client:
        assert client.send("FCALL", "answer", 0).frame.number == 42


def test_only_what_was_asked_for(tmp_path: Path, redis: RedisServer, strata: StrataServer) -> None:
    dump, directory = redis.dir / "dump.rdb", tmp_path / "data"
    said = succeeded("import", dump, directory, "--match", "int:*", "--db", "3")
    assert "9 keys imported: 9 string" in said
    assert "keys were not asked for" in said
    succeeded("export", directory, tmp_path / "some.rdb", "--match", "int:-*")
    assert "3 keys imported" in succeeded("import", tmp_path / "some.rdb", url(strata))
    with strata.client() as client:
        client.send("SELECT", 3)
        found = sorted(client.send("KEYS", "*").frame.blobs())
    assert found == [b"int:-1", b"int:-128", b"int:-2147483648"]


@pytest.mark.parametrize("into", ["directory", "server"])
def test_keys_that_exist(tmp_path: Path, strata: StrataServer, into: str) -> None:
    with strata.client() as client:
        client.send("SET", "key", "old")
        if into == "directory":
            strata.terminate()
    target: str | Path = strata.dir if into == "directory" else url(strata)

    def value() -> bytes:
        if into == "directory":
            strata.start()
        with strata.client() as client:
            found = client.send("GET", "key").frame.data or b""
        if into == "directory":
            strata.terminate()
        return found

    dump = tmp_path / "dump.rdb"
    dump.write_bytes(sealed(entry(b"key", 0, text(b"new")), entry(b"other", 0, text(b"1"))))
    code, said = stratakv("import", dump, target)
    assert (code, "key 'key' exists: say --replace or --skip" in said) == (1, True), said
    assert value() == b"old"
    assert "keys were there already" in succeeded("import", dump, target, "--skip")
    assert value() == b"old"
    succeeded("import", dump, target, "--replace")
    assert value() == b"new"


def test_a_dry_run_names_what_cannot_be_imported(tmp_path: Path) -> None:
    module = files.MODULE, b"\x81" + (0x2C8B1F2A9D3C0401).to_bytes(8, "big") + b"\x05\x03abc\x00"
    dump = tmp_path / "dump.rdb"
    dump.write_bytes(
        sealed(
            entry(b"good", 0, text(b"1")),
            entry(b"json", *module),
            bytes((files.SELECT, 40)),
            entry(b"far", 0, text(b"2")),
        )
    )
    directory = tmp_path / "data"
    code, said = stratakv("import", dump, directory, "--dry-run")
    assert code == 1
    assert "1 keys can be imported: 1 string" in said
    assert "database 0, key 'json': a value of the module " in said
    assert "database 40, key 'far': there are 16 databases" in said
    assert not directory.exists()
    code, said = stratakv("import", dump, directory)
    assert code == 1
    assert "1 keys imported" in said
    assert "2 keys cannot be imported" in said
    assert check_directory(directory) == 0


@pytest.mark.parametrize("into", ["directory", "server"])
def test_an_import_that_was_killed_goes_on(tmp_path: Path, strata: StrataServer, into: str) -> None:
    count = 30_000
    dump = tmp_path / "dump.rdb"
    dump.write_bytes(
        sealed(*(entry(b"k%d" % number, 0, text(b"v%d" % number)) for number in range(count)))
    )
    target: str | Path = tmp_path / "data" if into == "directory" else url(strata)
    log = tmp_path / "data" if into == "directory" else dump.with_name("dump.rdb.progress")
    child = subprocess.Popen(
        [*STRATAKV, "import", dump, target], cwd=ROOT, env=environment(), stdout=subprocess.PIPE
    )
    if into == "directory":
        wait_until(lambda: any(one.stat().st_size > 200_000 for one in log.glob("*.log")))
    else:
        wait_until(log.exists)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.wait(HANG_S) == -signal.SIGKILL
    said = succeeded("import", dump, target, *(["--replace"] if into == "server" else []))
    assert "going on behind " in said
    if into == "directory":
        assert check_directory(tmp_path / "data") == 0
        strata.stop()
        strata = StrataServer(tmp_path / "data").start()
    with strata.client() as client:
        assert client.send("DBSIZE").frame.number == count
        assert client.send("GET", f"k{count - 1}").frame.data == b"v%d" % (count - 1)
    assert not dump.with_name("dump.rdb.progress").exists()
    strata.stop()


def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, strata: StrataServer) -> None:
    dump = tmp_path / "dump.rdb"
    dump.write_bytes(sealed(entry(b"a", 0, text(b"1")))[:-1] + b"x")
    directory = tmp_path / "data"
    for words, expected in (
        (("import", dump, directory), "the CRC is wrong: the dump is damaged, at byte"),
        (("import", tmp_path / "none.rdb", directory), "No such file"),
        (("import", dump, "redis://127.0.0.1:1"), "redis://127.0.0.1:1/0: Connection refused"),
        (("import", dump, strata.dir), "is in use by another process"),
        (("import", url(strata), directory), "export a dump first"),
        (("export", strata.dir, tmp_path / "x.rdb"), "is in use by another process"),
        (("export", tmp_path / "none", tmp_path / "x.rdb"), "is not a data directory"),
        (("export", url(strata), dump), "exists"),
        (("export", "redis://127.0.0.1:1", tmp_path / "x.rdb"), "Connection refused"),
        (("compare", url(strata), "redis://127.0.0.1:1"), "Connection refused"),
    ):
        code, said = stratakv(*words)
        wanted = 2 if words[0] == "compare" else 1  # 1 says that something differs
        assert (code, expected in said, "Traceback" in said) == (wanted, True, False), said
    assert not list(tmp_path.glob("*.part"))


CHANGES = (
    ("SET", "text", "other"),
    ("DEL", "int:0"),
    ("SET", "int:0", "1"),
    ("SET", "more", "1"),
    ("PERSIST", "text"),
    ("RPUSH", "text2", "a"),
    ("LSET", "list:large", 1200, "x"),
    ("HSET", "hash:small", "f", "v"),
    ("HSET", "hash:large", "f", "v"),
    ("SADD", "set:small", "m"),
    ("ZADD", "zset:large", "1234.5", "m"),
    ("SETRANGE", "random", 299_000, "x"),
    ("XADD", "stream:large", "*", "f", "v"),
    ("XACK", "stream:large", "group", "1-3"),
    ("XGROUP", "SETID", "stream:large", "idle group", "0"),
    ("FUNCTION", "DELETE", "mylib"),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "-".join(map(str, change[:2])))
def test_a_comparison_finds_every_kind_of_change(
    redis: RedisServer, empty_redis: RedisServer, change: tuple[str | int, ...]
) -> None:
    succeeded("import", redis.dir / "dump.rdb", url(empty_redis))
    with empty_redis.client() as client:
        assert not client.send(*change).frame.is_error
    for first, second in ((redis, empty_redis), (empty_redis, redis)):
        code, said = stratakv("compare", url(first), url(second))
        assert (code, said.endswith("1 differences\n")) == (1, True), said
        name = "functions" if change[0] == "FUNCTION" else str(change[1])
        assert name in said or str(change[2]) in said


def test_a_comparison_of_a_sample(redis: RedisServer, empty_redis: RedisServer) -> None:
    code, said = stratakv("compare", url(redis), url(empty_redis), "--sample", "3", "--db", "0")
    assert code == 1
    assert 1 <= said.count("none there") <= 3
