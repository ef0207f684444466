"""Strings in pieces: row by row, and against plain bytes with a small piece size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratakv.encodings.keyspace.limits import PIECE_BYTES, Limits
from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.layout import metas
from stratakv.encodings.layout.metas import PIECES, STRING
from stratakv.encodings.types.keys import copying, keys
from stratakv.encodings.types.strings import bitmaps, bits, strings
from stratakv.encodings.types.strings.bits import FieldAction, FieldOp, FieldType, Unit
from stratakv.encodings.types.strings.pieces import IN_PLACE_BYTES, Pieces
from stratakv.encodings.upkeep.check import Checker
from stratakv.encodings.upkeep.reclaim import Reclaimer
from stratakv.errors import CommandError
from stratakv.storage.contract import Snapshot
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench
from tests.harness.effort import rounds

KEY, OTHER = b"key", b"other"
SMALL = 8
U16 = FieldType(signed=False, bits=16)


@pytest.fixture(params=[False, True], ids=["plain", "patient"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(MemoryEngine(), patient=request.param)


def number_of_rows(bench: Bench, key: bytes = KEY) -> int:
    return len(bench.rows(key))


def whole(bench: Bench, key: bytes = KEY) -> bytes | None:
    def read(txn: Txn) -> bytes | None:
        value = strings.find(txn, key)
        return bytes(value) if isinstance(value, Pieces) else value

    found: bytes | None = bench.do(read)
    return found


def drained(bench: Bench) -> None:
    """Reclaim all that is dead, and compact what is to be compacted."""
    reclaimer = Reclaimer(bench.keyspace)
    while reclaimer.work(float("inf")):
        bench.commit()
    bench.commit()
    while (wanted := reclaimer.next_compaction()) is not None:
        reclaimer.compacted(wanted)
    bench.commit()


def rows_in_store(bench: Bench, prefix: bytes) -> list[bytes]:
    return list(bench.keyspace.store.engine.scan_keys(prefix, prefix + b"\xff"))


# with the real size


def test_a_string_longer_than_a_piece_is_in_pieces_behind_a_small_meta(bench: Bench) -> None:
    value = bytes(range(256)) * 1024
    bench.do(strings.assign, KEY, value[:PIECE_BYTES])
    meta = bench.meta(KEY)
    assert meta is not None
    assert (meta.encoding, meta.sub) == (0, b"")
    bench.do(strings.assign, KEY, value[: PIECE_BYTES + 1])
    meta = bench.meta(KEY)
    assert meta is not None
    assert (meta.type, meta.encoding, meta.extra) == (STRING, PIECES, PIECE_BYTES + 1)
    assert len(metas.encode(meta) or b"") == 26
    assert bench.rows(KEY) == {
        b"\0\0\0\0": value[:PIECE_BYTES],
        b"\0\0\0\1": value[PIECE_BYTES : PIECE_BYTES + 1],
    }
    assert whole(bench) == value[: PIECE_BYTES + 1]


def test_a_write_far_out_makes_one_piece(bench: Bench) -> None:
    far = 501970112
    assert bench.do(strings.overwrite, KEY, far, b"test") == far + 4
    assert bench.do(bitmaps.set_bit, OTHER, (512 << 23) - 1, 1) == 0
    assert number_of_rows(bench) == number_of_rows(bench, OTHER) == 1
    assert bench.do(strings.find_part, KEY, far - 2, far + 9) == b"\0\0test"
    assert bench.do(lambda txn: strings.length(txn.find(OTHER))) == 512 << 20


class WatchedEngine(MemoryEngine):
    """Notes which sub rows are read, from it and from its snapshots."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[bytes] = []

    def get(self, row: bytes) -> bytes | None:
        self._note(row)
        return super().get(row)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        for row, value in super().scan(start, stop, reverse=reverse):
            self._note(row)
            yield row, value

    def snapshot(self) -> WatchedSnapshot:  # type: ignore[override]  # it has all that is used
        return WatchedSnapshot(self, super().snapshot())

    def _note(self, row: bytes) -> None:
        if row[:2] == b"s#":
            self.reads.append(row)


class WatchedSnapshot:
    """A snapshot whose reads are noted."""

    def __init__(self, engine: WatchedEngine, snapshot: Snapshot) -> None:
        self._engine = engine
        self._snapshot = snapshot
        self.scan_keys, self.close = snapshot.scan_keys, snapshot.close

    def get(self, row: bytes) -> bytes | None:
        self._engine._note(row)
        return self._snapshot.get(row)

    def scan(
        self, start: bytes, stop: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        for row, value in self._snapshot.scan(start, stop, reverse=reverse):
            self._engine._note(row)
            yield row, value


@pytest.mark.parametrize("patient", [False, True], ids=["plain", "patient"])
def test_parts_touch_only_their_pieces(patient: bool) -> None:
    engine = WatchedEngine()
    bench = Bench(engine, patient=patient)
    bench.do(strings.assign, KEY, b"x" * (15 * PIECE_BYTES))
    stats = bench.keyspace.store.stats
    at = 7 * PIECE_BYTES + 5
    increment = FieldOp(FieldAction.INCRBY, U16, 8 * at, 1)
    calls: list[tuple[Any, tuple[Any, ...], int]] = [
        (strings.find_part, (at, at + 9), 1),
        (strings.overwrite, (at, b"y"), 1),
        (strings.append, (b"y",), 0),
        (bitmaps.set_bit, (8 * at, 1), 1),
        (bitmaps.run_fields, ([increment],), 1),
        (keys.expire, (bench.clock.now_ms + 1000, frozenset[bytes]()), 0),
        (keys.persist, (), 0),
        (strings.increment, (1,), 0),
    ]
    for operation, arguments, most in calls:
        engine.reads.clear()
        written = stats.rows
        with suppress(CommandError):
            bench.do(operation, KEY, *arguments)
        assert len(set(engine.reads)) <= most, operation
        assert stats.rows - written <= 5, operation
    engine.reads.clear()
    assert bench.do(partial(keys.count_existing, uses=True), (KEY,)) == 1
    assert bench.do(keys.delete, (KEY,)) == 1
    assert engine.reads == []


def test_a_string_changes_its_version_with_its_length(bench: Bench) -> None:
    later = bench.clock.now_ms + 1000
    bench.do(strings.assign, KEY, b"a" * PIECE_BYTES, later)
    steps: list[tuple[Any, tuple[Any, ...], int]] = [
        (strings.append, (b"b",), PIECES),
        (strings.assign, (b"short", later), 0),
        (strings.overwrite, (PIECE_BYTES, b"c"), PIECES),
        (strings.exchange, (b"",), 0),
        (bitmaps.set_bit, (8 * PIECE_BYTES + 7, 1), PIECES),
    ]
    for operation, arguments, encoding in steps:
        bench.do(operation, KEY, *arguments)
        meta = bench.meta(KEY)
        assert meta is not None
        assert meta.encoding == encoding, operation
        drained(bench)
        stored = rows_in_store(bench, b"s#")
        assert len(stored) == (number_of_rows(bench) if encoding else 0)
        assert list(Checker(bench.keyspace.store.engine).run()) == []
    database = bench.keyspace.databases[0]
    assert (database.live, database.expiring) == (1, 0)


def test_a_dead_string_leaves_nothing_and_is_not_read(bench: Bench) -> None:
    bench.do(strings.overwrite, KEY, 100 * PIECE_BYTES, b"end")
    bench.do(strings.overwrite, KEY, 3, b"begin")
    bench.do(keys.delete, (KEY,))
    assert len(rows_in_store(bench, b"s#")) == 2
    drained(bench)
    assert rows_in_store(bench, b"s#") == rows_in_store(bench, b"g#") == []


def test_what_is_unfinished_is_reclaimed_after_a_crash() -> None:
    engine = MemoryEngine()
    bench = Bench(engine, patient=True)

    def cut_short(txn: Txn) -> None:
        strings.assign(txn, KEY, bytes(40 * PIECE_BYTES))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.do(cut_short)
    assert len(rows_in_store(bench, b"s#")) == 32  # two batches of a megabyte were written
    assert whole(bench) is None
    again = Bench(engine)
    drained(again)
    assert rows_in_store(again, b"s#") == rows_in_store(again, b"g#") == []


def test_long_values_are_written_in_small_batches(bench: Bench) -> None:
    bench.do(strings.assign, KEY, b"v" * (5 << 20))
    bench.do(strings.append, KEY, b"w" * (IN_PLACE_BYTES + 1))
    assert bench.largest_write <= (1 << 20) + (1 << 16)
    bench.do(lambda txn: copying.copy_key(txn, KEY, txn, OTHER, replace=False))
    assert bench.largest_write <= (1 << 20) + (1 << 16)
    assert whole(bench, OTHER) == b"v" * (5 << 20) + b"w" * (IN_PLACE_BYTES + 1)


def test_a_unit_that_touches_many_pieces_does_not_keep_them_all() -> None:
    bench = Bench(MemoryEngine(), patient=True)
    count = 200
    bench.do(strings.overwrite, KEY, count * PIECE_BYTES, b"end")
    kept: list[int] = []

    def touch_all(txn: Txn) -> None:
        for number in range(count):
            strings.overwrite(txn, KEY, number * PIECE_BYTES, b"%d" % number)
            bitmaps.set_bit(txn, KEY, 8 * ((number + 1) * PIECE_BYTES - 1), 1)
            kept.append(sum(len(value or b"") for value in txn.rows.values()))

    bench.do(touch_all)
    assert max(kept) <= IN_PLACE_BYTES + (2 << 20)
    assert bench.largest_write <= (1 << 20) + 2 * PIECE_BYTES
    for number in (0, 77, count - 1):
        at = number * PIECE_BYTES
        text = b"%d" % number
        assert bench.do(strings.find_part, KEY, at, at + len(text)) == text + b"\0"
        assert (
            bench.do(strings.find_part, KEY, at + PIECE_BYTES - 1, at + PIECE_BYTES - 1) == b"\x80"
        )
    assert bench.do(strings.find_part, KEY, -3, -1) == b"end"
    drained(bench)
    assert len(rows_in_store(bench, b"s#")) == number_of_rows(bench) == count + 1


def test_a_reply_shows_what_was_there_before_later_writes() -> None:
    bench = Bench(MemoryEngine(), patient=True)
    value = b"v" * (2 << 20)
    bench.do(strings.assign, KEY, value)

    def exchange(txn: Txn) -> bytes:
        old = strings.exchange(txn, KEY, b"new")
        assert isinstance(old, Pieces)
        assert old.is_frozen
        strings.assign(txn, KEY, b"w" * (2 << 20))
        return bytes(old)

    assert bench.do(exchange) == value


def test_old_strings_in_one_row_are_read_and_divided_when_written(bench: Bench) -> None:
    value = b"old" * 30_000
    for operation, arguments in (
        (strings.append, (b"!",)),
        (strings.overwrite, (1, b"!")),
        (bitmaps.set_bit, (0, 1)),
        (keys.expire, (bench.clock.now_ms + 9, frozenset[bytes]())),
    ):
        bench.do(lambda txn: txn.assign(KEY, value))
        assert bench.meta(KEY).encoding == 0  # type: ignore[union-attr]
        assert whole(bench) == value
        assert bench.do(strings.find_part, KEY, 80_000, 80_002) == value[80_000:80_003]
        bench.do(operation, KEY, *arguments)
        assert bench.meta(KEY).encoding == PIECES  # type: ignore[union-attr]
        assert len(whole(bench) or b"") in (len(value), len(value) + 1)


def test_a_huge_old_string_is_not_cached() -> None:
    bench = Bench(MemoryEngine())
    bench.do(lambda txn: txn.assign(KEY, bytes(2 << 20)))
    database = bench.keyspace.databases[0]
    database.forget()
    assert bench.do(partial(keys.count_existing, uses=True), (KEY,)) == 1
    assert KEY not in database.cache


# with a small size, against plain bytes

OFFSETS = st.integers(0, 60)
DATA = st.binary(max_size=40)
STEPS = st.one_of(
    st.tuples(st.just("assign"), DATA),
    st.tuples(st.just("append"), DATA),
    st.tuples(st.just("overwrite"), OFFSETS, DATA),
    st.tuples(st.just("set_bit"), st.integers(0, 400), st.integers(0, 1)),
    st.tuples(st.just("field"), st.integers(0, 300), st.integers(0, 65535)),
    st.tuples(st.just("part"), st.integers(-70, 70), st.integers(-70, 70)),
    st.tuples(st.just("get_bit"), st.integers(0, 600)),
    st.tuples(st.just("count"), st.integers(-70, 70), st.integers(-70, 70), st.sampled_from(Unit)),
    st.tuples(st.just("place"), st.integers(0, 1), st.integers(-70, 70), st.sampled_from(Unit)),
    st.tuples(st.just("combine"), st.sampled_from([b"AND", b"OR", b"XOR", b"NOT"]), DATA),
    st.tuples(st.just("rename")),
    st.tuples(st.just("delete")),
)


class Model:
    """The same steps on plain bytes and on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.value = b""

    def check(self) -> None:
        meta = self.bench.meta(KEY)
        assert (whole(self.bench) or b"") == self.value
        assert strings.length(meta) == len(self.value)
        if meta is not None:
            assert meta.encoding == (PIECES if len(self.value) > SMALL else meta.encoding)
        for name, piece in self.bench.rows(KEY).items() if meta is not None and meta.sub else ():
            number = int.from_bytes(name, "big")
            assert len(piece) <= min(SMALL, len(self.value) - number * SMALL)

    def assign(self, data: bytes) -> None:
        self.bench.do(strings.assign, KEY, data)
        self.value = data

    def append(self, data: bytes) -> None:
        self.value += data
        assert self.bench.do(strings.append, KEY, data) == len(self.value)

    def overwrite(self, at: int, data: bytes) -> None:
        if data:
            value = self.value.ljust(at, b"\0")
            self.value = value[:at] + data + value[at + len(data) :]
        assert self.bench.do(strings.overwrite, KEY, at, data) == len(self.value)

    def set_bit(self, offset: int, bit: int) -> None:
        value = bytearray(self.value)
        old = bits.set_bit(value, offset, bit)
        self.value = bytes(value)
        assert self.bench.do(bitmaps.set_bit, KEY, offset, bit) == old

    def field(self, offset: int, number: int) -> None:
        ops = [
            FieldOp(FieldAction.SET, U16, offset, number),
            FieldOp(FieldAction.GET, U16, offset + 3),
            FieldOp(FieldAction.INCRBY, U16, offset + 9, number),
        ]
        value = bytearray(self.value)
        expected = bits.bitfield(value, ops)
        self.value = bytes(value)
        assert self.bench.do(bitmaps.run_fields, KEY, ops) == expected

    def part(self, start: int, end: int) -> None:
        size = len(self.value)
        first = max(0, start + size if start < 0 else start)
        last = min(max(0, end + size if end < 0 else end), size - 1)
        expected = b"" if start < 0 and end < 0 and start > end else self.value[first : last + 1]
        assert self.bench.do(lambda txn: bytes(strings.find_part(txn, KEY, start, end))) == expected

    def get_bit(self, offset: int) -> None:
        found = self._looked_into(lambda value: bits.get_bit(value, offset))
        assert found == bits.get_bit(self.value, offset)

    def count(self, start: int, end: int, unit: Unit) -> None:
        found = self._looked_into(lambda value: bits.bitcount(value, start, end, unit))
        assert found == bits.bitcount(self.value, start, end, unit)

    def place(self, bit: int, start: int, unit: Unit) -> None:
        for end in (None, start + 30):
            args = (bit, start, end, unit)
            found = self._looked_into(lambda value, args=args: bits.bitpos(value, *args))
            assert found == bits.bitpos(self.value, *args)

    def combine(self, operation: bytes, other: bytes) -> None:
        self.bench.do(strings.assign, OTHER, other)
        values, sources = [self.value, other], [KEY, OTHER]
        if operation == b"NOT":
            values, sources = values[:1], sources[:1]
        self.value = b"".join(bits.bitop(operation, values))
        assert self.bench.do(bitmaps.combine, operation, KEY, sources) == len(self.value)

    def rename(self) -> None:
        def there_and_back(txn: Txn) -> None:
            for source, target in ((KEY, b"third"), (b"third", KEY)):
                meta = txn.find(source)
                if meta is not None:
                    copying.rename(txn, meta, source, target)

        self.bench.do(there_and_back)

    def delete(self) -> None:
        self.bench.do(keys.delete, (KEY,))
        self.value = b""

    def _looked_into(self, look: Any) -> Any:
        return self.bench.do(lambda txn: look(strings.find_opened(txn, KEY) or b""))


@pytest.mark.effort
@pytest.mark.parametrize("patient", [False, True], ids=["plain", "patient"])
@given(steps=st.lists(STEPS, max_size=20))
@settings(max_examples=rounds(150), deadline=None)
def test_any_steps_leave_the_bytes_that_they_leave_in_plain_bytes(
    patient: bool, steps: list[tuple[Any, ...]]
) -> None:
    bench = Bench(MemoryEngine(), patient=patient)
    bench.keyspace.limits = Limits(piece_bytes=SMALL)
    model = Model(bench)
    with (
        patch.object(bits, "CHUNK", SMALL),
        patch.object(strings, "IN_PLACE_BYTES", 20),
        patch.object(strings, "STREAMED_BYTES", 24),
    ):
        for name, *arguments in steps:
            getattr(model, name)(*arguments)
            model.check()
        bench.do(keys.delete, (KEY, OTHER))
        drained(bench)
    assert rows_in_store(bench, b"s#") == rows_in_store(bench, b"g#") == []
