"""Backups of a server that is written to: each opens, is sound, and is of one commit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.upkeep.check import check_directory
from stratakv.tools.backup_command import prune
from tests.harness.effort import rounds
from tests.harness.servers import ROOT, StrataServer
from tests.harness.wire import WireClient
from tests.tools.running import stratakv, succeeded, url

BACKLOG = ["--write-buffer-bytes", "200kb"]
"""Small tables, so that they come and go while a backup is made."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StrataServer]:
    started = StrataServer(tmp_path / "data", flags=BACKLOG).start()
    yield started
    started.stop()


class Writer:
    """Writes two keys in each transaction, which are equal at any moment between two commits."""

    def __init__(self, server: StrataServer) -> None:
        self._client = server.client()
        self._goes_on = True
        self.written = 0
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        while self._goes_on:
            number = self.written + 1
            padding = os.urandom(600)
            self._client.pipeline(
                [
                    ("MULTI",),
                    ("SET", "first", number),
                    ("SET", f"padding{number % 300}", padding),
                    ("SET", "second", number),
                    ("EXEC",),
                ]
            )
            self.written = number

    def stop(self) -> None:
        self._goes_on = False
        self._thread.join()
        self._client.close()


def numbers(client: WireClient) -> list[int]:
    return [int(found) for found in client.send("MGET", "first", "second").frame.blobs()]


@pytest.mark.slow
@pytest.mark.effort
def test_a_backup_is_of_one_commit_and_has_all_that_was_acknowledged(
    tmp_path: Path, server: StrataServer
) -> None:
    writer = Writer(server)
    try:
        for turn in range(rounds(20, least=3)):
            place = tmp_path / "backups" / str(turn)
            with server.client() as client:
                before = writer.written
                assert client.send("STRATA", "BACKUP", str(place)).raw == b"+OK\r\n"
            assert check_directory(place) == 0
            copy = StrataServer(place).start()
            with copy.client() as client:
                first, second = numbers(client)
            copy.stop()
            assert first == second >= before
    finally:
        writer.stop()
    with server.client() as client:
        assert numbers(client) == [writer.written] * 2
    assert not list(server.dir.glob("backup-*"))


def test_another_process_backs_up_and_restores(tmp_path: Path, server: StrataServer) -> None:
    with server.client() as client:
        for number in range(2000):
            client.send("SET", f"k{number}", "v" * 500)
    said = succeeded("backup", server.dir, tmp_path / "backups")
    (made,) = (tmp_path / "backups").iterdir()
    assert str(made) in said
    tables = list(made.glob("*.ldb"))
    assert tables
    assert all(table.stat().st_nlink > 1 for table in tables)
    server.terminate()
    assert check_directory(made) == 0
    restored = tmp_path / "restored"
    succeeded("restore", made, restored)
    assert check_directory(restored) == 0
    again = StrataServer(restored).start()
    with again.client() as client:
        assert client.send("DBSIZE").frame.number == 2000
        client.send("FLUSHALL")
    again.stop()
    assert check_directory(made) == 0
    with StrataServer(made).start().client() as client:
        assert client.send("DBSIZE").frame.number == 2000
        client.write(b"SHUTDOWN\r\n")
        client.read_to_end()


def test_the_server_is_asked_and_old_ones_go(tmp_path: Path, server: StrataServer) -> None:
    place = tmp_path / "backups"
    for name in ("stratakv-20200101-000000", "stratakv-20210101-000000", "others"):
        (place / name).mkdir(parents=True)
    (place / "stratakv-20220101-000000.partial").mkdir()
    succeeded("backup", url(server), place, "--keep", "2")
    left = sorted(one.name for one in place.iterdir())
    assert left[:2] == ["others", "stratakv-20210101-000000"]
    assert len(left) == 3
    assert check_directory(place / left[2]) == 0


def test_pruning_by_age_leaves_the_newest(tmp_path: Path) -> None:
    names = ("stratakv-20200101-000000", "stratakv-20990101-000000", "stratakv-20200102-000000")
    for name in names:
        (tmp_path / name).mkdir()
    gone = prune(tmp_path, None, 86_400, names[2])
    assert [one.name for one in gone] == [names[0]]


@pytest.mark.skipif(
    not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == Path("/tmp").stat().st_dev,
    reason="there is one file system",
)
def test_on_another_file_system_it_is_copied(server: StrataServer) -> None:
    place = Path(f"/dev/shm/stratakv-test-{os.getpid()}")
    with server.client() as client:
        for number in range(1000):
            client.send("SET", f"k{number}", "v" * 500)
        assert client.send("STRATA", "BACKUP", str(place)).raw == b"+OK\r\n"
    try:
        assert all(file.stat().st_nlink == 1 for file in place.iterdir())
        assert check_directory(place) == 0
    finally:
        for file in place.iterdir():
            file.unlink()
        place.rmdir()


APART = """
mkdir "$1/place" "$1/elsewhere" && mount --bind "$1/elsewhere" "$1/place" && exec "$2" -c '
import sys
from pathlib import Path
from stratakv.storage.leveldb.backup import back_up
made = back_up(Path(sys.argv[1]), Path(sys.argv[2]))
print(made.size, made.copied)
' "$1/data" "$1/place/copy"
"""
MAY_MOUNT = ["unshare", "--map-root-user", "--mount"]


@pytest.mark.skipif(
    subprocess.run([*MAY_MOUNT, "true"], capture_output=True, check=False).returncode != 0,
    reason="nothing may be mounted here",
)
def test_on_another_mount_of_the_same_file_system_it_is_copied(
    tmp_path: Path, server: StrataServer
) -> None:
    """As under systemd, where each of ReadWritePaths is one: no link can be moved there."""
    with server.client() as client:
        for number in range(1000):
            client.send("SET", f"k{number}", "v" * 500)
        server.stop()
    words = [*MAY_MOUNT, "sh", "-c", APART, "sh", str(tmp_path), sys.executable]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    size, copied = map(int, ran.stdout.split())
    assert copied == size > 0
    assert check_directory(tmp_path / "elsewhere" / "copy") == 0


def test_what_is_wrong_is_said(tmp_path: Path, server: StrataServer) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with server.client() as client:
        client.send("SET", "k", "v")
        for place, answer in (
            ("relative", b"-ERR the place of a backup is an absolute path\r\n"),
            (str(tmp_path / "full"), b"is not an empty directory\r\n"),
            (str(tmp_path / "full" / "file" / "x"), b"File exists\r\n"),
        ):
            assert client.send("STRATA", "BACKUP", place).raw.endswith(answer)
    for words, expected in (
        (("backup", tmp_path / "none", tmp_path / "b"), "is not a data directory"),
        (("backup", server.dir, tmp_path / "b", "--keep", "0"), "at least one backup stays"),
        (("backup", server.dir, tmp_path / "b", "--max-age", "soon"), "a duration such as"),
        (("restore", tmp_path / "full", tmp_path / "b"), "is not a backup"),
        (("restore", server.dir, tmp_path / "full"), "is not an empty directory"),
    ):
        code, said = stratakv(*words)
        assert (code, expected in said, "Traceback" in said) == (1, True, False), said


def test_rows_in_memory_have_no_backup(tmp_path: Path) -> None:
    server = StrataServer(tmp_path / "data", flags=["--engine", "memory"]).start()
    with server.client() as client:
        reply = client.send("STRATA", "BACKUP", str(tmp_path / "b")).raw
    assert b"there are no files to back up" in reply
    server.stop()
