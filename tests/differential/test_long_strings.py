"""Strings around the length at which they go into pieces: replies and contents are Redis's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.differential.runner import Pair
from tests.differential.templates import Args
from tests.harness.effort import rounds
from tests.harness.servers import Process

PIECE = 65536
KEYS = st.sampled_from([b"a", b"b", b"c"])
PLACES = st.one_of(
    st.integers(0, 3),
    st.integers(PIECE - 3, PIECE + 3),
    st.integers(2 * PIECE - 3, 2 * PIECE + 3),
    st.integers(5 * PIECE, 5 * PIECE + 9),
)
ENDS = st.one_of(PLACES, PLACES.map(lambda place: -place - 1))
LENGTHS = st.one_of(st.integers(0, 5), PLACES)
FILLS = st.sampled_from([b"\0", b"\xff", b"a", b"0123456789"])
SHORT = st.binary(min_size=1, max_size=8)


def text(*words: object) -> Args:
    return tuple(word if isinstance(word, bytes) else str(word).encode() for word in words)


VALUES = st.builds(lambda fill, size: (fill * (size // len(fill) + 1))[:size], FILLS, LENGTHS)
UNITS = st.sampled_from([(), (b"BYTE",), (b"BIT",)])
BIT_ENDS = st.one_of(ENDS, ENDS.map(lambda end: 8 * end))
FIELDS = st.sampled_from([b"u8", b"i16", b"u63", b"i64"])
OFFSETS = st.builds(lambda place, shift: max(0, 8 * place + shift), PLACES, st.integers(-9, 9))
GET = b"return redis.call('GET', KEYS[1])"
TWICE = (
    b"redis.call('APPEND', KEYS[1], ARGV[1]) redis.call('SETRANGE', KEYS[1], ARGV[2], 'y') "
    b"return redis.call('GETRANGE', KEYS[1], ARGV[2], -1)"
)

WRITES = st.one_of(
    st.builds(text, st.just(b"SET"), KEYS, VALUES),
    st.builds(text, st.just(b"SET"), KEYS, VALUES, st.just(b"GET")),
    st.builds(text, st.sampled_from([b"APPEND", b"GETSET", b"SETNX"]), KEYS, VALUES),
    st.builds(text, st.just(b"MSET"), KEYS, VALUES, KEYS, VALUES),
    st.builds(text, st.just(b"SETRANGE"), KEYS, PLACES, SHORT),
    st.builds(text, st.just(b"SETRANGE"), KEYS, PLACES, VALUES),
    st.builds(text, st.just(b"SETBIT"), KEYS, OFFSETS, st.integers(0, 1)),
    st.builds(
        lambda key, kind, at, by: text("BITFIELD", key, "SET", kind, at, by, "INCRBY", kind, at, 7),
        KEYS,
        FIELDS,
        OFFSETS,
        st.integers(-9, 9),
    ),
    st.builds(text, st.just(b"BITOP"), st.sampled_from([b"AND", b"OR", b"XOR"]), KEYS, KEYS, KEYS),
    st.builds(text, st.just(b"BITOP"), st.just(b"NOT"), KEYS, KEYS),
    st.builds(text, st.just(b"EVAL"), st.just(TWICE), st.just(1), KEYS, SHORT, PLACES),
    st.builds(text, st.sampled_from([b"RENAME", b"RENAMENX"]), KEYS, KEYS),
    st.builds(text, st.just(b"COPY"), KEYS, KEYS, st.just(b"REPLACE")),
    st.builds(text, st.sampled_from([b"GETDEL", b"DEL", b"INCR", b"PERSIST"]), KEYS),
    st.builds(text, st.just(b"GETEX"), KEYS, st.just(b"EX"), st.just(1000)),
    st.builds(text, st.sampled_from([b"PFADD", b"INCRBYFLOAT"]), KEYS, st.just(b"1")),
)
READS = st.one_of(
    st.builds(text, st.sampled_from([b"GET", b"STRLEN", b"PFCOUNT", b"TYPE", b"EXISTS"]), KEYS),
    st.builds(text, st.just(b"OBJECT"), st.just(b"ENCODING"), KEYS),
    st.builds(text, st.just(b"MGET"), KEYS, KEYS, KEYS),
    st.builds(text, st.sampled_from([b"GETRANGE", b"SUBSTR"]), KEYS, ENDS, ENDS),
    st.builds(text, st.just(b"GETBIT"), KEYS, OFFSETS),
    st.builds(text, st.just(b"BITCOUNT"), KEYS),
    st.builds(
        lambda key, start, end, unit: text("BITCOUNT", key, start, end, *unit),
        KEYS,
        BIT_ENDS,
        BIT_ENDS,
        UNITS,
    ),
    st.builds(text, st.just(b"BITPOS"), KEYS, st.integers(0, 1)),
    st.builds(
        lambda key, bit, start, end, unit: text("BITPOS", key, bit, start, end, *unit),
        KEYS,
        st.integers(0, 1),
        BIT_ENDS,
        BIT_ENDS,
        UNITS,
    ),
    st.builds(text, st.just(b"EVAL"), st.just(GET), st.just(1), KEYS),
    st.builds(text, st.just(b"LCS"), KEYS, KEYS, st.just(b"LEN")),
)
UNIT: st.SearchStrategy[list[Args]] = st.lists(WRITES | READS, min_size=1, max_size=4).map(
    lambda commands: [(b"MULTI",), *commands, (b"EXEC",)]
)
SEQUENCES = st.lists(
    st.one_of(WRITES.map(lambda command: [command]), READS.map(lambda command: [command]), UNIT),
    min_size=1,
    max_size=12,
)


@pytest.fixture
def pair(redis_server: Process, strata_server: Process, protocol: int) -> Iterator[Pair]:
    both = Pair(redis_server.client, strata_server.client, protocol)
    yield both
    both.clean()


@pytest.mark.effort
def test_strings_around_the_size_of_a_piece_are_as_in_redis(pair: Pair, diff_seed: int) -> None:
    @seed(diff_seed)
    @settings(max_examples=rounds(60), deadline=None)
    @given(SEQUENCES)
    def replies_agree(sequence: list[list[Args]]) -> None:
        pair.run(command for part in sequence for command in part)

    replies_agree()


@pytest.mark.parametrize("length", [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7, (1 << 20) + 5])
def test_a_dumped_string_is_restored_by_both(pair: Pair, length: int) -> None:
    value = bytes(number * 7 % 251 for number in range(length))

    def exchange() -> Iterator[Args]:
        yield text("SET", "a", value)
        for client in (pair.strata, pair.redis):
            payload = client.send("DUMP", "a").frame.data
            yield text("RESTORE", "b", 0, payload, "REPLACE")
            yield text("GET", "b")

    pair.run(exchange())
