"""What the libraries `bit`, `struct` and `cmsgpack` compute in the host.

A function of `bit` or `struct` gets its name and arguments as Lua gave them, and returns
(failure, results ...): the failure is None or the text of the error.
"""

import math
import struct
from collections.abc import Callable
from typing import Any, Final

from lupa import lua51

BIT_NAMES: Final = b"arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex"
STRUCT_NAMES: Final = b"pack size unpack"
_MASK: Final = 0xFFFFFFFF
_MAX_INTEGER_SIZE: Final = 32
_NATIVE_ALIGNMENT: Final = 8
_INT_MAX: Final = (1 << 31) - 1
_MANY: Final = 500
"""Options of a format between two pauses."""
_MOST_RESULTS: Final = 7900
"""Values that fit on Lua's stack."""

Pause = Callable[[], None]


class _BadCall(Exception):
    """A call that the library refuses; the text is Lua's."""


def _type_name(values: tuple[Any, ...], index: int) -> str:
    if index >= len(values):
        return "no value"
    value = values[index]
    for kind, name in ((type(None), "nil"), (bool, "boolean"), (bytes, "string")):
        if isinstance(value, kind):
            return name
    return "number" if isinstance(value, int | float) else str(lua51.lua_type(value))


def _number(values: tuple[Any, ...], index: int, name: str) -> float:
    value = values[index] if index < len(values) else None
    if isinstance(value, bytes):
        value = _parsed(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = _type_name(values, index)
        raise _BadCall(f"bad argument #{index + 1} to '{name}' (number expected, got {found})")
    return value


def _parsed(text: bytes) -> float | None:
    try:
        stripped = text.strip()
        return int(stripped, 16) if stripped[:2].lower() == b"0x" else float(stripped)
    except ValueError:
        return None


def _text(values: tuple[Any, ...], index: int, name: str) -> bytes:
    value = values[index] if index < len(values) else None
    if isinstance(value, bytes):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return b"%.14g" % value
    found = _type_name(values, index)
    raise _BadCall(f"bad argument #{index + 1} to '{name}' (string expected, got {found})")


def _answer(work: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    try:
        return (None, *work())
    except _BadCall as failure:
        return (str(failure).encode("latin-1"),)


# bit


def bit_call(name: bytes, *values: Any) -> tuple[Any, ...]:
    """A function of the library `bit`: 32-bit words, shown as signed numbers."""
    return _answer(lambda: (_bit(name.decode(), values),))


def _bit(name: str, values: tuple[Any, ...]) -> Any:
    first = _word(values, 0, name)
    if name == "tohex":
        return _tohex(first, values)
    if name in _FOLDS:
        for index in range(len(values) - 1, 0, -1):
            first = _FOLDS[name](first, _word(values, index, name))
    elif name in _SHIFTS:
        first = _SHIFTS[name](first, _word(values, 1, name) & 31)
    else:
        first = _SINGLES[name](first)
    return _signed(first & _MASK)


def _word(values: tuple[Any, ...], index: int, name: str) -> int:
    number = _number(values, index, name)
    return round(number) & _MASK if math.isfinite(number) else 0


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _tohex(word: int, values: tuple[Any, ...]) -> bytes:
    digits = _signed(_word(values, 1, "tohex")) if len(values) > 1 else 8
    shown = b"%08X" % word if digits < 0 else b"%08x" % word
    count = min(abs(digits), 8)
    return shown[8 - count :]


_FOLDS: Final[dict[str, Callable[[int, int], int]]] = {
    "band": lambda left, right: left & right,
    "bor": lambda left, right: left | right,
    "bxor": lambda left, right: left ^ right,
}
_SHIFTS: Final[dict[str, Callable[[int, int], int]]] = {
    "lshift": lambda word, count: word << count,
    "rshift": lambda word, count: word >> count,
    "arshift": lambda word, count: _signed(word) >> count,
    "rol": lambda word, count: word << count | word >> (32 - count),
    "ror": lambda word, count: word << (32 - count) | word >> count,
}
_SINGLES: Final[dict[str, Callable[[int], int]]] = {
    "tobit": lambda word: word,
    "bnot": lambda word: ~word,
    "bswap": lambda word: int.from_bytes(word.to_bytes(4, "little"), "big"),
}


# struct


class _Format:
    """A cursor over a format: options, with the endianness and alignment in force."""

    _SIZES: Final = {
        **dict.fromkeys("Bbx", 1),
        **dict.fromkeys("Hh", 2),
        **dict.fromkeys("LlTd", 8),
    }

    def __init__(self, text: bytes, name: str, pause: Pause) -> None:
        self._text = text.split(b"\0")[0].decode("latin-1")
        self._pause = pause
        self._options = 0
        self._name = name
        self._at = 0
        self.little = True
        self._alignment = 1

    def __bool__(self) -> bool:
        return self._at < len(self._text)

    def take(self) -> tuple[str, int]:
        """The next option and its size; a size of 0 where the option has none."""
        option = self._text[self._at]
        self._at += 1
        self._options += 1
        if self._options % _MANY == 0:
            self._pause()
        if option == "c":
            return option, self._digits(1)
        if option in "iI":
            size = self._digits(4)
            if size > _MAX_INTEGER_SIZE:
                raise _BadCall(f"integral size {size} is larger than limit of {_MAX_INTEGER_SIZE}")
            return option, size
        return option, self._SIZES.get(option, 0)

    def padding(self, position: int, option: str, size: int) -> int:
        """The bytes up to the place where the element may stand."""
        if size == 0 or option == "c":
            return 0
        size = min(size, self._alignment)
        return (size - (position & (size - 1))) & (size - 1)

    def control(self, option: str) -> None:
        """An option that stands for no element."""
        if option in "<>":
            self.little = option == "<"
        elif option == "!":
            self._alignment = self._digits(_NATIVE_ALIGNMENT)
            if self._alignment <= 0 or self._alignment & (self._alignment - 1):
                raise _BadCall(f"alignment {self._alignment} is not a power of 2")
        elif option != " ":
            raise _BadCall(f"bad argument #1 to '{self._name}' (invalid format option '{option}')")

    def _digits(self, default: int) -> int:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in "0123456789":
            self._at += 1
        number = int(self._text[start : self._at] or default)
        if number > _INT_MAX:
            raise _BadCall("integral size overflow")
        return number


_INTEGERS: Final = "bBhHlLTiI"


def struct_call(pause: Pause, name: bytes, *values: Any) -> tuple[Any, ...]:
    """A function of the library `struct`; `pause` is called now and then, and raises to end it."""
    work = {b"pack": _pack, b"unpack": _unpack, b"size": _size}[name]
    return _answer(lambda: work(values, pause))


def _pack(values: tuple[Any, ...], pause: Pause) -> tuple[Any, ...]:
    form = _Format(_text(values, 0, "pack"), "pack", pause)
    out = bytearray()
    index = 1
    while form:
        option, size = form.take()
        out += bytes(form.padding(len(out), option, size))
        if option == "x":
            out += b"\0"
        elif option in _INTEGERS or option in "fdcs":
            out += _pack_one(form, option, size, values, index)
            index += 1
        else:
            form.control(option)
    return (bytes(out),)


def _pack_one(form: _Format, option: str, size: int, values: tuple[Any, ...], index: int) -> bytes:
    if option in "cs":
        text = _text((*values, None), index, "pack")
        if len(text) < size:
            raise _BadCall(f"bad argument #{index + 2} to 'pack' (string too short)")
        return text[: size or len(text)] + (b"\0" if option == "s" else b"")
    number = _number((*values, None), index, "pack")  # Redis shows a nil for the first missing one
    if option in "fd":
        return struct.pack(_float_format(form, option), _narrowed(number, option))
    word = int(number) & ((1 << 64) - 1) if math.isfinite(number) else 1 << 63
    return (word & ((1 << 8 * size) - 1)).to_bytes(size, "little" if form.little else "big")


def _float_format(form: _Format, option: str) -> str:
    return ("<" if form.little else ">") + option


def _narrowed(number: float, option: str) -> float:
    """Doubles beyond the range of a float become infinite, as in C."""
    if option == "f" and math.isfinite(number) and abs(number) > 3.4028235677973366e38:
        return math.copysign(math.inf, number)
    return number


def _unpack(values: tuple[Any, ...], pause: Pause) -> tuple[Any, ...]:
    form = _Format(_text(values, 0, "unpack"), "unpack", pause)
    data = _text(values, 1, "unpack")
    given = values[2] if len(values) > 2 else None
    position = int(_number(values, 2, "unpack")) if given is not None else 1
    if position <= 0:
        raise _BadCall("bad argument #3 to 'unpack' (offset must be 1 or greater)")
    position -= 1
    found: list[Any] = []
    while form:
        option, size = form.take()
        position += form.padding(position, option, size)
        _check_room(data, position, size)
        position += _unpack_one(form, option, size, data, position, found)
        if len(found) > _MOST_RESULTS:
            raise _BadCall("stack overflow (too many results)")
    return (*found, position + 1)


def _check_room(data: bytes, position: int, size: int) -> None:
    if position + size > len(data):
        raise _BadCall("bad argument #2 to 'unpack' (data string too short)")


def _unpack_one(
    form: _Format, option: str, size: int, data: bytes, position: int, found: list[Any]
) -> int:
    """Add the element at that place; returns how many bytes it takes."""
    piece = data[position : position + size]
    if option in _INTEGERS:
        found.append(_integer(piece, form.little, option.islower()))
    elif option in "fd":
        found.append(struct.unpack(_float_format(form, option), piece)[0])
    elif option == "c":
        if size == 0:
            if not found or isinstance(found[-1], bytes):
                raise _BadCall("format 'c0' needs a previous size")
            size = max(int(found.pop()), 0)
            _check_room(data, position, size)
        found.append(data[position : position + size])
    elif option == "s":
        end = data.find(b"\0", position)
        if end < 0:
            raise _BadCall("unfinished string in data")
        found.append(data[position:end])
        return end - position + 1
    elif option != "x":
        form.control(option)
    return size


def _integer(piece: bytes, little: bool, signed: bool) -> float:
    """As C's long has it: bytes beyond the eighth are cut off."""
    if little:
        piece = piece[:8]
    else:
        piece = piece[-8:]
    return int.from_bytes(piece, "little" if little else "big", signed=signed) + 0.0


def _size(values: tuple[Any, ...], pause: Pause) -> tuple[Any, ...]:
    form = _Format(_text(values, 0, "size"), "size", pause)
    position = 0
    while form:
        option, size = form.take()
        position += form.padding(position, option, size)
        if option == "s" or (option == "c" and size == 0):
            shown = "c0" if option == "c" else option
            raise _BadCall(f"bad argument #1 to 'size' (option '{shown}' has no fixed size)")
        if not option.isalnum():
            form.control(option)
        position += size
    return (position,)


# cmsgpack


def pack_float(number: float) -> bytes:
    """A MessagePack float: four bytes where they are exact."""
    try:
        short = struct.pack(">f", number)
    except OverflowError:
        short = b""
    if short and struct.unpack(">f", short)[0] == number:
        return b"\xca" + short
    return b"\xcb" + struct.pack(">d", number)


def unpack_float(raw: bytes) -> float:
    """The number of a MessagePack float without its first byte."""
    number: float = struct.unpack(">f" if len(raw) == 4 else ">d", raw)[0]
    return number
