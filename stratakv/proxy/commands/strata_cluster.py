"""STRATA CLUSTER: which node has which groups of slots, and who is to have them."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from stratakv import errors
from stratakv.errors import CommandError, StoreUnavailable
from stratakv.proxy.arguments.args import integer
from stratakv.proxy.clients.session import Session
from stratakv.proxy.table.registry import CommandGroup
from stratakv.proxy.wire.replies import NO_REPLY, OK, Reply

if TYPE_CHECKING:
    from stratakv.proxy.server import Server

command = CommandGroup("server").command


@command("STRATA CLUSTER [REBALANCE|MOVE] [group] [node-id]", "admin loading stale", since="7.0.0")
def strata_cluster(session: Session, *words: bytes) -> Reply:
    """Show whose the groups of slots are; share them out anew, or have a node own one."""
    server = session.server
    if server.ownership is None or server.cluster is None:
        raise CommandError(errors.NO_GROUPS)
    action = [words[0].upper(), len(words)] if words else []
    if not action:
        return [_shown(server, number) for number in range(len(server.cluster.topology.groups))]
    if action == [b"REBALANCE", 1]:
        return _decided(session, server.ownership.rebalance())
    if action == [b"MOVE", 3]:
        number, name = integer(words[1]), words[2].decode("ascii", "replace")
        if not 0 <= number < len(server.cluster.topology.groups):
            raise CommandError(errors.NO_SUCH_GROUP)
        if name not in server.cluster.topology.nodes:
            raise errors.unknown_node(words[2])
        return _decided(session, server.ownership.move(number, name))
    raise errors.syntax()


def _shown(server: "Server", number: int) -> dict[bytes, Any]:
    """A group: what all nodes know, and what its owner knows."""
    assert server.cluster is not None
    assert server.ownership is not None
    group, slots = server.cluster.topology.groups[number], server.cluster.topology.slots_of(number)
    space = server.ownership.spaces.get(number)
    is_moving = bool(group.heir) or server.ownership.is_moving(number)
    told: dict[bytes, Any] = {
        b"group": number,
        b"slots": b"%d-%d" % (slots.start, slots.stop - 1),
        b"owner": group.owner.encode(),
        b"state": b"moving" if is_moving else b"open" if space else b"elsewhere",
    }
    if group.heir:
        told[b"heir"] = group.heir.encode()
    if space is not None:
        told[b"epoch"] = space.epoch
        told[b"keys"] = space.keys
    return told


def _decided(session: Session, work: Coroutine[Any, Any, None]) -> Reply:
    """Reply when it is decided; that groups have moved is seen later."""
    server = session.server
    server.dispatcher.pipelines.await_answer(session)

    def ended(done: "asyncio.Task[None]") -> None:
        failure = None if done.cancelled() else done.exception()
        if isinstance(failure, StoreUnavailable):
            session.answer_later(CommandError(b"TRYAGAIN " + str(failure).encode()))
        elif failure is not None:
            raise failure
        else:
            session.answer_later(OK)

    server.loop.create_task(work).add_done_callback(ended)
    return NO_REPLY
