"""Reclaiming: due keys, dead incarnations, dropped namespaces, and crashes in the middle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from stratakv.encodings.keyspace.long_txn import SPILL_ROWS, LongTxn
from stratakv.encodings.layout import metas, rows
from stratakv.encodings.types.strings import strings
from stratakv.encodings.upkeep.expiry import STEP_ROWS
from stratakv.encodings.upkeep.reclaim import COMPACT_ROWS, READ_ROWS, Reclaimer
from tests.encodings.fixtures import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


def finish(bench: Bench, reclaimer: Reclaimer | None = None) -> Reclaimer:
    """Work to the end, a commit after each step."""
    reclaimer = reclaimer or Reclaimer(bench.keyspace)
    while reclaimer.work(0.0):
        bench.commit()
    bench.commit()
    return reclaimer


def kinds(bench: Bench) -> set[bytes]:
    return {row[:2] for row in bench.rows() if not row.startswith(b"!")}


def drop(bench: Bench, key: bytes, index: int = 0) -> None:
    txn = bench.txn(index)
    txn.drop(key)
    txn.apply()


# due keys


def test_due_keys_go_and_the_others_stay(bench: Bench) -> None:
    now = bench.clock.now_ms
    bench.make_set(b"due", 3, expire_ms=now + 10)
    bench.make_set(b"later", 3, expire_ms=now + 1000)
    bench.make_set(b"never", 3)
    bench.commit()
    bench.clock.advance(10)
    expired: list[tuple[int, str, bytes]] = []
    reclaimer = Reclaimer(bench.keyspace)
    bench.keyspace.notifies = frozenset("x")
    bench.keyspace.on_event = lambda database, _, event, key: expired.append((database, event, key))
    finish(bench, reclaimer)
    assert expired == [(0, "expired", b"due")]
    assert reclaimer.expiry.expired_keys == 1
    assert (bench.database.live, bench.database.expiring) == (2, 1)
    assert bench.problems() == []


def test_many_due_keys_go_in_steps(bench: Bench) -> None:
    txn = bench.txn()
    for number in range(STEP_ROWS * 3):
        strings.assign(txn, b"%d" % number, b"v", bench.clock.now_ms + 1 + number % 7)
    txn.apply()
    bench.commit()
    bench.clock.advance(100)
    reclaimer = Reclaimer(bench.keyspace)
    assert reclaimer.work(0.0)
    bench.commit()
    assert 0 < bench.database.live < STEP_ROWS * 3
    assert bench.problems() == []
    finish(bench, reclaimer)
    assert bench.database.live == 0
    assert kinds(bench) == {b"n#", b"x#"}


def test_it_sleeps_until_the_next_key_is_due(bench: Bench) -> None:
    reclaimer = finish(bench)
    assert reclaimer.idle_seconds(0.1) == 0.1
    bench.make_set(b"s", 1, expire_ms=bench.clock.now_ms + 50)
    bench.commit()
    finish(bench, reclaimer)
    assert reclaimer.idle_seconds(0.1) == pytest.approx(0.05, abs=0.002)
    assert reclaimer.idle_seconds(0.01) == 0.01


def test_a_key_that_a_long_command_holds_waits(bench: Bench) -> None:
    bench.make_set(b"held", 1, expire_ms=bench.clock.now_ms + 1)
    bench.commit()
    bench.clock.advance(5)
    finish(bench, Reclaimer(bench.keyspace, is_locked=lambda database, key: key == b"held"))
    assert bench.database.live == 1
    finish(bench)
    assert bench.database.live == 0


def test_an_index_row_without_its_key_is_healed(bench: Bench) -> None:
    bench.make_set(b"s", 1, expire_ms=bench.clock.now_ms + 10_000)
    bench.commit()
    bench.engine.write({rows.expiry_row(b"0:", 5, b"s"): b"", rows.expiry_row(b"0:", 6, b"x"): b""})
    assert len(bench.problems()) == 2
    finish(bench)
    assert bench.problems() == []
    assert bench.database.live == 1


def test_active_expiry_can_be_switched_off(bench: Bench) -> None:
    bench.make_set(b"s", 1, expire_ms=bench.clock.now_ms + 1)
    bench.clock.advance(5)
    reclaimer = Reclaimer(bench.keyspace)
    assert not reclaimer.work(time.perf_counter() + 1, expire=False)
    assert bench.database.live == 1


# dead incarnations


def test_a_dropped_collection_s_rows_go(bench: Bench) -> None:
    bench.make_set(b"gone", 250)
    bench.make_set(b"stays", 2)
    bench.commit()
    drop(bench, b"gone")
    bench.commit()
    reclaimer = Reclaimer(bench.keyspace)
    assert reclaimer.backlog() == 1
    finish(bench, reclaimer)
    assert reclaimer.backlog() == 0
    assert reclaimer.reclaimed_rows == 250
    assert sum(row.startswith(b"s#") for row in bench.rows()) == 2
    assert bench.problems() == []


def test_many_small_incarnations_take_many_steps(bench: Bench) -> None:
    """However small each is, clients must not wait for all of them."""
    for number in range(300):
        bench.make_set(b"%d" % number, 1)
        drop(bench, b"%d" % number)
    bench.commit()
    reclaimer = Reclaimer(bench.keyspace)
    assert reclaimer.work(0.0)
    bench.commit()
    assert reclaimer.backlog() > 250
    finish(bench, reclaimer)
    assert reclaimer.backlog() == 0


def test_a_new_incarnation_keeps_its_rows(bench: Bench) -> None:
    bench.make_set(b"s", 5)
    bench.make_set(b"s", 3)
    bench.commit()
    finish(bench)
    assert sum(row.startswith(b"s#") for row in bench.rows()) == 3
    assert bench.problems() == []


def test_a_crash_between_any_two_steps_leaks_nothing(bench: Bench) -> None:
    bench.make_set(b"gone", STEP_ROWS * 4)
    bench.commit()
    drop(bench, b"gone")
    bench.commit()
    crashes = 0
    while Reclaimer(bench.keyspace).work(0.0):
        bench.commit()
        assert bench.problems() == []
        bench.open()
        crashes += 1
    bench.commit()
    assert crashes >= 4
    assert kinds(bench) == {b"n#", b"x#"}


def test_steps_that_were_lost_with_a_commit_are_done_again(bench: Bench) -> None:
    bench.make_set(b"gone", STEP_ROWS * 3)
    bench.commit()
    drop(bench, b"gone")
    bench.commit()
    reclaimer = Reclaimer(bench.keyspace)
    assert reclaimer.work(0.0)
    bench.keyspace.abandon()
    reclaimer.reset()
    finish(bench, reclaimer)
    assert bench.problems() == []
    assert kinds(bench) == {b"n#", b"x#"}


def test_a_large_range_is_queued_for_compaction(bench: Bench) -> None:
    bench.make_set(b"large", COMPACT_ROWS)
    bench.make_set(b"small", 10)
    bench.commit()
    for key in (b"large", b"small"):
        drop(bench, key)
    bench.commit()
    reclaimer = finish(bench)
    span = reclaimer.next_compaction()
    assert span is not None
    assert b"large" in span[0]
    assert reclaimer.next_compaction() is None


def test_metas_are_compacted_when_most_were_deleted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratakv.encodings.keyspace.keyspace.SPARSE_ROWS", 20)
    keys = [b"%d" % number for number in range(60)]
    for key in keys:
        bench.make_set(key, 1)
    bench.commit()
    reclaimer = Reclaimer(bench.keyspace)
    for key in keys[:30]:
        drop(bench, key)
    bench.commit()
    assert reclaimer.next_compaction() is None
    drop(bench, keys[30])
    bench.commit()
    span = reclaimer.next_compaction()
    assert span is not None
    assert span[:2] == (rows.META + bench.database.ns, rows.end_of(rows.META + bench.database.ns))
    drop(bench, keys[31])
    bench.commit()
    assert reclaimer.next_compaction() is None


# what long commands are writing


def patient(bench: Bench) -> LongTxn:
    return LongTxn(
        bench.keyspace,
        bench.database,
        bench.engine.snapshot(),
        lambda: None,
        lambda batch: bench.store.submit(batch, lambda error: None),
    )


def build(txn: LongTxn, count: int) -> None:
    meta = txn.create(b"built", metas.SET, count)
    for number in range(count):
        txn.put(meta.sub + b"%d" % number, b"")


def test_rows_of_an_unfinished_command_are_left_alone_until_it_ends(bench: Bench) -> None:
    txn = patient(bench)
    build(txn, 2500)
    assert any(row.startswith(b"g#") for row in bench.rows())
    finish(bench)
    spilled = 2500 - 2500 % SPILL_ROWS
    assert sum(row.startswith(b"s#") for row in bench.rows()) == spilled
    txn.apply()
    bench.commit()
    finish(bench)
    assert sum(row.startswith(b"s#") for row in bench.rows()) == 2500
    assert bench.problems() == []


@pytest.mark.parametrize("ends", ["crash", "discard"])
def test_rows_of_a_command_that_never_ended_go(bench: Bench, ends: str) -> None:
    txn = patient(bench)
    build(txn, 2500)
    if ends == "crash":
        bench.open()
    else:
        txn.discard()
    bench.commit()
    assert bench.problems() == []
    finish(bench)
    assert not any(row.startswith((b"s#", b"g#")) for row in bench.rows())


def test_a_key_published_while_the_queue_is_drained_is_not_garbage(bench: Bench) -> None:
    """The queue is read ahead; what a long command publishes meanwhile has left it."""
    bench.make_set(b"gone", STEP_ROWS * 5)
    bench.commit()
    drop(bench, b"gone")
    bench.commit()
    txn = patient(bench)
    build(txn, 2500)
    reclaimer = Reclaimer(bench.keyspace)
    assert reclaimer.work(0.0)
    txn.apply()
    bench.commit()
    finish(bench, reclaimer)
    assert bench.problems() == []
    assert sum(row.startswith(b"s#") for row in bench.rows()) == 2500


def test_what_a_long_command_dropped_goes_though_the_queue_was_empty_meanwhile(
    bench: Bench,
) -> None:
    """The reclaimer looks where the row will be, finds nothing, and takes the queue for empty."""
    bench.make_set(b"old", 50)
    bench.commit()
    reclaimer = finish(bench)
    txn = patient(bench)
    txn.drop(b"old")
    finish(bench, reclaimer)
    txn.apply()
    bench.commit()
    finish(bench, reclaimer)
    assert kinds(bench) == {b"n#", b"x#"}


# dropped namespaces


def test_a_flushed_database_s_rows_go(bench: Bench) -> None:
    bench.make_set(b"s", 250, expire_ms=bench.clock.now_ms + 9999)
    bench.make_set(b"s", 5, index=1)
    bench.commit()
    drop(bench, b"s")
    bench.make_set(b"t", 5)
    bench.commit()
    bench.keyspace.flush(bench.database)
    bench.commit()
    assert bench.problems() == []
    reclaimer = finish(bench)
    assert reclaimer.backlog() == 0
    left = bench.rows()
    assert not any(row[2:].startswith(b"0:") for row in left)
    assert sum(row.startswith(b"s#1:") for row in left) == 5
    assert bench.problems() == []


def test_a_crash_while_a_namespace_goes_leaks_nothing(bench: Bench) -> None:
    bench.make_set(b"s", STEP_ROWS * 3)
    bench.commit()
    bench.keyspace.flush(bench.database)
    bench.commit()
    while Reclaimer(bench.keyspace).work(0.0):
        bench.commit()
        assert bench.problems() == []
        bench.open()
    bench.commit()
    assert kinds(bench) <= {b"n#", b"x#"}


@pytest.mark.slow
def test_databases_may_be_swapped_between_two_steps(bench: Bench) -> None:
    """The queue and the index belong to a namespace, not to a database's number."""
    for number in range(STEP_ROWS * 2):
        bench.make_set(b"%d" % number, 2, expire_ms=bench.clock.now_ms + 1)
        bench.make_set(b"%d" % number, 2, index=1, expire_ms=bench.clock.now_ms + 100_000)
    bench.commit()
    bench.clock.advance(10)
    reclaimer = Reclaimer(bench.keyspace)
    steps = 0
    while reclaimer.work(0.0):
        bench.keyspace.swap(*bench.keyspace.databases[:2])
        bench.commit()
        assert bench.problems() == []
        steps += 1
    bench.commit()
    finish(bench)
    assert steps > 2
    assert bench.problems() == []
    assert sorted(database.live for database in bench.keyspace.databases[:2]) == [0, STEP_ROWS * 2]
    assert not any(row.startswith(b"g#") for row in bench.rows())


# edges


def test_a_large_dead_range_keeps_its_outermost_rows_until_it_is_compacted(bench: Bench) -> None:
    txn = bench.txn()
    meta = txn.create(b"large", metas.SET, COMPACT_ROWS)
    for number in range(COMPACT_ROWS):
        txn.put(meta.sub + b"%06d" % number, b"")
    txn.apply()
    bench.commit()
    txn.drop(b"large")
    txn.apply()
    bench.commit()
    reclaimer = Reclaimer(bench.keyspace)
    while reclaimer.work(0):
        bench.commit()
    bench.commit()
    left = [row for row in bench.rows() if row.startswith(b"s#")]
    assert left == [meta.sub + b"000000", meta.sub + b"%06d" % (COMPACT_ROWS - 1)]
    assert any(row.startswith(b"g#") for row in bench.rows())
    assert bench.problems() == []
    assert reclaimer.backlog() <= 1
    wanted = reclaimer.next_compaction()
    assert wanted is not None
    reclaimer.compacted(wanted)
    bench.commit()
    assert not [row for row in bench.rows() if row.startswith((b"s#", b"g#"))]


def test_many_new_keys_in_one_long_unit_are_marked_once_each(bench: Bench) -> None:
    written: list[bytes] = []

    def write(batch: dict[bytes, bytes | None]) -> None:
        written.extend(row for row in batch if row.startswith(b"g#"))
        bench.store.submit(batch, lambda error: None)

    snapshot = bench.engine.snapshot()
    txn = LongTxn(bench.keyspace, bench.database, snapshot, lambda: None, write)
    for number in range(SPILL_ROWS):
        meta = txn.create(b"set%d" % number, metas.SET, 2)
        txn.put(meta.sub + b"a", b"")
        txn.put(meta.sub + b"b", b"")
    assert len(written) == len(set(written)) > SPILL_ROWS // 2
    txn.apply()
    bench.commit()
    assert bench.problems() == []


def test_a_key_whose_time_passed_while_it_was_written_expires_too(bench: Bench) -> None:
    bench.make_set(b"later", 1, expire_ms=bench.clock.now_ms + 20)
    txn = patient(bench)
    txn.create(b"built", metas.SET, 1, bench.clock.now_ms + 10)
    bench.clock.advance(30)
    reclaimer = finish(bench)
    assert bench.database.live == 0
    txn.apply()
    bench.commit()
    assert bench.database.live == 1
    finish(bench, reclaimer)
    assert bench.database.live == 0


# the thread that reads


@pytest.fixture
def reader() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def test_a_dropped_namespace_is_read_in_a_thread(bench: Bench, reader: ThreadPoolExecutor) -> None:
    bench.make_set(b"large", READ_ROWS + 5)
    bench.make_set(b"small", 2)
    bench.commit()
    bench.keyspace.flush(bench.database)
    bench.make_set(b"stays", 3)
    bench.commit()
    reclaimer = finish(bench, Reclaimer(bench.keyspace, executor=reader))
    assert sum(row.startswith(b"s#") for row in bench.rows()) == 3
    assert bench.problems() == []
    assert reclaimer.backlog() == 0


def test_small_namespaces_need_no_thread(bench: Bench, reader: ThreadPoolExecutor) -> None:
    """Each wait for the thread takes a slice: hundreds of FLUSHALL would take seconds."""
    bench.make_set(b"k", 2)
    bench.keyspace.flush(bench.database)
    bench.commit()
    reclaimer = finish(bench, Reclaimer(bench.keyspace, executor=reader))
    for number in range(5):
        bench.make_set(b"%d" % number, 2)
        bench.keyspace.flush(bench.database)
        bench.commit()
    reader.shutdown()
    finish(bench, reclaimer)
    assert kinds(bench) == {b"n#", b"x#"}


def test_an_empty_database_needs_no_other_namespace(bench: Bench) -> None:
    ns = bench.database.ns
    bench.keyspace.flush(bench.database)
    assert bench.database.ns == ns
    bench.make_set(b"k", 1)
    bench.keyspace.flush(bench.database)
    assert bench.database.ns != ns


def test_the_thread_does_not_look_before_the_rows_are_written(
    bench: Bench, reader: ThreadPoolExecutor
) -> None:
    """A database that was filled and flushed in one turn has rows that the engine does not know."""
    bench.make_set(b"brief", 10)
    bench.database.born = None  # else its rows are known by name
    bench.keyspace.flush(bench.database)
    reclaimer = Reclaimer(bench.keyspace, executor=reader)
    for _ in range(5):
        assert reclaimer.work(time.perf_counter() + 1)
        assert not reclaimer.is_reading
    finish(bench, reclaimer)
    assert kinds(bench) == {b"n#", b"x#"}


def test_what_is_settled_early_is_seen_by_the_thread(
    bench: Bench, reader: ThreadPoolExecutor
) -> None:
    bench.make_set(b"brief", 10)
    bench.database.born = None  # else its rows are known by name
    bench.keyspace.flush(bench.database)
    reclaimer = Reclaimer(bench.keyspace, executor=reader)
    assert reclaimer.work(time.perf_counter() + 1)
    bench.keyspace.settle()
    finish(bench, reclaimer)
    assert kinds(bench) == {b"n#", b"x#"}


def test_on_a_full_disk_what_was_deleted_is_compacted_before_more_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratakv.encodings.upkeep.reclaim.TIGHT_ROWS", 2 * STEP_ROWS)
    bench.make_set(b"large", 10 * STEP_ROWS)
    bench.commit()
    drop(bench, b"large")
    bench.commit()
    reclaimer = Reclaimer(bench.keyspace)
    reclaimer.is_tight = True
    parts = 0
    for _ in range(1000):
        more = reclaimer.work(0.0)
        bench.commit()
        left = sum(row.startswith(b"s#") for row in bench.rows())
        assert left >= (8 - 2 * parts) * STEP_ROWS
        if (part := reclaimer.next_compaction()) is not None:
            parts += 1
            reclaimer.compacted(part)
        elif not more:
            break
    assert parts == 5
    assert kinds(bench) == {b"n#", b"x#"}
