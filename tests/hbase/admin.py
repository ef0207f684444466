"""What only tests do to an HBase: flush, compact, close and open regions.

These messages of HBase are not among ours, but look the same: a region in field 1.
"""

from __future__ import annotations

from pathlib import Path

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.counters import Counters
from stratakv.storage.hbase.limits import Limits
from stratakv.storage.hbase.wire import connect
from tests.harness.hbase import HBaseServer
from tests.harness.waiting import HANG_S, loop_until

SECOND_FIELD_IS_TRUE = b"\x10\x01"


class Admin:
    """Of one table."""

    def __init__(self, server: HBaseServer, table: str) -> None:
        self._server = server
        self._table = table

    async def flush(self, region: bytes) -> None:
        await self._ask(self._server.server_port, "AdminService", "FlushRegion", region)

    async def compact(self, region: bytes) -> None:
        """Rewrite all files of a region; returns when the new one is there.

        The old ones stay until nobody can be reading them.
        """
        port, before = self._server.server_port, self._files(region)
        await self._ask(port, "AdminService", "CompactRegion", region, SECOND_FIELD_IS_TRUE)
        await loop_until(lambda: self._files(region) - before, "no compaction")

    async def close(self, region: bytes) -> None:
        await self._ask(self._server.master_port, "MasterService", "UnassignRegion", region)

    async def open(self, region: bytes) -> None:
        await self._ask(self._server.master_port, "MasterService", "AssignRegion", region)

    def _files(self, region: bytes) -> set[Path]:
        encoded = region.decode("latin-1").rstrip(".").rpartition(".")[2]
        family = self._server.dir / "data" / "data" / "default" / self._table / encoded / "d"
        return {path for path in family.glob("*") if not path.name.startswith(".")}

    async def _ask(
        self, port: int, service: str, method: str, region: bytes, more: bytes = b""
    ) -> None:
        connection = await connect("localhost", port, service, Limits(), Counters())
        request = pb.ScanRequest(region=pb.RegionSpecifier(type=1, value=region))
        request.MergeFromString(more)
        await connection.call(method, request, pb.MutateRowsResponse, HANG_S)
        connection.close()
