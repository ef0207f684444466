"""Requests: every message whole, byte by byte, with more behind it; mistakes in Redis's words."""

from __future__ import annotations

import random
import resource
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.proxy.wire import requests
from stratakv.proxy.wire.requests import RequestParser, Split, StrictParser, split_words
from tests.harness.extensions import compiled
from tests.harness.servers import RedisServer
from tests.harness.wire import encode

Requests = list[list[bytes]]

MESSAGES: list[tuple[bytes, Requests]] = [
    (b"*1\r\n$4\r\nPING\r\n", [[b"PING"]]),
    (b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", [[b"GET", b"k"]]),
    (b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", [[b"ECHO", b""]]),
    (b"*2\r\n$4\r\nECHO\r\n$6\r\n\r\n$1\r\n\r\n", [[b"ECHO", b"\r\n$1\r\n"]]),
    (encode("SET", "k", bytes(range(256))), [[b"SET", b"k", bytes(range(256))]]),
    (encode("SET", "k", b"x" * 70_000), [[b"SET", b"k", b"x" * 70_000]]),
    (b"PING\r\n", [[b"PING"]]),
    (b"PING\n", [[b"PING"]]),
    (b"  SET  key\tvalue \r\n", [[b"SET", b"key", b"value"]]),
    (b"SET \"a b\" 'c d'\r\n", [[b"SET", b"a b", b"c d"]]),
    (b'ECHO "\\x41\\n\\"\\q"\r\n', [[b"ECHO", b'A\n"q']]),
    (b"ECHO 'it\\'s \\n'\r\n", [[b"ECHO", b"it's \\n"]]),
    (b'ECHO ""\r\n', [[b"ECHO", b""]]),
]
BEHIND = encode("ECHO", "behind")


def compiled_split(directory: Path) -> Split:
    """The splitter out of its source."""
    split: Split = compiled(Path(requests.__file__).with_name("_split.c"), directory).split
    return split


@pytest.fixture(scope="module", params=["hiredis", "C"], autouse=True)
def splitter(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Every test of this page holds for both ways of reading what is plain."""
    with pytest.MonkeyPatch.context() as patch:
        by_c = compiled_split(tmp_path_factory.mktemp("split")) if request.param == "C" else None
        patch.setattr(requests, "SPLIT", by_c)
        yield request.param


def received(parser: RequestParser, pieces: list[bytes]) -> Requests:
    found: Requests = []
    for piece in pieces:
        found += parser.receive(piece)
    return [request for request in found if request]


@pytest.mark.parametrize(("data", "expected"), MESSAGES)
def test_a_message_comes_out_whole(data: bytes, expected: Requests) -> None:
    parser = RequestParser()
    assert received(parser, [data]) == expected
    assert parser.pending == 0
    assert parser.error is None


@pytest.mark.parametrize(("data", "expected"), [m for m in MESSAGES if len(m[0]) < 1000])
def test_a_message_comes_out_byte_by_byte(data: bytes, expected: Requests) -> None:
    parser = RequestParser()
    pieces = [data[at : at + 1] for at in range(len(data))]
    assert received(parser, pieces[:-1]) == []
    assert received(parser, pieces[-1:]) == expected


@pytest.mark.parametrize(("data", "expected"), MESSAGES)
def test_a_message_comes_out_with_more_behind_it(data: bytes, expected: Requests) -> None:
    behind = [b"ECHO", b"behind"]
    assert received(RequestParser(), [data + BEHIND]) == [*expected, behind]
    assert received(RequestParser(), [BEHIND + data]) == [behind, *expected]
    cut = data + BEHIND[:5]
    parser = RequestParser()
    assert received(parser, [cut]) == expected
    assert parser.pending > 0
    assert received(parser, [BEHIND[5:] + BEHIND]) == [behind, behind]


@pytest.mark.parametrize("empty", [b"*0\r\n", b"*-1\r\n", b"\r\n", b"\n", b"   \r\n"])
def test_an_empty_request_is_passed_over(empty: bytes) -> None:
    parser = RequestParser()
    assert received(parser, [empty + empty + BEHIND]) == [[b"ECHO", b"behind"]]
    assert parser.error is None


@given(
    st.lists(st.lists(st.binary(max_size=20), min_size=1, max_size=5), max_size=8),
    st.lists(st.integers(0, 400), max_size=10),
)
def test_however_the_data_is_cut_the_requests_are_the_same(
    requests: Requests, places: list[int]
) -> None:
    data = b"".join(encode(*request) for request in requests)
    cuts = sorted({0, len(data), *(place for place in places if place < len(data))})
    pieces = [data[a:b] for a, b in pairwise(cuts)]
    found: Requests = []
    parser = RequestParser()
    for piece in pieces:
        found += parser.receive(piece)
    assert found == requests


@given(st.text("aB \t\r\n\"'*\0", max_size=30))
def test_lines_are_read_the_same_whole_and_byte_by_byte(text: str) -> None:
    data = text.encode() + b"\n"
    whole, apart = RequestParser(), RequestParser()
    assert received(whole, [data]) == received(
        apart, [data[at : at + 1] for at in range(len(data))]
    )
    assert (whole.error is None) == (apart.error is None)


def test_a_large_argument_takes_no_time_that_grows_with_its_pieces() -> None:
    parser = RequestParser()
    data = encode("SET", "k", b"x" * 4_000_000)
    found: Requests = []
    for at in range(0, len(data), 16384):
        found += parser.receive(data[at : at + 16384])
    assert [len(part) for part in found[0]] == [3, 1, 4_000_000]


@pytest.mark.parametrize("first", [1, 30, 40, 70_000, 70_039, 70_040, 70_041, 70_042])
@pytest.mark.parametrize("size", [1000, 65_536, 70_000])
def test_large_arguments_come_out_as_they_went_in_wherever_they_are_cut(
    first: int, size: int
) -> None:
    value, other = random.Random(size).randbytes(70_000), b"y" * 65_536
    data = encode("SET", "key", value, "x", other) + encode("PING")
    parser = RequestParser()
    requests = parser.receive(data[:first])
    for at in range(first, len(data), size):
        requests += parser.receive(data[at : at + size])
    assert requests == [[b"SET", b"key", value, b"x", other], [b"PING"]]
    assert parser.pending == 0


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
@pytest.mark.parametrize(
    "odd", [b"", b"\r\n", b"$3\r\nabc\r\n", b"a\r\n$1\r\nb", b"x" * 99, b"x" * 1023, b"x" * 1024]
)
def test_many_arguments_come_out_as_they_went_in_wherever_they_are_cut(
    odd: bytes, size: int
) -> None:
    words = [b"member:%d" % number if number % 50 else odd for number in range(400)]
    data = encode("SADD", *words) + encode("PING")
    parser = RequestParser()
    requests: Requests = []
    for at in range(0, len(data), size):
        requests += parser.receive(data[at : at + size])
    assert requests == [[b"SADD", *words], [b"PING"]]


def test_a_large_argument_is_not_copied() -> None:
    size = 16 << 20
    data = encode("SET", "key", b"x" * size)
    parser = RequestParser()
    tracemalloc.start()
    try:
        for at in range(0, len(data), 1 << 18):
            requests = parser.receive(data[at : at + (1 << 18)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [len(word) for word in requests[0]] == [3, 3, size]
    assert peak < 1.3 * size


@pytest.mark.parametrize("value", ["n", "a\n+b", "a\n=b"])
@pytest.mark.parametrize("cut", range(1, 30))
def test_of_a_pipeline_that_is_cut_little_is_read_strictly(
    monkeypatch: pytest.MonkeyPatch, cut: int, value: str
) -> None:
    fed = 0
    feed = StrictParser.feed

    def counted(parser: StrictParser, data: bytes) -> None:
        nonlocal fed
        fed += len(data)
        feed(parser, data)

    monkeypatch.setattr(StrictParser, "feed", counted)
    data = encode("ECHO", value) * 1000
    parser = RequestParser()
    found = parser.receive(data[:-cut]) + parser.receive(data[-cut:])
    assert found == [[b"ECHO", value.encode()]] * 1000
    assert fed < 200


@pytest.mark.parametrize("mark", ["*", ">", "~", "|", "%"])
@pytest.mark.parametrize("before", [b"", b"*1\r\n", encode("PING"), encode("ECHO", "\n*1")])
def test_announcing_much_costs_nothing(before: bytes, mark: str) -> None:
    """A dozen bytes must not take gigabytes, or the time to clear them."""
    parser = RequestParser()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parser.receive(before + mark.encode() + b"2147483647\r\n$1\r\na\r\n")
    del parser
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 64 * 1024


def test_a_request_of_many_arguments_is_read_all_the_same() -> None:
    request = [b"MSET", *[b"%d" % number for number in range(200_000)]]
    assert RequestParser().receive(encode(*request)) == [request]


MISTAKES: list[tuple[str, bytes]] = [
    ("array length is no number", b"*x\r\n"),
    ("array length with a sign", b"*+1\r\n$4\r\nPING\r\n"),
    ("array length with a space", b"* 1\r\n$4\r\nPING\r\n"),
    ("array length with a leading zero", b"*01\r\n$4\r\nPING\r\n"),
    ("array too long", b"*2147483648\r\n"),
    ("array length beyond 64 bits", b"*99999999999999999999\r\n"),
    ("no bulk string", b"*1\r\n:1\r\n"),
    ("an inline inside", b"*2\r\nPING\r\n"),
    ("a nested array", b"*1\r\n*1\r\n$4\r\nPING\r\n"),
    ("bulk length is no number", b"*1\r\n$x\r\n"),
    ("bulk length is negative", b"*1\r\n$-1\r\n"),
    ("bulk length with a leading zero", b"*1\r\n$04\r\nPING\r\n"),
    ("bulk too long", b"*1\r\n$536870913\r\n"),
    ("bulk length beyond 64 bits", b"*1\r\n$99999999999999999999\r\n"),
    ("endless array header", b"*" + b"1" * 70_000),
    ("endless bulk header", b"*1\r\n$" + b"1" * 70_000),
    ("endless inline", b"x" * 70_000),
    ("open double quote", b'ECHO "abc\r\n'),
    ("open single quote", b"ECHO 'abc\r\n"),
    ("text behind a quote", b'ECHO "abc"d\r\n'),
    ("a good request, then a bad one", b"*1\r\n$4\r\nPING\r\n*1\r\n$x\r\n"),
]


SMALL_MISTAKES = [data for _, data in MISTAKES if len(data) < 1000]
FURTHER = [
    b"",
    b"*0\r\n",
    b"*-1\r\n",
    b"\r\n",
    b" \t\r\n",
    b"a\rb\r\n",
    b"a\0b\n",
    b"PING\r\nECHO a\nECHO 'b c'\r\n",
    b"PING\r\n" + encode("PING"),
    encode("PING") + b"PING\r\n" + encode("PING"),
    encode("ECHO", "\n+a") + encode("ECHO", "\n*1") + encode("ECHO", "\r\n>2\r\n"),
    encode("ECHO", b"*1000000\r\n"),
    encode("SADD", "key", *(b"member:%d" % number for number in range(30))),
    encode("SADD", "key", *(b"x" * length for length in (0, 1, 9, 10, 99, 100, 101))),
    encode("DEL", *[b"\r\n"] * 12),
    b"*1\r\n+PING\r\n",
    b"*1\r\n=8\r\ntxt:PING\r\n",
    b"*1\r\n_\r\n",
    b"*2\r\n$4\r\nECHO\r\n#t\r\n",
    b"*1\r\n~1\r\n$4\r\nPING\r\n",
    b"*1\r\n$4\r\nPINGxx",
    b"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n",
    b"*1\rx$4\r\nPING\r\n",
    b"*\r\n",
    b"*1\r\n$\r\n",
    b"*1\r\n\r\n",
    b"$4\r\nPING\r\n",
]
"""What lies between the two parsers, or between their special ways."""
ALL_MESSAGES = [*(data for data, _ in MESSAGES if len(data) < 1000), *SMALL_MISTAKES, *FURTHER]
Outcome = tuple[Requests, bytes | None]


def outcome(pieces: list[bytes]) -> Outcome:
    """The requests of a connection, and the mistake that ended it."""
    parser = RequestParser()
    found = received(parser, [piece for piece in pieces if piece])
    return found, None if parser.error is None else parser.error.text


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize("data", ALL_MESSAGES)
def test_whole_and_byte_by_byte_are_the_same(data: bytes) -> None:
    assert outcome([data]) == outcome(byte_by_byte(data))


@pytest.mark.parametrize("data", ALL_MESSAGES)
@pytest.mark.parametrize("behind", [BEHIND, b"PING\r\n", BEHIND * 3, BEHIND[:5]])
def test_what_is_behind_changes_nothing(data: bytes, behind: bytes) -> None:
    whole = outcome([data + behind])
    assert whole == outcome([data, behind])
    assert whole == outcome(byte_by_byte(data + behind))
    alone, mistake = outcome([data])
    assert whole[0][: len(alone)] == alone
    if mistake is not None:
        assert whole == (alone, mistake)


@given(st.lists(st.sampled_from(ALL_MESSAGES), max_size=5), st.lists(st.integers(0, 500)))
def test_wherever_messages_are_cut_they_are_the_same(
    messages: list[bytes], places: list[int]
) -> None:
    data = b"".join(messages)
    cuts = sorted({0, len(data), *(place for place in places if place < len(data))})
    assert outcome([data[a:b] for a, b in pairwise(cuts)]) == outcome([data])


def answer(server: RedisServer, data: bytes) -> bytes:
    with server.client() as client:
        client.write(data)
        return client.read_to_end()


@pytest.mark.parametrize("data", [m[1] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
@pytest.mark.parametrize("piecewise", [False, True], ids=["whole", "byte by byte"])
def test_mistakes_are_what_redis_says_they_are(
    redis_server: RedisServer, data: bytes, piecewise: bool
) -> None:
    parser = RequestParser()
    pieces = [data[at : at + 1] for at in range(len(data))] if piecewise else [data]
    if piecewise and len(data) > 1000:
        pieces = [data[:900], *(data[at : at + 1000] for at in range(900, len(data), 1000))]
    good = received(parser, pieces)
    said = answer(redis_server, data).removeprefix(b"+PONG\r\n" * len(good))
    assert parser.error is not None
    assert b"-" + parser.error.text + b"\r\n" == said
    assert parser.receive(BEHIND) == [], "nothing is read after a mistake"


STRANGER_MISTAKES = [
    b"*11\r\n",
    b"*1\r\n$16385\r\n",
]


@pytest.mark.parametrize("data", STRANGER_MISTAKES)
def test_who_has_not_authenticated_gets_redis_s_small_limits(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = RedisServer(tmp_path_factory.mktemp("redis") / "data").start()
    with server.client() as client:
        client.send("CONFIG", "SET", "requirepass", "x")
    said = answer(server, data)
    server.kill9()
    parser = RequestParser()
    parser.unauthenticated = True
    assert parser.receive(data) == []
    assert parser.error is not None
    assert b"-" + parser.error.text + b"\r\n" == said


def test_a_stranger_s_requests_within_the_limits_are_read() -> None:
    parser = RequestParser()
    parser.unauthenticated = True
    data = encode(*[b"x" * 16384] * 10)
    assert [len(request) for request in parser.receive(data)] == [10]


def test_a_lower_limit_for_arguments_holds() -> None:
    """Redis allows no limit below 1 MB, which no single read of a socket reaches."""
    parser = RequestParser(bulk_max=1 << 20)
    for size, is_read in ((1 << 20, True), ((1 << 20) + 1, False)):
        data = encode("SET", "k", b"x" * size)
        pieces = [data[at : at + 65536] for at in range(0, len(data), 65536)]
        assert bool(received(parser, pieces)) is is_read
    assert parser.error is not None
    assert parser.error.text == b"ERR Protocol error: invalid bulk length"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", []),
        (b"a b", [b"a", b"b"]),
        (b"a\0b", [b"a", b"b"]),
        (b'"a" "b"', [b"a", b"b"]),
        (b'"\\x4"', [b"x4"]),
        (b'"\\t\\r\\b\\a"', [b"\t\r\b\a"]),
        (b'ab"cd"', [b"abcd"]),
        (b'"', None),
        (b'"a"b', None),
        (b"'a\\'", None),
    ],
)
def test_the_words_of_a_line(line: bytes, words: list[bytes] | None) -> None:
    assert split_words(line) == words
