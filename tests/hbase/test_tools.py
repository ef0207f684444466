"""The offline tools on a table, also while a server writes to it."""

from __future__ import annotations

import asyncio
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.layout import rows
from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.groups import Group
from tests.crash.ledger import Ledger
from tests.harness.hbase import HBaseServer, hbase_flags
from tests.harness.servers import STRATAKV, StrataServer
from tests.harness.waiting import HANG_S, wait_until
from tests.hbase.conftest import PATIENT
from tests.hbase.nodes import Nodes
from tests.hbase.owners import Owner

pytestmark = [pytest.mark.hbase]


@pytest.fixture
def server(hbase_server: HBaseServer, tmp_path: Path) -> Iterator[StrataServer]:
    flags = hbase_server.flags(f"tools{random.getrandbits(32):x}")
    started = StrataServer(tmp_path / "data", flags=flags).start()
    yield started
    started.stop()


def run(hbase: HBaseServer, table: str, tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*STRATAKV, tool, *hbase_flags(hbase.address, table), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)


def table_of(server: StrataServer) -> str:
    return server.flags[-1]


def test_a_table_is_in_order_at_any_moment_of_its_server(
    hbase_server: HBaseServer, server: StrataServer
) -> None:
    ledgers = [Ledger(random.getrandbits(32), number, with_flush=True) for number in range(2)]
    stop = threading.Event()
    threads = [
        threading.Thread(target=ledger.write_until_cut, args=(server.port, stop))
        for ledger in ledgers
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            before = min(ledger.acknowledged for ledger in ledgers)
            done = run(hbase_server, table_of(server), "check")
            assert (done.returncode, done.stderr) == (0, ""), done.stdout
            assert "1 group checked, no problem" in done.stdout
            wait_until(lambda: min(ledger.acknowledged for ledger in ledgers) > before)  # noqa: B023
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    with server.client() as client:
        assert client.send("PING").frame.data == b"PONG"  # nobody has taken the table


def test_a_table_of_several_groups_is_looked_through(
    hbase_server: HBaseServer, tmp_path: Path
) -> None:
    nodes = Nodes(hbase_server, f"tools{random.getrandbits(32):x}", tmp_path)
    try:
        server = nodes.add()
        nodes.settle()
        with server.client() as client:
            replies = client.pipeline([("SET", f"key{number}", "x") for number in range(200)])
        assert {str(reply) for reply in replies} == {"status OK"}
        done = run(hbase_server, nodes.table, "check")
        assert (done.returncode, done.stderr) == (0, "")
        assert "200 keys" in done.stdout
        assert f"{nodes.groups} groups checked, no problem" in done.stdout
        for key in ("key0", "key123"):
            shown = run(hbase_server, nodes.table, "inspect", key)
            assert "  type: string" in shown.stdout, key
    finally:
        nodes.stop()


async def _count_wrongly(hbase: HBaseServer, table: str) -> None:
    client = await HBase(hbase.address, table, groups=1, limits=PATIENT).open()
    owner = await Owner(client, Group(0)).take()
    await owner.write({rows.LIVE + b"0:": rows.U64.pack(7)})
    await client.close()


def test_what_is_not_in_order_is_told(hbase_server: HBaseServer, server: StrataServer) -> None:
    with server.client() as client:
        client.send("SET", "key", "value")
    assert server.terminate() == 0
    asyncio.run(_count_wrongly(hbase_server, table_of(server)))
    done = run(hbase_server, table_of(server), "check")
    assert done.returncode == 1
    assert "says 7 keys, there are 1" in done.stdout
    assert "1 problem" in done.stdout


def test_the_rows_of_a_key_are_shown(hbase_server: HBaseServer, server: StrataServer) -> None:
    with server.client() as client:
        client.send("HSET", "hash", "field", "value")
    done = run(hbase_server, table_of(server), "inspect", "hash")
    assert done.returncode == 0, done.stderr
    assert "  type: hash" in done.stdout
    assert "-> 'value'" in done.stdout
    assert run(hbase_server, table_of(server), "inspect", "nothing").returncode == 1


@pytest.mark.parametrize("tool", [("check",), ("inspect", "key")])
def test_a_table_that_is_not_there_is_not_made(
    hbase_server: HBaseServer, tool: tuple[str, ...]
) -> None:
    for _ in range(2):
        done = run(hbase_server, "nosuchtable", *tool)
        assert done.returncode
        assert "HBase has no table nosuchtable" in done.stderr


def test_neither_a_directory_nor_a_table_is_an_error() -> None:
    done = subprocess.run(
        [*STRATAKV, "check"], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode != 0
    assert "name a data directory" in done.stderr
