"""A Redis Cluster as one cache: a link to each master, each request to the one that has its slot.

The cluster is in use while every slot has a master and every master can be reached.

Questions follow redirections. The slots are asked for again whenever a node comes, goes or
redirects. A slot that moved is a doubt, like a lost connection: a change may still be on its way to
the master that had it, while a question already goes to the new one. So then everything under way
is bypassed and `on_loss` is called. A change that was redirected was not made: it is lost.

A store (`on_loss` is None) has no doubts: whoever writes to it waits for the confirmation, and what
was redirected was not done. There everything follows, until the time is up.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from stratakv.slots import SLOTS, slot_of
from stratakv.storage.cache.address import Address
from stratakv.storage.cache.contract import BYPASS, Then, Traffic
from stratakv.storage.cache.link import Link
from stratakv.storage.cache.slots import (
    Part,
    Redirection,
    Words,
    ranges_of,
    redirection,
    split,
)

LOOK_AGAIN_SECONDS: Final = 0.2
TRY_AGAIN_SECONDS: Final = 0.01

NodeAddress = tuple[str, int]


class Cluster:
    """Keeps itself connected to all masters until it is closed."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: Address,
        *,
        timeout_seconds: float = 0.05,
        on_loss: Callable[[], None] | None = None,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        self.address = address
        self._timeout_seconds = timeout_seconds
        self.traffic = Traffic()
        self._on_loss = on_loss
        self._on_ready = on_ready
        self._links: dict[NodeAddress, Link] = {}
        self._owners: list[Link | None] = [None] * SLOTS
        self._epoch = 0
        """Rises with each doubt: what was asked before is bypassed."""
        self._looking = False
        self._closed = False
        self.ready = False

    # the nodes

    def start(self) -> None:
        """Connect to the node that is configured; it knows the others."""
        self._link_to((self.address.host, self.address.port))
        self._look_again()

    def nodes(self) -> Iterator[Link]:
        """The links in use."""
        return iter(self._links.values())

    def _link_to(self, place: NodeAddress) -> Link:
        link = self._links.get(place)
        if link is None:
            link = Link(
                self._loop,
                replace(self.address, host=place[0], port=place[1], path=""),
                timeout_seconds=self._timeout_seconds,
                on_loss=lambda: self._node_lost(place),
                on_ready=lambda: self._learn_from(place),
                traffic=self.traffic,
            )
            self._links[place] = link
            link.start()
        return link

    def _node_lost(self, place: NodeAddress) -> None:
        if place in self._links:
            self.ready = False
            self._doubt()
            self._look_again()

    def _look_again(self) -> None:
        """Ask for the slots soon, and again until all is well."""
        if not self._looking and not self._closed:
            self._looking = True
            self._loop.call_later(LOOK_AGAIN_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = False
        if self._closed:
            return
        place = next((place for place, link in self._links.items() if link.ready), None)
        if place is None:
            self._link_to((self.address.host, self.address.port))
        else:
            self._learn_from(place)
        if not self.ready:
            self._look_again()

    def _learn_from(self, place: NodeAddress) -> None:
        link = self._links.get(place)
        if link is not None:
            link.ask((b"CLUSTER", b"SLOTS"), partial(self._learn, place[0]))

    def _learn(self, host: str, reply: Any) -> None:
        """Take over what a node says about the slots."""
        try:
            ranges = ranges_of(reply)
        except ValueError:
            self._look_again()
            return
        owners: list[Link | None] = [None] * SLOTS
        for first, last, its_host, port in ranges:
            owners[first : last + 1] = [self._link_to((its_host or host, port))] * (
                last - first + 1
            )
        if owners != self._owners:
            self._owners = owners
            self._doubt()
        self._retire(owners)
        self._review()

    def _retire(self, owners: list[Link | None]) -> None:
        """Let those go that have no slots, when what they were asked is answered."""
        used = set(map(id, owners))
        for place, link in list(self._links.items()):
            if id(link) not in used:
                del self._links[place]
                self._loop.call_later(2 * self._timeout_seconds, link.close)

    def _review(self) -> None:
        ready = all(link is not None and link.ready for link in set(self._owners))
        if ready and not self.ready:
            self.ready = True
            self._on_ready()
        self.ready = ready
        if not ready:
            self._look_again()

    def _doubt(self) -> None:
        if self._on_loss is not None:
            self._epoch += 1
            self._on_loss()

    # what the contract wants

    @property
    def state(self) -> str:
        """The state of the circuit breaker."""
        if self.ready:
            return "closed"
        return "half-open" if any(link.ready for link in self._links.values()) else "open"

    @property
    def reason(self) -> str:
        """Why it is not ready."""
        if self.ready:
            return ""
        reasons = [f"{link.address}: {link.reason}" for link in self.nodes() if not link.ready]
        return reasons[0] if reasons else "not every slot has a master"

    @property
    def timeout_seconds(self) -> float:
        """When a node that does not answer is given up."""
        return self._timeout_seconds

    @timeout_seconds.setter
    def timeout_seconds(self, seconds: float) -> None:
        self._timeout_seconds = seconds
        for link in self.nodes():
            link.timeout_seconds = seconds

    def ask(self, words: Words, then: Then) -> None:
        """Send a request; see the contract."""
        if not self.ready:
            then(BYPASS)
            return
        parts = split(words)
        if len(parts) == 1:
            self._ask_part(parts[0].slot, [words], then)
            return
        gathered = _Gathered(len(words) - 1, len(parts), then)
        for part in parts:
            self._ask_part(part.slot, [part.words], partial(gathered.collect, part))

    def transact(self, requests: Sequence[Words], then: Then) -> None:
        """Send changes that are done together, at least those of one slot."""
        if not self.ready:
            then(BYPASS)
            return
        by_slot: dict[int, list[Words]] = {}
        for words in requests:
            for part in split(words):
                by_slot.setdefault(part.slot, []).append(part.words)
        gathered = _Gathered(0, len(by_slot), then)
        for slot, group in by_slot.items():
            self._ask_part(slot, group, partial(gathered.collect, None))

    def tell(self, words: Words, then: Then | None = None) -> None:
        """Send a change; one that cannot be sent, or is refused, counts as lost."""
        if not self.ready:
            self._doubt()
            if then is not None:
                then(BYPASS)
            return
        for part in split(words):
            link = self._owners[part.slot]
            assert link is not None, "see _review"
            link.tell(part.words, partial(self._told, then))

    def _told(self, then: Then | None, reply: Any) -> None:
        moved = redirection(reply)
        if moved is not None:
            self._learn_move(moved)
        if then is not None:
            then(reply)
        elif isinstance(reply, Exception):
            self._doubt()

    def together(self, one: bytes, other: bytes) -> bool:
        """Whether a script may use both names."""
        return slot_of(one) == slot_of(other)

    def close(self) -> None:
        """Answer what is open with `BYPASS`, and go away."""
        self._closed = True
        self.ready = False
        links, self._links = self._links, {}
        for link in links.values():
            link.close()

    # questions

    def _ask_part(self, slot: int, requests: list[Words], then: Then) -> None:
        _Question(self, slot, requests, then, self._epoch, self._loop.time()).send()

    def _learn_move(self, moved: Redirection) -> None:
        """A slot has another master for good; ASK is about single names, and says nothing."""
        if moved.kind == "MOVED" and moved.host:
            self._owners[moved.slot] = self._link_to((moved.host, moved.port))
        if moved.kind != "ASK":
            self._look_again()
        if moved.kind == "MOVED":
            self._doubt()


class _Question:
    """A request, or a transaction, on its way to the node that answers it."""

    __slots__ = ("_asked", "_cluster", "_epoch", "_requests", "_slot", "_then")

    def __init__(
        self,
        cluster: Cluster,
        slot: int,
        requests: list[Words],
        then: Then,
        epoch: int,
        asked: float,
    ) -> None:
        self._cluster = cluster
        self._slot = slot
        self._requests = requests
        self._then = then
        self._epoch = epoch
        self._asked = asked

    def send(self) -> None:
        """To the master of the slot."""
        link = self._cluster._owners[self._slot]
        if link is None or not link.ready:
            self._later()
        elif len(self._requests) == 1:
            link.ask(self._requests[0], self._answered)
        else:
            link.transact(self._requests, self._answered)

    def _answered(self, reply: Any) -> None:
        cluster = self._cluster
        if self._epoch != cluster._epoch:
            self._then(BYPASS)
            return
        moved = redirection(reply)
        if moved is None:
            self._then(reply)
            return
        cluster._learn_move(moved)
        if self._epoch != cluster._epoch:
            self._then(BYPASS)
        elif moved.kind != "ASK" or not self._ask_there((moved.host, moved.port)):
            self._later(0.0 if moved.kind == "MOVED" else TRY_AGAIN_SECONDS)

    def _ask_there(self, place: NodeAddress) -> bool:
        """Ask the node that a slot is moving to. A transaction has to wait until it is there."""
        link = self._cluster._link_to(place)
        if len(self._requests) > 1 or not link.ready:
            return False
        link.ask((b"ASKING",), _ignore)
        link.ask(self._requests[0], self._answered)
        return True

    def _later(self, seconds: float = TRY_AGAIN_SECONDS) -> None:
        """Once more, unless the time is up."""
        cluster = self._cluster
        loop = cluster._loop
        if cluster._closed or loop.time() - self._asked > cluster.timeout_seconds:
            self._then(BYPASS)
        else:
            loop.call_later(seconds, self.send)


class _Gathered:
    """One reply out of the replies of several slots."""

    __slots__ = ("_left", "_spoilt", "_then", "_values")

    def __init__(self, names: int, parts: int, then: Then) -> None:
        self._values: list[Any] = [None] * names
        self._left = parts
        self._then = then
        self._spoilt: Any = None

    def collect(self, part: Part | None, reply: Any) -> None:
        """One slot has answered. The first that failed speaks for all."""
        if reply is BYPASS or isinstance(reply, Exception):
            self._spoilt = self._spoilt or reply
        elif part is not None and isinstance(reply, list):
            for at, value in zip(part.places, reply, strict=True):
                self._values[at] = value
        self._left -= 1
        if not self._left:
            self._then(self._spoilt or self._values)


def _ignore(reply: Any) -> None:
    """What comes behind it tells."""
