"""Start a ZooKeeper and an HBase, and nodes of StrataKV on them, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType

from examples.local_cluster import hbase
from examples.local_cluster.programs import LOOK_SECONDS, Failed, Program

HBASE_SECONDS = 300.0
NODE_SECONDS = 120.0
SHARE_SECONDS = 120.0
NODE_END_SECONDS = 60.0
HBASE_END_SECONDS = 60.0


def main() -> int:
    parsed = _parser().parse_args()
    cluster = LocalCluster(parsed)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        cluster.start()
        cluster.say_how_to_connect()
        cluster.watch()
    except KeyboardInterrupt:
        pass
    except Failed as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        cluster.stop()
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("--hbase", type=Path, required=True, help="where its jars are, in lib/")
    parser.add_argument("--stratakv", default="stratakv", help="the program (default: stratakv)")
    parser.add_argument("--dir", type=Path, default=Path("stratakv-cluster"), help="for all data")
    parser.add_argument("--nodes", type=int, default=3, help="how many (default: 3)")
    parser.add_argument("--groups", type=int, default=12, help="of slots, in a new table")
    parser.add_argument("--port", type=int, default=7001, help="of the first node; others follow")
    parser.add_argument("--zookeeper-port", type=int, default=2191)
    parser.add_argument("--heap", default="512m", help="of HBase's Java (default: 512m)")
    return parser


class LocalCluster:
    """All processes, in the order in which they were started."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._chosen = chosen
        self._dir: Path = chosen.dir.resolve()
        self._hbase: Program | None = None
        self._nodes: list[Program] = []
        self.ports = [chosen.port + number for number in range(chosen.nodes)]

    def start(self) -> None:
        """Raises `Failed`."""
        self._dir.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        print(f"HBase with its ZooKeeper, in {self._dir}/hbase", flush=True)
        self._hbase = self._start_hbase()
        self._hbase.wait_for(hbase.READY, HBASE_SECONDS)
        print(f"  ready after {time.monotonic() - began:.0f} s", flush=True)
        self._nodes = [self._start_node(number) for number in range(len(self.ports))]
        for node in self._nodes:
            node.wait_for(r"^ready .*$", NODE_SECONDS)
            print(f"{node.name} is ready", flush=True)
        self._wait_until_shared()

    def _start_hbase(self) -> Program:
        place = self._dir / "hbase"
        conf, first = place / "conf", self._chosen.zookeeper_port
        ports = {"zookeeper_port": first, "master_port": first + 1, "server_port": first + 2}
        hbase.write_conf(conf, hbase.standalone(place, **ports))
        words = hbase.command(self._chosen.hbase, conf, heap=self._chosen.heap)
        return Program("HBase", words, self._dir / "hbase.log", os.environ)

    def _start_node(self, number: int) -> Program:
        port = self.ports[number]
        options = {
            "engine": "hbase",
            "hbase-zookeeper": f"127.0.0.1:{self._chosen.zookeeper_port}",
            "hbase-table": "stratakv",
            "hbase-groups": str(self._chosen.groups),
            "bind": "127.0.0.1",
            "port": str(port),
            "cluster-announce-ip": "127.0.0.1",
            "http-port": str(port + 1000),
            "dir": str(self._dir / f"node-{port}"),
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        log = self._dir / f"node-{port}.log"
        return Program(f"node {port}", [self._chosen.stratakv, "serve", *words], log, os.environ)

    def _wait_until_shared(self) -> None:
        """Until every node finds the cluster complete, and all have some of it."""
        deadline = time.monotonic() + SHARE_SECONDS
        wanted = (b"cluster_state:ok", b"cluster_size:%d\r" % len(self.ports))
        while not all(_says(port, wanted) for port in self.ports):
            self._check()
            if time.monotonic() > deadline:
                raise Failed(f"the nodes have not shared the slots: see {self._dir}/node-*.log")
            time.sleep(LOOK_SECONDS)

    def say_how_to_connect(self) -> None:
        """What a person can do now."""
        port = self.ports[0]
        print(
            f"""
the cluster is up: {len(self.ports)} nodes at 127.0.0.1:{port} to {self.ports[-1]}

    redis-cli -c -p {port}
    redis-cli --cluster check 127.0.0.1:{port}
    redis-cli -p {port} STRATA CLUSTER
    redis-benchmark --cluster -p {port} -t set,get -n 10000
    python -c 'from redis.cluster import RedisCluster as C; print(C(port={port}).set("a", 1))'

metrics are at http://127.0.0.1:{port + 1000}/metrics and so on, logs and data in {self._dir}
kill a node, and the others take over; Ctrl-C stops all""",
            flush=True,
        )

    def watch(self) -> None:
        """Until the end; says so when a node has ended."""
        told: set[str] = set()
        while True:
            time.sleep(1)
            self._check()
            for node in self._nodes:
                if not node.is_running and node.name not in told:
                    told.add(node.name)
                    print(f"{node.name} has ended; the others go on", flush=True)

    def _check(self) -> None:
        if self._hbase is not None and not self._hbase.is_running:
            raise Failed(f"HBase has ended: see {self._dir}/hbase.log")

    def stop(self) -> None:
        """Nodes first: they hand over, and write what is left."""
        if self._hbase is None:
            return
        print("\nstopping the nodes, then HBase", flush=True)
        for node in self._nodes:
            node.ask_to_end()
        for node in self._nodes:
            if not node.end(NODE_END_SECONDS):
                print(f"{node.name} had to be killed: see its log", flush=True)
        self._hbase.ask_to_end()
        if not self._hbase.end(HBASE_END_SECONDS):
            print("HBase had to be killed; its log has what was acknowledged", flush=True)


def _says(port: int, wanted: tuple[bytes, ...]) -> bool:
    """Whether a node's CLUSTER INFO has all of that."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            sock.sendall(b"CLUSTER INFO\r\nQUIT\r\n")
            said = b""
            while data := sock.recv(4096):
                said += data
    except OSError:
        return False
    return all(words in said for words in wanted)


if __name__ == "__main__":
    sys.exit(main())
