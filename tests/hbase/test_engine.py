"""The engine on a real HBase: the contract of every engine, and what happens to its owners."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from stratakv.errors import StoreDamaged, StoreUnavailable
from stratakv.storage.hbase.engine import HBaseEngine
from tests.harness.hbase import HBaseServer
from tests.hbase.conftest import PATIENT
from tests.storage.engine_contract import *  # noqa: F403  # each is a test here too
from tests.storage.engine_contract import ENDLESS

pytestmark = pytest.mark.hbase

LEASE_SECONDS = 1.0
_tables = count()


def open_engine(server: HBaseServer, table: str, owner: bytes = b"one") -> HBaseEngine:
    return HBaseEngine(
        server.address, table, owner=owner, limits=PATIENT, lease_seconds=LEASE_SECONDS
    )


@pytest.fixture
def table() -> str:
    return f"engine{next(_tables)}"


@pytest.fixture
def engine(hbase_server: HBaseServer, table: str) -> Iterator[HBaseEngine]:
    opened = open_engine(hbase_server, table)
    yield opened
    opened.close()


def test_rows_outlive_the_engine(hbase_server: HBaseServer, table: str) -> None:
    first = open_engine(hbase_server, table)
    first.write({b"a": b"1"})
    first.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        first.get(b"a")
    second = open_engine(hbase_server, table)
    assert second.get(b"a") == b"1"
    second.close()


def test_names_that_hbase_cannot_have_are_not_there(engine: HBaseEngine) -> None:
    engine.write({b"a": b"1"})
    long = b"x" * 40_000
    assert engine.get(long) is None
    assert list(engine.scan(long, ENDLESS)) == []
    assert list(engine.scan(b"a", long)) == [(b"a", b"1")]
    with pytest.raises(StoreUnavailable, match="row name of"):
        engine.write({long: b""})
    with pytest.raises(StoreUnavailable, match="at most"):
        engine.write({b"b": bytes(11_000_000)})
    engine.write({b"b": b"2"})
    assert engine.get(b"b") == b"2"


def test_a_new_owner_ends_the_old_one(hbase_server: HBaseServer, table: str) -> None:
    old = open_engine(hbase_server, table, b"old")
    old.write({b"a": b"1"})
    new = open_engine(hbase_server, table, b"new")
    assert old.entitled_until == 0.0 or old.entitled_until < new.entitled_until - LEASE_SECONDS / 2
    with pytest.raises(StoreDamaged, match="belongs to b'new'"):
        old.write({b"a": b"2"})
    with pytest.raises(StoreDamaged, match="belongs to b'new'"):
        old.reopen()
    assert old.entitled_until == 0.0
    assert new.get(b"a") == b"1"
    old.close()
    new.write({b"a": b"3"})
    assert new.get(b"a") == b"3"
    new.close()
