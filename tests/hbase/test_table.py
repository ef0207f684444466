"""Making the table, finding it again, and refusing what is not ours."""

from __future__ import annotations

import asyncio

import pytest

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.errors import GaveUp, NoTable, Unsupported
from stratakv.storage.hbase.groups import Group
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.wire import connect
from tests.harness.hbase import HBaseServer
from tests.harness.servers import free_port
from tests.harness.waiting import HANG_S, loop_until
from tests.hbase.admin import Admin
from tests.hbase.conftest import GROUPS, PATIENT
from tests.hbase.owners import Owner

HASTE = Limits(call_seconds=0.5, patience_seconds=1.0)


@pytest.mark.hbase
async def test_several_may_make_the_table_at_once_and_find_it_again(
    hbase_server: HBaseServer,
) -> None:
    clients = [HBase(hbase_server.address, "together", groups=3) for _ in range(3)]
    await asyncio.gather(*(client.open() for client in clients))
    owner = await Owner(clients[0], Group(2)).take()
    await owner.write({b"row": b"value"})
    again = await HBase(hbase_server.address, "together", groups=3).open()
    assert await again.get_many([Group(2).row(b"row")]) == [b"value"]
    for client in (*clients, again):
        await client.close()


@pytest.mark.hbase
async def test_another_number_of_groups_is_refused(
    client: HBase, hbase_server: HBaseServer
) -> None:
    other = HBase(hbase_server.address, "strata", groups=7)
    with pytest.raises(Unsupported, match=f"made for {GROUPS} groups, not 7"):
        await other.open()
    await other.close()


@pytest.mark.hbase
async def test_somebody_elses_table_is_refused(hbase_server: HBaseServer) -> None:
    name = pb.TableName(namespace=b"default", qualifier=b"foreign")
    families = [pb.ColumnFamilySchema(name=b"cf")]
    schema = pb.TableSchema(table_name=name, families=families)
    master = await connect(
        "localhost", hbase_server.master_port, "MasterService", Limits(), Counters()
    )
    request = pb.CreateTableRequest(schema=schema)
    await master.call("CreateTable", request, pb.CreateTableResponse, HANG_S)
    master.close()
    client = HBase(hbase_server.address, "foreign", groups=1)
    with pytest.raises(Unsupported, match="not made by StrataKV"):
        await _until_there(client)
    await client.close()


async def _until_there(client: HBase) -> None:
    """The master makes tables at its leisure; before that, ours would be made."""
    while True:
        schema = await client._table._schema()
        if schema is not None:
            break
    await client.open()


@pytest.mark.hbase
async def test_a_table_whose_regions_are_all_closed_is_waited_for(
    hbase_server: HBaseServer,
) -> None:
    maker = await HBase(hbase_server.address, "closed", groups=1, limits=PATIENT).open()
    owner = await Owner(maker, Group(0)).take()
    await owner.write({b"row": b"value"})
    region = (await maker._calls.regions.find(b"")).name
    admin = Admin(hbase_server, "closed")
    await admin.close(region)
    client = HBase(hbase_server.address, "closed", groups=1, limits=PATIENT)
    reading = asyncio.create_task(client.get_many([Group(0).row(b"row")]))
    await loop_until(lambda: client.counters.retries or reading.done())
    assert not reading.done()
    await admin.open(region)
    assert await reading == [b"value"]
    await maker.close()
    await client.close()


@pytest.mark.hbase
async def test_a_table_that_is_not_there_is_not_waited_for(hbase_server: HBaseServer) -> None:
    client = HBase(hbase_server.address, "nowhere", groups=1, limits=PATIENT)
    with pytest.raises(NoTable, match="no table nowhere"):
        await client.get_many([Group(0).row(b"row")])
    await client.close()


@pytest.mark.hbase
async def test_an_hbase_under_another_znode_is_not_found(hbase_server: HBaseServer) -> None:
    client = HBase(f"{hbase_server.address}/elsewhere", "strata", groups=1, limits=HASTE)
    with pytest.raises(GaveUp, match=r"/elsewhere/master is not in the ZooKeeper"):
        await client.open()
    await client.close()


async def test_without_a_zookeeper_there_is_a_clear_error() -> None:
    client = HBase(f"127.0.0.1:{free_port()}", "strata", groups=1, limits=HASTE)
    with pytest.raises(GaveUp, match="no answer from ZooKeeper"):
        await client.open()
    await client.close()
