"""An owner of a group, as the layer above will be one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from stratakv.storage.hbase.client import HBase
from stratakv.storage.hbase.groups import Group


class Owner:
    """Takes a group and commits turn by turn. Rows are the engine's, without the group."""

    def __init__(self, client: HBase, group: Group, name: bytes = b"owner") -> None:
        self.client = client
        self.group = group
        self.name = name
        self.epoch = 0
        self.turn = 0

    async def take(self) -> Self:
        fence = await self.client.raise_fence(self.group, self.name)
        self.epoch, self.turn = fence.epoch, fence.turn
        return self

    async def write(self, puts: Mapping[bytes, bytes], deletes: Iterable[bytes] = ()) -> None:
        await self.client.commit(
            self.group,
            self.epoch,
            self.turn + 1,
            {self.group.row(row): value for row, value in puts.items()},
            [self.group.row(row) for row in deletes],
        )
        self.turn += 1

    async def read(self, *rows: bytes) -> list[bytes | None]:
        return await self.client.get_many([self.group.row(row) for row in rows])

    async def everything(self) -> dict[bytes, bytes]:
        stop = Group(self.group.number + 1).prefix
        found = self.client.scan(self.group.rows, stop)
        return {self.group.engine_row(row): value async for row, value in found}
