"""Requests: bytes in, lists of arguments out; no sockets.

hiredis parses what arrives whole, which is nearly everything. Whatever is out of the ordinary (an
inline command, a request cut by the end of the data, a malformed one, a client that has not yet
authenticated) is read by a strict parser that knows Redis's limits and its words for each mistake.
Both start at a request's first byte, so a doubtful chunk can always be read again strictly.
"""

import re
import secrets
from itertools import chain
from typing import Final

import hiredis

from stratakv.encodings.numbers import parse_int

Request = list[bytes]

INLINE_MAX: Final = 64 * 1024
MULTIBULK_MAX: Final = (1 << 31) - 1
STRANGER_ARGUMENTS: Final = 10
STRANGER_BULK: Final = 16384
_ARRAY: Final = ord("*")
_BULK: Final = ord("$")
_HUGE: Final = re.compile(rb"\*[0-9]{6}").search
"""Headers that hiredis must not see, as it makes room for what they announce: 16 GB for a dozen
bytes. With its kin in RESP3 (push, set, attribute) 0.3 us a chunk and 30 ns a request, measured.
"""
_SIMPLE_BULK: Final = re.compile(rb"\$(0|[1-9]\d?)\r\n").match
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
    nothing more is read. While `stranger` is set, the limits for unauthenticated clients hold.
    """

    __slots__ = ("_feed", "_gets", "_reader", "_strict", "error")

    def __init__(self, bulk_max: int = 512 * 1024 * 1024) -> None:
        self.error: ProtocolError | None = None
        self._strict = StrictParser(bulk_max)
        self._renew()

    def _renew(self) -> None:
        self._reader = hiredis.Reader()
        self._feed = self._reader.feed
        self._gets = self._reader.gets

    @property
    def stranger(self) -> bool:
        """Whether the client has yet to authenticate."""
        return self._strict.stranger

    @stranger.setter
    def stranger(self, is_stranger: bool) -> None:
        self._strict.stranger = is_stranger

    @property
    def buffered(self) -> int:
        """Bytes of a request that is not complete."""
        return self._strict.buffered

    def receive(self, data: bytes) -> list[Request]:
        """All requests that `data` completes."""
        strict = self._strict
        if strict.buffered and not strict.stranger:
            return self._finish_cut(data)
        if (
            len(data) < _SHORT
            and data.find(b"*", 1) < 0  # else it is a pipeline, most likely
            and not strict.stranger
            and not self.error
        ):
            request = _only_request(data)
            if request is not None:
                return [request]
        if (
            data[0] != _ARRAY
            or strict.stranger
            or self.error
            or _HUGE(data)
            or (b">" in data and b"\n>" in data)  # one byte is found faster than two
            or (b"~" in data and b"\n~" in data)
            or (b"|" in data and b"\n|" in data)
        ):
            return self._strictly(data)
        feed = self._feed
        feed(data)
        feed(_MARK_BYTES)
        try:
            requests: list[Request] = list(iter(self._gets, False))
            b"".join(chain.from_iterable(requests))  # refuses anything but bulk strings
        except (hiredis.ProtocolError, TypeError):
            self._renew()
            return self._strictly(data)
        if requests and requests[-1] == _MARK:
            del requests[-1]
            return requests
        self._renew()
        return self._cut(data, requests)

    def _cut(self, data: bytes, requests: list[Request]) -> list[Request]:
        """The data ends within a request: leave that one to the strict parser."""
        used = 0
        for number, request in enumerate(requests):
            size = len(hiredis.pack_command(tuple(request)))  # type: ignore[arg-type]  # its stub says one argument
            if used + size > len(data):  # it swallowed the mark
                del requests[number:]
                break
            used += size
        return requests + self._strictly(data[used:])

    def _finish_cut(self, data: bytes) -> list[Request]:
        """The data goes on with a request that was cut: hiredis reads what is behind it."""
        requests = self._strictly(data, most=1)
        rest = self._strict.take_rest() if requests else b""
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
        return requests


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

    __slots__ = ("_args", "_buffer", "_bulk_length", "_bulk_max", "_missing", "stranger")

    def __init__(self, bulk_max: int) -> None:
        self._bulk_max = bulk_max
        self.stranger = False
        self._buffer = bytearray()
        self._args: Request = []
        self._missing = 0
        self._bulk_length = -1

    @property
    def buffered(self) -> int:
        """Bytes and arguments of an incomplete request; 0 at a request's boundary."""
        return len(self._buffer) + self._missing

    def feed(self, data: bytes) -> None:
        """Add bytes."""
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
        if count > STRANGER_ARGUMENTS and self.stranger:
            raise ProtocolError(b"unauthenticated multibulk length")
        self._missing = max(0, count)
        self._args = []
        return True

    def _arguments(self) -> Request | None:
        self._simple_arguments()
        while self._missing:
            if self._bulk_length < 0 and not self._bulk_header():
                return None
            end = self._bulk_length
            if len(self._buffer) < end + 2:
                return None
            self._args.append(bytes(memoryview(self._buffer)[:end]))
            del self._buffer[: end + 2]
            self._bulk_length = -1
            self._missing -= 1
        return self._args

    def _simple_arguments(self) -> None:
        """Take arguments below 100 bytes that are all there; stop at the first of another kind.

        0.5 us an argument instead of 1.8 us: requests of many arguments are cut by every read.
        """
        if self._bulk_length >= 0 or self.stranger:
            return
        buffer = bytes(self._buffer)
        take, args, at = _SIMPLE_BULK, self._args, 0
        while self._missing and (found := take(buffer, at)) is not None:
            start = found.end()
            end = start + int(found[1])
            if end + 2 > len(buffer):
                break
            args.append(buffer[start:end])
            at = end + 2
            self._missing -= 1
        del self._buffer[:at]

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
        if length > STRANGER_BULK and self.stranger:
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
