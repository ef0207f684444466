"""The filter of a database's keys: it never denies a key that is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratakv.encodings.keyspace import key_filter
from stratakv.encodings.keyspace.key_filter import KeyFilter
from stratakv.encodings.layout import rows
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.strings import strings
from stratakv.errors import StoreUnavailable
from stratakv.storage.contract import Rows
from stratakv.storage.memory import MemoryEngine
from tests.encodings.fixtures import Bench

NS = b"0.a1:"


class Refusing(MemoryEngine):
    """An engine that may take nothing."""

    refuses = False

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        if self.refuses:
            raise StoreUnavailable("it takes nothing")
        return super().write(rows, sync=sync)


def row(number: int) -> bytes:
    return rows.meta_row(NS, b"key:%d" % number)


@given(st.sets(st.binary(max_size=20), max_size=200), st.integers(1, 6))
def test_what_was_added_may_be_there(names: set[bytes], power: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_filter, "FIRST_KEYS", 1 << power)
        found = KeyFilter(len(NS))
        for name in names:
            found.add(rows.meta_row(NS, name))
        assert all(found.may_have(rows.meta_row(NS, name)) for name in names)


def test_few_keys_are_looked_for_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_filter, "FIRST_KEYS", 1 << 10)
    found = KeyFilter(len(NS))
    for number in range(20_000):
        found.add(row(number))
    vain = sum(found.may_have(row(number)) for number in range(20_000, 40_000))
    assert vain < 300
    assert 0 < found.size_bytes < 64 << 10


def test_a_filter_that_is_full_denies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_filter, "FIRST_KEYS", 1)
    monkeypatch.setattr(key_filter, "LAYERS", 2)
    found = KeyFilter(len(NS))
    for number in range(6):
        found.add(row(number))
    assert found.is_full
    assert found.size_bytes == 0
    assert found.may_have(row(100))
    found.add(row(7))


def reads_of(bench: Bench, key: bytes, index: int = 0) -> int:
    """How often the engine is asked for a key that is not cached."""
    database = bench.keyspace.databases[index]
    database.forget()
    before = bench.store.stats.reads
    database.load(bench.store, key)
    return bench.store.stats.reads - before


def test_new_keys_of_a_new_database_are_not_looked_for() -> None:
    bench = Bench()
    assert reads_of(bench, b"k") == 0
    txn = bench.txn()
    strings.store(txn, b"k", b"v")
    txn.apply()
    bench.commit()
    assert reads_of(bench, b"k") == 1
    assert strings.find(bench.txn(), b"k") == b"v"
    assert reads_of(bench, b"other") == 0
    keys.delete(txn, (b"k",))
    txn.apply()
    bench.commit()
    assert reads_of(bench, b"k") == 1
    assert strings.find(bench.txn(), b"k") is None


def test_after_a_restart_keys_are_looked_for_until_the_database_is_emptied() -> None:
    bench = Bench()
    txn = bench.txn()
    strings.store(txn, b"k", b"v")
    txn.apply()
    bench.commit()
    bench.open()
    assert strings.find(bench.txn(), b"k") == b"v"
    assert reads_of(bench, b"other") == 1
    bench.keyspace.flush(bench.database)
    assert reads_of(bench, b"k") == 0
    bench.commit()
    assert strings.find(bench.txn(), b"k") is None


def test_a_swap_takes_the_filters_along() -> None:
    bench = Bench()
    txn = bench.txn()
    strings.store(txn, b"k", b"v")
    txn.apply()
    bench.commit()
    first, second = bench.keyspace.databases[:2]
    bench.keyspace.swap(first, second)
    bench.commit()
    assert reads_of(bench, b"k") == 0
    assert reads_of(bench, b"k", 1) == 1
    assert strings.find(bench.txn(1), b"k") == b"v"


def test_after_a_refused_commit_nothing_is_denied() -> None:
    engine = Refusing()
    bench = Bench(engine)
    txn = bench.txn()
    strings.store(txn, b"k", b"v")
    txn.apply()
    bench.commit()
    bench.keyspace.flush(bench.database)
    bench.store.on_failure = lambda failure: bench.keyspace.abandon()
    engine.refuses = True
    bench.commit()
    assert strings.find(bench.txn(), b"k") == b"v"
