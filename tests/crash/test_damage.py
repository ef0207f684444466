"""Damaged files: never a wrong value, never silence, and what is left can be had."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from stratakv.encodings.layout.rows import meta_row
from stratakv.encodings.upkeep.check import check_directory
from stratakv.encodings.upkeep.damage import key_of
from stratakv.encodings.upkeep.repair import recover, repair
from stratakv.errors import Damaged, StoreUnavailable
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.leveldb.formats import TableFile
from tests.crash.damage import SMALL, Rows, Sample, files_of, flip, harm, make_sample
from tests.encodings.fixtures import ENDLESS
from tests.harness.effort import rounds

TRIALS = {"table": rounds(150), "log": rounds(40), "MANIFEST": rounds(30), "CURRENT": rounds(20)}
GROUP = 10


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make_sample(tmp_path_factory.mktemp("damage"))


@pytest.fixture
def store(sample: Sample, tmp_path: Path) -> Path:
    """A copy of the sample, to be damaged."""
    return shutil.copytree(sample.directory, tmp_path / "store")


def read_each(engine: LevelEngine, wanted: Rows) -> tuple[Rows, set[bytes]]:
    """What is found row by row, and which rows are told to be damaged."""
    found: Rows = {}
    damaged: set[bytes] = set()
    for row in wanted:
        try:
            value = engine.get(row)
        except Damaged:
            damaged.add(row)
            continue
        if value is not None:
            found[row] = value
    return found, damaged


def scanned(engine: LevelEngine, *, reverse: bool) -> Rows | None:
    """All rows by one scan; None if it says that there is damage."""
    try:
        return dict(engine.scan(b"", ENDLESS, reverse=reverse))
    except Damaged:
        return None


def is_helpful(refusal: str) -> bool:
    """Whether a refusal is one line that says what is wrong and how to go on."""
    return "\n" not in refusal and "is damaged: " in refusal and "--recover" in refusal


def judge(directory: Path, sample: Sample, *, is_cut_log: bool) -> str:
    """Open and read everything; says how the damage showed. Fails for a wrong value or silence."""
    try:
        engine = LevelEngine(directory, SMALL)
    except StoreUnavailable as error:
        return "refused" if is_helpful(str(error)) else f"refused with {error}"
    with closing(engine):
        found, damaged = read_each(engine, sample.truth)
        truths = sample.states if is_cut_log else [sample.truth]
        assert any(
            all(found.get(row) == truth.get(row) for row in sample.truth if row not in damaged)
            for truth in truths
        ), "a wrong value, or a missing one without a word"
        for reverse in (False, True):
            whole = scanned(engine, reverse=reverse)
            assert (whole is None) or (whole in truths and not damaged)
        return "told" if damaged else "right"


def groups() -> Iterator[tuple[str, int]]:
    for kind, count in TRIALS.items():
        yield from ((kind, first) for first in range(0, count, GROUP))


@pytest.mark.effort
@pytest.mark.parametrize(("kind", "first"), list(groups()))
def test_random_damage_is_never_served_and_never_silent(
    kind: str, first: int, sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(first, min(first + GROUP, TRIALS[kind])):
        directory = shutil.copytree(sample.directory, tmp_path / f"{kind}-{seed}")
        file, how = harm(directory, kind, random.Random(f"{kind}-{seed}"))
        print(f"{kind} {seed}: {file} {how}")
        is_cut_log = kind == "log" and how.startswith("cut")
        code = check_directory(directory) if not is_cut_log else 1
        listed = capsys.readouterr().out
        verdict = judge(directory, sample, is_cut_log=is_cut_log)
        assert verdict in ("right", "told", "refused")
        assert verdict == "right" or is_cut_log or (code == 1 and file in listed), listed
        shutil.rmtree(directory)


def is_list(row: bytes) -> bool:
    """Whether a row is an element of a list, which has another name when a gap was closed."""
    return int((key_of(row) or b":0").split(b":")[1]) % 6 == 3


@pytest.mark.effort
@pytest.mark.parametrize("kind", TRIALS)
@pytest.mark.parametrize("seed", range(rounds(4)))
def test_a_repair_keeps_what_can_be_read_and_is_sound(
    kind: str, seed: int, sample: Sample, store: Path, tmp_path: Path
) -> None:
    harm(store, kind, random.Random(f"repair-{kind}-{seed}"))
    before = {path.name: path.read_bytes() for path in store.iterdir()}
    lines = list(repair(store, tmp_path / "new"))
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before
    assert check_directory(tmp_path / "new") == 0, lines
    with closing(LevelEngine(tmp_path / "new")) as engine:
        found = dict(engine.scan(b"", ENDLESS))
    values = {row: value for row, value in found.items() if row.startswith(b"s#")}
    if len(values) < sum(row.startswith(b"s#") for row in sample.truth):
        assert any(line.startswith("damaged: ") for line in lines)
    if kind == "table":
        for row, value in values.items():
            assert is_list(row) or sample.truth.get(row) in (value, None), row


@pytest.mark.parametrize("kind", TRIALS)
def test_a_recovery_puts_sound_files_in_place_and_keeps_the_damaged(
    kind: str, sample: Sample, store: Path
) -> None:
    path = files_of(store, kind)[-1]
    flip(path, path.stat().st_size // 2)
    content = path.read_bytes()
    lines = list(recover(store))
    assert check_directory(store) == 0, lines
    (kept,) = store.glob("damaged-*")
    assert (kept / path.name).read_bytes() == content
    assert any(path.name in line for line in lines)
    assert list(recover(store)) == [f"{store}: nothing is damaged"]


@pytest.mark.parametrize("from_end", [3, 60, 400])
def test_a_table_without_its_index_keeps_its_rows(
    from_end: int, sample: Sample, store: Path, tmp_path: Path
) -> None:
    path = max(files_of(store, "table"), key=lambda path: path.stat().st_size)
    flip(path, path.stat().st_size - from_end)
    list(repair(store, tmp_path / "new"))
    with closing(LevelEngine(tmp_path / "new")) as engine:
        found = dict(engine.scan(b"", ENDLESS))
    wanted = {row: value for row, value in sample.truth.items() if not row.startswith(b"!")}
    assert wanted.items() <= found.items()


def test_a_long_string_that_lost_a_piece_is_not_served_with_zeros(
    sample: Sample, store: Path, tmp_path: Path
) -> None:
    wanted = {row for row in sample.truth if row.startswith(b"s#") and b":long" in row}
    assert wanted
    path, block = next(
        (path, block)
        for path in files_of(store, "table")
        for block in blocks_of(path)
        if any(row in wanted for row in block.rows)
    )
    flip(path, block.offset + 10)
    lines = list(repair(store, tmp_path / "new"))
    key = key_of(next(row for row in block.rows if row in wanted))
    assert key is not None
    assert any(key.decode() in line and "piece" in line for line in lines), lines
    assert check_directory(tmp_path / "new") == 0
    with closing(LevelEngine(tmp_path / "new")) as engine:
        assert engine.get(meta_row(b"0:", key)) is None


@dataclass
class Found:
    offset: int
    rows: list[bytes]


def blocks_of(path: Path) -> list[Found]:
    with TableFile(path) as file:
        return [
            Found(block.offset, [row for row, _, _ in file.entries(block)])
            for block in file.blocks()
        ]
