"""LevelDB's files, read without LevelDB."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from stratakv.errors import StoreUnavailable
from stratakv.storage.leveldb.engine import LevelEngine, LevelOptions
from stratakv.storage.leveldb.formats import (
    Broken,
    Table,
    TableFile,
    decode_batch,
    decode_manifest,
    encode_manifest,
    read_records,
    rebuild_table,
    uncompress,
    write_record,
)
from stratakv.storage.leveldb.survey import is_database, log_path, survey, table_path


def log_of(directory: Path, batches: list[dict[bytes, bytes | None]]) -> bytes:
    """The log that LevelDB writes for these batches."""
    with closing(LevelEngine(directory)) as engine:
        for batch in batches:
            engine.write(batch)
    (path,) = directory.glob("*.log")
    return path.read_bytes()


def batches(raw: bytes) -> list[dict[bytes, bytes | None]]:
    """What a log says; raises what is broken in it."""
    found = []
    for record in read_records(raw):
        if isinstance(record, Broken):
            raise record
        found.append(dict(decode_batch(record.data).entries))
    return found


def test_a_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    written: list[dict[bytes, bytes | None]] = [
        {b"a": b"1", b"b": None},
        {b"large": bytes(100_000)},
        {b"c": b""},
    ]
    assert batches(log_of(tmp_path, written)) == written


def test_a_log_may_end_anywhere_and_says_what_is_whole(tmp_path: Path) -> None:
    written: list[dict[bytes, bytes | None]] = [{b"%d" % n: b"x" * 20} for n in range(6)]
    raw = log_of(tmp_path, written)
    for size in range(len(raw)):
        found = batches(raw[:size])
        assert found == written[: len(found)]


def test_no_flipped_bit_of_a_log_goes_unnoticed(tmp_path: Path) -> None:
    raw = log_of(tmp_path, [{b"%d" % n: b"x" * 20} for n in range(6)])
    for at in range(len(raw)):
        for bit in range(8):
            changed = bytearray(raw)
            changed[at] ^= 1 << bit
            with pytest.raises(Broken):
                batches(bytes(changed))


def test_zeros_in_a_log_do_not_go_unnoticed(tmp_path: Path) -> None:
    raw = log_of(tmp_path, [{b"%d" % n: b"x" * 20} for n in range(6)])
    for start in range(0, len(raw) - 1, 7):
        changed = raw[:start] + bytes(len(raw) - start)
        with pytest.raises(Broken):
            batches(changed)


@pytest.mark.parametrize("size", [0, 1, 32761, 32762, 100_000])
def test_a_record_is_written_as_it_is_read(size: int) -> None:
    data = random.Random(size).randbytes(size)
    (record,) = read_records(write_record(data))
    assert isinstance(record, tuple)
    assert record.data == data


def test_a_manifest_says_what_it_was_told() -> None:
    tables = [Table(0, 7, 100, b"a", b"c"), Table(2, 9, 200, b"d", b"\xff")]
    (record,) = read_records(encode_manifest(tables, 5))
    assert isinstance(record, tuple)
    assert list(decode_manifest(iter([record.data])).tables.values()) == tables


def test_a_table_is_read_as_it_was_written_with_and_without_its_index(tmp_path: Path) -> None:
    noise = random.Random(1)
    rows = {b"row:%05d" % n: noise.randbytes(20) + b"y" * 80 for n in range(2000)}
    with closing(LevelEngine(tmp_path / "db", LevelOptions())) as engine:
        engine.write(rows)
        engine.compact(b"", b"\xff")
    (table,) = survey(tmp_path / "db").tables
    path = table_path(tmp_path / "db", table.number)
    assert read_table(path) == rows
    rebuilt = rebuild_table(path.read_bytes()[:-60])
    assert rebuilt is not None
    assert rebuilt.last == max(rows)
    (tmp_path / "rebuilt").write_bytes(rebuilt.content)
    assert read_table(tmp_path / "rebuilt") == rows


def read_table(path: Path) -> dict[bytes, bytes | None]:
    with TableFile(path) as file:
        file.verify_index()
        file.verify_filter()
        return {row: value for block in file.blocks() for row, _, value in file.entries(block)}


@pytest.mark.parametrize("raw", [b"\x05\x10abcd", b"\x04\x01\x09", b"\x80", b""])
def test_what_snappy_did_not_write_is_broken(raw: bytes) -> None:
    with pytest.raises(Broken):
        uncompress(raw)


def test_a_run_is_repeated() -> None:
    assert uncompress(b"\x0a\x04ab\x1e\x02\x00") == b"ab" * 5


def test_only_the_newest_log_may_be_empty(tmp_path: Path) -> None:
    with closing(LevelEngine(tmp_path)) as engine:
        engine.write({b"row": b"value"})
    (number,) = survey(tmp_path).logs
    older, newer = log_path(tmp_path, number), log_path(tmp_path, number + 1)
    newer.touch()
    assert not survey(tmp_path).damages
    older.rename(newer)
    older.touch()
    (damage,) = survey(tmp_path).damages
    assert damage.file == older.name


def test_leftovers_of_a_first_start_are_no_database(tmp_path: Path) -> None:
    for name in ("LOCK", "LOG", "MANIFEST-000001", "000001.dbtmp", "RESERVE"):
        (tmp_path / name).touch()
    (tmp_path / "lost+found").mkdir()
    assert not is_database(tmp_path)
    (tmp_path / "000005.ldb").touch()
    assert is_database(tmp_path)


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(StoreUnavailable, match=r"photo\.jpg"):
        is_database(tmp_path)
