"""A whole HBase in one process of Java 17: master, regionserver and ZooKeeper, on local files.

Its jars are what `scripts/prepare hbase DIR` fetches from Maven Central.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

READY = "Master has completed initialization"
MAIN = ("org.apache.hadoop.hbase.master.HMaster", "start")

_OPENED = (
    "java.nio",
    "sun.nio.ch",
    "java.lang",
    "jdk.internal.ref",
    "java.lang.reflect",
    "java.util",
    "java.util.concurrent",
    "jdk.internal.util.random",
)
"""Packages of Java 17 that HBase reaches into."""
JAVA_FLAGS = (
    "--add-modules",
    "jdk.unsupported",
    *(word for name in _OPENED for word in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")),
    "--add-exports",
    "java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports",
    "java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
)
LOGGING = """\
log4j.rootLogger=WARN, out
log4j.logger.org.apache.hadoop.hbase.master.HMaster=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


def standalone(
    directory: Path, *, zookeeper_port: int, master_port: int, server_port: int
) -> dict[str, str]:
    """The settings of one in a directory, which serves this machine alone."""
    return {
        "hbase.cluster.distributed": "false",
        "hbase.rootdir": f"file://{directory}/data",
        "hbase.tmp.dir": f"{directory}/tmp",
        "hbase.zookeeper.property.dataDir": f"{directory}/zookeeper",
        "hbase.zookeeper.property.clientPort": str(zookeeper_port),
        "hbase.zookeeper.quorum": "127.0.0.1",
        # A node's lease ends up to a tick late. HBase's own sessions would be twenty ticks at most.
        "hbase.zookeeper.property.tickTime": "1000",
        "hbase.zookeeper.property.maxSessionTimeout": "90000",
        "hbase.unsafe.stream.capability.enforce": "false",
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        "hbase.master.ipc.address": "127.0.0.1",
        "hbase.regionserver.ipc.address": "127.0.0.1",
        "hbase.master.port": str(master_port),
        "hbase.regionserver.port": str(server_port),
        "hbase.master.info.port": "-1",
        "hbase.regionserver.info.port": "-1",
    }


def write_conf(conf: Path, settings: dict[str, str]) -> None:
    """The files that it reads at the start."""
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "log4j.properties").write_text(LOGGING)
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in settings.items()
    )
    (conf / "hbase-site.xml").write_text(f"<configuration>\n{properties}</configuration>\n")


def command(home: Path, conf: Path, *, heap: str, main: Sequence[str] = MAIN) -> list[str]:
    """What starts it, or another program of its jars."""
    return ["java", f"-Xmx{heap}", *JAVA_FLAGS, "-cp", f"{conf}:{home / 'lib'}/*", *main]
