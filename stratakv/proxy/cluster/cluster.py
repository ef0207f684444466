"""What this node knows of the cluster: the one thing that ownership tells, and dispatch asks.

How a group of slots comes and goes, by whoever decides about ownership, always on the loop:

1. `hold(group)` before it comes (it is known to be ours, but not yet open) and before it goes: from
   then on requests for its slots wait in their clients' backlogs, and nothing of it is begun.
2. What was begun before comes to its end: long commands, misses, commits.
3. `learn(topology)` when it is decided: blocked clients, shard subscribers and watches of slots
   that have gone are told, and who waits for a group that has gone is sent to its new owner.
4. `release(group)` when it is open, or stays after all: who waits goes on.

Each group is a database of the keyspace, chosen for each request as SELECT would: `database_of`
says which. A node alone has all slots in the first.

Invariants
1. `_places` of a slot is the number of its database if the slot is served here and now, else -1.
2. A client that waits for a group is known to that group alone, and the group is held.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from stratakv import errors
from stratakv.encodings.layout.numbers import parse_int
from stratakv.errors import CommandError, Redirected
from stratakv.proxy.cluster.links import Links
from stratakv.proxy.cluster.topology import Node, Topology
from stratakv.slots import SLOTS, slot_of

if TYPE_CHECKING:
    from stratakv.options import Options
    from stratakv.proxy.clients.session import Session
    from stratakv.proxy.table.registry import Command
    from stratakv.proxy.wire.requests import Request

Listener = Callable[[Topology, Topology], None]
"""Told of the topology before and after, once the new one is in force."""

_NO_KEYS: Final = -1
_MANY_SLOTS: Final = -2
_ELSEWHERE: Final = -1
_RUN_MOST: Final = 64
"""Requests of a pipeline that are looked at ahead: as many as a streak serves at most."""


def _first(group: int) -> int:
    return 0


class Cluster:
    """One for each server of a cluster."""

    def __init__(
        self,
        options: "Options",
        myself: Node,
        topology: Topology,
        links: Links,
        resume_soon: Callable[["Session"], None],
    ) -> None:
        assert myself.id in topology.nodes
        self._options = options
        self.topology = topology
        self.links = links
        self.database_of: Callable[[int], int] = _first
        """The number of the database that has the keys of a group of ours."""
        self._my_id = myself.id
        self._resume_soon = resume_soon
        self._mine = topology.groups_of(myself.id)
        self._held: dict[int, list[Session]] = {}
        """Groups whose requests wait, and who waits for each."""
        self._wanted = -1
        """The group that the request which was judged last has to wait for."""
        self._listeners: list[Listener] = [links.follow]
        self._places: list[int] = []
        self.arrange()

    @property
    def myself(self) -> Node:
        """This node, as the others see it."""
        return self.topology.nodes[self._my_id]

    @property
    def is_down(self) -> bool:
        """Whether there are slots that nobody has, and nothing is to be served then."""
        return self._options.cluster_require_full_coverage and not self.topology.is_covered

    def has(self, group: int) -> bool:
        """Whether a group is ours."""
        return group in self._mine

    def serves(self, group: int) -> bool:
        """Whether a group is ours, and open."""
        return group in self._mine and group not in self._held

    def has_slot(self, slot: int) -> bool:
        """Whether a slot is ours."""
        return self.topology.group_of(slot) in self._mine

    # what ownership tells

    def on_change(self, listener: Listener) -> None:
        """Have somebody told of each new topology, after those who asked earlier."""
        self._listeners.append(listener)

    def begin(self, topology: Topology) -> None:
        """That is how it is when the server begins, with as many groups as there will be.

        Requires: nobody was served yet.
        """
        self.topology = topology
        self._mine = topology.groups_of(self._my_id)
        self.arrange()

    def learn(self, topology: Topology) -> None:
        """That is how it is from now on. Requires: its epoch is higher, and we are in it."""
        before = self.topology
        assert topology.epoch > before.epoch
        assert len(topology.groups) == len(before.groups)
        self.topology = topology
        self._mine = topology.groups_of(self._my_id)
        self.arrange()
        for listener in self._listeners:
            listener(before, topology)
        for group in self._held.keys() - self._mine:
            self.release(group)

    def hold(self, group: int) -> None:
        """Let requests for a group of ours wait from now on."""
        self._held.setdefault(group, [])
        self.arrange()

    def release(self, group: int) -> None:
        """Let those go on who wait for a group."""
        waiting = self._held.pop(group, [])
        self.arrange()
        for session in waiting:
            self._resume_soon(session)

    def arrange(self) -> None:
        """See anew which slots are served here, and where. Options have changed, if nothing else
        has."""
        self._places = [_ELSEWHERE] * SLOTS
        if self.is_down:
            return
        for group in self._mine - self._held.keys():
            slots = self.topology.slots_of(group)
            self._places[slots.start : slots.stop] = [self.database_of(group)] * len(slots)

    # what dispatch asks

    def judge(self, session: "Session", entry: "Command", request: "Request") -> Redirected | None:
        """Why a request is not for this node; if it is, its client is in the right database."""
        self._wanted = -1
        session.slot = _NO_KEYS
        if not entry.is_routed:
            return None
        slot = _slot_of_request(session, entry, request)
        if slot < 0:
            return None if slot == _NO_KEYS else Redirected(errors.CROSS_SLOT)
        session.slot = slot
        place = self._places[slot]
        if place < 0:
            if "slot" in entry.traits:
                return None
            failure = self.redirection(session, slot, is_for_channels="pubsub" in entry.flags)
            if failure is not None or (self.is_down and entry.is_write):
                return failure or Redirected(errors.CLUSTER_READ_ONLY)
            group = self.topology.group_of(slot)
            if group in self._held:
                self._wanted = group
                return None
            place = self.database_of(group)
        if session.txn.db.number != place:
            session.select(place)
        return None

    def redirection(
        self, session: "Session", slot: int, *, is_for_channels: bool = False
    ) -> Redirected | None:
        """What a client hears who asks us about a slot; nothing if we may answer, but for writes
        while the cluster is down."""
        owner = self.topology.owner_of(slot)
        if owner is None:
            return Redirected(errors.SLOT_NOT_SERVED)
        if self.is_down and not self._answers_when_down(is_for_channels):
            return Redirected(errors.CLUSTER_DOWN)
        if owner.id == self._my_id:
            return None
        endpoint = self.endpoint_of(owner) or ""
        port = self.port_of(owner, session)
        return Redirected(b"MOVED %d %b:%d" % (slot, endpoint.encode(), port))

    def _answers_when_down(self, is_for_channels: bool) -> bool:
        if is_for_channels:
            return self._options.cluster_allow_pubsubshard_when_down
        return self._options.cluster_allow_reads_when_down

    def holds_back(self, session: "Session") -> bool:
        """Whether the request that was judged last waits for its group; it is then run again."""
        if self._wanted < 0:
            return False
        session.waiting = True
        self._held[self._wanted].append(session)
        return True

    def is_held(self, session: "Session") -> bool:
        """Whether a client waits for its group."""
        return any(session in waiting for waiting in self._held.values())

    def forget(self, session: "Session") -> None:
        """The client is gone."""
        self.links.forget(session)
        for waiting in self._held.values():
            if session in waiting:
                waiting.remove(session)

    @property
    def held(self) -> list["Session"]:
        """The clients that wait for their groups."""
        return [session for waiting in self._held.values() for session in waiting]

    def beside(
        self, session: "Session", entry: "Command", requests: Sequence["Request"], first: int
    ) -> list["Request"]:
        """The requests of a pipeline from one on, which is to be served here, that follow at once
        and are about keys of the same database."""
        found = [requests[first]]
        if entry.keys != (1, 1, 1):
            return found
        place, places = session.txn.db.number, self._places
        for request in requests[first + 1 : first + _RUN_MOST]:
            if len(request) < 2 or places[slot_of(request[1])] != place:
                break
            found.append(request)
        return found

    def place_of(self, session: "Session", entry: "Command", request: "Request") -> tuple[int, int]:
        """The slot and the database of a request within a unit of work; raises where it cannot be
        a part of one here. (-1, -1) if it names no keys."""
        slot = _slot_of_request(session, entry, request)
        if slot == _NO_KEYS:
            return slot, _ELSEWHERE
        if slot == _MANY_SLOTS:
            raise CommandError(errors.SCRIPT_ON_OTHER_NODE)
        place = self._places[slot]
        if place >= 0:
            return slot, place
        failure = self.redirection(session, slot)
        if failure is not None:
            is_down = failure.text == errors.CLUSTER_DOWN
            raise CommandError(
                errors.SCRIPT_CLUSTER_DOWN if is_down else errors.SCRIPT_ON_OTHER_NODE
            )
        if self.is_down and entry.is_write:
            raise CommandError(errors.SCRIPT_CLUSTER_READ_ONLY)
        return slot, self.database_of(self.topology.group_of(slot))

    # how nodes are named

    @property
    def endpoint_kind(self) -> str:
        """What clients are to find nodes by, in Redis's words."""
        return self._options.cluster_preferred_endpoint_type

    def endpoint_of(self, node: Node) -> str | None:
        """Where clients are told to go; None if they know it themselves."""
        if self.endpoint_kind == "ip":
            return node.host
        return (node.hostname or "?") if self.endpoint_kind == "hostname" else None

    def port_of(self, node: Node, session: "Session") -> int:
        """The port of a node for a client: for TLS if that is what it speaks."""
        if session.connection.is_secure:
            return node.tls_port or node.port
        return node.port or node.tls_port


def _slot_of_request(session: "Session", entry: "Command", request: "Request") -> int:
    """The one slot of all keys that a request names, or of those of a transaction."""
    keys = entry.keys
    if keys[0] and keys[0] == keys[1] and entry.key_finder is None:
        return slot_of(request[keys[0]])
    if "slot" in entry.traits:
        number = parse_int(request[len(entry.words)])
        return number if number is not None and 0 <= number < SLOTS else _NO_KEYS
    if "final" not in entry.traits:
        return _only_slot(entry.find_keys(request))
    transaction = session.transaction
    if transaction is None:
        return _NO_KEYS
    return _only_slot([key for one, words in transaction.queue for key in one.find_keys(words)])


def _only_slot(names: list[bytes]) -> int:
    if not names:
        return _NO_KEYS
    slot = slot_of(names[0])
    for name in names:
        if name != names[0] and slot_of(name) != slot:
            return _MANY_SLOTS
    return slot
