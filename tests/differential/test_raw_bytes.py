"""Bytes that are not a tidy request: inline commands, split and malformed requests, limits."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from tests.harness.servers import Process
from tests.harness.waiting import HANG_S

REQUESTS = {
    "inline": b"PING\r\n",
    "inline, newline alone": b"PING\n",
    "inline with arguments": b"SET k 'a b'\r\nGET k\r\n",
    "inline double quotes": b'SET k "\\x41\\n\\"b"\r\nGET k\r\n',
    "inline lower case": b"   echo   hi   \r\n",
    "inline unbalanced quotes": b"SET k 'a\r\nPING\r\n",
    "inline text after a quote": b'SET k "a"b\r\nPING\r\n',
    "empty lines": b"\r\n\r\nPING\r\n",
    "empty array": b"*0\r\nPING\r\n",
    "negative array": b"*-1\r\nPING\r\n",
    "array count not a number": b"*abc\r\nPING\r\n",
    "array count too large": b"*1048577\r\nPING\r\n",
    "array count overflow": b"*99999999999999999999\r\nPING\r\n",
    "not a bulk": b"*1\r\n:1\r\nPING\r\n",
    "bulk length not a number": b"*1\r\n$abc\r\nPING\r\n",
    "bulk length negative": b"*1\r\n$-1\r\nPING\r\n",
    "bulk length too large": b"*1\r\n$536870913\r\nPING\r\n",
    "bulk length empty": b"*1\r\n$\r\nPING\r\n",
    "good before bad": b"*1\r\n$4\r\nPING\r\n*1\r\n!4\r\nPING\r\n*1\r\n$4\r\nPING\r\n",
    "mixed inline and array": b"PING\r\n*1\r\n$4\r\nPING\r\nECHO x\r\n",
    "huge inline": b"a" * 70_000,
    "huge count line": b"*" + b"1" * 70_000,
    "huge bulk line": b"*1\r\n$" + b"1" * 70_000,
    "space in count": b"* 1\r\n$4\r\nPING\r\n",
    "plus in count": b"*+1\r\n$4\r\nPING\r\n",
    "zero in front": b"*01\r\n$4\r\nPING\r\n",
    "empty bulk": b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
    "quit": b"*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n",
    "http post": b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
    "http host": b"Host: example.org\r\nPING\r\n",
    "status alone": b"*1\r\n+PING\r\n",
    "an empty bulk on its own": b"*1\r\n$4\r\nPING\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n",
}
_PING = b"*1\r\n$4\r\nPING\r\n"
for _mark in "+-:_,#(!=%~>|;?$*":
    _type = _mark.encode()
    REQUESTS |= {
        f"{_mark} as a request": _PING + _type + b"1\r\n$4\r\nPING\r\n$1\r\nx\r\n" + _PING,
        f"{_mark} as an empty request": _PING + _type + b"0\r\n" + _PING,
        f"{_mark} as a request of nothing": _PING + _type + b"\r\n" + _PING,
        f"{_mark} as an argument": _PING
        + b"*2\r\n$4\r\nECHO\r\n"
        + _type
        + b"5\r\nhello\r\n"
        + _PING,
        f"{_mark} as a name": _PING + b"*1\r\n" + _type + b"PING\r\n" + _PING,
    }


def converse(server: Process, pieces: list[bytes]) -> bytes:
    """All that the server says until it closes, or until it has nothing more to say after our last
    byte.
    """
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A server that closes with our bytes unread resets the connection; what it said before can
        # still be read.
        with suppress(OSError):
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
        return _read_to_end(sock)


def _read_to_end(sock: socket.socket) -> bytes:
    said = bytearray()
    with suppress(ConnectionResetError):
        while data := sock.recv(65536):
            said += data
    return bytes(said)


@pytest.mark.parametrize("case", REQUESTS)
def test_reply_to_raw_bytes(case: str, redis_server: Process, strata_server: Process) -> None:
    data = REQUESTS[case]
    assert converse(strata_server, [data]) == converse(redis_server, [data])


@pytest.mark.parametrize("case", [case for case in REQUESTS if len(REQUESTS[case]) < 200])
def test_reply_to_raw_bytes_one_at_a_time(
    case: str, redis_server: Process, strata_server: Process
) -> None:
    data = REQUESTS[case]
    pieces = [data[i : i + 1] for i in range(len(data))]
    assert converse(strata_server, pieces) == converse(redis_server, [data])
