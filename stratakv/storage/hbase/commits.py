"""What one turn wrote to one group: one call, on one condition, whole or not at all."""

from collections.abc import Iterable, Mapping

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import Fenced, HBaseError
from stratakv.storage.hbase.fences import Fences, encode_place
from stratakv.storage.hbase.groups import FENCE, Group, timestamp
from stratakv.storage.hbase.mutations import mutate
from stratakv.storage.hbase.requests import (
    Durability,
    delete_value,
    if_equal,
    put,
    put_value,
)


class Commits:
    """Writes to a table."""

    def __init__(self, calls: Calls, fences: Fences, durability: Durability) -> None:
        self._calls = calls
        self._fences = fences
        self.durability = durability

    async def commit(
        self,
        group: Group,
        epoch: int,
        turn: int,
        puts: Mapping[bytes, bytes],
        deletes: Iterable[bytes] = (),
    ) -> int:
        """Write rows of a group; returns how many bytes that were.

        `turn` is one more than that of the last commit of this epoch. Raises `TooLarge` before
        anything is sent, `Fenced` if the group belongs to somebody else, and others where it cannot
        be known in time whether HBase has done it: `is_in_doubt` says so. It must then not be
        acknowledged, and the group be taken anew (`Fences.raise_epoch`) before anything more is
        written to it or read of it: only then nothing of the old epoch can still be done.

        Requires: no row is in both, and no other commit of the group is under way.
        """
        rows = tuple(deletes)
        size = self._measure(puts, rows)
        request = self._request(group, epoch, turn, puts, rows)
        await self._until_known(group, epoch, turn, request)
        self._calls.counters.commits += 1
        self._calls.counters.rows_written += len(puts) + len(rows)
        return size

    def _measure(self, puts: Mapping[bytes, bytes], deletes: tuple[bytes, ...]) -> int:
        """The bytes of a commit; raises `TooLarge`."""
        limits = self._calls.limits
        size = 0
        for row in (*puts, *deletes):
            limits.check_row(row)
            size += len(row)
        for value in puts.values():
            limits.check_value(len(value))
            size += len(value)
        limits.check_commit(size)
        return size

    def _request(
        self,
        group: Group,
        epoch: int,
        turn: int,
        puts: Mapping[bytes, bytes],
        deletes: tuple[bytes, ...],
    ) -> bytes:
        at, durability = timestamp(epoch, turn), self.durability
        mutations = [put(group.fence, ((FENCE, encode_place(epoch, turn)),), at, durability)]
        mutations += [put_value(row, value, at, durability) for row, value in puts.items()]
        mutations += [delete_value(row, at, durability) for row in deletes]
        assert turn > 0, "turn 0 is the fence's own"
        condition = if_equal(group.fence, FENCE, encode_place(epoch, turn - 1))
        return pb.MutateRowsRequest(mutations=mutations, conditions=[condition]).SerializeToString()

    async def _until_known(self, group: Group, epoch: int, turn: int, request: bytes) -> None:
        """Ask until it is done or refused. Asked again it is refused if it was done."""
        tries = self._calls.tries(f"a commit to {group}")
        while True:
            try:
                if not await mutate(self._calls, group.fence, request):
                    await self._judge(group, epoch, turn, is_in_doubt=tries.is_in_doubt)
                return
            except HBaseError as error:
                if error.is_in_doubt and not tries.is_in_doubt:
                    self._calls.counters.in_doubt += 1
                await tries.after(error)

    async def _judge(self, group: Group, epoch: int, turn: int, *, is_in_doubt: bool) -> None:
        """A commit was refused: whether that is because it had been done already."""
        there = await self._fences.read(group)
        if (there.epoch, there.turn) == (epoch, turn) and is_in_doubt:
            return
        self._calls.counters.fenced += 1
        if there.epoch == epoch:
            raise Fenced(f"{group}: turn {turn} does not follow turn {there.turn}")
        raise Fenced(
            f"{group} belongs to {there.owner!r} by now, with epoch {there.epoch}, not to {epoch}",
            is_in_doubt=is_in_doubt,
        )
