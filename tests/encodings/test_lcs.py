"""LCS: edge values, breathing, and a real Redis as the judge of random strings."""

import random
from collections.abc import Iterator

import pytest

from stratakv.encodings.types.strings.lcs import (
    Match,
    lcs_length,
    lcs_matches,
    lcs_sequence,
    table_bytes,
)
from tests.harness.servers import RedisServer
from tests.harness.wire import Frame, WireClient

CASES = 400
KEYS = b"{encodings:lcs}a", b"{encodings:lcs}b"


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[WireClient]:
    with WireClient(redis_server.port) as client:
        yield client
        client.send("DEL", *KEYS)


def test_the_example_of_the_documentation() -> None:
    a, b = b"ohmytext", b"mynewtext"
    assert lcs_sequence(a, b) == b"mytext"
    assert lcs_length(a, b) == 6
    runs = [Match((4, 7), (5, 8), 4), Match((2, 3), (0, 1), 2)]
    assert lcs_matches(a, b) == (runs, 6)
    assert lcs_matches(a, b, min_length=4) == (runs[:1], 6)


@pytest.mark.parametrize(("a", "b"), [(b"", b""), (b"", b"abc"), (b"abc", b""), (b"abc", b"xyz")])
def test_strings_without_anything_in_common(a: bytes, b: bytes) -> None:
    assert lcs_sequence(a, b) == b""
    assert lcs_length(a, b) == 0
    assert lcs_matches(a, b) == ([], 0)


def test_equal_strings_are_one_run() -> None:
    text = bytes(range(256)) * 3
    assert lcs_sequence(text, text) == text
    assert lcs_matches(text, text) == ([Match((0, 767), (0, 767), 768)], 768)


def test_strings_longer_than_a_chunk() -> None:
    longer = b"x" * 200_000 + b"ab" + b"x" * 100_000 + b"c"
    assert lcs_sequence(b"abc", longer) == b"abc"
    assert lcs_sequence(longer, b"abc") == b"abc"
    assert lcs_length(longer, b"abc") == 3
    assert lcs_matches(b"abc", longer)[0][-1] == Match((0, 1), (200_000, 200_001), 2)


def test_the_size_of_the_table_of_redis() -> None:
    assert table_bytes(3, 0) == 16


def test_sequence_and_length_agree_on_four_million_cells() -> None:
    rng = random.Random(10)
    a, b = (bytes(rng.choices(b"acgt", k=2000)) for _ in range(2))
    assert len(lcs_sequence(a, b)) == lcs_length(a, b)


def test_long_work_breathes_often() -> None:
    rng = random.Random(11)
    a, b = (bytes(rng.choices(b"acgt", k=10_000)) for _ in range(2))
    breaths = 0

    def pause_if_due() -> None:
        nonlocal breaths
        breaths += 1

    lcs_sequence(a, b, pause_if_due)
    # A hundred million cells take about 40 ms, and a breath is meant for each of them.
    assert breaths > 40


def test_redis_agrees_on_sequence_length_and_matches(redis: WireClient) -> None:
    rng = random.Random(12)
    for _ in range(CASES):
        alphabet = rng.choice([b"ab", b"abc", b"abcdefgh"])
        a, b = (bytes(rng.choices(alphabet, k=rng.randint(0, 40))) for _ in range(2))
        least = rng.randint(0, 4)
        replies = redis.pipeline(
            [
                (b"MSET", KEYS[0], a, KEYS[1], b),
                (b"LCS", *KEYS),
                (b"LCS", *KEYS, b"LEN"),
                (b"LCS", *KEYS, b"IDX", b"MINMATCHLEN", least, b"WITHMATCHLEN"),
            ]
        )
        assert lcs_sequence(a, b) == replies[1].frame.data, (a, b)
        assert lcs_length(a, b) == replies[2].frame.number, (a, b)
        assert lcs_matches(a, b, least) == matches_of(replies[3].frame), (a, b, least)


def matches_of(frame: Frame) -> tuple[list[Match], int]:
    """The reply of LCS IDX WITHMATCHLEN: the word matches, its list, the word len, a number."""
    _, runs, _, length = frame.items or ()
    return [match_of(run) for run in runs.items or ()], length.number or 0


def match_of(frame: Frame) -> Match:
    a, b, length = frame.items or ()
    return Match(range_of(a), range_of(b), length.number or 0)


def range_of(frame: Frame) -> tuple[int, int]:
    start, end = (item.number for item in frame.items or ())
    assert start is not None
    assert end is not None
    return start, end
