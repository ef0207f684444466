"""A cursor over a command's arguments, and the number forms that Redis accepts in them."""

from collections.abc import Sequence

from stratakv import errors
from stratakv.encodings.layout.numbers import parse_float, parse_int
from stratakv.errors import CommandError

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)


def integer(text: bytes, message: bytes = errors.NOT_INTEGER) -> int:
    """A signed 64-bit integer, or the error."""
    number = parse_int(text)
    if number is None:
        raise CommandError(message)
    return number


def ranged(text: bytes, low: int, high: int, message: bytes) -> int:
    """An integer within [low, high]; the message is for anything else."""
    number = parse_int(text)
    if number is None or not low <= number <= high:
        raise CommandError(message)
    return number


def real(text: bytes, message: bytes = errors.NOT_FLOAT) -> float:
    """A double, infinities included, or the error."""
    number = parse_float(text)
    if number is None:
        raise CommandError(message)
    return number


class Args:
    """What is left of the arguments; options are taken from the front."""

    __slots__ = ("_at", "_items")

    def __init__(self, items: Sequence[bytes]) -> None:
        self._items = items
        self._at = 0

    def __len__(self) -> int:
        return len(self._items) - self._at

    def __bool__(self) -> bool:
        return self._at < len(self._items)

    def peek(self) -> bytes:
        """The next argument in upper case, or nothing at the end."""
        return self._items[self._at].upper() if self else b""

    def take(self) -> bytes:
        """The next argument; a syntax error where there is none."""
        if not self:
            raise errors.syntax()
        item = self._items[self._at]
        self._at += 1
        return item

    def option(self) -> bytes:
        """The next argument in upper case."""
        return self.take().upper()

    def accept(self, *words: bytes) -> bytes:
        """Take the next argument if it is one of the words, in any case; else b""."""
        word = self.peek()
        if word in words:
            self._at += 1
            return word
        return b""

    def integer(self, message: bytes = errors.NOT_INTEGER) -> int:
        """Take an integer."""
        return integer(self.take(), message)

    def real(self, message: bytes = errors.NOT_FLOAT) -> float:
        """Take a double."""
        return real(self.take(), message)

    def rest(self) -> Sequence[bytes]:
        """Take all that is left."""
        rest = self._items[self._at :]
        self._at = len(self._items)
        return rest

    def finish(self) -> None:
        """Refuse left-overs."""
        if self:
            raise errors.syntax()
