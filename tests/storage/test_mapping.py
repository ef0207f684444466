"""How many tables LevelDB maps: counted in /proc/self/maps of a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import random, sys
from pathlib import Path
from stratakv.storage.leveldb import LevelEngine, LevelOptions
from stratakv.storage.mapping import map_at_most

directory, mapped = Path(sys.argv[1]), int(sys.argv[2])
engine = LevelEngine(directory, LevelOptions(mapped=mapped, write_buffer=1 << 18))
noise = random.Random(1)
for start in range(0, 20_000, 1000):
    engine.write({b"%05d" % row: noise.randbytes(1000) for row in range(start, start + 1000)})
engine.compact(b"", b"\\xff")
assert sum(1 for _ in engine.scan(b"", b"\\xff")) == 20_000
assert all(engine.get(b"%05d" % row) for row in range(0, 20_000, 100))
tables = len(list(directory.glob("*.ldb")))
maps = sum(line.rstrip().endswith(".ldb") for line in open("/proc/self/maps"))
print(tables, maps, map_at_most(7))
"""

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="maps are seen in /proc")


def tables_and_maps(directory: Path, mapped: int) -> tuple[int, int, bool]:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(directory), str(mapped)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    tables, maps, limited = ended.stdout.split()
    return int(tables), int(maps), limited == "True"


@linux_only
@pytest.mark.parametrize("allowed", [0, 3])
def test_no_more_tables_are_mapped_than_configured(tmp_path: Path, allowed: int) -> None:
    tables, maps, limited = tables_and_maps(tmp_path / "db", allowed * (2 << 20))
    assert limited
    assert tables > allowed
    assert maps == allowed


@linux_only
def test_with_room_for_all_every_table_is_mapped(tmp_path: Path) -> None:
    tables, maps, _ = tables_and_maps(tmp_path / "db", 1 << 30)
    assert maps == tables
