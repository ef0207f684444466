"""Replies: the values that handlers return, and what they are in RESP2 and RESP3.

The kind is explicit, never guessed from content:

    value       RESP2                   RESP3
    None        $-1                     _
    NULL_ARRAY  *-1                     _
    bytes       bulk string             bulk string
    bytearray   bulk string             bulk string
    Pieces      bulk string             bulk string, read while it is sent
    Status      +status                 +status
    int         :integer                :integer
    float       bulk string             ,double
    Digits      bulk string             ,double
    list        array                   array
    dict        flat array              %map
    Pairs       flat array              array of pairs
    Keyed       array of pairs          %map
    Members     array                   ~set
    Text        bulk string             =verbatim
    BigNumber   bulk string             (number
    Boolean     :1 or :0                #t or #f
    Push        array                   >push
    Attribute   nothing                 |attribute, of the reply that follows
    Several     its elements, one after another: a command with more than one reply
    Stream      any of the above, from an iterator, so that a long reply need not be in memory
    CommandError, in place of an element or of the whole reply: -error
"""

from collections.abc import Iterable
from typing import Any, Final

from stratakv.encodings.types.strings.pieces import Pieces


class Status(bytes):
    """A simple string."""

    __slots__ = ()


class Text(bytes):
    """Text for people, which RESP3 clients get as a verbatim string."""

    __slots__ = ()


class Digits(bytes):
    """A double whose digits the command has chosen."""

    __slots__ = ()


class BigNumber(bytes):
    """Digits of any length, which RESP3 clients get as a number."""

    __slots__ = ()


class Members(list[Any]):
    """The elements of a set, without order."""

    __slots__ = ()


class Pairs(list[tuple[Any, Any]]):
    """Pairs that RESP2 lists flat and RESP3 nests."""

    __slots__ = ()


class Keyed(list[tuple[Any, Any]]):
    """Pairs that RESP2 nests and RESP3 shows as a map, in which a name may come twice."""

    __slots__ = ()


class Push(list[Any]):
    """An out-of-band message."""

    __slots__ = ()


class Attribute(dict[Any, Any]):
    """Facts about the reply that follows."""

    __slots__ = ()


class Several(list[Any]):
    """More than one reply to a command."""

    __slots__ = ()


class Boolean:
    """A truth value that RESP2 shows as an integer."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


class NullArray:
    """The null that RESP2 writes as an array."""

    __slots__ = ()


class Stream:
    """A reply of `length` elements that an iterator gives one by one.

    `kind` is one of list, Members, Pairs and dict; for the last two the iterator gives pairs and
    `length` counts pairs.
    """

    __slots__ = ("items", "kind", "length")

    def __init__(self, kind: type, length: int, items: Iterable[Any]) -> None:
        self.kind = kind
        self.length = length
        self.items = items


def made(value: "Reply") -> "Reply":
    """The same reply, with nothing in it that is yet to be made."""
    if type(value) is Stream:
        items = [made(one) if type(one) is Pieces else one for one in value.items]
        return Stream(value.kind, value.length, items)
    if type(value) is Keyed:
        return Keyed([(name, made(one)) for name, one in value])
    if type(value) is Pieces and not value.is_frozen:
        return bytes(value)
    return value


class NoReply:
    """The command answers by other means, or not at all."""

    __slots__ = ()


OK: Final = Status(b"OK")
PONG: Final = Status(b"PONG")
QUEUED: Final = Status(b"QUEUED")
NULL_ARRAY: Final = NullArray()
NO_REPLY: Final = NoReply()

Reply = Any
