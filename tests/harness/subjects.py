"""The server under test and its oracle, as STRATAKV_TEST_SUBJECT says.

`redis` compares Redis with itself, which tests the tests. With `hbase` the rows of the server are
in a real HBase, in one group; with `cluster` it is a node of a cluster that has all groups of slots
there, and its oracle is a Redis Cluster of one node.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.harness.hbase import IS_CLUSTER, IS_ON_HBASE, new_table_flags
from tests.harness.servers import RedisServer, StrataServer, free_port
from tests.harness.waiting import wait_until

GROUPS = 4


def start_oracle(directory: Path) -> RedisServer:
    if not IS_CLUSTER:
        return RedisServer(directory).start()
    bus = ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
    server = RedisServer(directory, flags=bus).start()
    with server.client() as client:
        assert client.send("CLUSTER", "ADDSLOTSRANGE", "0", "16383").raw == b"+OK\r\n"
        wait_until(lambda: b"cluster_state:ok" in client.send("CLUSTER", "INFO").raw)
    return server


def start_subject(directory: Path) -> StrataServer | RedisServer:
    if os.environ.get("STRATAKV_TEST_SUBJECT") == "redis":
        return RedisServer(directory).start()
    flags = new_table_flags() if IS_ON_HBASE else []
    if not IS_CLUSTER:
        return StrataServer(directory, flags=flags).start()
    server = StrataServer(directory, flags=[*flags, "--hbase-groups", str(GROUPS)]).start()
    shown = b"groups_owned:%d\r\n" % GROUPS
    with server.client() as client:
        wait_until(lambda: shown in client.send("INFO", "cluster").raw)
    return server
