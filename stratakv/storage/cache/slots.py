"""Slots of a Redis Cluster: where names belong, and what nodes say about it."""

from typing import Any, Final, NamedTuple

import hiredis

from stratakv.slots import slot_of
from stratakv.storage.cache.contract import Word

Words = tuple[Word, ...]

_OVER_NAMES: Final = (b"MGET", b"UNLINK")
"""Commands of ours that take any number of names and nothing else."""


class Part(NamedTuple):
    """What goes to one slot, and which of the names it has."""

    slot: int
    words: Words
    places: list[int]


def split(words: Words) -> list[Part]:
    """A request by slots. Requires: it has a name, as all of ours have."""
    if words[0] not in _OVER_NAMES:
        name = words[3 if words[0] == b"EVAL" else 1]
        return [Part(slot_of(_as_name(name)), words, [0])]
    places: dict[int, list[int]] = {}
    for at, name in enumerate(words[1:]):
        places.setdefault(slot_of(_as_name(name)), []).append(at)
    if len(places) == 1:
        slot, found = places.popitem()
        return [Part(slot, words, found)]
    return [
        Part(slot, (words[0], *(words[1 + at] for at in found)), found)
        for slot, found in places.items()
    ]


def _as_name(word: Word) -> bytes:
    assert isinstance(word, bytes), "a name"
    return word


class Redirection(NamedTuple):
    """An error reply of a node that a request is no concern of, or not now."""

    kind: str
    slot: int = 0
    host: str = ""
    port: int = 0


def redirection(reply: Any) -> Redirection | None:
    """What an error reply says about slots; None if it is about something else."""
    if not isinstance(reply, hiredis.HiredisError):
        return None
    kind, *rest = str(reply).split()
    if kind in ("MOVED", "ASK") and len(rest) >= 2:
        host, _, port = rest[1].rpartition(":")
        return Redirection(kind, int(rest[0]), host, int(port))
    return Redirection(kind) if kind in ("TRYAGAIN", "CLUSTERDOWN") else None


class SlotRange(NamedTuple):
    """Slots, both ends included, and the master that has them."""

    first: int
    last: int
    host: str
    port: int


def ranges_of(reply: Any) -> list[SlotRange]:
    """The masters out of a reply to CLUSTER SLOTS; raises ValueError if it is none.

    The host is empty where the node that answered does not know its own.
    """
    try:
        return [
            SlotRange(first, last, (master[0] or b"").decode(), master[1])
            for first, last, master, *_ in reply
        ]
    except (TypeError, AttributeError, IndexError):
        raise ValueError(str(reply)) from None
