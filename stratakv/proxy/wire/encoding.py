"""The bytes of replies in RESP2 and RESP3; replies.py has the values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from stratakv.encodings.layout.numbers import format_float
from stratakv.encodings.types.strings.pieces import Pieces
from stratakv.errors import CommandError
from stratakv.proxy.wire.replies import (
    Attribute,
    BigNumber,
    Boolean,
    Digits,
    Keyed,
    Members,
    NoReply,
    NullArray,
    Pairs,
    Push,
    Reply,
    Several,
    Status,
    Stream,
    Text,
)

CRLF: Final = b"\r\n"
CHUNK: Final = 64 * 1024
"""Long replies leave in pieces of about this size."""
LONG_STRING: Final = 16 * CHUNK
LONG_ARRAY: Final = 1000
"""Replies with more bytes or elements are not encoded at one go."""

Encoder = Callable[[list[bytes], Any], None]
PlainArray = Callable[[Sequence[Any], type[bytes]], bytes | None]


INTEGERS: Final = tuple(b":%d\r\n" % number for number in range(1024))
BULK_HEADS: Final = tuple(b"$%d\r\n" % length for length in range(1024))
_ONLY_BYTES: Final = {bytes}
_STRINGS: Final = frozenset({bytes, bytearray})
ARRAY_HEADS: Final = tuple(b"*%d\r\n" % length for length in range(1024))


def bulk(value: bytes | bytearray) -> bytes:
    """A bulk string in one piece."""
    size = len(value)
    if size < 1024:
        return BULK_HEADS[size] + value + CRLF
    return b"$%d\r\n" % size + value + CRLF


def _array_head(size: int) -> bytes:
    return ARRAY_HEADS[size] if size < 1024 else b"*%d\r\n" % size


def _is_long_string(value: "Reply") -> bool:
    kind = type(value)
    return kind is Pieces or (kind in _STRINGS and len(value) > LONG_STRING)


def _is_long(value: "Reply") -> bool:
    """Whether an element is so long that it is encoded in pieces itself."""
    kind = type(value)
    if kind is list:
        return len(value) > LONG_ARRAY
    return kind is Stream or _is_long_string(value)


def _bulk_chunks(value: bytes | bytearray | Pieces) -> Iterator[bytes]:
    """A bulk string in pieces."""
    size = len(value)
    yield b"$%d\r\n" % size
    if isinstance(value, Pieces):
        yield from value.chunks(0, size)
    else:
        for at in range(0, size, CHUNK):
            yield bytes(value[at : at + CHUNK])
    yield CRLF


def error(text: bytes) -> bytes:
    """An error line; the code is put in front where the text has none."""
    return b"-" + text.replace(b"\r", b" ").replace(b"\n", b" ") + CRLF


def _plain_array(items: Sequence[Any], also: type[bytes]) -> bytes | None:
    """What `array` of _pack.c does, of more than a few items and of bytes alone; a hundred of one
    length in 7 us, one by one in 25."""
    size = len(items)
    if size <= 8 or set(map(type, items)) != _ONLY_BYTES:
        return None
    lengths = set(map(len, items))
    if len(lengths) == 1:
        head = b"$%d\r\n" % lengths.pop()
        return _array_head(size) + head + (CRLF + head).join(items) + CRLF
    bulks = [b"$%d\r\n%b\r\n" % (len(item), item) for item in items]
    return _array_head(size) + b"".join(bulks)


def _find_array() -> PlainArray:
    """How arrays of bulk strings are made in one piece: in C, if that was compiled."""
    try:
        from stratakv.proxy.wire import _pack
    except ImportError:
        return _plain_array
    return _pack.array


ARRAY: Final = _find_array()


def _bulk(out: list[bytes], value: bytes | bytearray) -> None:
    out.append(bulk(value))


def _integer(out: list[bytes], value: int) -> None:
    out.append(INTEGERS[value] if 0 <= value < 1024 else b":%d\r\n" % value)


def _status(out: list[bytes], value: bytes) -> None:
    out.append(b"+" + value + CRLF)


def _error(out: list[bytes], value: CommandError) -> None:
    out.append(error(value.text))


def _nothing(out: list[bytes], value: object) -> None:
    """NO_REPLY."""


class Encoding:
    """One protocol version: a table from a value's type to its bytes."""

    __slots__ = ("_also", "_encoders", "null", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self._also: type[bytes] = bytes if version == 3 else Digits
        """Besides bytes, what is a bulk string too, and often stands in arrays."""
        self.null = b"_\r\n" if version == 3 else b"$-1\r\n"
        self._encoders: dict[type, Encoder] = {
            bytes: _bulk,
            int: _integer,
            bool: _integer,
            Status: _status,
            CommandError: _error,
            NoReply: _nothing,
            list: self._array,
            tuple: self._array,
            type(None): self._null,
            Stream: self._stream,
            Several: self._each,
            Pieces: lambda out, value: out.extend(_bulk_chunks(value)),
            **(self._resp3() if version == 3 else self._resp2()),
        }

    def append(self, out: list[bytes], value: Reply) -> None:
        """Append the bytes of a reply to `out`."""
        encoder = self._encoders.get(type(value))
        if encoder is None:
            encoder = _error if isinstance(value, CommandError) else _bulk
        encoder(out, value)

    def encode(self, value: Reply) -> bytes:
        """The bytes of a reply, in one piece."""
        out: list[bytes] = []
        self.append(out, value)
        return b"".join(out)

    def chunks(self, value: Reply) -> Iterator[bytes]:
        """The bytes of a reply in pieces of about `CHUNK`, made as they are asked for."""
        if type(value) is Keyed:
            yield from self._keyed_chunks(value)
        elif _is_long_string(value):
            yield from _bulk_chunks(value)
        elif type(value) is Stream:
            yield from self._stream_chunks(value)
        elif type(value) is list and (len(value) > LONG_ARRAY or any(map(_is_long, value))):
            yield from self._stream_chunks(Stream(list, len(value), value))
        else:
            yield self.encode(value)

    def _stream_chunks(self, value: Stream) -> Iterator[bytes]:
        out = [self._head(value)]
        size = 0
        for item in value.items:
            if _is_long(item):
                yield b"".join(out)
                out.clear()
                size = 0
                yield from self.chunks(item)
                continue
            start = len(out)
            self._item(out, value.kind, item)
            size += sum(map(len, out[start:]))
            if size >= CHUNK:
                yield b"".join(out)
                out.clear()
                size = 0
        yield b"".join(out)

    def _resp2(self) -> dict[type, Encoder]:
        return {
            float: lambda out, value: _bulk(out, format_float(value)),
            Digits: _bulk,
            dict: lambda out, value: self._flat(out, value.items()),
            Pairs: self._flat,
            Keyed: self._array,
            Members: self._array,
            Text: _bulk,
            BigNumber: _bulk,
            Boolean: lambda out, value: _integer(out, int(value.value)),
            Push: self._array,
            Attribute: _nothing,
            NullArray: lambda out, value: out.append(b"*-1\r\n"),
        }

    def _resp3(self) -> dict[type, Encoder]:
        return {
            float: lambda out, value: out.append(b"," + format_float(value) + CRLF),
            Digits: lambda out, value: out.append(b"," + value + CRLF),
            dict: self._map,
            Pairs: self._array,
            Keyed: self._keyed,
            Members: lambda out, value: self._listing(out, b"~", value),
            Text: lambda out, value: out.append(b"=%d\r\ntxt:%b\r\n" % (len(value) + 4, value)),
            BigNumber: lambda out, value: out.append(b"(" + value + CRLF),
            Boolean: lambda out, value: out.append(b"#t\r\n" if value.value else b"#f\r\n"),
            Push: lambda out, value: self._listing(out, b">", value),
            Attribute: lambda out, value: self._keyed(out, list(value.items()), b"|"),
            NullArray: self._null,
        }

    def _null(self, out: list[bytes], value: NullArray | None) -> None:
        out.append(self.null)

    def _array(self, out: list[bytes], items: Sequence[Any]) -> None:
        packed = ARRAY(items, self._also)
        if packed is not None:
            out.append(packed)
            return
        out.append(_array_head(len(items)))
        encoders = self._encoders
        for item in items:
            kind = type(item)
            if kind is bytes:
                out.append(bulk(item))
            else:
                encoder = encoders.get(kind)
                if encoder is None:
                    self.append(out, item)
                else:
                    encoder(out, item)

    def _each(self, out: list[bytes], replies: Several) -> None:
        for one in replies:
            self.append(out, one)

    def _listing(self, out: list[bytes], mark: bytes, items: Sequence[Any]) -> None:
        out.append(b"%b%d\r\n" % (mark, len(items)))
        for item in items:
            self.append(out, item)

    def _flat(self, out: list[bytes], pairs: Iterable[tuple[Any, Any]]) -> None:
        flat = [item for pair in pairs for item in pair]
        self._array(out, flat)

    def _map(self, out: list[bytes], value: dict[Any, Any]) -> None:
        self._keyed(out, list(value.items()))

    def _keyed(self, out: list[bytes], pairs: list[tuple[Any, Any]], mark: bytes = b"%") -> None:
        out.append(b"%b%d\r\n" % (mark, len(pairs)))
        for name, value in pairs:
            self.append(out, name)
            self.append(out, value)

    def _keyed_chunks(self, pairs: Keyed) -> Iterator[bytes]:
        yield b"%b%d\r\n" % (b"%" if self.version == 3 else b"*", len(pairs))
        for name, value in pairs:
            yield b"" if self.version == 3 else b"*2\r\n"
            yield from self.chunks(name)
            yield from self.chunks(value)

    def _stream(self, out: list[bytes], value: Stream) -> None:
        out.append(self._head(value))
        for item in value.items:
            self._item(out, value.kind, item)

    def _head(self, value: Stream) -> bytes:
        kind, length = value.kind, value.length
        if self.version == 3:
            return b"%b%d\r\n" % (_MARKS.get(kind, b"*"), length)
        return b"*%d\r\n" % (length * 2 if kind is dict or kind is Pairs else length)

    def _item(self, out: list[bytes], kind: type, item: Any) -> None:
        if kind is dict or (kind is Pairs and self.version == 2):
            self.append(out, item[0])
            self.append(out, item[1])
        else:
            self.append(out, item)


_MARKS: Final[dict[type, bytes]] = {dict: b"%", Members: b"~"}

RESP2: Final = Encoding(2)
RESP3: Final = Encoding(3)
