"""What a process keeps for itself while it reads a database much larger than the caches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.waiting import HANG_S

CACHES_MB = 4
ROWS_MB = 64
SCRIPT = """
import random, sys
from pathlib import Path
from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions

def own_kb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))

directory, caches, rows = Path(sys.argv[1]), int(sys.argv[2]) << 20, int(sys.argv[3]) << 10
engine = LevelEngine(directory, LevelOptions(block_cache=caches // 2, write_buffer=caches // 4))
noise = random.Random(1)
for start in range(0, rows, 1000):
    engine.write({b"%06d" % row: noise.randbytes(1000) for row in range(start, start + 1000)})
engine.compact(b"", b"\\xff")
before = own_kb()
assert sum(1 for _ in engine.scan(b"", b"\\xff")) >= rows
assert all(engine.get(b"%06d" % row) for row in range(0, rows, 3))
print((own_kb() - before) >> 10)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is seen in /proc")
def test_reading_keeps_no_more_than_the_caches(tmp_path: Path) -> None:
    sizes = (str(CACHES_MB), str(ROWS_MB))
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "db"), *sizes],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    # Each of the tables keeps its index and filter too: 40 KB of 2 MB.
    assert int(ended.stdout) <= CACHES_MB + 4
