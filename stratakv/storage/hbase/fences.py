"""Who may write to a group: its fence row has an epoch, which rises with every new owner.

    d:f  epoch, turn    of the last commit; turn 0 is the owner's beginning
    d:o  token, owner

1. A commit is done only if the fence is at its epoch and at the turn before its own, and puts its
   own turn there. So each commit is done once, in order, however often it was asked for; a late
   copy of it that HBase finds in a queue is refused, and so is everything of a former owner.
2. The epoch rises only from the epoch that was seen. Of two who try only one succeeds.
"""

import os
import struct
from dataclasses import dataclass
from typing import Final

from stratakv.storage.hbase import messages_pb2 as pb
from stratakv.storage.hbase.calls import Calls
from stratakv.storage.hbase.errors import Fenced, HBaseError
from stratakv.storage.hbase.gets import Gets
from stratakv.storage.hbase.groups import FENCE, MOST_EPOCH, OWNER, Group, timestamp
from stratakv.storage.hbase.mutations import mutate
from stratakv.storage.hbase.requests import Durability, if_absent, if_begins, put

TOKEN_BYTES: Final = 16
_PLACE: Final = struct.Struct(">QQ")
_EPOCH: Final = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Fence:
    """What the fence row of a group says; epoch 0 if it never had an owner."""

    epoch: int = 0
    turn: int = 0
    owner: bytes = b""
    token: bytes = b""


def encode_place(epoch: int, turn: int) -> bytes:
    """The value of the cell that commits look at."""
    return _PLACE.pack(epoch, turn)


def decode_fence(cells: dict[bytes, bytes]) -> Fence:
    """A fence of its cells."""
    if FENCE not in cells:
        return Fence()
    if len(cells[FENCE]) != _PLACE.size or len(cells.get(OWNER, b"")) < TOKEN_BYTES:
        raise HBaseError("a fence row that StrataKV has not written")
    epoch, turn = _PLACE.unpack(cells[FENCE])
    return Fence(epoch, turn, cells[OWNER][TOKEN_BYTES:], cells[OWNER][:TOKEN_BYTES])


class Fences:
    """The fence rows of a table."""

    def __init__(self, calls: Calls, gets: Gets, durability: Durability) -> None:
        self._calls = calls
        self._gets = gets
        self._durability = durability

    async def read(self, group: Group) -> Fence:
        """Who may write now."""
        return decode_fence(await self._gets.cells(group.fence, FENCE, OWNER))

    async def raise_epoch(self, group: Group, owner: bytes) -> Fence:
        """Become the owner of a group, whoever was it: from now on all others are refused.

        Whether somebody *should* become the owner is decided elsewhere. Raises `Fenced` if another
        one was quicker.
        """
        seen = await self.read(group)
        if seen.epoch >= MOST_EPOCH:
            raise HBaseError(f"{group} has had {MOST_EPOCH} owners: it can have no more")
        wanted = Fence(seen.epoch + 1, 0, owner, os.urandom(TOKEN_BYTES))
        request = self._request(group, seen, wanted)
        was_done = await self._calls.until_done(
            "raising an epoch", lambda: mutate(self._calls, group.fence, request)
        )
        if not was_done and (there := await self.read(group)) != wanted:
            raise Fenced(
                f"{group}: another owner was quicker, {there.owner!r} with epoch {there.epoch}"
            )
        return wanted

    def _request(self, group: Group, seen: Fence, wanted: Fence) -> bytes:
        """Asked again after an answer that got lost, it is refused, and the token tells why.

        Through the endpoint of the commits: HBase's own check-and-mutate forgets that only the
        beginning is to be compared, and the turn may change at any moment.
        """
        cells = (
            (FENCE, encode_place(wanted.epoch, wanted.turn)),
            (OWNER, wanted.token + wanted.owner),
        )
        condition = (
            if_begins(group.fence, FENCE, _EPOCH.pack(seen.epoch))
            if seen.epoch
            else if_absent(group.fence, FENCE)
        )
        written = put(group.fence, cells, timestamp(wanted.epoch, 0), self._durability)
        request = pb.MutateRowsRequest(mutations=[written], conditions=[condition])
        return request.SerializeToString()
