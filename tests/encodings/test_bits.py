"""Bits: edge values, breathing, and a real Redis as the judge of random values."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from stratakv.encodings.types.strings.bits import (
    CHUNK,
    FieldAction,
    FieldOp,
    FieldType,
    Overflow,
    Unit,
    bitcount,
    bitfield,
    bitop,
    bitpos,
    get_bit,
    parse_bit_offset,
    parse_field_type,
    set_bit,
)
from tests.harness.servers import RedisServer
from tests.harness.wire import WireClient

CASES = 400


def combined(*arguments: Any) -> bytes:
    return b"".join(bitop(*arguments))


KEY = b"{encodings:bits}"
OTHER_KEYS = [KEY + b"%d" % number for number in range(3)]
U8, I8, I64, U63 = (
    FieldType(False, 8),
    FieldType(True, 8),
    FieldType(True, 64),
    FieldType(False, 63),
)


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[WireClient]:
    with WireClient(redis_server.port) as client:
        yield client
        client.send("DEL", KEY, *OTHER_KEYS)


def test_bit_zero_is_the_highest_of_the_first_byte() -> None:
    assert [get_bit(b"\x80\x01", at) for at in (0, 1, 15, 16, 10**9)] == [1, 0, 1, 0, 0]


def test_setting_a_bit_grows_the_value_and_returns_the_old_bit() -> None:
    value = bytearray(b"\xff")
    assert set_bit(value, 0, 0) == 1
    assert set_bit(value, 17, 1) == 0
    assert value == b"\x7f\x00\x40"
    assert set_bit(value, 31, 0) == 0
    assert value == b"\x7f\x00\x40\x00"


def test_counts_of_ranges() -> None:
    assert bitcount(b"foobar") == 26
    assert bitcount(b"foobar", 1, 1) == 6
    assert bitcount(b"foobar", 5, 30, Unit.BIT) == 17
    assert bitcount(b"foobar", -1, -2) == 0
    assert bitcount(b"", 0, -1) == 0
    assert bitcount(b"foobar", 9, 10) == 0


def test_a_zero_is_found_behind_ones_only_without_an_end() -> None:
    assert bitpos(b"\xff\xff", 0) == 16
    assert bitpos(b"\xff\xff", 0, 1) == 16
    assert bitpos(b"\xff\xff", 0, 0, -1) == -1
    assert bitpos(b"\xff\xff", 0, 2) == -1
    assert bitpos(b"", 0) == -1
    assert bitpos(b"\x00", 1) == -1


def test_operations_pad_short_values_with_zeros() -> None:
    assert combined(b"AND", [b"\xff\xff", b"\x0f"]) == b"\x0f\x00"
    assert combined(b"OR", [b"\xf0\x01", b"\x0f", b""]) == b"\xff\x01"
    assert combined(b"XOR", [b"\xff", b"\x0f\x0f"]) == b"\xf0\x0f"
    assert combined(b"NOT", [b"\x00\xff"]) == b"\xff\x00"
    assert combined(b"OR", [b"", b""]) == b""


def test_large_values_breathe_between_chunks_and_give_the_same_answer() -> None:
    breaths: list[None] = []
    value = bytes(3 * CHUNK) + b"\x01"

    def pause_if_due() -> None:
        breaths.append(None)

    assert bitcount(value, pause_if_due=pause_if_due) == 1
    assert len(breaths) == 3
    assert bitpos(value, 1, pause_if_due=pause_if_due) == 3 * CHUNK * 8 + 7
    assert len(breaths) >= 5
    breaths.clear()
    assert combined(b"NOT", [value], pause_if_due) == b"\xff" * (3 * CHUNK) + b"\xfe"
    assert len(breaths) == 3


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (b"u8", U8),
        (b"i8", I8),
        (b"i64", I64),
        (b"u63", U63),
        (b"i1", FieldType(True, 1)),
        *((text, None) for text in (b"", b"u", b"u0", b"u64", b"i65", b"i-1", b"x8", b"i08", b"8")),
    ],
)
def test_field_types(text: bytes, field: FieldType | None) -> None:
    assert parse_field_type(text) == field


def test_bit_offsets_end_with_the_longest_string() -> None:
    assert parse_bit_offset(b"4294967295") == 2**32 - 1
    assert parse_bit_offset(b"4294967296") is None
    assert parse_bit_offset(b"-1") is None
    assert parse_bit_offset(b"#3", 8) == 24
    assert parse_bit_offset(b"#3") is None
    assert parse_bit_offset(b"#", 8) is None


@pytest.mark.parametrize(
    ("overflow", "result", "stored"),
    [
        (Overflow.WRAP, -126, b"\x82"),
        (Overflow.SAT, 127, b"\x7f"),
        (Overflow.FAIL, None, b"\x7d"),
    ],
)
def test_increments_that_overflow(overflow: Overflow, result: int | None, stored: bytes) -> None:
    value = bytearray(b"\x7d")
    op = FieldOp(FieldAction.INCRBY, I8, 0, 5, overflow)
    assert bitfield(value, [op]) == [result]
    assert value == stored


@pytest.mark.parametrize(
    ("field", "number", "stored"),
    [(I8, -129, b"\x80"), (I8, -(2**63), b"\x7f"), (U8, -1, b"\xff"), (U8, 300, b"\xff")],
)
def test_saturated_sets(field: FieldType, number: int, stored: bytes) -> None:
    value = bytearray(1)
    assert bitfield(value, [FieldOp(FieldAction.SET, field, 0, number, Overflow.SAT)]) == [0]
    assert value == stored


def test_a_prevented_write_still_grows_the_value() -> None:
    value = bytearray()
    op = FieldOp(FieldAction.SET, U8, 8, 256, Overflow.FAIL)
    assert bitfield(value, [op]) == [None]
    assert value == b"\0\0"


def test_reading_a_field_does_not_grow_the_value() -> None:
    value = bytearray(b"\xff")
    assert bitfield(value, [FieldOp(FieldAction.GET, I64, 4)]) == [-(2**60)]
    assert value == b"\xff"


def test_redis_counts_and_finds_the_same_bits(redis: WireClient) -> None:
    rng = random.Random(6)
    for _ in range(CASES):
        value = random_value(rng)
        start, end = rng.randint(-50, 50), rng.randint(-50, 50)
        bit, unit = rng.randrange(2), rng.choice(list(Unit))
        replies = redis.pipeline(
            [
                (b"SET", KEY, value),
                (b"BITCOUNT", KEY),
                (b"BITCOUNT", KEY, start, end, unit.name),
                (b"BITPOS", KEY, bit),
                (b"BITPOS", KEY, bit, start),
                (b"BITPOS", KEY, bit, start, end, unit.name),
            ]
        )
        ours = [
            bitcount(value),
            bitcount(value, start, end, unit),
            bitpos(value, bit),
            bitpos(value, bit, start),
            bitpos(value, bit, start, end, unit),
        ]
        theirs = [reply.frame.number for reply in replies[1:]]
        assert ours == theirs, (value, bit, start, end, unit)


def test_redis_combines_values_the_same(redis: WireClient) -> None:
    rng = random.Random(7)
    for _ in range(CASES):
        operation = rng.choice([b"AND", b"OR", b"XOR", b"NOT"])
        values = [random_value(rng) for _ in range(1 if operation == b"NOT" else rng.randint(1, 3))]
        keys = OTHER_KEYS[: len(values)]
        setting = [(b"SET", key, value) for key, value in zip(keys, values, strict=True)]
        replies = redis.pipeline([*setting, (b"BITOP", operation, KEY, *keys), (b"GET", KEY)])
        assert combined(operation, values) == (replies[-1].frame.data or b""), (operation, values)


def test_redis_sets_the_same_bits(redis: WireClient) -> None:
    rng = random.Random(8)
    redis.send("DEL", KEY)
    value = bytearray()
    for _ in range(CASES):
        offset, bit = rng.randrange(200), rng.randrange(2)
        replies = redis.pipeline([(b"SETBIT", KEY, offset, bit), (b"GETBIT", KEY, offset ^ 1)])
        ours = [set_bit(value, offset, bit), get_bit(value, offset ^ 1)]
        assert ours == [reply.frame.number for reply in replies]
    assert redis.send("GET", KEY).frame.data == bytes(value)


def test_redis_runs_bitfields_the_same(redis: WireClient) -> None:
    rng = random.Random(9)
    for _ in range(CASES):
        value = bytearray(random_value(rng) or b"x")
        ops = [random_field_op(rng) for _ in range(rng.randint(1, 4))]
        arguments = [argument for op in ops for argument in field_arguments(op)]
        replies = redis.pipeline(
            [(b"SET", KEY, bytes(value)), (b"BITFIELD", KEY, *arguments), (b"GET", KEY)]
        )
        theirs = [item.number for item in replies[1].frame.items or ()]
        assert bitfield(value, ops) == theirs, ops
        assert bytes(value) == replies[2].frame.data, ops


def random_value(rng: random.Random) -> bytes:
    filler = rng.choice([b"\x00", b"\xff"]) * rng.randint(0, 10)
    return rng.choice([filler, filler + rng.randbytes(rng.randint(0, 30)), rng.randbytes(3)])


def random_field_op(rng: random.Random) -> FieldOp:
    signed = rng.random() < 0.5
    field = FieldType(signed, rng.choice([1, 2, 7, 8, 31, 63, rng.randint(1, 63), 63 + signed]))
    edges = [field.least, field.greatest, 2**63 - 1, -(2**63), 0]
    number = rng.choice([rng.choice(edges) + rng.randint(-2, 2), rng.randint(-300, 300)])
    return FieldOp(
        rng.choice(list(FieldAction)),
        field,
        rng.randrange(100),
        max(-(2**63), min(number, 2**63 - 1)),
        rng.choice(list(Overflow)),
    )


def field_arguments(op: FieldOp) -> list[bytes]:
    name = b"%b%d" % (b"i" if op.type.signed else b"u", op.type.bits)
    arguments = [b"OVERFLOW", op.overflow.value, op.action.value, name, b"%d" % op.offset]
    if op.action is FieldAction.GET:
        return arguments[2:]
    return [*arguments, b"%d" % op.value]
