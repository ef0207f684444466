"""Tables that are kept open, so that LevelDB's deletion of them takes only the name away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.storage.leveldb.deleted_tables import OpenTables
from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for number in (98, 99, 100, 1_000_000):
        (tmp_path / f"{number:06}.ldb").write_bytes(b"rows")
    (tmp_path / "000101.log").write_bytes(b"not a table")
    return tmp_path


@pytest.fixture
def tables(directory: Path) -> Iterator[OpenTables]:
    tables = OpenTables(directory, most=3)
    yield tables
    tables.close()


def open_names(directory: Path) -> set[str]:
    """What this process has open in the directory, by /proc."""
    names = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(link)
        except FileNotFoundError:
            continue
        if target.startswith(str(directory)):
            names.add(target.removeprefix(f"{directory}/"))
    return names


def test_the_newest_tables_are_open(directory: Path, tables: OpenTables) -> None:
    tables.refresh()
    assert open_names(directory) == {"000099.ldb", "000100.ldb", "1000000.ldb"}
    assert len(tables) == 3


def test_a_deleted_table_lives_until_the_next_look(directory: Path, tables: OpenTables) -> None:
    tables.refresh()
    (directory / "000100.ldb").unlink()
    assert "000100.ldb (deleted)" in open_names(directory)
    tables.refresh()
    assert open_names(directory) == {"000098.ldb", "000099.ldb", "1000000.ldb"}


def test_closing_lets_go_of_all(directory: Path, tables: OpenTables) -> None:
    tables.refresh()
    tables.close()
    assert open_names(directory) == set()
    tables.refresh()
    assert open_names(directory) == set(), "a late look opens nothing"


def test_the_engine_keeps_its_tables_open_and_gives_their_space_back(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path / "db", LevelOptions(write_buffer=1 << 18))
    engine.write({b"%05d" % row: os.urandom(1000) for row in range(2000)})
    engine.compact(b"", b"\xff")
    engine.tidy()
    before = open_names(tmp_path / "db")
    assert any(name.endswith(".ldb") for name in before)
    engine.write({b"%05d" % row: None for row in range(2000)})
    engine.compact(b"", b"\xff")
    assert any(name.endswith("(deleted)") for name in open_names(tmp_path / "db"))
    engine.tidy()
    assert not any(name.endswith("(deleted)") for name in open_names(tmp_path / "db"))
    engine.close()
    assert open_names(tmp_path / "db") == set()


def test_a_log_that_goes_while_the_engine_is_reopened_is_no_error(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path / "db")
    engine.write({b"row": b"value"})
    (tmp_path / "db" / "going.log").symlink_to(tmp_path / "gone")  # listed, and not there
    engine.reopen()
    assert engine.get(b"row") == b"value"
    engine.close()
