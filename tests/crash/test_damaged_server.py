"""A server on damaged files: it refuses to start, or names what it cannot read and goes on."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check_directory
from stratakv.encodings.upkeep.damage import key_of
from stratakv.errors import StoreDamaged
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.leveldb.formats import TableFile
from stratakv.storage.leveldb.survey import is_own
from tests.crash.damage import SMALL, Sample, files_of, flip, make_sample
from tests.encodings.fixtures import ENDLESS
from tests.harness.servers import STRATAKV, StrataServer
from tests.harness.waiting import HANG_S
from tests.harness.wire import WireClient


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A store whose log is in a table, so that opening it changes nothing."""
    home = tmp_path_factory.mktemp("damage")
    made = make_sample(home)
    with closing(LevelEngine(made.directory, SMALL)) as engine:
        engine.compact(b"", ENDLESS)
    return made


@pytest.fixture
def store(sample: Sample, tmp_path: Path) -> Path:
    return shutil.copytree(sample.directory, tmp_path / "store")


def damage_metas(store: Path) -> tuple[str, list[bytes]]:
    """Damage a block of metas; returns the file and the keys that were in it."""
    path = files_of(store, "table")[0]
    with TableFile(path) as file:
        metas = [block for block in file.blocks() if block.after > b"m#" and block.high < b"n#"]
        block = metas[len(metas) // 2]
        found = [key_of(row) for row, _, _ in file.entries(block)]
    flip(path, block.offset + block.size // 2)
    return path.name, [key for key in found if key is not None]


@pytest.fixture
def server(tmp_path: Path, store: Path) -> Iterator[StrataServer]:
    made = StrataServer(store)
    yield made
    made.stop()


def serve(store: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run a server that is expected to end by itself."""
    argv = [*STRATAKV, "serve", "--dir", str(store), "--port", "0", *flags]
    env = {name: value for name, value in os.environ.items() if not name.startswith("STRATAKV_")}
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=HANG_S, check=False, env=env
    )


def refused(store: Path) -> str:
    """The one line with which a server refuses a directory."""
    ended = serve(store)
    assert ended.returncode == 1
    assert not ended.stdout
    (line,) = ended.stderr.splitlines()
    return line


def page(server: StrataServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}{path}") as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def is_told(client: WireClient, file: str, *words: str | bytes, key: bytes | None = None) -> None:
    """The command is answered with an error that names the file, and the key if there is one."""
    text = str(client.send(*words))
    assert "ERR corrupt data at" in text, text
    assert file in text, text
    assert key is None or key.decode() in text, text


def test_a_damaged_block_is_named_and_the_server_goes_on(server: StrataServer, store: Path) -> None:
    file, keys = damage_metas(store)
    server.start()
    with server.client() as client:
        key = keys[0]
        is_told(client, file, "TYPE", key, key=key)
        is_told(client, file, "APPEND", key, "x", key=key)
        is_told(client, file, "DEL", key, key=key)
        is_told(client, file, "KEYS", "*")
        is_told(client, file, "EVAL", "return redis.call('type', KEYS[1])", "1", key, key=key)
        client.send("MULTI")
        client.send("SET", "before", "1")
        client.send("APPEND", key, "x")
        is_told(client, file, "EXEC", key=key)
        assert client.send("EXISTS", "before").frame.number == 0
        assert client.send("SET", "other", "1").raw == b"+OK\r\n"
        assert client.send("PING").raw == b"+PONG\r\n"
        assert "store_corruptions:0" not in str(client.send("INFO", "everything"))
    status, text = page(server, "/healthz")
    assert status == 503
    assert file in text
    assert "stratakv_store_damaged_places 1.0" in page(server, "/metrics")[1]
    assert server.output().count("the store is damaged") == 1
    assert "Traceback" not in server.output()


def test_a_compaction_that_meets_damage_closes_the_store_to_writes(
    server: StrataServer, store: Path
) -> None:
    damage_metas(store)
    server.flags = ("--write-buffer-bytes", "65536")
    server.start()
    with server.client() as client:
        noise = random.Random(1)
        for number in range(600):
            commands = [("SET", f"{number}:{at}", noise.randbytes(1000)) for at in range(100)]
            reply = client.pipeline(commands)[-1]
            if "MISCONF" in str(reply):
                break
        assert "Its files are damaged" in str(reply)
        assert "Its files are damaged" in str(client.send("SET", "a", "1"))
        assert "MISCONF" not in str(client.send("EXISTS", "a"))
        assert page(server, "/healthz")[0] == 503


def test_the_engine_says_that_it_is_damaged_and_not_full(store: Path) -> None:
    damage_metas(store)
    with closing(LevelEngine(store, SMALL)) as engine:
        engine.write({b"m#0:": b"", b"m#1:": b""})
        engine.compact(b"", ENDLESS)
        with pytest.raises(StoreDamaged):
            engine.write({b"a": b""})
        with pytest.raises(StoreDamaged):
            engine.write({b"a": b""})


def test_a_directory_without_current_is_refused_and_left_alone(store: Path) -> None:
    (store / "CURRENT").unlink()
    before = {path.name for path in store.iterdir()}
    line = refused(store)
    assert "CURRENT" in line
    assert "--recover" in line
    assert {path.name for path in store.iterdir()} == before


def test_a_broken_footer_is_one_line(store: Path) -> None:
    path = files_of(store, "table")[0]
    flip(path, path.stat().st_size - 3)
    assert path.name in refused(store)


def test_a_missing_log_is_noticed(store: Path) -> None:
    (path,) = files_of(store, "log")
    path.unlink()
    assert path.name in refused(store)


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"jpg")
    assert "photo.jpg" in refused(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with closing(LevelEngine(tmp_path)) as engine:
        engine.write({b"foreign": b"1"})
    assert "not one of StrataKV's" in refused(tmp_path)


def test_an_empty_file_system_is_taken(tmp_path: Path) -> None:
    (tmp_path / "store" / "lost+found").mkdir(parents=True)
    server = StrataServer(tmp_path / "store").start()
    assert server.terminate() == 0


def test_files_are_closed_to_others(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "store").start()
    with server.client() as client:
        client.send("SET", "a", "1")
    server.terminate()
    store = tmp_path / "store"
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in store.iterdir()}
    assert {mode for path, mode in modes.items() if is_own(path.name)} == {0o600}


def test_recover_goes_on_with_true_counts(server: StrataServer, store: Path) -> None:
    file, keys = damage_metas(store)
    server.flags = ("--recover",)
    server.start()
    assert file in server.output()
    with server.client() as client:
        found = len(client.send("KEYS", "*").frame.items or ())
        assert client.send("DBSIZE").frame.number == found > 0
        assert client.send("EXISTS", keys[0]).frame.number == 0
    assert server.terminate() == 0
    assert check_directory(store) == 0


def test_check_and_repair_end_in_order_for_any_damage(store: Path, tmp_path: Path) -> None:
    damage_metas(store)
    new = tmp_path / "new"
    for argv, code in ((["check", store], 1), (["repair", store, new], 0), (["check", new], 0)):
        command = [*STRATAKV, *map(str, argv)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stderr) == (code, ""), ended
