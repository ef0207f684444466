"""What every engine promises (`stratakv.storage.contract.Engine`), near or far.

Test modules import all of it, and have a fixture `engine`: an empty one.
"""

from __future__ import annotations

import random

from stratakv.storage.contract import Engine

ENDLESS = b"\xff" * 8


def everything(engine: Engine) -> list[tuple[bytes, bytes]]:
    return list(engine.scan(b"", ENDLESS))


def test_a_row_reads_as_it_was_written(engine: Engine) -> None:
    engine.write({b"a": b"1", b"empty": b"", b"\x00\xff": bytes(range(256))})
    assert engine.get(b"a") == b"1"
    assert engine.get(b"empty") == b""
    assert engine.get(b"\x00\xff") == bytes(range(256))
    assert engine.get(b"missing") is None


def test_a_batch_puts_and_deletes_together(engine: Engine) -> None:
    engine.write({b"a": b"1", b"b": b"2"})
    engine.write({b"a": None, b"b": b"3", b"never": None})
    assert everything(engine) == [(b"b", b"3")]


def test_a_write_says_about_how_large_it_was(engine: Engine) -> None:
    assert 1000 <= engine.write({b"row": b"x" * 1000}) < 1100


def test_scans_go_in_the_order_of_unsigned_bytes(engine: Engine) -> None:
    rows = [b"", b"\x00", b"a", b"a\x00", b"aa", b"b", b"\x7f", b"\x80", b"\xff"]
    engine.write({row: row for row in reversed(rows)})
    expected = sorted(rows)
    assert list(engine.scan_keys(b"", ENDLESS)) == expected
    assert [value for _, value in engine.scan(b"", ENDLESS)] == expected


def test_a_range_includes_its_start_and_not_its_stop(engine: Engine) -> None:
    engine.write({bytes((letter,)): b"" for letter in b"abcde"})
    assert list(engine.scan_keys(b"b", b"d")) == [b"b", b"c"]
    assert list(engine.scan_keys(b"b", b"d", reverse=True)) == [b"c", b"b"]
    assert list(engine.scan(b"b", b"d", reverse=True)) == [(b"c", b""), (b"b", b"")]
    assert list(engine.scan_keys(b"bb", b"bc")) == []
    assert list(engine.scan_keys(b"d", b"b")) == []


def test_a_scan_does_not_see_what_is_written_while_it_is_consumed(engine: Engine) -> None:
    engine.write({b"a": b"1", b"b": b"1", b"c": b"1"})
    rows, keys = engine.scan(b"a", b"z"), engine.scan_keys(b"a", b"z")
    assert next(rows) == (b"a", b"1")
    assert next(keys) == b"a"
    engine.write({b"b": None, b"c": b"2", b"d": b"2"})
    assert list(rows) == [(b"b", b"1"), (b"c", b"1")]
    assert list(keys) == [b"b", b"c"]


def test_a_snapshot_stays_as_it_was(engine: Engine) -> None:
    engine.write({b"a": b"1", b"b": b"1"})
    snapshot = engine.snapshot()
    engine.write({b"a": None, b"b": b"2", b"c": b"2"})
    assert snapshot.get(b"a") == b"1"
    assert snapshot.get(b"c") is None
    assert list(snapshot.scan(b"", ENDLESS)) == [(b"a", b"1"), (b"b", b"1")]
    assert list(snapshot.scan_keys(b"", ENDLESS, reverse=True)) == [b"b", b"a"]
    snapshot.close()


def test_random_batches_match_a_dict(engine: Engine) -> None:
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


def test_a_reopened_engine_has_what_was_written(engine: Engine) -> None:
    engine.write({b"a": b"1", b"b": b"2"})
    engine.sync()
    engine.reopen()
    assert everything(engine) == [(b"a", b"1"), (b"b", b"2")]
    engine.write({b"a": None})
    assert everything(engine) == [(b"b", b"2")]


def test_what_a_range_takes_is_known_roughly(engine: Engine) -> None:
    engine.write({b"%04d" % number: b"x" * 100 for number in range(100)})
    assert engine.size(b"", ENDLESS) >= 0
