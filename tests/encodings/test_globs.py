"""Globs: each rule once, bounded time, and a real Redis as the judge of random patterns."""

import random
from collections.abc import Iterator

import pytest

from stratakv.encodings.layout import globs
from stratakv.encodings.layout.globs import compile_glob, literal_prefix
from tests.harness.servers import RedisServer
from tests.harness.wire import WireClient

PATTERNS = 600
ALPHABET = b"aabbc-]^\\[*?\xff\x80\n"


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[WireClient]:
    with WireClient(redis_server.port) as client:
        client.send("SELECT", 15)
        client.send("FLUSHDB")
        yield client
        client.send("FLUSHDB")


@pytest.mark.parametrize(
    ("pattern", "string", "expected"),
    [
        (b"*", b"", True),
        (b"**", b"", False),
        (b"**", b"a", True),
        (b"", b"", True),
        (b"", b"a", False),
        (b"?", b"", False),
        (b"?", b"\n", True),
        (b"user:*", b"user:", True),
        (b"user:*", b"user", False),
        (b"*:1", b"user:1", True),
        (b"*:1", b":1\n", False),
        (b"*er*", b"user:1", True),
        (b"*er*", b"e r", False),
        (b"u*e*1", b"user:1", True),
        (b"u*e*1", b"usr:1", False),
        (b"ab*ba", b"aba", False),
        (b"ab*ba", b"abba", True),
        (b"h[ae]llo", b"hello", True),
        (b"h[^e]llo", b"hello", False),
        (b"h[^e]llo", b"hallo", True),
        (b"[a-c]", b"b", True),
        (b"[c-a]", b"b", True),
        (b"[a-]", b"a", True),
        (b"[a-]", b"-", False),
        (b"[a-]", b"]", True),
        (b"[ab", b"b", True),
        (b"[", b"[", False),
        (b"[^", b"x", True),
        (b"[]", b"]", False),
        (b"[\\]]", b"]", True),
        (b"[\\", b"\\", True),
        (b"\\*", b"*", True),
        (b"\\*", b"a", False),
        (b"a\\", b"a\\", True),
        (b"[a-\xff]", b"\x00", True),
        (b"[a-\xff]", b"z", False),
        (b"[^a]*[b]", b"\xff\n b", True),
    ],
)
def test_rules(pattern: bytes, string: bytes, expected: bool) -> None:
    assert compile_glob(pattern)(string) is expected
    assert globs._compile(pattern, globs._piecewise)(string) is expected


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        (b"", b""),
        (b"*", b""),
        (b"user:*", b"user:"),
        (b"user", b"user"),
        (b"a?b", b"a"),
        (b"a[b]", b"a"),
        (b"a\\*b*c", b"a*b"),
        (b"a\\", b"a\\"),
    ],
)
def test_literal_prefix(pattern: bytes, prefix: bytes) -> None:
    assert literal_prefix(pattern) == prefix


@pytest.mark.parametrize("pattern", [b"a*" * 30 + b"b", b"?*" * 30 + b"b", b"a*" * 300 + b"b"])
def test_many_stars_take_bounded_time(pattern: bytes) -> None:
    matches = compile_glob(pattern)
    assert not matches(b"a" * 10_000)  # Trying every split would outlive the time-out.


def test_more_than_a_thousand_stars_never_match() -> None:
    assert compile_glob(b"*a" * 1000)(b"a" * 1000)
    assert compile_glob(b"*a" * 1000 + b"*")(b"a" * 1000)
    assert not compile_glob(b"*a" * 1001)(b"a" * 1001)


def test_long_patterns_match_like_short_ones() -> None:
    pattern = b"k?y[0-9]" * 100
    assert compile_glob(pattern)(b"key7" * 100)
    assert not compile_glob(pattern)(b"key7" * 99 + b"keyx")
    assert compile_glob(pattern + b"*end")(b"key7" * 100 + b"...end")


@pytest.mark.slow
def test_redis_finds_the_same_keys(redis: WireClient) -> None:
    rng = random.Random(5)
    keys = {bytes(rng.choices(ALPHABET, k=rng.randint(0, 5))) for _ in range(300)}
    redis.pipeline(("SET", key, "") for key in keys)
    patterns = [random_pattern(rng) for _ in range(PATTERNS)]
    found = redis.pipeline(("KEYS", pattern) for pattern in patterns)
    for pattern, reply in zip(patterns, found, strict=True):
        expected = set(reply.frame.blobs())
        long_way = globs._compile(pattern, globs._piecewise)
        assert set(filter(compile_glob(pattern), keys)) == expected, pattern
        assert set(filter(long_way, keys)) == expected, pattern
        assert all(key.startswith(literal_prefix(pattern)) for key in expected), pattern


def random_pattern(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return bytes(rng.choices(ALPHABET, k=rng.randint(0, 8)))
    parts = [b"*", b"?", b"[a-c]", b"[^ab]", b"[c-a", b"a", b"b", b"\\", b"[\x80-b]", b"[^", b"]"]
    return b"".join(rng.choices(parts, k=rng.randint(1, 5)))
