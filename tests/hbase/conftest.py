"""One real HBase for all tests, one table, and a group of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.groups import Group
from tests.harness.hbase import HBaseServer, lacking

GROUPS = 40
LEASE_SECONDS = 8
"""Of scanners: short, so that a snapshot without renewals ends while a test waits."""
_numbers = count()


@pytest.fixture(scope="session")
def hbase_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseServer]:
    server = start_hbase(tmp_path_factory.mktemp("hbase"))
    yield server
    server.stop()


def start_hbase(directory: Path) -> HBaseServer:
    """An HBase that is ready, or a skipped test."""
    if reason := lacking():
        pytest.skip(reason)
    lease = {"hbase.client.scanner.timeout.period": str(1000 * LEASE_SECONDS)}
    return HBaseServer(directory / "data", settings=lease).start()


@pytest.fixture
async def client(hbase_server: HBaseServer) -> AsyncIterator[HBase]:
    opened = HBase(hbase_server.address, "strata", groups=GROUPS)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def group() -> Group:
    """One that no other test uses."""
    number = next(_numbers)
    assert number < GROUPS, "more tests than groups"
    return Group(number)
