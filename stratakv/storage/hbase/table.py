"""The table: how it is made, and whether what is there can be trusted.

One family with one version, a region for each group that is never split by itself, and the endpoint
that writes rows of a region together. How many groups there are is an attribute of the table: it
cannot change while the table lives, since it says where the rows are.
"""

import os
from typing import Final

from google.protobuf.message import Message

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import HBaseError, NoRegion, NoTable, RemoteError, Unsupported
from stratakv.storage.hbase.groups import FAMILY, MOST_GROUPS, VALUE, Group, split_keys, timestamp
from stratakv.storage.hbase.locations import Region
from stratakv.storage.hbase.mutations import mutate
from stratakv.storage.hbase.requests import (
    COPROCESSOR,
    Durability,
    delete_value,
    if_equal,
    put_value,
)
from stratakv.storage.hbase.servers import MASTER, Servers
from stratakv.storage.hbase.wire import M
from stratakv.storage.hbase.zookeeper import ZooKeeper

GROUPS: Final = b"STRATAKV_GROUPS"
ENDPOINT: Final = b"coprocessor$1"
NO_SPLITS: Final = b"org.apache.hadoop.hbase.regionserver.DisabledRegionSplitPolicy"
FAMILY_SETTINGS: Final = {b"VERSIONS": b"1", b"BLOOMFILTER": b"ROW"}


class Table:
    """A table by name, seen from its master."""

    def __init__(self, calls: Calls, servers: Servers, zookeeper: ZooKeeper, groups: int) -> None:
        self.check_groups(groups)
        self.groups = groups
        self._calls = calls
        self._servers = servers
        self._zookeeper = zookeeper
        self._name = calls.regions.table

    @staticmethod
    def check_groups(groups: int) -> None:
        """Raises ValueError."""
        if not 1 <= groups <= MOST_GROUPS:
            raise ValueError(f"1 to {MOST_GROUPS} groups, not {groups}")

    async def ensure(self) -> None:
        """See that the table is there and as it should be; raises `Unsupported`."""
        schema = await self._schema()
        if schema is None:
            await self._create()
            schema = await self._calls.until_done("waiting for the table", self._made)
        self._check(schema)
        regions = await self._calls.until_done("waiting for the regions", self._all_regions)
        await self._probe_servers(regions)

    async def find(self) -> int:
        """The number of groups of a table that is there; raises `NoTable`, or `Unsupported`."""
        schema = await self._schema()
        if schema is None:
            raise NoTable(f"HBase has no table {self._name.decode()}")
        self.groups = self._groups_of(schema)
        await self._calls.until_done("looking for the regions", self._all_regions)
        return self.groups

    # the master

    async def _schema(self) -> pb.TableSchema | None:
        request = pb.GetTableDescriptorsRequest(table_names=[self._table_name()])
        answer = await self._ask_master(
            "GetTableDescriptors", request, pb.GetTableDescriptorsResponse
        )
        return answer.schemas[0] if answer.schemas else None

    async def _made(self) -> pb.TableSchema:
        """What the master says of a table that it was told to make, once it does."""
        schema = await self._schema()
        if schema is None:
            raise NoRegion(f"the master has no table {self._name.decode()} yet")
        return schema

    async def _create(self) -> None:
        """Make it; others may do so at the same time."""
        family = pb.ColumnFamilySchema(name=FAMILY, attributes=_pairs(FAMILY_SETTINGS))
        settings = {
            GROUPS: b"%d" % self.groups,
            ENDPOINT: b"|" + COPROCESSOR.encode() + b"|1001|",
            b"SPLIT_POLICY": NO_SPLITS,
        }
        schema = pb.TableSchema(
            table_name=self._table_name(), attributes=_pairs(settings), families=[family]
        )
        request = pb.CreateTableRequest(schema=schema, split_keys=split_keys(self.groups))
        try:
            await self._ask_master("CreateTable", request, pb.CreateTableResponse)
        except RemoteError as error:
            if error.name != "TableExistsException":
                raise

    async def _ask_master(self, method: str, request: Message, answer: type[M]) -> M:
        """Ask whoever is the master now, until it works; for what may be done twice."""

        async def attempt() -> M:
            server = await self._zookeeper.master()
            connection = await self._servers.connection(server, MASTER)
            return await connection.call(method, request, answer, self._calls.limits.call_seconds)

        return await self._calls.until_done(method, attempt)

    def _table_name(self) -> pb.TableName:
        namespace, colon, name = self._name.rpartition(b":")
        return pb.TableName(namespace=namespace if colon else b"default", qualifier=name)

    # whether it can be trusted

    def _check(self, schema: pb.TableSchema) -> None:
        settings = _settings(schema)
        groups = self._groups_of(schema)
        what = f"the table {self._name.decode()}"
        if groups != self.groups:
            raise Unsupported(
                f"{what} was made for {groups} groups, not {self.groups}: their number cannot "
                "change, since it says where the rows are"
            )
        endpoints = [value for name, value in settings.items() if name.startswith(b"coprocessor$")]
        if not any(COPROCESSOR.encode() in value for value in endpoints):
            raise Unsupported(f"{what} has lost its coprocessor {COPROCESSOR}")

    def _groups_of(self, schema: pb.TableSchema) -> int:
        groups = _settings(schema).get(GROUPS, b"")
        if not groups.isdigit():
            raise Unsupported(
                f"the table {self._name.decode()} was not made by StrataKV: "
                "give it a table of its own"
            )
        return int(groups)

    async def _all_regions(self) -> list[Region]:
        """The regions, once each group has one that is served; raises `NoRegion`."""
        try:
            regions = await self._calls.regions.load()
        except NoTable as error:  # the master has it, so it is being made
            raise NoRegion(str(error)) from error
        for number in range(self.groups):
            rows = Group(number).prefix
            if not any(region.has(rows) for region in regions):
                raise NoRegion(f"no server has the region of group {number} yet")
        return regions

    async def _probe_servers(self, regions: list[Region]) -> None:
        """Each server is tried at one of its groups: they need not be of one version."""
        tried = set()
        for number in range(self.groups):
            group = Group(number)
            server = next(region.server for region in regions if region.has(group.prefix))
            if server not in tried:
                tried.add(server)
                await probe(self._calls, group)


async def probe(calls: Calls, group: Group) -> None:
    """See that a commit on a false condition is not done; raises `Unsupported`.

    An HBase that knows no conditions writes all the same, and every fence would be in vain.
    """
    token = os.urandom(16)
    at = timestamp(0, 1)
    written = put_value(group.probe, token, at, Durability.LOGGED)
    condition = if_equal(group.probe, VALUE, token)
    request = pb.MutateRowsRequest(mutations=[written], conditions=[condition])
    try:
        was_done = await calls.until_done(
            "the probe", lambda: mutate(calls, group.probe, request.SerializeToString())
        )
    except RemoteError as error:
        if error.name == "UnknownProtocolException":
            raise Unsupported(f"the table does not have the coprocessor {COPROCESSOR}") from error
        raise
    except Unsupported:
        await _clean_up(calls, group, at)
        raise
    if was_done:
        await _clean_up(calls, group, at)
        raise Unsupported("HBase has written though the condition was false: it cannot be used")


async def _clean_up(calls: Calls, group: Group, at: int) -> None:
    """Delete what should never have been there."""
    request = pb.MutateRowsRequest(mutations=[delete_value(group.probe, at, Durability.LOGGED)])
    try:
        await mutate(calls, group.probe, request.SerializeToString())
    except HBaseError:
        return  # it is refused anyway


def _settings(schema: pb.TableSchema) -> dict[bytes, bytes]:
    return {pair.first: pair.second for pair in schema.attributes}


def _pairs(settings: dict[bytes, bytes]) -> list[pb.BytesBytesPair]:
    return [pb.BytesBytesPair(first=name, second=value) for name, value in settings.items()]
