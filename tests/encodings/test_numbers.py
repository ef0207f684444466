"""Numbers: edge values, and a real Redis as the judge of random ones."""

import math
import random
import struct
from collections.abc import Iterator

import pytest

from stratakv.encodings.layout.numbers import (
    LongDouble,
    add_long_doubles,
    format_float,
    format_long_double,
    parse_float,
    parse_int,
    parse_long_double,
)
from tests.harness.servers import RedisServer
from tests.harness.wire import Reply, WireClient

CASES = 400
KEY = b"encodings:numbers"


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[WireClient]:
    with WireClient(redis_server.port) as client:
        yield client
        client.send("DEL", KEY)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"0", 0),
        (b"7", 7),
        (b"-1", -1),
        (b"10", 10),
        (b"999999999999999999", 10**18 - 1),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
    ],
)
def test_canonical_int64_text_is_an_integer(text: bytes, value: int) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"-", b"+", b"+1", b"-0", b"00", b"01", b"-01", b" 1", b"1 ", b"1\n", b"\t1"),
        *(b"1_0", b"--1", b"1-", b"0x1", b"1.0", b"1e1", b"\xd9\xa1", b"\xb2", b"1\0", b"- 1"),
        *(b"9223372036854775808", b"-9223372036854775809", b"99999999999999999999"),
        *(b"000000000000000000001", b"1" * 5000, b"-" + b"1" * 5000),
    ],
)
def test_other_text_is_no_integer(text: bytes) -> None:
    assert parse_int(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1", 1.0),
        (b"+1", 1.0),
        (b".5", 0.5),
        (b"5.", 5.0),
        (b"1e5", 1e5),
        (b"0e9999", 0.0),
        (b"5e-324", 5e-324),
        (b"0x10", 16.0),
        (b"0x.8p1", 1.0),
        (b"0X1P+3", 8.0),
        (b"inf", math.inf),
        (b"+INF", math.inf),
        (b"-InFiNiTy", -math.inf),
    ],
)
def test_strtod_text_is_a_float(text: bytes, value: float) -> None:
    assert parse_float(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b".", b"e1", b"1e", b" 1", b"1 ", b"\x0b1", b"1\0", b"1_0", b"nan", b"-nan"),
        *(b"nan(1)", b"0x", b"0x.", b"0xp1", b"infi", b"--1", b"1e400", b"-1e400", b"1e-400"),
        *(b"2e-324", b"0x1p-1080", b"0x1p1024", b"\xd9\xa1"),
    ],
)
def test_other_text_is_no_float(text: bytes) -> None:
    assert parse_float(text) is None


def test_negative_zero_keeps_its_sign_when_printed() -> None:
    assert format_float(-0.0) == b"-0"
    assert format_float(0.0) == b"0"


def test_infinities_are_printed_as_redis_does() -> None:
    assert [format_float(math.inf), format_float(-math.inf)] == [b"inf", b"-inf"]


@pytest.mark.parametrize(
    ("one", "other", "total"),
    [
        (b"10.50", b"0.1", b"10.6"),
        (b"5.0e3", b"2.0e2", b"5200"),
        (b"3", b"1.000000000000000005", b"4.00000000000000001"),
        (b"-1e-30", b"0", b"0"),
        (b"-0", b"-0", b"0"),
        (b"18446744073709551615", b"0", b"18446744073709551615"),
        (b"18446744073709551615", b"0.5", b"18446744073709551616"),
        (b"0x10", b"0x.8", b"16.5"),
    ],
)
def test_sums_have_the_digits_of_a_long_double(one: bytes, other: bytes, total: bytes) -> None:
    assert incremented(one, other) == total


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b" 1", b"1 ", b"nan", b"1e", b"1e5000", b"-1e4933", b"1e-5000", b"1e99999999999"),
        *(b"1e-99999999999", b"0x1p99999999", b"0x1p-99999999", b"0" * 5120, b"0x", b"."),
    ],
)
def test_what_redis_refuses_is_no_long_double(text: bytes) -> None:
    assert parse_long_double(text) is None


def test_the_longest_accepted_text_is_one_byte_below_five_kib() -> None:
    assert parse_long_double(b"0" * 5118 + b"1") == LongDouble(1, 0)


def test_a_long_double_beyond_the_digit_limit_of_int_is_read_and_printed() -> None:
    text = b"1" * 4900
    value = parse_long_double(text)
    assert value is not None
    printed = format_long_double(value)
    assert len(printed) == 4900
    assert printed.startswith(b"1111111111111111111")


def test_many_digits_make_up_for_a_low_exponent() -> None:
    assert parse_long_double(b"1" + b"0" * 5099 + b"e-10001") == parse_long_double(b"1e-4902")


@pytest.mark.parametrize("pair", [(b"inf", b"1"), (b"1", b"-inf"), (b"inf", b"-inf")])
def test_infinite_sums_are_refused(pair: tuple[bytes, bytes]) -> None:
    left, right = map(parse_long_double, pair)
    assert left is not None
    assert right is not None
    assert left.is_infinite or right.is_infinite
    assert add_long_doubles(left, right) is None


def test_an_overflowing_sum_is_refused() -> None:
    greatest = parse_long_double(b"0xffffffffffffffffp16320")
    assert greatest is not None
    assert add_long_doubles(greatest, greatest) is None


def test_redis_agrees_on_what_is_an_integer(redis: WireClient) -> None:
    texts = [random_int_text(rng) for rng in generators(1)]
    replies = redis.pipeline(
        command for text in texts for command in (("SET", KEY, 0), ("INCRBY", KEY, text))
    )[1::2]
    for text, reply in zip(texts, replies, strict=True):
        assert parse_int(text) == reply.frame.number, text


def test_redis_agrees_on_what_is_a_float_and_prints_it_so(redis: WireClient) -> None:
    texts = [random_float_text(rng) for rng in generators(2)]
    replies = redis.pipeline(
        command
        for text in texts
        for command in (("DEL", KEY), ("ZADD", KEY, text, "m"), ("ZSCORE", KEY, "m"))
    )[2::3]
    for text, reply in zip(texts, replies, strict=True):
        value = parse_float(text)
        # A small sorted set of Redis forgets the sign of zero.
        assert (None if value is None else format_float(value + 0.0)) == reply.frame.data, text


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_prints_doubles_the_same(redis_server: RedisServer, protocol: int) -> None:
    values = [random_double(rng) for rng in generators(3)]
    with WireClient(redis_server.port, protocol) as client:
        replies = client.pipeline(
            command
            for value in values
            for command in (("ZADD", KEY, repr(value), "m"), ("ZSCORE", KEY, "m"))
        )[1::2]
        client.send("DEL", KEY)
    for value, reply in zip(values, replies, strict=True):
        assert reply.frame.kind == ("$" if protocol == 2 else ",")
        assert format_float(value + 0.0) == reply.frame.data, value


def test_redis_agrees_on_sums_of_long_doubles(redis: WireClient) -> None:
    pairs = [(random_addend(rng), random_addend(rng)) for rng in generators(4)]
    replies = redis.pipeline(
        command for one, other in pairs for command in increment_commands(one, other)
    )[1::2]
    for (one, other), reply in zip(pairs, replies, strict=True):
        assert incremented(one, other) == outcome(reply), (one, other)


def increment_commands(one: bytes, other: bytes) -> Iterator[tuple[bytes, ...]]:
    yield b"SET", KEY, one
    yield b"INCRBYFLOAT", KEY, other


def incremented(one: bytes, other: bytes) -> bytes:
    """What INCRBYFLOAT makes of a value and an increment."""
    left, right = parse_long_double(one), parse_long_double(other)
    if left is None or right is None:
        return b"invalid"
    total = add_long_doubles(left, right)
    return b"infinite" if total is None else format_long_double(total)


def outcome(reply: Reply) -> bytes:
    data = reply.frame.data or b""
    if not reply.frame.is_error:
        return data
    return b"infinite" if b"NaN or Infinity" in data else b"invalid"


def generators(seed: int) -> Iterator[random.Random]:
    rng = random.Random(seed)
    return (rng for _ in range(CASES))


def random_int_text(rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return b"%d" % rng.randint(-(2**65), 2**65)
    if kind == 1:
        return b"%d" % (rng.choice([-1, 1]) * 2**63 + rng.randint(-3, 3))
    if kind == 2:
        return b"%d" % rng.randint(-1000, 1000)
    return bytes(rng.choices(b"00012345-+ _x.", k=rng.randint(0, 4)))


def random_float_text(rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(rng.choices(b"0123.eE+-xXp iInf_", k=rng.randint(0, 6)))
    if kind == 1:
        return b"%d.%de%d" % (rng.randint(-9, 9), rng.getrandbits(60), rng.randint(-330, 312))
    if kind == 2:
        return b"0x%x.%xp%d" % (rng.getrandbits(60), rng.getrandbits(30), rng.randint(-1150, 970))
    return random_case(rng, rng.choice([b"inf", b"infinity", b"+inf", b"-Infinity", b"nan"]))


def random_case(rng: random.Random, text: bytes) -> bytes:
    return bytes(rng.choice((byte, byte ^ 32)) if chr(byte).isalpha() else byte for byte in text)


def random_double(rng: random.Random) -> float:
    kind = rng.randrange(5)
    if kind == 0:
        value: float = struct.unpack(">d", rng.randbytes(8))[0]
        return 0.5 if math.isnan(value) else value
    if kind == 1:
        return rng.choice([-1, 1]) * float(2**53 + rng.randint(-5, 5))
    if kind == 2:
        return rng.getrandbits(50) * 5e-324
    if kind == 3:
        return float(rng.randint(-(10**18), 10**18))
    return rng.choice([0.0, -0.0, math.inf, -math.inf, 1e17, 1e16, -1e15, 1.7976931348623157e308])


def random_addend(rng: random.Random) -> bytes:
    kind = rng.randrange(8)
    sign = rng.choice([b"", b"-", b"+"])
    if kind == 0:
        return b"%b%d.%017d" % (sign, rng.getrandbits(rng.randint(1, 70)), rng.getrandbits(56))
    if kind == 1:
        return b"%b%d.%de%d" % (sign, rng.randint(0, 9), rng.getrandbits(70), rng.randint(-30, 30))
    if kind == 2:
        return b"%b%de%d" % (sign, rng.getrandbits(70), rng.randint(-4985, 4920))
    if kind == 3:
        return b"%b0x%x.%xp%d" % (
            sign,
            rng.getrandbits(80),
            rng.getrandbits(9),
            rng.randint(-99, 9),
        )
    if kind == 4:
        return b"%b%d" % (sign, rng.choice([2**63, 2**64, 2**65]) + rng.randint(-3, 3))
    if kind == 5:
        return b"0" * rng.randint(5116, 5121) + b"%d" % rng.randint(0, 9)
    if kind == 6:
        return rng.choice([b"inf", b"-inf", b"nan", b"", b" 1", b"1 ", b"1e", b"0x", b"1\0"])
    return b"%b%d.%d" % (sign, rng.randint(0, 99), rng.randint(0, 99))
