"""Which keys a database may have: a filter that knows most keys that were never there.

To look for a key that is not there costs LevelDB 3 to 8 us, most of it the way through its
memtable; a new key is looked for before it is made. Here that is a few bits (a Bloom filter), taken
from the h8 that stands in the row of the key's meta.

It says no only if it has seen no such key. So it is there for databases of which all keys were made
while it was there: those that were empty when this process began or emptied them. What is deleted
stays in it, which costs no more than looking. It grows by layers, each four times as large as the
one before, up to a bound; then there is none.
"""

import struct
from typing import Final

FIRST_KEYS: Final = 1 << 16
"""Keys of the first layer."""
GROWTH: Final = 4
LAYERS: Final = 5
"""22 million keys in 44 MB; a database of more has no filter."""
BITS: Final = 16
"""For each key: with four of them set, one of some 400 new keys is looked for in vain."""
_PLACES: Final = struct.Struct(">II")


class Layer:
    """Bits for so many keys."""

    __slots__ = ("bits", "mask", "room")

    def __init__(self, keys: int) -> None:
        self.bits = bytearray(keys * BITS // 8)
        self.mask = keys * BITS - 1
        self.room = keys

    def add(self, first: int, step: int) -> None:
        """Set the bits of a key."""
        bits, mask = self.bits, self.mask
        for number in range(4):
            place = (first + number * step) & mask
            bits[place >> 3] |= 1 << (place & 7)
        self.room -= 1

    def may_have(self, first: int, step: int) -> bool:
        """Whether all bits of a key are set."""
        bits, mask = self.bits, self.mask
        for number in range(4):
            place = (first + number * step) & mask
            if not bits[place >> 3] & (1 << (place & 7)):
                return False
        return True


class KeyFilter:
    """The keys of one namespace, by the rows of their metas."""

    __slots__ = ("_at", "_layers", "is_full")

    def __init__(self, ns_length: int) -> None:
        self._at = ns_length + 2
        self._layers: list[Layer] = []
        """The latest, which is the largest, first."""
        self.is_full = False
        """It knows nothing any more."""

    def add(self, row: bytes) -> None:
        """A key is made."""
        if self.is_full:
            return
        if not self._layers or self._layers[0].room <= 0:
            if len(self._layers) >= LAYERS:
                self.is_full = True
                self._layers.clear()
                return
            size = FIRST_KEYS * GROWTH ** len(self._layers)
            self._layers.insert(0, Layer(size))
        first: int
        step: int
        first, step = _PLACES.unpack_from(row, self._at)
        self._layers[0].add(first, step | 1)

    def may_have(self, row: bytes) -> bool:
        """Whether there may be such a key; if not, there never was one."""
        if self.is_full:
            return True
        first: int
        step: int
        first, step = _PLACES.unpack_from(row, self._at)
        step |= 1
        return any(layer.may_have(first, step) for layer in self._layers)

    @property
    def size_bytes(self) -> int:
        """The memory it takes."""
        return sum([len(layer.bits) for layer in self._layers])
