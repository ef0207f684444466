"""ioredis.Cluster on three nodes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster.nodes import StaticCluster
from tests.harness.waiting import HANG_S

pytestmark = pytest.mark.application
PROGRAM = Path(__file__).with_name("ioredis_cluster.js")


def test_ioredis_finds_its_way(modules: Path, tmp_path: Path) -> None:
    cluster = StaticCluster(tmp_path).start()
    try:
        cluster.wait_until_linked()
        argv = ["node", str(PROGRAM), str(modules), str(cluster.nodes[0].port)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) == {
            "nodes": 3,
            "lost": 0,
            "piped": ["OK", 2, "2"],
            "done": [2, 2],
            "summed": 7,
            "crossed": "CROSSSLOT",
            "heard": "hello",
        }
    finally:
        cluster.stop()
