"""One real HBase for all tests, one table, and a group of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import Limits
from tests.harness.hbase import HBaseServer, lacking
from tests.harness.waiting import HANG_S

GROUPS = 40
LEASE_SECONDS = 20
"""Of scanners: so short that a test can wait for its end, and longer than a busy machine pauses."""
PATIENT = Limits(call_seconds=HANG_S / 4, patience_seconds=HANG_S)
"""On a machine that is busy with other work, a late answer is none that is missing."""
_numbers = count()


@pytest.fixture(scope="session")
def hbase_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseServer]:
    server = start_hbase(tmp_path_factory.mktemp("hbase"))
    yield server
    server.stop()


def start_hbase(directory: Path, settings: Mapping[str, str] | None = None) -> HBaseServer:
    """An HBase that is ready, or a skipped test."""
    if reason := lacking():
        pytest.skip(reason)
    lease = {"hbase.client.scanner.timeout.period": str(1000 * LEASE_SECONDS)}
    return HBaseServer(directory / "data", settings={**lease, **(settings or {})}).start()


@pytest.fixture
async def client(hbase_server: HBaseServer) -> AsyncIterator[HBase]:
    opened = HBase(hbase_server.address, "strata", groups=GROUPS, limits=PATIENT)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def group() -> Group:
    """One that no other test uses."""
    number = next(_numbers)
    assert number < GROUPS, "more tests than groups"
    return Group(number)
