"""Replies: the bytes of every kind of value in RESP2 and RESP3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stratakv.errors import CommandError, wrong_type
from stratakv.proxy.wire import encoding as encoding_module
from stratakv.proxy.wire.encoding import CHUNK, RESP2, RESP3
from stratakv.proxy.wire.replies import (
    NO_REPLY,
    NULL_ARRAY,
    OK,
    Boolean,
    Digits,
    Members,
    Pairs,
    Push,
    Status,
    Stream,
    Text,
)
from tests.harness.extensions import compiled
from tests.harness.servers import RedisServer

CASES: list[tuple[Any, bytes, bytes]] = [
    (None, b"$-1\r\n", b"_\r\n"),
    (NULL_ARRAY, b"*-1\r\n", b"_\r\n"),
    (b"", b"$0\r\n\r\n", b"$0\r\n\r\n"),
    (b"a\r\nb", b"$4\r\na\r\nb\r\n", b"$4\r\na\r\nb\r\n"),
    (b"x" * 1023, b"$1023\r\n" + b"x" * 1023 + b"\r\n", b"$1023\r\n" + b"x" * 1023 + b"\r\n"),
    (b"x" * 1024, b"$1024\r\n" + b"x" * 1024 + b"\r\n", b"$1024\r\n" + b"x" * 1024 + b"\r\n"),
    (OK, b"+OK\r\n", b"+OK\r\n"),
    (Status(b"QUEUED"), b"+QUEUED\r\n", b"+QUEUED\r\n"),
    (0, b":0\r\n", b":0\r\n"),
    (1023, b":1023\r\n", b":1023\r\n"),
    (1024, b":1024\r\n", b":1024\r\n"),
    (-1, b":-1\r\n", b":-1\r\n"),
    (-(2**63), b":-9223372036854775808\r\n", b":-9223372036854775808\r\n"),
    (True, b":1\r\n", b":1\r\n"),
    (1.5, b"$3\r\n1.5\r\n", b",1.5\r\n"),
    (math.inf, b"$3\r\ninf\r\n", b",inf\r\n"),
    (-math.inf, b"$4\r\n-inf\r\n", b",-inf\r\n"),
    (3.0, b"$1\r\n3\r\n", b",3\r\n"),
    ([], b"*0\r\n", b"*0\r\n"),
    (
        [b"a", 1, None, OK],
        b"*4\r\n$1\r\na\r\n:1\r\n$-1\r\n+OK\r\n",
        b"*4\r\n$1\r\na\r\n:1\r\n_\r\n+OK\r\n",
    ),
    ([[b"a"], []], b"*2\r\n*1\r\n$1\r\na\r\n*0\r\n", b"*2\r\n*1\r\n$1\r\na\r\n*0\r\n"),
    ({}, b"*0\r\n", b"%0\r\n"),
    ({b"f": b"v"}, b"*2\r\n$1\r\nf\r\n$1\r\nv\r\n", b"%1\r\n$1\r\nf\r\n$1\r\nv\r\n"),
    (
        {b"f": {b"g": 1}},
        b"*2\r\n$1\r\nf\r\n*2\r\n$1\r\ng\r\n:1\r\n",
        b"%1\r\n$1\r\nf\r\n%1\r\n$1\r\ng\r\n:1\r\n",
    ),
    (Pairs([(b"m", 1.5)]), b"*2\r\n$1\r\nm\r\n$3\r\n1.5\r\n", b"*1\r\n*2\r\n$1\r\nm\r\n,1.5\r\n"),
    (
        [b"m", Digits(b"1.5"), b"", b"x" * 10],
        b"*4\r\n$1\r\nm\r\n$3\r\n1.5\r\n$0\r\n\r\n$10\r\nxxxxxxxxxx\r\n",
        b"*4\r\n$1\r\nm\r\n,1.5\r\n$0\r\n\r\n$10\r\nxxxxxxxxxx\r\n",
    ),
    ((b"a", b"b"), b"*2\r\n$1\r\na\r\n$1\r\nb\r\n", b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
    (
        [b"%03d" % number for number in range(100)],
        b"*100\r\n" + b"".join(b"$3\r\n%03d\r\n" % number for number in range(100)),
        b"*100\r\n" + b"".join(b"$3\r\n%03d\r\n" % number for number in range(100)),
    ),
    (
        [b"x" * number for number in range(1030)],
        b"*1030\r\n" + b"".join(b"$%d\r\n%b\r\n" % (n, b"x" * n) for n in range(1030)),
        b"*1030\r\n" + b"".join(b"$%d\r\n%b\r\n" % (n, b"x" * n) for n in range(1030)),
    ),
    (Members([b"a"]), b"*1\r\n$1\r\na\r\n", b"~1\r\n$1\r\na\r\n"),
    (Text(b"hi"), b"$2\r\nhi\r\n", b"=6\r\ntxt:hi\r\n"),
    (Boolean(True), b":1\r\n", b"#t\r\n"),
    (Boolean(False), b":0\r\n", b"#f\r\n"),
    (
        Push([b"message", b"x"]),
        b"*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n",
        b">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n",
    ),
    (NO_REPLY, b"", b""),
    (CommandError(b"ERR no"), b"-ERR no\r\n", b"-ERR no\r\n"),
    (CommandError(b"ERR a\r\nb"), b"-ERR a  b\r\n", b"-ERR a  b\r\n"),
    (
        [wrong_type()],
        b"*1\r\n-" + wrong_type().text + b"\r\n",
        b"*1\r\n-" + wrong_type().text + b"\r\n",
    ),
]


@pytest.fixture(scope="module", params=["Python", "C"], autouse=True)
def arrays(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Every test of this page holds for both ways of making plain arrays."""
    source = Path(encoding_module.__file__).with_name("_pack.c")
    with pytest.MonkeyPatch.context() as patch:
        in_c = compiled(source, tmp_path_factory.mktemp("pack")) if request.param == "C" else None
        array = encoding_module._plain_array if in_c is None else in_c.array
        patch.setattr(encoding_module, "ARRAY", array)
        yield


@pytest.mark.parametrize(("value", "resp2", "resp3"), CASES)
def test_the_bytes_of_each_kind(value: Any, resp2: bytes, resp3: bytes) -> None:
    assert RESP2.encode(value) == resp2
    assert RESP3.encode(value) == resp3


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (list, [b"a", b"b"]),
        (Members, Members([b"a", b"b"])),
        (Pairs, Pairs([(b"a", 1.0), (b"b", 2.0)])),
        (dict, {b"a": b"1", b"b": b"2"}),
    ],
)
@pytest.mark.parametrize("encoding", [RESP2, RESP3], ids=["resp2", "resp3"])
def test_a_stream_has_the_bytes_of_the_whole(kind: type, whole: Any, encoding: Any) -> None:
    items = list(whole.items()) if kind is dict else list(whole)
    assert encoding.encode(Stream(kind, len(items), iter(items))) == encoding.encode(whole)
    assert b"".join(encoding.chunks(Stream(kind, len(items), iter(items)))) == encoding.encode(
        whole
    )


def test_a_stream_is_made_as_it_is_asked_for() -> None:
    taken = 0

    def items() -> Any:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield b"x" * 1000

    chunks = RESP2.chunks(Stream(list, 1000, items()))
    assert len(next(chunks)) >= CHUNK
    assert taken < 100
    assert sum(map(len, chunks)) > 900_000


@pytest.mark.parametrize("number", [0.1, 1e20, 1e-7, 3.14159, -2.5, 1e15, 123456789.125])
@pytest.mark.parametrize("protocol", [2, 3])
def test_floats_look_as_in_redis(redis_server: RedisServer, protocol: int, number: float) -> None:
    with redis_server.client(protocol) as client:
        client.send("DEL", "replies:z")
        client.send("ZADD", "replies:z", repr(number), "m")
        said = client.send("ZSCORE", "replies:z", "m").raw
    assert (RESP2 if protocol == 2 else RESP3).encode(number) == said


def test_an_error_reads_as_text() -> None:
    """It stands in logs and messages too."""
    assert str(CommandError(b"ERR caf\xc3\xa9 \xff")) == "ERR caf\u00e9 \ufffd"
