"""The commit pipeline: order, reads of what is not yet written, the writer thread, failures."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest

from stratakv.errors import StoreUnavailable
from stratakv.storage import store as store_module
from stratakv.storage.contract import Rows
from stratakv.storage.journal import JOURNAL_ROWS
from stratakv.storage.memory import MemoryEngine
from stratakv.storage.row_cache import LONGEST_VALUE, ROW_COST, UNKNOWN
from stratakv.storage.store import (
    CALM_PRESSURE,
    HELD_BACK_SECONDS,
    INLINE_ROWS,
    Store,
    merge,
)
from tests.harness.waiting import HANG_S, wait_until

ENDLESS = b"\xff" * 8


class Gate(MemoryEngine):
    """An engine whose writes wait for the test, and fail when it says so."""

    __slots__ = ("failures", "opened", "stress", "written")

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()
        self.opened.set()
        self.failures = 0
        self.stress = 0
        self.written: list[Rows] = []

    def write(self, rows: Rows, *, sync: bool = False) -> int:
        assert self.opened.wait(HANG_S)
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("disk full")
        self.written.append(dict(rows))
        return super().write(rows, sync=sync)

    def pressure(self) -> int:
        return self.stress


class Loop:
    """The loop's side of `post`: callbacks run when the test says so, on the test's thread."""

    def __init__(self) -> None:
        self.posted: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self, count: int = 1) -> None:
        for _ in range(count):
            self.posted.get(timeout=HANG_S)()


class Outcomes(list[StoreUnavailable | None]):
    """Collects what `done` was called with."""

    def refused(self) -> list[bool]:
        return [error is not None for error in self]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def threaded(gate: Gate, loop: Loop) -> Store:
    """A store whose every batch goes through the writer thread."""
    return Store(gate, post=loop.posted.put, sync=True)


def put(store: Store, rows: Rows) -> None:
    store.pending.update(rows)


def test_a_commit_is_one_batch(gate: Gate) -> None:
    store, outcomes = Store(gate), Outcomes()
    put(store, {b"a": b"1"})
    put(store, {b"b": b"2", b"c": None})
    store.commit(outcomes.append)
    assert gate.written == [{b"a": b"1", b"b": b"2", b"c": None}]
    assert outcomes == [None]
    assert not store.pending


def test_an_empty_commit_writes_nothing_and_is_done(gate: Gate) -> None:
    store, outcomes = Store(gate), Outcomes()
    store.commit(outcomes.append)
    assert (gate.written, outcomes) == ([], [None])


def test_pending_rows_are_read_before_the_engine_s(gate: Gate) -> None:
    gate.write({b"a": b"old", b"b": b"old", b"c": b"old"})
    store = Store(gate)
    put(store, {b"a": b"new", b"b": None, b"bb": b"new"})
    assert [store.get(row) for row in (b"a", b"b", b"c", b"x")] == [b"new", None, b"old", None]
    expected = [(b"a", b"new"), (b"bb", b"new"), (b"c", b"old")]
    assert list(store.scan(b"", ENDLESS)) == expected
    assert list(store.scan(b"", ENDLESS, reverse=True)) == expected[::-1]
    assert list(store.scan_keys(b"aa", b"c")) == [b"bb"]


def test_rows_in_flight_are_read_and_newer_ones_win(gate: Gate, threaded: Store) -> None:
    gate.opened.clear()
    for value in (b"1", b"2"):
        put(threaded, {b"a": value, b"only" + value: value})
        threaded.commit(lambda error: None)
    assert threaded.busy
    assert threaded.get(b"a") == b"2"
    assert threaded.get(b"only1") == b"1"
    put(threaded, {b"a": None})
    assert threaded.get(b"a") is None
    assert list(threaded.scan_keys(b"", ENDLESS)) == [b"only1", b"only2"]
    gate.opened.set()
    threaded.close()


def test_batches_are_written_and_finished_in_order(gate: Gate, loop: Loop, threaded: Store) -> None:
    finished: list[int] = []
    for number in range(50):
        put(threaded, {b"row": b"%d" % number})
        threaded.commit(lambda error, number=number: finished.append(number))  # type: ignore[misc]
    loop.run(50)
    assert finished == list(range(50))
    assert [batch[b"row"] for batch in gate.written] == [b"%d" % n for n in range(50)]
    assert not threaded.busy
    threaded.close()


def test_done_is_not_called_before_the_batch_is_written(
    gate: Gate, loop: Loop, threaded: Store
) -> None:
    outcomes = Outcomes()
    gate.opened.clear()
    put(threaded, {b"a": b"1"})
    threaded.commit(outcomes.append)
    assert loop.posted.empty()
    assert outcomes == []
    gate.opened.set()
    loop.run()
    assert outcomes == [None]
    threaded.close()


def test_a_calm_engine_is_written_at_once_and_a_strained_one_in_the_thread(
    gate: Gate, loop: Loop
) -> None:
    store, outcomes = Store(gate, post=loop.posted.put), Outcomes()
    put(store, {b"a": b"1"})
    store.commit(outcomes.append)
    assert outcomes == [None]
    gate.stress = 100
    put(store, {b"%06d" % row: b"" for row in range(INLINE_ROWS)})
    store.commit(outcomes.append)
    assert store.busy
    loop.run()
    assert outcomes == [None, None]
    assert store.stats.threaded == 1
    store.close()


def test_writers_wait_the_longer_the_further_the_engine_is_behind(
    gate: Gate, loop: Loop, threaded: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    seen: dict[int, list[float]] = {}
    for gate.stress in (0, CALM_PRESSURE, 58, 75, 100):
        put(threaded, {b"a": bytes(200_000)})
        threaded.commit(lambda error: None)
        loop.run()
        seen[gate.stress], waits[:] = waits[:], []
    put(threaded, {b"a": bytes(50_000_000)})
    threaded.commit(lambda error: None)
    loop.run()
    assert seen[0] == seen[CALM_PRESSURE] == []
    assert 0 < seen[58][0] < seen[75][0] / 5 < seen[100][0] / 10
    assert waits == [HELD_BACK_SECONDS]
    threaded.close()


def test_a_large_batch_goes_to_the_thread(gate: Gate, loop: Loop) -> None:
    store = Store(gate, post=loop.posted.put)
    put(store, {b"%06d" % row: b"" for row in range(INLINE_ROWS + 1)})
    store.commit(lambda error: None)
    assert store.busy
    loop.run()
    store.close()


def test_settling_writes_early_and_only_when_nothing_is_under_way(gate: Gate, loop: Loop) -> None:
    store = Store(gate, post=loop.posted.put)
    put(store, {b"a": b"1"})
    store.settle()
    assert gate.written == [{b"a": b"1"}]
    gate.opened.clear()
    large = {b"b%06d" % row: b"" for row in range(INLINE_ROWS + 1)}
    put(store, large)
    store.commit(lambda error: None)
    put(store, {b"c": b"1"})
    store.settle()
    assert store.pending == {b"c": b"1"}
    gate.opened.set()
    store.close()
    assert gate.written == [{b"a": b"1"}, large, {b"c": b"1"}]


def test_settling_does_not_make_the_loop_wait_for_a_sync(gate: Gate, threaded: Store) -> None:
    put(threaded, {b"a": b"1"})
    threaded.settle()
    assert (gate.written, threaded.pending) == ([], {b"a": b"1"})


def test_rows_that_could_not_be_settled_stay_pending(gate: Gate) -> None:
    store, outcomes = Store(gate), Outcomes()
    gate.failures = 2
    put(store, {b"a": b"1"})
    store.settle()
    assert store.pending == {b"a": b"1"}
    store.commit(outcomes.append)
    assert outcomes.refused() == [True]


def test_a_refused_batch_is_reported_before_it_is_done(gate: Gate) -> None:
    store = Store(gate)
    heard: list[str] = []
    store.on_failure = lambda failure: heard.append(f"failed: {failure}")
    gate.failures = 1
    put(store, {b"a": b"1"})
    store.commit(lambda error: heard.append(f"done: {error}"))
    assert heard == ["failed: disk full", "done: disk full"]
    assert store.stats.failures == 1
    assert store.get(b"a") is None


def test_nothing_overtakes_a_batch_that_was_lost(gate: Gate, loop: Loop, threaded: Store) -> None:
    """The second batch was decided on the rows of the first, whenever the loop hears of it."""
    failures: list[StoreUnavailable] = []
    threaded.on_failure = failures.append
    outcomes = Outcomes()
    gate.opened.clear()
    gate.failures = 1
    for row in (b"a", b"b"):
        put(threaded, {row: b"1"})
        threaded.commit(outcomes.append)
    gate.opened.set()
    loop.run(2)
    assert outcomes.refused() == [True, True]
    assert gate.written == []
    assert len(failures) == 1


def test_rows_behind_a_lost_batch_can_no_longer_be_read(
    gate: Gate, loop: Loop, threaded: Store
) -> None:
    seen: list[bytes | None] = []
    threaded.on_failure = lambda failure: seen.append(threaded.get(b"count"))
    gate.write({b"count": b"before"})
    gate.opened.clear()
    gate.failures = 1
    for count in (b"1", b"2"):
        put(threaded, {b"count": count})
        threaded.commit(lambda error: None)
    gate.opened.set()
    loop.run(2)
    assert seen == [b"before"]


def test_writes_made_after_the_loss_was_known_go_through(
    gate: Gate, loop: Loop, threaded: Store
) -> None:
    outcomes = Outcomes()
    gate.failures = 1
    for row in (b"a", b"b"):
        put(threaded, {row: b"1"})
        threaded.commit(outcomes.append)
        loop.run()
    assert outcomes.refused() == [True, False]
    assert gate.written == [{b"b": b"1"}]
    threaded.close()


def test_close_writes_everything(gate: Gate, threaded: Store) -> None:
    outcomes = Outcomes()
    for number in range(5):
        put(threaded, {b"%d" % number: b""})
        threaded.commit(outcomes.append)
    put(threaded, {b"last": b""})
    threaded.close()
    assert outcomes == [None] * 5
    assert sorted(gate.scan_keys(b"", ENDLESS)) == [b"0", b"1", b"2", b"3", b"4", b"last"]


def test_the_counters_tell_rows_bytes_and_sizes(gate: Gate) -> None:
    store = Store(gate)
    put(store, {b"a": b"12345", b"b": b"12345", b"c": b"12345"})
    store.commit(lambda error: None)
    store.get(b"a")
    list(store.scan(b"", ENDLESS))
    stats = store.stats
    assert (stats.batches, stats.rows, stats.bytes, stats.reads, stats.scans) == (1, 3, 18, 1, 1)
    assert stats.row_buckets[2] == sum(stats.row_buckets) == 1
    assert sum(stats.duration_buckets) == 1


def test_merge_is_a_dict_update_in_order() -> None:
    turns = random.Random(7)
    for _ in range(300):
        base = {turns.randbytes(1): turns.randbytes(1) for _ in range(turns.randrange(12))}
        overlay = {
            turns.randbytes(1): turns.choice([None, b"new"]) for _ in range(turns.randrange(12))
        }
        merged = {row: value for row, value in {**base, **overlay}.items() if value is not None}
        for reverse in (False, True):
            ordered = sorted(base.items(), reverse=reverse)
            expected = sorted(merged.items(), reverse=reverse)
            assert list(merge(ordered, overlay, reverse=reverse)) == expected


def test_a_remembered_row_changes_when_it_is_written() -> None:
    engine = MemoryEngine()
    store = Store(engine)
    assert store.get_often(b"row") is None
    put(store, {b"row": b"1"})
    assert store.get_often(b"row") == b"1"
    store.commit(lambda error: None)
    assert store.get_often(b"row") == b"1"
    put(store, {b"row": None})
    store.settle()
    assert store.get_often(b"row") is None
    store.submit({b"row": b"2"}, lambda error: None)
    assert store.get_often(b"row") == b"2"


def test_a_row_in_flight_is_read_and_not_what_was_remembered(gate: Gate, loop: Loop) -> None:
    store = Store(gate, post=loop.posted.put, sync=True)
    assert store.get_often(b"row") is None
    gate.opened.clear()
    put(store, {b"row": b"1"})
    store.commit(lambda error: None)
    assert store.busy
    assert store.get_often(b"row") == b"1"
    gate.opened.set()
    loop.run()
    assert store.get_often(b"row") == b"1"
    store.close()


def test_nothing_of_a_refused_batch_is_remembered(gate: Gate) -> None:
    store = Store(gate)
    assert store.get_often(b"row") is None
    gate.failures = 1
    put(store, {b"row": b"1"})
    store.commit(lambda error: None)
    assert store.get_often(b"row") is None


def test_large_values_are_not_remembered() -> None:
    store = Store(MemoryEngine())
    store.get_often(b"row")
    put(store, {b"row": b"x" * (LONGEST_VALUE + 1)})
    store.commit(lambda error: None)
    assert not len(store.row_cache)
    assert store.get_often(b"row") == b"x" * (LONGEST_VALUE + 1)


def test_no_more_rows_are_remembered_than_allowed() -> None:
    store = Store(MemoryEngine(), row_cache_bytes=100 * ROW_COST)
    dropped: list[object] = []
    store.row_cache.on_leftovers = dropped.extend
    for number in range(1000):
        store.get_often(b"%d" % number)
        assert len(store.row_cache) <= 100
    assert len(dropped) + len(store.row_cache) == 1000


def test_what_is_read_again_and_again_stays_remembered() -> None:
    store = Store(MemoryEngine(), row_cache_bytes=100 * ROW_COST)
    store.get_often(b"often")
    for number in range(1000):
        store.get_often(b"%d" % number)
        assert store.peek(b"often") is None
    assert store.peek(b"0") is UNKNOWN


def test_a_row_of_the_old_generation_changes_with_a_write() -> None:
    store = Store(MemoryEngine(), row_cache_bytes=100 * ROW_COST)
    store.get_often(b"row")
    for number in range(60):
        store.get_often(b"%d" % number)
    put(store, {b"row": b"1"})
    store.commit(lambda error: None)
    assert store.peek(b"row") == b"1"


@pytest.mark.parametrize(("slow", "level"), [(0.0, "INFO"), (1000.0, "DEBUG")])
def test_a_slow_commit_is_logged(
    slow: float, level: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store_module, "SLOW_WRITE_SECONDS", 0.0)
    monkeypatch.setattr(store_module, "LOGGED_WRITE_SECONDS", slow)
    store = Store(MemoryEngine())
    store.pending[b"a"] = b"1"
    with caplog.at_level("DEBUG", logger="stratakv"):
        store.commit(lambda error: None)
    assert [record.levelname for record in caplog.records] == [level]
    assert "a commit of 1 rows took" in caplog.text


class Closing(Gate):
    """Notes what happens around the close."""

    __slots__ = ("log",)

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def pieces(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        return [(start, stop)] * 100

    def compact(self, start: bytes, stop: bytes) -> None:
        self.log.append("compact")
        assert self.opened.wait(10)

    def close(self) -> None:
        self.log.append("close")


def test_the_engine_closes_when_the_threads_have_ended() -> None:
    engine = Closing()
    store = Store(engine)
    engine.opened.clear()
    compaction = store.threads.submit(store.compact, b"", ENDLESS)
    wait_until(lambda: engine.log)
    assert store.threads.working
    threading.Timer(0.05, engine.opened.set).start()
    store.close()
    assert compaction.done()
    assert engine.log[-1] == "close"
    assert len(engine.log) < 100, "a compaction ends early, between two pieces"
    with pytest.raises(RuntimeError):
        store.threads.submit(store.compact, b"", ENDLESS)


def test_an_engine_that_refuses_the_last_batch_is_closed_all_the_same() -> None:
    engine = Closing()
    store = Store(engine)
    put(store, {b"a": b"1"})
    engine.failures = 1
    with pytest.raises(StoreUnavailable):
        store.close()
    assert engine.log == ["close"]


def test_batches_that_the_close_has_seen_to_are_not_finished_again(loop: Loop) -> None:
    store, outcomes = Store(Gate(), post=loop.posted.put, sync=True), Outcomes()
    put(store, {b"a": b"1"})
    store.commit(outcomes.append)
    store.close()
    loop.run()
    assert outcomes == [None]


def test_a_queue_is_scanned_like_any_range(gate: Gate, loop: Loop) -> None:
    """Whatever is remembered of its front, and whatever is on its way to the engine."""
    turns = random.Random(9)
    store = Store(gate, post=loop.posted.put, sync=True)
    ranges = [(b"q%d:" % number, b"q%d;" % number) for number in range(3)]
    under_way = 0
    for _ in range(2000):
        start, stop = turns.choice(ranges)
        row = start + b"%02d" % turns.randrange(40)
        put(store, {row: turns.choice([None, None, b"v"])})
        assert list(store.scan_queue(start, stop)) == list(store.scan_keys(start, stop))
        if turns.random() < 0.5:
            store.commit(lambda error: None)
            under_way += 1
        if turns.random() < 0.3:
            loop.run(under_way)
            under_way = 0
    loop.run(under_way)
    store.close()


def test_a_queue_is_not_sought_from_its_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = MemoryEngine()
    store = Store(engine)
    begins: list[bytes] = []
    scan_keys = engine.scan_keys

    class Noting(MemoryEngine):
        def scan_keys(self, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[bytes]:
            begins.append(start)
            return scan_keys(start, stop, reverse=reverse)

    monkeypatch.setattr(store, "engine", Noting())
    engine.write({b"q:5": b"", b"q:6": b""})
    assert list(store.scan_queue(b"q:", b"q;")) == [b"q:5", b"q:6"]
    assert next(store.scan_queue(b"q:", b"q;")) == b"q:5"
    store.submit({b"q:3": b"", b"r": b""}, lambda error: None)
    engine.write({b"q:3": b""})
    assert next(store.scan_queue(b"q:", b"q;")) == b"q:3"
    assert begins == [b"q:", b"q:5", b"q:3"]


def test_the_names_of_rows_are_known_for_a_while() -> None:
    store = Store(MemoryEngine())
    put(store, {b"before": b"1"})
    store.commit(lambda error: None)
    mark = store.mark()
    put(store, {b"a": b"1", b"gone": None})
    store.commit(lambda error: None)
    later = store.mark()
    put(store, {b"b": b"1"})
    store.settle()
    put(store, {b"waits": b"1"})
    assert store.written_since(mark) == [b"a", b"b", b"waits"]
    assert store.written_since(later) == [b"b", b"waits"]
    put(store, {b"%d" % number: None for number in range(JOURNAL_ROWS)})
    store.commit(lambda error: None)
    assert store.written_since(later) == [b"b", b"waits"]
    put(store, {b"%d" % number: b"" for number in range(JOURNAL_ROWS)})
    store.commit(lambda error: None)
    assert store.written_since(later) is None
    assert store.written_since(store.mark()) == []


def test_a_ticket_is_not_redeemed_by_a_batch_that_comes_between() -> None:
    store = Store(MemoryEngine())
    store.pending[b"waiting"] = b"1"
    ticket = store.ticket
    store.submit({b"long": b"1"}, lambda error: None)
    assert not store.has_written(ticket)
    store.commit(lambda error: None)
    assert store.has_written(ticket)
