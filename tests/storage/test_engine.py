"""The contract of `stratakv.storage.contract`, held by every engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import EmbeddedEngine
from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions, middle_of
from stratakv.storage.memory import MemoryEngine

ENDLESS = b"\xff" * 8


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedEngine]:
    opened: EmbeddedEngine = (
        MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    )
    yield opened
    opened.close()


def everything(engine: EmbeddedEngine) -> list[tuple[bytes, bytes]]:
    return list(engine.scan(b"", ENDLESS))


def test_a_row_reads_as_it_was_written(engine: EmbeddedEngine) -> None:
    engine.write({b"a": b"1", b"empty": b"", b"\x00\xff": bytes(range(256))})
    assert engine.get(b"a") == b"1"
    assert engine.get(b"empty") == b""
    assert engine.get(b"\x00\xff") == bytes(range(256))
    assert engine.get(b"missing") is None


def test_a_batch_puts_and_deletes_together(engine: EmbeddedEngine) -> None:
    engine.write({b"a": b"1", b"b": b"2"})
    engine.write({b"a": None, b"b": b"3", b"never": None})
    assert everything(engine) == [(b"b", b"3")]


def test_a_write_says_about_how_large_it_was(engine: EmbeddedEngine) -> None:
    assert 1000 <= engine.write({b"row": b"x" * 1000}) < 1100


def test_scans_go_in_the_order_of_unsigned_bytes(engine: EmbeddedEngine) -> None:
    rows = [b"", b"\x00", b"a", b"a\x00", b"aa", b"b", b"\x7f", b"\x80", b"\xff"]
    engine.write({row: row for row in reversed(rows)})
    expected = sorted(rows)
    assert list(engine.scan_keys(b"", ENDLESS)) == expected
    assert [value for _, value in engine.scan(b"", ENDLESS)] == expected


def test_a_range_includes_its_start_and_not_its_stop(engine: EmbeddedEngine) -> None:
    engine.write({bytes((letter,)): b"" for letter in b"abcde"})
    assert list(engine.scan_keys(b"b", b"d")) == [b"b", b"c"]
    assert list(engine.scan_keys(b"b", b"d", reverse=True)) == [b"c", b"b"]
    assert list(engine.scan(b"b", b"d", reverse=True)) == [(b"c", b""), (b"b", b"")]
    assert list(engine.scan_keys(b"bb", b"bc")) == []
    assert list(engine.scan_keys(b"d", b"b")) == []


def test_a_scan_does_not_see_what_is_written_while_it_is_consumed(engine: EmbeddedEngine) -> None:
    engine.write({b"a": b"1", b"b": b"1", b"c": b"1"})
    rows, keys = engine.scan(b"a", b"z"), engine.scan_keys(b"a", b"z")
    assert next(rows) == (b"a", b"1")
    assert next(keys) == b"a"
    engine.write({b"b": None, b"c": b"2", b"d": b"2"})
    assert list(rows) == [(b"b", b"1"), (b"c", b"1")]
    assert list(keys) == [b"b", b"c"]


def test_a_snapshot_stays_as_it_was(engine: EmbeddedEngine) -> None:
    engine.write({b"a": b"1", b"b": b"1"})
    snapshot = engine.snapshot()
    engine.write({b"a": None, b"b": b"2", b"c": b"2"})
    assert snapshot.get(b"a") == b"1"
    assert snapshot.get(b"c") is None
    assert list(snapshot.scan(b"", ENDLESS)) == [(b"a", b"1"), (b"b", b"1")]
    assert list(snapshot.scan_keys(b"", ENDLESS, reverse=True)) == [b"b", b"a"]
    snapshot.close()


def test_random_batches_match_a_dict(engine: EmbeddedEngine) -> None:
    turns = random.Random(20)
    model: dict[bytes, bytes] = {}
    for _ in range(200):
        batch = {
            turns.randbytes(turns.randrange(3)): turns.choice([None, turns.randbytes(2)])
            for _ in range(turns.randrange(20))
        }
        engine.write(batch, sync=turns.random() < 0.02)
        for row, value in batch.items():
            model.pop(row, None)
            if value is not None:
                model[row] = value
    assert everything(engine) == sorted(model.items())


def test_maintenance_changes_nothing_that_can_be_read(engine: EmbeddedEngine) -> None:
    engine.write({b"%04d" % number: b"x" * 100 for number in range(1000)})
    engine.write({b"%04d" % number: None for number in range(500)})
    before = everything(engine)
    engine.sync()
    engine.compact(b"", ENDLESS)
    engine.reopen()
    assert everything(engine) == before
    assert engine.size(b"", ENDLESS) >= 0
    assert 0 <= engine.pressure() <= 100
    assert isinstance(engine.report(), str)


def test_leveldb_keeps_rows_across_a_close(tmp_path: Path) -> None:
    first = LevelEngine(tmp_path)
    first.write({b"a": b"1"})
    first.close()
    second = LevelEngine(tmp_path)
    assert second.get(b"a") == b"1"
    second.close()


def test_leveldb_gives_the_space_of_a_compacted_range_back(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path, LevelOptions(write_buffer=1 << 18, compression=False))
    noise = random.Random(1)
    for start in range(0, 4000, 500):
        batch = {b"%05d" % row: noise.randbytes(1000) for row in range(start, start + 500)}
        engine.write(batch)
    engine.compact(b"", ENDLESS)
    full = engine.size(b"", ENDLESS)
    engine.write({b"%05d" % row: None for row in range(4000)})
    engine.compact(b"", ENDLESS)
    assert full > 3_000_000
    assert engine.size(b"", ENDLESS) < full / 10
    engine.close()


def test_leveldb_lets_one_process_in(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path)
    with pytest.raises(StoreUnavailable, match="is in use by another process"):
        LevelEngine(tmp_path)
    engine.close()


def test_leveldb_names_a_file_in_the_directory_s_place(tmp_path: Path) -> None:
    (tmp_path / "db").write_text("not a directory")
    with pytest.raises(StoreUnavailable, match="is not a directory"):
        LevelEngine(tmp_path / "db")


def test_the_pieces_of_a_range_are_the_whole_of_it(engine: EmbeddedEngine) -> None:
    engine.write({b"%04d" % number: b"x" * 100 for number in range(1000)})
    pieces = engine.pieces(b"0000", b"0999")
    assert (pieces[0][0], pieces[-1][1]) == (b"0000", b"0999")
    assert all(left[1] == right[0] for left, right in pairwise(pieces))


def test_leveldb_compacts_a_large_range_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratakv.storage.leveldb.engine.PIECE_BYTES", 1 << 20)
    engine = LevelEngine(tmp_path / "db", LevelOptions(write_buffer=1 << 20))
    noise = random.Random(3)
    for start in range(0, 6000, 1000):
        engine.write({b"row%08d" % n: noise.randbytes(1000) for n in range(start, start + 1000)})
    engine.compact(b"", ENDLESS)
    pieces = engine.pieces(b"row", b"rox")
    assert len(pieces) >= 4
    assert all(left[1] == right[0] for left, right in pairwise(pieces))
    sizes = [engine.size(*piece) for piece in pieces]
    assert max(sizes) <= 2 << 20
    assert sum(sizes) >= 5_000_000
    assert len(engine.pieces(b"row00000000", b"row00000000\0")) == 1
    engine.close()


def test_middles_lie_between() -> None:
    noise = random.Random(4)
    for _ in range(1000):
        low, high = sorted(noise.randbytes(noise.randrange(6)) for _ in range(2))
        assert low <= middle_of(low, high).ljust(10, b"\0") or low == high
        assert middle_of(low, high).rstrip(b"\0") <= high


def test_whoever_comes_after_the_close_gets_an_error(tmp_path: Path) -> None:
    engine = LevelEngine(tmp_path / "db")
    engine.write({b"a": b"1", b"b": b"1"})
    snapshot, scan = engine.snapshot(), engine.scan(b"", ENDLESS)
    assert next(scan) == (b"a", b"1")
    engine.close()
    for late in (
        lambda: engine.get(b"a"),
        lambda: engine.scan(b"", ENDLESS),
        lambda: next(scan),
        lambda: snapshot.get(b"a"),
        lambda: list(snapshot.scan(b"", ENDLESS)),
        lambda: engine.compact(b"", ENDLESS),
        lambda: engine.pressure(),
        lambda: engine.size(b"", ENDLESS),
        lambda: engine.write({b"c": b""}),
    ):
        with pytest.raises(RuntimeError):
            late()
    snapshot.close()
