"""What is noted of strings that are no longer cached: right whatever happens to a key."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from stratakv.encodings.keyspace import plain_strings
from stratakv.encodings.keyspace.long_txn import MANY
from stratakv.encodings.layout.metas import STRING
from stratakv.encodings.types.hashes import hashes
from stratakv.encodings.types.keys import keys
from stratakv.encodings.types.strings import strings
from stratakv.encodings.upkeep.check import check
from stratakv.errors import CommandError
from stratakv.storage.memory import MemoryEngine
from tests.encodings.bench import Bench
from tests.harness.effort import rounds
from tests.harness.extensions import compiled

KEYS = [b"key:%d" % number for number in range(6)]


@pytest.fixture(scope="module")
def key_set(tmp_path_factory: pytest.TempPathFactory) -> type:
    """The set as it is compiled, wherever there is a compiler."""
    source = Path(plain_strings.__file__).with_name("_key_set.c")
    made: type = compiled(source, tmp_path_factory.mktemp("key_set")).KeySet
    return made


def bench_with_notes(key_set: type, *, patient: bool = False) -> Bench:
    bench = Bench(MemoryEngine(), patient=patient)
    bench.keyspace.cache.plain = key_set(1 << 20)
    return bench


def let_go(bench: Bench) -> None:
    """Empty the cache as the hand does, step by step."""
    database = bench.keyspace.databases[0]
    while database.cache:
        database.evict(1 << 30, bench.keyspace.cache.plain)


def test_the_set_has_what_a_set_has(key_set: type, diff_seed: int) -> None:
    choose = random.Random(diff_seed)
    ours = key_set(1 << 24)
    theirs: set[bytes] = set()
    for number in range(40_000):
        key = b"%d" % choose.randrange(8000)
        if choose.randrange(3):
            ours.add(key)
            theirs.add(key)
        else:
            ours.discard(key)
            theirs.discard(key)
        if not number % 1000:
            assert len(ours) == len(theirs)
            assert all((b"%d" % one in ours) == (b"%d" % one in theirs) for one in range(8000))
    assert ours.size_bytes <= len(theirs) * 8 * 4
    ours.clear()
    assert not ours
    assert ours.size_bytes == 0
    assert b"1" not in ours


def test_the_set_keeps_its_limit_and_what_it_has(key_set: type) -> None:
    limit = 1 << 18
    ours = key_set(limit)
    for number in range(100_000):
        ours.add(b"%d" % number)
    assert ours.size_bytes <= limit
    kept = [number for number in range(100_000) if b"%d" % number in ours]
    assert len(kept) == len(ours) > 10_000
    for number in kept:
        ours.discard(b"%d" % number)
    assert not ours


def test_a_set_without_room_has_nothing(key_set: type) -> None:
    ours = key_set(0)
    ours.add(b"a")
    assert b"a" not in ours
    assert not ours


def test_a_key_is_bytes(key_set: type) -> None:
    ours = key_set(1 << 16)
    for ask in (ours.add, ours.discard, ours.__contains__):
        with pytest.raises(TypeError, match="bytes"):
            ask("text")


def test_a_noted_string_is_overwritten_without_a_look(key_set: type) -> None:
    bench = bench_with_notes(key_set)
    bench.do(strings.assign, b"k", b"1")
    let_go(bench)
    looks = bench.keyspace.databases[0].loads
    bench.do(strings.assign, b"k", b"2")
    assert bench.keyspace.databases[0].loads == looks
    let_go(bench)
    assert bench.do(strings.find, b"k") == b"2"
    assert bench.do(keys.count) == 1


def write_somehow(bench: Bench, choose: random.Random) -> object:
    """A write of one of the kinds that make, change, retype or delete a string."""
    key, value = choose.choice(KEYS), b"%d" % choose.randrange(10)
    soon = bench.clock.now_ms + choose.randrange(1, 200)
    writes: list[tuple[Callable[..., object], *tuple[object, ...]]] = [
        *[(strings.assign, key, value)] * 6,
        (strings.assign, key, value, soon),
        (strings.assign, key, value * 70_000),
        (strings.assign_all, [KEYS[0], value, key, value]),
        (strings.append, key, b"1"),
        (strings.take, key),
        (keys.delete, (key,)),
        (keys.expire, key, soon, frozenset()),
        (keys.persist, key),
        (hashes.assign, key, b"field", value),
    ]
    operation, *args = choose.choice(writes)
    try:
        return bench.do(operation, *args)
    except CommandError as error:
        return error.text


def told(bench: Bench) -> list[object]:
    """What clients can see of the keys."""
    seen: list[object] = [bench.do(keys.count)]
    for key in KEYS:
        meta = bench.meta(key)
        seen.append(meta and (meta.type, meta.expire_ms))
        if meta is not None and meta.type == STRING:
            seen.append(bench.do(strings.find, key))
    return seen


@pytest.mark.parametrize("patient", [False, True], ids=["short", "long"])
@pytest.mark.effort
def test_random_writes_leave_what_they_leave_without_notes(
    key_set: type, diff_seed: int, patient: bool
) -> None:
    for number in range(rounds(400)):
        noting, plain = bench_with_notes(key_set, patient=patient), Bench(MemoryEngine())
        choose = random.Random(f"{diff_seed} {number}")
        for step in range(60):
            seed = choose.random()
            ours, theirs = (write_somehow(one, random.Random(seed)) for one in (noting, plain))
            assert ours == theirs, (number, step)
            if not choose.randrange(3):
                let_go(noting)
            if not choose.randrange(10):
                noting.clock.advance(50)
                plain.clock.advance(50)
        let_go(noting)
        assert told(noting) == told(plain), number
        assert noting.keyspace.databases[0].live == plain.keyspace.databases[0].live
        assert noting.keyspace.databases[0].expiring == plain.keyspace.databases[0].expiring
        assert list(check(noting.keyspace.store.engine)) == []


def test_a_database_that_was_emptied_has_no_notes(key_set: type) -> None:
    bench = bench_with_notes(key_set)
    bench.do(strings.assign, b"k", b"1")
    let_go(bench)
    bench.keyspace.flush(bench.keyspace.databases[0])
    bench.do(strings.assign, b"k", b"2")
    assert bench.keyspace.databases[0].live == 1


def test_many_keys_that_are_deleted_at_once_are_noted_no_more(key_set: type) -> None:
    bench = bench_with_notes(key_set)
    many = [b"%d" % number for number in range(MANY + 1)]
    for key in many:
        bench.do(strings.assign, key, b"1")
    let_go(bench)
    bench.patient = True
    bench.do(keys.delete, tuple(many))
    bench.patient = False
    let_go(bench)
    bench.do(strings.assign, many[0], b"2")
    assert bench.keyspace.databases[0].live == 1
