"""`make cluster`: what it starts is a cluster, and nothing of it is left when it has ended."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from redis.cluster import RedisCluster

from tests.harness.hbase import HOME, lacking
from tests.harness.servers import ROOT, SERVER_PYTHON, free_port
from tests.harness.waiting import HANG_S, wait_until

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.skipif(bool(lacking()), reason=lacking() or "it is there"),
]


def ports(count: int) -> int:
    """The first of so many ports that were free a moment ago."""
    while True:
        first = free_port()
        if first + count < 65536 and all(map(is_free, range(first, first + count))):
            return first


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # who has left does not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_it_starts_serves_and_ends(tmp_path: Path) -> None:
    program = tmp_path / "stratakv"
    program.write_text(f'#!/bin/sh\nexec {SERVER_PYTHON} -P -m stratakv "$@" --http no\n')
    program.chmod(0o755)
    first, zookeeper = ports(2), ports(3)
    words = ["--hbase", str(HOME), "--stratakv", str(program), "--dir", str(tmp_path / "cluster")]
    words += ["--nodes", "2", "--groups", "4", "--port", str(first)]
    words += ["--zookeeper-port", str(zookeeper)]
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.local_cluster", *words],
            cwd=ROOT,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(
            lambda: "the cluster is up" in log.read_text() or process.poll() is not None,
            log.read_text,
        )
        assert process.poll() is None, log.read_text()
        with RedisCluster(host="127.0.0.1", port=first) as client:
            for number in range(50):
                client.set(f"key:{number}", number)
            assert [int(client.get(f"key:{n}") or -1) for n in range(50)] == list(range(50))
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(HANG_S)
    assert code == 0, log.read_text()
    assert "had to be killed" not in log.read_text()
    assert re.search(r"stopping the nodes, then HBase", log.read_text())
    for port in (first, first + 1, zookeeper):
        assert is_free(port)
