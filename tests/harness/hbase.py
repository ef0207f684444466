"""A real HBase in one process, on free ports, in a directory of its own.

`make hbase` fetches its jars into a cache; without them, or without Java, `lacking` says why the
tests that need one are skipped.
"""

from __future__ import annotations

import atexit
import os
import shutil
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from examples.local_cluster import hbase
from tests.harness.servers import Process, free_port
from tests.harness.waiting import wait_until

VERSION = "2.6.4"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
HOME = Path(os.environ.get("STRATAKV_HBASE_HOME") or CACHE / "stratakv" / f"hbase-{VERSION}")
IS_CLUSTER = os.environ.get("STRATAKV_TEST_SUBJECT") == "cluster"
"""Whether the server under test is a node of a cluster, over several groups of slots."""
IS_ON_HBASE = IS_CLUSTER or os.environ.get("STRATAKV_TEST_SUBJECT") == "hbase"
"""Whether the server under test has its rows in one."""


def lacking() -> str:
    """What is missing for an HBase, in a line; nothing if all is there."""
    if shutil.which("java") is None:
        return "no HBase: there is no java"
    if not (HOME / "complete").exists():
        return f"no HBase in {HOME}: make hbase fetches it"
    return ""


def hbase_flags(zookeeper: str, table: str) -> list[str]:
    """Of a StrataKV that keeps its rows in a table there."""
    return ["--engine", "hbase", "--hbase-zookeeper", zookeeper, "--hbase-table", table]


def new_table_flags() -> list[str]:
    """Of a StrataKV with a new table in the HBase that all tests of this process share: one that
    runs already, if STRATAKV_TEST_HBASE names its ZooKeeper, else one that is started now.
    """
    table = f"test{os.getpid()}x{os.urandom(4).hex()}"
    return hbase_flags(os.environ.get("STRATAKV_TEST_HBASE") or _shared().address, table)


@cache
def _shared() -> HBaseServer:
    directory = TemporaryDirectory(prefix="hbase-")
    server = HBaseServer(Path(directory.name) / "data").start()
    atexit.register(directory.cleanup)
    atexit.register(server.stop)
    return server


@dataclass(slots=True, eq=False)
class HBaseServer(Process):
    """Master, regionserver and ZooKeeper; the ports stay when it is started again."""

    settings: dict[str, str] = field(default_factory=dict)
    server_port: int = field(init=False, default=0)
    """Of the regionserver."""
    master_port: int = field(init=False, default=0)

    @property
    def address(self) -> str:
        """Of its ZooKeeper."""
        return f"127.0.0.1:{self.port}"

    def flags(self, table: str = "stratakv") -> list[str]:
        """Of a StrataKV that keeps its rows there."""
        return hbase_flags(self.address, table)

    def start(self) -> Self:
        if not self.port:
            self.port, self.master_port, self.server_port = free_port(), free_port(), free_port()
            self._write_settings()
        seen = len(self.output())
        self._spawn(hbase.command(HOME, self.dir / "conf", heap="512m"), dict(os.environ))

        def is_ready() -> bool:
            if not self.is_running:
                raise self._fail("HBase ended before it was ready")
            return hbase.READY in self.output()[seen:]

        wait_until(is_ready, lambda: self._fail("HBase is not ready"))
        return self

    def stop(self) -> None:
        """It needs no time to end: what was acknowledged is in its log."""
        self.kill9()

    def _write_settings(self) -> None:
        hbase.write_conf(self.dir / "conf", {**self._defaults(), **self.settings})

    def _defaults(self) -> dict[str, str]:
        return hbase.standalone(
            self.dir,
            zookeeper_port=self.port,
            master_port=self.master_port,
            server_port=self.server_port,
        )
