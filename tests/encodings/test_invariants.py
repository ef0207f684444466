"""What holds between two turns, broken on purpose: each check finds what it is for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stratakv.encodings.keyspace.invariants import check_keyspace, check_txns
from stratakv.encodings.layout import rows
from stratakv.encodings.types.strings import strings
from tests.encodings.fixtures import Bench


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.make_set(b"s", 3)
    bench.make_set(b"gone", 3)
    txn = bench.txn()
    strings.assign(txn, b"k", b"v", bench.clock.now_ms + 1000)
    txn.drop(b"gone")
    txn.apply()
    bench.commit()
    return bench


def check(bench: Bench) -> None:
    check_keyspace(bench.keyspace, is_idle=True, is_draining=False)
    bench.store.check_invariants()


def test_after_usual_work_everything_holds(bench: Bench) -> None:
    check(bench)
    txn = bench.txn()
    strings.assign(txn, b"k", b"longer", -1)
    txn.apply()
    check(bench)
    bench.keyspace.flush(bench.database)
    check(bench)
    bench.commit()
    check(bench)
    check_txns([txn])


def _lose_a_count(bench: Bench) -> None:
    bench.database.live = 0


def _dirty_unannounced(bench: Bench) -> None:
    bench.database.dirty[b"k"] = bench.database.cache[b"k"]


def _charge_wrongly(bench: Bench) -> None:
    bench.database.cached_bytes += 1


def _queue_below(bench: Bench) -> None:
    bench.database.garbage_from = None


def _share_a_namespace(bench: Bench) -> None:
    bench.keyspace.databases[1].ns = bench.database.ns


def _drop_what_is_used(bench: Bench) -> None:
    bench.keyspace.namespaces.dropped[bench.database.ns] = None


def _leave_a_building_site(bench: Bench) -> None:
    bench.keyspace.versions.building.add(1)


def _write_nonsense(bench: Bench) -> None:
    bench.store.pending[b"?nonsense"] = b""


def _lose_a_batch(bench: Bench) -> None:
    bench.store._submitted += 1


def _remember_wrongly(bench: Bench) -> None:
    bench.store.get_often(rows.LIVE + b"0:")
    bench.store.row_cache.keep(rows.LIVE + b"0:", b"another")


@pytest.mark.parametrize(
    ("number", "harm"),
    [
        ("K1", _lose_a_count),
        ("K2", _dirty_unannounced),
        ("K3", _charge_wrongly),
        ("K4", _queue_below),
        ("K5", _share_a_namespace),
        ("K5", _drop_what_is_used),
        ("K6", _leave_a_building_site),
        ("K7", _write_nonsense),
        ("S1", _lose_a_batch),
        ("S2", _remember_wrongly),
    ],
)
def test_what_is_broken_is_named(bench: Bench, number: str, harm: Callable[[Bench], None]) -> None:
    harm(bench)
    with pytest.raises(AssertionError, match=number):
        check(bench)


def test_a_txn_with_writes_left_is_found(bench: Bench) -> None:
    txn = bench.txn()
    strings.assign(txn, b"k", b"v")
    with pytest.raises(AssertionError, match="T1"):
        check_txns([txn])
    txn.discard()
    check_txns([txn])
