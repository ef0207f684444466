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
from tests.storage.engine_contract import *  # noqa: F403  # each is a test here too
from tests.storage.engine_contract import ENDLESS, everything


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedEngine]:
    opened: EmbeddedEngine = (
        MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    )
    yield opened
    opened.close()


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
