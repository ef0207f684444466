"""HyperLogLogs without a server: both forms, what they hold, and bytes that Redis 7.0.15 made."""

import random
from hashlib import sha256

import pytest

from stratakv import errors
from stratakv.encodings.types.hyperloglog import hll_registers, hll_sparse, hyperloglog
from stratakv.encodings.types.hyperloglog.hll_sparse import REGISTERS, Malformed
from stratakv.encodings.types.strings import strings
from stratakv.errors import CommandError
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"key"


def nothing() -> None:
    """No pause."""


@pytest.fixture(params=[False, True], ids=["plain", "patient"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(MemoryEngine(), patient=request.param)


def elements(count: int) -> list[bytes]:
    return [b"element:%d" % number for number in range(count)]


def stored(bench: Bench, key: bytes = KEY) -> bytes:
    value: bytes = bench.do(strings.find, key)
    return value


def random_registers(seed: int, share: float) -> bytes:
    rng = random.Random(seed)
    return bytes(rng.randrange(1, 33) if rng.random() < share else 0 for _ in range(REGISTERS))


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_registers_survive_packing(share: float) -> None:
    registers = random_registers(1, share)
    assert hll_registers.unpack(hll_registers.pack(registers)) == registers


def test_packing_puts_low_bits_first() -> None:
    registers = bytes((1, 2, 3, 4)) + bytes(REGISTERS - 4)
    expected = 1 | 2 << 6 | 3 << 12 | 4 << 18
    assert hll_registers.pack(registers)[:3] == expected.to_bytes(3, "little")


def test_the_highest_of_two_is_that_of_each_register() -> None:
    left, right = random_registers(1, 0.7), random_registers(2, 0.7)
    assert hll_registers.highest(left, right) == bytes(map(max, left, right))


def test_a_packed_register_is_raised_and_never_lowered() -> None:
    registers = random_registers(3, 0.5)
    packed = bytearray(hll_registers.pack(registers))
    wanted = bytearray(registers)
    rng = random.Random(4)
    for index in (0, 1, REGISTERS - 1, *(rng.randrange(REGISTERS) for _ in range(500))):
        value = rng.randrange(1, 52)
        assert hll_registers.raise_packed(packed, index, value) == (value > wanted[index])
        wanted[index] = max(wanted[index], value)
    assert hll_registers.unpack(bytes(packed)) == wanted


@pytest.mark.parametrize("rising", [True, False])
def test_sparse_opcodes_hold_what_was_raised(rising: bool) -> None:
    rng = random.Random(5)
    editor = hll_sparse.SparseEditor(hll_sparse.empty())
    wanted = bytearray(REGISTERS)
    indexes = [rng.randrange(REGISTERS) for _ in range(600)]
    for index in sorted(indexes) if rising else indexes:
        value = rng.choice((1, 1, 1, 2, 32))
        assert editor.raise_register(index, value, 10_000) == (value > wanted[index])
        wanted[index] = max(wanted[index], value)
    assert hll_sparse.expand(bytes(editor.raw)) == wanted


def test_neighbours_of_one_value_become_one_opcode() -> None:
    editor = hll_sparse.SparseEditor(hll_sparse.empty())
    for index in (100, 102, 101, 103, 104):
        editor.raise_register(index, 3, 10_000)
    found = list(hll_sparse.opcodes(bytes(editor.raw)))
    assert found == [("Z", 100, 0), ("v", 4, 3), ("v", 1, 3), ("Z", REGISTERS - 105, 0)]


def test_a_sparse_form_without_room_is_left_alone() -> None:
    editor = hll_sparse.SparseEditor(hll_sparse.empty())
    assert editor.raise_register(500, 1, 4) is None
    assert bytes(editor.raw) == hll_sparse.empty()


@pytest.mark.parametrize("raw", [b"", b"\x00", b"\x7f", b"\x7f\xff\x00", b"\x7f\xff\x80"])
def test_opcodes_for_more_or_fewer_registers_are_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed):
        hll_sparse.expand(raw)


# Made by redis-server 7.0.15: PFADD of element:0 to element:<count - 1>, each by itself.
GOLDEN = {
    1: "54bd0380d9e97039",
    100: "28e31e2547b980be",
    2000: "1413d367ae2022e9",
    5000: "71b7f4ee38b39f4e",
}


@pytest.mark.parametrize("count", GOLDEN)
def test_the_bytes_are_those_of_redis(bench: Bench, count: int) -> None:
    bench.do(hyperloglog.add, KEY, elements(count))
    assert sha256(stored(bench)).hexdigest()[:16] == GOLDEN[count]


def test_an_estimate_is_kept_until_the_next_change(bench: Bench) -> None:
    bench.do(hyperloglog.add, KEY, elements(100))
    assert stored(bench)[15] & 0x80
    found = bench.do(hyperloglog.count, KEY)
    assert stored(bench)[8:16] == found.to_bytes(8, "little")
    assert not bench.do(hyperloglog.add, KEY, elements(100))
    assert not stored(bench)[15] & 0x80
    assert bench.do(hyperloglog.add, KEY, [b"another"])
    assert stored(bench)[15] & 0x80


@pytest.mark.parametrize("count", [0, 1, 10, 1000, 30_000])
def test_estimates_are_near(bench: Bench, count: int) -> None:
    bench.do(hyperloglog.add, KEY, elements(count))
    assert bench.do(hyperloglog.count, KEY) == pytest.approx(count, rel=0.03)


def test_a_union_counts_common_elements_once(bench: Bench) -> None:
    bench.do(hyperloglog.add, b"a", elements(3000))
    bench.do(hyperloglog.add, b"b", elements(500))
    bench.do(hyperloglog.merge, KEY, (b"a", b"b", b"absent"))
    assert bench.do(hyperloglog.count_union, (b"a", b"b")) == bench.do(hyperloglog.count, b"a")
    assert bench.do(hyperloglog.count, KEY) == bench.do(hyperloglog.count, b"a")


def test_merging_small_ones_stays_sparse(bench: Bench) -> None:
    bench.do(hyperloglog.add, b"a", elements(50))
    bench.do(hyperloglog.add, b"b", elements(90))
    bench.do(hyperloglog.merge, KEY, (b"a", b"b"))
    assert not bench.do(hyperloglog.find, KEY).is_dense
    assert stored(bench)[16:] == stored(bench, b"b")[16:]


@pytest.mark.parametrize(
    "value", [b"", b"HYLL", b"HYLL\x02" + bytes(11), b"hyll\x01" + bytes(13), b"HYLL" + bytes(99)]
)
def test_other_strings_are_refused(bench: Bench, value: bytes) -> None:
    bench.do(strings.assign, KEY, value)
    for operation in (hyperloglog.add, hyperloglog.merge):
        with pytest.raises(CommandError) as caught:
            bench.do(operation, KEY, [b"x"])
        assert caught.value.text == errors.NOT_HLL


def test_broken_opcodes_are_found(bench: Bench) -> None:
    bench.do(hyperloglog.add, KEY, elements(10))
    bench.do(strings.assign, KEY, stored(bench) + b"hello")
    with pytest.raises(Malformed):
        bench.do(hyperloglog.count, KEY)
    with pytest.raises(Malformed):
        bench.do(hyperloglog.merge, b"other", [KEY])


def test_long_work_gives_way() -> None:
    bench = Bench(MemoryEngine())
    bench.do(hyperloglog.add, KEY, [b"x" * 100_000])
    assert bench.long_runs == 1
    assert bench.do(hyperloglog.count, KEY) == 1
