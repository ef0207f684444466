"""Lists over both engines, without a server; a Python list is the model."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from stratakv.encodings.keyspace.txn import Txn
from stratakv.encodings.types.keys import copying
from stratakv.encodings.types.lists import lists
from stratakv.encodings.upkeep.check import check
from stratakv.errors import CommandError
from stratakv.storage.leveldb.engine import LevelEngine
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench

KEY = b"list"
START = 1 << 63


@pytest.fixture(params=["memory", "leveldb"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEngine | LevelEngine]:
    made = MemoryEngine() if request.param == "memory" else LevelEngine(tmp_path / "db")
    yield made
    made.close()


@pytest.fixture(params=["plain", "patient"])
def bench(request: pytest.FixtureRequest, engine: MemoryEngine | LevelEngine) -> Bench:
    return Bench(engine, patient=request.param == "patient")


def push(bench: Bench, *elements: bytes, left: bool = False) -> int:
    length: int = bench.do(lambda txn: lists.push(txn, KEY, elements, left=left))
    return length


def fill(bench: Bench, count: int) -> list[bytes]:
    elements = [b"element %d" % number for number in range(count)]
    push(bench, *elements)
    return elements


def content(bench: Bench) -> list[bytes]:
    found: list[bytes] = bench.do(lists.select, KEY, 0, -1)
    return list(found)


def problems(bench: Bench) -> list[str]:
    return [str(problem) for problem in check(bench.keyspace.store.engine)]


def garbage(bench: Bench) -> int:
    return sum(1 for _ in bench.keyspace.store.engine.scan_keys(b"g#", b"g$"))


def test_the_rows_are_those_of_the_layout() -> None:
    bench = Bench(MemoryEngine())
    push(bench, b"b", b"c")
    push(bench, b"a", left=True)
    meta = bench.meta(KEY)
    assert meta is not None
    assert meta.extra == (START - 1, START + 2)
    assert bench.rows(KEY) == {
        bytes.fromhex("7fffffffffffffff"): b"a",
        bytes.fromhex("8000000000000000"): b"b",
        bytes.fromhex("8000000000000001"): b"c",
    }


def test_both_ends_touch_one_row(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    fill(bench, 5000)
    txn = bench.txn
    for left in (True, False):
        txn.budget = 1
        lists.push(txn, KEY, (b"x",), left=left)
        assert len(txn.rows) == 1
        txn.apply()
        assert lists.pop(txn, KEY, left=left) == b"x"
        assert len(txn.rows) == 1
        txn.apply()
    bench.commit()
    assert problems(bench) == []


def test_an_index_is_one_row_however_deep(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    elements = fill(bench, 5000)
    bench.txn.budget = 10
    assert list(lists.select(bench.txn, KEY, 4000, 4009)[1]) == elements[4000:4010]
    assert bench.txn.budget == 0


def test_random_changes_are_those_of_a_python_list(bench: Bench) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    model: list[bytes] = []
    for _ in range(400):
        chance.choice(CHANGES)(bench, model, chance)
        assert content(bench) == model, f"seed {seed}"
    assert problems(bench) == [], f"seed {seed}"


def _push(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    added = [b"%d" % chance.randrange(6) for _ in range(chance.randrange(1, 6))]
    left = chance.random() < 0.5
    push(bench, *added, left=left)
    model[:] = [*reversed(added), *model] if left else [*model, *added]


def _pop(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    wanted, left = chance.randrange(4), chance.random() < 0.5
    popped = bench.do(lambda txn: lists.pop_many(txn, KEY, wanted, left=left))
    taken = model[:wanted] if left else model[::-1][:wanted]
    assert popped == (taken if model else None)
    model[:] = model[wanted:] if left else model[: max(0, len(model) - wanted)]


def _insert(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    pivot, before = b"%d" % chance.randrange(6), chance.random() < 0.5
    bench.do(lambda txn: lists.insert(txn, KEY, pivot, b"new", before=before))
    if pivot in model:
        model.insert(model.index(pivot) + (not before), b"new")


def _remove(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    element, limit = b"%d" % chance.randrange(6), chance.randrange(-3, 4)
    places = [place for place, one in enumerate(model) if one == element]
    places = places[:limit] if limit > 0 else places[limit:] if limit < 0 else places
    assert bench.do(lists.remove, KEY, limit, element) == len(places)
    model[:] = [one for place, one in enumerate(model) if place not in places]


def _trim(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    if len(model) > 20:
        first, last = chance.randrange(8), chance.randrange(10, 30)
        bench.do(lists.trim, KEY, first, last)
        model[:] = model[first : last + 1]


def _rotate(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    from_left, to_left = chance.random() < 0.5, chance.random() < 0.5
    bench.do(lambda txn: lists.move(txn, KEY, KEY, from_left=from_left, to_left=to_left))
    if model:
        element = model.pop(0 if from_left else -1)
        model.insert(0 if to_left else len(model), element)


def _assign(bench: Bench, model: list[bytes], chance: random.Random) -> None:
    meta = bench.meta(KEY)
    if meta is not None:
        index = chance.randrange(len(model))
        bench.do(lists.assign, KEY, meta, index, b"set")
        model[index] = b"set"


CHANGES = [_push, _push, _pop, _insert, _remove, _trim, _rotate, _assign]


def test_a_list_that_is_emptied_leaves_nothing_behind(bench: Bench) -> None:
    push(bench, b"a", b"b")
    assert bench.do(lambda txn: lists.pop(txn, KEY, left=True)) == b"a"
    assert bench.do(lambda txn: lists.pop(txn, KEY, left=True)) == b"b"
    assert bench.meta(KEY) is None
    assert garbage(bench) == 0
    assert problems(bench) == []


def test_a_capped_list_leaves_nothing_behind(bench: Bench) -> None:
    for number in range(150):
        push(bench, b"%d" % number, left=True)
        bench.do(lists.trim, KEY, 0, 99)
    assert content(bench) == [b"%d" % number for number in range(149, 49, -1)]
    assert len(bench.rows(KEY)) == 100
    assert garbage(bench) == 0


@pytest.mark.parametrize("limit", [10, 1 << 30], ids=["written anew", "in place"])
def test_changes_in_the_middle_of_a_long_list(
    limit: int, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "IN_PLACE_ROWS", limit)
    model = fill(bench, 3000)
    for place in (1000, 2000):
        pivot = b"element %d" % place
        assert (
            bench.do(lambda txn, pivot=pivot: lists.insert(txn, KEY, pivot, b"new", before=True))
            == len(model) + 1
        )
        model.insert(model.index(pivot), b"new")
    assert content(bench) == model
    assert bench.do(lists.remove, KEY, 0, b"new") == 2
    model = [one for one in model if one != b"new"]
    assert content(bench) == model
    bench.do(lists.trim, KEY, 20, -20)
    assert content(bench) == model[20:-19]
    bench.do(lists.trim, KEY, 2500, 2503)
    assert content(bench) == model[2520:2524]
    assert problems(bench) == []


def test_a_list_that_is_written_anew_keeps_its_expire_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "IN_PLACE_ROWS", 10)
    fill(bench, 100)
    meta = bench.meta(KEY)
    assert meta is not None
    due = bench.clock.now_ms + 5000
    bench.do(lambda txn: txn.save(KEY, meta.with_expiry(due)))
    bench.do(lambda txn: lists.insert(txn, KEY, b"element 50", b"new", before=True))
    after = bench.meta(KEY)
    assert after is not None
    assert (after.expire_ms, after.version != meta.version) == (due, True)
    assert problems(bench) == []


def test_a_copy_has_the_same_elements(bench: Bench) -> None:
    elements = fill(bench, 1500)

    def copy(txn: Txn) -> bool:
        return copying.copy_key(txn, KEY, txn, b"copy", replace=False)

    assert bench.do(copy)
    assert bench.do(lists.select, b"copy", 0, -1) == elements
    assert problems(bench) == []


def test_the_check_finds_a_missing_element(engine: MemoryEngine | LevelEngine) -> None:
    bench = Bench(engine)
    fill(bench, 10)
    meta = bench.meta(KEY)
    assert meta is not None
    engine.write({meta.sub + (START + 4).to_bytes(8, "big"): None})
    assert len(problems(bench)) == 1


def test_an_index_beyond_the_ends_is_refused(bench: Bench) -> None:
    fill(bench, 3)
    meta = bench.meta(KEY)
    assert meta is not None
    for index in (3, -4):
        assert bench.do(lists.find, meta, index) is None
        with pytest.raises(CommandError, match="index out of range"):
            bench.do(lists.assign, KEY, meta, index, b"x")
