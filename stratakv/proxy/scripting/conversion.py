"""Replies as Lua values and back, as Redis converts them.

A command's reply becomes what `sandbox.lua` turns into a Lua value: a value, or a tuple whose
second item says how to read it. A script's result comes as letters and flat values:

    letter  value in Lua                    reply
    s       string                          bulk string
    n       number                          integer, cut off
    b       boolean                         1 or null; with setresp(3) a boolean
    x       nil, function, userdata         null
    e, o    {err=...}, {ok=...}             error, status
    E       {err=...} of a command          the same, counted already
    d, g    {double=...}, {big_number=...}  double, big number
    v       {verbatim_string={...}}         verbatim string: format and text
    m, t    {map={...}}, {set={...}}        map, set: the number of entries, then they follow
    a       any other table                 array: the number of items up to the first nil
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from stratakv.encodings.layout.numbers import format_float
from stratakv.encodings.types.strings.pieces import Pieces
from stratakv.errors import CommandError
from stratakv.proxy.wire.replies import (
    BigNumber,
    Boolean,
    Digits,
    Keyed,
    Members,
    NullArray,
    Pairs,
    Several,
    Status,
    Stream,
    Text,
)

FAILED: Final = 1
ABORTED: Final = 2
ARRAY: Final = 3
STATUS: Final = 4
NOT_CALLED: Final = 5
"""How `sandbox.lua` reads what a command returned; the first item is the value."""

_STRINGS: Final = frozenset({bytes, bytearray, Pieces})
SHORT: Final = 4000
"""Items that fit on Lua's stack at once."""
ITEM_BYTES: Final = 64
"""What a value takes in Lua besides its bytes, at most."""

MANY: Final = 1000
"""Values between two pauses."""

MakeTable = Callable[[Any], Any]
Pause = Callable[[], None]


class NotCalled(CommandError):
    """redis.call had no arguments that could be a command's: nobody has counted that error."""


class TooMuch(Exception):
    """The value does not fit into what is left of the script's memory."""


class ReplyReader:
    """Makes Lua values of replies, for RESP2 or RESP3, within a number of bytes."""

    def __init__(self, make_table: MakeTable, resp3: bool, room: int, pause: Pause) -> None:
        self._make_table = make_table
        self._resp3 = resp3
        self._room = room
        self._pause = pause
        self._values = 0

    def read(self, value: Any) -> Any:
        """What `host.call` returns to Lua for a reply."""
        if isinstance(value, Several):
            value = value[-1]  # what comes before it is about it
        if isinstance(value, Status):
            return bytes(value), STATUS
        if isinstance(value, CommandError):
            return error_text(value), NOT_CALLED if isinstance(value, NotCalled) else FAILED
        items = self._items(value)
        if items is None or len(items) > SHORT:
            return self._value(value if items is None else items)
        return (None, ARRAY, *[self._value(item) for item in items])

    def _items(self, value: Any) -> list[Any] | None:
        """The elements of whatever is a plain array in this protocol."""
        kind = type(value)
        if kind is list or kind is tuple:
            return list(value)
        if kind is Stream:
            kind, value = value.kind, list(value.items)
            if kind is list:
                return list(value)
        if kind is (Pairs if self._resp3 else Keyed):
            return [list(pair) for pair in value]
        if self._resp3 or kind not in (Pairs, Members, dict):
            return None
        if kind is Members:
            return list(value)
        pairs = value.items() if isinstance(value, dict) else value
        return [item for pair in pairs for item in pair]

    def _value(self, value: Any) -> Any:
        kind = type(value)
        self._spend(len(value) if kind in _STRINGS else 0)
        if kind is bytes or kind is int:
            return value
        if value is None or kind is NullArray:
            return None if self._resp3 else False
        items = self._items(value)
        if items is not None:
            return self._make_table([self._value(item) for item in items])
        return self._special(value)

    def _special(self, value: Any) -> Any:
        table = self._make_table
        if isinstance(value, CommandError):
            return table({b"err": error_text(value)})
        if isinstance(value, Status):
            return table({b"ok": bytes(value)})
        if isinstance(value, bool):  # of handlers that count what changed
            return int(value)
        if isinstance(value, Digits) and self._resp3:
            return table({b"double": float(value)})
        if isinstance(value, BigNumber) and self._resp3:
            return table({b"big_number": bytes(value)})
        if isinstance(value, float):
            return table({b"double": value}) if self._resp3 else format_float(value)
        if isinstance(value, Boolean):
            return value.value if self._resp3 else int(value.value)
        if isinstance(value, Text) and self._resp3:
            text = table({b"format": b"txt", b"string": bytes(value)})
            return table({b"verbatim_string": text})
        if self._resp3 and isinstance(value, dict | Members | Stream | Keyed):
            return self._collection(value)
        return bytes(value)

    def _collection(self, value: Any) -> Any:
        if isinstance(value, Stream):
            value = dict(value.items) if value.kind is dict else Members(value.items)
        if isinstance(value, Keyed):
            value = dict(value)
        if isinstance(value, Members):
            found = {self._value(item): True for item in value}
            return self._make_table({b"set": self._make_table(found)})
        pairs = {self._value(key): self._value(item) for key, item in value.items()}
        return self._make_table({b"map": self._make_table(pairs)})

    def _spend(self, size: int) -> None:
        self._room -= size + ITEM_BYTES
        if self._room < 0:
            raise TooMuch
        self._values += 1
        if self._values % MANY == 0:
            self._pause()


def error_text(failure: CommandError) -> bytes:
    """The text of a script's `err` field for a command's error."""
    return failure.text.replace(b"\r", b" ").replace(b"\n", b" ")


def argument(value: Any) -> bytes | None:
    """A command's argument out of a Lua value; None for what is no argument."""
    if type(value) is bytes:
        return value
    if type(value) is int:
        return b"%d" % value if -(10**17) < value < 10**17 else b"%.17g" % value
    return b"%.17g" % value if type(value) is float else None


class ResultReader:
    """Makes a reply of a script's result."""

    def __init__(self, letters: bytes, values: Iterator[Any], resp3: bool, pause: Pause) -> None:
        self._letters = iter(letters.decode("latin-1"))
        self._values = values
        self._resp3 = resp3
        self._pause = pause
        self.failures: list[CommandError] = []
        """The errors within the result that are to be counted."""

    def read(self) -> Any:
        """The next value with all that belongs to it."""
        letter = next(self._letters)
        if letter == "x":
            return None
        value = next(self._values)
        if letter == "s":
            return value
        if letter == "a":
            return self._array(value)
        return self._special(letter, value)

    def _array(self, length: int) -> Any:
        if length <= MANY:
            return [self.read() for _ in range(length)]
        items = []
        for index in range(length):
            items.append(self.read())
            if index % MANY == 0:
                self._pause()
        return Stream(list, length, items)

    def _special(self, letter: str, value: Any) -> Any:
        if letter in "nb":
            return scalar(value, self._resp3)
        if letter == "m":
            return Stream(dict, value, [(self.read(), self.read()) for _ in range(value)])
        if letter == "t":
            return Stream(Members, value, [self.read() for _ in range(value)])
        if letter == "d":
            return float(value)
        if letter == "v":
            return Text(next(self._values))
        line = value.replace(b"\r", b" ").replace(b"\n", b" ")
        if letter == "e":
            self.failures.append(CommandError(line))
        return {"e": CommandError, "E": CommandError, "o": Status, "g": BigNumber}[letter](line)


def scalar(value: Any, resp3: bool) -> Any:
    """The reply of a result that is no table."""
    kind = type(value)
    if kind is bytes:
        return value
    if kind is bool:
        if resp3:
            return Boolean(value)
        return 1 if value else None
    return _cut_off(value) if kind is int or kind is float else None


def _cut_off(number: float) -> int:
    """C's conversion to a 64-bit integer; what does not fit is the smallest one."""
    if not math.isfinite(number) or not -(2.0**63) <= number < 2.0**63:
        return -(1 << 63)
    return int(number)
