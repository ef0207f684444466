"""What a data directory takes, and LevelDB's account of its levels."""

from __future__ import annotations

from pathlib import Path

from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions
from stratakv.storage.leveldb.usage import DiskWatch, Level, parse_levels

STATS = """
                               Compactions
Level  Files Size(MB) Time(sec) Read(MB) Write(MB)
--------------------------------------------------
  0        2        3         1        0        40
  1       17       31         2       80        79
"""


def test_levels_are_read_from_leveldb_s_words() -> None:
    mega = 1 << 20
    assert parse_levels(STATS) == [
        Level(0, 2, 3 * mega, 1.0, 0, 40 * mega),
        Level(1, 17, 31 * mega, 2.0, 80 * mega, 79 * mega),
    ]
    assert parse_levels(None) == parse_levels("") == []


def test_levels_of_a_real_store_have_its_tables(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path, LevelOptions(write_buffer=1 << 20, compression=False))
    for number in range(300):
        engine.write({b"%05d" % number: b"x" * 10_000})
    engine.compact(b"0", b"9")
    levels = parse_levels(engine.property("stats"))
    tables = len(list(tmp_path.glob("*.ldb")))
    assert sum(level.files for level in levels) == tables > 0
    assert sum(level.bytes for level in levels) > 1_000_000
    engine.close()


def test_the_size_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 1000)
    watch = DiskWatch(tmp_path)
    (tmp_path / "b").write_bytes(b"x" * 24)
    watch.look()
    assert (watch.latest.files, watch.latest.bytes) == (2, 1024)
    assert watch.latest.size > watch.latest.free > 0
    assert DiskWatch(None).latest.bytes == 0
    assert DiskWatch(tmp_path / "none").latest.bytes == 0
