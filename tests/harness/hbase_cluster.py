"""HBase as it is run for real, small: ZooKeeper, HDFS, a master and two regionservers on this
machine, each a process that can be killed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from examples.local_cluster import hbase
from tests.harness.hbase import HOME, hbase_flags
from tests.harness.servers import Process, free_port
from tests.harness.waiting import wait_until

REGIONSERVERS = 2
_HADOOP = "org.apache.hadoop"
_ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_NAMENODE = f"{_HADOOP}.hdfs.server.namenode.NameNode"
_DATANODE = f"{_HADOOP}.hdfs.server.datanode.DataNode"
_REGIONSERVER = f"{_HADOOP}.hbase.regionserver.HRegionServer"
_PAGES = ("hdfs", "datanode", "static")
"""HDFS does not start where its web pages are not on the class path, not even empty ones."""
SESSION_MS = 20_000
"""After which a regionserver that is silent has lost its regions."""


@dataclass(slots=True, eq=False)
class JavaProcess(Process):
    """One of the programs."""

    conf: Path = Path()
    main: Sequence[str] = ()
    is_ready: Callable[[JavaProcess], bool] = lambda program: program.is_running

    def start(self) -> Self:
        self._spawn(hbase.command(HOME, self.conf, heap="512m", main=self.main), dict(os.environ))
        wait_until(self._is_up, lambda: self._fail("it is not ready"))
        return self

    def run(self) -> None:
        """Until it has done what it was started for."""
        self._spawn(hbase.command(HOME, self.conf, heap="512m", main=self.main), dict(os.environ))
        wait_until(lambda: not self.is_running)
        assert self.process is not None
        if self.process.returncode:
            raise self._fail("it has failed")

    def _is_up(self) -> bool:
        if not self.is_running:
            raise self._fail("it has ended before it was ready")
        return self.is_ready(self)


@dataclass(slots=True)
class HBaseCluster:
    """All of them."""

    dir: Path
    tick_ms: int = 500
    """ZooKeeper's: how finely it counts the time of sessions."""
    zookeeper_port: int = field(init=False, default=0)
    regionservers: list[JavaProcess] = field(init=False, default_factory=list)
    _programs: list[JavaProcess] = field(init=False, default_factory=list)

    @property
    def address(self) -> str:
        """Of its ZooKeeper."""
        return f"127.0.0.1:{self.zookeeper_port}"

    def flags(self, table: str) -> list[str]:
        """Of a StrataKV that keeps its rows there."""
        return hbase_flags(self.address, table)

    def start(self) -> Self:
        self.zookeeper_port, namenode_port = free_port(), free_port()
        conf = self._write_conf(namenode_port)
        self._start("zookeeper", conf, _ZOOKEEPER, str(conf / "zoo.cfg"), port=self.zookeeper_port)
        formatting = (_NAMENODE, "-format", "-force", "-nonInteractive")
        JavaProcess(self.dir / "format", conf=conf, main=formatting).run()
        self._start("namenode", conf, _NAMENODE, port=namenode_port)
        self._start("datanode", conf, _DATANODE)
        for number in range(REGIONSERVERS):
            port = f"-Dhbase.regionserver.port={free_port()}"
            words = (_REGIONSERVER, port, "start")
            self.regionservers.append(self._start(f"regionserver{number}", conf, *words))
        self._start("master", conf, *hbase.MAIN, text=hbase.READY)
        return self

    def stop(self) -> None:
        for program in reversed(self._programs):
            program.kill9()

    def _start(
        self, name: str, conf: Path, *main: str, port: int = 0, text: str = ""
    ) -> JavaProcess:
        program = JavaProcess(self.dir / name, conf=conf, main=main)
        if port:
            program.is_ready = lambda _: _answers(port)
        elif text:
            program.is_ready = lambda started: text in started.output()
        self._programs.append(program)
        return program.start()

    def _write_conf(self, namenode_port: int) -> Path:
        conf = self.dir / "conf"
        hbase.write_conf(conf, self._settings(namenode_port))
        for name in ("core-site.xml", "hdfs-site.xml"):
            (conf / name).write_bytes((conf / "hbase-site.xml").read_bytes())
        (conf / "zoo.cfg").write_text(
            f"dataDir={self.dir}/zookeeper\nclientPort={self.zookeeper_port}\n"
            f"tickTime={self.tick_ms}\nmaxSessionTimeout=90000\nmaxClientCnxns=300\n"
            "admin.enableServer=false\n"
        )
        for page in _PAGES:
            place = conf / "webapps" / page / "WEB-INF"
            place.mkdir(parents=True)
            (place / "web.xml").write_text("<web-app/>\n")
        return conf

    def _settings(self, namenode_port: int) -> dict[str, str]:
        root = f"hdfs://localhost:{namenode_port}"
        here = "127.0.0.1"
        anywhere = dict.fromkeys(
            [
                "dfs.namenode.http-address",
                "dfs.datanode.address",
                "dfs.datanode.http.address",
                "dfs.datanode.ipc.address",
            ],
            f"{here}:0",
        )
        return {
            "fs.defaultFS": root,
            "dfs.replication": "1",
            "dfs.namenode.name.dir": f"file://{self.dir}/names",
            "dfs.datanode.data.dir": f"file://{self.dir}/blocks",
            **anywhere,
            "hbase.cluster.distributed": "true",
            "hbase.rootdir": f"{root}/hbase",
            "hbase.tmp.dir": f"{self.dir}/tmp",
            "hbase.zookeeper.quorum": here,
            "hbase.zookeeper.property.clientPort": str(self.zookeeper_port),
            "hbase.unsafe.stream.capability.enforce": "false",
            "hbase.master.hostname": "localhost",
            "hbase.regionserver.hostname": "localhost",
            "hbase.master.ipc.address": here,
            "hbase.regionserver.ipc.address": here,
            "hbase.master.port": str(free_port()),
            "hbase.master.info.port": "-1",
            "hbase.regionserver.info.port": "-1",
            "hbase.master.wait.on.regionservers.mintostart": str(REGIONSERVERS),
            "zookeeper.session.timeout": str(SESSION_MS),
        }


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
