"""Requests: bytes in, lists of arguments out; no sockets.

What arrives whole, which is nearly everything, is split by some lines of C (_split.c), or parsed
by hiredis where those were not compiled. Whatever is out of the ordinary (an inline command, a
request cut by the end of the data, a malformed one, a client that has not yet authenticated) is
read by a strict parser that knows Redis's limits and its words for each mistake. All of them start
at a request's first byte, so a doubtful chunk can always be read again strictly.
"""

import io
import re
import secrets
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

import hiredis

from stratakv.encodings.layout.numbers import parse_int

Request = list[bytes]
Split = Callable[[bytes], tuple[list[Request], int]]


def _find_split() -> Split | None:
    """The splitter in C, if it was compiled."""
    try:
        from stratakv.proxy.wire import _split
    except ImportError:
        return None
    return _split.split


SPLIT: Final = _find_split()

INLINE_MAX: Final = 64 * 1024
MULTIBULK_MAX: Final = (1 << 31) - 1
LARGE_BULK: Final = 64 * 1024
"""A longer argument that is cut by the end of the data is collected apart."""
UNAUTHENTICATED_ARGUMENTS: Final = 10
UNAUTHENTICATED_BULK: Final = 16384
_ARRAY: Final = ord("*")
_BULK: Final = ord("$")
_HUGE: Final = re.compile(rb"\*[0-9]{6}").search
"""Headers that hiredis must not see, as it makes room for what they announce: 16 GB for a dozen
bytes. With the other types of RESP (see `_has_aggregates`) 0.3 us a chunk and 30 ns a request,
measured.
"""
_SIMPLE_BULK: Final = re.compile(rb"\$(0|[1-9]\d?)\r\n").match
_FEW: Final = 8
_SIMPLE_BYTES: Final = len(b"$99\r\n") + 99 + len(b"\r\n")
_MARK: Final = [secrets.token_bytes(8)]
_MARK_BYTES: Final = b"*1\r\n$8\r\n" + _MARK[0] + b"\r\n"
"""A request of our own, fed behind each chunk: it comes out last if the chunk ended a request.

hiredis does not say whether it holds a part of one. 0.2 us a chunk, measured.
"""


_UNUSUAL_IN_LINES: Final = re.compile(rb"[\"'\0]|[\r\n]\*|\r(?!\n)").search
"""What bytes.split() would not read as Redis does: quotes, NUL, requests in between, a lone CR."""
_SHORT: Final = 1024
_COUNTS: Final = {2 * count + 2: b"*%d" % count for count in range(1, _SHORT)}
_SIZES: Final = [b"$%d" % size for size in range(_SHORT)]


class ProtocolError(Exception):
    """The client does not speak RESP; it gets the text and is disconnected."""

    def __init__(self, reason: bytes) -> None:
        super().__init__(reason)
        self.text = b"ERR Protocol error: " + reason


class RequestParser:
    """The requests of one connection.

    `receive` returns the complete requests of a chunk. After a malformed one, `error` is set and
    nothing more is read. While `unauthenticated` is set, the limits for such clients hold.
    `pending` are the bytes of a request that is not complete.
    """

    __slots__ = ("_feed", "_gets", "_reader", "_strict", "error", "pending")

    def __init__(self, bulk_max: int = 512 * 1024 * 1024) -> None:
        self.error: ProtocolError | None = None
        self.pending = 0
        self._strict = StrictParser(bulk_max)
        self._renew()

    def _renew(self) -> None:
        self._reader = hiredis.Reader()
        self._feed = self._reader.feed
        self._gets = self._reader.gets

    @property
    def is_between(self) -> bool:
        """Whether what was received ends where a request does."""
        return not self._strict.buffered

    @property
    def lacking(self) -> int:
        """How much of what comes next belongs to a large argument: that costs a copy, no more."""
        return self._strict.lacking

    @property
    def unauthenticated(self) -> bool:
        """Whether the client has yet to authenticate."""
        return self._strict.unauthenticated

    @unauthenticated.setter
    def unauthenticated(self, value: bool) -> None:
        self._strict.unauthenticated = value

    def receive(self, data: bytes) -> list[Request]:
        """All requests that `data` completes."""
        strict = self._strict
        if strict.buffered and not strict.unauthenticated:
            return self._finish_cut(data)
        if SPLIT is None or strict.unauthenticated or self.error:
            return self._by_hiredis(data)
        requests, used = SPLIT(data)
        return requests if used == len(data) else requests + self._strictly(data[used:])

    def _by_hiredis(self, data: bytes) -> list[Request]:
        """As `receive`, at a request's first byte."""
        strict = self._strict
        if (
            len(data) < _SHORT
            and data.find(b"*", 1) < 0  # else it is a pipeline, most likely
            and not strict.unauthenticated
            and not self.error
        ):
            request = _only_request(data)
            if request is not None:
                return [request]
        if (
            data[0] != _ARRAY
            or strict.unauthenticated
            or self.error
            or _HUGE(data)
            or _has_aggregates(data)
        ):
            return self._strictly(data)
        feed = self._feed
        feed(data)
        feed(_MARK_BYTES)
        requests: list[Any] = []
        try:
            requests.extend(iter(self._gets, False))
            b"".join(chain.from_iterable(requests))  # refuses anything but strings
            is_plain = all(requests) and not _has_strings(data)
        except (hiredis.ProtocolError, TypeError):
            is_plain = False
        if is_plain and requests and requests[-1] == _MARK:
            del requests[-1]
            return requests
        self._renew()
        return self._verified(data, requests)

    def _verified(self, data: bytes, requests: list[Any]) -> list[Request]:
        """Keep those requests that are what the data says, to the byte; the strict parser reads
        the rest: one that is cut by the end of the data, or malformed, and what is behind it.
        """
        used = 0
        for number, request in enumerate(requests):
            packed = _packed(request)
            if not packed or not data.startswith(packed, used):
                del requests[number:]
                break
            used += len(packed)
        return requests + self._strictly(data[used:]) if used < len(data) else requests

    def _finish_cut(self, data: bytes) -> list[Request]:
        """The data goes on with a request that was cut: hiredis reads what is behind it."""
        requests = self._strictly(data, most=1)
        rest = self._strict.take_rest() if requests else b""
        self.pending = self._strict.pending
        return requests + self.receive(rest) if rest else requests

    def _strictly(self, data: bytes, most: int = MULTIBULK_MAX) -> list[Request]:
        requests: list[Request] = []
        if self.error is not None:
            return requests
        strict = self._strict
        if not strict.buffered and _are_plain_lines(data):
            return [line.split() for line in data.splitlines()]
        strict.feed(data)
        try:
            while len(requests) < most and (request := strict.next()) is not None:
                requests.append(request)
        except ProtocolError as error:
            self.error = error
        self.pending = strict.pending
        return requests


def _has_aggregates(data: bytes) -> bool:
    """Whether a line may begin with a type of RESP3 for which hiredis makes room ahead.

    One byte is found faster than two.
    """
    return (
        (b">" in data and b"\n>" in data)
        or (b"~" in data and b"\n~" in data)
        or (b"|" in data and b"\n|" in data)
        or (b"%" in data and b"\n%" in data)
    )


def _has_strings(data: bytes) -> bool:
    """Whether a line may begin with a type that hiredis takes for a bulk string."""
    return (b"+" in data and b"\n+" in data) or (b"=" in data and b"\n=" in data)


def _packed(request: Any) -> bytes:
    """The bytes of a request; none if it is not a list of strings."""
    try:
        packed: bytes = hiredis.pack_command(tuple(request))
    except (TypeError, ValueError):
        return b""
    return packed


def _only_request(data: bytes) -> Request | None:
    """The request that a short chunk is, if it is just one and no argument contains a line end.

    A client that waits for each reply sends nothing else. 0.5 us instead of 1.5 us by hiredis,
    whose price is for a chunk more than for a request.
    """
    parts = data.split(b"\r\n")
    if parts[0] != _COUNTS.get(len(parts)) or parts.pop():
        return None
    arguments = parts[2::2]
    if parts[1::2] != [_SIZES[len(argument)] for argument in arguments]:
        return None
    return arguments


def _are_plain_lines(data: bytes) -> bool:
    """Whether the data is whole inline commands without quotes: 0.4 us a line instead of 1.7."""
    return (
        data[-1:] == b"\n"
        and data[0] != _ARRAY
        and len(data) < INLINE_MAX
        and _UNUSUAL_IN_LINES(data) is None
    )


class StrictParser:
    """An incremental parser with Redis's limits, for what hiredis is not given."""

    __slots__ = (
        "_args",
        "_args_bytes",
        "_buffer",
        "_bulk_length",
        "_bulk_max",
        "_large",
        "_left",
        "_missing",
        "unauthenticated",
    )

    def __init__(self, bulk_max: int) -> None:
        self._bulk_max = bulk_max
        self.unauthenticated = False
        self._buffer = bytearray()
        self._args: Request = []
        self._args_bytes = 0
        self._missing = 0
        self._bulk_length = -1
        self._large: io.BytesIO | None = None
        """A large argument as far as it has arrived: it grows and is handed over without a copy,
        which took 60 ms and more for 200 MB, twice."""
        self._left = 0
        """Bytes that it lacks."""

    @property
    def pending(self) -> int:
        """Bytes of an incomplete request, the arguments that it has already included."""
        large = self._bulk_length - self._left if self._large is not None else 0
        return len(self._buffer) + large + (self._args_bytes if self._missing else 0)

    @property
    def lacking(self) -> int:
        """Bytes that a large argument lacks."""
        return self._left if self._large is not None else 0

    @property
    def buffered(self) -> int:
        """Bytes and arguments of an incomplete request; 0 at a request's boundary."""
        return len(self._buffer) + self._missing

    def feed(self, data: bytes) -> None:
        """Add bytes."""
        if self._large is not None and self._left:
            part = data[: self._left]
            self._large.write(part)
            self._left -= len(part)
            data = data[len(part) :]
        self._buffer += data

    def take_rest(self) -> bytes:
        """Give back the bytes behind the last request. Requires: no request has begun."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def next(self) -> Request | None:
        """The next complete request, or None until more bytes come."""
        while self._buffer or self._missing:
            if self._missing:
                return self._arguments()
            if self._buffer[0] != _ARRAY:
                return self._inline()
            if not self._header():
                return None
        return None

    def _header(self) -> bool:
        """Read `*count`; False while the line is not complete."""
        line = self._line(b"too big mbulk count string")
        if line is None:
            return False
        count = parse_int(line[1:])
        if count is None or count > MULTIBULK_MAX:
            raise ProtocolError(b"invalid multibulk length")
        if count > UNAUTHENTICATED_ARGUMENTS and self.unauthenticated:
            raise ProtocolError(b"unauthenticated multibulk length")
        self._missing = max(0, count)
        self._args = []
        self._args_bytes = 0
        return True

    def _arguments(self) -> Request | None:
        self._simple_arguments()
        while self._missing:
            was_cut = self._bulk_length >= 0
            if self._bulk_length < 0 and not self._bulk_header():
                return None
            end = self._bulk_length
            if self._large is not None or len(self._buffer) < end + 2:
                if not self._large_argument(end):
                    return None
            else:
                self._args.append(bytes(memoryview(self._buffer)[:end]))
                del self._buffer[: end + 2]
            self._args_bytes += end
            self._bulk_length = -1
            self._missing -= 1
            if was_cut:  # what follows may be simple again
                self._simple_arguments()
        return self._args

    def _large_argument(self, length: int) -> bool:
        """Take an argument that is not all in the buffer, if it is large; says if it is complete.

        From its first part on, `feed` puts its bytes where they belong.
        """
        if self._large is None:
            if length < LARGE_BULK:
                return False
            self._large = io.BytesIO()
            self._left = length - self._large.write(memoryview(self._buffer)[:length])
            del self._buffer[:length]
        if self._left or len(self._buffer) < 2:
            return False
        self._args.append(self._large.getvalue())
        self._large = None
        del self._buffer[:2]
        return True

    def _simple_arguments(self) -> None:
        """Take arguments below 100 bytes that are all there; stop at the first of another kind.

        0.5 us an argument instead of 1.8 us: requests of many arguments are cut by every read.
        """
        if self._bulk_length >= 0 or self.unauthenticated:
            return
        # no more than can be theirs: whatever is behind them was looked at for each request
        buffer = bytes(memoryview(self._buffer)[: self._missing * _SIMPLE_BYTES])
        take, args = _SIMPLE_BULK, self._args
        at = self._short_arguments(buffer) if self._missing > _FEW else 0
        while self._missing and (found := take(buffer, at)) is not None:
            start = found.end()
            end = start + int(found[1])
            if end + 2 > len(buffer):
                break
            args.append(buffer[start:end])
            at = end + 2
            self._missing -= 1
        self._args_bytes += at
        del self._buffer[:at]

    def _short_arguments(self, buffer: bytes) -> int:
        """Take all arguments that are there, if each is short and has no line end in it.

        Returns how many bytes they took; 0.4 us an argument less than one by one.
        """
        parts = buffer.split(b"\r\n")
        count = min(len(parts) // 2, self._missing)
        sizes, arguments = parts[0 : 2 * count : 2], parts[1 : 2 * count : 2]
        if 2 * count == len(parts):  # the last one has no line end yet
            sizes.pop()
            arguments.pop()
        lengths = list(map(len, arguments))
        if max(lengths, default=_SHORT) >= _SHORT or sizes != [_SIZES[size] for size in lengths]:
            return 0
        self._args += arguments
        self._missing -= len(arguments)
        return sum(lengths) + sum(map(len, sizes)) + 4 * len(arguments)

    def _bulk_header(self) -> bool:
        """Read `$length`; False while the line is not complete."""
        if self._buffer and self._buffer[0] != _BULK:
            first = bytes(self._buffer[:1])
            raise ProtocolError(b"expected '$', got '%b'" % first)
        line = self._line(b"too big bulk count string")
        if line is None:
            return False
        length = parse_int(line[1:])
        if length is None or not 0 <= length <= self._bulk_max:
            raise ProtocolError(b"invalid bulk length")
        if length > UNAUTHENTICATED_BULK and self.unauthenticated:
            raise ProtocolError(b"unauthenticated bulk length")
        self._bulk_length = length
        return True

    def _line(self, too_big: bytes) -> bytes | None:
        """A header line without its CRLF."""
        end = self._buffer.find(b"\r")
        if end < 0:
            if len(self._buffer) > INLINE_MAX:
                raise ProtocolError(too_big)
            return None
        if end + 2 > len(self._buffer):
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _inline(self) -> Request | None:
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > INLINE_MAX:
                raise ProtocolError(b"too big inline request")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        words = split_words(line.removesuffix(b"\r"))
        if words is None:
            raise ProtocolError(b"unbalanced quotes in request")
        return words


_SPACES: Final = b" \t\n\r\v\f\0"
_ESCAPES: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")


def split_words(line: bytes) -> Request | None:
    """The words of an inline command, quotes and escapes resolved; None if a quote stays open."""
    words: Request = []
    at = 0
    while True:
        while at < len(line) and line[at] in _SPACES:
            at += 1
        if at >= len(line):
            return words
        word = bytearray()
        while at < len(line) and line[at] not in _SPACES:
            if line[at] in b"\"'":
                end = _quoted(line, at, word)
                if end is None:
                    return None
                at = end
                break
            word.append(line[at])
            at += 1
        words.append(bytes(word))


def _quoted(line: bytes, at: int, word: bytearray) -> int | None:
    """Read a quoted part into `word`; returns where it ends, None if it is not well formed."""
    quote = line[at]
    at += 1
    while at < len(line):
        if line[at] == quote:
            at += 1
            return at if at >= len(line) or line[at] in _SPACES else None
        if line[at] == 0x5C and at + 1 < len(line):
            at = _escaped(line, at, quote, word)
        else:
            word.append(line[at])
            at += 1
    return None


def _escaped(line: bytes, at: int, quote: int, word: bytearray) -> int:
    """Read a backslash sequence into `word`; single quotes know only \\'."""
    if quote == 0x27:
        if line[at + 1] == 0x27:
            word.append(0x27)
            return at + 2
        word.append(line[at])
        return at + 1
    digits = line[at + 2 : at + 4]
    if line[at + 1] == 0x78 and len(digits) == 2 and all(digit in _HEX for digit in digits):
        word.append(int(digits, 16))
        return at + 4
    follower = line[at + 1 : at + 2]
    word += _ESCAPES.get(follower, follower)
    return at + 2
