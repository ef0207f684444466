"""Hash slots, as a Redis Cluster counts them: what every layer knows of where a key belongs."""

from binascii import crc_hqx
from typing import Final

SLOTS: Final = 16384


def slot_of(name: bytes) -> int:
    """The slot of a name: that of the part in its first braces, unless there is nothing in them."""
    start = name.find(b"{") + 1
    if start:
        end = name.find(b"}", start)
        if end > start:
            name = name[start:end]
    return crc_hqx(name, 0) % SLOTS


def group_of(slot: int, groups: int) -> int:
    """The group of a slot among so many: each has its slots in one piece, all about as many."""
    return slot * groups // SLOTS


def slots_of(group: int, groups: int) -> range:
    """The slots of a group."""
    return range(-(-group * SLOTS // groups), -(-(group + 1) * SLOTS // groups))
